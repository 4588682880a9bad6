"""What the running and the reserved jobs leave free from now on, by their estimates, as steps over time.

The total over all classes is kept beside the counts of each: where even the total is too small no rule need
be asked. Steps are plain lists, in order of time; those that have passed are dropped, equal ones become one.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import add, le
from typing import NamedTuple

from coalloc.instance import Job
from coalloc.problem.allocation import Allocation
from coalloc.rules.allocation_rules import Allocator
from coalloc.rules.reservations import Release


class Availability:
    """Free processors per class over time: step i lasts from ``times[i]`` (s) to the next, the last for ever.

    They may be rooms with memory as well (:mod:`coalloc.rules.capacity_vectors`), of which the first ``num_classes``
    numbers are processors; without it all are. ``room[i]`` is the total of processors of step i. ``free`` are those
    that are free at ``now``; ``releases``, in order of time, are those that become free.
    """

    __slots__ = ("_columns", "_num_classes", "room", "times")

    def __init__(
        self, now: float, free: Sequence[int], releases: Iterable[Release], num_classes: int | None = None
    ) -> None:
        self._num_classes = num_classes
        steps = [(now, tuple(free))]
        for instant, counts in releases:
            last, available = steps[-1]
            if instant > last:
                steps.append((instant, available))
            steps[-1] = (steps[-1][0], tuple(map(add, available, counts)))
        self.times = [time for time, _ in steps]
        self._columns = [list(column) for column in zip(*(available for _, available in steps), strict=True)]
        self.room = self._columns[0]
        if len(self._columns) > 1:
            self.room = [sum(available[:num_classes]) for _, available in steps]
            self._columns.append(self.room)

    def free(self, step: int) -> Allocation:
        """Return the free processors of each class at a step."""
        if len(self._columns) == 1:
            return (self.room[step],)
        return tuple([column[step] for column in self._columns[:-1]])

    def least_free(self, step: int, end: float) -> Allocation:
        """Return the processors of each class that are free from a step on, throughout, until ``end`` (s)."""
        last = max(bisect_left(self.times, end), step + 1)
        if len(self._columns) == 1:
            return (min(self.room[step:last]),)
        return tuple([min(column[step:last]) for column in self._columns[:-1]])

    def window(self, tasks: int, seconds: float, first: int = 0, before: float = math.inf) -> int | None:
        """Return the first step from ``first`` on, before ``before`` (s), that leaves so much room for so long.

        Room beyond ``before`` is not asked for. The processors may be others from step to step: that there
        is a window is a necessary condition for a start, and with one class a sufficient one.
        """
        found, limit = None, math.inf
        last = bisect_left(self.times, before)
        room = self.room[first:last]
        if not room or max(room) < tasks:
            return None
        for step, (time, free) in enumerate(zip(self.times[first:last], room, strict=True), first):
            if free < tasks:
                if time >= limit:
                    return found
                found, limit = None, math.inf
            elif found is None:
                found, limit = step, time + seconds
            elif time >= limit:
                return found
        return found

    def step(self, time: float) -> int:
        """Return the first step that starts at ``time`` (s) or later."""
        return bisect_left(self.times, time)

    def take(self, start: float, end: float, counts: Sequence[int]) -> None:
        """Take processors of each class during ``[start, end)``, s."""
        first = self._step(start)
        last = self._step(end)
        if len(self._columns) > 1:
            counts = (*counts, sum(counts[: self._num_classes]))
        for column, count in zip(self._columns, counts, strict=True):
            if count:
                column[first:last] = [free - count for free in column[first:last]]

    def give_back(self, start: float, end: float, counts: Sequence[int]) -> None:
        """Give back what was taken."""
        self.take(start, end, [-count for count in counts])
        for time in (end, start):
            self._merge(bisect_left(self.times, time))

    def shift(self, start: float, earlier: float, seconds: float, counts: Sequence[int]) -> None:
        """Take processors for ``seconds`` from ``earlier`` (s) on, instead of from ``start`` (s) on."""
        end = earlier + seconds
        self.take(earlier, min(start, end), counts)
        self.give_back(max(start, end), start + seconds, counts)
        if start < end:
            self._merge(bisect_left(self.times, start))

    def forget(self, now: float) -> None:
        """Drop what has passed at ``now`` (s)."""
        passed = bisect_right(self.times, now) - 1
        if passed > 0:
            for column in (self.times, *self._columns):
                del column[:passed]
        self.times[0] = now

    def _step(self, time: float) -> int:
        """Return the index of the step that starts at ``time``, making it if need be."""
        step = bisect_left(self.times, time)
        if step == len(self.times) or self.times[step] != time:
            self.times.insert(step, time)
            for column in self._columns:
                column.insert(step, column[step - 1])
        return step

    def _merge(self, step: int) -> None:
        """Make a step one with the step before it, where they are equal."""
        if step and self.room[step] == self.room[step - 1] and self.free(step) == self.free(step - 1):
            for column in (self.times, *self._columns):
                del column[step]


class Span(NamedTuple):
    """Where a job may run: from ``start`` (s) for ``seconds``, on ``counts``, what it takes of a room."""

    start: float
    seconds: float
    counts: Allocation


def fitting(available: Availability, job: Job, step: int, allocator: Allocator) -> Span | None:
    """Return where a job runs from a step on, None where it does not fit until its end.

    Where the rule chooses what is not free so long, it is asked again on what is.
    """
    start = available.times[step]
    counts = allocator.choose(job, available.free(step))
    while counts is not None:
        seconds = allocator.time(job, counts)
        free = available.least_free(step, start + seconds)
        if all(map(le, counts, free)):
            return Span(start, seconds, counts)
        counts = allocator.choose(job, free)
    return None


def earliest(
    available: Availability,
    job: Job,
    least_time: float,
    allocator: Allocator,
    *,
    first: int = 0,
    before: float = math.inf,
) -> Span | None:
    """Return the earliest start of a job, from a step on and before ``before`` (s), None where there is none.

    On the fastest class it takes ``least_time`` (s).
    """
    step = available.window(job.tasks, least_time, first, before)
    while step is not None:
        span = fitting(available, job, step, allocator)
        if span is not None:
            return span
        step = available.window(job.tasks, least_time, step + 1, before)
    return None
