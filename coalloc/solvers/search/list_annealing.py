"""Simulated annealing of lists in the engine: of an order of the jobs, and of the way in which each is placed.

Serial generation (:mod:`coalloc.rules.serial_sgs`) makes the schedule of a list: every job ends as early as its way
allows, which is up to a slowest level or at one alone, in a filling rule. The engine (``lists.h``) does that under all
constraints; it asks Python for a cost that no pieces describe, and for the modes of a job that finds no filling.
Neighbours move a job, swap two, or give one another way. Where all processors are equal an order says all, and a sum is
annealed mostly by moves of a job that waits and one that starts meanwhile. Rounds, each longer than the one before,
begin at the best list. Source: S. Kirkpatrick, C. Gelatt, M. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, engine
from coalloc.objectives import Criterion, Objective
from coalloc.objectives.piecewise import PiecewiseLinear
from coalloc.problem import MAX_MODES, Assignment, Problem
from coalloc.rules.serial_sgs import FILLING_RULES, Generation, named_orders
from coalloc.rules.tuning import BRIEF, CHOICES, HALF, MANY_JOBS, MOST
from coalloc.solvers.effort import Effort
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.constraint_tables import constraints_of, firsts_of, spend
from coalloc.solvers.search.problem_tables import Tables
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS, LONGER, BRIEF_ROUNDS = 30, 4, 3
"""Steps of the first round, per job; ratio of the lengths of rounds; rounds of a sum before its tree.

As many steps in vain, per cube of the number of jobs, end it: what moves there are grows with their square.
"""
ASKED = 2
"""Return value with which the engine asks for a cost."""
HEATS = {True: (1.5, 0.004), False: (0.05, 0.001)}
"""Temperatures at which a round for a sum, and for a maximum, begins and ends, in mean costs of a job's run time."""
EARLINESS = 0.03
"""Weight of the mean end of the tasks beside the latest end: a schedule that does much early leaves room to move."""


@dataclass(frozen=True, slots=True)
class ListCosts:
    """Costs of a list, as the engine takes them: ends, or costs in pieces, or such as it asks for each time.

    By shape and slowest class ``points`` are ends (s) and costs, which begin at ``firsts``, with slopes behind the last
    ones. ``weights`` are what a tick of each job's end costs beside a maximum. A round begins and ends at the
    temperatures ``heats``.
    """

    criterion: Criterion
    kind: Literal["end", "pieces", "asked"]
    firsts: Ints
    points: Floats
    slopes: Floats
    weights: Floats
    heats: tuple[float, float]

    @classmethod
    def of(cls, criterion: Criterion) -> ListCosts:
        """Return the costs of a criterion."""
        problem, is_sum = criterion.problem, criterion.is_sum
        table = problem.allocations.ticks_table
        ticks = [] if criterion.objective.counts_ends else _ticks(problem, table)
        kind, pieces = _pieces(criterion, ticks)
        points = [of.points for of in pieces]
        unit = _unit(criterion, ticks) if ticks else sum(table.ravel().tolist()) / table.size
        weights = np.zeros(len(problem.jobs)) if is_sum else np.array(earliness_weights(criterion))
        return cls(
            criterion,
            kind,
            firsts_of(points) if pieces else np.zeros(table.size + 1, dtype=np.int64),
            np.array(list(chain.from_iterable(points)), dtype=float).reshape(-1, 2),
            np.array([of.slope_after for of in pieces], dtype=float) if pieces else np.zeros(table.size),
            weights,
            (unit * HEATS[is_sum][0], unit * HEATS[is_sum][1]),
        )


def _ticks(problem: Problem, table: Floats) -> list[tuple[int, float]]:
    """Return the job of each shape with the ticks that it takes where the slowest class is each of all."""
    jobs = (j for j, job in enumerate(problem.jobs) for _ in problem.allocations.shapes(job))
    return [(j, duration) for j, of in zip(jobs, table.tolist(), strict=True) for duration in of]


