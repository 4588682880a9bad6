"""The bound of set prices on a sum of costs in slots: jobs pay by level and slot, and the best set that fits gets it.

A *way* is a job at a level. With prices ``pi_kt >= 0`` of slot t for way k, and 0 after the last one,

    sum_j min over ways k of j and starts s of (cost(s) + what pi_k sums up to from s to s + d_k)
    - sum_t max over sets of ways that fit, at most one of each job, of sum_k pi_kt

is a lower bound on the sum of the costs, whatever the prices. It is that of prices of jobs
(:mod:`coalloc.solvers.bounds.job_prices`) on processors of several speeds, for few jobs: a dynamic programme over the
free processors of each speed finds the best set. At a temperature its maximum and the minima over starts are soft, and
a quasi-Newton method climbs; the temperature falls, and each time the bound itself is computed. The same prices bound
what follows the midst of a schedule. Derivation: docs/mathematics/bounds-on-costs.md, "Prices of sets over time".
Sources: those of :mod:`coalloc.solvers.bounds.prices`; time-indexed configurations, R. Sadykov, F. Vanderbeck, "Column
generation for extended formulations", EURO Journal on Computational Optimization 1 (2013).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.objectives import Criterion
from coalloc.rules.tuning import ENTRIES, HALF, LISTED
from coalloc.solvers.bounds.mean_busy_time import whole
from coalloc.solvers.bounds.priced_starts import ROUNDING
from coalloc.solvers.bounds.prices import AFTER, climbed
from coalloc.solvers.bounds.pricing import TablePricing
from coalloc.solvers.bounds.release_suffixes import levelled_jobs, speed_capacities
from coalloc.solvers.bounds.smooth_prices import look_at_the_clock
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Bound, Method
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]

COOLING = (0.01, 0.003, 0.001, 0.0003)
"""Temperatures, in mean costs of a delay of a job by as long as it runs."""
STEPS = 6
"""Steps of the quasi-Newton method at one temperature, for each job."""


class NodeTables(NamedTuple):
    """Tables of some prices by slot after ``origin`` (ticks), the end of the last one included.

    ``least`` is what each job costs and pays at the least if it starts from then on, ``brought`` what the best sets get
    from then on.
    """

    origin: float
    least: Floats
    brought: Floats


class SetPrices:
    """The bound of one criterion (``bound``), and the ``prices`` that prove it, by way and slot.

    ``ways`` are pairs of a job and one of its ``jobs[j].durations``.
    """

    def __init__(self, criterion: Criterion, num_slots: int) -> None:
        problem = criterion.problem
        self.jobs = levelled_jobs(problem, use_links=True)
        self.ways = [(j, level) for j, job in enumerate(self.jobs) for level in range(len(job.durations))]
        self.origin, self._num_slots = min(problem.releases), num_slots
        self._job = np.array([j for j, _ in self.ways])
        self._first = np.searchsorted(self._job, np.arange(len(self.jobs)))
        self._same = _ways_of_kinds(self.ways, criterion.kinds)
        pricing = TablePricing(speed_capacities(problem), self.jobs)
        self._after = np.stack([pricing.next_states(j, level) for j, level in self.ways])
        self._ticks = np.array([int(self.jobs[j].durations[level]) for j, level in self.ways])
        self._ends = np.minimum(np.arange(num_slots + 1) + self._ticks[:, None], num_slots)
        self._costs = np.full(self._ends.shape, math.inf)
        rises = np.zeros(len(self.ways))
        for k, ((j, _), ticks) in enumerate(zip(self.ways, self._ticks.tolist(), strict=True)):
            first = math.ceil(problem.releases[j] - self.origin)
            starts = self.origin + np.arange(first, num_slots + 1)
            self._costs[k, first:] = [criterion.cost(j, start, start + ticks) for start in starts.tolist()]
            rises[k] = (self._costs[k, -1] - self._costs[k, first]) / (num_slots - first)
        self._price, self._delay = float(rises.mean()), float((rises * self._ticks).mean())
        self._temperature, self._left = self._delay, list(COOLING)
        self.bound, self.prices = -math.inf, np.zeros((len(self.ways), num_slots))

    @classmethod
    def of(cls, criterion: Criterion) -> SetPrices | None:
        """Return the bound before the first step; None in continuous time, where jobs are many, or no start matters."""
        problem = criterion.problem
        if not (criterion.is_sum and problem.jobs) or problem.slot is None:
            return None
        capacities = speed_capacities(problem)
        num_states = math.prod(capacity + 1 for capacity in capacities)
        if num_states * len(problem.jobs) > ENTRIES:
            return None
        work = sum(levels[0].duration * min(level.tasks for level in levels) for levels in problem.levels)
        last = max(problem.releases) - min(problem.releases)
        num_slots = math.ceil(last + (1.0 + AFTER) * work / sum(capacities)) + 1
        num_costs = num_slots * sum(map(len, problem.levels))
        if num_costs > LISTED or num_states * num_costs > ENTRIES:  # the objective is asked for each cost
            return None
        own = cls(criterion, num_slots)
        return own if own._delay > 0.0 else None

    def improve(self, deadline: float) -> Iterator[float]:
        """Yield ever better bounds on the cost until the deadline (``time.perf_counter()``, s).

        Called again, it goes on with the next temperature.
        """
        while self._left and time.perf_counter() < deadline:
            self._temperature = self._left.pop(0) * self._delay
            scale = (self._price, self._delay * len(self.jobs))
            prices, _ = climbed(self, self.prices, scale, STEPS * len(self.jobs), deadline)
            prices = self._alike(prices)
            bound = self.bound_at(prices)
            if bound > self.bound:
                self.bound, self.prices = bound, prices
            yield self.bound

    def _alike(self, prices: Floats) -> Floats:
        """Return the means of the prices of jobs of a kind, which prove no less."""
        sums, counts = np.zeros_like(prices), np.bincount(self._same, minlength=len(self._same))
        np.add.at(sums, self._same, prices)
        means: Floats = (sums / np.maximum(counts, 1)[:, None])[self._same]
        return means

    def bound_at(self, prices: Floats) -> float:
        """Return the bound on the cost at some prices."""
        tables = self.tables(prices)
        least, brought = tables.least[:, 0], float(tables.brought[0])
        return float(least.sum()) - brought - ROUNDING * (float(np.abs(least).sum()) + brought)

    def tables(self, prices: Floats) -> NodeTables:
        """Return what prices say of the midst of schedules."""
        values = np.minimum.reduceat(self._values(self._paid(prices)), self._first, axis=0)
        least = np.minimum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
        brought = np.append(np.cumsum(self._sets(prices)[0][::-1])[::-1], 0.0)
        return NodeTables(self.origin, least, brought)

    def paid_by(self, job: int, ticks: float) -> Floats:
        """Return what a job that runs for so many ticks, in whatever way, pays until each slot at the least."""
        ways = [k for k, (j, level) in enumerate(self.ways) if (j, self.jobs[j].durations[level]) == (job, ticks)]
        least = self.prices[ways].min(axis=0, keepdims=True) if ways else np.zeros((1, self._num_slots))
        paid: Floats = self._paid(least)[0]
        return paid

    def _paid(self, prices: Floats) -> Floats:
        """Return what each way pays until each slot."""
        return np.concatenate([np.zeros((len(prices), 1)), np.cumsum(prices, axis=1)], axis=1)

    def _values(self, paid: Floats) -> Floats:
        """Return what each way costs and pays by its start."""
        values: Floats = self._costs + np.take_along_axis(paid, self._ends, 1) - paid
        return values

    def value(self, prices: Floats, deadline: float) -> tuple[float, Floats]:
        """Return the soft bound at the temperature, and its gradient; raises where the deadline has passed."""
        look_at_the_clock(deadline)
        of_jobs, shares = self._soft_starts(prices)
        _, of_sets, chosen = self._sets(prices)
        return of_jobs - float(of_sets.sum()), shares - chosen

    def _soft_starts(self, prices: Floats) -> tuple[float, Floats]:
        """Return the sum of the soft minima, and the share of each slot in which each way runs."""
        values = self._values(self._paid(prices))
        least = np.minimum.reduceat(values.min(axis=1), self._first)
        weights = np.exp((least[self._job][:, None] - values) / self._temperature)
        sums = np.add.reduceat(weights.sum(axis=1), self._first)
        weights /= sums[self._job][:, None]
        changes = weights.copy()
        for k, ticks in enumerate(self._ticks.tolist()):
            changes[k, ticks:] -= weights[k, : max(0, self._num_slots + 1 - ticks)]
        return float((least - self._temperature * np.log(sums)).sum()), np.cumsum(changes, axis=1)[:, :-1]

    def _sets(self, prices: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what the best set gets in each slot, the soft maxima, and the share of each way in the sets."""
        best, soft, shares = np.empty(self._num_slots), np.empty(self._num_slots), np.empty_like(prices)
        sizes = (len(self.jobs), *self._after.shape, self._num_slots)
        arrays = (np.ascontiguousarray(prices), self._temperature, best, soft, shares)
        engine().level_sets_share(*sizes, np.append(self._first, len(self.ways)), self._after, *arrays)
        return best, soft, shares


