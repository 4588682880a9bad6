"""EDP certified by a scan over makespans: docs/mathematics/energy.md, "Pareto front and EDP"."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.objectives import Criterion
from coalloc.objectives.completion import Makespan
from coalloc.problem import discretise
from coalloc.solvers.energy.run import ENOUGH, EnergyRun, Least
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.portfolio import close
from coalloc.solvers.result import PROOF_TOLERANCE, relative_gap
from coalloc.solvers.solve_state import SolveState

MAKESPAN_SHARE = 0.3
"""Share of the time after which the search for the least makespan stops, before the scan."""
SMALL_GAP = 0.01
"""Relative gap down to which the least makespan is not searched for, neither for its bound nor for its schedule."""
NARROW = 0.02
"""Share of its end below which a span is cut just below that end, no longer at its middle."""


@dataclass(frozen=True, slots=True, order=True)
class ScannedSpan:
    """Makespans in ``[low, high)`` (s) of which no schedule has an EDP below ``bound``, J s.

    None takes less than ``energy`` J. ``cut`` is where it is to be cut next, None where it is not.
    """

    bound: float
    low: float
    high: float
    energy: float
    cut: float | None


def least_edp(runner: EnergyRun) -> bool:
    """Certify the least EDP by a scan over makespans; what is found goes to the call of the runner.

    All schedules with a makespan in ``[low, high)`` take at least the least energy E within ``high``, so their
    EDP is at least ``low * E``. The span of the smallest bound is cut, until that bound meets the best EDP known.
    Return whether there is a schedule within the limit of the call.
    """
    state = runner.state
    window = runner.relax(0.0)
    gap = relative_gap(state.objective, state.lower_bound)
    if window is not None and not runner.has_sets and (gap is None or gap > SMALL_GAP):
        shortest = least_makespan(runner) * (1.0 - 0.1 * PROOF_TOLERANCE)
        if math.isinf(shortest):
            return False
        if shortest > window[0]:
            window = runner.relax(shortest)
    if window is None:
        return state.objective is not None
    if state.is_closed or not runner.may_be_proven:
        return True
    least, high = window[0], window[1] * (1.0 + RELATIVE_TOLERANCE)
    spans = [ScannedSpan(0.0, least, high, 0.0, high)]
    state.stopped_by = "proof"
    while spans and state.stopped_by == "proof":
        span = spans[0]
        _prove(runner, span.bound)
        if span.cut is None or state.is_closed:
            return True
        heapq.heappop(spans)
        found = runner.least(None if math.isinf(span.cut) else span.cut)
        state.stopped_by = found.stopped_by
        for part in _parts(span, span.cut, found):
            heapq.heappush(spans, part)
    _prove(runner, spans[0].bound if spans else math.inf)
    return bool(spans) or state.objective is not None


def least_makespan(runner: EnergyRun) -> float:
    """Return a bound on the makespan, s, infinity where no schedule keeps the limit; schedules go to the runner."""
    state = runner.state
    seconds = MAKESPAN_SHARE * state.remaining
    if seconds <= 0.0:
        return 0.0
    time_limit = seconds if math.isfinite(seconds) else None
    options = replace(state.options, objective=Makespan.name, gap=0.0, time_limit=time_limit)
    own = SolveState(state.instance, options)
    given = runner.problem
    problem = discretise(
        given.instance, options.slot, saturation=options.saturation, scope=options.scope, base=given.base
    )
    try:
        close(Incumbent(own, problem, Criterion.of(problem, Makespan()), runner.run_model))
    finally:  # at Ctrl-C too
        if own.schedule is not None:
            runner.know(own.schedule, "minimum makespan")
    return math.inf if own.is_too_tight else own.lower_bound or 0.0


def _prove(runner: EnergyRun, bound: float) -> None:
    """Take the bound of the span with the smallest one; other makespans are known to be no better than the best."""
    known = runner.state.objective
    runner.state.raise_bound(bound if known is None else min(bound, known * (1.0 - ENOUGH)), "scan")


def _parts(span: ScannedSpan, cut: float, found: Least) -> Iterator[ScannedSpan]:
    """Yield a span in parts: below the makespan of the best schedule within ``cut``, up to the cut, and above it."""
    if cut < span.high:
        above = 0.5 * (cut + span.high) if span.high - cut > PROOF_TOLERANCE * span.high else None
        yield ScannedSpan(cut * span.energy, cut, span.high, span.energy, above)
    if found.bound == math.inf:
        return
    least = max(span.energy, found.bound)
    attained = cut if found.point is None else min(found.point.makespan, cut)
    if found.point is not None:
        yield ScannedSpan(attained * least, attained, cut, least, None)
    if attained > span.low:
        yield ScannedSpan(span.low * least, span.low, attained, least, _next_cut(span.low, attained, cut))


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
