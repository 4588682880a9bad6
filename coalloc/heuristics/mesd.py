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
from coalloc.rules.mesd import Choice, Slowdown, mesd_allocation
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
        """Forget the plan of an earlier run; raises where nodes may have too little memory."""
        if state.lacks_memory:
            raise CoallocError(
                "policy mesd does not keep to the memory of nodes, of which there may be too little here"
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
                if not queue or not self._can_plan(queue, free):
                    break
                self._plan = Turns(self._planned(state, queue, free, started))
            now = self._plan.due(free)
            for planned in now:
                free &= ~planned.processors
            started += now
            if self._plan:
                break
        return [planned.start(state) for planned in started]

    def _can_plan(self, queue: Sequence[Job], free: Processors) -> bool:
        """Return whether the queue may be planned: a lone job only where it fits, and after that with what comes."""
        if free == self._too_few:
            return False
        is_lone = len(queue) == 1 and queue[0].tasks > free.bit_count()
        self._too_few = free if is_lone else None
        return not is_lone

    def _planned(
        self, state: State, queue: Sequence[Job], free: Processors, started: Sequence[Planned]
    ) -> Iterator[Planned]:
        """Yield the plan of a queue, in the order in which jobs are chosen."""
        members = [processors_of(node_class.processors) for node_class in state.classes]
        choice = Choice(queue, state.classes, self.slowdown)
        choose = mesd_allocation(state.classes, self.second_step)
        time = state.allocator("fastest-first").time
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
