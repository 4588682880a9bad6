"""Every policy but ``loras`` and ``grid`` respects maintenance windows and advance reservations.

Free processors may not stay free until a job ends. A job fits at a time t on what is free from t to its expected end:
running jobs hold their processors to their estimated ends (overdue ones a moment longer), windows and reservations what
they take. The allocation rule is applied to what is free at t; if its choice is not free until the end of the job, it
is applied again to what is, until it finds an allocation or none.

| policy | behaviour |
|---|---|
| list policies | start jobs that fit now |
| ``easy`` | the head gets the earliest time at which it fits; a later job starts if it fits now next to that |
| ``conservative`` | reserves the earliest time at which a job fits |
| ``slurm`` | starts jobs that fit now; no end before a window or reservation is rounded up beyond its beginning |
| ``flux`` | starts jobs that fit now; gives others a reservation at the earliest time at which they fit |
| ``mesd`` | chooses, at each time of its plan, among the jobs that fit then |
| ``oas`` | windows and reservations are part of the planned problem |
| ``pas`` | gives a job no class that is unavailable before its estimated end; placed again it counts as unproved |
| ``pcbe``, ``node-list`` | look at nodes on which the job fits |
| plans | a job starts only if it fits; otherwise it waits, and its processors with it |

A running job of the instance that starts later is in ``state.closings``, not in ``state.running``, also while it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import le

from coalloc.instance import Job
from coalloc.rules.allocation_rules import Allocator
from coalloc.rules.queues import Places, WaitingJobs
from coalloc.rules.reservations import Span, earliest, fitting
from coalloc.rules.shapes import first_to_end
from coalloc.rules.timeline import Timeline
from coalloc.simulator.policy import Start, State
from coalloc.simulator.processors import Processors, processors_of


def timeline_of(state: State) -> Timeline[int]:
    """Return what is free from now on by the estimates; at its beginning is what is free now."""
    soon = math.nextafter(state.now, math.inf)
    return state.timeline((max(soon, run.estimated_end), run.taken) for run in state.running)


class Filling:
    """Free capacity over time, and jobs that start now, or are to start later, one after the other."""

    def __init__(self, state: State, allocator: Allocator) -> None:
        self._now, self._num_classes = state.now, len(state.classes)
        self._timeline, self._allocator = timeline_of(state), allocator

    @property
    def room(self) -> int:
        """Processors that are free now."""
        return sum(self._timeline.free(self._now)[: self._num_classes])

    def start(self, job: Job) -> Start | None:
        """Let a job start now; None where it does not fit until its estimated end."""
        span = self._span_now(job)
        if span is None:
            return None
        self._timeline.take(span.start, span.start + span.seconds, span.counts)
        return Start(job.id, span.counts)

    def starts(self, waiting: WaitingJobs, behind: Callable[[int], Places]) -> list[Start]:
        """Let jobs start now from the head of a queue, then those that fit behind the first that does not.

        ``behind`` returns their places in turn, when it is told how many start from the head. All that start leave.
        """
        starts: list[Start] = []
        for job in waiting.jobs:
            start = self.start(job)
            if start is None:
                break
            starts.append(start)
        num_first, passing = len(starts), []
        for place in behind(num_first):
            start = self.start(waiting.jobs[place])
            if start is not None:
                passing.append(int(place))
                starts.append(start)
        if starts:
            waiting.leave(num_first, passing)
        return starts

    def reserve(self, job: Job) -> None:
        """Keep a job what it needs as early as it fits; nothing where failed nodes have to be repaired before."""
        span = self._earliest(job)
        if span is not None:
            self._timeline.take(span.start, span.start + span.seconds, span.counts)

    def _span_now(self, job: Job) -> Span | None:
        """Return where a job runs if it starts now; None where it does not fit until its estimated end."""
        return fitting(self._timeline, job, self._now, self._allocator)

    def _earliest(self, job: Job) -> Span | None:
        """Return where a job runs as early as it fits."""
        return earliest(self._timeline, job, self._allocator.least_time(job), self._allocator)


class ShapeFilling(Filling):
    """Jobs of several shapes, each in the one that ends first: they start where that one can start now."""

    def _span_now(self, job: Job) -> Span | None:
        span = self._earliest(job)
        return span if span is not None and span.start <= self._now else None

    def _earliest(self, job: Job) -> Span | None:
        return first_to_end(self._timeline, job, self._allocator)


class Admission:
    """Whether jobs with a place of their own may start on it now, one after the other."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._timeline = timeline_of(state) if state.has_closings or state.has_stocks else None
        self._members = [processors_of(node_class.processors) for node_class in state.classes]

    def usable(self, job: Job, seconds: Sequence[float]) -> list[int]:
        """Return how many tasks of a job each class can take alone until its end; it takes so many seconds on each."""
        now, usable = self._state.now, self._state.usable
        if self._timeline is None:
            return list(usable(job, self._state.room))
        rooms = {length: usable(job, self._timeline.free(now, now + length)) for length in set(seconds)}
        return [rooms[length][g] for g, length in enumerate(seconds)]

    def admits(self, job: Job, processors: Processors, seconds: float) -> bool:
        """Let a job start now that takes so long there, unless it would run into what is to come."""
        return self._timeline is None or self.admits_counts(job, counts_of(processors, self._members), seconds)

    def admits_counts(self, job: Job, counts: Sequence[int], seconds: float) -> bool:
        """Let a job start now that takes so long on so many processors of each class, unless it would run into that."""
        if self._timeline is None:
            return True
        taken, end = self._state.taken(job, counts), self._state.now + seconds
        is_free = all(map(le, taken, self._timeline.free(self._state.now, end)))
        if is_free:
            self._timeline.take(self._state.now, end, taken)
        return is_free


def counts_of(processors: Processors, members: Sequence[Processors]) -> list[int]:
    """Return how many processors of a set are in each class."""
    return [(processors & of_class).bit_count() for of_class in members]
