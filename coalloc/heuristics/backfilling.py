"""EASY backfilling: jobs start out of order where that does not delay the first that waits."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

from coalloc.heuristics.classics import less
from coalloc.heuristics.gap import Gap, releases
from coalloc.heuristics.over_time import Filling, ShapeFilling
from coalloc.heuristics.preempting import Preemption
from coalloc.instance import Job
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import Allocator, RuleName
from coalloc.rules.orders import ByWeight, Keys, Order, is_fixed, ordered
from coalloc.rules.queues import Places, QueueRules, WaitingJobs, waiting_jobs
from coalloc.rules.reservations import Reserve, reservation, reservation_in_pool
from coalloc.rules.shapes import ShapeChoice
from coalloc.simulator.policy import INTERRUPTED, Preempt, Start, State
from coalloc.simulator.processors import Processors, processors_of

CandidateOrder = Literal["queue"] | Order
"""The order of the jobs that may pass the first that waits: that of the queue, or another."""


@dataclass(slots=True)
class Easy:
    """EASY backfilling: fill gaps without delaying the first waiting job.

    1. Jobs start in the order of the queue up to the first that does not fit, the head.
    2. The head gets a reservation. The estimated ends of the running jobs (those that start now included; overdue ones:
       now) are visited in order, all processors of one time together, until the rule gives the head an allocation on
       what is free then. That time is the reservation; what the allocation leaves free is extra.
    3. Each later job, in the order of ``candidates``, starts now if the rule gives it an allocation on the free
       processors that is within the extra ones, or if its estimated end is at most the reservation. Where neither
       holds, the rule is applied again to processors both free and extra. A job that starts reduces the extra
       processors by its allocation, unless the estimated end on the first allocation is at most the reservation.

    No reservation is kept from one pass to the next. On one cluster of equal nodes this is the EASY of the literature;
    ``candidates="spt"`` is its shortest job backfilled first (SJBF). Sources: Mu'alem and Feitelson, IEEE TPDS 12(6),
    2001, section 2.2; SJBF: Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007.

    *Example.* Three processors; A has two until 100 s. B (3 processors, 50 s) arrives at 5 s, C (1 processor, 150 s) at
    6 s, D (1 processor, 90 s) at 7 s. The reservation of B is at 100 s, without extra processors. C would end at 156 s
    and waits; D ends at 97 s and starts. B starts at 100 s, C at 150 s.

    Parameters
    ----------
    queue_order
        Order of the queue.
    candidates
        Order in which jobs are tried that may pass the head.
    allocation
        Allocation rule.
    scope
        Where the tasks of one job may be.
    shapes
        Mode of a moldable job: its first, or the one that ends first by the estimates.
    preempt
        Whether jobs of larger ``weight`` come first, and stop running jobs of smaller weight, which start anew or are
        suspended (docs/simulation.md#preemption).
    """

    supported_features: ClassVar[frozenset[str]] = INTERRUPTED
    queue_order: Order = "fcfs"
    candidates: CandidateOrder = "queue"
    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"
    shapes: ShapeChoice = "first"
    preempt: Literal["none", "requeue", "suspend"] = "none"
    _run: object = field(init=False, default=None)
    _has_closings: bool = field(init=False, default=False)
    _is_moldable: bool = field(init=False, default=False)
    _allocator: Allocator = field(init=False)
    _waiting: WaitingJobs = field(init=False)
    _order: Order = field(init=False, default="fcfs")
    """The order of the queue, with weights where they count."""
    _turns: Keys | None = field(init=False)
    """The order in which others are tried than the first that waits; None is that of the queue."""
    _reserve: Reserve = field(init=False)
    _members: Sequence[Processors] = field(init=False)
    """The processors of each class."""
    _gap: Gap | None = field(init=False, default=None)
    """Gap that the last pass left, in which no job that waited then fits."""

    @property
    def chooses_shapes(self) -> bool:
        """Whether jobs come to it in all their shapes."""
        return self.shapes == "ends-first"

    @property
    def preempts(self) -> bool:
        """Whether it stops jobs for others."""
        return self.preempt != "none"

    @property
    def suspends(self) -> bool:
        """Whether these are suspended."""
        return self.preempt == "suspend"

    @property
    def queue_rules(self) -> QueueRules | None:
        """Rules that decide as it does; None where it preempts, or the order of two jobs changes while they wait."""
        candidates = None if self.candidates == "queue" else self.candidates
        if self.preempts or not is_fixed(self.queue_order) or not (candidates is None or is_fixed(candidates)):
            return None
        return QueueRules(self.queue_order, "easy", candidates, self.allocation)

    def begin(self, state: State) -> None:
        """Forget the run before."""
        self._run, self._gap, self._has_closings = state.run, None, state.has_closings
        self._is_moldable = state.is_moldable
        self._allocator = state.allocator(self.allocation)
        self._members = [processors_of(node_class.processors) for node_class in state.classes] if self.preempts else []
        is_pool = len(state.room) == 1 and not state.is_restricted
        self._reserve = reservation_in_pool if is_pool else reservation
        self._order = ByWeight(self.queue_order) if self.preempts else self.queue_order
        self._waiting = waiting_jobs(self._order, self._allocator.least_time)
        self._turns = None if self.candidates == "queue" else Keys(self.candidates)

    def left(self, _: State, __: Job) -> None:
        """Take the queue in anew."""
        self._waiting.clear()
        self._gap = None

    def copy(self) -> Self:
        """Return a policy of its own with the same orders."""
        twin = copy(self)
        if self._run is not None:
            twin._waiting, twin._turns, twin._gap = self._waiting.copied(), copy(self._turns), None
        return twin

    def decide(self, state: State) -> Sequence[Start | Preempt]:
        """Return the jobs that start now: from the head, then those that do not delay the first that waits."""
        if state.run is not self._run:
            self.begin(state)
        if self._has_closings or self._is_moldable:
            return self._over_time(state)
        waiting, choose, free = self._waiting, self._allocator.choose, state.room
        waiting.update(state)
        if self.preempts:
            return self._preempting(state)
        starts: list[Start] = []
        passing: list[int] = []
        for job in waiting.jobs:
            counts = choose(job, free)
            if counts is None:
                room = sum(free[: len(state.classes)])
                if room:
                    passing = self._pass_head(starts, free, room, state)
                break
            starts.append(Start(job.id, counts))
            free = less(free, counts)
        if starts:
            waiting.leave(len(starts) - len(passing), passing)
        return starts

    def _preempting(self, state: State) -> Sequence[Start | Preempt]:
        """Return the jobs that start or resume now, and those that stop for them."""
        waiting, turns = self._waiting, self._turns
        answer = Preemption(state, self._allocator, self._members, suspends=self.suspends)
        num_first = answer.start(waiting.jobs)
        passing: list[int] = []
        if num_first < len(waiting.jobs):
            gap = answer.gap(waiting.jobs[num_first], self._reserve)
            candidates = waiting.small(gap.room, num_first + 1)
            if turns is not None and len(candidates):
                candidates = self._in_turn(candidates, turns, state)
            passing = answer.fill(gap, waiting, candidates)
        waiting.leave(num_first, passing)
        return answer.decisions

    def _pass_head(self, starts: list[Start], free: Allocation, room: int, state: State) -> list[int]:
        """Add starts of jobs behind the first that waits, which do not delay it; return their places."""
        waiting, head, gap = self._waiting, len(starts), self._gap
        jobs = waiting.jobs
        if gap is not None and not (self._order == "fcfs" and gap.is_as_it_was(jobs[head], free, state)):
            gap = self._gap = None
        candidates = waiting.small(room, head + 1 if gap is None else gap.num_tried)
        if not len(candidates):
            return []
        now = state.now
        if gap is None:
            started = [(jobs[k], s) for k, s in enumerate(starts)]
            gap = self._gap = self._gap_before(jobs[head], started, free, state)
        if self._turns is not None:
            candidates = self._in_turn(candidates, self._turns, state)
        passing: list[int] = []
        for place in waiting.passing(candidates, gap, now):
            counts = gap.admit(jobs[place], now)
            if counts is not None:
                passing.append(place)
                starts.append(Start(jobs[place].id, counts))
        gap.num_tried = len(jobs) - len(starts)
        return passing

    def _in_turn(self, places: Places, turns: Keys, state: State) -> Places:
        """Return the places of jobs in an order of their own; ties are as the jobs arrived, whatever their places."""
        jobs = self._waiting.jobs
        place_of = {jobs[place].id: int(place) for place in places}
        queued = [jobs[k] for k in places]
        if self._order != "fcfs":
            queued = [job for job in state.queue if job.id in place_of]
        return [place_of[job.id] for job in ordered(queued, turns.at(state))]

    def _over_time(self, state: State) -> list[Start]:
        """Return the jobs that start now, and end by their estimates before what they run on is not there.

        The first that does not fit has a reservation as early as it fits until its estimated end; those behind it start
        where they fit beside that.
        """
        make = ShapeFilling if self._is_moldable else Filling
        waiting, filling = self._waiting, make(state, self._allocator)
        waiting.update(state)

        def behind(num_first: int) -> Places:
            candidates = self._behind(num_first, filling.room)
            if len(candidates):
                filling.reserve(waiting.jobs[num_first])
                if self._turns is not None:
                    candidates = self._in_turn(candidates, self._turns, state)
            return candidates

        return filling.starts(waiting, behind)

    def _behind(self, num_first: int, room: int) -> Places:
        """Return the places of jobs behind the first that waits which are small enough, in one shape or another."""
        if room <= 0:
            return []
        if self._is_moldable:
            return [*range(num_first + 1, len(self._waiting.jobs))]
        return self._waiting.small(room, num_first + 1)

    def _gap_before(self, head: Job, starts: Sequence[tuple[Job, Start]], free: Allocation, state: State) -> Gap:
        """Return what is free beside the reservation of the first job that waits, where others start now."""
        time, now = self._allocator.time, state.now
        started = [(now + time(job, start.counts), tuple(start.counts)) for job, start in starts]
        kept = self._reserve(head, free, releases(state.running, now, started), self._allocator.choose)
        return Gap(head, free, kept, self._allocator, state)
