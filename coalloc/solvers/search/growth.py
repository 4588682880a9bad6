"""Growth: many partial schedules that go on side by side, by plans or by knapsacks, made by the engine.

At every instant at which something ends or arrives, what fits is started. By a plan the jobs are tried in its order,
each at its most efficient level first; a level below the plan's threshold has to wait, so that fast processors are left
to the jobs that gain by them. On one pool of equal processors a knapsack over those that are free chooses, of all jobs
that wait, those that are worth most together. Parallel generation: R. Kolisch, "Serial and parallel
resource-constrained project scheduling methods revisited", EJOR 90 (1996). Knapsacks: docs/mathematics/searches.md,
"Beam search".
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, Handle, engine
from coalloc.problem import Assignment, Problem
from coalloc.rules.serial_sgs import Generation
from coalloc.solvers.bounds.area import efficiencies_at, level_costs
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.search.problem_tables import Tables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GrowthPlans:
    """Plans side by side, a row or an entry of each array per plan.

    Attributes
    ----------
    urgencies
        Those of jobs: the greatest first, of equal ones the first.
    thresholds
        Least efficiency at which a job starts, until ``relaxed``.
    relaxed
        Instant, ticks, from which on every level will do.
    latest
        End, ticks, that no level but the fastest may exceed.
    rules
        How classes are filled, an index of :data:`coalloc.rules.serial_sgs.FILLING_RULES`.
    """

    urgencies: Floats
    thresholds: Floats
    relaxed: Floats
    latest: Floats
    rules: Ints


@dataclass(frozen=True, slots=True)
class Knapsacks:
    """Knapsacks side by side, a row or an entry of each array per schedule.

    Jobs take multiples of ``unit`` processors, of which any are as good as any others. ``worths`` are those of jobs,
    per tick; what ends within ``nearness`` ticks of something else is worth more by a bonus, a share. ``prices``, by
    job and tick, are those of a bound: by these it is seen which schedules cannot end in time.
    """

    worths: Floats
    bonuses: Floats
    nearness: Floats
    unit: int
    prices: Floats


class Partials:
    """Partial schedules.

    Attributes
    ----------
    starts, ends
        Those of jobs, ticks, shape ``(num_schedules, num_jobs)``: infinity where one waits.
    traits
        What their last plans were drawn by, shape ``(num_traits, num_schedules)``.
    """

    def __init__(self, growth: Growth, handle: Handle, starts: Floats, ends: Floats, traits: Floats) -> None:
        self._growth, self.handle = growth, handle
        self.starts, self.ends, self.traits = starts, ends, traits

    def chosen(self, numbers: Sequence[int]) -> Partials:
        """Return copies of some of them."""
        handle = self._growth.room(len(numbers))
        engine().growth_take(handle, self.handle, len(numbers), np.array(numbers, np.int64))
        return Partials(self._growth, handle, self.starts[numbers], self.ends[numbers], self.traits[:, numbers])

    def assignments(self, number: int) -> list[Assignment]:
        """Return what has started in one of them, in order of start."""
        starts = self.starts[number]
        jobs = np.argsort(starts, kind="stable")[: np.isfinite(starts).sum()]
        allocations = np.empty((len(jobs), self._growth.num_classes), np.int64)
        engine().growth_allocations(self.handle, number, *allocations.shape, jobs, allocations)
        started = zip(jobs.tolist(), starts[jobs].tolist(), map(tuple, allocations.tolist()), strict=True)
        return [Assignment(j, start, self._growth.mode(j, allocation)) for j, start, allocation in started]


class Growth:
    """Makes schedules of one problem grow.

    Parameters
    ----------
    costs
        What each job costs at each level (:func:`coalloc.solvers.bounds.area.level_costs`): the less, the more
        efficient it is there.
    """

    def __init__(self, problem: Problem, costs: Sequence[Sequence[float]]) -> None:
        self.problem, self.costs, self._generation = problem, costs, Generation(problem)
        self.num_jobs, self.num_classes = len(problem.jobs), len(problem.classes)
        self.mode = self._generation.mode
        self._tables = Tables.of(self._generation, efficiencies_at(costs))

    @classmethod
    def priced(cls, problem: Problem, time_limit: float = math.inf) -> Growth:
        """Return the growth of a problem at the prices of the area bound, for which there is so much time, s."""
        return cls(problem, level_costs(problem, time_limit))

    @classmethod
    def of(cls, incumbent: Incumbent) -> Growth:
        """Return that of a problem that is solved, made once."""
        known = incumbent.kept(cls)
        if known is None:
            known = cls.priced(incumbent.problem, incumbent.time_left)
            incumbent.keep(known)
        return known

    def begun(self, traits: Floats) -> Partials:
        """Return one schedule in which nothing has started."""
        return self._partials(self.room(1), traits)

    def room(self, number: int) -> Handle:
        """Return room for so many schedules in the engine, with one in which nothing has started."""
        handle: Handle = engine().growth_new(self._tables.handle, max(1, number))
        return handle

    def grown(
        self,
        partials: Partials,
        parents: Ints,
        ways: GrowthPlans | Knapsacks,
        traits: Floats,
        *,
        until: float = math.inf,
        before: float = math.inf,
        deadline: float = math.inf,
    ) -> Partials:
        """Return what becomes of a parent (by number) in each way, which has traits, up to ``until``.

        Those that cannot end before ``before`` (ticks) are left out, and those that are late: for which no time is left
        at the deadline (``time.perf_counter()``, s).
        """
        number, given = len(parents), tuple[Any, ...]()
        if isinstance(ways, GrowthPlans):
            grow, sizes = engine().growth_by_plans, [self.num_jobs]
            given = ways.urgencies, ways.thresholds, ways.relaxed, ways.latest, ways.rules
        else:
            grow, sizes = engine().growth_by_knapsacks, [self.num_jobs, ways.unit]
            given = ways.worths, ways.bonuses, ways.nearness, ways.prices
        handle, kept, progress = self.room(number), np.empty(number, np.int64), np.zeros(2, np.int64)
        while progress[0] < number:
            grow(handle, partials.handle, number, *sizes, parents, *given, until, before, LONGEST_CALL, kept, progress)
            if time.perf_counter() > deadline:
                break
        return self._partials(handle, traits[:, kept[: progress[1]]])

    def _partials(self, handle: Handle, traits: Floats) -> Partials:
        """Return the schedules that the engine has made."""
        starts, ends = np.empty((2, traits.shape[1], self.num_jobs))
        engine().growth_times(handle, *starts.shape, starts, ends)
        return Partials(self, handle, starts, ends, traits)
