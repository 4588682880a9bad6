"""MESD (Minimum Execution Slowdown): a batch of jobs is planned, then started as planned.

The whole queue is planned at once; jobs that arrive wait until every job of the batch has started. A lone
job that does not fit is not planned: when processors become free the whole queue is. Planning takes the
estimated ends of the jobs that run; those overdue are expected now. Where no job fits, it goes on at the
next instant at which one ends. Source: thesis, section 3.3, Algorithm 2; errata 14 to 18.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import ClassVar

from coalloc.allocation import Allocation, Scope
from coalloc.heuristics.plans import Planned, Turns
from coalloc.instance import CoallocError, Job
from coalloc.instance.rounding import time_tolerance
from coalloc.rules.mesd import AskedChoice, Choice, Slowdown, by_named_times, mesd_allocation, where_usable
from coalloc.simulator.policy import Start, State
from coalloc.simulator.processors import Processors, lowest_of, processors_of

Release = tuple[float, Processors]
"""When processors become free (s), and which."""


@dataclass(slots=True)
class Mesd:
    """MESD; each of its ideas can be left out.

    ``slowdown`` is what the choice goes by: the ``"difference"`` to the execution time on the empty
    platform, or the ``"ratio"``. Without ``second_step`` jobs keep the fastest free processors.
    """

    slowdown: Slowdown = "difference"
    second_step: bool = True
    scope: ClassVar[Scope] = "platform"
    _plan: Turns = field(init=False, default_factory=Turns)
    _too_few: Processors | None = field(init=False, default=None)
    """The processors that were free when a lone job did not fit."""

    def begin(self, state: State) -> None:
        """Forget the plan of an earlier run; raises where the cores of a node may share too little memory."""
        if len(state.room) > len(state.classes):
            raise CoallocError(
                "policy mesd does not keep to the memory that the cores of a node share, of which there may be too "
                "little here"
            )
        self._plan, self._too_few = Turns(), None

    def decide(self, state: State) -> list[Start]:
        """Return the jobs of the batch that can start; once all have, plan the queue and go on."""
        free = state.free_processors
        started: list[Planned] = []
        while True:
            if not self._plan:
                begun = {planned.job_id for planned in started}
                queue = [job for job in state.queue if job.id not in begun]
                if not queue or not self._can_plan(state, queue, free):
                    break
                self._plan = Turns(self._planned(state, queue, free, started))
            now = self._plan.due(free)
            for planned in now:
                free &= ~planned.processors
            started += now
            if self._plan:
                break
        return [planned.start(state) for planned in started]

    def _can_plan(self, state: State, queue: Sequence[Job], free: Processors) -> bool:
        """Return whether the queue may be planned: a lone job only where it fits, and after that with what comes."""
        if free == self._too_few:
            return False
        is_lone = len(queue) == 1 and queue[0].tasks > _most_tasks(state, queue[0], free)
        self._too_few = free if is_lone else None
        return not is_lone

    def _planned(
        self, state: State, queue: Sequence[Job], free: Processors, started: Sequence[Planned]
    ) -> Iterator[Planned]:
        """Yield the plan of a queue, in the order in which jobs are chosen."""
        members = [processors_of(node_class.processors) for node_class in state.classes]
        choose, time = mesd_allocation(state.classes, self.second_step), state.allocator("fastest-first").time
        choice: Choice | AskedChoice = Choice(queue, state.classes, self.slowdown)
        if state.is_timed:
            choose = by_named_times(choose, state.classes, self.second_step)
        if state.is_restricted:
            choose = where_usable(choose, state.usable)
        if state.is_timed or state.is_restricted:
            capacities = [node_class.capacity for node_class in state.classes]
            choice = AskedChoice(queue, choose, time, capacities, self.slowdown)
        now, releases = state.now, _releases(state, started)
        for _ in queue:
            while (chosen := choice.next(_counts(free, members))) is None:
                now, released = _next_release(releases)
                free |= released
            job = queue[chosen]
            allocation = choose(job, _counts(free, members))
            assert allocation is not None, "only a job that fits is chosen"
            seconds = time(job, allocation)
            planned = Planned(job.id, _lowest(free, members, allocation), seconds)
            free &= ~planned.processors
            heapq.heappush(releases, (now + seconds, planned.processors))
            yield planned


def _most_tasks(state: State, job: Job, free: Processors) -> int:
    """Return how many tasks of a job free processors can take."""
    if not state.is_restricted:
        return free.bit_count()
    return sum(state.usable(job, _counts(free, [processors_of(c.processors) for c in state.classes])))


def _counts(processors: Processors, members: Sequence[Processors]) -> list[int]:
    """Return how many processors of a set are in each class."""
    return [(processors & of_class).bit_count() for of_class in members]


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


def _next_release(releases: list[Release]) -> Release:
    """Take all that is released at the next instant off a heap."""
    instant, released = heapq.heappop(releases)
    limit = instant + time_tolerance(instant)
    while releases and releases[0][0] <= limit:
        instant, processors = heapq.heappop(releases)
        released |= processors
    return instant, released
