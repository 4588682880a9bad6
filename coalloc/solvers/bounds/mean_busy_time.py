"""Mean busy times: a bound on a sum of costs by values of jobs of which no set that fits brings more than 1 a tick.

Let a job at level l bring ``mu_j / d_jl`` a tick while it runs, and no jobs that fit together more than 1. Then
all of them are worked on by one machine of speed 1, which may interrupt them, and job j brings ``mu_j`` in all. The
mean instant at which a job is worked on is half its duration before its end. Where each costs ``a_j`` a tick of it,
the machine has the least costs by working on the job with the largest ``a_j / mu_j`` that is there. Where all are there
at 0, that is

    sum_{i<j} min(a_j mu_i, a_i mu_j) + sum_j a_j mu_j / 2,

concave in mu: an LP, whose rows are the sets, separated by the pricing of the feasible sets. Derivation:
docs/mathematics/bounds-on-costs.md, "Mean busy times". Source: mean busy times, M. Goemans, M. Queyranne, A. Schulz, M.
Skutella, Y. Wang, "Single machine scheduling with release dates", SIAM Journal on Discrete Mathematics 15 (2002).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem
from coalloc.rules.tuning import MANY_JOBS, SHORT
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds.column_generation import IMPROVEMENT, Set
from coalloc.solvers.bounds.feasible_set import set_pricing, sets_of_schedules
from coalloc.solvers.bounds.pricing import JobPrices
from coalloc.solvers.bounds.release_suffixes import ReleaseSuffix, levelled_jobs, release_suffix_of
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Bound, Method, once
from coalloc.solvers.traits import Trait

WHOLE = 1e-6
"""Excess over a whole number up to which a bound is not rounded up."""
ROUNDING = 1e-9
"""Share of the magnitude of its terms that is taken off the bound."""

Floats = NDArray[np.float64]


class CostLine(NamedTuple):
    """Least cost of a job by its mean busy time (ticks): ``slope`` times that, and ``constant``."""

    slope: float
    constant: float


def lines_of(criterion: Criterion) -> list[CostLine] | None:
    """Return a line below the costs of each job; None where costs are not known in pieces."""
    lines = []
    for j, (levels, release) in enumerate(zip(criterion.problem.levels, criterion.problem.releases, strict=True)):
        ramps = [(criterion.ramp_below(j, level.duration), level.duration / 2.0) for level in levels]
        slope = min((ramp.slope for ramp, _ in ramps if ramp is not None), default=0.0)
        constant = math.inf
        for ramp, half in ramps:
            if ramp is None:
                return None
            # slope * M + constant is no more than ramp.slope * (M - half) + ramp.intercept from M = release + half on.
            steeper = (ramp.slope - slope) * (release + half)
            constant = min(constant, ramp.intercept - ramp.slope * half + steeper)
        lines.append(CostLine(slope, constant))
    return lines


class MachineWork(NamedTuple):
    """Work of the machine: ``ticks`` from ``release`` on, each of which costs ``ratio`` times its time."""

    ratio: float
    ticks: float
    release: float = -math.inf


class HeldShare(NamedTuple):
    """The share of the machine that is not there until ``end``, ticks."""

    end: float
    share: float


def least_cost(works: Sequence[MachineWork], now: float, held: Sequence[HeldShare] = ()) -> float:
    """Return what all work costs at the least from an instant on: the largest ratio that is there goes first.

    ``works`` are in descending order of their ratios, which are no less than 0, ``held`` in the order of the ends.
    """
    cost = np.zeros(1)
    of_works = np.array(works, dtype=float).reshape(-1, 3).T.copy()
    of_held = np.array(held, dtype=float).reshape(-1, 2).T.copy()
    engine().costs_of_works(len(works), len(held), now, *of_works, *of_held, cost)
    return float(cost[0])


@dataclass(slots=True)
class BusyTimes:
    """The bound of one criterion, and the values of the jobs, ticks, that prove it: 0 everywhere before there are any.

    No jobs that fit together bring more than 1 a tick, where one of ``d`` ticks brings ``values / d``.
    """

    criterion: Criterion
    lines: list[CostLine]
    values: list[float] = field(default_factory=list)
    bound: float = -math.inf

    def improve(self, schedules: Sequence[Sequence[Assignment]], deadline: float) -> Iterator[float]:
        """Yield ever better bounds on the cost until the LP is solved or the deadline (``perf_counter``, s)."""
        problem = self.criterion.problem
        release = min(problem.releases)
        suffix = release_suffix_of(problem, levelled_jobs(problem, use_links=True), release, release)
        self.values = [0.0] * len(problem.jobs)
        if not suffix.jobs:
            return
        search = ValueSearch(problem, suffix, deadline)
        search.add(sets_of_schedules(suffix, schedules))
        for values in search.values(self.lines, {}, deadline):
            bound = self._at(values)
            if bound > self.bound:
                self.bound, self.values = bound, values
            yield self.bound

    def _at(self, values: Sequence[float]) -> float:
        """Return the bound at values of the jobs."""
        problem, total, works = self.criterion.problem, [], []
        for release, levels, line, value in zip(problem.releases, problem.levels, self.lines, values, strict=True):
            total.append(line.constant)
            if value > 0.0:
                works.append(MachineWork(line.slope / value, value, release))
            else:
                total.append(line.slope * (release + levels[0].duration / 2.0))
        works.sort(key=lambda work: -work.ratio)
        total.append(least_cost(works, min(problem.releases)))
        return math.fsum(total) - ROUNDING * sum(map(abs, total))


class ValueSearch:
    """Finds values of the jobs of a suffix, with the sets that were found before."""

    def __init__(self, problem: Problem, suffix: ReleaseSuffix, deadline: float) -> None:
        self._suffix, self._num_jobs = suffix, len(problem.jobs)
        self._pricing = set_pricing(problem, suffix, deadline)
        self._sets: dict[Set, None] = {}

    def add(self, sets: Iterable[Set]) -> bool:
        """Remember sets; return whether one is new."""
        number = len(self._sets)
        self._sets |= dict.fromkeys(tuple(sorted(of)) for of in sets)
        return len(self._sets) > number

    def values(self, lines: Sequence[CostLine], held: Mapping[int, float], deadline: float) -> Iterator[list[float]]:
        """Yield values of all jobs, ticks, ever better for jobs that cost so much by their mean busy times.

        Of ``held`` jobs, by index, so many shares hold the machine first.
        """
        jobs, numbers = self._suffix.jobs, self._suffix.numbers
        master = _Master(self._suffix, [lines[j].slope for j in numbers], [held.get(j, 0.0) for j in numbers])
        master.add(self._sets)
        while time.perf_counter() < deadline:
            prices = master.solve(deadline)
            if prices is None:
                return
            priced = self._pricing.price(master.by_level(prices), deadline)
            if not 0.0 < priced.value < math.inf:
                return
            values = [0.0] * self._num_jobs
            for j, job, price in zip(numbers, jobs, prices.tolist(), strict=True):
                values[j] = price * job.durations[0] / max(1.0, priced.value)
            yield values
            better = [s for s in priced.sets if master.worth(s, prices) > 1.0 + IMPROVEMENT]
            self.add(better)
            if not master.add(better):
                return


class _Master:
    """The LP of the values: columns for each two jobs, and for the price of a tick of each job at its first level."""

    def __init__(self, suffix: ReleaseSuffix, slopes: Sequence[float], held: Sequence[float]) -> None:
        least = np.array([job.durations[0] for job in suffix.jobs])
        self._shares = [[job.durations[0] / d for d in job.durations] for job in suffix.jobs]
        count = len(least)
        pairs = [(i, j) for i in range(count) for j in range(i) if slopes[i] and slopes[j]]
        unit = float(least.max()) * (max(slopes) or 1.0)
        ticks = least / unit
        self._first = len(pairs)
        self._lp = GrowingLp()
        own = [a / 2.0 + share * sum(slopes) for a, share in zip(slopes, held, strict=True)]
        costs = [-1.0] * len(pairs) + [-a * t for a, t in zip(own, ticks.tolist(), strict=True)]
        self._lp.add_columns(costs, [()] * len(costs))
        for column, (i, j) in enumerate(pairs):
            self._lp.add_row(-math.inf, 0.0, [column, self._first + i], [1.0, -slopes[j] * float(ticks[i])])
            self._lp.add_row(-math.inf, 0.0, [column, self._first + j], [1.0, -slopes[i] * float(ticks[j])])
        self.add(((j, 0),) for j in range(count))

    def add(self, sets: Iterable[Set]) -> bool:
        """Add sets as rows; return whether there are any."""
        is_any = False
        for members in sets:
            is_any = True
            columns = sorted((self._first + j, self._shares[j][level]) for j, level in members)
            self._lp.add_row(-math.inf, 1.0, [j for j, _ in columns], [share for _, share in columns])
        return is_any

    def solve(self, deadline: float) -> Floats | None:
        """Return the price of a tick of each job at its first level; None where HiGHS has none in time."""
        solution = self._lp.solve(deadline)
        return None if solution is None else np.maximum(solution.columns[self._first :], 0.0)

    def by_level(self, prices: Floats) -> JobPrices:
        """Return the price of a tick of each job at each level."""
        return [
            [price * share for share in of_job] for price, of_job in zip(prices.tolist(), self._shares, strict=True)
        ]

    def worth(self, members: Set, prices: Floats) -> float:
        """Return what a tick of a set brings."""
        return sum(float(prices[j]) * self._shares[j][level] for j, level in members)


def busy_times_of(criterion: Criterion) -> BusyTimes | None:
    """Return the bound before its first step; None where costs are no ramps, or no start matters."""
    lines = lines_of(criterion)
    return None if lines is None or not any(line.slope > 0.0 for line in lines) else BusyTimes(criterion, lines)


def busy_times_bound(criterion: Criterion, time_limit: float = math.inf) -> float:
    """Return the bound on the cost, as good as a share of the time (s) allows; of many jobs what each costs alone."""
    times = busy_times_of(criterion) if is_for(criterion) else None
    deadline = time.perf_counter() + SHORT * time_limit
    bounds = [] if times is None else [whole(criterion, bound) for bound in times.improve((), deadline)]
    return max([criterion.objective.of_costs(criterion.alone), *bounds])


def _run(incumbent: Incumbent) -> None:
    """Solve the LP; its bounds, and values of the jobs."""
    times = busy_times_of(incumbent.criterion)
    if times is None:
        return
    incumbent.keep(times)
    for bound in times.improve([incumbent.best] if incumbent.best else [], incumbent.deadline):
        incumbent.prove(whole(incumbent.criterion, bound), METHOD.name)
        if incumbent.is_closed:
            return


def whole(criterion: Criterion, cost: float) -> float:
    """Return a bound as a cost: the next whole number where costs are whole."""
    return float(math.ceil(cost - WHOLE)) if criterion.is_integral else cost


def is_for(criterion: Criterion) -> bool:
    """Return whether there are few jobs, and their costs are added up."""
    return criterion.is_sum and 0 < len(criterion.problem.jobs) <= MANY_JOBS


BOUND = Bound("mean-busy-time", of_costs=busy_times_bound)
METHOD = Method(
    "mean busy times",
    _run,
    Trait.SUM,
    lambda incumbent: is_for(incumbent.criterion),
    shares=once(SHORT),
    stage="bound",
    bound=BOUND,
)
