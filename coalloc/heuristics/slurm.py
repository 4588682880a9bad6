"""Scheduling as Slurm does it: strictly by priority at every event, and backfilling at intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Annotated, ClassVar, Protocol

from pydantic import Field

from coalloc.documents.values import Count, NonNegative, Positive, PositiveSeconds
from coalloc.heuristics.classics import less
from coalloc.heuristics.over_time import Filling
from coalloc.heuristics.queued import Queued
from coalloc.instance import Job
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import Allocator, RuleName
from coalloc.rules.orders import Order
from coalloc.rules.queues import waiting_jobs
from coalloc.rules.reservations import earliest
from coalloc.rules.timeline import Timeline
from coalloc.simulator.policy import INTERRUPTED, Start, State, Wake

Limit = Annotated[int, Field(strict=True, ge=0)]
"""A number of jobs; 0: no limit."""

MINUTE = 60.0
"""Seconds of a minute: ``bf_window`` is in minutes, as in slurm.conf."""


class Room(Protocol):
    """Places where jobs may start now, one after the other."""

    def start(self, job: Job) -> Start | None:
        """Let a job start now; None where it does not fit."""


class Free:
    """Free capacity now, where it stays so: only ends of jobs are to come."""

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
class Slurm(Queued):
    """Slurm: strictly by priority at every event, conservative backfilling at intervals.

    1. Main scheduler, at every pass: jobs start in the order of the queue. Once one does not fit, no job behind it in
       its partition starts. A partition is the jobs with the same ``eligible`` and ``requires``.
    2. Cycle of backfilling, in passes at multiples of ``bf_interval``, after the main scheduler. Running jobs are
       expected to end at their estimated ends, rounded up to a multiple of ``bf_resolution``; overdue ones at the next
       multiple; jobs that the main scheduler has just started after their expected time, rounded up likewise. The
       first ``bf_max_job_test`` waiting jobs, of each user at most ``bf_max_job_user``, are planned in the order of the
       queue: each at the earliest time at which the rule gives it an allocation that is free for its expected time,
       rounded up to ``bf_resolution``, next to the jobs planned before it. A job planned for now starts. One that would
       start ``bf_window`` minutes from now or later has no place in the plan. Nothing is kept for the next cycle.

    The policy wakes up at the multiples of ``bf_interval`` at which a cycle may start a job that it could not start
    before. The starts are those with a cycle at every multiple.

    Sources: the [Scheduling Configuration Guide](https://slurm.schedmd.com/sched_config.html), whose defaults these
    are, and ``SchedulerParameters`` in [slurm.conf](https://slurm.schedmd.com/slurm.conf.html). Simplified:

    - Scheduling takes no time. So ``bf_continue``, ``bf_max_time``, ``bf_yield_interval``, ``max_sched_time`` and
      ``defer`` have no effect, and are no options.
    - The main scheduler considers all jobs at every event, as if ``default_queue_depth`` were large.
    - A job is in one partition, without PriorityTier or limits per partition; ``bf_max_job_part`` and
      ``bf_max_job_start`` are 0.
    - A plan reserves processors, Slurm's whole nodes. No preemption; moldable jobs run in their first mode.

    *Example.* Two processors; A has one until 100 s. B (both processors, 50 s) arrives at 5 s, C (1 processor, 40 s) at
    6 s, D (1 processor, 80 s) at 7 s; ``bf_resolution=10``. B blocks the queue until the cycle at 30 s. There B is
    planned for 100 s, C from 30 s to 70 s: it starts. D does not fit before B, at 30 s as at 90 s. B starts at 100 s, D
    at 150 s.

    Parameters
    ----------
    queue_order
        Order of the queue; ``"multifactor"`` is Slurm's priority.
    bf_interval
        Time between two cycles of backfilling, s.
    bf_window
        How far ahead a cycle plans, min.
    bf_resolution
        Step to which a cycle rounds up ends and durations, s; 0: none.
    bf_max_job_test
        Maximum number of jobs that a cycle looks at.
    bf_max_job_user
        Maximum number of jobs of one user that a cycle looks at; 0: no limit.
    allocation
        Allocation rule.
    scope
        Where the tasks of one job may be.
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
