"""Feasible-set bound: cover every job by sets of jobs that can run at one time.

Let S range over sets of (job, speed level) that fit together, and ``lambda_S`` be the time during which
exactly S runs:

    min sum_S lambda_S   s.t.   sum_{S with (j,l)} lambda_S / d_jl >= 1   for each job j.

Modes of one duration are one level here; that loses nothing, since a solution by levels
splits into one by modes. Where the sets that links allow are too many to list, links between
jobs are dropped, which only weakens the bound, and the wide jobs are covered by themselves, with links
(:mod:`coalloc.solvers.bounds.wide_jobs`). The LP lets a job be done at several levels;
branching on them (:mod:`coalloc.solvers.bounds.level_branching`) does not. Derivation: docs/mathematics/bounds.md,
"Feasible sets". Source: sets of activities that can run at one instant, A. Mingozzi, V. Maniezzo, S. Ricciardelli, L.
Bianco, "An exact algorithm for the resource-constrained project scheduling problem based on a new mathematical
formulation", Management Science 44 (1998); by column generation, P. Brucker, S. Knust, "A linear programming and
constraint propagation-based lower bound for the RCPSP", EJOR 127 (2000).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from coalloc.problem import Assignment, Problem
from coalloc.rules.tuning import BRIEF, CHOICES, HALF, MOST, SHORT, TRIED
from coalloc.solvers.bounds.area import AreaWork
from coalloc.solvers.bounds.column_generation import IMPROVEMENT, ColumnGeneration, Set, all_levels
from coalloc.solvers.bounds.large_table import LargeTablePricing, may_tabulate
from coalloc.solvers.bounds.level_branching import Root, branch
from coalloc.solvers.bounds.link_pricing import LinkPricing, may_price
from coalloc.solvers.bounds.link_sets import LinkSets, SetList, may_check
from coalloc.solvers.bounds.memory_relaxations import memory_relaxations
from coalloc.solvers.bounds.pricing import ListedPricing, MipPricing, Pricing, TablePricing, may_look_up
from coalloc.solvers.bounds.release_suffixes import ReleaseSuffix, levelled_jobs, release_suffix_of
from coalloc.solvers.bounds.safe_side import rounded
from coalloc.solvers.bounds.simple import quick_bound, simple_bound
from coalloc.solvers.bounds.wide_jobs import WidePairs
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Bound, Method, Shares
from coalloc.solvers.traits import Trait

BRANCHING_REACH = 0.97
"""Share of the best bound that the LP of a release must reach for branching on its levels: that adds a little only."""

MAX_AT_ONCE = 6_000
"""Sets of a suffix up to which one LP gets them all."""

Schedules = Sequence[Sequence[Assignment]]


def feasible_set_bound(
    problem: Problem,
    *,
    time_limit: float = math.inf,
    target: float = math.inf,
    on_bound: Callable[[float], None] | None = None,
    schedules: Schedules = (),
) -> float:
    """Return a lower bound on the latest end, in ticks of the problem.

    Whole where the problem has slots. Stops at the time limit (s) or once ``target`` is reached;
    ``on_bound`` hears of every improvement. The sets that run together in ``schedules`` (of this problem)
    are known from the start; they speed up, and change nothing else.
    """
    sets = FeasibleSets(problem, schedules)
    return sets.bound(time_limit=time_limit, target=target, on_bound=on_bound)


class BusyPrice(NamedTuple):
    """Worth of a tick of a running job, from a time until another (ticks)."""

    rate: float
    since: float
    until: float


class FeasibleSets:
    """The bound of one problem, first by the LP of each release, then by branching on the levels of jobs.

    ``best`` is the best bound so far, ticks; it begins with ``known``, a bound, or the simple one. ``dual_prices``
    are those of the jobs in the LP with the greatest bound, ticks: 0 where a job is not in that, and everywhere
    before there is one. A job that takes ``d`` ticks brings ``price / d`` a tick, and no jobs that fit together more
    than 1, beside running jobs no more than these leave at ``busy_prices``. ``gain_of_links`` is the share by which
    links raised a bound, where the LP is solved without and with them.
    """

    def __init__(self, problem: Problem, schedules: Schedules = (), known: float | None = None) -> None:
        self.best = float(simple_bound(problem) if known is None else known)
        self.dual_prices = [0.0] * len(problem.jobs)
        self.busy_prices: list[BusyPrice] = []
        self.gain_of_links = 0.0
        self._greatest = -math.inf
        self._problem = problem
        self._schedules = schedules
        self._roots: list[Root] = []
        self._pairs = WidePairs(problem)

    @property
    def roots(self) -> list[Root]:
        """The LPs that were solved, the one of the greatest bound first."""
        return sorted(self._roots, key=lambda root: -root.bound)

    def bound(
        self, *, time_limit: float = math.inf, target: float = math.inf, on_bound: Callable[[float], None] | None = None
    ) -> float:
        """Solve the LPs; see :func:`feasible_set_bound`."""
        return self._heard(self._with_memory(time.perf_counter() + time_limit), target, on_bound)

    def branch(
        self,
        *,
        max_nodes: int,
        time_limit: float = math.inf,
        target: float = math.inf,
        on_bound: Callable[[float], None] | None = None,
    ) -> float:
        """Branch on the levels of the jobs, after :meth:`bound`, on at most so many nodes for each release."""
        return self._heard(self._branches(target, max_nodes, time.perf_counter() + time_limit), target, on_bound)

    def _heard(self, bounds: Iterator[float], target: float, on_bound: Callable[[float], None] | None) -> float:
        for bound in bounds:
            if bound > self.best:
                self.best = bound
                if on_bound is not None:
                    on_bound(bound)
            if self.best >= target:
                break
        return self.best

    def _with_memory(self, deadline: float) -> Iterator[float]:
        """Yield ever better bounds: of the problem, then, unless its sets know memory, of what that leaves to jobs."""
        problems = [] if may_check(self._problem) else list(memory_relaxations(self._problem))
        for number, bounds in enumerate([self._lps, *(FeasibleSets(p, known=self.best)._lps for p in problems)]):
            now = time.perf_counter()
            yield from bounds(now + (deadline - now) / (len(problems) + 1 - number))

    def _lps(self, deadline: float) -> Iterator[float]:
        """Yield ever better bounds, suffix by suffix, the one of the greatest area bound first."""
        problem = self._problem
        jobs = levelled_jobs(problem, use_links=True)
        if not jobs:
            return
        if problem.has_equal_releases:
            suffix = release_suffix_of(problem, jobs, problem.releases[0], self.best)
            sets = _few_sets(problem, suffix, deadline) if suffix.jobs else []
            if sets is not None:
                yield from self._at_once(suffix, sets, deadline)
                return
        work = AreaWork(problem, jobs, self.best)
        areas = work.bounds(deadline)
        of_area = rounded(problem, float(areas.max()))
        yield of_area
        for index in np.argsort(-areas, kind="stable").tolist():
            suffix = release_suffix_of(problem, jobs, float(work.releases[index]), self.best)
            now = time.perf_counter()
            if now > deadline:
                return
            if suffix.jobs:
                yield from self._wide(suffix, now + MOST * (deadline - now))
                now = time.perf_counter()
                last = deadline if len(areas) == 1 else now + HALF * (deadline - now)
                pricing = set_pricing(problem, suffix, last)
                if isinstance(pricing, MipPricing) and self.best > of_area:
                    last = now + SHORT * (last - now)
                if isinstance(pricing, LinkPricing):  # without links it takes no time, and what takes some may not end
                    yield from self._lp(work, index, suffix, processor_pricing(problem, suffix), last)
                known = self.best
                yield from self._lp(work, index, suffix, pricing, last)
                if isinstance(pricing, LinkPricing):
                    self.gain_of_links = max(self.gain_of_links, (self.best - known) / known if known else 0.0)

    def _at_once(self, suffix: ReleaseSuffix, sets: Sequence[Set], deadline: float) -> Iterator[float]:
        """Yield the bound of a suffix all of whose sets are known: one LP."""
        if not suffix.jobs:
            return
        pricing, no_prices = ListedPricing(SetList.of(sets), suffix.jobs), np.zeros(len(suffix.capacities))
        values = np.array([job.durations[0] for job in suffix.jobs])
        search = ColumnGeneration(
            suffix,
            all_levels(suffix.jobs),
            pricing,
            values=values,
            speed_prices=no_prices,
            sets=sets,
            is_complete=True,
        )
        self._roots.append(Root(suffix, pricing, no_prices, search, is_complete=True))
        for lower, _ in search.iterations(deadline):
            self._keep(suffix, search)
            yield rounded(self._problem, suffix.release + lower)

    def _wide(self, suffix: ReleaseSuffix, deadline: float) -> Iterator[float]:
        """Yield the bounds of the wide jobs of a suffix."""
        wide = None if may_check(self._problem) else self._pairs.suffix(suffix)
        if wide is None:
            return
        now = time.perf_counter()
        sets = self._pairs.sets(wide, now + HALF * (deadline - now))
        search = ColumnGeneration(
            wide,
            all_levels(wide.jobs),
            ListedPricing(SetList.of(sets), wide.jobs),
            values=np.array([job.durations[0] for job in wide.jobs]),
            speed_prices=np.zeros(len(wide.capacities)),
            sets=sets,
        )
        for lower, _ in search.iterations(deadline):
            self._keep(wide, search)
            yield rounded(self._problem, wide.release + lower)

    def _lp(
        self, work: AreaWork, index: int, suffix: ReleaseSuffix, pricing: Pricing, deadline: float
    ) -> Iterator[float]:
        """Yield the bounds of one suffix until they cannot exceed the best, or its LP is solved."""
        prices = work.best_prices(index, deadline)
        of_job = work.job_values(prices)
        values = np.array([of_job[j] if j >= 0 else 0.0 for j in suffix.numbers])
        sets = sets_of_schedules(suffix, self._schedules)
        search = ColumnGeneration(
            suffix, all_levels(suffix.jobs), pricing, values=values, speed_prices=prices.speeds, sets=sets
        )
        self._roots.append(Root(suffix, pricing, prices.speeds, search))
        for lower, upper in search.iterations(deadline):
            self._keep(suffix, search)
            yield rounded(self._problem, suffix.release + lower)
            if rounded(self._problem, suffix.release + upper) <= self.best * (1.0 + IMPROVEMENT):
                return  # the value of the master only falls, and no bound of this suffix exceeds it

    def _keep(self, suffix: ReleaseSuffix, search: ColumnGeneration) -> None:
        """Keep the dual prices of the jobs of a suffix where its bound is the greatest.

        No set of all jobs is worth more at them than one of the suffix: the others are worth nothing.
        """
        if search.bound > 0.0 and suffix.release + search.bound > self._greatest:  # no bound: no prices yet
            self._greatest = suffix.release + search.bound
            self.dual_prices = [0.0] * len(self._problem.jobs)
            self.busy_prices = []
            for j, job, price in zip(suffix.numbers, suffix.jobs, search.values.tolist(), strict=True):
                if j >= 0:
                    self.dual_prices[j] = price
                elif price > 0.0:
                    ticks, since = job.durations[0], suffix.release
                    self.busy_prices.append(BusyPrice(price / ticks, since, since + ticks))

    def _branches(self, target: float, max_nodes: int, deadline: float) -> Iterator[float]:
        near = [root for root in self._roots if root.bound >= BRANCHING_REACH * self.best]
        for root in sorted(near, key=lambda root: -root.bound):
            yield from branch(self._problem, root, target=target, max_nodes=max_nodes, deadline=deadline)


def _few_sets(problem: Problem, suffix: ReleaseSuffix, deadline: float) -> list[Set] | None:
    """Return all sets of a suffix that fit where they are so few that one LP can take them all, else None."""
    if problem.allocations.number > CHOICES:
        return None
    return LinkSets(problem, suffix).listed(deadline, MAX_AT_ONCE)


def set_pricing(problem: Problem, suffix: ReleaseSuffix, deadline: float) -> Pricing:
    """Return the pricing over the sets that links allow where that can be done, else over those that processors do."""
    if may_check(problem):
        now, sets = time.perf_counter(), LinkSets(problem, suffix)
        listed = None if sets.are_many else sets.listed(now + HALF * (deadline - now))
        if listed is not None:
            return ListedPricing(SetList.of(listed), suffix.jobs)
        if may_price(problem, suffix):
            return LinkPricing(problem, suffix)
    return processor_pricing(problem, suffix)


def processor_pricing(problem: Problem, suffix: ReleaseSuffix) -> Pricing:
    """Return the pricing over the sets that processors hold: exact while a table does it, else the MIP.

    That takes less at most prices, and of many releases most are done after a few.
    """
    capacities, jobs = suffix.capacities, suffix.jobs
    if may_look_up(capacities, jobs):
        return TablePricing(capacities, jobs)
    if problem.has_equal_releases and may_tabulate(capacities, jobs):
        return LargeTablePricing(capacities, jobs)
    return MipPricing(capacities, jobs)


def sets_of_schedules(suffix: ReleaseSuffix, schedules: Schedules) -> Iterator[Set]:
    """Yield the sets of jobs of a suffix that run together in schedules, at the start of each job."""
    index = {number: j for j, number in enumerate(suffix.numbers) if number >= 0}
    for schedule in schedules:
        active: list[Assignment] = []
        for instant, started in groupby(sorted(schedule, key=attrgetter("start")), key=attrgetter("start")):
            active = [*(a for a in active if a.end > instant), *started]
            if instant >= suffix.release:
                members = [(index[a.job], a.mode) for a in active if a.job in index and a.end > instant]
                levels = [(j, suffix.jobs[j].level_of(mode.duration, sum(mode.allocation))) for j, mode in members]
                yield tuple([(j, level) for j, level in levels if level is not None])


def _run(incumbent: Incumbent) -> None:
    """Solve the LPs, and in later rounds branch on the levels of the jobs."""
    sets = incumbent.kept(FeasibleSets)
    if sets is None:
        _solve(incumbent)
    elif incumbent.round > 0:
        sets.branch(
            max_nodes=incumbent.limited(TRIED),
            time_limit=incumbent.time_left,
            target=incumbent.target,
            on_bound=lambda ticks: incumbent.prove(ticks, BY_LEVELS),
        )


def _solve(incumbent: Incumbent) -> None:
    """Solve the LPs; their bounds, and the dual prices of the best."""
    sets = FeasibleSets(incumbent.problem, [incumbent.best] if incumbent.best else [], incumbent.proven)
    incumbent.keep(sets)
    sets.bound(
        time_limit=incumbent.time_left,
        target=incumbent.target,
        on_bound=lambda ticks: incumbent.prove(ticks, METHOD.name),
    )
    incumbent.dual_prices = sets.dual_prices


BOUND = Bound(
    "feasible-set",
    lambda problem, time_limit: feasible_set_bound(problem, time_limit=time_limit),
    lambda criterion, _: quick_bound(criterion),
)
BY_LEVELS = "feasible-set LP by levels"
"""Name of the branching in the trace."""
SHARES: Shares = {Trait.LAGGED: (SHORT, 0.0), Trait.NONE: (SHORT, BRIEF, BRIEF, 0.0)}
"""Of jobs that greatest lags tie the LP knows no more than the relaxation without them, which is solved before."""
METHOD = Method("feasible-set LP", _run, Trait.MAKESPAN, shares=SHARES, stage="bound", bound=BOUND)
