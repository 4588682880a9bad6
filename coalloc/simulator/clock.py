"""The clock of a run: all that happens, the arrivals in a row, all else in one heap, and the order at one instant.

With ``passes="batch"`` an instant is all that happens at one time (times closer than the time tolerance
are one instant). With ``"per-event"`` every event is an instant of its own. The order at an instant is data:
:data:`ORDERS`. Ends are expected and may be expected anew, earlier or later; one that is no longer expected
never happens: it makes no instant and moves no clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from heapq import heapify, heappop, heappush
from itertools import repeat, tee
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np

from coalloc.instance.time_base import SMALL_TIMES, TimeBase
from coalloc.simulator.processors import Processors

Passes = Literal["batch", "per-event"]
Kind = Literal["end", "leaving", "coming", "arrival", "wake"]
"""Kind of event: a job ends, a change from outside takes something away or brings it, a job arrives, a site wakes up.
"""

ORDERS: dict[Passes, tuple[Kind, ...]] = {
    "batch": ("end", "leaving", "coming", "arrival", "wake"),
    "per-event": ("arrival", "end", "leaving", "coming", "wake"),
}
"""Order of simultaneous events.

Of one kind: ends by start, then arrival; changes as they are given; arrivals as the instance lists the jobs;
sites in their order.
"""

Handler = Callable[[Any], None]
"""Lets something of one kind happen to whom it concerns: the index of a job, a change, the number of a site."""

Entry = tuple[float, int, float, float, Any]
"""Of the heap: time (s), place of the kind in the order, two numbers that order its kind, and to whom it happens."""

END_OF_TIME: Entry = (math.inf, len(get_args(Kind)), 0.0, 0.0, None)
"""Last of the heap: there is always a next entry."""


class Change(Protocol):
    """Something that happens from outside whatever the jobs do: a local user comes to nodes, or leaves them."""

    @property
    def time(self) -> float:
        """Time of the event, s."""

    @property
    def is_leaving(self) -> bool:
        """Whether somebody leaves; else somebody comes."""

    @property
    def processors(self) -> Processors:
        """Where: the sites that have one of them get a scheduling pass."""


class Clock:
    """The time, and what is still to happen.

    ``now`` is in s. ``arrivals`` (s) are those of the jobs by index; ``changes`` come in order of time, and
    may be endless: each is asked for when the one before has happened, the first when the clock begins. ``base`` says
    within which tolerance times are equal.
    """

    def __init__(
        self,
        arrivals: Sequence[float],
        passes: Passes = "batch",
        changes: Iterable[Change] = (),
        base: TimeBase = SMALL_TIMES,
    ) -> None:
        self.now = 0.0
        self.base = base
        (self._changes,) = tee(enumerate(changes), 1)
        self._has_begun = False
        self._kinds = ORDERS[passes]
        self._end_rank, self._arrival_rank, self._wake_rank = map(self._kinds.index, ("end", "arrival", "wake"))
        self._change_ranks = self._kinds.index("leaving"), self._kinds.index("coming")
        self._is_batch = passes == "batch"
        self._heap: list[Entry] = [END_OF_TIME]
        self._ends: dict[int, float] = {}
        self._wakes: set[tuple[float, int]] = set()
        order = np.argsort(arrivals, kind="stable")
        jobs, times = order.data, np.asarray(arrivals, dtype=float)[order].data
        entries = zip(times, repeat(self._arrival_rank), jobs, repeat(0.0), jobs, strict=False)
        self._arrivals: Iterator[Entry]
        (self._arrivals,) = tee(entries, 1)
        self._coming = next(self._arrivals, END_OF_TIME)
        """The next arrival, which never enters the heap: half of all that happens is known in order beforehand."""
        self._forgotten = set[int]()
        """Jobs whose arrivals are still in the row, and never happen."""

    @property
    def tolerance(self) -> float:
        """Tolerance within which times are equal now, s."""
        return self.base.tolerance_at(self.now)

    def expect_end(self, job: int, end: float, start: float, arrival: float) -> None:
        """Expect a job to end at ``end`` (s; ``inf``: not for now), and no longer when it was expected before.

        ``start`` and ``arrival`` are its own, s.
        """
        if self._ends.get(job) == end:
            return
        self._ends[job] = end
        if end < math.inf:
            heappush(self._heap, (end, self._end_rank, start, arrival, job))

    def expect_arrival(self, job: int, time: float) -> None:
        """Let a job arrive again at ``time`` (s), now or later: in an instant of its own, after what happens now."""
        heappush(self._heap, (time, self._arrival_rank, job, 0.0, job))

    def wake(self, site: int, time: float) -> None:
        """Wake a site up at ``time`` (s); once, however often that is asked for."""
        if (time, site) not in self._wakes:
            self._wakes.add((time, site))
            heappush(self._heap, (time, self._wake_rank, site, 0.0, site))

    def forget_arrival(self, job: int) -> None:
        """Let an arrival that is still to come not happen."""
        others = [entry for entry in self._heap if entry[1] != self._arrival_rank or entry[4] != job]
        if len(others) < len(self._heap):
            self._heap[:] = others
            heapify(self._heap)
        else:
            self._forgotten.add(job)
            self._skip_forgotten()

    def next_time(self) -> float:
        """Return when something happens next, s; infinity where nothing is to come."""
        self._begin()
        heap, ends = self._heap, self._ends
        while heap[0][1] == self._end_rank and ends.get(heap[0][4]) != heap[0][0]:
            heappop(heap)
        return min(heap[0][0], self._coming[0])

    def finish(self, now: float) -> None:
        """Let all have happened by ``now`` (s) that is known."""
        self.now, self._has_begun, self._arrivals, self._coming = now, True, iter(()), END_OF_TIME
        self._heap[:] = [END_OF_TIME]
        self._ends.clear()

    def copied(self) -> Self:
        """Return a clock that goes on from here by itself."""
        twin = copy(self)
        twin._changes, twin._arrivals = copy(self._changes), copy(self._arrivals)
        twin._heap, twin._ends = self._heap.copy(), self._ends.copy()
        twin._wakes, twin._forgotten = self._wakes.copy(), self._forgotten.copy()
        return twin

    def handlers(self, by_kind: Mapping[Kind, Handler]) -> tuple[Handler, ...]:
        """Return what lets things happen, as :meth:`advance` takes it."""
        return tuple(map(by_kind.__getitem__, self._kinds))

    def advance(self, handle: Sequence[Handler]) -> bool:
        """Let all happen that comes at the next instant, in order; return False where nothing is to come.

        What :meth:`handlers` made of the handlers says what happens, and the clock goes with it. What they ask for, or
        expect, happens in its turn.
        """
        if not self._has_begun:
            self._begin()
        heap, ends = self._heap, self._ends
        while True:
            if self._coming < heap[0]:
                entry = time, rank, _, _, what = self._coming
                self._next_arrival()
                break
            entry = time, rank, _, _, what = heap[0]
            if entry is END_OF_TIME:
                return False
            heappop(heap)
            if rank != self._end_rank:
                self._follow_up(rank)
                break
            if ends.get(what) == time:
                break
        base, limit = self.base, -math.inf
        if self._is_batch:
            limit = time + (base.tolerance if time <= base.latest else base.tolerance_at(time))
        if heap[0][0] <= limit or self._coming[0] <= limit:
            self._happen([(rank, entry)], limit, handle)
        else:  # alone, as most are
            self.now = time
            if rank == self._end_rank:
                del ends[what]
            elif rank == self._wake_rank:
                self._wakes.remove((time, what))
            handle[rank](what)
            if heap[0][0] <= limit or self._coming[0] <= limit:
                self._happen([], limit, handle)
        return True

    def _begin(self) -> None:
        """Ask for the first change, once."""
        if not self._has_begun:
            self._has_begun = True
            self._push_next_change()

    def _happen(self, due: list[tuple[int, Entry]], limit: float, handle: Sequence[Handler]) -> None:
        """Let happen what is due and all that comes up to ``limit`` (s), whatever the times, by kind first."""
        heap = self._heap
        while due or heap[0][0] <= limit or self._coming[0] <= limit:
            while heap[0][0] <= limit:
                entry = heappop(heap)
                self._follow_up(entry[1])
                heappush(due, (entry[1], entry))
            while self._coming[0] <= limit:
                heappush(due, (self._arrival_rank, self._coming))
                self._next_arrival()
            rank, (time, _, _, _, what) = heappop(due)
            if rank == self._end_rank:
                if self._ends.get(what) != time:
                    continue
                del self._ends[what]
            elif rank == self._wake_rank:
                self._wakes.remove((time, what))
            self.now = max(self.now, time)
            handle[rank](what)

    def _next_arrival(self) -> None:
        """Look at the next arrival of the row."""
        self._coming = next(self._arrivals, END_OF_TIME)
        if self._forgotten:
            self._skip_forgotten()

    def _skip_forgotten(self) -> None:
        """Pass over the arrivals of the row that are not to happen."""
        while self._coming[4] in self._forgotten:
            self._forgotten.remove(self._coming[4])
            self._coming = next(self._arrivals, END_OF_TIME)

    def _follow_up(self, rank: int) -> None:
        """Push the next change after a change: there is one at most, so the heap stays small."""
        if rank in self._change_ranks:
            self._push_next_change()

    def _push_next_change(self) -> None:
        number, change = next(self._changes, (0, None))
        if change is not None:
            heappush(self._heap, (change.time, self._change_ranks[not change.is_leaving], number, 0.0, change))
