"""Simulated annealing for energy and EDP: in which mode each job runs, and in what order the jobs of a part start.

The parts of a platform are what the scope keeps a job within: nodes, clusters, or all of it. Within a part its list of
jobs is placed in chronological order (:mod:`coalloc.rules.chronological_generation`), so that jobs may wait for each
other. A neighbour moves a job within its list or to another part, or swaps two; only the parts that change are placed
anew, and what they take is added up to joules and makespan. Rounds begin at the best and last twice as long as the one
before. Source: S. Kirkpatrick, C. Gelatt, M. Vecchi, "Optimization by simulated annealing", Science 220 (1983).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coalloc.instance.rounding import time_tolerance
from coalloc.models.energy_costs import ClassWatts
from coalloc.problem import Assignment, Mode, Problem
from coalloc.rules.chronological_generation import InitialState, ListedJob, needs_of, starts_of
from coalloc.rules.serial_sgs import Generation, fillings

FIRST_ROUND = 200
"""Lists tried in the first round, per job."""
HEAT = 0.003
"""Temperature at which a round begins, as a share of the best cost; it falls to 0."""
EXCESS = 5.0
"""Cost of an excess over the makespan limit, relative to the cost, per relative excess."""
SWAP = 0.4
"""Probability that two jobs are swapped; else one is moved."""
REPORTED = 100
"""Lists after which a better schedule is reported: to meter and name one takes longer than to try a list."""
DRAWN = 4096
"""Random numbers that are drawn at once."""

Worth = Callable[[float, float], float]
"""Worth of joules and a makespan, s: the less the better, and no more where both are less."""


# ------------------------------------------------------------------------------ what lists of jobs take


@dataclass(frozen=True, slots=True)
class PartOption(ListedJob):
    """A job in a mode, on a ``part`` of the platform: J by itself, and (class, W) of the nodes that it keeps busy."""

    part: int
    joules: float
    extra_watts: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class PlatformPart:
    """A list of jobs on a part of the platform: J beyond idle watts, and the last end, ticks."""

    jobs: tuple[PartOption, ...]
    joules: float
    end: float


class Lists:
    """Requirements of lists of jobs on the parts of a platform, and the ways of a job on one."""

    def __init__(self, problem: Problem, costs: ClassWatts) -> None:
        self.problem, self.costs = problem, costs
        self.num_parts = len(problem.allocations.parts) or 1
        self._part_of = {g: k for k, part in enumerate(problem.allocations.parts) for g in part}
        self._start, self._generation = InitialState.of(problem), Generation(problem)
        self._runs = [
            (run.end, busy.allocation) for run, busy in zip(problem.instance.running, problem.busy, strict=True)
        ]
        self._busy_until = {
            g: max((end for end, allocation in self._runs if allocation[g]), default=0.0) for g in costs.extra_watts
        }
        self._known: dict[int, dict[int, list[PartOption]]] = {}

    def option(self, j: int, mode: Mode) -> PartOption:
        """Return job ``j`` in a mode."""
        used = [g for g, tasks in enumerate(mode.allocation) if tasks]
        return PartOption(
            job=j,
            mode=mode,
            release=self.problem.releases[j],
            duration=mode.duration,
            needs=needs_of(self.problem, mode.allocation, mode.loads),
            part=self._part_of.get(used[0], 0),
            joules=self.costs.joules(mode),
            extra_watts=tuple((g, self.costs.extra_watts[g]) for g in used if g in self.costs.extra_watts),
        )

    def options(self, j: int) -> dict[int, list[PartOption]]:
        """Return the ways of job ``j`` by part: all that there are, or, where these are many, a few of each kind."""
        if j not in self._known:
            modes = self._generation.few_modes(j) or {m.allocation: m for m in self._some_modes(j)}.values()
            by_part: dict[int, list[PartOption]] = {}
            for option in (self.option(j, mode) for mode in modes):
                by_part.setdefault(option.part, []).append(option)
            self._known[j] = by_part
        return self._known[j]

    def _some_modes(self, j: int) -> Iterator[Mode]:
        """Yield modes of a job that fill the classes of a level one after another, from each on, and what links let."""
        problem, job = self.problem, self.problem.jobs[j]
        rooms, limits = problem.allocations.rooms(job), problem.allocations.limits
        yield from fillings(problem, job, problem.capacities, limits)
        for part in problem.allocations.parts or (range(len(problem.classes)),):
            for level in problem.levels[j]:
                inside = [g for g in level.classes if g in part]
                for first in range(len(inside)):
                    allocation = _filled(job.tasks, rooms, inside[first:] + inside[:first])
                    if allocation is not None:
                        mode = problem.allocations.mode(job, allocation)
                        if problem.allocations.fits_alone(mode):
                            yield mode

    def measured(self, jobs: tuple[PartOption, ...]) -> PlatformPart:
        """Return what a list takes."""
        tick, until = self.costs.tick, self._busy_until.copy()
        joules = end = 0.0
        for option, start in zip(jobs, starts_of(self._start, jobs), strict=True):
            stop = start + option.duration
            end = max(end, stop)
            joules += option.joules
            for g, watts in option.extra_watts:
                began, ended, known = start * tick, stop * tick, until[g]
                if ended > known:
                    joules += watts * (ended - (known if known > began else began))
                    until[g] = ended
        return PlatformPart(jobs, joules, end)

    def joules(self, beyond_idle: float, makespan: float) -> float:
        """Return the joules of a schedule with its makespan, s: its parts' beyond idle watts, those, and what runs."""
        joules = beyond_idle + self.costs.idle * makespan
        if self._runs:
            last = self.problem.instance.origin + makespan
            joules += sum(self.costs.watts(allocation) * min(end, last) for end, allocation in self._runs)
            joules += sum(self.costs.extra_watts[g] * min(end, last) for g, end in self._busy_until.items())
        return joules

    def joules_between(self, low: float, high: float) -> float:
        """Return what idle nodes and jobs that run already take at least with a makespan from low to high, s."""
        origin = self.problem.instance.origin
        watts = [(end, self.costs.watts(allocation)) for end, allocation in self._runs]
        watts += [(end, self.costs.extra_watts[g]) for g, end in self._busy_until.items()]
        drawn = (min(rate * min(end, origin + low), rate * min(end, origin + high)) for end, rate in watts)
        return self.costs.idle * low + sum(drawn)

    def assignments(self, parts: Iterable[PlatformPart]) -> list[Assignment]:
        """Return the assignments of lists."""
        return [
            Assignment(option.job, start, option.mode)
            for part in parts
            for option, start in zip(part.jobs, starts_of(self._start, part.jobs), strict=True)
        ]


