"""Bounds that are computed once: positions, due dates, mean busy times, patterns, and prices of sets over time."""

from __future__ import annotations

from coalloc.solvers.bounds import due_dates, mean_busy_time, position_assignment, processor_patterns, set_prices
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, has_part, run_in_turn
from coalloc.solvers.traits import Trait

BOUNDS = (
    position_assignment.METHOD,
    due_dates.METHOD,
    mean_busy_time.METHOD,
    processor_patterns.METHOD,
    set_prices.METHOD,
)


def _run(incumbent: Incumbent) -> None:
    run_in_turn(BOUNDS, incumbent)


METHOD = Method("bounds", _run, also=has_part(BOUNDS), shares={Trait.NONE: (1.0,)}, stage="bound", parts=BOUNDS)
