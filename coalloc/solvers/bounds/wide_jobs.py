"""Wide jobs, of which no three run at once: sets of at most two, and which two the links let run together.

A rigid job of more than a third of the processors is wide. It needs several clusters, so links decide what runs
beside it, and two at a time are few enough sets to list where all sets of all jobs are too many
(:mod:`coalloc.solvers.bounds.link_sets`). Covering the wide jobs alone is a relaxation, and so its bound is valid.
Whether two fit is a sum over clusters: what each cluster can hold of both, given its capacity and links.
Derivation: docs/mathematics.md, "Bounds".
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.problem import Problem, SpeedLevel
from coalloc.problem.execution import link_load
from coalloc.solvers.bounds.release_suffixes import Member, ReleaseSuffix

LOADING_TIME = 2.0
"""Seconds that there must be for machine code: loading it takes one, and compiling it more, once."""
MAX_PROCESSORS = 1_000
"""Processors up to which pairs are looked at: a check takes memory and time by their square."""
MAX_CLUSTERS = 8
"""Clusters up to which they are."""
MAX_WIDE = 300
"""Wide jobs up to which they are."""
NUM_CLUSTERS = 3
"""Clusters up to which machine code can look at pairs."""
FEWEST_COMPILED = 100
"""Wide jobs from which on it is worth its loading."""
MAX_COMPILED = 1_000
"""Those where machine code looks at pairs."""
LOAD_NOISE = 1e-9
"""Share by which two loads may exceed a bandwidth: the last digits of one sum."""

Held = NDArray[np.bool_]
"""Whether x tasks of one job and y of another can be held, by x and y."""
Option = tuple[int, SpeedLevel]
"""A job of the problem, by index, and the classes that it may use."""


class WidePairs:
    """Which two wide jobs of a problem can run together, remembered."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._known: dict[tuple[int, float, int, float], bool] = {}
        self._tables: dict[str, NDArray[np.float64]] = {}
        self._is_compiled = False

    def suffix(self, suffix: ReleaseSuffix) -> ReleaseSuffix | None:
        """Return a suffix with its wide jobs alone; None where links do not contend or the size is not for this."""
        problem = self._problem
        processors = sum(problem.capacities)
        rigid = [(i, problem.jobs[j]) for i, j in enumerate(suffix.numbers) if j >= 0 and not problem.jobs[j].shapes]
        kept = [i for i, job in rigid if 3 * job.tasks > processors]
        most = MAX_COMPILED if len(self._regions) <= NUM_CLUSTERS else MAX_WIDE
        is_fit = processors <= MAX_PROCESSORS and len(self._regions) <= MAX_CLUSTERS and 2 <= len(kept) <= most
        if not (problem.contended_links and is_fit):
            return None
        jobs, numbers = [suffix.jobs[i] for i in kept], [suffix.numbers[i] for i in kept]
        return ReleaseSuffix(suffix.release, suffix.capacities, tuple(jobs), tuple(numbers))

    def sets(self, suffix: ReleaseSuffix, deadline: float) -> list[tuple[Member, ...]]:
        """Return the sets of a suffix of wide jobs that fit, those at the fastest levels: no other is worth more.

        After the deadline, an instant of ``time.perf_counter()``, two that were not looked at are let pass: the
        shortest, which could overlap least.
        """
        has_time = deadline - time.perf_counter() >= LOADING_TIME
        self._is_compiled = len(self._regions) <= NUM_CLUSTERS and len(suffix.jobs) >= FEWEST_COMPILED and has_time
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
        """Return whether all clusters together hold both jobs."""
        if self._is_compiled:
            return self._is_held_by_few(one, other)
        x, y = (self._problem.jobs[j].tasks for j, _ in (one, other))
        held = [self._held(region, one, other) for region in self._regions]
        return _are_held_in_turn(held, x, y) or _are_held(held, x, y)

    def _is_held_by_few(self, one: Option, other: Option) -> bool:
        """Return what :meth:`_is_held` does, by machine code."""
        from coalloc.solvers.bounds.wide_jobs_kernel import are_held

        problem, of_either = self._problem, {*one[1].classes, *other[1].classes}
        capacities, limits = np.zeros(NUM_CLUSTERS, dtype=np.int64), np.full(NUM_CLUSTERS, np.inf)
        rooms = np.zeros((NUM_CLUSTERS, 2), dtype=np.int64)
        for c, (classes, links) in enumerate(self._regions):
            capacities[c] = sum([problem.capacities[g] for g in classes if g in of_either])
            rooms[c] = [self._room(classes, j, level) for j, level in (one, other)]
            limits[c] = min(
                [problem.allocations.limits[k] * (1.0 + LOAD_NOISE) + LOAD_NOISE for k in links], default=np.inf
            )
        loads, of_other = (self._loads(problem.jobs[j]) for j, _ in (one, other))
        return bool(are_held(capacities, rooms, limits, loads, of_other))

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

    def _held(self, region: tuple[Sequence[int], Sequence[int]], one: Option, other: Option) -> Held:
        """Return what a cluster can hold of two jobs, beside each other.

        Of their memory only what each can have alone counts.
        """
        classes, links = region
        (a, most_a), (b, most_b) = ((self._problem.jobs[j], self._room(classes, j, level)) for j, level in (one, other))
        x, y = np.arange(min(a.tasks, most_a) + 1), np.arange(min(b.tasks, most_b) + 1)
        of_either = {*one[1].classes, *other[1].classes}
        held: Held = x[:, None] + y <= sum(self._problem.capacities[g] for g in classes if g in of_either)
        for k in links:
            load_a, load_b = (self._loads(job)[: len(counts)] for counts, job in ((x, a), (y, b)))
            held &= load_a[:, None] + load_b <= self._problem.allocations.limits[k] * (1.0 + LOAD_NOISE) + LOAD_NOISE
        return held

    def _loads(self, job: Job) -> NDArray[np.float64]:
        """Return the load of a job on a link, MB/s, by its tasks below it."""
        if job.id not in self._tables:
            self._tables[job.id] = np.array([link_load(tasks, job) for tasks in range(job.tasks + 1)])
        return self._tables[job.id]

    def _room(self, classes: Sequence[int], j: int, level: SpeedLevel) -> int:
        rooms = self._problem.allocations.rooms(self._problem.jobs[j])
        return sum(rooms[g] for g in classes if g in level.classes)


