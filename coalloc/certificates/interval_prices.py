"""Prices of jobs in intervals of time: the dual of an LP in which jobs choose starts and sets fill the intervals.

Where costs or deadlines matter, when work is done matters as well. Between the times of a grid, sets of jobs that fit
together fill up the time; a job chooses a duration and a start, and takes of each interval what it covers. That is a
relaxation of every schedule. Its dual has a price per job, duration and interval, which the checker takes as a table.
Derivation: docs/mathematics/certificates.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.verify import FOREVER, IMPOSSIBLE, Case, Resources, Steps, Table

MOST_LISTING_STEPS = 1_000_000
"""Steps of listing the sets of jobs that fit together."""
PRECISION = 2**26
"""Prices and costs are whole numbers of about this size."""
UNSCHEDULED = 3.0
"""Cost, in budgets, of a job that the LP leaves out."""
NOISE = 1e-7
"""Excess of the worth of a set over the room of an interval that the LP ignores."""


class IntervalPrices:
    """The LP of one case over a grid of times (units); raises ``NotProvedError`` where too many sets fit."""

    def __init__(self, case: Case, resources: Resources, grid: Sequence[int]) -> None:
        self._case, self._resources = case, resources
        self._intervals, self._span = list(pairwise(grid)), float(max(1, grid[-1] - grid[0]))
        levels = case.problem.levels
        self._members = [(j, n) for j, of_job in enumerate(case.levels) for n in of_job]
        self._place = {member: i for i, member in enumerate(self._members)}
        self._sets = self._listed()
        self._known: list[set[int]] = [set() for _ in self._intervals]
        self._lp, self._jobs = GrowingLp(), len(levels)
        for _ in range(self._jobs + (len(self._members) + 1) * len(self._intervals)):
            self._lp.add_row(0.0, math.inf)
        self._lp.add_columns([UNSCHEDULED] * self._jobs, [[(j, 1.0)] for j in range(self._jobs)])
        for j, n in self._members:
            self._add_starts(j, n)
        alone = {
            i: k
            for k, members in reversed(list(enumerate(self._sets)))
            if members.sum() == 1.0
            for i in [int(members.argmax())]
        }
        for k in range(len(self._intervals)):
            self._add_sets(k, sorted(alone.values()))

    def _listed(self) -> NDArray[np.float64]:
        """Return the sets of jobs, each at a duration, that fit together: one row each."""
        listed, rows = self._resources.fitting(Steps(MOST_LISTING_STEPS)), []
        of_number = [np.zeros(len(self._members))]
        for parent, j, n in listed:
            row = of_number[parent].copy()
            place = self._place.get((j, n))
            if place is None:
                row[:] = np.nan  # a duration that the case excludes
            else:
                row[place] = 1.0
            of_number.append(row)
        rows = [row for row in of_number[1:] if not np.isnan(row).any()]
        return np.array(rows).reshape(len(rows), len(self._members))

    def _row(self, k: int, member: int) -> int:
        return self._jobs + k * len(self._members) + member

    def _room_row(self, k: int) -> int:
        return self._jobs + len(self._intervals) * len(self._members) + k

    def _add_starts(self, j: int, n: int) -> None:
        """Let a job at a duration start whenever that makes a difference."""
        case, duration = self._case, self._case.problem.levels[j][n]
        first, last = case.earliest[j], case.last(j, n)
        times = {first, last}
        for begin, end in self._intervals:
            times |= {begin, end, begin - duration, end - duration}
        floor_, slope, offset = case.problem.ramps[j][n]
        if slope:
            times.add((floor_ - offset) // slope)
        for start in sorted(at for at in times if first <= at <= min(last, FOREVER // 2)):
            column = [(j, 1.0)]
            for k, (begin, end) in enumerate(self._intervals):
                overlap = min(end, start + duration) - max(begin, start)
                if overlap > 0:
                    column.append((self._row(k, self._place[j, n]), -overlap / self._span))
            cost = case.problem.cost(j, n, start) / max(1, case.budget)
            self._lp.add_columns([cost], [column])

    def _add_sets(self, k: int, numbers: Sequence[int]) -> bool:
        """Let an interval have sets; return whether it did not have one of them."""
        new = [number for number in numbers if number not in self._known[k]]
        self._known[k].update(new)
        columns = [
            [*((self._row(k, int(i)), 1.0) for i in np.flatnonzero(self._sets[number])), (self._room_row(k), -1.0)]
            for number in new
        ]
        if columns:
            self._lp.add_columns([0.0] * len(columns), columns)
        return bool(columns)

    def table(
        self, now: int, waiting: int, running: Sequence[tuple[int, int, int]], deadline: float = math.inf
    ) -> Table | None:
        """Return the prices that say most at a node of a search; None where there are none in time.

        ``now`` is its time, ``waiting`` has the bits of the jobs that wait, ``running`` are end, job and duration.
        """
        wanted = np.zeros(self._room_row(len(self._intervals)))
        wanted[: self._jobs] = [float(waiting >> j & 1) for j in range(self._jobs)]
        for k, (begin, end) in enumerate(self._intervals):
            wanted[self._room_row(k)] = -max(0, end - max(begin, now)) / self._span
            for last, j, n in running:
                wanted[self._row(k, self._place[j, n])] = max(0, min(last, end) - max(begin, now)) / self._span
        self._lp.ask(wanted.tolist())
        while True:
            solution = self._lp.solve(deadline)
            if solution is None:
                return None
            duals = np.maximum(solution.duals, 0.0)
            count = len(self._members)
            prices = duals[self._jobs : self._room_row(0)].reshape(len(self._intervals), count)
            worth = self._sets @ prices.T
            rooms = duals[self._room_row(0) :]
            best = worth.argmax(axis=0)
            better = [k for k in range(len(self._intervals)) if worth[best[k], k] > rooms[k] + NOISE]
            if not sum([self._add_sets(k, [int(best[k])]) for k in better]) or time.perf_counter() > deadline:
                return self._written(prices)

    def _written(self, prices: NDArray[np.float64]) -> Table:
        """Return prices as whole numbers."""
        case, unit = self._case, max(1, int(self._span))
        is_limited = case.problem.is_sum and case.budget < IMPOSSIBLE
        weight = max(1, PRECISION * unit // max(1, case.budget)) if is_limited else 0
        scale = weight * max(1, case.budget) / self._span if weight else float(PRECISION)
        pieces: list[tuple[int, int, Mapping[int, list[int]]]] = []
        for k, (begin, end) in enumerate(self._intervals):
            of_jobs: dict[int, list[int]] = {}
            for (j, n), price in zip(self._members, prices[k].tolist(), strict=True):
                of_jobs.setdefault(j, [0] * len(case.problem.levels[j]))[n] = int(price * scale)
            kept = {j: of_job for j, of_job in of_jobs.items() if any(of_job)}
            if kept:
                pieces.append((begin, end, kept))
        return Table(self._resources, weight, pieces, Steps(10**9))


def grid_of(case: Case, times: Sequence[int]) -> list[int]:
    """Return the times at which something changes in a case, and others that are given, in order."""
    ends = [end for end in case.ends if end < FOREVER // 2]
    return sorted({min(case.earliest), *case.earliest, *ends, *times})
