"""The events of a run, in one heap, and the order of those that are simultaneous.

With ``passes="batch"`` an instant is all that happens at one time (instants closer than the time
tolerance are one, the latest of them): its terminations, then its arrivals. With ``"per-event"`` every
event is an instant of its own, arrivals before terminations. Events of one kind follow the order of
the jobs in the instance.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from coalloc.instance.rounding import INSTANT_PRECISION, INSTANT_TOLERANCE

Passes = Literal["batch", "per-event"]

ARRIVAL_RANK = 0
TERMINATION_RANKS: dict[Passes, int] = {"batch": -1, "per-event": 1}
"""Place of terminations among simultaneous events, before or after the arrivals."""

Event = tuple[float, bool, int]
"""Instant (s), whether it is a termination (else an arrival), and the index of the job."""


class EventQueue:
    """What will happen: arrivals, known from the start, and the terminations that are expected."""

    def __init__(self, arrivals: Sequence[float], passes: Passes) -> None:
        self._arrivals = arrivals
        self._order = iter(np.argsort(arrivals, kind="stable").data)
        self._termination_rank = TERMINATION_RANKS[passes]
        self._heap: list[tuple[float, int, int]] = []
        self._is_batch = passes == "batch"
        self._push_next_arrival()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def expect_end(self, job: int, end: float) -> None:
        """Add a termination at ``end`` (s); one that was expected at another time stays in the heap."""
        heapq.heappush(self._heap, (end, self._termination_rank, job))

    def instant(self) -> Iterator[Event]:
        """Return the events of the next instant, in their order."""
        return self._all_at_once() if self._is_batch else self._one()

    def _push_next_arrival(self) -> None:
        """Put the next arrival on the heap: there is one at most, so the heap stays small."""
        job = next(self._order, None)
        if job is not None:
            heapq.heappush(self._heap, (self._arrivals[job], ARRIVAL_RANK, job))

    def _one(self) -> Iterator[Event]:
        """Yield the next event alone."""
        time, rank, job = heapq.heappop(self._heap)
        if rank == ARRIVAL_RANK:
            self._push_next_arrival()
        yield time, rank != ARRIVAL_RANK, job

    def _all_at_once(self) -> Iterator[Event]:
        """Yield the events of the next instant, those that come up on the way included."""
        heap = self._heap
        first = heap[0][0]
        limit = first + max(INSTANT_TOLERANCE, INSTANT_PRECISION * first)
        while heap and heap[0][0] <= limit:
            time, rank, job = heapq.heappop(heap)
            if rank == ARRIVAL_RANK:
                self._push_next_arrival()
            yield time, rank != ARRIVAL_RANK, job