def _ways_of_kinds(ways: list[tuple[int, int]], kinds: tuple[int, ...] | list[int]) -> NDArray[np.int64]:
    """Return the first way of the same level of a job of the same kind."""
    known: dict[tuple[int, int], int] = {}
    return np.array([known.setdefault((kinds[j], level), k) for k, (j, level) in enumerate(ways)])


def set_prices_bound(criterion: Criterion, time_limit: float = math.inf) -> float:
    """Return the bound on the cost, as good as the time (s) allows."""
    own, bound = SetPrices.of(criterion), criterion.objective.of_costs(criterion.alone)
    for found in own.improve(time.perf_counter() + time_limit) if own is not None else ():
        bound = max(bound, whole(criterion, found))
    return bound


def _run(incumbent: Incumbent) -> None:
    """Climb as long as there is time; later rounds go on."""
    own = incumbent.kept(SetPrices) or SetPrices.of(incumbent.criterion)
    if own is None:
        return
    incumbent.keep(own)
    for bound in own.improve(incumbent.deadline):
        incumbent.prove(whole(incumbent.criterion, bound), METHOD.name)
        if incumbent.is_closed or incumbent.time_left <= 0.0:
            return


BOUND = Bound("set-prices", of_costs=set_prices_bound)
METHOD = Method(
    "dual prices of sets over time",
    _run,
    Trait.SUM,
    shares={Trait.NONE: (0.0, HALF, 0.0)},
    stage="bound",
    bound=BOUND,
)
