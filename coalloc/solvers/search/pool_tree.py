"""Branch and bound on one pool of equal processors: some million nodes in a second.

The tree is that of :mod:`coalloc.solvers.search.set_tree`. Where any processors are as good as any others, a
node is no more than a time, who waits, and how many processors are held until when. The engine goes through it
(``pool_tree.c``), with rules that one pool allows: nodes are compared by what is held, whoever holds it; what stays
idle in the end, for no jobs that wait last just as long, counts; and where nothing runs from the beginning, one job is
in the first half of the schedule, for it could be run backwards.
Derivation: docs/mathematics/exact-tree.md, "Identical processors".
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, engine
from coalloc.problem import Assignment, Problem
from coalloc.rules.dual_feasible import weightings
from coalloc.rules.tuning import MANY_JOBS, MOST, PRICES, REMEMBERED
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.refutation import ENDED, Refutation
from coalloc.solvers.special.bin_packing import are_rectangles, placed_in_order
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]

MOST_UNITS = 2**30
"""Processors, and units of time up to the latest end, that it takes."""
MOST_WORDS = 512
"""Words of 64 units up to which sums of durations are looked at."""
MOST_HELD = 12
"""Steps of a profile up to which it is remembered."""
SLACK = 1e-6
"""Units that a sum of prices may lose: they are sums of some hundred floats."""


@dataclass(frozen=True, slots=True)
class PoolProblem:
    """Jobs on equal processors: tasks and whole ticks of each, in the order in which they are tried.

    ``jobs`` are their numbers in the problem, ``busy`` the ends and processors of what runs from the beginning. A time
    is so many ``unit`` ticks after ``release``.
    """

    capacity: int
    jobs: tuple[int, ...]
    tasks: tuple[int, ...]
    ticks: tuple[int, ...]
    busy: tuple[tuple[int, int], ...]
    release: float
    unit: float

    def units(self, instant: float) -> int:
        """Return the greatest number of units that is no later than an instant, ticks."""
        units = (instant - self.release) / self.unit
        return math.floor(units + 1e-9 * max(1.0, abs(units)))

    def instant(self, units: int) -> float:
        """Return an instant, ticks."""
        return self.release + units * self.unit

    @property
    def all_tasks(self) -> list[int]:
        """Processors of all jobs, then of what runs from the beginning."""
        return [*self.tasks, *(tasks for _, tasks in self.busy)]

    @property
    def twins(self) -> list[int]:
        """For each job the one before it where it is equal, else -1."""
        kinds = list(zip(self.tasks, self.ticks, strict=True))
        return [j - 1 if j and kinds[j] == kinds[j - 1] else -1 for j in range(len(kinds))]

    @property
    def last(self) -> int:
        """Time at which all jobs that run from the beginning have ended, units."""
        return max((end for end, _ in self.busy), default=0)

    @property
    def mirrored(self) -> int:
        """The job that is in the first half: the one of most work that has no twin; -1 where none may be chosen."""
        twins = self.twins
        alone = [j for j, twin in enumerate(twins) if twin < 0 and j not in twins]
        return -1 if self.busy else max(alone, key=lambda j: self.tasks[j] * self.ticks[j], default=-1)


def pool_of(problem: Problem) -> PoolProblem | None:
    """Return a problem as a pool; None where processors differ, or anything but processors and time matters."""
    jobs = problem.jobs
    if not jobs or len(jobs) > MANY_JOBS or not problem.has_equal_releases or not are_rectangles(problem):
        return None
    if sum(problem.capacities) > MOST_UNITS:
        return None
    release = problem.releases[0]
    busy = [(b.end - release, sum(b.allocation)) for b in problem.busy if b.end > release]
    durations = [levels[0].duration for levels in problem.levels]
    spans = [*durations, *(end for end, _ in busy)]
    if min(durations) <= 0.0 or not all(float(span).is_integer() for span in spans):
        return None
    unit = reduce(math.gcd, map(int, spans))
    order = sorted(range(len(jobs)), key=lambda j: (-jobs[j].tasks, -durations[j], j))
    return PoolProblem(
        capacity=sum(problem.capacities),
        jobs=tuple(order),
        tasks=tuple(jobs[j].tasks for j in order),
        ticks=tuple(int(durations[j]) // unit for j in order),
        busy=tuple((int(end) // unit, tasks) for end, tasks in busy),
        release=release,
        unit=unit,
    )


class PoolTree:
    """The search of a pool for a schedule that ends by a ceiling, units.

    ``dual_prices``, units by job in the order of the pool: no jobs that fit together are worth more than one per unit
    of time. ``ceiling`` falls with what is found; ``starts`` (units, by job) are the last that was.
    """

    def __init__(self, pool: PoolProblem, ceiling: int, dual_prices: Sequence[float] = ()) -> None:
        self._pool, self.ceiling = pool, ceiling
        self._rates = _rates(pool, dual_prices)
        self._ends_of_busy = np.array([end for end, _ in pool.busy], dtype=np.int64)
        self.starts = np.zeros(len(pool.jobs), np.int64)
        self._tree = engine().pool_tree_new(
            len(pool.jobs),
            len(pool.busy),
            len(self._rates),
            pool.capacity,
            ceiling,
            pool.mirrored,
            REMEMBERED,
            MOST_HELD,
            MOST_WORDS,
            np.array(pool.all_tasks),
            np.array(pool.ticks),
            np.array(pool.twins),
            self._ends_of_busy,
            self._rates,
        )

    def lower(self, ceiling: int) -> None:
        """Look for what ends by an earlier ceiling from now on."""
        self.ceiling = min(ceiling, self.ceiling)

    def _slacks(self) -> Floats:
        """Return what may be lost at each price."""
        spans = np.concatenate([self._pool.ticks, np.minimum(self._ends_of_busy, self.ceiling)])
        slacks: Floats = self.ceiling - self._rates @ spans.astype(float) + SLACK
        return slacks

    def run(self, max_nodes: int, deadline: float = math.inf) -> tuple[str, int]:
        """Search on; return "everything" where all was seen, "better" at a schedule, else "stopped", and the nodes.

        ``deadline`` is a time of ``time.perf_counter()``, s, at which it stops as well.
        """
        slacks, left, nodes = self._slacks(), max_nodes, np.zeros(1, np.int64)
        if (slacks < 0.0).any():
            return "everything", 0
        while left > 0 and (seconds := min(LONGEST_CALL, deadline - time.perf_counter())) > 0.0:
            sizes = len(self.starts), len(slacks), self.ceiling, left, seconds
            ended = ENDED[engine().pool_tree_run(self._tree, *sizes, slacks, self.starts, nodes)]
            left -= int(nodes[0])
            if ended != "stopped":
                return ended, max_nodes - left
        return "stopped", max_nodes - left


def _rates(pool: PoolProblem, dual_prices: Sequence[float]) -> Floats:
    """Return what jobs, and what runs from the beginning, are worth per unit of time: a row for each of some prices.

    The first is the share of the processors; what fits together is worth 1 at most at each.
    """
    tasks, capacity = pool.all_tasks, pool.capacity
    sizes = np.array(tasks, dtype=np.float64)
    durations = np.array([*pool.ticks, *(end for end, _ in pool.busy)], dtype=np.float64)
    thresholds = np.unique(np.minimum(sizes, capacity - sizes + 1.0))
    between = [
        np.where(sizes > capacity - least, 1.0, np.where(sizes < least, 0.0, sizes / capacity))
        for least in thresholds[(thresholds > 0.0) & (2.0 * thresholds <= capacity)]
    ]
    rows = np.unique(np.array([*weightings(tasks, capacity), *between]), axis=0)
    greatest = np.argsort(-(rows @ durations), kind="stable")[:PRICES]
    chosen = [sizes / capacity, *rows[greatest]]
    if dual_prices:
        of_jobs = np.array(dual_prices) / np.array(pool.ticks)
        chosen.append(np.concatenate([of_jobs, np.zeros(len(pool.busy))]))
    return np.array(chosen)


class _Ends:
    """The tree of a pool, asked in ticks, as schedules of the problem."""

    def __init__(self, problem: Problem, pool: PoolProblem, dual_prices: Sequence[float], ceiling: float) -> None:
        self._problem, self._pool = problem, pool
        prices = [dual_prices[j] / pool.unit for j in pool.jobs] if dual_prices else []
        self._tree = PoolTree(pool, pool.units(ceiling), prices)

    @property
    def proven(self) -> float:
        """The latest end, ticks, that is proved once everything was seen."""
        return self._pool.instant(self._tree.ceiling + 1)

    def lower(self, ceiling: float) -> None:
        """Look for what ends by an earlier ceiling, ticks, from now on."""
        self._tree.lower(self._pool.units(ceiling))

    def run(self, max_nodes: int, deadline: float) -> tuple[str, int]:
        """Search on; see :meth:`PoolTree.run`."""
        return self._tree.run(max_nodes, deadline)

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""
        order = sorted(range(len(self._pool.jobs)), key=lambda k: self._tree.starts[k])
        return placed_in_order(self._problem, [self._pool.jobs[k] for k in order])


def _run(incumbent: Incumbent) -> None:
    """Refute ends, from what is proved on in ever longer steps, until one is reached or none is open."""
    problem, pool = incumbent.problem, pool_of(incumbent.problem)
    assert pool is not None
    Refutation(
        lambda ceiling: _Ends(problem, pool, incumbent.dual_prices, ceiling),
        lambda cost: pool.instant(pool.units(cost) - 1),
        pool.unit,
        METHOD.name,
    ).run(incumbent)


def _is_sized(incumbent: Incumbent) -> bool:
    pool = pool_of(incumbent.problem)
    return pool is not None and max(pool.units(incumbent.cost), pool.last) <= MOST_UNITS


NEEDS = Trait.MAKESPAN | Trait.UNTIED | Trait.SCHEDULE
METHOD = Method(
    "branch and bound on identical processors", _run, NEEDS, _is_sized, shares={Trait.NONE: (0.0, MOST, 0.0)}
)
