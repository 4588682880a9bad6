"""Jobs that are in one cluster, and jobs no two of which are in one: rows, and what they leave to lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from coalloc.documents.text import quoted
from coalloc.instance.constraints import DifferentClusters, SameCluster
from coalloc.problem.allocations import Allocations
from coalloc.problem.choices import SpeedLevel

Held = Mapping[int, frozenset[int]]
"""The clusters, by index, that placed jobs, by index, use."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """Jobs, by index, that are in one cluster (``is_same``), or no two of which are; ``name`` is of its constraint.

    Both give groups of jobs clusters: one group of all jobs a single one, or each job some that no other has.
    """

    name: str
    jobs: tuple[int, ...]
    is_same: bool

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The jobs that are given clusters together."""
        return (self.jobs,) if self.is_same else tuple((j,) for j in self.jobs)


@dataclass(frozen=True)
class ClusterRows:
    """Rows of a problem on the clusters of jobs."""

    allocations: Allocations
    rows: tuple[ClusterRow, ...]

    @property
    def num_clusters(self) -> int:
        """Number of clusters."""
        return len(self.allocations.instance.platform.clusters)

    def within(self, clusters: frozenset[int], free: tuple[float, ...]) -> tuple[float, ...]:
        """Return what is free, processors by class and others behind them, with no processors in other clusters."""
        classes = self.allocations.classes
        return (*[n * (c.cluster in clusters) for n, c in zip(free, classes, strict=False)], *free[len(classes) :])

    def fewest(self, left: frozenset[int], free: tuple[float, ...], level: SpeedLevel) -> frozenset[int]:
        """Return those of some clusters that have most processors free for a level, as many as its tasks need."""
        room = dict.fromkeys(sorted(left), 0.0)
        for g in level.classes:
            if (cluster := self.allocations.classes[g].cluster) in left:
                room[cluster] += free[g]
        widest = sorted(room, key=lambda c: -room[c])
        before = accumulate((room[c] for c in widest), initial=0.0)
        return frozenset(c for c, n in zip(widest, before, strict=False) if n < level.tasks)

    def left(self, j: int, held: Held) -> frozenset[int]:
        """Return the clusters that rows leave to a job, by index; where it has to be in one, those that hold all."""
        left = frozenset(range(self.num_clusters))
        for row in self._rows_of.get(j, ()):
            others = frozenset[int]().union(*(held[k] for k in row.jobs if k != j and k in held))
            left = left & (others or self.homes(row)) if row.is_same else left - others
        return left

    def allows(self, j: int, clusters: frozenset[int], held: Held) -> bool:
        """Return whether a job, by index, may use clusters beside placed jobs, so that each other is left enough.

        That is seen of one job at a time: a list may still come to no end.
        """
        if not clusters <= self.left(j, held):
            return False
        held = {**held, j: clusters}
        waiting = {k for row in self._rows_of.get(j, ()) for k in row.jobs if k not in held}
        return self._suffice(held) and all(self.fits(k, self.left(k, held)) for k in waiting)

    def _suffice(self, held: Held) -> bool:
        """Return whether there are clusters enough for the jobs that are not placed, where each has its own."""
        for row in self.rows:
            if not row.is_same:
                taken = frozenset[int]().union(*(held[k] for k in row.jobs if k in held))
                if self.num_clusters - len(taken) < sum(k not in held for k in row.jobs):
                    return False
        return True

    @cached_property
    def _rows_of(self) -> dict[int, list[ClusterRow]]:
        """The rows that name each job, by index."""
        found: dict[int, list[ClusterRow]] = {}
        for row in self.rows:
            for j in row.jobs:
                found.setdefault(j, []).append(row)
        return found

    def homes(self, row: ClusterRow) -> frozenset[int]:
        """Return the clusters that hold each job of a row."""
        single = map(frozenset, ([c] for c in range(self.num_clusters)))
        return frozenset[int]().union(*(c for c in single if all(self.fits(j, c) for j in row.jobs)))

    def fits(self, j: int, clusters: frozenset[int]) -> bool:
        """Return whether clusters hold a job, by index, in one of its shapes, links and other jobs aside."""
        if (j, clusters) not in self._known_fits:
            job, classes = self.allocations.jobs[j], self.allocations.classes
            rooms = [n * (c.cluster in clusters) for n, c in zip(self.allocations.rooms(job), classes, strict=True)]
            self._known_fits[j, clusters] = any(self.allocations.holds(s, rooms) for s in self.allocations.shapes(job))
        return self._known_fits[j, clusters]

    @cached_property
    def _known_fits(self) -> dict[tuple[int, frozenset[int]], bool]:
        """Answers so far."""
        return {}

    def faults(self) -> Iterator[str]:
        """Yield a sentence for each row that no allocations keep."""
        for row in self.rows:
            names = ", ".join(quoted(self.allocations.jobs[j].id) for j in row.jobs)
            if row.is_same and not self.homes(row):
                yield f"constraint {row.name}: no cluster can hold each of {names}"
            elif len(row.groups) > self.num_clusters:
                yield f"constraint {row.name}: {names} need a cluster each, but there are {self.num_clusters}"


def cluster_rows(
    allocations: Allocations, declared: Iterable[tuple[str, SameCluster | DifferentClusters]]
) -> ClusterRows:
    """Return the rows of declarations, each with the name of its constraint."""
    number = {job.id: j for j, job in enumerate(allocations.jobs)}
    rows = (
        ClusterRow(name, tuple(number[job] for job in one.jobs), isinstance(one, SameCluster)) for name, one in declared
    )
    return ClusterRows(allocations, tuple(rows))
