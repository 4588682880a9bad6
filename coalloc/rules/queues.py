"""The waiting jobs of a run in an order, kept from pass to pass, and found by their tasks and times.

A queue may hold tens of thousands of jobs of which none fits: their tasks and their times are columns of machine
numbers, so that one comparison looks at every job of a long one.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.rules.allocation_rules import RuleName
from coalloc.rules.orders import Keys, Moment, Order, comparing, places_in_order

Places = list[int] | NDArray[np.int64]
"""Places of jobs in a queue, in its order."""

FEW = 128
"""So many numbers a loop looks at faster than NumPy does."""

LeastTime = Callable[[Job], float]
"""Least time of a job, s."""


class QueueRules(NamedTuple):
    """Rules by which jobs start: from the head of the queue on, and behind one that does not fit.

    ``passing`` says which: none, any that fits, or those that do not delay the first (EASY), which are tried in the
    order of ``candidates``; None is that of the queue. The orders never change while jobs wait. ``allocation`` says
    which processors a job gets.
    """

    order: Order
    passing: Literal["none", "any", "easy"]
    candidates: Order | None = None
    allocation: RuleName = "fastest-first"


class Gap(Protocol):
    """Gap for jobs that pass another: ``room`` processors, ``spare`` of them for longer than to ``end`` (s)."""

    room: int
    spare: int
    end: float


def waiting_jobs(order: Order, least_time: LeastTime) -> WaitingJobs:
    """Return a queue in an order, still empty."""
    return WaitingJobs(least_time) if order == "fcfs" else RankedJobs(Keys(order), least_time)


class WaitingJobs:
    """Waiting jobs in order of arrival: ``jobs`` lists them; places, taken and returned, are its indices.

    The tasks and the least times (s) of the first of them, those that were ever asked for, stand in columns.
    """

    def __init__(self, least_time: LeastTime) -> None:
        self._least_time = least_time
        self._tasks: array[int] = array("q")
        self._times: array[float] = array("d")
        self.jobs: Sequence[Job] = ()

    @property
    def next_change(self) -> float:
        """From when on the order is another one, s."""
        return math.inf

    def update(self, moment: Moment) -> None:
        """Take up the queue at a decision: but for those told to ``leave`` its jobs are known."""
        self.jobs = moment.queue

    def clear(self) -> None:
        """Forget all jobs: those of the queue come again."""
        self.jobs = ()
        del self._tasks[:], self._times[:]

    def copied(self) -> Self:
        """Return waiting jobs of their own."""
        twin = copy(self)
        twin._tasks, twin._times = self._tasks[:], self._times[:]
        return twin

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


class RankedJobs(WaitingJobs):
    """Waiting jobs by their keys: each that arrives is put in its place, and all are when the keys change."""

    jobs: list[Job]

    def __init__(self, keys: Keys, least_time: LeastTime) -> None:
        super().__init__(least_time)
        self._key = keys
        self._keys: list[Any] = []
        self.jobs = []

    @property
    def next_change(self) -> float:
        """From when on the order is another one, s."""
        return self._key.next_change

    def update(self, moment: Moment) -> None:
        """Put the jobs of the queue that are new into their places, or all where the keys have changed.

        One job is in its place whatever its key: until there is a second one keys are not made.
        """
        queue = moment.queue
        if moment.now < self._key.next_change:
            for job in queue[len(self.jobs) :]:
                self._insert(job)
            return
        if len(queue) == 1:
            self.jobs, self._keys = [queue[0]], [None]
        else:
            keys = [*map(self._key.at(moment), queue)]
            places = places_in_order(keys)
            self.jobs, self._keys = [queue[k] for k in places], [keys[k] for k in places]
        del self._tasks[:], self._times[:]

    def clear(self) -> None:
        """Forget all jobs; their keys stay as they are."""
        super().clear()
        self.jobs, self._keys = [], []

    def copied(self) -> Self:
        """Return waiting jobs of their own."""
        twin = super().copied()
        twin.jobs, twin._key, twin._keys = self.jobs.copy(), copy(self._key), self._keys.copy()
        return twin

    def leave(self, num_first: int, others: Collection[int]) -> None:
        """Take the first jobs, so many, and those at other places off the queue."""
        super().leave(num_first, others)
        for place in sorted(others, reverse=True):
            del self.jobs[place], self._keys[place]
        del self.jobs[:num_first], self._keys[:num_first]

    def _insert(self, job: Job) -> None:
        """Put a job into its place."""
        key = self._key.of(job)
        with comparing((key,)):
            place = bisect_right(self._keys, key)
        self._keys.insert(place, key)
        self.jobs.insert(place, job)
        if place < len(self._tasks):
            self._tasks.insert(place, job.tasks)
            self._times.insert(place, self._least_time(job))