def _pieces(
    criterion: Criterion, ticks: Sequence[tuple[int, float]]
) -> tuple[Literal["end", "pieces", "asked"], list[PiecewiseLinear]]:
    """Return the kind of costs, and those in pieces of each job of some ticks; no pieces where costs are not such."""
    problem, objective = criterion.problem, criterion.objective
    if objective.counts_ends:
        return "end", []
    known = {key: objective.pieces(problem.jobs[key[0]], problem.clock.seconds(key[1])) for key in set(ticks)}
    found = [of for of in map(known.__getitem__, ticks) if of is not None]
    return ("asked", []) if len(found) < len(ticks) else ("pieces", found)


def _unit(criterion: Criterion, ticks: Sequence[tuple[int, float]]) -> float:
    """Return what a delay by its run time costs a job, in the mean over jobs and how long they may take, ticks."""
    slopes = {key: _slope(criterion, *key) for key in set(ticks)}
    return sum(slopes[key] * key[1] for key in ticks) / len(ticks)


def _slope(criterion: Criterion, j: int, duration: float) -> float:
    """Return what a tick later costs a job, by index, of a duration; where that changes, in the mean to the horizon."""
    ramp = criterion.ramp(j, duration)
    if ramp is not None:
        return ramp.slope
    first, last = criterion.problem.releases[j], criterion.problem.horizon_in_turn
    costs = [criterion.cost(j, start, start + duration) for start in (first, last)]
    return (costs[1] - costs[0]) / (last - first) if last > first and all(map(math.isfinite, costs)) else 0.0


class ListAnnealing:
    """Rounds of annealing of one problem, from the best of the lists that were considered.

    ``latest_ends`` of the jobs, ticks, are those of the problem unless others are given; so are ``tables``.
    """

    def __init__(
        self,
        problem: Problem,
        costs: ListCosts,
        seed: int,
        latest_ends: Sequence[float] | None = None,
        tables: Tables | None = None,
    ) -> None:
        self._problem, self._costs = problem, costs
        self._tables = tables or Tables.of(Generation(problem))
        self._sizes = len(problem.jobs), len(problem.classes)
        self._widest = np.diff(self._tables.members.first) - 1
        is_restricted = problem.couples or problem.allocations.restricts_spreads  # else there is always a filling
        constraints = constraints_of(problem, problem.latest_ends if latest_ends is None else latest_ends)
        spend(constraints, self._tables.handle, problem)
        self._lists = engine().lists_new(
            self._tables.handle,
            constraints,
            *self._sizes,
            len(costs.slopes) // len(problem.classes),
            len(costs.points),
            int(costs.criterion.is_sum),
            ("end", "pieces", "asked").index(costs.kind),
            int(is_restricted and problem.allocations.number <= MAX_MODES),
            int(np.random.default_rng(seed).integers(1, 2**63)),
            problem.clock.seconds(1.0),
            costs.firsts,
            *map(np.ascontiguousarray, costs.points.T),
            costs.slopes,
            costs.weights,
            np.array(costs.criterion.alone, dtype=float),
        )

    @property
    def value(self) -> float:
        """The objective of the best list; infinity where none has a schedule."""
        return float(engine().lists_value(self._lists))

    @property
    def is_movable(self) -> bool:
        """Whether there is a list to begin at, and some schedules cost more than others."""
        return self.value < math.inf and self._costs.heats[0] > 0.0

    def consider(self, order: Sequence[int], ways: Sequence[int] | Ints, deadline: float = math.inf) -> None:
        """Take a list where it is better than the best, and its schedule is made by the deadline."""
        arrays = np.array(order, dtype=np.int64), np.array(ways, dtype=np.int64)
        self._anneal(arrays, 0, deadline)

    def consider_order(self, order: Sequence[int], deadline: float = math.inf) -> None:
        """Consider a list in which each job takes any level, behind those that rows make it wait for."""
        self.consider(_in_turn(self._problem, order), self._widest * len(FILLING_RULES), deadline)

    def complete_order(self, order: Sequence[int], deadline: float) -> None:
        """Consider such a list to its end; past the deadline no job starts before the one placed last."""
        self.consider_order(order, deadline)
        engine().lists_hurry(self._lists)
        self._go_on(math.inf)

    def consider_all(self, assignments: Sequence[Assignment], deadline: float = math.inf) -> None:
        """Consider the order of a schedule, with its levels or any, and the named orders."""
        problem, num_rules = self._problem, len(FILLING_RULES)
        order = [a.job for a in sorted(assignments, key=lambda a: (a.start, a.job))]
        widest = self._widest.tolist()
        alone = [level + len(of) for level, of in zip(_levels(problem, assignments), problem.levels, strict=True)]
        for rule in range(num_rules):
            for levels in (widest, alone):
                self.consider(order, [level * num_rules + rule for level in levels], deadline)
        for named in named_orders(problem):
            self.consider_order(named, deadline)

    def round(self, steps: int, deadline: float = math.inf) -> None:
        """Anneal for so many steps, or until the deadline (``time.perf_counter()``, s)."""
        if self.is_movable:
            self._anneal(self._best()[:2], steps, deadline)

    def _anneal(self, jobs: tuple[Ints, Ints], steps: int, deadline: float) -> None:
        """Anneal from a list, order and ways."""
        engine().lists_begin(self._lists, self._sizes[0], *jobs, steps, *self._costs.heats)
        self._go_on(deadline)

    def _go_on(self, deadline: float) -> None:
        """Let the engine go on to the end, or until the deadline."""
        while (left := deadline - time.perf_counter()) > 0.0 and (
            come := engine().lists_go_on(self._lists, min(left, LONGEST_CALL))
        ):
            if come == ASKED:
                self._answer()

    def _answer(self) -> None:
        """Tell the engine what it asks for: the cost of a job that has a place, or the modes of one that has none."""
        asked, times = np.empty(2, np.int64), np.empty(2)
        engine().lists_question(self._lists, asked, times)
        is_cost, j = asked.tolist()
        if is_cost:
            engine().lists_answer_cost(self._lists, self._costs.criterion.cost(j, *times.tolist()))
            return
        modes = [mode.allocation for mode in self._problem.modes[j]]
        allocations = np.array(modes, dtype=np.int64).reshape(-1, self._sizes[1])
        engine().lists_answer_modes(self._lists, *allocations.shape, allocations)

    def _best(self) -> tuple[Ints, Ints, Floats, Ints]:
        """Return order, ways, starts and allocations of the best list."""
        num_jobs, num_classes = self._sizes
        order, ways, allocations = (np.empty(n, np.int64) for n in (num_jobs, num_jobs, num_jobs * num_classes))
        starts = np.empty(num_jobs)
        engine().lists_best(self._lists, *self._sizes, order, ways, starts, allocations)
        return order, ways, starts, allocations.reshape(num_jobs, num_classes)

    def best(self) -> tuple[list[int], list[int], list[Assignment]]:
        """Return the best list, order and ways, and its schedule in the order of starts."""
        *found, starts, allocations = self._best()
        order, ways = (part.tolist() for part in found)
        in_order = np.argsort(starts, kind="stable")
        modes = self._problem.allocations.modes_on(allocations)
        started = zip(in_order.tolist(), starts[in_order].tolist(), strict=True)
        return order, ways, [Assignment(j, start, modes[j]) for j, start in started]


