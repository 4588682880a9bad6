"""Carrying out a plan: planned processors and the order on each are kept, jobs start as soon as they can.

Real ends may differ from planned ones. A job starts once its processors are free and no job before it in
the plan still waits for one of them; where links count, once it saturates none, with the jobs before it
that still wait counted as if they ran. If jobs end as planned none therefore starts later than planned.
Source: thesis, section 3.3.1; errata 5 and 18.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import sub
from typing import NamedTuple

from coalloc.simulator.policy import Start, State
from coalloc.simulator.processors import Processors


class Planned(NamedTuple):
    """A job of a plan: where it will run, how long (s, by its estimate), what it takes of links and memories."""

    job_id: str
    processors: Processors
    duration: float
    loads: Sequence[float] = ()

    def start(self, state: State) -> Start:
        """Return the decision to start it now."""
        return Start(self.job_id, nodes=state.names(self.processors))


def due(plan: Sequence[Planned], free: Processors, left: Sequence[float] = ()) -> Iterator[Planned]:
    """Yield the jobs of a plan, which is in the order of planned starts, that can start now.

    ``left`` is what the running jobs leave of each link and memory; plans without loads ignore both.
    """
    left = tuple(left)
    for planned in plan:
        if not free:
            return
        if not planned.processors & ~free and all(
            load <= room or not load for load, room in zip(planned.loads, left, strict=False)
        ):
            yield planned
        free &= ~planned.processors
        if planned.loads:
            left = tuple(map(sub, left, planned.loads))


def without(plan: Sequence[Planned], started: Sequence[Planned]) -> list[Planned]:
    """Return what is left of a plan."""
    ids = {planned.job_id for planned in started}
    return [planned for planned in plan if planned.job_id not in ids]
