"""What jobs pay at prices with every minimum over starts smoothed: differentiable, which a climb to good prices needs.

For few jobs the starts are columns that NumPy goes through; for many, machine code walks them anew at each evaluation
(:mod:`coalloc.solvers.bounds.prices_kernel`), which needs no memory and looks only where a job may be cheapest.
Derivation: docs/mathematics.md, "Prices over time".
"""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coalloc.solvers.bounds.priced_starts import Pricing, Starts

Floats = NDArray[np.float64]

MARGIN = 2.0
"""How many times what a job pays its stored starts may cost: prices change while they are looked for."""
CUT = 12.0
"""Temperatures above the least value from which on a start has no share: e to the minus 12th of the least's."""
SPAN = 10_000
"""Jobs that are walked between two looks at the clock."""


class OutOfTimeError(Exception):
    """The time is up within an evaluation."""


class Smooth(Protocol):
    """The smoothed value at one temperature."""

    num_starts: int

    def value(self, prices: Floats, deadline: float) -> tuple[float, Floats]:
        """Return the value, above what the jobs cost alone, and its gradient by the prices; ``deadline`` in s."""


class StoredStarts:
    """The smoothed value over starts that are kept: such as may be cheapest at prices near those of the beginning."""

    def __init__(self, pricing: Pricing, prices: Floats, temperature: float) -> None:
        self._pricing, self._temperature = pricing, temperature
        self._chunks = list(pricing.starts(_reach(pricing, prices)))
        self._lengths = [np.diff(np.append(starts.first, len(starts.way))) for starts in self._chunks]
        self.num_starts = sum(len(starts.way) for starts in self._chunks)

    def value(self, prices: Floats, deadline: float) -> tuple[float, Floats]:
        """Return the value and its gradient."""
        _look_at_the_clock(deadline)
        pricing = self._pricing
        sums = pricing.sums(prices)
        total, flow = -float((pricing.supply * prices).sum()), np.zeros(len(sums))
        for starts, lengths in zip(self._chunks, self._lengths, strict=True):
            total += self._add(starts, lengths, sums, flow)
        use = _use(pricing, flow.reshape(len(pricing.ways.needs), -1))
        return total, pricing.ways.needs.T @ use - pricing.supply

    def _add(self, starts: Starts, lengths: NDArray[np.int64], sums: Floats, flow: Floats) -> float:
        """Add to ``flow`` what a tick more of each sum costs; return what these jobs pay."""
        values = starts.values(sums)
        least = np.minimum.reduceat(values, starts.first)
        shares = np.exp((np.repeat(least, lengths) - values) / self._temperature)
        totals = np.add.reduceat(shares, starts.first)
        shares /= np.repeat(totals, lengths)
        for place, share, sign in ((starts.end, starts.end_share, 1.0), (starts.begin, starts.begin_share, -1.0)):
            part = shares * share
            flow += sign * np.bincount(place, shares - part, len(flow))
            flow += sign * np.bincount(place + 1, part, len(flow))
        return float((least - self._temperature * np.log(totals)).sum())


class WalkedStarts:
    """The smoothed value over all starts, walked by machine code; ``num_starts`` are those of the last evaluation."""

    def __init__(self, pricing: Pricing, temperature: float) -> None:
        ways = pricing.ways
        self._pricing, self._heat = pricing, (temperature, CUT * temperature)
        self._first = np.append(ways.first, len(ways.job))
        self._columns = np.array([ways.release, ways.duration, ways.floor, ways.slope, ways.least])
        last = pricing.num_cells
        instants = np.array([ways.release, ways.release + ways.duration])
        self._places = np.clip(np.searchsorted(pricing.edges, instants, side="right") - 1, 0, last)
        most = int(np.diff(self._first).max()) * (2 * last + 3)
        self._seen = np.empty(most), np.empty((most, 3), dtype=np.int64), np.empty((most, 2))
        self.num_starts = 0

    def value(self, prices: Floats, deadline: float) -> tuple[float, Floats]:
        """Return the value and its gradient."""
        from coalloc.solvers.bounds.prices_kernel import add_soft_minima

        pricing, ways = self._pricing, self._pricing.ways
        sums = pricing.sums_of(prices)
        total, flow = -float((pricing.supply * prices).sum()), np.zeros_like(sums)
        self.num_starts = 0
        for first in range(0, ways.num_jobs, SPAN):
            _look_at_the_clock(deadline)
            span = first, min(first + SPAN, ways.num_jobs)
            of_ways = self._first, self._columns, ways.kind, ways.needs, self._places
            paid, looked_at = add_soft_minima(span, *of_ways, pricing.edges, sums, self._heat, flow, self._seen)
            total, self.num_starts = total + paid, self.num_starts + looked_at
        return total, _use(pricing, flow) - pricing.supply


def _reach(pricing: Pricing, prices: Floats) -> Floats:
    """Return how far each way is looked at: as prices say, or to the last edge before there are any."""
    if prices.any():
        return pricing.reach(prices, MARGIN)
    return np.asarray(np.maximum(pricing.edges[-1] - pricing.ways.release, 0.0), dtype=np.float64)


def _use(pricing: Pricing, flow: Floats) -> Floats:
    """Return what is taken in each cell, if a unit more of each sum of prices costs ``flow``: by rows."""
    later = flow[:, ::-1].cumsum(axis=1)[:, ::-1]
    return np.asarray(later[:, 1:-1] * pricing.widths, dtype=np.float64)


def _look_at_the_clock(deadline: float) -> None:
    """Raise where the time is up."""
    if time.perf_counter() > deadline:
        raise OutOfTimeError