def _are_held_in_turn(held: list[Held], x: int, y: int) -> bool:
    """Return whether x tasks, put into one cluster after the other, leave room for y: sufficient, and soon known."""
    for first in range(len(held)):
        for order in (held[first:] + held[:first], held[first::-1] + held[:first:-1]):
            rest, reach = x, np.ones(1)
            for cluster in order:
                count = min(rest, cluster.shape[0] - 1)
                rest -= count
                reach = np.minimum(np.convolve(reach, cluster[count]), 1.0)
            if rest == 0 and y < len(reach) and reach[y]:
                return True
    return False


def _are_held(held: Sequence[Held], x: int, y: int) -> bool:
    """Return whether all clusters together hold x tasks of one job and y of another."""
    reach, *others, last = (np.ones((1, 1), dtype=bool), *held)
    for number, cluster in enumerate(others):
        reach = (_sums(reach, cluster) if number else cluster)[: x + 1, : y + 1]
    rows = np.arange(max(0, x - last.shape[0] + 1), min(x + 1, reach.shape[0]))
    columns = np.arange(max(0, y - last.shape[1] + 1), min(y + 1, reach.shape[1]))
    return bool((reach[np.ix_(rows, columns)] & last[np.ix_(x - rows, y - columns)]).any())


def _sums(reach: Held, held: Held) -> Held:
    """Return which (x, y) are a sum of one of the first and one of the second, by a convolution."""
    from scipy.fft import irfft2, next_fast_len, rfft2

    exact = (reach.shape[0] + held.shape[0] - 1, reach.shape[1] + held.shape[1] - 1)
    shape = [next_fast_len(size, real=True) for size in exact]
    ways = irfft2(rfft2(reach, shape) * rfft2(held, shape), shape)
    sums: Held = ways[: exact[0], : exact[1]] > 0.5  # whole numbers: how many ways there are
    return sums
