"""MESD (Minimum Execution Slowdown): a batch of jobs is planned, then started as planned."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import reduce
from operator import gt, or_, sub
from typing import ClassVar, Self

from coalloc.heuristics.over_time import Admission, counts_of, timeline_of
from coalloc.heuristics.plans import Admits, Planned, Turns, always
from coalloc.instance import CoallocError, Job
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import Allocator, Choose, filling_order
from coalloc.rules.mesd import AskedChoice, Choice, Slowdown, by_named_times, mesd_allocation, where_usable
from coalloc.rules.shapes import ShapeChoice, first_to_end_from, in_best_shape
from coalloc.rules.timeline import Timeline
from coalloc.simulator.policy import Start, State
from coalloc.simulator.processors import Processors, lowest_of, processors_of

Release = tuple[float, Processors]
"""Times at which processors become free (s), and the processors."""


@dataclass(slots=True)
class Mesd:
    r"""Minimum execution slowdown: batches of jobs, next the job with the least slowdown.

    MESD plans a whole batch of jobs: which is next, and on which processors. It ignores links.

    **Allocation of a job** on given free processors (Algorithm 3):

    1. The fastest: classes by speed, equal ones by cluster, filled in this order. Too few processors: no allocation.
    2. ``second_step``: where more than one cluster is used, let $g^*$ be the last class filled. Tasks move to the
       cluster of $g^*$, on free processors of it that are at least as fast as $g^*$, while there are any. They come
       from the classes of other clusters in the order of step 1, so the fastest are emptied first. The slowest
       processor stays the slowest; faster processors and links become free (erratum 17).

    **Choice of the next job** (Algorithm 2). Let $Te_j$ be the execution time on the allocation of step 1 on the free
    processors, $Te^0_j$ that on the whole platform. The next job is the one with the least $Te_j - Te^0_j$
    (``slowdown="difference"``, erratum 16) or $Te_j/Te^0_j$ (``"ratio"``) among those that fit; of those within
    $10^{-9}$ of it (or $10^{-12}$ of its size) the one that arrived first.

    **Plan of a batch** $Q$ at time $t$:

    ```
    free   <- free processors at t
    events <- (max(t, estimated end), processors) of every running job
    while Q is not empty:
        if no job of Q fits free:
            t <- earliest time of events;  move the processors of all its events to free
        else:
            j <- next job;  give it the processors with the lowest numbers of each class of its allocation
            plan j on them from t;  take them from free;  add (t + Te_j, processors) to events;  Q <- Q - j
    ```

    The thesis releases "the job that ends first"; jobs that end at one time are released together here.

    **Batch rule** (erratum 18). The whole queue is one batch. While a job of the batch has not started, nothing is
    planned and arriving jobs wait. Jobs start as their plan is executed, links aside. Once the last has started, the
    jobs that wait by then are planned, in the same pass. Exception: a queue of one job that does not fit the free
    processors is not planned. When processors or amounts of a resource next become free, the whole queue is, with what
    has arrived by then. Jobs that start at the same time hold theirs already.

    Source: thesis, section 3.3; errata 14 to 18.

    Parameters
    ----------
    slowdown
        Comparison with the execution time on the empty platform: seconds more, or times as long.
    second_step
        Whether tasks move to the slowest cluster used.
    shapes
        Mode of a moldable job: its first, or the one that runs shortest where the job goes.

    Examples
    --------
    *Example* of the thesis (section 3.3.4, Table 3.4; erratum 15): one cluster with nodes of speed 0.75, 0.75, 0.5,
    0.25 and 0.15, and four jobs at 0 s.

    | job | tasks | $p'_j$, s | $\sigma_j$ | $Te^0_j$, s | on the nodes that J1 leaves, s | slowdown, s |
    |---|---|---|---|---|---|---|
    | J1 | 2 | 100 | 0.5 | 100 (0.5/0.75 + 0.5) = 116.67 | | 0 |
    | J2 | 3 | 50 | 0.7 | 50 (0.7/0.5 + 0.3) = 85 | 50 (0.7/0.15 + 0.3) = 248.33 | 163.33 |
    | J3 | 2 | 75 | 0.5 | 75 (0.5/0.75 + 0.5) = 87.5 | 75 (0.5/0.25 + 0.5) = 187.5 | 100 |
    | J4 | 2 | 100 | 0.7 | 100 (0.7/0.75 + 0.3) = 123.33 | 100 (0.7/0.25 + 0.3) = 310 | 186.67 |

    On the empty platform all slowdowns are 0, and J1 is the first in the queue. On the nodes that J1 leaves, J3 has the
    least slowdown. At 116.67 s J1 ends. J4 has slowdown 0 on its nodes, J2 163.33 s: J4 starts. J2 needs three nodes,
    and starts when J3 ends, at 187.5 s. It ends at 187.5 + 248.33 = 435.83 s.

    >>> import coalloc
    >>> run = coalloc.simulate(coalloc.example("mesd-example"), "mesd")
    >>> for placement in run.schedule:
    ...     print(placement.job, round(placement.start, 2), round(placement.end, 2))
    J1 0.0 116.67
    J2 187.5 435.83
    J3 0.0 187.5
    J4 116.67 240.0
    """

    slowdown: Slowdown = "difference"
    second_step: bool = True
    shapes: ShapeChoice = "first"
    scope: ClassVar[Scope] = "platform"
    _plan: Turns = field(init=False, default_factory=Turns)
    _left: tuple[Processors, Allocation] | None = field(init=False, default=None)
    """The free processors and the room that the last pass left, while a lone job waits that did not fit."""

    @property
    def chooses_shapes(self) -> bool:
        """Whether jobs come to it in all their shapes."""
        return self.shapes == "ends-first"

    def begin(self, state: State) -> None:
        """Forget the plan of an earlier run; raises where the cores of a node may share too little memory."""
        if state.shares_memory:
            raise CoallocError(
                "policy 'mesd' does not support memory limits on nodes with several cores, and the jobs may exceed them"
            )
        self._plan, self._left = Turns(), None

    def left(self, _: State, job: Job) -> None:
        """Take a job off the plan that leaves the queue."""
        self._plan, self._left = self._plan.without(job.id), None

    def copy(self) -> Self:
        """Return a policy of its own with the same plan."""
        twin = copy(self)
        twin._plan = self._plan.copied()
        return twin

    def decide(self, state: State) -> list[Start]:
        """Return the jobs of the batch that can start; once all have, plan the queue and go on."""
        free, admits = state.free_processors, _admission(state) if _is_over_time(state) else always
        started: list[Planned] = []
        while True:
            if not self._plan:
                begun = {planned.job_id for planned in started}
                queue = [job for job in state.queue if job.id not in begun]
                if not queue or not self._can_plan(state, queue, free, started):
                    break
                make = self._planned_beside_closings if _is_over_time(state) else self._planned
                self._plan = Turns(make(state, queue, free, started))
            now = self._plan.due(free, admits)
            for planned in now:
                free &= ~planned.processors
            started += now
            if self._plan:
                break
        return [planned.start(state) for planned in started]

    def _can_plan(self, state: State, queue: Sequence[Job], free: Processors, started: Sequence[Planned]) -> bool:
        """Return whether the queue may be planned: a lone job only where it fits, and after that once more is free.

        ``free`` processors are left by the jobs that this pass ``started``; the room of the state still counts theirs.
        """
        before, self._left = self._left, (free, _room_beside(state, started))
        if before is not None and not _has_more(self._left, before):
            return False
        if len(queue) == 1 and not self._fits_now(state, queue[0], free, started):
            return False
        self._left = None
        return True

    def _fits_now(self, state: State, job: Job, free: Processors, started: Sequence[Planned]) -> bool:
        """Return whether a job can start on free processors; beside closings it is planned if it fits the room."""
        if not _is_over_time(state):
            return min(shape.tasks for shape in job.in_shapes) <= _most_tasks(state, job, free)
        return first_to_end_from(_timeline_beside(state, started), job, state.now, self._allocator(state)) is not None

    def _rule(self, state: State) -> Choose:
        """Return where a job goes on free processors."""
        choose = mesd_allocation(state.classes, self.second_step)
        if state.is_timed:
            choose = by_named_times(choose, state.classes, self.second_step)
        if not state.is_restricted:
            return choose
        order = filling_order("fastest-first", state.classes, is_timed=state.is_timed)
        return where_usable(choose, state.usable, order)

    def _allocator(self, state: State) -> Allocator:
        """Return the rule for rooms, of which a job may take more than processors."""
        choose, known = self._rule(state), state.allocator("fastest-first")

        def chosen(job: Job, room: Sequence[int]) -> Allocation | None:
            counts = choose(job, room if state.is_restricted else room[: len(state.classes)])
            return None if counts is None else state.taken(job, counts)

        return Allocator(chosen, known.time, known.least_time)

    def _planned_beside_closings(
        self, state: State, queue: Sequence[Job], free: Processors, started: Sequence[Planned]
    ) -> Iterator[Planned]:
        """Yield the plan of a queue: each job is chosen among those that fit until their ends at an instant."""
        members, allocator = [processors_of(c.processors) for c in state.classes], self._allocator(state)
        timeline, start = _timeline_beside(state, started), state.now
        releases = [(max(math.nextafter(state.now, math.inf), r.estimated_end), r.processors) for r in state.running]
        releases += [(state.now + planned.duration, planned.processors) for planned in started]
        heapq.heapify(releases)
        free = reduce(or_, members) & ~reduce(or_, (processors for _, processors in releases), 0)
        best = in_best_shape(allocator, len(members))
        choice = AskedChoice(queue, best.choose, best.time, state.full_room, self.slowdown)

        def choose(job: Job, _: Sequence[int]) -> Allocation | None:
            span = first_to_end_from(timeline, job, start, allocator)
            return None if span is None else span.counts

        for _ in queue:
            while (chosen := choice.next((), choose)) is None:
                start = timeline.changes(math.nextafter(start, math.inf))[0]
                while releases and releases[0][0] <= start:
                    free |= heapq.heappop(releases)[1]
            job = queue[chosen]
            span = first_to_end_from(timeline, job, start, allocator)
            assert span is not None, "only a job that fits is chosen"
            processors = _lowest(free, members, span.counts[: len(members)])
            free &= ~processors
            timeline.take(start, start + span.seconds, span.counts)
            heapq.heappush(releases, (start + span.seconds, processors))
            yield Planned(job.id, processors, span.seconds)

    def _planned(
        self, state: State, queue: Sequence[Job], free: Processors, started: Sequence[Planned]
    ) -> Iterator[Planned]:
        """Yield the plan of a queue, in the order in which jobs are chosen."""
        members = [processors_of(node_class.processors) for node_class in state.classes]
        known = state.allocator("fastest-first")
        rule = in_best_shape(Allocator(self._rule(state), known.time, known.least_time), len(members))
        choose, time = (rule.choose, rule.time) if state.is_moldable else (self._rule(state), known.time)
        choice: Choice | AskedChoice = Choice(queue, state.classes, self.slowdown)
        if state.is_timed or state.is_restricted or state.is_moldable:
            capacities = [node_class.capacity for node_class in state.classes]
            choice = AskedChoice(queue, choose, time, capacities, self.slowdown)
        now, releases = state.now, _releases(state, started)
        for _ in queue:
            while (chosen := choice.next(counts_of(free, members))) is None:
                now, released = _next_release(releases, state.tolerance)
                free |= released
            job = queue[chosen]
            allocation = choose(job, counts_of(free, members))
            assert allocation is not None, "only a job that fits is chosen"
            seconds = time(job, allocation)
            planned = Planned(job.id, _lowest(free, members, allocation), seconds)
            free &= ~planned.processors
            heapq.heappush(releases, (now + seconds, planned.processors))
            yield planned


def _taken_by(state: State, started: Sequence[Planned]) -> list[Allocation]:
    """Return what of the room each job takes that starts in this pass."""
    members, jobs = [processors_of(c.processors) for c in state.classes], {job.id: job for job in state.queue}
    return [state.taken(jobs[one.job_id], counts_of(one.processors, members)) for one in started]


def _room_beside(state: State, started: Sequence[Planned]) -> Allocation:
    """Return the room that the jobs leave that start in this pass."""
    room = state.room
    for taken in _taken_by(state, started):
        room = tuple(map(sub, room, taken))
    return room


def _timeline_beside(state: State, started: Sequence[Planned]) -> Timeline[int]:
    """Return what is free from now on by the estimates, beside the jobs that start in this pass."""
    timeline = timeline_of(state)
    for planned, taken in zip(started, _taken_by(state, started), strict=True):
        timeline.take(state.now, state.now + planned.duration, taken)
    return timeline


def _has_more(left: tuple[Processors, Allocation], before: tuple[Processors, Allocation]) -> bool:
    """Return whether a processor has become free, or more of something that jobs take."""
    return bool(left[0] & ~before[0]) or any(map(gt, left[1], before[1]))


def _is_over_time(state: State) -> bool:
    """Return whether what fits depends on more than processors that become free: on closings, pools or resources."""
    return state.has_closings or state.has_stocks or state.has_pools


def _admission(state: State) -> Admits:
    """Return whether planned jobs may start now, asked one after the other, beside what is not there at times."""
    jobs, admission = {job.id: job for job in state.queue}, Admission(state)
    return lambda planned: admission.admits(jobs[planned.job_id], planned.processors, planned.duration)


def _most_tasks(state: State, job: Job, free: Processors) -> int:
    """Return how many tasks of a job free processors can take."""
    if not state.is_restricted:
        return free.bit_count()
    return sum(state.usable(job, counts_of(free, [processors_of(c.processors) for c in state.classes])))


def _lowest(free: Processors, members: Sequence[Processors], allocation: Allocation) -> Processors:
    """Return the free processors with the lowest numbers of each class."""
    parts = (lowest_of(free & of_class, n) for of_class, n in zip(members, allocation, strict=True) if n)
    return reduce(or_, parts)


def _releases(state: State, started: Sequence[Planned]) -> list[Release]:
    """Return a heap of when processors become free by the estimates, those of jobs that start now included."""
    releases = [(max(state.now, running.estimated_end), running.processors) for running in state.running]
    releases += [(state.now + planned.duration, planned.processors) for planned in started]
    heapq.heapify(releases)
    return releases


def _next_release(releases: list[Release], tolerance: float) -> Release:
    """Take all that is released at the next time off a heap; times within the tolerance (s) are equal."""
    instant, released = heapq.heappop(releases)
    limit = instant + tolerance
    while releases and releases[0][0] <= limit:
        instant, processors = heapq.heappop(releases)
        released |= processors
    return instant, released
