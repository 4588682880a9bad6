"""Growth: many partial schedules that go on side by side, each by a plan, in Python or compiled.

Both make the same schedules (:mod:`coalloc.rules.parallel_sgs`). The compiled one takes some hundredth of the
time, and some seconds of compiling, once on a machine: it is for many jobs and long limits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment, Problem
from coalloc.rules.parallel_sgs import ParallelGeneration, PartialSchedule, Plan
from coalloc.rules.serial_sgs import Generation
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.search.problem_tables import Tables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST_JOBS = 15
"""Jobs from which on compiled growth is worth its loading."""
LEAST_TIME = 20.0
"""Time limit, s, from which on it is: compiling takes some seconds, once."""
MOST_ENTRIES = 20_000
"""Jobs times classes up to which every schedule says how many tasks of each job are on each class."""
PLACED_AT_ONCE = 100_000
"""Jobs, over all schedules, that are placed between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans side by side: the fields of :class:`coalloc.rules.parallel_sgs.Plan`, a row or an entry of each."""

    orders: Ints
    thresholds: Floats
    relaxed: Floats
    latest: Floats
    rules: Ints

    def __len__(self) -> int:
        return len(self.rules)

    def plan(self, number: int) -> Plan:
        """Return one of them."""
        order = tuple(self.orders[number].tolist())
        scalars = (of_all[number].item() for of_all in (self.thresholds, self.relaxed, self.latest, self.rules))
        return Plan(order, *scalars)

    def part(self, first: int, last: int) -> Plans:
        """Return those from a number on up to before another."""
        return Plans(*(getattr(self, column.name)[first:last] for column in fields(self)))


class Partials(Protocol):
    """Partial schedules.

    ``starts`` and ``ends``, shape ``(num_schedules, num_jobs)``, are those of jobs, ticks: infinity where one has not
    started.
    """

    @property
    def starts(self) -> Floats:
        """Starts of jobs, ticks."""

    @property
    def ends(self) -> Floats:
        """Ends of jobs, ticks."""

    def chosen(self, numbers: Sequence[int]) -> Partials:
        """Return some of them."""

    def assignments(self, number: int) -> list[Assignment]:
        """Return what has started in one of them."""


class Growth(Protocol):
    """Makes schedules of one problem grow."""

    def begun(self) -> Partials:
        """Return one schedule in which nothing has started."""

    def grown(
        self,
        partials: Any,
        parents: Sequence[int],
        plans: Plans,
        *,
        until: float = math.inf,
        before: float = math.inf,
        deadline: float = math.inf,
    ) -> tuple[Partials, list[int]]:
        """Return what becomes of a parent (by number) by each plan up to ``until``, and the numbers of the plans.

        Those that cannot end before ``before`` (ticks) are left out, and those that are late: for which no time is left
        at the deadline (``time.perf_counter()``, s).
        """


def growth_of(problem: Problem, efficiencies: Sequence[Sequence[float]], *, is_compiled: bool) -> Growth:
    """Return the growth of a problem; ``efficiencies`` as :class:`ParallelGeneration` takes them."""
    generation = Generation(problem)
    if is_compiled and may_compile(problem):
        return CompiledGrowth(generation, efficiencies)
    return ListedGrowth(generation, efficiencies)


def may_compile(problem: Problem) -> bool:
    """Return whether compiled growth takes a problem."""
    is_plain = problem.has_monotone_capacity and not problem.allocations.restricts_spreads
    return is_plain and 0 < len(problem.jobs) * len(problem.classes) <= MOST_ENTRIES


def is_worth_compiling(incumbent: Incumbent) -> bool:
    """Return whether a call is so long, and has so many jobs, that compiled growth pays."""
    return incumbent.state.options.seconds >= LEAST_TIME and len(incumbent.problem.jobs) >= FEWEST_JOBS


# ---------------------------------------------------------------------- in Python


class ListedPartials:
    """Partial schedules as :class:`PartialSchedule` has them."""

    def __init__(self, schedules: Sequence[PartialSchedule], num_jobs: int) -> None:
        self.schedules = schedules
        self._num_jobs = num_jobs
        self.starts = np.full((len(schedules), num_jobs), np.inf)
        self.ends = self.starts.copy()
        for row, schedule in enumerate(schedules):
            for a in schedule.assignments:
                self.starts[row, a.job], self.ends[row, a.job] = a.start, a.end

    def chosen(self, numbers: Sequence[int]) -> ListedPartials:
        """Return some of them."""
        return ListedPartials([self.schedules[number] for number in numbers], self._num_jobs)

    def assignments(self, number: int) -> list[Assignment]:
        """Return what has started in one of them."""
        return self.schedules[number].assignments


class ListedGrowth:
    """Growth by :class:`ParallelGeneration`."""

    def __init__(self, generation: Generation, efficiencies: Sequence[Sequence[float]]) -> None:
        self._problem = generation.problem
        self._generation = ParallelGeneration(generation, efficiencies)

    def begun(self) -> ListedPartials:
        """Return one schedule in which nothing has started."""
        return ListedPartials([PartialSchedule(self._problem)], len(self._problem.jobs))

    def grown(
        self,
        partials: ListedPartials,
        parents: Sequence[int],
        plans: Plans,
        *,
        until: float = math.inf,
        before: float = math.inf,
        deadline: float = math.inf,
    ) -> tuple[ListedPartials, list[int]]:
        """Return what becomes of each parent; see :meth:`Growth.grown`."""
        schedules, kept = [], []
        for number, parent in enumerate(parents):
            schedule = partials.schedules[parent].copy()
            if self._generation.extend(schedule, plans.plan(number), until=until, before=before):
                schedules.append(schedule)
                kept.append(number)
            if time.perf_counter() > deadline:
                break
        return ListedPartials(schedules, len(self._problem.jobs)), kept


# ---------------------------------------------------------------------- compiled


@dataclass(frozen=True, slots=True)
class Rows:
    """Partial schedules as the kernel takes them, a row of each array per schedule.

    ``numbers`` are how many jobs will end, how many have begun to hold something, and the next release; ``owners`` the
    members that end, or ``-1 - b`` for running job ``b``.
    """

    arrays: tuple[Any, ...]

    @classmethod
    def empty(cls, problem: Problem, num_rows: int) -> Rows:
        """Return rows to be written."""
        num_jobs, num_classes, num_loads = len(problem.jobs), len(problem.classes), len(problem.contended_resources)
        num_ends = min(num_jobs, sum(problem.capacities)) + len(problem.busy)  # no more run at a time
        return cls(
            (
                np.empty(num_rows),
                np.empty((num_rows, num_jobs)),
                np.empty((num_rows, num_jobs)),
                np.empty((num_rows, num_jobs, num_classes), dtype=np.int32),
                np.empty((num_rows, num_classes), dtype=np.int64),
                np.empty((num_rows, num_loads)),
                np.empty((num_rows, num_ends)),
                np.empty((num_rows, num_ends), dtype=np.int64),
                np.empty((num_rows, num_ends), dtype=np.int64),
                np.empty((num_rows, 3), dtype=np.int64),
            )
        )

    @classmethod
    def begun(cls, problem: Problem) -> Rows:
        """Return one schedule in which nothing has started."""
        rows = cls.empty(problem, 1)
        now, starts, ticks, allocations, free, used, ends, turns, owners, numbers = rows.arrays
        now[0] = min(problem.releases, default=0.0)
        starts[0], ticks[0], allocations[0] = np.nan, 0.0, 0
        free[0], used[0] = problem.capacities, 0.0
        lasting = [(b, busy) for b, busy in enumerate(problem.busy) if busy.end > now[0]]
        for _, busy in lasting:
            free[0] -= np.array(busy.allocation)
            used[0] += np.array([busy.loads[k] for k in problem.contended_resources])
        in_order = sorted((busy.end, turn, b) for turn, (b, busy) in enumerate(lasting))
        for place, (end, turn, b) in enumerate(in_order):
            ends[0, place], turns[0, place], owners[0, place] = end, turn, -1 - b
        numbers[0] = len(lasting), len(lasting), 0
        return rows

    def chosen(self, numbers: Any) -> Rows:
        """Return some of the rows."""
        return Rows(tuple(array[numbers] for array in self.arrays))


class CompiledPartials:
    """Partial schedules in rows of arrays."""

    def __init__(self, generation: Generation, rows: Rows) -> None:
        self._generation, self.rows = generation, rows
        self.starts: Floats = np.where(np.isnan(rows.arrays[1]), np.inf, rows.arrays[1])
        self.ends: Floats = self.starts + rows.arrays[2]

    def chosen(self, numbers: Sequence[int]) -> CompiledPartials:
        """Return some of them."""
        return CompiledPartials(self._generation, self.rows.chosen(list(numbers)))

    def assignments(self, number: int) -> list[Assignment]:
        """Return what has started in one of them, in order of start."""
        starts, allocations = self.starts[number].tolist(), self.rows.arrays[3][number].tolist()
        started = sorted((start, j) for j, start in enumerate(starts) if math.isfinite(start))
        return [Assignment(j, start, self._generation.mode(j, tuple(allocations[j]))) for start, j in started]


class CompiledGrowth:
    """Growth by machine code (:mod:`coalloc.solvers.search.parallel_kernel`)."""

    def __init__(self, generation: Generation, efficiencies: Sequence[Sequence[float]]) -> None:
        self._generation, self._problem = generation, generation.problem
        self._tables = Tables.of(generation, efficiencies)
        num_jobs, num_loads = len(self._problem.jobs), len(self._problem.contended_resources)
        self._scratch = np.empty(num_jobs, np.int64), np.empty(num_loads), *self._tables.rooms()

    def begun(self) -> CompiledPartials:
        """Return one schedule in which nothing has started."""
        return CompiledPartials(self._generation, Rows.begun(self._problem))

    def grown(
        self,
        partials: CompiledPartials,
        parents: Sequence[int],
        plans: Plans,
        *,
        until: float = math.inf,
        before: float = math.inf,
        deadline: float = math.inf,
    ) -> tuple[CompiledPartials, list[int]]:
        """Return what becomes of each parent; see :meth:`Growth.grown`."""
        from coalloc.solvers.search.parallel_kernel import grow

        chunk = max(1, PLACED_AT_ONCE // len(self._problem.jobs))
        parts, kept = list[Rows](), list[int]()
        for first in range(0, len(parents), chunk):
            given = plans.part(first, first + chunk)
            rows, numbers = Rows.empty(self._problem, len(given)), np.empty(len(given), dtype=np.int64)
            size = grow(
                np.array(parents[first : first + chunk], dtype=np.int64),
                self._tables.arrays,
                partials.rows.arrays,
                rows.arrays,
                (given.orders, given.thresholds, given.relaxed, given.latest, given.rules),
                until,
                before,
                numbers,
                self._scratch,
            )
            parts.append(rows.chosen(slice(size)))
            kept += (first + numbers[:size]).tolist()
            if time.perf_counter() > deadline:
                break
        arrays = (
            parts[0].arrays
            if len(parts) == 1
            else tuple(map(np.concatenate, zip(*(p.arrays for p in parts), strict=True)))
        )
        return CompiledPartials(self._generation, Rows(arrays)), kept
