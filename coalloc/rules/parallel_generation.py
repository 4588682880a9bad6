"""Parallel schedule generation: at every instant at which something ends or arrives, start what fits.

The jobs are tried in order of a plan, each at its most efficient level first. How efficient a level is
comes from outside, such as from the prices of a bound: the time and the processors that it takes, priced,
against the least that the job can cost. A level below the plan's threshold has to wait, so that fast
processors are left to the jobs that gain by them. Serial and parallel generation: R. Kolisch, "Serial and
parallel resource-constrained project scheduling methods revisited", EJOR 90 (1996).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from coalloc.problem import Assignment, Problem
from coalloc.rules.generation import Generation
from coalloc.rules.profile import SUBTRACTION_NOISE


@dataclass(frozen=True, slots=True)
class Plan:
    """What parallel generation goes by.

    Attributes
    ----------
    order
        The jobs (indices), the most urgent first.
    threshold
        Least efficiency at which a job starts, until ``relaxed``.
    relaxed
        Instant, ticks, from which on every level will do.
    latest
        End, ticks, that no level but the fastest may exceed.
    rule
        How classes are filled, an index of :data:`coalloc.rules.generation.FILLING_RULES`.
    """

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
        self._ranked = [sorted(((-e, level) for level, e in enumerate(of_job))) for of_job in efficiencies]

    def schedule(self, plan: Plan, before: float = math.inf) -> list[Assignment] | None:
        """Return the schedule of a plan; None where it cannot end before ``before`` (ticks) or a job finds no place."""
        state = _State(self.problem)
        waiting, assignments = list(plan.order), list[Assignment]()
        is_relaxed = False
        while waiting:
            started = list(self._started(state, waiting, plan, is_relaxed))
            if any(a.end >= before for a in started):
                return None
            assignments += started
            running = {a.job for a in started}
            waiting = [j for j in waiting if j not in running]
            if waiting and not state.advance(self.problem.releases[j] for j in waiting):
                if is_relaxed and not started:
                    return None
                is_relaxed = True
        return assignments

    def _started(self, state: _State, waiting: Sequence[int], plan: Plan, is_relaxed: bool) -> Iterator[Assignment]:
        """Yield and start every waiting job that fits now."""
        threshold = 0.0 if is_relaxed or state.now >= plan.relaxed else plan.threshold
        latest = math.inf if is_relaxed else plan.latest
        for j in waiting:
            if self.problem.jobs[j].tasks <= state.room and self.problem.releases[j] <= state.now:
                found = self._startable(state, j, threshold, latest, plan.rule)
                if found is not None:
                    state.start(found)
                    yield found

    def _startable(self, state: _State, j: int, threshold: float, latest: float, rule: int) -> Assignment | None:
        """Return the start of a job now at its most efficient level that fits, if that is efficient enough."""
        tasks, levels = self.problem.jobs[j].tasks, self.problem.levels[j]
        for waste, number in self._ranked[j]:
            if -waste < threshold:
                return None
            level = levels[number]
            is_late = number > 0 and state.now + level.duration > latest
            if is_late or sum([state.free[g] for g in level.classes]) < tasks:
                continue
            allocation = self._generation.filling(j, level.classes, rule, state.free, state.bandwidth)
            if allocation is not None:
                return Assignment(j, state.now, self._generation.configuration(j, allocation))
        return None


class _State:
    """What is free at one instant, and what will end when."""

    def __init__(self, problem: Problem) -> None:
        self.now = min(problem.releases, default=0.0)
        self._links = problem.contended_links
        self._limits = [problem.bandwidths[k] for k in self._links]
        self._loads = [0.0] * len(self._links)
        self.free = list(problem.capacities)
        self._ends: list[tuple[float, int, Sequence[int], Sequence[float]]] = []
        for busy in problem.busy:
            if busy.end > self.now:
                self._hold(busy.end, busy.allocation, [busy.loads[k] for k in self._links])

    @property
    def room(self) -> int:
        """Processors free."""
        return sum(self.free)

    @property
    def bandwidth(self) -> list[float]:
        """Bandwidth left of each contended link, MB/s."""
        pairs = zip(self._limits, self._loads, strict=True)
        return [max(0.0, limit - load) + SUBTRACTION_NOISE * max(1.0, limit) for limit, load in pairs]

    def start(self, assignment: Assignment) -> None:
        """Hold what an assignment uses until its end."""
        configuration = assignment.configuration
        self._hold(assignment.end, configuration.allocation, [configuration.loads[k] for k in self._links])

    def _hold(self, end: float, allocation: Sequence[int], loads: Sequence[float]) -> None:
        self._change(allocation, loads, 1)
        heapq.heappush(self._ends, (end, len(self._ends), allocation, loads))

    def _change(self, allocation: Sequence[int], loads: Sequence[float], sign: int) -> None:
        self.free = [free - sign * count for free, count in zip(self.free, allocation, strict=True)]
        self._loads = [known + sign * load for known, load in zip(self._loads, loads, strict=True)]

    def advance(self, releases: Iterable[float]) -> bool:
        """Go to the next instant at which something ends or arrives; return whether there is one."""
        instants = [release for release in releases if release > self.now]
        instants += [self._ends[0][0]] if self._ends else []
        if not instants:
            return False
        self.now = min(instants)
        while self._ends and self._ends[0][0] <= self.now:
            _, _, allocation, loads = heapq.heappop(self._ends)
            self._change(allocation, loads, -1)
        return True
