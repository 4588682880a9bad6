"""Refuting latest ends, from what is proved on upwards, with a tree that searches for what ends by a ceiling.

That no schedule ends by a ceiling is a bound. The tree of a ceiling hardly above what is proved is small, so the
ceilings rise in steps that double, up to the best that is known. Where a schedule is found the ceiling falls below it,
in the midst of the search: all that was left before would be left now.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from coalloc.problem import Assignment
from coalloc.rules.tuning import FIRST_NODES, NODES
from coalloc.solvers.incumbent import Incumbent

ENDED = ("everything", "better", "stopped")
"""Return values of a call of a tree in the engine: see :meth:`Tree.run`."""


class Tree(Protocol):
    """A search for a schedule that ends by a ceiling, ticks."""

    @property
    def proven(self) -> float:
        """The latest end, ticks, that is proved once everything was seen."""

    def lower(self, ceiling: float) -> None:
        """Look for what ends by an earlier ceiling, ticks, from now on."""

    def run(self, max_nodes: int, deadline: float) -> tuple[str, int]:
        """Search on; return "everything" where all was seen, "better" at a schedule, else "stopped", and the nodes.

        ``deadline`` is an instant of ``time.perf_counter()``, s, at which it may stop as well.
        """

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""


@dataclass(slots=True)
class Refutation:
    """Ends that are refuted, until one is reached or none is open; it goes on where it was stopped.

    ``tree_of`` gives the tree of a ceiling; ``latest`` says which ceiling is just below a latest end; ``unit`` is the
    first step of the ceilings. All of them are in ticks; ``name`` is that of the method. ``is_exhausted`` says that
    its trees go no further.
    """

    tree_of: Callable[[float], Tree]
    latest: Callable[[float], float]
    unit: float
    name: str
    is_exhausted: bool = False
    _step: float = field(default=0.0, init=False)
    _tree: Tree | None = field(default=None, init=False)

    def run(self, incumbent: Incumbent) -> None:
        """Refute what the limits allow."""
        left = incumbent.limited(2**62)
        while left > 0 and _is_open(incumbent):
            if self._tree is None:
                self._tree = self.tree_of(min(incumbent.proven + self._step * self.unit, self.latest(incumbent.cost)))
                self._step = 2.0 * self._step + 1.0
            left = self._go_on(incumbent, self._tree, left)

    def improve(self, incumbent: Incumbent, max_nodes: int) -> None:
        """Search for what is better than the best that is known, wherever the bound is, up to a number of nodes."""
        if _is_open(incumbent):
            self._go_on(incumbent, self.tree_of(self.latest(incumbent.cost)), incumbent.limited(max_nodes))

    def _go_on(self, incumbent: Incumbent, tree: Tree, left: int) -> int:
        """Search for what ends by a ceiling, and then by earlier ones; return how many of so many nodes are left."""
        chunk = FIRST_NODES
        while left > 0 and _is_open(incumbent):
            tree.lower(self.latest(incumbent.cost))
            ended, _ = tree.run(min(left, chunk), incumbent.deadline)
            left, chunk = left - chunk, NODES
            if ended == "everything":
                self._tree = None
                incumbent.prove(tree.proven, self.name)
                return left
            if ended == "better" and not self._is_taken(incumbent, tree.assignments()):
                return 0
            incumbent.hear()
        return 0

    def _is_taken(self, incumbent: Incumbent, found: list[Assignment]) -> bool:
        """Take a schedule; return whether it is valid. If not, another choice of modes might be: nothing is proved."""
        incumbent.take_if_valid(found, self.name)
        self.is_exhausted = incumbent.cost > incumbent.criterion.value(found)
        return not self.is_exhausted


def _is_open(incumbent: Incumbent) -> bool:
    return not incumbent.is_closed and incumbent.time_left > 0.0 and math.isfinite(incumbent.cost)
