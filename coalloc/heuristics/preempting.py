"""Passes of EASY in which jobs of larger weight stop others. Definition: docs/simulation.md#preemption."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add, or_, sub

from coalloc.heuristics.gap import Gap, releases
from coalloc.instance import Job
from coalloc.problem.allocation import Allocation
from coalloc.rules.allocation_rules import Allocator
from coalloc.rules.queues import Places, WaitingJobs
from coalloc.rules.reservations import Release, Reserve
from coalloc.simulator.policy import Preempt, Running, Start, State
from coalloc.simulator.processors import Processors, preferred_of


class Preemption:
    """One pass: its ``decisions`` so far, and what they leave free."""

    def __init__(self, state: State, allocator: Allocator, members: Sequence[Processors], *, suspends: bool) -> None:
        self._state, self._allocator, self._members, self._suspends = state, allocator, members, suspends
        self._free, self._tail = state.free_processors, state.room[len(state.classes) :]
        self._running, self._suspended = [*state.running], [*state.suspended]
        self._new: list[tuple[Release, Processors]] = []
        """The jobs that start or resume in this pass: their expected ends, and their processors."""
        self.decisions: list[Start | Preempt] = []

    def start(self, jobs: Sequence[Job]) -> int:
        """Start the first of some jobs, by weight, and resume suspended ones of their weights; return how many start.

        Behind the first that does not fit all suspended jobs resume that can.
        """
        for number, job in enumerate(jobs):
            self._resume(job.weight)
            counts = self._allocator.choose(job, self._room(job.weight))
            if counts is None:
                counts = self._make_room(job)
            if counts is None:
                self._resume(-math.inf)
                return number
            self._begin(job, counts, job.weight)
        self._resume(-math.inf)
        return len(jobs)

    def gap(self, head: Job, reserve: Reserve) -> Gap:
        """Return what others may take beside the reservation of the first job that does not fit."""
        state, lent = self._state, self._lent(head.weight)
        running = [(run._replace(taken=self._without(run.taken, run.processors & lent))) for run in self._running]
        started = [(end, self._without(taken, processors & lent)) for (end, taken), processors in self._new]
        ends = [*releases(running, state.now, started), *self._last_end(running, started, lent)]
        kept = reserve(head, self._room(head.weight), ends, self._allocator.choose)
        return Gap(head, self._room(-math.inf), kept, self._allocator, state)

    def fill(self, gap: Gap, waiting: WaitingJobs, candidates: Places) -> list[int]:
        """Start those of some jobs, by place, that fill a gap; return their places."""
        passing: list[int] = []
        for place in waiting.passing(candidates, gap, self._state.now):
            job = waiting.jobs[place]
            counts = gap.admit(job, self._state.now)
            if counts is not None:
                passing.append(place)
                self._begin(job, counts, -math.inf)
        return passing

    def _lent(self, weight: float) -> Processors:
        """Return the processors of the suspended jobs of at least a weight."""
        return reduce(or_, (run.processors for run in self._suspended if run.job.weight >= weight), 0)

    def _room(self, weight: float, stopped: Sequence[Running] = ()) -> Allocation:
        """Return the room for a job of a weight, were some others stopped."""
        free, tail = reduce(or_, (run.processors for run in stopped), self._free), self._tail
        if tail and not self._suspends:
            num_classes = len(self._members)
            tail = tuple(map(sum, zip(tail, *(run.taken[num_classes:] for run in stopped), strict=True)))
        return (*self._state.counts_of(free & ~self._lent(weight)), *tail)

    def _last_end(self, running: Sequence[Running], started: Sequence[Release], lent: Processors) -> Iterator[Release]:
        """Yield when at the latest the suspended jobs have ended, as if one after another behind all others.

        Then their processors, and the memory and resources that they keep, are free.
        """
        if self._suspended:
            last = max([self._state.now, *(run.estimated_end for run in running), *(end for end, _ in started)])
            left = sum(max(0.0, run.estimated_end - run.start) for run in self._suspended)
            kept = zip(*(run.taken[len(self._members) :] for run in self._suspended), strict=True)
            yield last + left, (*self._state.counts_of(lent), *map(sum, kept))

    def _without(self, taken: Allocation, processors: Processors) -> Allocation:
        """Return what a job takes of the room besides some of its processors."""
        lost = self._state.counts_of(processors) if processors else ()
        return (*map(sub, taken, lost), *taken[len(lost) :])

    def _begin(self, job: Job, counts: Allocation, weight: float) -> None:
        """Start a job where jobs of a weight may, on processors of no suspended job as far as there are enough."""
        state, lent, processors = self._state, self._lent(weight), 0
        unused = ~self._lent(-math.inf)
        for count, members in zip(counts, self._members, strict=False):
            free = self._free & members & ~lent
            processors |= preferred_of(free, count, unused) if count else 0
        nodes = state.names(processors) if self._suspended else ()
        self.decisions.append(Start(job.id, () if nodes else counts, nodes))
        taken = state.taken(job, counts)
        self._take(processors, state.now + self._allocator.time(job, counts), taken)
        self._tail = tuple(map(sub, self._tail, taken[len(self._members) :]))

    def _take(self, processors: Processors, end: float, taken: Allocation) -> None:
        self._free ^= processors
        self._new.append(((end, taken), processors))

    def _resume(self, weight: float) -> None:
        """Resume the suspended jobs of at least a weight whose processors are free: larger weights first.

        None takes a processor of a suspended job of larger weight, which could not stop it.
        """
        now = self._state.now
        for run in sorted(self._state.suspended, key=lambda run: -run.job.weight) if self._suspended else ():
            if run not in self._suspended or run.job.weight < weight:
                continue
            larger = reduce(
                or_, (other.processors for other in self._suspended if other.job.weight > run.job.weight), 0
            )
            if not run.processors & (~self._free | larger):
                self._suspended.remove(run)
                self.decisions.append(Start(run.job.id))
                self._take(run.processors, now + run.estimated_end - run.start, run.taken)

    def _make_room(self, job: Job) -> Allocation | None:
        """Stop jobs of smaller weight for one, and return where it starts; stop none where it does not fit even so.

        Those of the smallest weight come first, of these the one that started last, until the job fits; then each
        goes on without which the job fits, too.
        """
        choose, state = self._allocator.choose, self._state
        smaller = [run for run in self._running if run.job.weight < job.weight and run.start < state.now]
        smaller = [run for run in smaller if run.job.id not in state.given]
        found: list[Running] = []
        for run in sorted(smaller, key=lambda run: (run.job.weight, -run.start)):
            found.append(run)
            if choose(job, self._room(job.weight, found)) is not None:
                break
        else:
            return None
        for run in [*found]:
            others = [other for other in found if other is not run]
            if choose(job, self._room(job.weight, others)) is not None:
                found = others
        counts = choose(job, self._room(job.weight, found))
        for run in found:
            self._stop(run)
        return counts

    def _stop(self, run: Running) -> None:
        """Stop a running job."""
        self._running.remove(run)
        self._free |= run.processors
        self.decisions.append(Preempt(run.job.id, suspend=self._suspends))
        if self._suspends:
            self._suspended.append(run._replace(start=self._state.now))
        else:
            self._tail = tuple(map(add, self._tail, run.taken[len(self._members) :]))
