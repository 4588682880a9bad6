"""The plan of a site: when each job that waits there starts, if all estimates hold. Source: errata 36.

Running jobs end at their estimated ends, overdue ones now. Those that wait start in the order of the queue, each at
the earliest instant at which it fits until its estimated end beside those before it; with ``in_order`` not before the
start of the one ahead. The processors of a site are all of one power, so that they need only be counted; memory is not
looked at.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from copy import copy
from typing import NamedTuple, Self

from coalloc.instance import Job
from coalloc.rules.brokering import Waits


class PlannedJob(NamedTuple):
    """A job that waits, its planned start and its planned end, s."""

    job: Job
    start: float
    end: float


class Summary(NamedTuple):
    """Of all jobs of a plan: the first start and the last end (s), and the sums of wait times weight."""

    first_start: float
    last_end: float
    waits: Waits

    def joined(self, planned: PlannedJob) -> Summary:
        """Return the summary with one more job."""
        job, start, end = planned
        waits = added(self.waits, weighted_waits(job, start))
        return Summary(min(self.first_start, start), max(self.last_end, end), waits)


NOBODY = Summary(math.inf, -math.inf, (0.0, 0.0, 0.0, 0.0))
"""A plan without jobs."""


class SitePlan:
    """The plan of the jobs that wait at a site, to which others are added at the end of the queue.

    ``free`` processors are free at ``now`` (s); ``releases`` are the estimated ends of the running jobs, from ``now``
    on and in order of time (s), and how many processors each has. What is free is kept as steps: step i lasts from
    ``_times[i]`` (s) to the next, the last for ever.
    """

    __slots__ = ("_free", "_in_order", "_last_start", "_placed", "_summary", "_times")

    def __init__(self, now: float, free: int, releases: Iterable[tuple[float, int]], *, in_order: bool) -> None:
        self._times, self._free = [now], [free]
        for end, tasks in releases:
            free += tasks
            if end > self._times[-1]:
                self._times.append(end)
                self._free.append(free)
            else:
                self._free[-1] = free
        self._in_order, self._last_start = in_order, -math.inf
        self._placed: dict[str, PlannedJob] = {}
        self._summary: Summary | None = NOBODY
        """Summary of all jobs placed; None where it has to be computed anew."""

    def copied(self) -> Self:
        """Return a plan of its own."""
        twin = copy(self)
        twin._times, twin._free, twin._placed = self._times.copy(), self._free.copy(), self._placed.copy()
        return twin

    @property
    def summary(self) -> Summary:
        """Summary of the plan over all its jobs."""
        if self._summary is None:
            self._summary = NOBODY
            for planned in self._placed.values():
                self._summary = self._summary.joined(planned)
        return self._summary

    def start(self, tasks: int, seconds: float, now: float) -> float:
        """Return the earliest start from ``now`` (s) on of a job behind all others, which takes ``seconds``."""
        self._forget(now)
        return self._times[self._earliest(tasks, seconds)]

    def add(self, job: Job, seconds: float, now: float) -> None:
        """Plan one more job, behind all others, which takes ``seconds``."""
        self._forget(now)
        times, free = self._times, self._free
        first = self._earliest(job.tasks, seconds)
        start = times[first]
        end = start + seconds
        last = bisect_left(times, end, first)
        if last == len(times) or times[last] != end:
            times.insert(last, end)
            free.insert(last, free[last - 1])
        free[first:last] = [count - job.tasks for count in free[first:last]]
        self._last_start = start
        self._placed[job.id] = planned = PlannedJob(job, start, end)
        if self._summary is not None:
            self._summary = self._summary.joined(planned)

    def starts_as_planned(self, job: str, now: float) -> bool:
        """Take a job off the plan that starts at ``now`` (s); return whether that was planned."""
        self._summary = None
        return self._placed.pop(job).start == now

    def _earliest(self, tasks: int, seconds: float) -> int:
        """Return the first step from which on so many processors are free for so long, behind all other jobs."""
        times, free = self._times, self._free
        first = bisect_left(times, self._last_start) if self._in_order else 0
        num_steps = len(times)
        while True:
            while free[first] < tasks:
                first += 1
            end, step = times[first] + seconds, first + 1
            while step < num_steps and times[step] < end and free[step] >= tasks:
                step += 1
            if step == num_steps or times[step] >= end:
                return first
            first = step

    def _forget(self, now: float) -> None:
        """Drop the steps that have passed at ``now`` (s)."""
        times = self._times
        if times[0] < now:
            passed = bisect_right(times, now) - 1
            del times[:passed], self._free[:passed]
            times[0] = now


def weighted_waits(job: Job, start: float) -> Waits:
    """Return the wait of a job that starts at ``start`` (s) times each weight."""
    wait = start - job.arrival
    by_size = wait * job.tasks
    return wait, by_size, wait * job.estimate, by_size * job.estimate


def added(one: Waits, other: Waits) -> Waits:
    """Return the sums of two."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]
