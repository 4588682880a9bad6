"""Conservative backfilling: every job has a reservation, and jobs start out of order where that delays none."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from operator import le
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coalloc.heuristics.classics import less
from coalloc.instance import Job
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import Allocator, RuleName
from coalloc.rules.orders import Keys, Order, ordered
from coalloc.rules.reservations import earliest
from coalloc.rules.timeline import Spans, Timeline
from coalloc.simulator.policy import Start, State, Wake

Compression = Literal["start", "arrival", "queue"]
"""In which order reservations move forward when a job ends early: of their starts, of arrival, or that of the queue."""

FEW = 64
"""Reservations up to which Python sorts them faster than NumPy."""


class _Place(NamedTuple):
    """Place of a waiting job: from ``start`` (s) for ``seconds`` on ``counts``, and its part of a room.

    ``number`` is its place in the order of arrival, ``least_time`` (s) what it takes on the fastest class.
    Places compare by start, then by number.
    """

    start: float
    number: int
    seconds: float
    counts: Allocation
    least_time: float
    job: Job

    @property
    def end(self) -> float:
        return self.start + self.seconds


class _Places(Spans):
    """The reservations by start, then by number: what is searched for is in columns, the rest by number."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: array[int] = array("q")
        self._others: dict[int, tuple[float, Allocation, Job]] = {}
        self._kind_of: dict[tuple[int, float], int] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[_Place]:
        return map(self.at, range(len(self)))

    def at(self, k: int) -> _Place:
        """Return the place in a row."""
        number = self.numbers[k]
        seconds, counts, job = self._others[number]
        return _Place(self.starts[k], number, seconds, counts, self.least_times[k], job)

    def add(self, place: _Place) -> None:
        """Put a place in its row."""
        k, demand = bisect_right(self.starts, place.start), (place.job.tasks, place.least_time)
        while k and self.starts[k - 1] == place.start and self.numbers[k - 1] > place.number:
            k -= 1
        kind = self._kind_of.setdefault(demand, len(self._kind_of))
        self._others[place.number] = place.seconds, place.counts, place.job
        row = place.start, place.number, place.least_time, place.job.tasks, kind
        for column, content in zip(self._columns, row, strict=True):
            column.insert(k, content)

    def pop(self, k: int) -> _Place:
        """Take a place out of its row."""
        place = self.at(k)
        del self._others[place.number]
        for column in self._columns:
            del column[k]
        if not self._others:
            self._kind_of.clear()
        return place

    def change(self, k: int, place: _Place) -> None:
        """Let a job have another place; ``sort`` puts it in its row."""
        self.starts[k] = place.start
        self._others[place.number] = place.seconds, place.counts, place.job

    def begin_search(self) -> None:
        """Forget what is known of windows."""
        if len(self._kind_of) > 2 * len(self) + FEW:
            self._kind_of = {}
            demands = zip(self.tasks, self.least_times, strict=True)
            self.kinds = array("q", [self._kind_of.setdefault(d, len(self._kind_of)) for d in demands])
        self.searched = array("d", (-math.inf,)) * len(self._kind_of)

    def sort(self) -> None:
        """Put places that have moved in their rows."""
        order: Sequence[int] | NDArray[np.int64]
        if len(self) <= FEW:
            keys = [*zip(self.starts, self.numbers, strict=True)]
            order = sorted(range(len(self)), key=keys.__getitem__)
        else:
            order = np.lexsort((np.frombuffer(self.numbers, np.int64), np.frombuffer(self.starts)))
        self.put(order)

    def put(self, order: Sequence[int] | NDArray[np.int64]) -> None:
        """Put places in another order of their rows."""
        for column in self._columns:
            content = np.frombuffer(column, column.typecode)[order].tobytes()
            del column[:]
            column.frombytes(content)

    def copy(self) -> Self:
        """Return places of their own."""
        twin = copy(self)
        twin.starts, twin.numbers, twin.least_times = self.starts[:], self.numbers[:], self.least_times[:]
        twin.tasks, twin.kinds = self.tasks[:], self.kinds[:]
        twin._others, twin._kind_of = self._others.copy(), self._kind_of.copy()
        return twin

    @property
    def _columns(self) -> tuple[array[Any], ...]:
        return self.starts, self.numbers, self.least_times, self.tasks, self.kinds