def earliness_weights(criterion: Criterion) -> list[float]:
    """Return what each tick that a job ends later costs beside the objective (:data:`EARLINESS`), by job."""
    tasks = sum(job.tasks for job in criterion.problem.jobs)
    return [EARLINESS * criterion.tick * job.tasks / tasks for job in criterion.problem.jobs]


def annealing_in(
    incumbent: Incumbent, costs: ListCosts, seed: int, latest_ends: Sequence[float] | None = None
) -> ListAnnealing:
    """Return the annealing of the lists of an incumbent, which keeps the tables of its problem."""
    tables = incumbent.kept(Tables) or Tables.of(Generation(incumbent.problem))
    incumbent.keep(tables)
    return ListAnnealing(incumbent.problem, costs, seed, latest_ends, tables)


def _in_turn(problem: Problem, order: Sequence[int]) -> list[int]:
    """Return an order in which each job is behind those that rows make it wait for, else as it was."""
    if not problem.ties_jobs:
        return list(order)
    place = {j: n for n, j in enumerate(order)}
    followers: list[list[int]] = [[] for _ in order]
    missing = [len(awaited) for awaited in problem.awaited]
    for j, awaited in enumerate(problem.awaited):
        for other in awaited:
            followers[other].append(j)
    ready, found = [place[j] for j in order if not missing[j]], list[int]()
    heapify(ready)
    while ready:
        found.append(order[heappop(ready)])
        for j in followers[found[-1]]:
            missing[j] -= 1
            if not missing[j]:
                heappush(ready, place[j])
    return found


