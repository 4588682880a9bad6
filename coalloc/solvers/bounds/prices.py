"""The prices bound on a sum of costs: the best prices of processors over time, in cells from coarse to fine.

What the jobs pay at their cheapest starts (:mod:`coalloc.solvers.bounds.priced_starts`) is concave in the prices. With
every job's minimum smoothed at a temperature (a soft minimum over its starts) it is differentiable, and a quasi-Newton
method climbs fast; the temperature falls, and each time the bound itself is computed at the prices found: so it holds
whatever the method does. A refinement halves the cells between which prices differ most, and begins with the prices of
the coarser ones. Derivation: docs/mathematics/bounds-on-costs.md, "Prices over time". Sources: Y. Nesterov, "Smooth
minimization of non-smooth functions", Mathematical Programming 103 (2005); R. Byrd, P. Lu, J. Nocedal, C. Zhu, "A
limited memory algorithm for bound constrained optimization", SIAM Journal on Scientific Computing 16 (1995).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from coalloc.objectives import Criterion
from coalloc.rules.tuning import HALF, MANY_ENTRIES
from coalloc.solvers.bounds.priced_starts import StartPricing, Ways, ways_of
from coalloc.solvers.bounds.smooth_prices import OutOfTimeError, Smooth
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Bound, Method
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]

FEWEST_CELLS, REFINED = 64, 16
"""Cells at the least, and at most for each job; at first one for so many jobs, but none shorter than a mean job."""
AFTER = 0.25
"""Share of the time from the first release to the end of all work by which the cells go on after that."""
COLD = 1e-9
"""The temperature at which smoothed minima are minima, but for the digits of their arithmetic."""
COOLING = (0.3, 0.05, 0.01, 0.002)
"""Temperatures with the first cells, in mean costs of a job's run time."""
STEPS = 60
"""Steps of the quasi-Newton method at one temperature."""
WHOLE = 1e-6
"""Excess over a whole number up to which a bound is not rounded up."""
IMPROVEMENT = 2e-4
"""Share by which finer cells must raise the bound for still finer ones."""