@dataclass(slots=True)
class Conservative:
    """Conservative backfilling: fill gaps without delaying any waiting job.

    Every job gets a reservation when it arrives, jobs that arrive together in the order of the queue: the earliest time
    at which the rule gives it an allocation that is free until its estimated end, next to the running jobs (to their
    estimated ends; overdue: now) and all other reservations. Where the choice of the rule is not free so long, the rule
    is applied again to what is. A job starts when its reservation has come and its processors are free; times are
    compared exactly.

    - A job ends before its estimated end, or leaves the queue: each reservation, in the order of ``compression``, is
      removed and put at the earliest time that the others leave, if that is earlier. A reservation may then stay behind
      one that moves away after it; the policy wakes up when it comes.
    - A job is overdue, or a reserved start has passed because of one: all reservations are recomputed in the order of
      their starts. Only then may one move back.

    Both come before the reservations of jobs that arrive at the same time.

    Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section 2.1.

    *Example.* Three processors; A has two until 60 s, with an estimate of 100 s. B (3 processors, 50 s) arrives at 5 s,
    C (1 processor, 150 s) at 6 s, D (1 processor, 90 s) at 7 s. Their reservations are at 100 s, 150 s and 7 s: D
    starts. At 60 s that of B moves to 97 s, the end of D, and that of C to 147 s.

    Parameters
    ----------
    queue_order
        Order of the queue.
    compression
        Order in which reservations move forward: of their starts, of arrival (as in the program pyss), or of the queue.
    allocation
        Allocation rule.
    scope
        Where the tasks of one job may be.
    """

    queue_order: Order = "fcfs"
    compression: Compression = "start"
    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"
    _run: object = field(init=False, default=None)
    _keys: Keys = field(init=False)
    _timeline: Timeline[int] = field(init=False)
    _places: _Places = field(init=False, default_factory=_Places)
    _ends: dict[str, float] = field(init=False, default_factory=dict)
    """The estimated end of each running job, s."""
    _held: dict[str, Allocation] = field(init=False, default_factory=dict)
    """Part of the room that each running job takes."""
    _num_arrived: int = field(init=False, default=0)
    _gains: list[tuple[float, float]] = field(init=False, default_factory=list)
    """Times in which room was gained since reservations last moved forward: start and end, s."""

    def begin(self, state: State) -> None:
        """Forget the run before."""
        self._run, self._places, self._num_arrived, self._gains = state.run, _Places(), 0, []
        self._keys = Keys(self.queue_order)
        self._expect_what_runs(state)

    def left(self, _: State, job: Job) -> None:
        """Give back what is reserved for a job that leaves the queue: others may move forward."""
        k = next((k for k, place in enumerate(self._places) if place.job.id == job.id), None)
        if k is not None:
            place = self._places.pop(k)
            self._timeline.give_back(place.start, place.end, place.counts)
            self._gains.append((place.start, place.end))

    def copy(self) -> Self:
        """Return a policy of its own with the same reservations."""
        twin = copy(self)
        if self._run is not None:
            twin._timeline, twin._keys = self._timeline.copy(), copy(self._keys)
        twin._places, twin._ends, twin._held = self._places.copy(), self._ends.copy(), self._held.copy()
        twin._gains = self._gains.copy()
        return twin

    def decide(self, state: State) -> list[Start | Wake]:
        """Return the jobs whose reservations have come, and the next one's time where nothing is to happen then."""
        if state.run is not self._run:
            self.begin(state)
        self._keys.change(state)
        allocator = state.allocator(self.allocation)
        if self._is_late(state):
            self._make_again(state, allocator)
        else:
            self._timeline.forget(state.now)
            self._give_back(state)
            if self._gains:
                self._move_forward(allocator, is_pool=len(state.room) == 1)
        self._reserve_for(state.queue[len(self._places) :], allocator)
        due = self._due(state)
        next_start = self._places.starts[0] if self._places else -math.inf
        return [*due, Wake(next_start)] if next_start > state.now and next_start not in self._ends.values() else due

    # -------------------------------------------------------------------------- what has changed

    def _is_late(self, state: State) -> bool:
        """Return whether a job runs longer than expected, or should have started before."""
        running, starts, now = state.running, self._places.starts, state.now
        return bool(running and running[0].estimated_end < now) or bool(starts and starts[0] < now)

    def _expect_what_runs(self, state: State) -> None:
        """Note what runs; overdue jobs are expected to end now."""
        now, running = state.now, state.running
        self._ends = {run.job.id: run.estimated_end for run in running}
        self._held = {run.job.id: run.taken for run in running}
        self._timeline = state.timeline((max(now, run.estimated_end), run.taken) for run in running)

    def _give_back(self, state: State) -> None:
        """Give back what jobs hold in vain that have ended before their estimates."""
        if len(self._ends) == len(state.running):
            return
        running, now = {run.job.id for run in state.running}, state.now
        for ended in [job for job in self._ends if job not in running]:
            end, counts = self._ends.pop(ended), self._held.pop(ended)
            if end > now:
                self._timeline.give_back(now, end, counts)
                self._gains.append((now, end))

    # -------------------------------------------------------------------------- reservations

    def _reserve_for(self, jobs: Sequence[Job], allocator: Allocator) -> None:
        """Give jobs that have arrived, in order of arrival, their reservations in the order of the queue."""
        number = {job.id: self._num_arrived + k for k, job in enumerate(jobs)}
        self._num_arrived += len(jobs)
        for job in jobs if self.queue_order == "fcfs" else ordered(jobs, self._keys.of):
            self._reserve(job, number[job.id], allocator.least_time(job), allocator)

    def _reserve(self, job: Job, number: int, least_time: float, allocator: Allocator) -> None:
        """Give a job the earliest place that is left."""
        span = earliest(self._timeline, job, least_time, allocator)
        assert span is not None, "every job fits the empty platform"
        place = _Place(span.start, number, span.seconds, span.counts, least_time, job)
        self._timeline.take(place.start, place.end, place.counts)
        self._places.add(place)

    def _make_again(self, state: State, allocator: Allocator) -> None:
        """Make all reservations again, in order of start."""
        self._expect_what_runs(state)
        places, self._places, self._gains = self._places, _Places(), []
        for place in places:
            self._reserve(place.job, place.number, place.least_time, allocator)

    def _move_forward(self, allocator: Allocator, *, is_pool: bool) -> None:
        """Move reservations, one after the other, to the earliest instants that the others leave."""
        places, num_seen, is_by_start = self._places, 0, self.compression == "start"
        gains, self._gains = self._gains, []
        if is_pool and is_by_start:
            places.put(self._timeline.compress(gains, places, places.numbers))
            return
        turn = array("q", np.arange(len(places)).tobytes() if is_by_start else self._in_turn())
        places.begin_search()
        while num_seen < len(places):
            num_seen, window = self._timeline.advance(num_seen, turn, places, is_by_start=is_by_start)
            if window < math.inf:
                k = turn[num_seen - 1]
                places.change(k, self._moved(places.at(k), window, allocator))
        places.sort()

    def _in_turn(self) -> list[int]:
        """Return the rows of the reservations in order of arrival, or in the order of the queue."""
        numbers = self._places.numbers
        rows = sorted(range(len(numbers)), key=numbers.__getitem__)
        if self.compression == "arrival":
            return rows
        jobs = [self._places.at(k).job for k in rows]
        row_of = {job.id: k for k, job in zip(rows, jobs, strict=True)}
        return [row_of[job.id] for job in ordered(jobs, self._keys.of)]

    def _moved(self, place: _Place, earlier: float, allocator: Allocator) -> _Place:
        """Move a reservation to the first instant, from an earlier one on, that the others leave; return its place."""
        timeline = self._timeline
        start, number, seconds, counts, least_time, job = place
        is_same = allocator.choose(job, timeline.free(earlier)) == counts
        if is_same and all(map(le, counts, timeline.free(earlier, min(start, earlier + seconds)))):
            found = _Place(earlier, number, seconds, counts, least_time, job)
            timeline.give_back(start, place.end, counts)
        else:
            timeline.give_back(start, place.end, counts)
            span = earliest(timeline, job, least_time, allocator, since=earlier, before=start)
            found = place if span is None else _Place(span.start, number, span.seconds, span.counts, least_time, job)
        timeline.take(found.start, found.end, found.counts)
        return found

    def _due(self, state: State) -> list[Start | Wake]:
        """Return the jobs whose reservations have come and whose processors are free, as they are."""
        free, late = state.room, []
        due: list[Start | Wake] = []
        while self._places and self._places.starts[0] <= state.now:
            place = self._places.pop(0)
            if all(map(le, place.counts, free)):
                free = less(free, place.counts)
                due.append(Start(place.job.id, place.counts))
                self._ends[place.job.id], self._held[place.job.id] = place.end, place.counts
            else:
                late.append(place)
        for place in late:
            self._places.add(place)
        return due
