"""Dual prices over time: a bound on a sum of costs, by prices of processors, then by prices of each job."""

from __future__ import annotations

from coalloc.solvers.bounds import job_prices, prices
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, has_part, run_in_turn
from coalloc.solvers.traits import Trait

PRICES = (prices.METHOD, job_prices.METHOD)


def _run(incumbent: Incumbent) -> None:
    run_in_turn(PRICES, incumbent)


METHOD = Method(
    "dual prices", _run, Trait.SUM, has_part(PRICES), shares={Trait.NONE: (1.0,)}, stage="bound", parts=PRICES
)
