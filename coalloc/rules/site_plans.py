"""The plan of a site: when each job that waits there starts, if all estimates hold. Source: errata 36.

Running jobs end at their estimated ends, overdue ones now. Those that wait start in the order of the queue, each at
the earliest instant at which it fits until its estimated end beside those before it; with ``in_order`` not before the
start of the one ahead. The processors of a site are all of one power, so that they need only be counted; memory is not
looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from coalloc.instance import Job
from coalloc.rules.availability import Availability
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


NOBODY = Summary(math.inf, -math.inf, (0.0, 0.0, 0.0, 0.0))
"""A plan without jobs."""


class SitePlan:
    """The plan of the jobs that wait at a site, to which others are added at the end of the queue.

    ``free`` processors are free at ``now`` (s); ``releases`` are the estimated ends of the running jobs, from ``now``
    on and in order of time (s), and how many processors each has.
    """

    __slots__ = ("_available", "_in_order", "_last_start", "_placed", "_summary")

    def __init__(self, now: float, free: int, releases: Iterable[tuple[float, int]], *, in_order: bool) -> None:
        self._available = Availability(now, (free,), ((end, (tasks,)) for end, tasks in releases))
        self._in_order, self._last_start = in_order, -math.inf
        self._placed: dict[str, PlannedJob] = {}
        self._summary: Summary | None = NOBODY

    @property
    def summary(self) -> Summary:
        """What the plan says of all its jobs."""
        if self._summary is None:
            self._summary = summary_of(self._placed.values())
        return self._summary

    def start(self, tasks: int, seconds: float, now: float) -> float:
        """Return the earliest start from ``now`` (s) on of a job behind all others, which takes ``seconds``."""
        self._available.forget(now)
        first = self._available.step(self._last_start) if self._in_order else 0
        step = self._available.window(tasks, seconds, first)
        assert step is not None, "every job fits the empty site"
        return self._available.times[step]

    def add(self, job: Job, seconds: float, now: float) -> None:
        """Plan one more job, behind all others."""
        start = self.start(job.tasks, seconds, now)
        self._available.take(start, start + seconds, (job.tasks,))
        self._last_start = start
        self._placed[job.id] = PlannedJob(job, start, start + seconds)
        self._summary = None

    def starts_as_planned(self, job: str, now: float) -> bool:
        """Take a job off the plan that starts at ``now`` (s); return whether that was planned."""
        self._summary = None
        return self._placed.pop(job).start == now


def summary_of(placed: Iterable[PlannedJob]) -> Summary:
    """Return what planned jobs are together."""
    first_start, last_end, waits = NOBODY
    for job, start, end in placed:
        first_start, last_end = min(first_start, start), max(last_end, end)
        waits = added(waits, weighted_waits(job, start))
    return Summary(first_start, last_end, waits)


def weighted_waits(job: Job, start: float) -> Waits:
    """Return the wait of a job that starts at ``start`` (s) times each weight."""
    wait = start - job.arrival
    return wait, wait * job.tasks, wait * job.estimate, wait * job.tasks * job.estimate


def added(one: Waits, other: Waits) -> Waits:
    """Return the sums of two."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]
