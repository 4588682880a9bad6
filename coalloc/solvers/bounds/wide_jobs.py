"""Wide jobs, of which no three run at once: sets of at most two, and which two the links let run together.

A rigid job of more than a third of the processors is wide. It needs several clusters, so links decide what runs
beside it, and two at a time are few enough sets to list where all sets of all jobs are too many
(:mod:`coalloc.solvers.bounds.link_sets`). Covering the wide jobs alone is a relaxation, and so its bound is valid.
Whether two fit is a sum over clusters: what each cluster can hold of both, given its capacity and links.
Derivation: docs/mathematics/bounds.md, "Wide jobs".
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.instance import Job
from coalloc.problem import Problem, SpeedLevel
from coalloc.problem.execution import link_load
from coalloc.rules.tuning import TRIED
from coalloc.solvers.bounds.release_suffixes import Member, ReleaseSuffix

MAX_CLUSTERS = 8
"""Clusters up to which they are."""
LOAD_NOISE = 1e-9
"""Share by which two loads may exceed a bandwidth: the last digits of one sum."""

Option = tuple[int, SpeedLevel]
"""A job of the problem, by index, and the classes that it may use."""


class WidePairs:
    """Pairs of wide jobs of a problem that can run together, remembered."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._known: dict[tuple[int, float, int, float], bool] = {}
        self._tables: dict[str, NDArray[np.float64]] = {}

    def suffix(self, suffix: ReleaseSuffix) -> ReleaseSuffix | None:
        """Return a suffix with its wide jobs alone; None where links do not contend or the size is not for this."""
        problem = self._problem
        processors = sum(problem.capacities)
        rigid = [(i, problem.jobs[j]) for i, j in enumerate(suffix.numbers) if j >= 0 and not problem.jobs[j].shapes]
        kept = [i for i, job in rigid if 3 * job.tasks > processors]
        is_fit = processors <= TRIED and len(self._regions) <= MAX_CLUSTERS and 2 <= len(kept) <= TRIED
        if not (problem.contended_links and is_fit):
            return None
        jobs, numbers = [suffix.jobs[i] for i in kept], [suffix.numbers[i] for i in kept]
        return ReleaseSuffix(suffix.release, suffix.capacities, tuple(jobs), tuple(numbers))

    def sets(self, suffix: ReleaseSuffix, deadline: float) -> list[tuple[Member, ...]]:
        """Return the sets of a suffix of wide jobs that fit, those at the fastest levels: no other is worth more.

        After the deadline, an instant of ``time.perf_counter()``, two that were not looked at are let pass: the
        shortest, which could overlap least.
        """
        singles: list[tuple[Member, ...]] = [((i, 0),) for i in range(len(suffix.jobs))]
        longest = sorted(range(len(suffix.jobs)), key=lambda i: (-suffix.jobs[i].durations[0], i))
        pairs = sorted(combinations(longest, 2), key=lambda pair: -suffix.jobs[pair[1]].durations[0])
        return singles + [pair for a, b in pairs for pair in self._pairs(suffix, a, b, deadline)]

    def _pairs(self, suffix: ReleaseSuffix, a: int, b: int, deadline: float) -> Iterator[tuple[Member, Member]]:
        """Yield the fastest levels at which two jobs fit: as the first gets slower, the second must get faster."""
        levels_a, levels_b = self._levels(suffix, a), self._levels(suffix, b)
        if not self._fit(levels_a[-1], levels_b[-1], deadline):
            return
        fastest = len(levels_b)
        for first, option in enumerate(levels_a):
            second = next((m for m in range(fastest) if self._fit(option, levels_b[m], deadline)), fastest)
            if second < fastest:
                fastest = second
                yield (a, first), (b, second)

    def _levels(self, suffix: ReleaseSuffix, i: int) -> list[Option]:
        j = suffix.numbers[i]
        by_duration = {level.duration: level for level in self._problem.levels[j]}
        return [(j, by_duration[duration]) for duration in suffix.jobs[i].durations]

    def _fit(self, one: Option, other: Option, deadline: float) -> bool:
        key = (one[0], one[1].duration, other[0], other[1].duration)
        if key not in self._known:
            jobs = self._problem.jobs
            if jobs[one[0]].tasks + jobs[other[0]].tasks > sum(self._problem.capacities):
                return False
            if time.perf_counter() > deadline:
                return True
            self._known[key] = self._is_held(one, other)
        return self._known[key]

    def _is_held(self, one: Option, other: Option) -> bool:
        """Return whether all clusters together hold both jobs; of their memory what each can have alone counts."""
        problem, of_either = self._problem, {*one[1].classes, *other[1].classes}
        regions = [*self._regions, *[((), ())] * (2 - len(self._regions))]
        capacities = [sum(problem.capacities[g] for g in classes if g in of_either) for classes, _ in regions]
        rooms = [self._room(classes, j, level) for classes, _ in regions for j, level in (one, other)]
        limits = [
            min([problem.allocations.limits[k] * (1.0 + LOAD_NOISE) + LOAD_NOISE for k in links], default=math.inf)
            for _, links in regions
        ]
        loads = [self._loads(problem.jobs[j]) for j, _ in (one, other)]
        sizes = (len(regions), *(len(of_job) - 1 for of_job in loads))
        arrays = (np.array(capacities), np.array(rooms), np.array(limits), *loads)
        return bool(engine().wide_jobs_are_held(*sizes, *arrays))

    @cached_property
    def _regions(self) -> list[tuple[Sequence[int], Sequence[int]]]:
        """The classes of each cluster, and the contended links that part just it from the rest, both by index."""
        problem, links = self._problem, self._problem.instance.platform.links
        clusters = sorted({node_class.cluster for node_class in problem.classes})
        return [
            (
                [g for g, node_class in enumerate(problem.classes) if node_class.cluster == cluster],
                [k for k in problem.contended_links if links[k].clusters == {cluster}],
            )
            for cluster in clusters
        ]

    def _loads(self, job: Job) -> NDArray[np.float64]:
        """Return the load of a job on a link, MB/s, by its tasks below it."""
        if job.id not in self._tables:
            self._tables[job.id] = np.array([link_load(tasks, job) for tasks in range(job.tasks + 1)])
        return self._tables[job.id]

    def _room(self, classes: Sequence[int], j: int, level: SpeedLevel) -> int:
        rooms = self._problem.allocations.rooms(self._problem.jobs[j])
        return sum(rooms[g] for g in classes if g in level.classes)
