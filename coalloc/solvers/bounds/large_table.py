"""Pricing by a dynamic programme over the free processors of each speed, where its table is large: in the engine.

:class:`coalloc.solvers.bounds.pricing.TablePricing` looks up what each job leaves of each state. Here that is worked
out again for every pricing, and of each state only the level of the last job is kept, a byte: half a second, and
100 MB in the meantime, for 200 jobs on three clusters of 80 nodes. The MIP takes less at most prices, and several
seconds at those at which the LP is all but solved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, engine
from coalloc.rules.tuning import OPERATIONS
from coalloc.solvers.bounds.pricing import MAX_SETS, JobPrices, Priced, useful_levels
from coalloc.solvers.bounds.release_suffixes import LevelledJob, Member

MOST_BYTES = 150_000_000
"""Memory up to which it is: of every state a byte for each job, and two values."""
BYTES_OF_VALUES = 16
"""Bytes of those two values."""
MOST_LEVELS = 254
"""Levels of a job, for a byte says at which it is."""
Array = NDArray[Any]


def may_tabulate(capacities: Sequence[int], jobs: Sequence[LevelledJob]) -> bool:
    """Return whether a large table serves: the jobs take nothing but processors, and the states are not too many."""
    states = math.prod(c + 1 for c in capacities)
    levels = [len(job.durations) for job in jobs]
    is_small = states * sum(levels) <= OPERATIONS and states * (len(jobs) + BYTES_OF_VALUES) <= MOST_BYTES
    return is_small and max(levels, default=0) <= MOST_LEVELS and not any(job.takes for job in jobs)


class LargeTablePricing:
    """Exact; places tasks as :class:`coalloc.solvers.bounds.pricing.TablePricing` does."""

    is_nested = False
    is_slow = True

    def __init__(self, capacities: Sequence[int], jobs: Sequence[LevelledJob]) -> None:
        self._capacities, self._jobs = tuple(capacities), jobs
        self._shape = np.array([c + 1 for c in capacities])
        self._strides = np.array([math.prod(self._shape[s + 1 :].tolist()) for s in range(len(capacities))])
        self._bounds = [np.diff(np.array(job.needs), prepend=0, axis=1) for job in jobs]
        self._num_states = math.prod(self._shape.tolist())

    def price(self, prices: JobPrices, deadline: float) -> Priced:
        """Return the greatest value of a set; the sets are the best that end with each of the jobs."""
        before, after = np.zeros(self._num_states), np.empty(self._num_states)
        chosen = np.empty((len(self._jobs), self._num_states), np.uint8)
        ending: list[tuple[float, int, int]] = []
        for j, job in enumerate(self._jobs):
            levels = list(useful_levels(prices[j], job))
            for level, price in levels:
                place = self._place(self._left(self._capacities, j, level))
                if place is not None:
                    ending.append((-price - float(before[place]), j, level))
            worths = np.zeros(len(job.durations))
            for level, price in levels:
                worths[level] = price
            state = 0
            while state < self._num_states:
                arrays = (self._shape, self._bounds[j], worths, before, after, chosen[j])
                state = engine().large_table_add_job(*self._sizes(j), *arrays, state, LONGEST_CALL)
                if time.perf_counter() > deadline:
                    return Priced(math.inf, ())
            before, after = after, before
        tops = [(j, level) for _, j, level in sorted(ending)[:MAX_SETS]]
        return Priced(float(before[-1]), tuple((top, *self._members(top, chosen)) for top in tops))

    def _sizes(self, j: int) -> tuple[int, int, int]:
        """Return how many speeds, states and levels of a job there are."""
        return len(self._shape), self._num_states, len(self._bounds[j])

    def _members(self, top: Member, chosen: Array) -> Iterator[Member]:
        """Yield the best company of a member among the jobs before it."""
        last, level = top
        free = self._left(self._capacities, last, level)
        for j in range(last - 1, -1, -1):
            assert free is not None
            number = int(chosen[j, self._place(free)])
            if number:
                yield j, number - 1
                free = self._left(free, j, number - 1)

    def _left(self, free: Sequence[int], j: int, level: int) -> tuple[int, ...] | None:
        """Return the free processors of each speed once a job is placed; None where it does not fit."""
        left = list(free)
        for prefix, tasks in enumerate(self._bounds[j][level].tolist()):
            rest = tasks
            for speed in range(prefix, -1, -1):
                taken = min(left[speed], rest)
                left[speed] -= taken
                rest -= taken
            if rest:
                return None
        return tuple(left)

    def _place(self, free: Sequence[int] | None) -> int | None:
        return None if free is None else sum(map(mul, free, self._strides.tolist()))
