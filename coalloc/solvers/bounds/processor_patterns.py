"""Processor patterns: which jobs one processor can serve in turn, for few jobs of few tasks.

The other bounds ask what runs at one instant; where jobs are narrow nearly everything fits, and what binds is how their
durations fill the time of a processor. Each processor serves a *pattern*: jobs, each at a level that may use it, whose
durations add up to the time that there is. To exclude an end, values of tasks are looked for at which the jobs are
worth more, at their least valuable levels, than the patterns of all processors can be: an LP whose rows are patterns,
found by knapsacks over time. At any values from 0 on the two sides are compared in whole numbers, so no tolerance of a
solver matters. Derivation: docs/mathematics/bounds.md, "Processor patterns". Source of patterns as columns: P. Gilmore,
R. Gomory, "A linear programming approach to the cutting-stock problem", Operations Research 9 (1961); the values are a
dual feasible function of durations, the best that there is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.rules.tuning import BRIEF, ENTRIES, FEW_JOBS, TRIED
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds.release_suffixes import levelled_jobs, speed_capacities
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.traits import Trait

WHOLE = 10**6
"""Greatest value of a task, in whole numbers."""
TOLERANCE = 1e-7
"""Share by which a pattern must be worth more than its processor to become a row."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Item:
    """A task of a job, by index, at a level: ticks, tasks of the job there, and the slowest speed it may use."""

    job: int
    ticks: int
    tasks: int
    speed: int


def excluding(problem: Problem, known: float, target: float, deadline: float = math.inf) -> Iterator[float]:
    """Yield ever better bounds on the latest end, ticks of a problem in slots, from a known one on, up to a target."""
    low, step = int(known), 1
    while low < target and time.perf_counter() < deadline:
        end = int(min(low + step, target)) - 1
        if is_excluded(problem, end, deadline):
            low, step = end + 1, 2 * step
            yield float(low)
        elif step == 1:
            return
        else:
            step = 1


def is_excluded(problem: Problem, end: int, deadline: float = math.inf) -> bool:
    """Return whether patterns prove that no schedule of a problem in slots ends by ``end``, ticks."""
    items = _items(problem, end)
    if len({item.job for item in items}) < len(problem.jobs):
        return True  # a job ends later at every level
    patterns = _Patterns(items, speed_capacities(problem), end - int(min(problem.releases)))
    return patterns.are_too_few(deadline)


def _items(problem: Problem, end: int) -> list[Item]:
    """Return the levels at which jobs can end in time."""
    return [
        Item(j, int(ticks), needs[-1], next(s for s, need in enumerate(needs) if need))
        for j, job in enumerate(levelled_jobs(problem, use_links=True))
        for ticks, needs in zip(job.durations, job.needs, strict=True)
        if problem.releases[j] + ticks <= end
    ]


class _Patterns:
    """The patterns of processors in a span of so many ticks, and the LP of what items and processors are worth."""

    def __init__(self, items: list[Item], capacities: tuple[int, ...], span: int) -> None:
        self._items, self._capacities, self._span = items, capacities, span
        self._of_job = [
            [i for i, item in enumerate(items) if item.job == j] for j in range(1 + max(item.job for item in items))
        ]
        self._values = range(len(self._of_job), len(self._of_job) + len(items))
        self._prices = range(self._values.stop, self._values.stop + len(capacities))
        self._lp = GrowingLp()
        self._lp.add_columns([-1.0] * len(self._of_job) + [0.0] * (self._prices.stop - self._values.start), self._empty)
        self._lp.add_row(1.0, 1.0, self._prices, [float(capacity) for capacity in capacities])
        for i, item in enumerate(items):
            self._lp.add_row(-math.inf, 0.0, [item.job, self._values[i]], [1.0, -float(item.tasks)])
            for s in range(item.speed + 1):
                self._add([i], s)

    @property
    def _empty(self) -> list[tuple[tuple[int, float], ...]]:
        """Columns without an entry, for there is no row yet."""
        return [()] * self._prices.stop

    def _add(self, pattern: list[int], s: int) -> None:
        """Ask that a pattern of items is worth no more than a processor of a speed."""
        columns = [*(self._values[i] for i in pattern), self._prices[s]]
        self._lp.add_row(-math.inf, 0.0, columns, [1.0] * len(pattern) + [-1.0])

    def are_too_few(self, deadline: float) -> bool:
        """Return whether all processors together are proved to serve less than the jobs ask for."""
        for _ in range(TRIED):
            solution = self._lp.solve(deadline)
            if solution is None or -solution.value <= 1.0:
                return False  # the value only falls
            values = np.maximum(solution.columns[self._values.start : self._values.stop], 0.0)
            unit = float(values.max()) / WHOLE
            whole = np.floor(values / unit).astype(np.int64)
            best = [self._best(whole, s) for s in range(len(self._capacities))]
            served = sum(capacity * worth for capacity, (worth, _) in zip(self._capacities, best, strict=True))
            if self._asked(whole) > served:
                return True
            added = False
            for s, (worth, pattern) in enumerate(best):
                if worth * unit > solution.columns[self._prices[s]] + TOLERANCE:
                    self._add(pattern, s)
                    added = True
            if not added or time.perf_counter() > deadline:
                return False
        return False

    def _asked(self, values: Ints) -> int:
        """Return what all jobs are worth, each at its least valuable level."""
        return sum(min(self._items[i].tasks * int(values[i]) for i in of_job) for of_job in self._of_job)

    def _best(self, values: Ints, s: int) -> tuple[int, list[int]]:
        """Return the greatest worth of a pattern of a processor of a speed, and its items: a knapsack over time."""
        worth = np.zeros(self._span + 1, dtype=np.int64)
        chosen = np.full((len(self._of_job), self._span + 1), -1)
        for j, of_job in enumerate(self._of_job):
            before = worth.copy()
            for i in (i for i in of_job if self._items[i].speed >= s and values[i] > 0):
                ticks = self._items[i].ticks
                candidate = before[: len(before) - ticks] + values[i]
                is_better = candidate > worth[ticks:]
                worth[ticks:][is_better] = candidate[is_better]
                chosen[j, ticks:][is_better] = i
        left, pattern = self._span, list[int]()
        for j in range(len(self._of_job) - 1, -1, -1):
            i = int(chosen[j, left])
            if i >= 0:
                pattern.append(i)
                left -= self._items[i].ticks
        return int(worth[-1]), sorted(pattern)


def may_ask(problem: Problem, end: float) -> bool:
    """Return whether a problem is in slots, and small enough, up to an end (ticks)."""
    if problem.slot is None or not problem.jobs:
        return False
    items = sum(map(len, problem.levels))
    return items * len(speed_capacities(problem)) * (end - min(problem.releases)) <= ENTRIES


def _run(incumbent: Incumbent) -> None:
    for bound in excluding(incumbent.problem, incumbent.proven, incumbent.target, incumbent.deadline):
        incumbent.prove(bound, METHOD.name)


def _is_sized(incumbent: Incumbent) -> bool:
    return len(incumbent.problem.jobs) > FEW_JOBS and may_ask(incumbent.problem, incumbent.cost)


NEEDS = Trait.MAKESPAN | Trait.SLOTS | Trait.SCHEDULE
METHOD = Method("processor patterns", _run, NEEDS, _is_sized, shares={Trait.NONE: (0.0, BRIEF, 0.0)}, stage="bound")
