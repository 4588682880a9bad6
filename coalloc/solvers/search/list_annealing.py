"""Annealing of lists in the engine: of an order of the jobs, and of the way in which each is placed.

The lists are those of :mod:`coalloc.solvers.search.annealing`; the engine (``lists.h``) makes some hundred times as
many schedules of them, of costs that are ramps. Where all processors are equal an order says all, and a sum is annealed
mostly by moves of a job that waits and one that starts meanwhile. Rounds, each longer than the one before, begin at the
best list.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem
from coalloc.rules.serial_sgs import FILLING_RULES, Generation, named_orders
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.problem_tables import Tables
from coalloc.solvers.search.rounds import anneal_in_rounds
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST_ROUND = 100
"""Steps of the first round, per job."""
MOST_ENTRIES = 20_000
"""Jobs times classes up to which a list is decoded often enough."""
ROUNDS = 8
"""Rounds at most."""
LOOK = 0.05
"""Seconds of one call of the engine, about."""
HEATS = {True: (1.5, 0.004), False: (0.05, 0.001)}
"""Temperatures at which a round for a sum, and for a maximum, begins and ends, in mean costs of a job's run time."""
EARLINESS = 0.1
"""Weight of the mean end of the tasks beside the latest end: a schedule that does much early leaves room to move."""
EARLY = 0.3
"""How much early ends count here, of what they do in a short search."""
SHARE = 0.4
"""Share of the remaining time of a portfolio after which it stops; the latest end of many jobs is for beam search."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a list costs, as the engine takes it.

    ``ramps``, shape ``(shapes, classes, 3)``, are floor, slope and intercept of what a job costs by its start (ticks)
    on its slowest class; ``weights`` and ``alone``, by job, what a tick of its end costs beside a maximum, and its
    least cost. A round begins and ends at the temperatures ``heats``.
    """

    is_sum: bool
    ramps: Floats
    weights: Floats
    alone: Floats
    heats: tuple[float, float]

    @classmethod
    def of(cls, criterion: Criterion) -> Costs | None:
        """Return the costs of a criterion; None where they are no ramps."""
        problem, is_sum = criterion.problem, criterion.is_sum
        shapes = [(j, shape) for j, job in enumerate(problem.jobs) for shape in problem.allocations.shapes(job)]
        ticks = [problem.allocations.class_ticks(shape) for _, shape in shapes]
        ramps = [[criterion.ramp(j, duration) for duration in of] for (j, _), of in zip(shapes, ticks, strict=True)]
        if any(None in of for of in ramps):
            return None
        found = np.array(ramps, dtype=float)
        weights = np.zeros(len(problem.jobs)) if is_sum else EARLY * np.array(earliness_weights(criterion))
        unit = float((found[:, :, 1] * np.array(ticks)).mean())
        first, last = (unit * heat for heat in HEATS[is_sum])
        return cls(is_sum, found, weights, np.array(criterion.alone, dtype=float), (first, last))