def _filled(tasks: int, rooms: Sequence[int], order: Sequence[int]) -> tuple[int, ...] | None:
    """Return the allocation that fills classes in this order; None where they have too little room."""
    allocation, left = [0] * len(rooms), tasks
    for g in order:
        allocation[g] = min(left, rooms[g])
        left -= allocation[g]
    return None if left else tuple(allocation)


# ------------------------------------------------------------------------------ the search


@dataclass(frozen=True, slots=True)
class AnnealingState:
    """A list on every part, and where each job (by index) is; ``cost`` is what the search goes by."""

    parts: tuple[PlatformPart, ...]
    part_of: tuple[int, ...]
    makespan: float
    cost: float


def anneal(
    problem: Problem,
    costs: ClassWatts,
    assignments: Sequence[Assignment],
    *,
    worth: Worth,
    makespan_limit: float | None = None,
    iterations: int | None = None,
    seed: int,
    target: float = -math.inf,
    deadline: float = math.inf,
    on_schedule: Callable[[list[Assignment]], None],
) -> None:
    """Search from assignments of all jobs, and report better schedules that end within the limit, s.

    Parameters
    ----------
    worth
        What is to be least, of joules and makespan (s).
    iterations
        Lists tried; None: until the deadline. The same seed and iterations give the same schedules, unless that
        strikes.
    target
        Worth at which the search stops: a proved bound.
    deadline
        Instant of ``time.perf_counter()``, s, at which it stops.
    on_schedule
        Hears of the first schedule and of better ones, the last of which is the best.
    """
    if not assignments:
        return
    search = _Search(Lists(problem, costs), worth, makespan_limit, np.random.default_rng(seed))
    best, unreported = math.inf, None
    for number, state in enumerate(search.states(search.first(assignments), iterations)):
        if state is not None and state.cost < best and search.is_within(state):
            best, unreported = state.cost, state
        is_over = best <= target or time.perf_counter() > deadline
        if unreported is not None and (is_over or number % REPORTED == 0):
            on_schedule(search.lists.assignments(unreported.parts))
            unreported = None
        if is_over:
            return
    if unreported is not None:
        on_schedule(search.lists.assignments(unreported.parts))