def improve(
    problem: Problem,
    assignments: Sequence[Assignment],
    effort: Effort,
    *,
    objective: str | Objective = "makespan",
) -> list[Assignment]:
    """Return the best schedule found, never worse than ``assignments``.

    ``effort.iterations`` are the lists tried after the first ones, in rounds that each take twice as long as the one
    before; ``objective`` is a regular one, or its name.
    """
    criterion, best = Criterion.of(problem, objective), list(assignments)
    value, left, length = criterion.value(best), effort.iterations, STEPS * len(best)
    if not best or effort.ends_at(value):
        return best
    annealing = ListAnnealing(problem, ListCosts.of(criterion), effort.seed)
    annealing.consider_all(best, effort.deadline)
    while True:
        found = annealing.best()[2] if annealing.value < value else best
        if criterion.value(found) < value:
            best, value = found, criterion.value(found)
            effort.on_schedule(list(best))
        if left <= 0 or effort.ends_at(value) or not annealing.is_movable:
            return best
        annealing.round(min(length, left), effort.deadline)
        left, length = left - length, 2 * length


def _levels(problem: Problem, assignments: Sequence[Assignment]) -> list[int]:
    """Return for each job the level that is the first to have all classes of its allocation, in its shape."""
    found = [0] * len(problem.jobs)
    for a in assignments:
        used, tasks = {g for g, count in enumerate(a.mode.allocation) if count}, sum(a.mode.allocation)
        levels = enumerate(problem.levels[a.job])
        found[a.job] = next(n for n, level in levels if level.tasks == tasks and used <= set(level.classes))
    return found


def _run(incumbent: Incumbent) -> None:
    """Anneal in rounds from the best assignments; of sums briefly before the tree."""
    seed = incumbent.state.options.seed + incumbent.attempt
    annealing = annealing_in(incumbent, ListCosts.of(incumbent.criterion), seed)
    annealing.consider_all(incumbent.best, incumbent.deadline)
    if annealing.is_movable:  # not out of time, say
        _anneal_in_rounds(incumbent, annealing, BRIEF_ROUNDS if incumbent.round == 0 else sys.maxsize)


def _anneal_in_rounds(incumbent: Incumbent, annealing: ListAnnealing, most: int) -> None:
    """Anneal in rounds, ``most`` at most: one only where work is limited.

    Each is longer than the one before, the last as long as the time that is left allows. Where jobs are so few that all
    moves have been tried many times in vain, other methods get that time.
    """
    num_jobs = len(incumbent.problem.jobs)
    steps, value, in_vain = incumbent.limited(STEPS * num_jobs), annealing.value, 0
    for _ in range(most if incumbent.state.options.work_limit is None else 1):
        began = time.perf_counter()
        annealing.round(steps, incumbent.deadline)
        spent = max(1e-9, time.perf_counter() - began)
        incumbent.take(annealing.best()[2], METHOD.name)
        in_vain = in_vain + steps if annealing.value >= value else 0
        value = annealing.value
        fitting = int(MOST * incumbent.time_left / spent * steps)
        if incumbent.is_closed or fitting < steps or in_vain > STEPS * num_jobs**3:
            return
        steps = fitting if fitting < LONGER**2 * steps else LONGER * steps


def _accepts(incumbent: Incumbent) -> bool:
    """Return whether lists are decoded often enough; in the first round also whether a tree may prove what is found."""
    num_jobs = len(incumbent.problem.jobs)
    return num_jobs * len(incumbent.problem.classes) <= CHOICES and (incumbent.round > 0 or num_jobs <= MANY_JOBS)


METHOD = Method(
    "list annealing",
    _run,
    Trait.SCHEDULE,
    _accepts,
    shares={
        Trait.SUM: (HALF, HALF, 0.0, HALF),
        Trait.MANY: (0.0, 0.0, HALF),
        Trait.LAGGED: (BRIEF, 0.0, HALF),
        Trait.NONE: (0.0, BRIEF, HALF),
    },
)
"""The makespan of many jobs is first for beam search; before Pumpkin proves what lags tie it is brief."""