class ListAnnealing:
    """Rounds of annealing of one problem, from the best of the lists that were considered.

    ``latest_ends`` of the jobs, ticks, are those of the problem unless others are given.
    """

    def __init__(self, problem: Problem, costs: Costs, seed: int, latest_ends: Sequence[float] | None = None) -> None:
        self._generation, self._costs = Generation(problem), costs
        self._tables = Tables.of(self._generation, [[-float(n) for n in range(len(of))] for of in problem.levels])
        num_shapes, num_classes, _ = costs.ramps.shape
        self._sizes = len(problem.jobs), num_classes
        first_seed = int(np.random.default_rng(seed).integers(1, 2**63))
        self._lists = engine().lists_new(
            self._tables.handle,
            *self._sizes,
            num_shapes,
            int(costs.is_sum),
            first_seed,
            costs.ramps,
            costs.weights,
            costs.alone,
            np.array(problem.latest_ends if latest_ends is None else latest_ends, dtype=float),
        )

    @property
    def value(self) -> float:
        """The objective of the best list; infinity where none has a schedule."""
        return float(engine().lists_value(self._lists))

    def consider(self, order: Sequence[int], ways: Sequence[int], deadline: float = math.inf) -> None:
        """Take a list where it is better than the best, and its schedule is made by the deadline."""
        arrays = np.array(order, dtype=np.int64), np.array(ways, dtype=np.int64)
        self._anneal(arrays, 0, deadline)

    def consider_all(self, assignments: Sequence[Assignment], deadline: float = math.inf) -> None:
        """Consider the order of a schedule, with its levels or any, and the named orders."""
        problem, num_rules = self._generation.problem, len(FILLING_RULES)
        order = [a.job for a in sorted(assignments, key=lambda a: (a.start, a.job))]
        widest = [len(levels) - 1 for levels in problem.levels]
        alone = [level + len(of) for level, of in zip(_levels(problem, assignments), problem.levels, strict=True)]
        for rule in range(num_rules):
            for levels in (widest, alone):
                self.consider(order, [level * num_rules + rule for level in levels], deadline)
        for named in named_orders(problem):
            self.consider(named, [level * num_rules for level in widest], deadline)

    def round(self, steps: int, deadline: float = math.inf) -> None:
        """Anneal for so many steps, or until the deadline (``time.perf_counter()``, s)."""
        if math.isfinite(self.value):
            self._anneal(self._best()[:2], steps, deadline)

    def _anneal(self, jobs: tuple[Ints, Ints], steps: int, deadline: float) -> None:
        """Anneal from a list, order and ways."""
        engine().lists_begin(self._lists, self._sizes[0], *jobs, steps, *self._costs.heats)
        while (left := deadline - time.perf_counter()) > 0.0 and engine().lists_go_on(self._lists, min(left, LOOK)):
            pass

    def _best(self) -> tuple[Ints, Ints, Floats, Ints]:
        """Return order, ways, starts and allocations of the best list."""
        num_jobs, num_classes = self._sizes
        order, ways, allocations = (np.empty(n, np.int64) for n in (num_jobs, num_jobs, num_jobs * num_classes))
        starts = np.empty(num_jobs)
        engine().lists_best(self._lists, *self._sizes, order, ways, starts, allocations)
        return order, ways, starts, allocations.reshape(num_jobs, num_classes)

    def best(self) -> tuple[list[int], list[int], list[Assignment]]:
        """Return the best list, order and ways, and its schedule in the order of starts."""
        order, ways, starts, allocations = (part.tolist() for part in self._best())
        in_order = sorted((start, j) for j, start in enumerate(starts))
        modes = [self._generation.mode(j, tuple(used)) for j, used in enumerate(allocations)]
        return order, ways, [Assignment(j, start, modes[j]) for start, j in in_order]


def earliness_weights(criterion: Criterion) -> list[float]:
    """Return what each tick that a job ends later costs beside the objective (:data:`EARLINESS`), by job."""
    tasks = sum(job.tasks for job in criterion.problem.jobs)
    return [EARLINESS * criterion.tick * job.tasks / tasks for job in criterion.problem.jobs]


def _levels(problem: Problem, assignments: Sequence[Assignment]) -> list[int]:
    """Return for each job the level that is the first to have all classes of its allocation, in its shape."""
    found = [0] * len(problem.jobs)
    for a in assignments:
        used, tasks = {g for g, count in enumerate(a.mode.allocation) if count}, sum(a.mode.allocation)
        levels = enumerate(problem.levels[a.job])
        found[a.job] = next(n for n, level in levels if level.tasks == tasks and used <= set(level.classes))
    return found


def _run(incumbent: Incumbent) -> None:
    """Anneal in rounds from the best assignments."""
    problem, costs = incumbent.problem, Costs.of(incumbent.criterion)
    if costs is None or costs.heats[0] <= 0.0:
        return
    annealing = ListAnnealing(problem, costs, incumbent.state.options.seed + incumbent.attempt)
    annealing.consider_all(incumbent.best, incumbent.deadline)
    if math.isinf(annealing.value):
        return  # out of time

    def round_of(steps: int, deadline: float) -> list[Assignment]:
        annealing.round(steps, deadline)
        return annealing.best()[2]

    anneal_in_rounds(incumbent, round_of, first=FIRST_ROUND * len(problem.jobs), most=ROUNDS, name=METHOD.name)


def _is_of_use(incumbent: Incumbent) -> bool:
    problem = incumbent.problem
    is_asked = len(problem.classes) == 1 or Trait.FEW in incumbent.traits
    costs = Costs.of(incumbent.criterion) if is_asked and is_decoded(problem) else None
    return costs is not None and costs.heats[0] > 0.0


def is_decoded(problem: Problem) -> bool:
    """Return whether the engine makes schedules of lists of a problem."""
    is_free = not problem.is_tied and problem.contended_pools == problem.contended_stocks
    is_known = is_free and not problem.allocations.restricts_spreads
    return is_known and len(problem.jobs) * len(problem.classes) <= MOST_ENTRIES


METHOD = Method("list annealing", _run, Trait.SCHEDULE, _is_of_use, share=SHARE, repeats=True)
