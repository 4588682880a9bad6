"""The bound of job prices on a sum of costs: each job pays its own, and the best set that fits gets them back.

With prices ``pi_jk >= 0`` of a tick of job j in cell k of the time, and 0 elsewhere,

    sum_j min over ways and starts s of (cost(s) + what pi_j sums up to from s to s + d)
    - sum_k width_k * max over sets S that fit in cell k of sum_{j in S} pi_jk

is a lower bound on the sum of the costs, whatever the prices. Prices of processors
(:mod:`coalloc.solvers.bounds.priced_starts`) are the case ``pi_jk = tasks_j y_k``, in which jobs that do not fit beside
each other may still run at once in parts; here they may not, and a knapsack in each cell says so. It begins at the
prices of processors and climbs along subgradients that are averaged over the steps, with steps as long as they help.
Derivation: docs/mathematics/bounds-on-costs.md, "Prices of jobs over time". Source of the averaging: F. Barahona, R.
Anbil, "The volume algorithm: producing primal solutions with a subgradient method", Mathematical Programming 87 (2000).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, engine
from coalloc.objectives import Criterion
from coalloc.rules.tuning import HALF, MANY_ENTRIES, OPERATIONS
from coalloc.solvers.bounds.priced_starts import ROUNDING, StartPricing, Ways, ways_of
from coalloc.solvers.bounds.prices import COOLING, FEWEST_CELLS, STEPS, Prices, cost_of
from coalloc.solvers.bounds.smooth_prices import CUT, OutOfTimeError, look_at_the_clock, starts_of
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Bound, Method
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS_PER_JOB = (2, 6)
"""Cells per job, first and refined; no more than prices of processors have."""
MARGIN = 3.0
"""Ratio of the payment of a job at its own dual prices to that at prices of processors for which its span suffices."""
FIRST_GAINS, LAST_GAIN = (0.05, 0.005), 5e-5
"""Gain that the first step with each number of cells aims at, and at which cells are refined; shares of the bound."""
LONGER, SHORTER = 1.1, 0.7
"""Factors of what a step should gain: after one that has raised the bound, after so many in a row that have not."""
WEIGHT = 0.015
"""Weight of the newest subgradient in the average."""
FAILURES = 20
"""Failed steps in a row after which a step should gain less."""


@dataclass(frozen=True, slots=True)
class PriceSpans:
    """Spans of the dual prices of jobs: from cell ``low`` on, shape ``(num_jobs,)``, at ``offsets`` of one array.

    ``cell`` and ``job`` say what each of these places is, ``width`` (ticks) how long its cell lasts, ``tasks`` what its
    job takes; ``cells`` and ``entries`` list the places by cells: those of cell k are
    ``entries[cells[k]:cells[k + 1]]``.
    """

    low: Ints
    offsets: Ints
    cell: Ints
    job: Ints
    width: Floats
    tasks: Ints
    cells: Ints
    entries: Ints

    @classmethod
    def between(cls, low: Ints, high: Ints, tasks: Ints, edges: Floats) -> PriceSpans:
        """Return the spans of jobs from cells ``low`` up to, but not with, cells ``high``."""
        offsets = np.concatenate([[0], np.cumsum(high - low)])
        job = np.repeat(np.arange(len(low)), high - low)
        cell = np.arange(offsets[-1]) - offsets[job] + low[job]
        entries = np.argsort(cell, kind="stable")
        cells = np.searchsorted(cell[entries], np.arange(len(edges)))
        return cls(low, offsets, cell, job, np.diff(edges)[cell], tasks[job], cells, entries)


class JobPrices:
    """The bound of one criterion, and the prices that prove it so far; ``excess`` as that of prices of processors.

    ``prices`` has a price a tick for each place of ``spans``. ``is_final`` once no step or finer cells are worth it.
    """

    def __init__(self, ways: Ways, first: Prices) -> None:
        self._ways = ways
        needs = np.minimum.reduceat(ways.needs[ways.kind, -1], ways.first).astype(np.int64)
        unit = reduce(math.gcd, needs.tolist())
        self._tasks, self._unit = needs // unit, unit
        self._fine, self._processors = first.pricing.edges, first.prices
        self._temperature = COOLING[-1] * float((ways.slope * ways.duration)[ways.first].mean())
        self._levels = list(zip(CELLS_PER_JOB, FIRST_GAINS, strict=True))
        self.excess, self.is_final = 0.0, False
        self.edges, self.prices = self._fine, np.empty(0)
        self._refine()

    @classmethod
    def of(cls, criterion: Criterion, first: Prices) -> JobPrices | None:
        """Return the bound at prices of processors; None where speeds differ, or there is too much to look at."""
        ways = ways_of(criterion)
        if ways is None or first.excess <= 0.0 or ways.needs.shape[1] != 1 or ways.needs.min() < 1.0:
            return None
        own = cls(ways, first)
        num_sums = len(own.prices) * int(own._capacities.max())
        return own if len(own.prices) <= MANY_ENTRIES and num_sums <= OPERATIONS else None

    def improve(self, deadline: float) -> Iterator[float]:
        """Yield ever better bounds on the excess, until the deadline (``time.perf_counter()``, s) or the last cells.

        Called again, it goes on where it stopped.
        """
        try:
            while not self.is_final and time.perf_counter() < deadline:
                for _ in range(STEPS):
                    self._step(deadline)
                    if self._is_done:
                        break
                yield self.excess
                if self._is_done:
                    self.is_final = not self._refine()
        except OutOfTimeError:
            yield self.excess

    @property
    def _is_done(self) -> bool:
        """Whether no step with these cells is worth it."""
        return self._gain < LAST_GAIN * max(self._best, 0.0)

    def _refine(self) -> bool:
        """Take the prices to finer cells; return whether there are any."""
        if not self._levels or (len(self.prices) and len(self.edges) == len(self._fine)):
            return False
        cells_per_job, self._first_gain = self._levels.pop(0)
        cells = max(FEWEST_CELLS, cells_per_job * self._ways.num_jobs)
        every = 1 << max(0, ((len(self._fine) - 1) // cells).bit_length() - 1)  # coarser edges are finer ones, too
        before, edges = self.edges, np.unique(np.append(self._fine[::every], self._fine[-1]))
        sums = np.concatenate([[0.0], np.cumsum(self._processors[0] * np.diff(self._fine))])
        mean = np.diff(np.interp(edges, self._fine, sums)) / np.diff(edges)
        pricing = StartPricing(self._ways, edges)
        if not len(self.prices):
            self.spans = self._spans(pricing, mean[None, :])
            self.prices = self._tasks[self.spans.job] * self._unit * mean[self.spans.cell]
        else:
            middle = (edges[:-1] + edges[1:]) / 2.0
            old = np.searchsorted(before, middle, side="right") - 1
            low, high = (np.searchsorted(edges, before[cells]) for cells in self._cells_of_spans())
            spans = PriceSpans.between(low, high, self._tasks, edges)
            self.prices = self.prices[self.spans.offsets[spans.job] + old[spans.cell] - self.spans.low[spans.job]]
            self.spans = spans
        self.edges = edges
        self._prepare()
        self._gain, self._failures = math.inf, 0
        return True

    def _cells_of_spans(self) -> tuple[Ints, Ints]:
        """Return the first cell of each span, and the one after its last."""
        return self.spans.low, self.spans.low + np.diff(self.spans.offsets)

    def _spans(self, pricing: StartPricing, prices: Floats) -> PriceSpans:
        """Return the cells from the release of each job to the end of its latest start that may be cheapest."""
        ways = self._ways
        reach = np.maximum(pricing.reach(prices, MARGIN), 0.0)
        ends = np.maximum.reduceat(ways.release + reach + ways.duration, ways.first)
        low = np.searchsorted(pricing.edges, ways.release[ways.first], side="right") - 1
        high = np.minimum(np.searchsorted(pricing.edges, ends), pricing.num_cells)
        return PriceSpans.between(low, np.maximum(low, high), self._tasks, pricing.edges)

    def _prepare(self) -> None:
        """Begin a climb with the cells."""
        ways, edges = self._ways, self.edges
        through = np.maximum(ways.ends, 0.0)[None, :] >= edges[1:, None]  # what holds processors all the cell
        free = ways.capacities[-1] - through @ ways.held[:, -1]
        self._capacities = (free / self._unit).astype(np.int64)
        self._starts = starts_of(ways, edges, *self._cells_of_spans())
        spans, sizes = self.spans, (len(edges) - 1, len(self.prices))
        self._sets = engine().job_sets_new(*sizes, spans.cells, spans.entries, spans.tasks, self._capacities)
        self._best, self._direction = -math.inf, np.empty(0)

    def _step(self, deadline: float) -> None:
        """Try prices along the direction, and take them if the bound at them is better; the first step only looks."""
        width, direction = self.spans.width, self._direction
        if math.isinf(self._gain):
            self._best, self._direction = self.value(self.prices, deadline)
            self._gain = self._first_gain * max(self._best, 0.0)
            return
        norm = float((direction * direction) @ width)
        if norm <= 0.0 or self._best <= 0.0:
            self._gain = -1.0
            return
        trial = np.maximum(0.0, self.prices + (self._gain / norm) * direction)
        value, subgradient = self.value(trial, deadline)
        self._direction = (1.0 - WEIGHT) * direction + WEIGHT * subgradient
        if value > self._best:
            self._best, self.prices, self._failures = value, trial, 0
            self._gain = min(LONGER * self._gain, FIRST_GAINS[0] * value)
        elif self._failures + 1 < FAILURES:
            self._failures += 1
        else:
            self._gain, self._failures = SHORTER * self._gain, 0

    def value(self, prices: Floats, deadline: float) -> tuple[float, Floats]:
        """Return what prices prove of the excess, and a subgradient per tick of each place, of soft minima.

        Raises :class:`OutOfTimeError` where the deadline (``time.perf_counter()``, s) comes first.
        """
        edges, num_cells, num_places = self.edges, len(self.edges) - 1, len(prices)
        shares, totals, job = np.empty(num_places), np.zeros(2), 0
        heat = (self._temperature, CUT * self._temperature)
        while job < len(self._tasks):
            look_at_the_clock(deadline)
            job = engine().starts_share(self._starts, num_places, prices, *heat, shares, totals, job, LONGEST_CALL)
        chosen, values, cell = np.empty(num_places), np.empty(num_cells), 0
        while cell < num_cells:
            look_at_the_clock(deadline)
            arrays = (prices, chosen, values)
            cell = engine().job_sets_choose(self._sets, num_places, num_cells, *arrays, cell, LONGEST_CALL)
        total, magnitude = totals.tolist()
        brought = math.fsum((values * np.diff(edges)).tolist())
        value = total - brought - ROUNDING * (magnitude + brought)
        self.excess = max(self.excess, value)
        return value, shares - chosen


def job_prices_bound(criterion: Criterion, time_limit: float = math.inf) -> float:
    """Return the bound on the cost, as good as the time (s) allows: prices of processors first, for half of it."""
    began = time.perf_counter()
    first = Prices.of(criterion)
    if first is None:
        return criterion.objective.of_costs(criterion.alone)
    for _ in first.improve(began + time_limit / 2.0):
        pass
    own = JobPrices.of(criterion, first)
    for _ in own.improve(began + time_limit) if own is not None else ():
        pass
    return cost_of(criterion, max(first.excess, 0.0 if own is None else own.excess))


def _run(incumbent: Incumbent) -> None:
    """Climb as long as there is time; later rounds go on."""
    first = incumbent.kept(Prices)
    own = incumbent.kept(JobPrices) or (JobPrices.of(incumbent.criterion, first) if first is not None else None)
    if own is None:
        return
    incumbent.keep(own)
    steps = incumbent.limited(1 << 62)
    for _, excess in zip(range(-(-steps // STEPS)), own.improve(incumbent.deadline), strict=False):
        incumbent.prove(cost_of(incumbent.criterion, excess), METHOD.name)
        if incumbent.is_closed:
            return


BOUND = Bound("job-prices", of_costs=job_prices_bound)
METHOD = Method(
    "dual prices of jobs over time",
    _run,
    Trait.SUM,
    shares={Trait.NONE: (0.0, HALF, 0.0, HALF)},
    stage="bound",
    bound=BOUND,
)
