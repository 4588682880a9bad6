"""The clock of a run: all that happens, the arrivals in a row, all else in one heap, and the order at one instant.

With ``passes="batch"`` an instant is all that happens at one time (times closer than the time tolerance
are one instant). With ``"per-event"`` every event is an instant of its own. The order at an instant is data:
:data:`ORDERS`. Ends are expected and may be expected anew, earlier or later; one that is no longer expected
never happens: it makes no instant and moves no clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import repeat
from typing import Any, Literal, Protocol, get_args

import numpy as np

from coalloc.instance.time_base import SMALL_TIMES, TimeBase
from coalloc.simulator.processors import Processors

Passes = Literal["batch", "per-event"]
Kind = Literal["end", "leaving", "coming", "arrival", "wake"]
"""What happens: a job ends, a change from outside takes something away or brings it, a job arrives, a site wakes up."""

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
        """When it happens, s."""

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
        self._changes = enumerate(changes)
        self._kinds = ORDERS[passes]
        self._end_rank, self._arrival_rank, self._wake_rank = map(self._kinds.index, ("end", "arrival", "wake"))
        self._change_ranks = self._kinds.index("leaving"), self._kinds.index("coming")
        self._is_batch = passes == "batch"
        self._heap: list[Entry] = [END_OF_TIME]
        self._ends: dict[int, float] = {}
        self._wakes: set[tuple[float, int]] = set()
        order = np.argsort(arrivals, kind="stable")
        jobs, times = order.data, np.asarray(arrivals, dtype=float)[order].data
        self._arrivals: Iterator[Entry] = zip(times, repeat(self._arrival_rank), jobs, repeat(0.0), jobs, strict=False)
        self._coming = next(self._arrivals, END_OF_TIME)
        """The next arrival, which never enters the heap: half of all that happens is known in order beforehand."""

    @property
    def tolerance(self) -> float:
        """How far apart equal times may be now, s."""
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

    def instants(self, handlers: Mapping[Kind, Handler]) -> Iterator[None]:
        """Let everything happen that is still to come, in order; yield after each instant.

        The handlers say what happens, and the clock goes with it. What they ask for, or expect, happens in its turn.
        """
        heap, ends, arrivals, is_batch = self._heap, self._ends, self._arrivals, self._is_batch
        end_rank, wake_rank = self._end_rank, self._wake_rank
        base, tolerance, latest = self.base, self.base.tolerance, self.base.latest
        handle = [handlers[kind] for kind in self._kinds]
        self._push_next_change()
        while True:
            if self._coming < heap[0]:
                entry = time, rank, _, _, what = self._coming
                self._coming = next(arrivals, END_OF_TIME)
            else:
                entry = time, rank, _, _, what = heap[0]
                if entry is END_OF_TIME:
                    return
                heappop(heap)
                if rank == end_rank:
                    if ends.get(what) != time:
                        continue
                else:
                    self._follow_up(rank)
            limit = time + (tolerance if time <= latest else base.tolerance_at(time)) if is_batch else -math.inf
            if heap[0][0] <= limit or self._coming[0] <= limit:
                self._happen([(rank, entry)], limit, handle)
            else:  # alone, as most are
                self.now = time
                if rank == end_rank:
                    del ends[what]
                elif rank == wake_rank:
                    self._wakes.remove((time, what))
                handle[rank](what)
                if heap[0][0] <= limit or self._coming[0] <= limit:
                    self._happen([], limit, handle)
            yield

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
                self._coming = next(self._arrivals, END_OF_TIME)
            rank, (time, _, _, _, what) = heappop(due)
            if rank == self._end_rank:
                if self._ends.get(what) != time:
                    continue
                del self._ends[what]
            elif rank == self._wake_rank:
                self._wakes.remove((time, what))
            self.now = max(self.now, time)
            handle[rank](what)

    def _follow_up(self, rank: int) -> None:
        """Push the next change after a change: there is one at most, so the heap stays small."""
        if rank in self._change_ranks:
            self._push_next_change()

    def _push_next_change(self) -> None:
        number, change = next(self._changes, (0, None))
        if change is not None:
            heappush(self._heap, (change.time, self._change_ranks[not change.is_leaving], number, 0.0, change))
