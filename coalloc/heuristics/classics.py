"""The classic list policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import sub
from typing import ClassVar

from coalloc.heuristics.over_time import Filling
from coalloc.heuristics.queued import Queued
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import Choose, RuleName
from coalloc.rules.orders import Order, is_fixed
from coalloc.rules.queues import QueueRules, waiting_jobs
from coalloc.simulator.policy import INTERRUPTED, Start, State


@dataclass(slots=True)
class ListPolicy(Queued):
    """List scheduling: start jobs in a configurable order; stop at or skip jobs that do not fit.

    At every pass the queue is ordered, and jobs start from its head, each on the allocation of the rule, up to the
    first that does not fit. With ``skip`` that one is passed over and the rest is tried. Source: thesis, sections 3.1.1
    (Algorithm 1) and 3.1.3.3; errata 8 and 12.

    *Example.* Three processors; A has two until 100 s. B (3 processors, 50 s) arrives at 5 s, C (1 processor, 150 s) at
    6 s, D (1 processor, 90 s) at 7 s. B starts at 100 s, C and D at 150 s. With ``skip`` C starts at 6 s, D at 100 s, B
    at 190 s.

    Parameters
    ----------
    queue_order
        Order of the queue.
    skip
        Pass over a job that does not fit, instead of stopping there.
    allocation
        Allocation rule.
    scope
        Where the tasks of one job may be: anywhere, in one cluster, on one node.
    """

    supported_features: ClassVar[frozenset[str]] = INTERRUPTED
    queue_order: Order = "fcfs"
    skip: bool = False
    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"
    _has_closings: bool = field(init=False, default=False)

    @property
    def queue_rules(self) -> QueueRules | None:
        """Rules that decide as it does; None where the order of two jobs changes while they wait."""
        rules = QueueRules(self.queue_order, "any" if self.skip else "none", allocation=self.allocation)
        return rules if is_fixed(self.queue_order) else None

    def begin(self, state: State) -> None:
        """Forget the run before."""
        self._run, self._has_closings = state.run, state.has_closings
        self._waiting = waiting_jobs(self.queue_order, state.allocator(self.allocation).least_time)

    def decide(self, state: State) -> list[Start]:
        """Return the jobs that start now."""
        if state.run is not self._run:
            self.begin(state)
        if self._has_closings:
            return self._beside_closings(state)
        waiting, choose, free = self._waiting, state.allocator(self.allocation).choose, state.room
        waiting.update(state)
        starts: list[Start] = []
        for job in waiting.jobs:
            counts = choose(job, free)
            if counts is None:
                break
            starts.append(Start(job.id, counts))
            free = less(free, counts)
        num_first = len(starts)
        passing = self._pass_over(starts, free, choose, len(state.classes)) if self.skip else []
        if starts:
            waiting.leave(num_first, passing)
        return starts

    def _beside_closings(self, state: State) -> list[Start]:
        """Return the jobs that start now, and end by their estimates before what they run on is not there."""
        waiting, filling = self._waiting, Filling(state, state.allocator(self.allocation))
        waiting.update(state)
        return filling.starts(
            waiting, lambda num_first: waiting.small(filling.room, num_first + 1) if self.skip else []
        )

    def _pass_over(self, starts: list[Start], free: Allocation, choose: Choose, num_classes: int) -> list[int]:
        """Add starts of jobs behind the first that does not fit; return their places."""
        room, passing = sum(free[:num_classes]), []
        for place in self._waiting.small(room, len(starts) + 1) if room else ():
            job = self._waiting.jobs[place]
            counts = choose(job, free) if job.tasks <= room else None
            if counts is not None:
                passing.append(int(place))
                starts.append(Start(job.id, counts))
                free, room = less(free, counts), room - job.tasks
        return passing


def less(room: Sequence[int], taken: Sequence[int]) -> Allocation:
    """Return what is left of free processors, or of a room."""
    return (room[0] - taken[0],) if len(room) == 1 else tuple(map(sub, room, taken))
