"""Payments of jobs at dual prices, with every minimum over starts smoothed, so that they are differentiable.

The engine walks the starts anew at each evaluation, which needs no memory and looks only where a job may be cheapest.
Derivation: docs/mathematics/bounds-on-costs.md, "Prices over time".
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, Handle, engine
from coalloc.solvers.bounds.priced_starts import StartPricing, Ways

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CUT = 12.0
"""Temperatures above the least value from which on a start has no share: e to the minus 12th of the least's."""
SPAN = 10_000
"""Jobs whose payments are added up before they are added to the others'."""


class OutOfTimeError(Exception):
    """The time is up within an evaluation."""


def starts_of(ways: Ways, edges: Floats, low: Ints, high: Ints) -> Handle:
    """Return the starts of ways in the engine: of each job in the cells from low up to, but not with, high."""
    columns = np.array([ways.release, ways.duration, ways.floor, ways.slope, ways.least])
    sizes = (len(low), len(ways.job), *ways.needs.shape, len(edges) - 1)
    first = np.append(ways.first, len(ways.job))
    handle: Handle = engine().starts_new(*sizes, first, columns, ways.kind, ways.needs, low, high, edges)
    return handle


class Smooth:
    """The smoothed value at one temperature; ``num_starts`` are those of the last evaluation."""

    def __init__(self, pricing: StartPricing, temperature: float) -> None:
        low = np.zeros(pricing.ways.num_jobs, dtype=np.int64)
        self._pricing, self._heat = pricing, (temperature, CUT * temperature)
        self._starts = starts_of(pricing.ways, pricing.edges, low, low + pricing.num_cells)
        self.num_starts = 0

    def value(self, prices: Floats, deadline: float) -> tuple[float, Floats]:
        """Return the value, above what the jobs cost alone, and its gradient by the prices; ``deadline`` in s."""
        pricing, num_jobs = self._pricing, self._pricing.ways.num_jobs
        sums = pricing.sums_of(prices)
        total, flow = -float((pricing.supply * prices).sum()), np.zeros_like(sums)
        sizes, heat, self.num_starts = (len(sums), pricing.num_cells), self._heat, 0
        for first in range(0, num_jobs, SPAN):
            job, last, totals = first, min(first + SPAN, num_jobs), np.zeros(2)
            while job < last:
                look_at_the_clock(deadline)
                job = engine().starts_soften(self._starts, *sizes, sums, *heat, flow, totals, job, last, LONGEST_CALL)
            total, self.num_starts = total + float(totals[0]), self.num_starts + int(totals[1])
        return total, _use(pricing, flow) - pricing.supply


def _use(pricing: StartPricing, flow: Floats) -> Floats:
    """Return what is taken in each cell, if a unit more of each sum of prices costs ``flow``: by rows."""
    later = flow[:, ::-1].cumsum(axis=1)[:, ::-1]
    return np.asarray(later[:, 1:-1] * pricing.widths, dtype=np.float64)


def look_at_the_clock(deadline: float) -> None:
    """Raise :class:`OutOfTimeError` where the time (``time.perf_counter()``, s) is up."""
    if time.perf_counter() > deadline:
        raise OutOfTimeError
