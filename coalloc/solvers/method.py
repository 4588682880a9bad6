"""A row of the portfolio: the name of a method, what it requires, its shares of the time, how it runs, its bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from coalloc.objectives import Criterion
from coalloc.problem import Problem
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.traits import Trait

Stage = Literal["bound", "search", "solve", "build"]
"""Stage to which the time of a method is counted."""
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


Shares = Mapping[Trait, tuple[float, ...]]
"""Shares of the time that is left, by round: of the first traits that hold. The last share is that of all later rounds.
"""
ONCE: Shares = {Trait.NONE: (1.0, 0.0)}
"""In the first round alone, with all the time that is left."""


def once(share: float) -> Shares:
    """Return a share of the time that is left in the first round alone."""
    return {Trait.NONE: (share, 0.0)}


@dataclass(frozen=True, slots=True)
class Method:
    """A bound, a search or a complete method.

    Parameters
    ----------
    name
        What the trace calls it, and ``solve(methods=, without=)``.
    run
        Tells the incumbent whatever it finds; it ends by ``incumbent.deadline``, and where the gap is closed.
    needs
        Traits of the problem, and of what is known, that it requires.
    also
        What it requires besides: a condition on numbers, or on structure that no other method asks for.
    instead_of
        Names of better methods: it runs where none of them is in the portfolio and accepts the problem.
    shares
        Share of the time that is left after which it stops, by traits and round; 0 where it does not run.
    stage
        What its time is counted as; None where it counts it itself.
    proves
        Traits under which it ends with a proof if time allows; None where it never does.
    bound
        The bound that it proves, where ``lower_bound(method=)`` offers it by itself.
    parts
        Methods of one kind that it runs in turn, each in its own share.
    """

    name: str
    run: Callable[[Incumbent], None]
    needs: Trait = Trait.NONE
    also: Callable[[Incumbent], bool] = nothing_else
    instead_of: tuple[str, ...] = ()
    shares: Shares = field(default_factory=lambda: ONCE)
    stage: Stage | None = "search"
    proves: Trait | None = None
    bound: Bound | None = None
    parts: tuple[Method, ...] = ()

    def accepts(self, incumbent: Incumbent) -> bool:
        """Return whether it knows the problem and the objective, and is of use by now."""
        return self.needs in incumbent.traits and self.also(incumbent)

    def share(self, incumbent: Incumbent) -> float:
        """Return its share of the time that is left in this round; 0 where it does not run."""
        traits = incumbent.traits
        shares = next((of for needed, of in self.shares.items() if needed in traits), (0.0,))
        share = shares[min(incumbent.round, len(shares) - 1)]
        return share if share and self.accepts(incumbent) else 0.0


def run_in_turn(parts: Iterable[Method], incumbent: Incumbent) -> None:
    """Run the methods that accept what is open, each in its share of the time that is left."""
    for part in parts:
        share = 0.0 if incumbent.is_closed else part.share(incumbent)
        if share:
            with incumbent.within(share):
                part.run(incumbent)


def has_part(parts: Iterable[Method]) -> Callable[[Incumbent], bool]:
    """Return the condition that one of some methods runs in this round."""
    listed = tuple(parts)
    return lambda incumbent: any(part.share(incumbent) for part in listed)
