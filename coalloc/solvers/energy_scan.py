"""EDP certified by a scan over makespans: docs/mathematics.md, "Front and EDP"."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

from coalloc.solvers.energy_run import EnergyRun, Least
from coalloc.solvers.result import PROOF_TOLERANCE

MAKESPAN_SHARE = 0.3
"""Share of the time after which the search for the least makespan stops, before the scan."""
NARROW = 0.02
"""Share of its end below which a span is cut just below that end, no longer at its middle."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Makespans in ``[low, high)`` (s) of which no schedule has an EDP below ``bound``, J s.

    None takes less than ``energy`` J. ``cut`` is where it is to be cut next, None where it is not.
    """

    bound: float
    low: float
    high: float
    energy: float
    cut: float | None


def least_edp(runner: EnergyRun) -> bool:
    """Certify the least EDP by a scan over makespans; what is found goes to the search of the runner.

    All schedules with a makespan in ``[low, high)`` take at least the least energy E within ``high``, so their
    EDP is at least ``low * E``. The span of the smallest bound is cut, until that bound meets the best EDP known.
    Return whether there is a schedule within the limit of the call.
    """
    search, limit = runner.search, runner.search.options.makespan_limit
    shortest = runner.least("makespan", limit, MAKESPAN_SHARE)
    if shortest.bound == math.inf:
        return False
    least = max(0.0, shortest.bound * (1.0 - 0.1 * PROOF_TOLERANCE))
    high = math.inf if limit is None else limit
    spans = [Span(0.0, least, high, 0.0, high)]
    search.stopped_by = "interrupt" if shortest.stopped_by == "interrupt" else "proof"
    while spans and search.stopped_by == "proof":
        span = spans[0]
        if search.objective is not None:
            search.raise_bound(min(span.bound, search.objective), "scan")
        if span.cut is None or search.is_closed:
            return True
        heapq.heappop(spans)
        found = runner.least("energy", None if math.isinf(span.cut) else span.cut)
        search.stopped_by = found.stopped_by
        for part in _parts(span, span.cut, found):
            heapq.heappush(spans, part)
    if spans and search.objective is not None:
        search.raise_bound(min(spans[0].bound, search.objective), "scan")
    return bool(spans) or search.objective is not None


def _parts(span: Span, cut: float, found: Least) -> Iterator[Span]:
    """Yield a span in parts: below the makespan of the best schedule within ``cut``, up to the cut, and above it."""
    if cut < span.high:
        above = 0.5 * (cut + span.high) if span.high - cut > PROOF_TOLERANCE * span.high else None
        yield Span(cut * span.energy, cut, span.high, span.energy, above)
    if found.bound == math.inf:
        return
    least = max(span.energy, found.bound)
    attained = min(found.makespan, cut)
    if found.schedule is not None:
        yield Span(attained * least, attained, cut, least, None)
    if attained > span.low:
        yield Span(span.low * least, span.low, attained, least, _next_cut(span.low, attained, cut))


def _next_cut(low: float, high: float, cut: float) -> float | None:
    """Return where to cut a span whose end is the makespan of a schedule of least energy within ``cut``.

    Where that is below the cut, it may be the least with that energy, and the next cut is just below; else many
    makespans may have that energy, and the span is halved.
    """
    below = high * (1.0 - 0.5 * PROOF_TOLERANCE)
    if below <= low:
        return None
    is_step = high < cut and high - low <= NARROW * high
    return below if is_step else 0.5 * (low + high)
