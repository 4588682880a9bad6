"""The least total execution time of jobs that start together, links dropped: a bound by prices of processors.

How long a job takes depends on the slowest class that it uses alone: its *speed level*. The tasks of the jobs at a
level or a faster one are on the classes of that level: there is room for them, and their number is a sum of the
tasks of some of the jobs. At any prices of these rooms, a job costs at least its time and what its tasks pay at the
best of its levels. The best prices are the duals of the LP. Derivation: docs/mathematics/packages.md, "Bounds".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.backends.dense_lp import DenseLp

Rooms = Sequence[int]
"""Processors in each of the sets of classes that speed levels have, shape ``(num_sets,)``."""


class LevelBound:
    """The bound for the jobs of a problem from some place of an order on, on what is free then.

    ``prices`` are those of a processor more in each set of classes that levels have, s, shape ``(num_sets,)``: the best
    at the start. Any prices from 0 on give a valid bound.
    """

    def __init__(self, problem: Problem, order: Sequence[int]) -> None:
        self._problem = problem
        self._sets = sorted({level.classes for levels in problem.levels for level in levels})
        self._sums = _sums_of_rest([problem.jobs[j].tasks for j in order])
        around = {inner: [i for i, s in enumerate(self._sets) if set(inner) <= set(s)] for inner in self._sets}
        self._around = [[around[level.classes] for level in levels] for levels in problem.levels]
        rooms = self._rooms(0, problem.package.processors)
        self.prices = self._best_prices(rooms) if self._is_scarce(rooms) else [0.0] * len(self._sets)
        self._priced = [
            [
                level.duration + job.tasks * sum([self.prices[i] for i in around])
                for level, around in zip(levels, around_levels, strict=True)
            ]
            for job, levels, around_levels in zip(problem.jobs, problem.levels, self._around, strict=True)
        ]
        self._rest = from_place([min(self._priced[j]) for j in order])
        self._rest_alone = from_place([problem.levels[j][0].duration for j in order])
        self._order = order

    def of_rest(self, place: int, free: Sequence[int]) -> float:
        """Return what the jobs from a place on take together at least, s, on free processors per class."""
        return max(self._rest[place] - self._paid(place, free), self._rest_alone[place])

    def with_level(self, place: int, free: Sequence[int], level: int) -> float:
        """Return the same where the first of these jobs has one of its speed levels."""
        j = self._order[place]
        by_prices = self._priced[j][level] + self._rest[place + 1] - self._paid(place, free)
        return max(by_prices, self._problem.levels[j][level].duration + self._rest_alone[place + 1])

    def _paid(self, place: int, free: Sequence[int]) -> float:
        """Return what the jobs from a place on pay at most, s."""
        return sum(map(mul, self.prices, self._rooms(place, free))) if any(self.prices) else 0.0

    def _rooms(self, place: int, free: Sequence[int]) -> list[int]:
        """Return the largest sum of tasks of jobs from a place on that each set of classes has room for."""
        rooms = [sum([free[g] for g in inside]) for inside in self._sets]
        return [(self._sums[place] & (1 << room + 1) - 1).bit_length() - 1 for room in rooms]

    def _is_scarce(self, rooms: Rooms) -> bool:
        """Return whether the jobs cannot all have their fastest level, links dropped."""
        demand = [0] * len(rooms)
        for job, around_levels in zip(self._problem.jobs, self._around, strict=True):
            for i in around_levels[0]:
                demand[i] += job.tasks
        return any(asked > room for asked, room in zip(demand, rooms, strict=True))

    def _best_prices(self, rooms: Rooms) -> list[float]:
        """Return the prices at which the bound is greatest, s."""
        problem = self._problem
        columns = [
            (j, level.duration, around)
            for j, (levels, around_levels) in enumerate(zip(problem.levels, self._around, strict=True))
            for level, around in zip(levels, around_levels, strict=True)
        ]
        longest = max(duration for _, duration, _ in columns)
        times: NDArray[np.float64] = np.array([duration / longest for _, duration, _ in columns])
        once = np.array([[float(of == j) for of, _, _ in columns] for j in range(len(problem.jobs))])
        tasks = np.array(
            [[problem.jobs[j].tasks * float(i in around) for j, _, around in columns] for i in range(len(rooms))]
        )
        lower = np.append(np.full(len(rooms), -np.inf), np.ones(len(once)))
        upper = np.append(np.array(rooms, dtype=float), np.ones(len(once)))
        found = DenseLp(times, np.vstack([tasks, once]), lower, upper, np.full(len(times), np.inf)).solve()
        if found is None:
            return [0.0] * len(rooms)  # there is no room for all, as a search will find
        return [max(0.0, -dual) * longest for dual in found.duals[: len(rooms)].tolist()]


def _sums_of_rest(tasks: Sequence[int]) -> list[int]:
    """Return the sums of the tasks of some of the jobs from each place on, as the bits of whole numbers."""
    sums = [1]
    for number in reversed(tasks):
        sums.append(sums[-1] | sums[-1] << number)
    return sums[::-1]


def from_place(costs: Sequence[float]) -> list[float]:
    """Return the sum of the costs from each place to the end, and 0 beyond it."""
    return [*accumulate(reversed(costs), initial=0.0)][::-1]
