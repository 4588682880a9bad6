"""Parallel schedule generation, the slow way: what growth in the engine is compared with, to the last digit."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add, sub

from coalloc.problem import Assignment, Problem
from coalloc.rules.profile import SUBTRACTION_NOISE
from coalloc.rules.serial_sgs import Generation


@dataclass(frozen=True, slots=True)
class Plan:
    """One of :class:`coalloc.solvers.search.growth.GrowthPlans`."""

    order: tuple[int, ...]
    threshold: float
    relaxed: float
    latest: float
    rule: int


class ParallelGeneration:
    """Parallel generation for one problem; ``efficiencies`` are those of each job's levels, at most 1."""

    def __init__(self, generation: Generation, efficiencies: Sequence[Sequence[float]]) -> None:
        self.problem = generation.problem
        self._generation = generation
        self._tasks = [min([level.tasks for level in levels]) for levels in self.problem.levels]
        self._ranked = [
            [(e, number, levels[number]) for e, number in sorted((-e, number) for number, e in enumerate(of_job))]
            for of_job, levels in zip(efficiencies, self.problem.levels, strict=True)
        ]

    def extend(
        self, partial: PartialSchedule, plan: Plan, *, until: float = math.inf, before: float = math.inf
    ) -> bool:
        """Go on with a schedule by a plan until every job has started, or the next event is at ``until`` or later.

        Return False where it cannot end before ``before`` (ticks) or a job finds no place.
        """
        place = {j: i for i, j in enumerate(plan.order)}
        partial.waiting.sort(key=place.__getitem__)
        is_relaxed = False
        while partial.waiting and partial.now < until:
            started = self._start(partial, plan, is_relaxed)
            if any(a.end >= before for a in started):
                return False
            if partial.waiting and not partial.advance():
                if is_relaxed and not started:
                    return False
                is_relaxed = True
        return True

    def _start(self, partial: PartialSchedule, plan: Plan, is_relaxed: bool) -> list[Assignment]:
        """Start every waiting job that fits now; return how."""
        threshold = 0.0 if is_relaxed or partial.now >= plan.relaxed else plan.threshold
        latest = math.inf if is_relaxed else plan.latest
        releases, now, room = self.problem.releases, partial.now, sum(partial.free)
        started: list[Assignment] = []
        for j in [j for j in partial.waiting if self._tasks[j] <= room and releases[j] <= now]:
            if self._tasks[j] <= room:
                found = self._startable(partial, j, threshold, latest, plan.rule)
                if found is not None:
                    partial.start(found)
                    room -= sum(found.mode.allocation)
                    started.append(found)
        running = {a.job for a in started}
        partial.waiting = [j for j in partial.waiting if j not in running]
        return started

    def _startable(
        self, partial: PartialSchedule, j: int, threshold: float, latest: float, rule: int
    ) -> Assignment | None:
        """Return the start of a job now at its most efficient level that fits, if that is efficient enough."""
        now, free = partial.now, partial.free
        for waste, number, level in self._ranked[j]:
            if -waste < threshold:
                return None
            is_late = number > 0 and now + level.duration > latest
            if is_late or sum([free[g] for g in level.classes]) < level.tasks:
                continue
            allocation = self._generation.filling(j, level, rule, free, partial.left)
            if allocation is not None:
                return Assignment(j, now, self._generation.mode(j, allocation))
        return None


class PartialSchedule:
    """The jobs started so far, those that wait, what is free at one instant, and what will end when.

    ``free`` are processors per class, ``left`` is what is left of each contended resource.
    """

    def __init__(self, problem: Problem) -> None:
        self.now = min(problem.releases, default=0.0)
        self.assignments: list[Assignment] = []
        self.waiting = list(range(len(problem.jobs)))
        self._releases = sorted(set(problem.releases), reverse=True)
        self._contended = problem.contended_resources
        self._limits = [problem.allocations.limits[k] for k in self._contended]
        self._loads = [0.0] * len(self._contended)
        self.free = list(problem.capacities)
        self._ends: list[tuple[float, int, Sequence[int], Sequence[float]]] = []
        self._num_held = 0
        for busy in problem.busy:
            if busy.end > self.now:
                self._hold(busy.end, busy.allocation, [busy.loads[k] for k in self._contended])
        self._set_left()

    def copy(self) -> PartialSchedule:
        """Return a schedule of its own that has come as far."""
        twin = PartialSchedule.__new__(PartialSchedule)
        twin.now, twin.free, twin.left = self.now, self.free, self.left
        twin.assignments, twin.waiting = self.assignments.copy(), self.waiting.copy()
        twin._releases, twin._ends = self._releases.copy(), self._ends.copy()
        twin._contended, twin._limits, twin._loads = self._contended, self._limits, self._loads
        twin._num_held = self._num_held
        return twin

    def start(self, assignment: Assignment) -> None:
        """Hold what an assignment uses until its end."""
        mode = assignment.mode
        self.assignments.append(assignment)
        self._hold(assignment.end, mode.allocation, [mode.loads[k] for k in self._contended])
        self._set_left()

    def _hold(self, end: float, allocation: Sequence[int], loads: Sequence[float]) -> None:
        self.free = list(map(sub, self.free, allocation))
        self._loads = list(map(add, self._loads, loads))
        heapq.heappush(self._ends, (end, self._num_held, allocation, loads))  # at one instant, in order of their starts
        self._num_held += 1

    def _set_left(self) -> None:
        pairs = zip(self._limits, self._loads, strict=True)
        self.left = [max(0.0, limit - load) + SUBTRACTION_NOISE * max(1.0, limit) for limit, load in pairs]

    def advance(self) -> bool:
        """Go to the next instant at which something ends or arrives; return whether there is one."""
        while self._releases and self._releases[-1] <= self.now:
            self._releases.pop()
        if not (self._ends or self._releases):
            return False
        self.now = min([*self._releases[-1:], *(end for end, *_ in self._ends[:1])])
        while self._ends and self._ends[0][0] <= self.now:
            _, _, allocation, loads = heapq.heappop(self._ends)
            self.free = list(map(add, self.free, allocation))
            self._loads = list(map(sub, self._loads, loads))
        self._set_left()
        return True
