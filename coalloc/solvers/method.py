"""A row of the portfolio: what a method is called, what it accepts, its share of the time, how it runs, its bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from coalloc.objectives import Criterion
from coalloc.problem import Problem
from coalloc.solvers.incumbent import Incumbent

Stage = Literal["bound", "search", "solve", "build"]
"""What the time of a method is counted as."""
OfEnds = Callable[[Problem, float], float]
"""A problem and seconds: a lower bound on the latest end, ticks."""
OfCosts = Callable[[Criterion, float], float]
"""A criterion of another objective and seconds: a lower bound on its cost."""


def anything(incumbent: Incumbent) -> bool:  # noqa: ARG001 - it accepts what a method that looks closer refuses
    """Accept every problem."""
    return True


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on the latest end, on other costs, or on both (None where there is none), and its public name."""

    name: str
    of_ends: OfEnds | None = None
    of_costs: OfCosts | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A bound, a search or a complete method.

    Parameters
    ----------
    name
        What the trace calls it.
    run
        Tells the context whatever it finds; it ends by ``context.deadline``, and where the gap is closed.
    accepts
        Whether it knows the problem and the objective, and is of use at that size.
    share
        Share of the time that is left after which it stops.
    stage
        What its time is counted as; None where it counts it itself.
    repeats
        Whether running it again, at a later attempt, finds something else.
    is_complete
        Whether it ends with a proof if time allows.
    bound
        The bound that it proves, where ``lower_bound(method=)`` offers it by itself.
    """

    name: str
    run: Callable[[Incumbent], None]
    accepts: Callable[[Incumbent], bool] = anything
    share: float = 1.0
    stage: Stage | None = "search"
    repeats: bool = False
    is_complete: bool = False
    bound: Bound | None = None
