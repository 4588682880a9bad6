"""Rounds of annealing: each longer than the one before, the last as long as the time that is left allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from coalloc.problem import Assignment
from coalloc.solvers.incumbent import Incumbent

LONGER = 4
"""How many times as long each round is as the one before."""
FRAME = 0.9
"""Share of the time left that the last round is planned to take."""

Round = Callable[[int, float], Sequence[Assignment]]
"""Anneals for so many steps, or until a deadline (``time.perf_counter()``, s); returns its best schedule."""


def anneal_in_rounds(incumbent: Incumbent, round_of: Round, *, first: int, most: int, name: str) -> None:
    """Anneal in rounds, ``most`` at most, from so many steps on: one only where work is limited.

    What each finds is taken, in the name of a method.
    """
    steps = incumbent.limited(first)
    for _ in range(most if incumbent.state.options.work_limit is None else 1):
        began = time.perf_counter()
        found = round_of(steps, incumbent.deadline)
        spent = max(1e-9, time.perf_counter() - began)
        incumbent.take(found, name)
        fitting = int(FRAME * incumbent.time_left / spent * steps)
        if incumbent.is_closed or fitting < steps:
            return
        steps = fitting if fitting < LONGER * (LONGER + 1) * steps else LONGER * steps