class Prices:
    """The bound of one criterion, and the prices that prove it so far.

    ``excess`` is how much the sum of the costs is above what the jobs cost alone, at the least; ``prices``, shape
    ``(num_resources, num_cells)`` a tick in the cells of ``pricing``, are the last ones. ``is_final`` once no finer
    cells are worth it.
    """

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        end = (1.0 + AFTER) * _last_work(ways) or 1.0
        self.excess = 0.0
        num_cells = int(min(ways.num_jobs // REFINED, end / float(ways.duration[ways.first].mean())))
        self.pricing = StartPricing(ways, np.linspace(0.0, end, max(FEWEST_CELLS, num_cells) + 1))
        self.prices = np.zeros((len(ways.capacities), self.pricing.num_cells))
        self._most_cells = REFINED * ways.num_jobs
        work = ways.needs[ways.kind[ways.first]].T @ ways.duration[ways.first]
        costs = ways.slope[ways.first] * ways.duration[ways.first]
        self._num_starts = 0
        self._cost = float(costs.mean())
        work = np.where(work > 0.0, work, work.max())  # where no job is at its fastest, some may be at their slower
        self._unit = float(costs.sum()) / np.maximum(work, 1e-300)
        self._left, self._before = list(COOLING), -1.0
        self.is_final = False

    @classmethod
    def of(cls, criterion: Criterion) -> Prices | None:
        """Return the bound before the first step; None where costs are no ramps, or no start matters."""
        ways = ways_of(criterion) if criterion.is_sum and criterion.problem.jobs else None
        if ways is None or not ways.slope.any() or not (ways.duration > 0.0).any():
            return None
        return cls(ways)

    def improve(self, deadline: float) -> Iterator[float]:
        """Yield ever better bounds on the excess, until the deadline (``time.perf_counter()``, s) or the last cells.

        Called again, it goes on where it stopped.
        """
        while not self.is_final and time.perf_counter() < deadline:
            self._climb(self._left.pop(0), deadline)
            yield self.excess
            if not self._left:
                is_worth_it = self.excess > self._before * (1.0 + IMPROVEMENT)
                self.is_final = not (is_worth_it and self._refine())
                self._left, self._before = list(COOLING[len(COOLING) // 2 :]), self.excess

    def _refine(self) -> bool:
        """Halve the cells between which prices differ most; return whether that was done."""
        edges, prices = self.pricing.edges, self.prices
        if self.pricing.num_cells >= self._most_cells or self._num_starts > MANY_ENTRIES / 2:
            return False
        worth = prices * self._ways.capacities[:, None]
        steps = np.abs(np.diff(worth, axis=1)).sum(axis=0)
        differences = np.append(steps, 0.0) + np.insert(steps, 0, 0.0)
        scores = differences * np.diff(edges)
        if not scores.any():
            return False
        is_halved = scores >= np.median(scores[scores > 0.0]) / 2.0
        middles = ((edges[:-1] + edges[1:]) / 2.0)[is_halved]
        self.pricing = StartPricing(self._ways, np.sort(np.concatenate([edges, middles])))
        self.prices = np.repeat(prices, np.where(is_halved, 2, 1), axis=1)
        return True

    def _climb(self, temperature: float, deadline: float) -> None:
        """Look for better prices at a temperature, and take them."""
        smooth = Smooth(self.pricing, temperature * self._cost)
        scales = (self._unit[:, None], self._cost * self._ways.num_jobs)
        self.prices, found = climbed(smooth, self.prices, scales, STEPS, deadline)
        self._num_starts = smooth.num_starts  # smoothed minima are no more than minima
        with contextlib.suppress(OutOfTimeError):
            found = max(found, Smooth(self.pricing, COLD * self._cost).value(self.prices, deadline)[0])
        if math.isfinite(found):
            self.excess = max(self.excess, found - self.pricing.lost(found, self.prices))


@cache
def _controller() -> ThreadpoolController:
    """Return what knows the libraries that are loaded; looking for them takes milliseconds."""
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[object]:
    """Keep linear algebra in one thread: its vectors are short, and threads that wait for each other cost more."""
    one_thread: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return one_thread


def _last_work(ways: Ways) -> float:
    """Return when the work of the jobs, and of those that run, is done if nothing but releases delays it, ticks."""
    release, way = ways.release[ways.first], ways.first
    work = ways.needs[ways.kind[way], -1] * ways.duration[way]
    order = np.argsort(release, kind="stable")
    tails = np.cumsum(work[order][::-1])[::-1] + np.maximum(ways.ends, 0.0) @ ways.held[:, -1]
    return float((release[order] + tails / ways.capacities[-1]).max())


class SmoothValue(Protocol):
    """A concave function of prices that has a gradient."""

    def value(self, prices: Floats, deadline: float) -> tuple[float, Floats]:
        """Return the value and its gradient; raises :class:`OutOfTimeError` where the time is up."""


def climbed(
    smooth: SmoothValue, prices: Floats, scales: tuple[Floats | float, float], steps: int, deadline: float
) -> tuple[Floats, float]:
    """Return the best prices that so many steps of the quasi-Newton method find from some on, and their value.

    ``scales`` are a price of 1 and a value of 1, ``deadline`` is a time of ``time.perf_counter()``, s.
    """
    from scipy import optimize

    minimize: Any = optimize.minimize
    climb = _Climb(smooth, *scales, deadline, prices)
    options = {"maxiter": steps, "maxcor": REFINED, "ftol": 1e-10, "gtol": 1e-10}
    first = (prices / scales[0]).ravel()
    with contextlib.suppress(OutOfTimeError), _one_thread():
        minimize(climb.loss, first, jac=True, method="L-BFGS-B", bounds=optimize.Bounds(0.0, np.inf), options=options)
    return climb.best, climb.value


@dataclass(slots=True)
class _Climb:
    """A climb in scaled prices: ``unit`` is a price of 1, ``scale`` a value of 1; ``best`` are the best prices yet."""

    smooth: SmoothValue
    unit: Floats | float
    scale: float
    deadline: float
    best: Floats
    value: float = -math.inf

    def loss(self, scaled: Floats) -> tuple[float, Floats]:
        """Return minus the smoothed value, and its gradient; raises where the time is up."""
        prices = scaled.reshape(self.best.shape) * self.unit
        value, gradient = self.smooth.value(prices, self.deadline)
        if value > self.value:
            self.value, self.best = value, prices
        return -value / self.scale, -(gradient * self.unit / self.scale).ravel()


def sum_bound(criterion: Criterion, time_limit: float = math.inf) -> float:
    """Return the prices bound on the cost by a criterion, as good as the time (s) allows; a sum of ramps only."""
    deadline = time.perf_counter() + time_limit
    prices = Prices.of(criterion)
    if prices is None:
        return criterion.objective.of_costs(criterion.alone)
    for _ in prices.improve(deadline):
        pass
    return cost_of(criterion, prices.excess)


def cost_of(criterion: Criterion, excess: float) -> float:
    """Return a bound on the excess as one on the cost: the next whole number where costs are whole."""
    cost = sum(criterion.alone) + excess
    return math.ceil(cost - WHOLE) if criterion.is_integral else cost


def _run(incumbent: Incumbent) -> None:
    """Climb as long as there is time; later rounds go on."""
    prices = incumbent.kept(Prices) or Prices.of(incumbent.criterion)
    if prices is None:
        return
    incumbent.keep(prices)
    for _ in prices.improve(incumbent.deadline):
        incumbent.prove(cost_of(incumbent.criterion, prices.excess), METHOD.name)
        if incumbent.is_closed:
            return


BOUND = Bound("prices", of_costs=sum_bound)
METHOD = Method(
    "dual prices over time", _run, Trait.SUM, shares={Trait.NONE: (0.0, HALF, 0.0, HALF)}, stage="bound", bound=BOUND
)
