"""The waiting jobs of a run in an order, kept from pass to pass, and found by their tasks and times.

A queue may hold tens of thousands of jobs of which none fits: the tasks and the times of a long one are
columns of machine numbers, so that one comparison looks at every job.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.rules.orders import FIXED_ORDERS, Order, is_fixed, ordered_at

Places = list[int] | NDArray[np.int64]
"""Places of jobs in a queue, in its order."""

FEW = 256
"""So many jobs a loop looks at faster than NumPy does."""

LeastTime = Callable[[Job], float]
"""What a job takes at least, s."""


class Gap(Protocol):
    """What jobs that pass another may fill: ``room`` processors, ``spare`` of them for longer than to ``end`` (s)."""

    room: int
    spare: int
    end: float


def waiting_jobs(order: Order, least_time: LeastTime) -> WaitingJobs:
    """Return a queue in an order, still empty."""
    if order == "fcfs":
        return WaitingJobs(least_time)
    return SortedJobs(FIXED_ORDERS[str(order)], least_time) if is_fixed(order) else TimedJobs(order, least_time)


class _Columns:
    """The tasks and the least times (s) of the first jobs of a queue."""

    def __init__(self, least_time: LeastTime) -> None:
        self._least_time = least_time
        self._tasks: array[int] = array("q")
        self._times: array[float] = array("d")

    def extend(self, jobs: Sequence[Job]) -> None:
        """Add the jobs of a queue that are not there yet, its last ones."""
        for job in jobs[len(self._tasks) :]:
            self._tasks.append(job.tasks)
            self._times.append(self._least_time(job))

    def insert(self, place: int, job: Job) -> None:
        """Put a job into its place."""
        self._tasks.insert(place, job.tasks)
        self._times.insert(place, self._least_time(job))

    def remove(self, place: int) -> None:
        """Take a job away."""
        del self._tasks[place], self._times[place]

    def small(self, tasks: int, first: int) -> Places:
        """Return the places, from one on, of the jobs that have at most so many tasks."""
        return (np.frombuffer(self._tasks, np.int64)[first:] <= tasks).nonzero()[0] + first

    def passing(self, places: Places, gap: Gap, now: float) -> Iterator[int]:
        """Yield what :meth:`WaitingJobs.passing` does: all that is left is looked at again when the gap is smaller."""
        left, seen = np.asarray(places), (-1, -1)
        while len(left):
            if seen != (gap.room, gap.spare):
                seen = gap.room, gap.spare
                tasks, times = np.frombuffer(self._tasks, np.int64)[left], np.frombuffer(self._times)[left]
                left = left[(tasks <= gap.room) & ((tasks <= gap.spare) | (now + times <= gap.end))]
            else:
                yield int(left[0])
                left = left[1:]


class WaitingJobs:
    """Waiting jobs in order of arrival: ``jobs`` lists them; places, taken and returned, are its indices."""

    def __init__(self, least_time: LeastTime) -> None:
        self._least_time = least_time
        self._columns: _Columns | None = None
        self.jobs: Sequence[Job] = ()

    def update(self, queue: Sequence[Job], now: float) -> None:  # noqa: ARG002
        """Take up a queue in order of arrival at ``now`` (s): but for those told to ``leave`` its jobs are known."""
        few = queue[:FEW]
        self.jobs = few if len(few) < FEW else queue

    def leave(self, num_first: int, others: Collection[int]) -> None:
        """Take the first jobs, so many, and those at other places off the queue."""
        if self._columns is not None:
            for place in (*sorted(others, reverse=True), *range(num_first - 1, -1, -1)):
                self._columns.remove(place)

    def small(self, tasks: int, first: int = 0) -> Places:
        """Return the places, from one on, of the jobs that have at most so many tasks."""
        if len(self.jobs) < FEW:
            self._columns = None
            return [place for place, job in enumerate(self.jobs[first:], first) if job.tasks <= tasks]
        if self._columns is None:
            self._columns = _Columns(self._least_time)
        self._columns.extend(self.jobs)
        return self._columns.small(tasks, first)

    def passing(self, places: Places, gap: Gap, now: float) -> Iterator[int]:
        """Yield the places whose jobs may fill a gap at ``now`` (s), which those that do make smaller meanwhile.

        They have at most ``room`` tasks, and at most ``spare`` unless their least time may be over by ``end``.
        """
        if self._columns is not None:
            yield from self._columns.passing(places, gap, now)
            return
        jobs, least_time = self.jobs, self._least_time
        for place in places:
            job = jobs[place]
            if job.tasks <= gap.room and (job.tasks <= gap.spare or now + least_time(job) <= gap.end):
                yield place


class SortedJobs(WaitingJobs):
    """Waiting jobs in a fixed order: each that arrives is put in its place."""

    jobs: list[Job]

    def __init__(self, key: Callable[[Job], Any], least_time: LeastTime) -> None:
        super().__init__(least_time)
        self._key = key
        self._keys: list[Any] = []
        self.jobs = []

    def update(self, queue: Sequence[Job], now: float) -> None:  # noqa: ARG002
        """Put the jobs that are new into their places."""
        for job in queue[len(self.jobs) :]:
            key = self._key(job)
            place = bisect_right(self._keys, key)
            self._keys.insert(place, key)
            self.jobs.insert(place, job)
            if self._columns is not None:
                self._columns.insert(place, job)

    def leave(self, num_first: int, others: Collection[int]) -> None:
        """Take the first jobs, so many, and those at other places off the queue."""
        super().leave(num_first, others)
        for place in sorted(others, reverse=True):
            del self.jobs[place], self._keys[place]
        del self.jobs[:num_first], self._keys[:num_first]


class TimedJobs(WaitingJobs):
    """Waiting jobs in an order that changes with the clock: it is made anew at every pass."""

    def __init__(self, order: Order, least_time: LeastTime) -> None:
        super().__init__(least_time)
        self._order = order

    def update(self, queue: Sequence[Job], now: float) -> None:
        """Order the jobs of a queue at ``now`` (s)."""
        self.jobs, self._columns = ordered_at(queue, self._order, now), None
