"""Annealing of lists on several classes of processors, compiled: for sums, and the latest end of a few dozen jobs.

The lists are those of :mod:`coalloc.solvers.search.annealing`: an order of the jobs, and the way of each. Machine code
(:mod:`coalloc.solvers.search.list_kernel`) makes some hundred times as many schedules of them. Rounds, each longer than
the one before, begin at the best list.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem
from coalloc.rules.serial_sgs import FILLING_RULES, Generation, named_orders
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.annealing import earliness_weights
from coalloc.solvers.search.problem_tables import Tables
from coalloc.solvers.search.rounds import anneal_in_rounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST_ROUND = 100
"""Steps of the first round, per job."""
ROUNDS = 8
"""Rounds at most."""
LOOK = 0.05
"""Seconds between two looks at the clock, about."""
HEATS = (0.004, 0.0005)
"""Temperatures at which a round begins and ends, as shares of the best objective."""
EARLY = 0.3
"""How much early ends count (:data:`coalloc.solvers.search.annealing.EARLINESS`), of what they do in a short search."""
SHARE = 0.4
"""Share of the remaining time of a portfolio after which it stops; the latest end of many jobs is for beam search."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a list costs, as the kernel takes it.

    ``ramps``, shape ``(shapes, classes, 3)``, are floor, slope and intercept of what a job costs by its start (ticks)
    on its slowest class; ``weights`` and ``alone``, by job, what a tick of its end costs beside, and its least cost.
    """

    is_sum: bool
    ramps: Floats
    weights: Floats
    alone: Floats

    @classmethod
    def of(cls, criterion: Criterion) -> Costs | None:
        """Return the costs of a criterion; None where they are no ramps."""
        problem, rows = criterion.problem, []
        for j, job in enumerate(problem.jobs):
            for shape in problem.allocations.shapes(job):
                ramps = [criterion.ramp(j, duration) for duration in problem.allocations.class_ticks(shape)]
                if None in ramps:
                    return None
                rows.append(ramps)
        weights = EARLY * np.array(earliness_weights(criterion))
        return cls(criterion.is_sum, np.array(rows, dtype=float), weights, np.array(criterion.alone, dtype=float))


class ListAnnealing:
    """Rounds of annealing of one problem, from a list; the ``best`` has the objective ``value``."""

    def __init__(self, problem: Problem, costs: Costs, seed: int) -> None:
        self._generation, self._problem = Generation(problem), problem
        self._tables = Tables.of(self._generation, [[-float(n) for n in range(len(of))] for of in problem.levels])
        self._costs = (costs.is_sum, costs.ramps, costs.weights, costs.alone)
        num_jobs, num_classes, num_loads = len(problem.jobs), len(problem.classes), len(problem.contended_resources)
        steps = 2 * (num_jobs + len(problem.busy)) + 4
        self._space = (
            (np.empty(steps), np.empty((steps, num_classes), np.int64), np.empty((steps, num_loads))),
            (np.empty(num_classes, np.int64), np.empty(num_loads), *self._tables.rooms()),
        )
        self._placed, self._tried = (_unplaced(num_jobs, num_classes, num_loads) for _ in range(2))
        self._seed = np.array([np.random.default_rng(seed).integers(1, 2**63)], dtype=np.uint64)
        self.best: tuple[Ints, Ints] = np.arange(num_jobs), np.zeros(num_jobs, np.int64)
        self.value = math.inf

    def consider(self, order: Sequence[int] | Ints, ways: Sequence[int] | Ints) -> None:
        """Take a list where it is better than the best."""
        self._anneal(np.array(order, dtype=np.int64), np.array(ways, dtype=np.int64), (0, 0, 1), (0.0, 0.0))

    def round(self, steps: int, deadline: float = math.inf) -> None:
        """Anneal for so many steps, or until the deadline (``time.perf_counter()``, s)."""
        order, ways = (part.copy() for part in self.best)
        first, last = (abs(self.value) * heat for heat in HEATS)
        done, at_once = 0, 1
        while done < steps:
            began = time.perf_counter()
            if began > deadline:
                return
            until = min(steps, done + at_once)
            self._anneal(order, ways, (done, until, steps), (first, last))
            done, at_once = until, 1 + int(at_once * min(2.0, LOOK / max(1e-9, time.perf_counter() - began)))

    def _anneal(self, order: Ints, ways: Ints, steps: tuple[int, int, int], heats: tuple[float, float]) -> None:
        """Anneal a list from one step to before another, of so many; it becomes the last one."""
        from coalloc.solvers.search.list_kernel import anneal

        kept = self._tables.arrays, self._costs, self._placed, self._tried, self._space
        self.value = anneal(order, ways, *self.best, self.value, *kept, steps, heats, self._seed)

    def assignments(self) -> list[Assignment]:
        """Return the schedule of the best list, in the order of starts."""
        self.consider(*self.best)
        starts, allocations = self._placed[0][:, 0].tolist(), self._placed[1].tolist()
        in_order = sorted((start, j) for j, start in enumerate(starts))
        return [Assignment(j, start, self._generation.mode(j, tuple(allocations[j]))) for start, j in in_order]


def _unplaced(num_jobs: int, num_classes: int, num_loads: int) -> tuple[Any, ...]:
    """Return room for start, end and cost of each job, its allocation and its loads."""
    return np.zeros((num_jobs, 3)), np.zeros((num_jobs, num_classes), np.int64), np.zeros((num_jobs, num_loads))


def _levels(problem: Problem, assignments: Sequence[Assignment]) -> list[int]:
    """Return for each job the level that is the first to have all classes of its allocation, in its shape."""
    found = [0] * len(problem.jobs)
    for a in assignments:
        used, tasks = {g for g, count in enumerate(a.mode.allocation) if count}, sum(a.mode.allocation)
        levels = enumerate(problem.levels[a.job])
        found[a.job] = next(n for n, level in levels if level.tasks == tasks and used <= set(level.classes))
    return found


def _consider_first(annealing: ListAnnealing, problem: Problem, assignments: Sequence[Assignment]) -> None:
    """Consider the order of a schedule, with its levels or any, and the named orders."""
    num_rules, order = len(FILLING_RULES), [a.job for a in sorted(assignments, key=lambda a: (a.start, a.job))]
    widest = [len(levels) - 1 for levels in problem.levels]
    alone = [level + len(of) for level, of in zip(_levels(problem, assignments), problem.levels, strict=True)]
    for rule in range(num_rules):
        for levels in (widest, alone):
            annealing.consider(order, [level * num_rules + rule for level in levels])
    for named in named_orders(problem):
        annealing.consider(named, [level * num_rules for level in widest])


def _run(incumbent: Incumbent) -> None:
    """Anneal in rounds from the best assignments."""
    problem, costs = incumbent.problem, Costs.of(incumbent.criterion)
    if costs is None:
        return
    annealing = ListAnnealing(problem, costs, incumbent.state.options.seed + incumbent.attempt)
    _consider_first(annealing, problem, incumbent.best)
    annealing.round(1, incumbent.deadline)  # compiles

    def round_of(steps: int, deadline: float) -> list[Assignment]:
        annealing.round(steps, deadline)
        return annealing.assignments()

    anneal_in_rounds(incumbent, round_of, first=FIRST_ROUND * len(problem.jobs), most=ROUNDS, name=METHOD.name)


def _accepts(incumbent: Incumbent) -> bool:
    problem = incumbent.problem
    is_asked = incumbent.is_free and not incumbent.is_large and len(problem.classes) > 1 and bool(incumbent.best)
    is_long = incumbent.state.options.seconds >= 20.0 and len(problem.jobs) >= 15
    return is_asked and is_long and not problem.allocations.restricts_spreads


METHOD = Method("list annealing", _run, _accepts, share=SHARE, repeats=True)
