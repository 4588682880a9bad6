"""A row of the portfolio: the name of a method, what it requires, its share of the time, how it runs, its bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from coalloc.objectives import Criterion
from coalloc.problem import Problem
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.traits import Trait

Stage = Literal["bound", "search", "solve", "build"]
"""What the time of a method is counted as."""
OfEnds = Callable[[Problem, float], float]
"""A problem and seconds: a lower bound on the latest end, ticks."""
OfCosts = Callable[[Criterion, float], float]
"""A criterion of another objective and seconds: a lower bound on its cost."""


def nothing_else(incumbent: Incumbent) -> bool:  # noqa: ARG001 - the signature of conditions
    """Require nothing beyond traits."""
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
        What the trace calls it, and ``solve(methods=, without=)``; several rows may be one method.
    run
        Tells the context whatever it finds; it ends by ``context.deadline``, and where the gap is closed.
    needs
        Traits of the problem, and of what is known, that it requires.
    also
        What it requires besides: a condition on numbers, or on structure that no other method asks for.
    instead_of
        Names of better methods: it runs where none of them is in the portfolio and accepts the problem.
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
    needs: Trait = Trait.NONE
    also: Callable[[Incumbent], bool] = nothing_else
    instead_of: tuple[str, ...] = ()
    share: float = 1.0
    stage: Stage | None = "search"
    repeats: bool = False
    is_complete: bool = False
    bound: Bound | None = None

    def accepts(self, incumbent: Incumbent) -> bool:
        """Return whether it knows the problem and the objective, and is of use by now."""
        return self.needs in incumbent.traits and self.also(incumbent)
