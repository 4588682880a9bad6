"""The classic list policies: an order of the queue, started from its head or with gaps filled.

FCFS, SJF, BJF, SPT and LPT take jobs from the head of the ordered queue and stop at the first that does
not fit; with ``skip`` that job is passed over, which on the order of arrival is FPFS. Source: thesis,
sections 3.1.1 and 3.1.3.3; errata 8 and 12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import sub

from coalloc.allocation import Allocation, Scope
from coalloc.instance import Job
from coalloc.rules.allocation_rules import Choose, RuleName
from coalloc.rules.orders import ordered
from coalloc.simulator.policy import Start, State


@dataclass(frozen=True, slots=True)
class ListPolicy:
    """Starts the jobs of an ordered queue; see :data:`coalloc.rules.orders.ORDERS` for the orders."""

    order: str
    skip: bool = False
    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"

    def decide(self, state: State) -> Iterable[Start]:
        """Return the jobs that start now."""
        queue = state.queue if self.order == "fcfs" else ordered(state.queue, self.order)
        return started_from(queue, state.room, state.allocator(self.allocation).choose, self.skip)


def started_from(queue: Iterable[Job], room: Sequence[int], choose: Choose, skip: bool) -> Iterator[Start]:
    """Yield starts of the jobs of a queue, in its order, up to the first that does not fit (or without it)."""
    for job in queue:
        taken = choose(job, room)
        if taken is not None:
            room = less(room, taken)
            yield Start(job.id, taken)
        elif not skip:
            return


def less(room: Sequence[int], taken: Sequence[int]) -> Allocation:
    """Return what is left of free processors, or of a room."""
    return tuple(map(sub, room, taken))
