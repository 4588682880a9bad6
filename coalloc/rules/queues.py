"""The waiting jobs of a run in an order, kept from pass to pass, and found by their tasks and times.

A queue may hold tens of thousands of jobs of which none fits: their tasks and their times are columns of machine
numbers, so that one comparison looks at every job of a long one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.rules.orders import FIXED_ORDERS, Order, OrderName, is_fixed, ordered_at

Places = list[int] | NDArray[np.int64]
"""Places of jobs in a queue, in its order."""

FEW = 128
"""So many numbers a loop looks at faster than NumPy does."""

LeastTime = Callable[[Job], float]
"""What a job takes at least, s."""


class QueueRules(NamedTuple):
    """How jobs of a queue start on equal processors: from its head on, and others beside the first that does not fit.

    ``passing`` says which: none, any that fits, or those that do not delay the first (EASY), which are tried in the
    order of ``candidates``; None is that of the queue.
    """

    order: OrderName
    passing: Literal["none", "any", "easy"]
    candidates: OrderName | None = None


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


class WaitingJobs:
    """Waiting jobs in order of arrival: ``jobs`` lists them; places, taken and returned, are its indices.

    The tasks and the least times (s) of the first of them, those that were ever asked for, stand in columns.
    """

    def __init__(self, least_time: LeastTime) -> None:
        self._least_time = least_time
        self._tasks: array[int] = array("q")
        self._times: array[float] = array("d")
        self.jobs: Sequence[Job] = ()

    def update(self, queue: Sequence[Job], now: float) -> None:  # noqa: ARG002
        """Take up a queue in order of arrival at ``now`` (s): but for those told to ``leave`` its jobs are known."""
        self.jobs = queue

    def leave(self, num_first: int, others: Collection[int]) -> None:
        """Take the first jobs, so many, and those at other places off the queue."""
        tasks, times = self._tasks, self._times
        if tasks:
            for place in sorted(others, reverse=True):
                del tasks[place : place + 1], times[place : place + 1]
            del tasks[:num_first], times[:num_first]

    def small(self, most_tasks: int, first: int = 0) -> Places:
        """Return the places, from one on, of the jobs that have at most so many tasks."""
        tasks = self._tasks
        if len(tasks) < len(self.jobs):
            for job in self.jobs[len(tasks) :]:
                tasks.append(job.tasks)
                self._times.append(self._least_time(job))
        if len(tasks) - first <= FEW:
            return [place for place, size in enumerate(tasks[first:], first) if size <= most_tasks]
        return (np.frombuffer(tasks, np.int64)[first:] <= most_tasks).nonzero()[0] + first

    def passing(self, places: Places, gap: Gap, now: float) -> Iterator[int]:
        """Yield those of the places that ``small`` found whose jobs may fill a gap at ``now`` (s).

        They have at most ``room`` tasks, and at most ``spare`` unless their least time may be over by ``end``. Those
        that do fill it make it smaller meanwhile: then all that are left are looked at again.
        """
        tasks, times = self._tasks, self._times
        while len(places) > FEW:
            seen, places = (gap.room, gap.spare), self._fitting(places, gap, now)
            for number, place in enumerate(places):
                yield int(place)
                if seen != (gap.room, gap.spare):
                    places = places[number + 1 :]
                    break
            else:
                return
        for place in places:
            size = tasks[place]
            if size <= gap.room and (size <= gap.spare or now + times[place] <= gap.end):
                yield place

    def _fitting(self, places: Places, gap: Gap, now: float) -> NDArray[np.int64]:
        """Return those of the places whose jobs may fill a gap as it is now."""
        chosen = np.asarray(places)
        tasks, times = np.frombuffer(self._tasks, np.int64)[chosen], np.frombuffer(self._times)[chosen]
        fits: NDArray[np.bool_] = (tasks <= gap.room) & ((tasks <= gap.spare) | (now + times <= gap.end))
        return chosen[fits]


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
            if place < len(self._tasks):
                self._tasks.insert(place, job.tasks)
                self._times.insert(place, self._least_time(job))

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
        self.jobs = ordered_at(queue, self._order, now)
        del self._tasks[:], self._times[:]