class _Search:
    """States and their neighbours, for one problem and worth."""

    def __init__(self, lists: Lists, worth: Worth, makespan_limit: float | None, rng: np.random.Generator) -> None:
        self.lists = lists
        self._worth, self._limit = worth, math.inf if makespan_limit is None else makespan_limit
        self._uniform = _uniform(rng)

    def is_within(self, state: AnnealingState) -> bool:
        """Return whether a state keeps the limit."""
        return state.makespan <= self._limit + time_tolerance(self._limit)

    def first(self, assignments: Sequence[Assignment]) -> AnnealingState:
        """Return the state of assignments, in the order of their starts."""
        lists: list[list[PartOption]] = [[] for _ in range(self.lists.num_parts)]
        part_of = [0] * len(assignments)
        for a in sorted(assignments, key=lambda a: (a.start, a.job)):
            option = self.lists.option(a.job, a.mode)
            lists[option.part].append(option)
            part_of[a.job] = option.part
        return self._state([self.lists.measured(tuple(jobs)) for jobs in lists], tuple(part_of))

    def states(self, best: AnnealingState, iterations: int | None) -> Iterator[AnnealingState | None]:
        """Yield what each list tried gives: None where a job has no way to be where it was to go."""
        yield best
        length = FIRST_ROUND * len(best.part_of)
        while iterations is None or iterations > 0:
            length = length if iterations is None else min(length, iterations)
            now = best
            for step in range(length):
                heat = HEAT * abs(best.cost) * (1.0 - step / length)
                ceiling = now.cost - heat * math.log(1.0 - next(self._uniform))
                candidate = self._neighbour(now)
                if candidate is not None and candidate.cost <= ceiling:
                    now = candidate
                    best = now if now.cost < best.cost else best
                yield candidate
            iterations, length = None if iterations is None else iterations - length, 2 * length

    def _state(self, parts: Sequence[PlatformPart], part_of: tuple[int, ...]) -> AnnealingState:
        problem = self.lists.problem
        makespan = problem.clock.seconds(max([part.end for part in parts])) - problem.instance.origin
        cost = self._worth(self.lists.joules(sum([part.joules for part in parts]), makespan), makespan)
        if makespan > self._limit:
            cost += EXCESS * abs(cost) * (makespan / self._limit - 1.0)
        return AnnealingState(tuple(parts), part_of, makespan, cost)

    def _below(self, number: int) -> int:
        """Return a random index."""
        return int(next(self._uniform) * number)

    def _neighbour(self, now: AnnealingState) -> AnnealingState | None:
        """Return a state beside this one; None where a job has no way to be where it was to go."""
        j = self._below(len(now.part_of))
        if len(now.part_of) > 1 and next(self._uniform) < SWAP:
            other = self._below(len(now.part_of) - 1)
            return self._swapped(now, j, other + (other >= j))
        return self._moved(now, j, self._below(self.lists.num_parts))

    def _moved(self, now: AnnealingState, j: int, to: int) -> AnnealingState | None:
        """Return the state with a job anywhere in the list of a part."""
        option, source = self._any_option(j, to), now.part_of[j]
        if option is None:
            return None
        left = [other for other in now.parts[source].jobs if other.job != j]
        joined = left if source == to else list(now.parts[to].jobs)
        joined.insert(self._below(len(joined) + 1), option)
        return self._changed(now, {source: left, to: joined}, {j: to})

    def _swapped(self, now: AnnealingState, i: int, j: int) -> AnnealingState | None:
        """Return the state with two jobs in each other's place."""
        here, there = now.part_of[i], now.part_of[j]
        if here == there:
            jobs = list(now.parts[here].jobs)
            x, y = _place(jobs, i), _place(jobs, j)
            jobs[x], jobs[y] = jobs[y], jobs[x]
            return self._changed(now, {here: jobs}, {})
        one, other = self._any_option(i, there), self._any_option(j, here)
        if one is None or other is None:
            return None
        left, right = list(now.parts[here].jobs), list(now.parts[there].jobs)
        left[_place(left, i)], right[_place(right, j)] = other, one
        return self._changed(now, {here: left, there: right}, {i: there, j: here})

    def _any_option(self, j: int, part: int) -> PartOption | None:
        """Return a random way of a job to be on a part."""
        options = self.lists.options(j).get(part)
        return None if options is None else options[self._below(len(options))]

    def _changed(
        self, now: AnnealingState, lists: Mapping[int, Sequence[PartOption]], moved: Mapping[int, int]
    ) -> AnnealingState:
        parts, part_of = list(now.parts), now.part_of
        for part, jobs in lists.items():
            parts[part] = self.lists.measured(tuple(jobs))
        if moved:
            part_of = tuple([moved.get(j, part) for j, part in enumerate(part_of)])
        return self._state(parts, part_of)


def _place(jobs: Sequence[PartOption], j: int) -> int:
    """Return where a job is in a list."""
    return next(place for place, option in enumerate(jobs) if option.job == j)


def _uniform(rng: np.random.Generator) -> Iterator[float]:
    """Yield random numbers from 0 to 1, many of which are drawn at once."""
    while True:
        yield from rng.random(DRAWN).tolist()
