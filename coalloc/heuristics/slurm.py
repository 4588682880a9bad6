"""Scheduling as Slurm does it: strictly by priority at every event, and backfilling at intervals.

Sources: the page *Scheduling Configuration Guide* (sched_config) and the manual page slurm.conf(5),
``SchedulerParameters``, of Slurm's documentation, https://slurm.schedmd.com. A cycle of backfilling is conservative: it
plans jobs in the order of the queue, each at its earliest start beside those before it, and keeps nothing afterwards.
What is simplified stands in docs/policies.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Annotated, ClassVar, Protocol, Self

from pydantic import Field

from coalloc.documents.values import Count, NonNegative, Positive, PositiveSeconds
from coalloc.heuristics.classics import less
from coalloc.heuristics.over_time import Filling
from coalloc.instance import Job
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import Allocator, RuleName
from coalloc.rules.orders import Order
from coalloc.rules.queues import WaitingJobs, waiting_jobs
from coalloc.rules.reservations import earliest
from coalloc.rules.timeline import Timeline
from coalloc.simulator.policy import INTERRUPTED, Start, State, Wake

Limit = Annotated[int, Field(strict=True, ge=0)]
"""A number of jobs; 0: no limit."""

MINUTE = 60.0
"""Seconds of a minute: ``bf_window`` is in minutes, as in slurm.conf."""


class Room(Protocol):
    """Where jobs may start now, one after the other."""

    def start(self, job: Job) -> Start | None:
        """Let a job start now; None where it does not fit."""


class Free:
    """What is free now, where it stays so: nothing but ends of jobs is to come."""

    def __init__(self, state: State, allocator: Allocator) -> None:
        self._choose, self._free = allocator.choose, state.room

    def start(self, job: Job) -> Start | None:
        """Let a job start now; None where it does not fit."""
        counts = self._choose(job, self._free)
        if counts is None:
            return None
        self._free = less(self._free, counts)
        return Start(job.id, counts)


@dataclass(slots=True)
class Slurm:
    """Slurm's main scheduler, and its plugin sched/backfill every ``bf_interval`` seconds.

    The options ``bf_...`` are those of slurm.conf in its units: seconds, but minutes for ``bf_window``.
    """

    supported_features: ClassVar[frozenset[str]] = INTERRUPTED
    queue_order: Order = "fcfs"
    bf_interval: PositiveSeconds = 30.0
    bf_window: Positive = 1440.0
    bf_resolution: NonNegative = 60.0
    bf_max_job_test: Count = 100
    bf_max_job_user: Limit = 0
    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"
    _run: object = field(init=False, default=None)
    _waiting: WaitingJobs = field(init=False)
    _allocator: Allocator = field(init=False)
    _planner: Allocator = field(init=False)
    """The same rule, with times rounded up to the resolution."""

    def begin(self, state: State) -> None:
        """Forget the run before."""
        self._run, allocator = state.run, state.allocator(self.allocation)
        self._waiting, self._allocator = waiting_jobs(self.queue_order, allocator.least_time), allocator
        self._planner = replace(
            allocator,
            time=lambda job, counts: self._rounded(allocator.time(job, counts)),
            least_time=lambda job: self._rounded(allocator.least_time(job)),
        )

    def left(self, _: State, __: Job) -> None:
        """Take the queue in anew."""
        self._waiting.clear()

    def copy(self) -> Self:
        """Return a policy of its own with the same order of the queue."""
        twin = copy(self)
        if self._run is not None:
            twin._waiting = self._waiting.copied()
        return twin

    def decide(self, state: State) -> list[Start | Wake]:
        """Return the jobs that start by priority and, where it is time, beside these; and when it is time next."""
        if state.run is not self._run:
            self.begin(state)
        self._waiting.update(state)
        started = self._by_priority(state)
        cycle = self._cycle_from(state.now - state.tolerance)
        is_time = cycle <= state.now + state.tolerance
        free = _less_all(state.room, started)
        if is_time and any(free[: len(state.classes)]):
            started |= self._backfilled(state, started)
            free = _less_all(state.room, started)
        next_cycle = self._next_cycle(state, cycle, is_time=is_time, has_started=bool(started))
        is_left = len(state.queue) > len(started) and any(free[: len(state.classes)])
        self._waiting.leave(0, started)
        return [*started.values(), *([Wake(next_cycle)] if is_left and next_cycle < math.inf else [])]

    def _by_priority(self, state: State) -> dict[int, Start]:
        """Return the jobs that start in the order of the queue, in each partition up to the first that does not fit.

        Starts are by place. Jobs of one partition may use the same nodes.
        """
        room: Room = Filling(state, self._allocator) if state.has_closings else Free(state, self._allocator)
        started: dict[int, Start] = {}
        blocked = set[object]()
        for place, job in enumerate(self._waiting.jobs):
            partition = job.eligible, job.requires
            start = None if partition in blocked else room.start(job)
            if start is not None:
                started[place] = start
            elif not state.is_restricted:
                break
            else:
                blocked.add(partition)
        return started

    def _backfilled(self, state: State, started: dict[int, Start]) -> dict[int, Start]:
        """Return the jobs that start in a cycle of backfilling by their places, beside those that have started."""
        now, jobs, found = state.now, self._waiting.jobs, dict[int, Start]()
        timeline = self._planned(state, started)
        room = _room(timeline, state)
        candidates = self._waiting.small(room)
        for place in self._tested(started):
            if not len(candidates) or place > candidates[-1]:
                break
            job, planner = jobs[place], self._planner
            before = now + self.bf_window * MINUTE
            span = earliest(timeline, job, planner.least_time(job), planner, since=now, before=before)
            if span is None:
                continue
            timeline.take(span.start, span.start + span.seconds, span.counts)
            if span.start <= now:
                found[place] = Start(job.id, span.counts)
                candidates = self._waiting.small(_room(timeline, state))
        return found

    def _tested(self, started: dict[int, Start]) -> Iterator[int]:
        """Yield the places of the jobs that a cycle looks at: so many, and so many of each user."""
        num_tested, of_user = 0, Counter[str | None]()
        for place, job in enumerate(self._waiting.jobs):
            if place in started or (self.bf_max_job_user and of_user[job.user] >= self.bf_max_job_user):
                continue
            if num_tested == self.bf_max_job_test:
                return
            num_tested += 1
            of_user[job.user] += 1
            yield place

    def _planned(self, state: State, started: dict[int, Start]) -> Timeline[int]:
        """Return what is free over time by the estimates in the resolution; overdue jobs end one step later."""
        now, planner = state.now, self._planner
        closings = [closing.start for closing in state.closings if closing.start > now]

        def capped(end: float, rounded: float) -> float:
            """Return a rounded end, s: not after a closing that begins once the job has ended."""
            return min([rounded, *(start for start in closings if start >= end - state.tolerance)])

        ends = (
            (capped(run.estimated_end, self._expected_end(run.estimated_end, now)), run.taken) for run in state.running
        )
        timeline = state.timeline(sorted(ends, key=itemgetter(0)))
        for place, start in started.items():
            job, counts = self._waiting.jobs[place], tuple(start.counts)
            end = now + self._allocator.time(job, counts)
            timeline.take(now, capped(end, now + planner.time(job, counts)), counts)
        return timeline

    def _next_cycle(self, state: State, cycle: float, *, is_time: bool, has_started: bool) -> float:
        """Return when the next cycle may start jobs if nothing happens until then, s; ``cycle`` is the next by time.

        A cycle in which nothing is new starts nothing. New are what has happened since the last one, jobs that have
        started, keys of the order, and another end of a running job that is expected to have ended by then.
        """
        if not is_time:
            return cycle
        following = cycle + self.bf_interval
        changes = [following] if has_started else []
        if len(state.queue) > 1:
            changes.append(max(state.now, self._waiting.next_change))
        if state.running:
            changes.append(self._expected_end(state.running[0].estimated_end, state.now))
        change = min(changes, default=math.inf)
        return change if change == math.inf else max(following, self._cycle_from(change))

    def _cycle_from(self, time: float) -> float:
        """Return when the first cycle is from a time on, s."""
        return math.ceil(time / self.bf_interval) * self.bf_interval

    def _expected_end(self, estimated_end: float, now: float) -> float:
        """Return when a running job is expected to end, in the resolution, s: an overdue one in the next step."""
        return self._rounded(max(math.nextafter(now, math.inf), estimated_end))

    def _rounded(self, seconds: float) -> float:
        """Return a time or a duration, s, rounded up to the resolution."""
        step = self.bf_resolution
        return math.ceil(seconds / step) * step if step else seconds


def _less_all(room: Sequence[int], started: dict[int, Start]) -> Allocation:
    """Return what is left of a room."""
    left = tuple(room)
    for start in started.values():
        left = less(left, start.counts)
    return left


def _room(timeline: Timeline[int], state: State) -> int:
    """Return how many processors are free now."""
    return sum(timeline.free(state.now)[: len(state.classes)])
