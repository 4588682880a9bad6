"""What is free over time: processors per class, and what is left of links and memories, as step functions.

A profile serves slots and seconds alike: its times are the ticks of a :class:`Problem`. It keeps a
column of steps per class, per set of classes that was asked for, and per link or memory of which there can be
too little at all, so that a scan over time and a least value are loops over plain lists.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import add

from coalloc.problem import Problem
from coalloc.problem.budgets import Spending

SUBTRACTION_NOISE = 1e-12
"""Share of a limit (MB/s or MB where that is below 1) that adding and taking away loads may lose in floating point.

The limit has the checker's tolerance in it, a thousand times as much. What needs the noise on top of that the checker
refuses: such a schedule is an error, and never a result.
"""

MOST_ROOMS = 100
"""Sets of classes whose free processors a profile keeps before it forgets them all: every booking changes each of them,
and where jobs name their times every job has sets of its own."""


class Profile:
    """Free capacity of a problem over time; jobs are booked with :meth:`occupy`.

    Steps are numbered in order of time, and step i lasts from one change to the next. Resources of which there
    is always enough (all but ``problem.contended_resources``) are not kept. ``placed`` are starts and ends of the jobs
    that were booked, by index, where constraints tie jobs to each other; ``spending`` is what they take of budgets.
    """

    def __init__(self, problem: Problem) -> None:
        self._limits = problem.allocations.limits
        self._contended = problem.contended_resources
        self._slack = [SUBTRACTION_NOISE * max(1.0, self._limits[k]) for k in self._contended]
        self._times: list[float] = [-math.inf]
        self._classes: list[list[float]] = [[capacity] for capacity in problem.capacities]
        self._rooms: dict[tuple[int, ...], list[float]] = {}
        self._left: list[list[float]] = [[self._limits[k]] for k in self._contended]
        self.couples, self.placed = problem.couples, dict[int, tuple[float, float]]()
        self.spending = Spending(problem.allocations, problem.budgets) if problem.budgets else None
        for busy in problem.busy:
            self.occupy(-math.inf, busy.end, busy.allocation, busy.loads)
        for block in problem.blocks:
            self.occupy(block.start, block.end, block.allocation, block.loads)

    def copy(self) -> Profile:
        """Return a profile of its own with the same bookings."""
        twin = Profile.__new__(Profile)
        twin._limits, twin._contended, twin._slack = self._limits, self._contended, self._slack
        twin._times = self._times.copy()
        twin.couples, twin.placed = self.couples, self.placed.copy()
        twin.spending = None if self.spending is None else self.spending.copy()
        twin._classes = [column.copy() for column in self._classes]
        twin._rooms = {members: column.copy() for members, column in self._rooms.items()}
        twin._left = [column.copy() for column in self._left]
        return twin

    def _split(self, time: float) -> int:
        """Return the index of the step that starts at ``time``, making it if need be."""
        i = bisect_left(self._times, time)
        if i == len(self._times) or self._times[i] != time:
            self._times.insert(i, time)
            for columns in (self._classes, self._rooms.values(), self._left):
                for column in columns:
                    column.insert(i, column[i - 1])
        return i

    def occupy(self, start: float, end: float, allocation: Sequence[int], loads: Sequence[float]) -> None:
        """Book ``[start, end)``; nothing is booked where it is empty."""
        if end <= start:
            return
        first, last = self._split(start), self._split(end)
        for column, count in zip(self._classes, allocation, strict=True):
            _take(column, first, last, count)
        for members, column in self._rooms.items():
            _take(column, first, last, sum([allocation[g] for g in members]))
        for column, k in zip(self._left, self._contended, strict=True):
            _take(column, first, last, loads[k])

    def windows(
        self, release: float, duration: float, classes: Sequence[int], tasks: int
    ) -> Iterator[tuple[float, int, int]]:
        """Yield (start, first step, step after the last) where ``tasks`` processors are free at every step.

        The processors are of ``classes`` (by index), and may be others from step to step: a necessary condition.
        Starts are ``release`` and every later change, in order; a job of no duration occupies nothing, so it starts
        at its release and has no step.
        """
        times, room = self._times, self._room(tuple(classes))
        num_steps = len(times)
        first = step = bisect_right(times, release) - 1
        start = release
        if duration <= 0:
            yield start, first, first
            return
        while True:
            end = start + duration
            while step < num_steps and times[step] < end and room[step] >= tasks:
                step += 1
            if step == num_steps or times[step] >= end:
                yield start, first, step
                first += 1
            else:
                first = step + 1
                while first < num_steps and room[first] < tasks:
                    first += 1
            if first >= num_steps:
                return
            start = times[first]
            step = max(step, first)

    def _room(self, classes: tuple[int, ...]) -> list[float]:
        """Return how many processors of some classes are free at each step; of several, kept for a while."""
        if len(classes) == 1:
            return self._classes[classes[0]]
        if classes not in self._rooms:
            made = self._made_room(classes)
            if len(self._rooms) >= MOST_ROOMS:
                self._rooms.clear()
            self._rooms[classes] = made
        return self._rooms[classes]

    def _made_room(self, classes: tuple[int, ...]) -> list[float]:
        """Return what :meth:`_room` keeps: the room made last and the classes beyond, where it has no others.

        So the levels of a job, each with all classes of the one before, take one sum each.
        """
        last = next(reversed(self._rooms), ())
        if not (last and set(last) <= set(classes)):
            return list(map(sum, zip(*(self._classes[g] for g in classes), strict=True)))
        room = self._rooms[last]
        for g in set(classes).difference(last):
            room = list(map(add, room, self._classes[g]))
        return room

    def least_free(self, first: int, last: int) -> list[float]:
        """Return the least free processors of each class over steps (all, where there is no step)."""
        if last <= first:
            return [column[-1] for column in self._classes]
        return [min(column[first:last]) for column in self._classes]

    def least_contended(self, first: int, last: int) -> list[float]:
        """Return what is left at least of each contended resource over steps (all, where there is no step).

        Of what running jobs take too much nothing is left, not less.
        """
        if last <= first:
            return [column[-1] for column in self._left]
        least = [min(column[first:last]) for column in self._left]
        return [max(0.0, free) + slack for free, slack in zip(least, self._slack, strict=True)]

    def least_left(self, first: int, last: int) -> list[float]:
        """Return what is left at least of every resource over steps; the limit where nothing contends."""
        left = list(self._limits)
        for k, least in zip(self._contended, self.least_contended(first, last), strict=True):
            left[k] = least
        return left

    def free(self, start: float, end: float) -> tuple[list[float], list[float]]:
        """Return the least free processors per class, and what is left per resource, during ``[start, end)``."""
        steps = self._steps(start, end)
        return self.least_free(*steps), self.least_left(*steps)

    def free_processors(self, start: float, end: float) -> list[float]:
        """Return the least free processors per class during ``[start, end)``."""
        return self.least_free(*self._steps(start, end))

    def _steps(self, start: float, end: float) -> tuple[int, int]:
        """Return the first step of ``[start, end)``, and the one after its last."""
        first = bisect_right(self._times, start) - 1
        return first, first if end <= start else bisect_left(self._times, end)

    def changes(self, release: float) -> list[float]:
        """Return the instants at which something may start: ``release`` and every later change."""
        return [release, *self._times[bisect_right(self._times, release) :]]


def _take(column: list[float], first: int, last: int, amount: float) -> None:
    if amount:
        column[first:last] = [free - amount for free in column[first:last]]
