"""Spreads of the tasks of one job: all ways to divide them among clusters such that links carry them.

What a job puts on a link depends only on how many of its tasks are below it. So the numbers that may be below a
link follow from those below the links under it: sets of whole numbers, added up the tree, and cut to what the link
carries. A set is kept as the bits of a whole number. At the root they say at once whether the job fits, and on the
way down every choice leads to an allocation. Source: thesis, equation (2.6).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import le

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.problem import Pool, Problem
from coalloc.problem.allocation import Allocation
from coalloc.problem.execution import link_load
from coalloc.rules.serial_sgs import room_for

Pending = tuple[tuple[tuple[int, ...], int], ...]
"""Vertices of which some, together, must have so many tasks yet."""


class Spreading:
    """Spreads of the jobs of a problem over free processors.

    ``free`` are processors per class, ``left`` is what is left of each resource: MB/s of links, MB of memories.
    The vertices of the tree are *parts*, clusters as a whole or, where memory or constraints keep jobs from some
    classes, each class by itself; then, above them, the links.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        clusters = [node_class.cluster for node_class in problem.classes]
        self._part_of = list(range(len(clusters))) if problem.is_restricted else clusters
        self._cluster_of = dict(zip(self._part_of, clusters, strict=True))
        self._num_parts = max(self._part_of) + 1
        self._upward, self._below, self._top = self._tree()
        self._tables: dict[tuple[int, float], tuple[list[float], list[float]]] = {}
        self._num_pools = sum(isinstance(resource, Pool) for resource in problem.resources)

    def _tree(self) -> tuple[list[int], Mapping[int, tuple[int, ...]], tuple[int, ...]]:
        """Return the links from the leaves up, what is right under each, and the links under the root."""
        clusters = [link.clusters for link in self._problem.instance.platform.links]
        order = sorted(range(len(clusters)), key=lambda k: (len(clusters[k]), k))
        first = self._num_parts
        below = {first + k: self._parts_of(k) for k in order}
        top: list[int] = []
        for place, k in enumerate(order):
            above = next((m for m in order[place + 1 :] if clusters[k] <= clusters[m] and clusters[m]), None)
            if above is None:
                top.append(first + k)
            else:
                below[first + above] += (first + k,)
        return [first + k for k in order], below, tuple(top)

    def _parts_of(self, link: int) -> tuple[int, ...]:
        """Return the parts right under a link: those of its cluster, none under the link of a switch."""
        return tuple(part for part, cluster in self._cluster_of.items() if cluster == link)

    def most_load(self, j: int) -> float:
        """Return the largest load that job ``j`` can put on a link, MB/s: that of an even split."""
        job = self._problem.jobs[j]
        return link_load(job.tasks // 2, job)

    def widest(self, free: Sequence[int]) -> int:
        """Return the free processors of the cluster that has most of them."""
        return max(self._in_clusters(self._held(free, range(len(free)))))

    def fits(self, j: int, free: Sequence[int], left: Sequence[float]) -> bool:
        """Return whether job ``j`` can be put on what is free, in one of its shapes."""
        held = self._held(self.within_pools(self._usable(j, free, left), left), range(len(free)))
        return any(self._fits(shape, held, left) for shape in self._problem.allocations.shapes(self._problem.jobs[j]))

    def _fits(self, job: Job, held: Sequence[int], left: Sequence[float]) -> bool:
        if max(self._in_clusters(held)) >= job.tasks:
            return True  # within one cluster no link is loaded
        numbers = self._numbers(job, held, left)
        return bool(_total([numbers[k] for k in self._top]) >> job.tasks & 1)

    def within_pools(self, usable: Sequence[int], left: Sequence[float]) -> Sequence[int]:
        """Return what is usable of each class, cut to what is left of the pools: of a group, within one cluster.

        Which of its classes are cut is all the same to links.
        """
        if self._num_pools == 0:
            return usable
        cut = list(usable)
        for pool, units in zip(self._problem.resources[-self._num_pools :], left[-self._num_pools :], strict=True):
            excess = sum(cut[g] for g in pool.classes) - round(units)
            for g in pool.classes:
                taken = max(0, min(cut[g], excess))
                cut[g] -= taken
                excess -= taken
        return cut

    def allocations(
        self, j: int, free: Sequence[int], left: Sequence[float], classes: Sequence[int]
    ) -> Iterator[Allocation]:
        """Yield the allocations of job ``j`` within some classes, each part filled in the order of ``classes``.

        There is one per vector of tasks in each part: first those within one cluster, the one with least to
        spare first; of the others, the ones with most tasks in the clusters that can hold most. Of a job that asks for
        a spread there are all that keep it.
        """
        job, usable = self._problem.jobs[j], self._usable(j, free, left)
        if self._problem.allocations.spread(job) is not None:
            yield from self._kept_spreads(job, [usable[g] if g in classes else 0 for g in range(len(usable))], left)
            return
        tasks, held = job.tasks, self._held(usable, classes)
        numbers = self._numbers(job, held, left)
        below = {k: self._largest_first(vertices, numbers) for k, vertices in self._below.items()}
        in_clusters = self._in_clusters(held)
        counts = [0] * self._num_parts
        for cluster in sorted(range(len(in_clusters)), key=in_clusters.__getitem__):
            if in_clusters[cluster] >= tasks:
                counts[:] = [0] * self._num_parts
                for _ in _spread(((below[self._num_parts + cluster], tasks),), numbers, below, counts):
                    yield self._filled(counts, usable, classes)
        if not _total([numbers[k] for k in self._top]) >> tasks & 1:
            return
        counts[:] = [0] * self._num_parts
        for _ in _spread(((self._largest_first(self._top, numbers), tasks),), numbers, below, counts):
            if max(self._in_clusters(counts)) < tasks:
                yield self._filled(counts, usable, classes)

    def _kept_spreads(self, job: Job, rooms: Sequence[int], left: Sequence[float]) -> Iterator[Allocation]:
        """Yield the allocations of a job that keep what it asks of its spread, and that links carry."""
        for allocation in self._problem.allocations.spread_allocations(job, rooms):
            if all(map(le, self._problem.allocations.loads(job, allocation), left)):
                yield allocation

    def least_total_load(self, j: int, free: Sequence[int], left: Sequence[float]) -> float:
        """Return the least load that job ``j`` puts on all links together, MB/s; infinite where it does not fit."""
        job, held = self._problem.jobs[j], self._held(self._usable(j, free, left), range(len(free)))
        numbers = np.arange(job.tasks + 1)
        loads = np.array([link_load(n, job) for n in numbers.tolist()])
        least = {part: np.where(numbers <= held[part], 0.0, math.inf) for part in self._cluster_of}
        for k in self._upward:
            inside = _least_sums([least[vertex] for vertex in self._below[k]], job.tasks)
            least[k] = inside + np.where(loads <= max(0.0, left[k - self._num_parts]), loads, math.inf)
        return float(_least_sums([least[k] for k in self._top], job.tasks)[-1])

    def _usable(self, j: int, free: Sequence[int], left: Sequence[float]) -> Sequence[int]:
        """Return how many tasks of a job the free processors of each class can take."""
        if not self._problem.is_restricted:
            return free
        return [max(0, int(room)) for room in room_for(self._problem, self._problem.jobs[j], free, left)]

    def _held(self, usable: Sequence[int], classes: Sequence[int]) -> list[int]:
        """Return the usable processors of some classes in each part."""
        held = [0] * self._num_parts
        for g in classes:
            held[self._part_of[g]] += usable[g]
        return held

    def _in_clusters(self, counts: Sequence[int]) -> list[int]:
        """Return the sums over the parts of each cluster."""
        sums = [0] * len(self._problem.instance.platform.clusters)
        for part, cluster in self._cluster_of.items():
            sums[cluster] += counts[part]
        return sums

    def _loads(self, job: Job) -> tuple[list[float], list[float]]:
        """Return the loads with 0, 1, ... tasks below a link, up to half of them; and with all, all but 1, ..."""
        key = job.tasks, job.task_bandwidth
        if key not in self._tables:
            half = range(job.tasks // 2 + 1)
            self._tables[key] = [link_load(n, job) for n in half], [link_load(job.tasks - n, job) for n in half]
        return self._tables[key]

    def _numbers(self, job: Job, held: Sequence[int], left: Sequence[float]) -> dict[int, int]:
        """Return the numbers of tasks of a rigid job that may be in each part and below each link, as bits."""
        tasks, (rising, falling) = job.tasks, self._loads(job)
        numbers = {part: _ones(min(held[part], tasks) + 1) for part in self._cluster_of}
        for k in self._upward:
            limit = max(0.0, left[k - self._num_parts])
            few, many = bisect_right(rising, limit), bisect_right(falling, limit)
            carried = _ones(few) | _ones(many) << tasks + 1 - many
            numbers[k] = _total([numbers[vertex] for vertex in self._below[k]]) & carried
        return numbers

    @staticmethod
    def _largest_first(vertices: Sequence[int], numbers: Mapping[int, int]) -> tuple[int, ...]:
        """Return vertices, the one that can hold most first."""
        return tuple(sorted(vertices, key=lambda vertex: -numbers[vertex].bit_length()))

    def _filled(self, counts: Sequence[int], usable: Sequence[int], classes: Sequence[int]) -> Allocation:
        """Return the allocation with so many tasks in each part."""
        rest, allocation = list(counts), [0] * len(usable)
        for g in classes:
            part = self._part_of[g]
            allocation[g] = min(rest[part], usable[g])
            rest[part] -= allocation[g]
        return tuple(allocation)


def _ones(count: int) -> int:
    """Return the set of the ``count`` smallest numbers, 0 among them, as bits."""
    return (1 << count) - 1


def _total(sets: Sequence[int]) -> int:
    """Return every sum of one number of each set, as bits."""
    total = 1
    for numbers in sets:
        total = _sums(total, numbers)
    return total


def _sums(one: int, other: int) -> int:
    """Return every sum of a number of one set and one of the other, as bits: run by run of the other."""
    found, place = 0, 0
    while other:
        gap = (other & -other).bit_length() - 1
        other >>= gap
        place += gap
        length = (~other & other + 1).bit_length() - 1
        found |= _widened(one, length) << place
        other >>= length
        place += length
    return found


def _widened(numbers: int, length: int) -> int:
    """Return every sum of a number of a set and one of 0 to ``length - 1``, as bits; by doubling."""
    width = 1
    while width < length:
        step = min(width, length - width)
        numbers |= numbers << step
        width += step
    return numbers


def _spread(
    pending: Pending, numbers: Mapping[int, int], below: Mapping[int, tuple[int, ...]], counts: list[int]
) -> Iterator[None]:
    """Put every choice of tasks per part that the links carry into ``counts``, one after the other."""
    if not pending:
        yield
        return
    (vertices, total), *rest = pending
    if not vertices:
        yield from _spread(tuple(rest), numbers, below, counts)
        return
    first, others = vertices[0], vertices[1:]
    elsewhere = _total([numbers[k] for k in others])
    for n in range(min(total, numbers[first].bit_length() - 1), -1, -1):
        if numbers[first] >> n & 1 and elsewhere >> (total - n) & 1:
            if first < len(counts):
                counts[first] = n
                inside: Pending = ()
            else:
                inside = ((below[first], n),)
            yield from _spread((*inside, (others, total - n), *rest), numbers, below, counts)


def _least_sums(costs: Sequence[NDArray[np.float64]], most: int) -> NDArray[np.float64]:
    """Return the least cost of every total up to ``most`` of one number of each part, given the costs of these."""
    least = np.full(most + 1, math.inf)
    least[0] = 0.0
    for cost in costs:
        extended = np.full(most + 1, math.inf)
        for n in np.flatnonzero(np.isfinite(cost)):
            np.minimum(extended[n:], least[: most + 1 - n] + cost[n], out=extended[n:])
        least = extended
    return least
