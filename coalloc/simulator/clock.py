"""The clock of a run: all that happens, in one heap, and the order of what happens at one instant.

With ``passes="batch"`` an instant is all that happens at one time (times closer than the time tolerance
are one instant). With ``"per-event"`` every event is an instant of its own. The order at an instant is data:
:data:`ORDERS`. Ends are expected and may be expected anew, earlier or later; one that is no longer expected
never happens: it makes no instant and moves no clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from coalloc.instance.rounding import INSTANT_PRECISION, INSTANT_TOLERANCE
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

Event = tuple[Kind, Any]
"""What happens, and to whom: the index of a job, a change, or the number of a site."""


Entry = tuple[float, int, Any, Any]
"""Of the heap: time (s), place of the kind in the order, order among its kind, and to whom it happens."""


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
    may be endless: each is asked for when the one before has happened.
    """

    def __init__(self, arrivals: Sequence[float], passes: Passes = "batch", changes: Iterable[Change] = ()) -> None:
        self.now = 0.0
        self._arrivals = arrivals
        self._arrival_order = iter(np.argsort(arrivals, kind="stable").data)
        self._changes = enumerate(changes)
        self._kinds = ORDERS[passes]
        self._end_rank, self._arrival_rank, self._wake_rank = map(self._kinds.index, ("end", "arrival", "wake"))
        self._change_ranks = {
            is_leaving: self._kinds.index("leaving" if is_leaving else "coming") for is_leaving in (False, True)
        }
        self._heap: list[Entry] = []
        self._ends: dict[int, float] = {}
        self._wakes: set[tuple[float, int]] = set()
        self._is_batch = passes == "batch"
        self._push_next_arrival()
        self._push_next_change()

    def __bool__(self) -> bool:
        """Return whether anything is still to happen."""
        heap = self._heap
        while heap and not self._stands(heap[0]):
            heapq.heappop(heap)
        return bool(heap)

    def expect_end(self, job: int, end: float, order: tuple[float, float]) -> None:
        """Expect a job to end at ``end`` (s), and no longer when it was expected before; ``order``: start, arrival."""
        self._ends[job] = end
        heapq.heappush(self._heap, (end, self._end_rank, (*order, job), job))

    def expect_no_end(self, job: int) -> None:
        """Expect no end of a job for now."""
        self._ends.pop(job, None)

    def wake(self, site: int, time: float) -> None:
        """Wake a site up at ``time`` (s); once, however often that is asked for."""
        if (time, site) not in self._wakes:
            self._wakes.add((time, site))
            heapq.heappush(self._heap, (time, self._wake_rank, site, site))

    def instant(self) -> Iterator[Event]:
        """Return what happens next, in order, what comes up on the way included; the clock goes with it."""
        return self._all_at_once() if self._is_batch else iter([self._happens(self._popped())])

    def _all_at_once(self) -> Iterator[Event]:
        """Yield the events of the next instant."""
        heap = self._heap
        first = heap[0][0]
        limit = first + max(INSTANT_TOLERANCE, INSTANT_PRECISION * first)
        while heap and heap[0][0] <= limit:
            entry = self._popped()
            if heap and heap[0][0] <= limit:
                yield from self._in_order(entry, limit)
            elif self._stands(entry):  # alone, as most are
                yield self._happens(entry)

    def _in_order(self, entry: Entry, limit: float) -> Iterator[Event]:
        """Yield an event and all that happens up to ``limit`` (s), whatever the times, by kind first."""
        heap, ordered = self._heap, [(entry[1], entry)]
        while ordered:
            while heap and heap[0][0] <= limit:
                entry = self._popped()
                heapq.heappush(ordered, (entry[1], entry))
            entry = heapq.heappop(ordered)[1]
            if self._stands(entry):
                yield self._happens(entry)

    def _popped(self) -> Entry:
        """Take the next entry off the heap; of arrivals and changes it holds one at most, so it stays small."""
        entry = heapq.heappop(self._heap)
        rank = entry[1]
        if rank == self._arrival_rank:
            self._push_next_arrival()
        elif rank in self._change_ranks.values():
            self._push_next_change()
        return entry

    def _push_next_arrival(self) -> None:
        job = next(self._arrival_order, None)
        if job is not None:
            heapq.heappush(self._heap, (self._arrivals[job], self._arrival_rank, job, job))

    def _push_next_change(self) -> None:
        number, change = next(self._changes, (0, None))
        if change is not None:
            heapq.heappush(self._heap, (change.time, self._change_ranks[change.is_leaving], number, change))

    def _stands(self, entry: Entry) -> bool:
        """Return whether an entry is not an end that is no longer expected."""
        return entry[1] != self._end_rank or self._ends.get(entry[3]) == entry[0]

    def _happens(self, entry: Entry) -> Event:
        """Let an event happen."""
        time, rank, _, what = entry
        self.now = max(self.now, time)
        if rank == self._end_rank:
            del self._ends[what]
        elif rank == self._wake_rank:
            self._wakes.remove((time, what))
        return self._kinds[rank], what
