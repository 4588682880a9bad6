"""Limits on the spread of a job over clusters: at most so many, so many tasks on each, slices, under one switch.

Link loads, too, depend on the tasks in each cluster alone. So a *spread* is a number of tasks for each cluster, and
whoever decides where a job goes picks a spread first, then processors within each cluster. Source of what is asked for:
topology-aware placement of gangs of tasks, such as the block and tree topologies of Slurm and Kueue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, combinations

from coalloc.instance.job import Job
from coalloc.instance.platform import Platform

Tasks = tuple[int, ...]
"""The tasks of a job in each cluster, shape ``(num_clusters,)``."""

SPREADING = frozenset({"max_clusters", "min_tasks_per_cluster", "slices", "level"})
"""The modelling features by which a job restricts its tasks in each cluster."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Requirement of a job on its tasks in each cluster.

    At most ``max_clusters`` have some; each that has some has ``min_tasks`` at least; with ``slices`` so many have
    equally many. ``parts`` are sets of clusters, by index, within one of which all are; None: anywhere. ``allows`` is
    asked of each spread that keeps to all that: what custom constraints say.
    """

    max_clusters: int | None = None
    min_tasks: int = 1
    slices: int | None = None
    parts: tuple[frozenset[int], ...] | None = None
    allows: Callable[[Tasks], bool] | None = None

    def keeps(self, spread: Sequence[int]) -> bool:
        """Return whether tasks per cluster are such a spread."""
        used = {c: count for c, count in enumerate(spread) if count}
        if self.max_clusters is not None and len(used) > self.max_clusters:
            return False
        if self.slices is not None and (len(used) != self.slices or len(set(used.values())) > 1):
            return False
        if self.parts is not None and not any(used.keys() <= part for part in self.parts):
            return False
        is_dense = min(used.values(), default=self.min_tasks) >= self.min_tasks
        return is_dense and (self.allows is None or self.allows(tuple(spread)))

    def narrowed(self, max_clusters: int) -> Spread:
        """Return the spread of a job that may use no more than so many clusters."""
        most = max_clusters if self.max_clusters is None else min(max_clusters, self.max_clusters)
        return Spread(most, self.min_tasks, self.slices, self.parts, self.allows)

    def found(self, tasks: int, rooms: Sequence[int], order: Sequence[int]) -> Iterator[Tasks]:
        """Yield every spread of so many tasks over clusters with room for ``rooms`` tasks each.

        The first clusters of ``order`` (all, by index) have most tasks first.
        """
        for part in self._parts_in(order):
            for counts in self._within(tasks, [rooms[c] for c in part]):
                spread = [0] * len(rooms)
                for c, count in zip(part, counts, strict=True):
                    spread[c] = count
                if self.allows is None or self.allows(tuple(spread)):
                    yield tuple(spread)

    def _parts_in(self, order: Sequence[int]) -> Iterator[list[int]]:
        """Yield each set of clusters within one of which the job has to be, in an order."""
        if self.parts is None:
            yield list(order)
            return
        place = {c: n for n, c in enumerate(order)}
        for part in sorted(self.parts, key=lambda part: min(place[c] for c in part)):
            yield sorted(part, key=place.__getitem__)

    def _within(self, tasks: int, rooms: Sequence[int]) -> Iterator[Tasks]:
        """Yield every spread within some clusters, most tasks on the first ones first."""
        most = len(rooms) if self.max_clusters is None else min(self.max_clusters, len(rooms))
        if self.slices is not None:
            yield from self._in_slices(tasks, rooms, most)
            return
        usable = [room if room >= self.min_tasks else 0 for room in rooms]
        widest = [sorted(usable[i:], reverse=True) for i in range(len(usable) + 1)]
        sums = [[0, *accumulate(w)] for w in widest]

        @cache
        def may_end(i: int, rest: int, left: int) -> bool:
            """Return whether clusters from a number on can take the rest, so many of them at most."""
            counts = range(min(left, sum(map(bool, widest[i]))) + 1)
            return any(k * self.min_tasks <= rest <= sums[i][k] for k in counts)

        def placed(i: int, rest: int, left: int) -> Iterator[Tasks]:
            if i == len(usable):
                yield ()
                return
            for count in range(min(rest, usable[i]) if left else 0, -1, -1):
                after = left - (count > 0)
                if (count == 0 or count >= self.min_tasks) and may_end(i + 1, rest - count, after):
                    for others in placed(i + 1, rest - count, after):
                        yield (count, *others)

        if may_end(0, tasks, most):
            yield from placed(0, tasks, most)

    def _in_slices(self, tasks: int, rooms: Sequence[int], most: int) -> Iterator[Tasks]:
        """Yield every spread in equal slices."""
        assert self.slices is not None
        size, rest = divmod(tasks, self.slices)
        if rest or size < self.min_tasks or self.slices > most:
            return
        for chosen in combinations([c for c, room in enumerate(rooms) if room >= size], self.slices):
            yield tuple(size if c in chosen else 0 for c in range(len(rooms)))


def clusters_under(platform: Platform, level: str) -> tuple[frozenset[int], ...]:
    """Return the clusters, by index, under each switch of a level."""
    links = platform.links[len(platform.clusters) :]
    return tuple(link.clusters for switch, link in zip(platform.switches, links, strict=True) if switch.level == level)


def spread_of(job: Job, platform: Platform) -> Spread | None:
    """Return what a job asks of its tasks in each cluster; None where it asks for nothing."""
    if not job.is_spread:
        return None
    max_clusters, min_tasks, slices, level = job.spread_limits
    parts = None if level is None else tuple(part for part in clusters_under(platform, level) if part)
    return Spread(max_clusters, min_tasks or 1, slices, parts)
