"""Scheduling as Flux does it: one cycle over the head of the queue at every event, with so many reservations."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, Literal

from coalloc.documents.values import Count
from coalloc.heuristics.over_time import timeline_of
from coalloc.heuristics.queued import Queued
from coalloc.problem.allocation import Scope
from coalloc.rules.allocation_rules import Allocator, RuleName
from coalloc.rules.orders import Order
from coalloc.rules.queues import waiting_jobs
from coalloc.rules.reservations import Span, earliest, fitting
from coalloc.simulator.policy import INTERRUPTED, Start, State

QueuePolicy = Literal["fcfs", "easy", "hybrid", "conservative"]
"""Queue policies of Fluxion."""


@dataclass(slots=True)
class Flux(Queued):
    """Flux (Fluxion): queue policies FCFS, EASY, hybrid and conservative, planned anew at every event.

    1. A cycle looks at the first ``queue_depth`` waiting jobs, in the order of the queue. Each starts if the rule gives
       it an allocation that is free until its estimated end, next to the running jobs (overdue ones end a moment later)
       and the reservations of this cycle.
    2. With ``"fcfs"``, the cycle ends at the first job that does not start. Otherwise such a job gets a reservation at
       the earliest time at which it fits, up to 1 reservation (``"easy"``), ``reservation_depth`` (``"hybrid"``) or any
       number (``"conservative"``). Later jobs without a reservation delay none that has one.
    3. Reservations are given up at the end of the cycle. If jobs started and others are behind those looked at, another
       cycle follows at once.

    With ``"easy"``, one cluster of equal nodes, a ``queue_depth`` of all jobs, and no overdue job, the schedule is that
    of policy ``easy``. Policy ``conservative`` differs from ``"conservative"``: it keeps its reservations.

    Sources: flux-config-sched-fluxion-qmanager(5) and ``qmanager/policies`` of
    [flux-sched](https://github.com/flux-framework/flux-sched) 0.54, whose defaults these are. Simplified: scheduling
    takes no time, all queues are one, and ``max-queue-depth`` and ``max-reservation-depth`` are no options, since a
    depth is what it is set to.

    *Example.* Three processors; A has two until 100 s. B (3 processors, 50 s) arrives at 5 s, C (2 processors, 100 s)
    at 6 s, D (1 processor, 120 s) at 7 s, E (1 processor, 60 s) at 8 s. ``"fcfs"``: B starts at 100 s, C, D at 150 s, E
    at 250 s. ``"easy"`` reserves 100 s for B: D would delay it, E starts at 8 s.

    Parameters
    ----------
    queue_policy
        How jobs pass one that waits: not at all, or without delaying one reservation, some or all.
    queue_depth
        Maximum number of jobs that a cycle looks at.
    reservation_depth
        Maximum number of reservations of ``"hybrid"``.
    queue_order
        Order of the queue, Flux's priority.
    allocation
        Allocation rule.
    scope
        Where the tasks of one job may be.
    """

    supported_features: ClassVar[frozenset[str]] = INTERRUPTED
    queue_policy: QueuePolicy = "fcfs"
    queue_depth: Count = 32
    reservation_depth: Count = 64
    queue_order: Order = "fcfs"
    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"
    _allocator: Allocator = field(init=False)

    @property
    def _most_reserved(self) -> int:
        """Maximum number of reservations of a cycle, which looks at ``queue_depth`` jobs."""
        depths = {"easy": 1, "hybrid": self.reservation_depth, "conservative": self.queue_depth}
        return depths.get(self.queue_policy, 0)

    def begin(self, state: State) -> None:
        """Forget the run before."""
        self._run, self._allocator = state.run, state.allocator(self.allocation)
        self._waiting = waiting_jobs(self.queue_order, self._allocator.least_time)

    def decide(self, state: State) -> list[Start]:
        """Return the jobs that start now: those of as many cycles as start some."""
        if state.run is not self._run:
            self.begin(state)
        waiting, started = self._waiting, dict[int, Span]()
        waiting.update(state)
        jobs = waiting.jobs
        while found := self._cycle(state, started):
            num_waited = len(jobs) - len(started)
            started |= found
            if num_waited <= self.queue_depth:
                break
        starts = [Start(jobs[place].id, span.counts) for place, span in started.items()]
        waiting.leave(0, started)
        return starts

    def _cycle(self, state: State, started: dict[int, Span]) -> dict[int, Span]:
        """Return the jobs that start in a cycle by their places, beside those that have started."""
        found, num_reserved, num_classes = dict[int, Span](), 0, len(state.classes)
        jobs, allocator, now = self._waiting.jobs, self._allocator, state.now
        tested = [*islice((place for place in range(len(jobs)) if place not in started), self.queue_depth)]
        if not tested or min(jobs[place].tasks for place in tested) > sum(state.room[:num_classes]):
            return found  # none fits, whatever is reserved
        timeline = timeline_of(state)
        for span in started.values():
            timeline.take(span.start, span.start + span.seconds, span.counts)
        for place in tested:
            if not any(timeline.free(now)[:num_classes]):
                break
            job = jobs[place]
            taken = fitting(timeline, job, now, allocator)
            if taken is not None:
                found[place] = taken
            elif self.queue_policy == "fcfs":
                break
            elif num_reserved < self._most_reserved:
                taken = earliest(timeline, job, allocator.least_time(job), allocator)
                num_reserved += taken is not None
            if taken is not None:
                timeline.take(taken.start, taken.start + taken.seconds, taken.counts)
        return found
