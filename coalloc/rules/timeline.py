"""What is free over time: a vector of capacities as a step function, for policies, list schedules and searches.

A vector has the processors of each class first, then whatever else jobs take: in simulations memory, resources and
groups that outages close in part (:mod:`coalloc.rules.capacity_vectors`), in exact methods also bandwidth of links
(:mod:`coalloc.rules.profile`). A timeline knows no jobs and no rules, and queries name times, not indices of steps. Its
columns, one per capacity and one per set of classes whose total was asked for, are plain lists in order of time: a
least amount is the minimum of a slice.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import add, itemgetter, le
from typing import Any, Generic, Self, TypeVar

MOST_TOTALS = 100
"""Sets of classes whose totals a timeline keeps before it forgets them all: every booking changes each of them,
and where jobs name their times every job has sets of its own."""

Amount = TypeVar("Amount", int, float)


class Timeline(Generic[Amount]):
    """Free capacities over time; a step lasts from one change to the next, the last step for ever.

    It begins at ``since`` with the vector ``free``; each of the ``releases``, in order of time, adds a vector from its
    time on. The first ``num_classes`` numbers are processors of classes; all are unless given. Nothing is known of what
    was before the beginning, and nothing is taken there.
    """

    def __init__(
        self,
        since: float,
        free: Sequence[Amount],
        releases: Iterable[tuple[float, Sequence[Amount]]] = (),
        num_classes: int | None = None,
    ) -> None:
        self._all_classes = tuple(range(len(free) if num_classes is None else num_classes))
        steps = [(since, tuple(free))]
        for time, amounts in releases:
            last, before = steps[-1]
            if time > last:
                steps.append((time, before))
            steps[-1] = (steps[-1][0], tuple(map(add, before, amounts)))
        self._times = [time for time, _ in steps]
        self._columns = [list(column) for column in zip(*(amounts for _, amounts in steps), strict=True)]
        self._totals: dict[tuple[int, ...], list[Amount]] = {}
        self._members: list[itemgetter[Any]] = []
        self._all_columns = self._columns

    def free(self, start: float, end: float = -math.inf) -> tuple[Amount, ...]:
        """Return the vector that is free throughout ``[start, end)``; at ``start`` where that is empty."""
        first = bisect_right(self._times, start, 1) - 1
        if end > start:
            last = bisect_left(self._times, end, first + 1)
            if last > first + 1:
                return tuple([min(column[first:last]) for column in self._columns])
        return tuple([column[first] for column in self._columns])

    def windows(
        self,
        release: float,
        duration: float,
        tasks: float,
        classes: Sequence[int] | None = None,
        before: float = math.inf,
    ) -> Iterator[float]:
        """Yield the starts from which ``tasks`` processors are free for a duration, in order.

        The processors are of ``classes`` (by index, all unless given), and may be others from step to step: a necessary
        condition, with one class a sufficient one. Starts are ``release`` and every later change before ``before``;
        room from then on is not asked for. What has no duration occupies nothing, and starts at its release.
        """
        if duration <= 0:
            yield release
            return
        known, never = self._times, math.inf
        first, last = bisect_right(known, release, 1) - 1, bisect_left(known, before)
        if first >= last:
            return
        total = self._total(self._all_classes if classes is None else tuple(classes))[first:last]
        if before < never and max(total) < tasks:
            return
        times = known[first:last]
        times[0] = max(release, times[0])
        times.append(never)
        start = end = never  # the first start that may last long enough, and when it has
        for time, free in zip(times, total, strict=False):
            while time >= end:
                yield start
                start = times[bisect_right(times, start)]
                end = start + duration
            if free < tasks:
                start = end = never
            elif start > time:
                start, end = time, time + duration
        while start < never:
            yield start
            start = times[bisect_right(times, start)]

    def first_start(self, release: float, duration: float, amounts: Sequence[Amount]) -> float:
        """Return the first start from ``release`` on of a duration in which a vector is free; infinity without one."""
        used = [g for g in self._all_classes if amounts[g]]
        classes = used if len(used) == 1 else None  # few sets of classes: each is kept up to date
        for start in self.windows(release, duration, sum([amounts[g] for g in used]), classes):
            if duration <= 0 or all(map(le, amounts, self.free(start, start + duration))):
                return start
        return math.inf

    def take(self, start: float, end: float, amounts: Sequence[Amount]) -> None:
        """Take a vector during ``[start, end)``; nothing where that is empty."""
        if end <= start:
            return
        first, last = self._split(start), self._split(end)
        for column, amount in zip(self._columns, amounts, strict=True):
            if amount:
                column[first:last] = [free - amount for free in column[first:last]]
        for column, picked in zip(self._totals.values(), self._members, strict=True):
            total = sum(picked(amounts))
            column[first:last] = [free - total for free in column[first:last]]

    def give_back(self, start: float, end: float, amounts: Sequence[Amount]) -> None:
        """Give back what was taken; equal steps become one."""
        if end > start:
            self.take(start, end, [-amount for amount in amounts])
            for time in (end, start):
                self._merge(bisect_left(self._times, time))

    def changes(self, since: float) -> list[float]:
        """Return the times from ``since`` on at which a step begins."""
        return self._times[bisect_left(self._times, since) :]

    def forget(self, now: float) -> None:
        """Drop what has passed: the timeline begins at ``now``."""
        passed = bisect_right(self._times, now) - 1
        if passed > 0:
            del self._times[:passed]
            for column in self._all_columns:
                del column[:passed]
        self._times[0] = now

    def copy(self) -> Self:
        """Return a timeline of its own with the same steps."""
        twin: Self = type(self).__new__(type(self))
        twin.__dict__ |= self.__dict__
        twin._times = self._times.copy()
        twin._columns = [column.copy() for column in self._columns]
        twin._totals = {classes: column.copy() for classes, column in self._totals.items()}
        twin._all_columns = [*twin._columns, *twin._totals.values()]
        return twin

    def _split(self, time: float) -> int:
        """Return the index of the step that begins at ``time``, making it if need be; of the first before that."""
        step = bisect_left(self._times, time)
        if step and (step == len(self._times) or self._times[step] != time):
            self._times.insert(step, time)
            for column in self._all_columns:
                column.insert(step, column[step - 1])
        return step

    def _merge(self, step: int) -> None:
        """Let a step be part of the one before it where the two are equal."""
        for column in self._columns:
            if step == 0 or column[step] != column[step - 1]:
                return
        del self._times[step]
        for column in self._all_columns:
            del column[step]

    def _total(self, classes: tuple[int, ...]) -> list[Amount]:
        """Return how many processors of some classes are free at each step; of several, kept for a while."""
        if len(classes) == 1:
            return self._columns[classes[0]]
        total = self._totals.get(classes)
        if total is None:
            total = self._sum(classes)
            if len(self._totals) >= MOST_TOTALS:
                self._totals.clear()
            self._totals[classes] = total
            self._members = [itemgetter(*of_total) for of_total in self._totals]
            self._all_columns = [*self._columns, *self._totals.values()]
        return total

    def _sum(self, classes: tuple[int, ...]) -> list[Amount]:
        """Return what :meth:`_total` keeps: the total made last and the classes beyond, where it has no others.

        So the levels of a job, each with all classes of the one before, take one sum each.
        """
        last = next(reversed(self._totals), ())
        if not (last and set(last) <= set(classes)):
            return list(map(sum, zip(*(self._columns[g] for g in classes), strict=True)))
        total = self._totals[last]
        for g in set(classes).difference(last):
            total = list(map(add, total, self._columns[g]))
        return total
