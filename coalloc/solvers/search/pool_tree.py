"""Branch and bound on one pool of equal processors, compiled: some million nodes in a second.

The tree is that of :mod:`coalloc.solvers.search.branch_and_bound`. Where any processors are as good as any others, a
node is no more than an instant, who waits, and how many processors are held until when; so machine code goes through it
(:mod:`coalloc.solvers.search.pool_tree_kernel`), with what a pool allows beside: nodes are compared by what is held,
whoever holds it; what stays idle in the end, for no jobs that wait last just as long, counts; and where nothing runs
from the beginning, one job is in the first half of the schedule, for it could be run backwards.
Derivation: docs/mathematics.md, "Branch and bound for identical processors".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment, Problem
from coalloc.rules.dual_feasible import weightings
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.refutation import Refutation
from coalloc.solvers.special.bin_packing import are_rectangles, placed_in_order

Array = NDArray[Any]
Floats = NDArray[np.float64]

FEWEST_JOBS, MOST_JOBS = 10, 24
"""Jobs from which on it is worth its loading, and up to which it sees everything, or much, in seconds."""
LEAST_TIME = 10.0
"""Time limit, s, from which on it is: compiling takes some seconds, once."""
MOST_UNITS = 2**30
"""Units of time up to the latest end that it takes."""
MOST_WORDS = 512
"""Words of 64 units up to which sums of durations are looked at."""
NUM_WEIGHTINGS = 12
"""Dual feasible functions, those of the greatest bounds, that bound nodes."""
MEMORY = 524_287
"""Nodes that are remembered: a prime."""
MOST_HELD = 12
"""Steps of a profile up to which it is remembered."""
SLACK = 1e-6
"""Units that a sum of prices may lose: they are sums of some hundred floats."""
SHARE = 0.8
"""Share of the remaining time of a portfolio after which it stops."""


@dataclass(frozen=True, slots=True)
class Pool:
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
    def twins(self) -> list[int]:
        """For each job the one before it where it is equal, else -1."""
        kinds = list(zip(self.tasks, self.ticks, strict=True))
        return [j - 1 if j and kinds[j] == kinds[j - 1] else -1 for j in range(len(kinds))]

    @property
    def mirrored(self) -> int:
        """The job that is in the first half: the one of most work that has no twin; -1 where none may be chosen."""
        twins = self.twins
        alone = [j for j, twin in enumerate(twins) if twin < 0 and j not in twins]
        return -1 if self.busy else max(alone, key=lambda j: self.tasks[j] * self.ticks[j], default=-1)


def pool_of(problem: Problem) -> Pool | None:
    """Return a problem as a pool; None where processors differ, or anything but processors and time matters."""
    jobs = problem.jobs
    if not jobs or len(jobs) > MOST_JOBS or not problem.has_equal_releases or not are_rectangles(problem):
        return None
    release = problem.releases[0]
    busy = [(b.end - release, sum(b.allocation)) for b in problem.busy if b.end > release]
    durations = [levels[0].duration for levels in problem.levels]
    spans = [*durations, *(end for end, _ in busy)]
    if min(durations) <= 0.0 or not all(float(span).is_integer() for span in spans):
        return None
    unit = reduce(math.gcd, map(int, spans))
    order = sorted(range(len(jobs)), key=lambda j: (-jobs[j].tasks, -durations[j], j))
    return Pool(
        capacity=sum(problem.capacities),
        jobs=tuple(order),
        tasks=tuple(jobs[j].tasks for j in order),
        ticks=tuple(int(durations[j]) // unit for j in order),
        busy=tuple((int(end) // unit, tasks) for end, tasks in busy),
        release=release,
        unit=unit,
    )


class Jobs(NamedTuple):
    """Tasks of jobs, and of what runs from the beginning; of jobs alone their ticks and twins.

    A twin is the equal job before, -1 where there is none; ``mirrored`` is the job that is in the first half of the
    schedule, -1 where none is.
    """

    tasks: Array
    ticks: Array
    twins: Array
    mirrored: int


class State(NamedTuple):
    """Whether jobs, and what runs from the beginning, wait, run or are done, and their ends; the starts of jobs."""

    status: Array
    ends: Array
    starts: Array


class Path(NamedTuple):
    """The node of each level: its instant, and how many processors are free there and were just before.

    ``counts`` are the starts, ``started`` their places among the ``candidates``, ``places`` the next one to look at;
    ``ended`` is what ended at the instant. ``losses`` are what was lost at each price, ``rooms`` since when there is
    room for each job, -1 where there is none, and ``firsts`` the first ends after so many starts.
    """

    instants: Array
    free: Array
    before: Array
    places: Array
    counts: Array
    started: Array
    num_ended: Array
    ended: Array
    losses: Array
    rooms: Array
    candidates: Array
    num_candidates: Array
    firsts: Array


class Prices(NamedTuple):
    """What jobs, and what runs from the beginning, are worth per unit of time at each price, and what may be lost."""

    rates: Array
    slacks: Array


class Memory(NamedTuple):
    """Nodes that are remembered: who waited, when, and the steps of the profile of what ran: ends and tasks."""

    waiting: Array
    instants: Array
    sizes: Array
    profiles: Array


class PoolTree:
    """The search of a pool for a schedule that ends by a ceiling, units.

    ``dual_prices``, units by job in the order of the pool: no jobs that fit together are worth more than one per unit
    of time. ``ceiling`` falls with what is found; ``starts`` (units, by job) are the last that was.
    """

    def __init__(self, pool: Pool, ceiling: int, dual_prices: Sequence[float] = ()) -> None:
        num_jobs, num_busy = len(pool.jobs), len(pool.busy)
        self._pool, self._ends_of_busy = pool, np.array([end for end, _ in pool.busy], dtype=np.float64)
        tasks = [*pool.tasks, *(tasks for _, tasks in pool.busy)]
        self._ticks = np.array(pool.ticks)
        self._jobs = Jobs(np.array(tasks), self._ticks, np.array(pool.twins), pool.mirrored)
        self._rates = _rates(pool, tasks, dual_prices)
        self.starts = np.zeros(num_jobs, np.int64)
        ends = np.array([*([0] * num_jobs), *(end for end, _ in pool.busy)])
        status = np.array([0] * num_jobs + [1] * num_busy)
        self._state = State(status, ends, self.starts)
        self._path = _path_of(pool, len(self._rates))
        self._numbers = np.array([0, 1, ceiling, num_jobs, pool.capacity])
        self._memory = Memory(
            np.empty(MEMORY, np.uint64),
            np.empty(MEMORY, np.int64),
            np.full(MEMORY, -1, np.int16),
            np.empty((MEMORY, MOST_HELD, 2), np.int32),
        )
        self._profile = np.empty((num_jobs + num_busy, 2), np.int64)
        words = ceiling // 64 + 1
        self._words = np.zeros(words if words <= MOST_WORDS else 0, np.uint64)

    @property
    def ceiling(self) -> int:
        """The latest end, units, that is looked for."""
        return int(self._numbers[2])

    def lower(self, ceiling: int) -> None:
        """Look for what ends by an earlier ceiling from now on."""
        self._numbers[2] = min(ceiling, self.ceiling)

    def _slacks(self) -> Floats:
        """Return what may be lost at each price."""
        num_jobs = len(self._ticks)
        spans = np.concatenate([self._ticks, np.minimum(self._ends_of_busy, self.ceiling)])
        worth = self._rates[:, : num_jobs + len(self._ends_of_busy)] @ spans
        slacks: Floats = self.ceiling - worth + SLACK
        return slacks

    def run(self, max_nodes: int) -> str:
        """Search on; return "everything" where all was seen, "better" at a schedule, else "stopped"."""
        from coalloc.solvers.search import pool_tree_kernel as kernel

        slacks = self._slacks()
        if (slacks < 0.0).any():
            return "everything"
        ended = kernel.search(
            self._jobs,
            self._state,
            self._path,
            self._numbers,
            Prices(self._rates, slacks),
            self._memory,
            self._profile,
            self._words,
            max_nodes,
        )
        return {kernel.EVERYTHING: "everything", kernel.BETTER: "better"}.get(ended, "stopped")


def _path_of(pool: Pool, num_prices: int) -> Path:
    """Return the path with nothing but its first node."""
    num_jobs, num_busy = len(pool.jobs), len(pool.busy)
    levels, members = 2 * num_jobs + num_busy + 2, num_jobs + num_busy
    path = Path(
        instants=np.zeros(levels, np.int64),
        free=np.zeros(levels, np.int64),
        before=np.zeros(levels, np.int64),
        places=np.zeros(levels, np.int64),
        counts=np.zeros(levels, np.int64),
        started=np.zeros((levels, num_jobs), np.int64),
        num_ended=np.zeros(levels, np.int64),
        ended=np.zeros((levels, members), np.int64),
        losses=np.zeros((levels, num_prices)),
        rooms=np.full((levels, num_jobs), -1),
        candidates=np.zeros((levels, num_jobs), np.int64),
        num_candidates=np.zeros(levels, np.int64),
        firsts=np.zeros((levels, num_jobs + 1), np.int64),
    )
    path.free[0], path.before[0] = pool.capacity - sum(tasks for _, tasks in pool.busy), -1
    return path


def _rates(pool: Pool, tasks: Sequence[int], dual_prices: Sequence[float]) -> Floats:
    """Return what jobs, and what runs from the beginning, are worth per unit of time: a row for each of some prices.

    The first is the share of the processors; what fits together is worth 1 at most at each.
    """
    sizes, capacity = np.array(tasks, dtype=np.float64), pool.capacity
    durations = np.array([*pool.ticks, *(end for end, _ in pool.busy)], dtype=np.float64)
    thresholds = np.unique(np.minimum(sizes, capacity - sizes + 1.0))
    between = [
        np.where(sizes > capacity - least, 1.0, np.where(sizes < least, 0.0, sizes / capacity))
        for least in thresholds[(thresholds > 0.0) & (2.0 * thresholds <= capacity)]
    ]
    rows = np.unique(np.array([*weightings(tasks, capacity), *between]), axis=0)
    greatest = np.argsort(-(rows @ durations), kind="stable")[:NUM_WEIGHTINGS]
    chosen = [sizes / capacity, *rows[greatest]]
    if dual_prices:
        of_jobs = np.array(dual_prices) / np.array(pool.ticks)
        chosen.append(np.concatenate([of_jobs, np.zeros(len(pool.busy))]))
    return np.array(chosen)


class _Ends:
    """The tree of a pool, asked in ticks, as schedules of the problem."""

    def __init__(self, problem: Problem, pool: Pool, dual_prices: Sequence[float], ceiling: float) -> None:
        self._problem, self._pool = problem, pool
        prices = [dual_prices[j] / pool.unit for j in pool.jobs] if dual_prices else []
        self._tree = PoolTree(pool, pool.units(ceiling), prices)

    @property
    def proven(self) -> float:
        """The latest end, ticks, that is proven once everything was seen."""
        return self._pool.instant(self._tree.ceiling + 1)

    def lower(self, ceiling: float) -> None:
        """Look for what ends by an earlier ceiling, ticks, from now on."""
        self._tree.lower(self._pool.units(ceiling))

    def run(self, max_nodes: int, deadline: float) -> str:  # noqa: ARG002 - so many nodes take no time
        """Search on; see :meth:`PoolTree.run`."""
        return self._tree.run(max_nodes)

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""
        order = sorted(range(len(self._pool.jobs)), key=lambda k: self._tree.starts[k])
        return placed_in_order(self._problem, [self._pool.jobs[k] for k in order])


def _run(incumbent: Incumbent) -> None:
    """Refute ends, from what is proven on in ever longer steps, until one is reached or none is open."""
    problem, pool = incumbent.problem, pool_of(incumbent.problem)
    assert pool is not None
    Refutation(
        lambda ceiling: _Ends(problem, pool, incumbent.dual_prices, ceiling),
        lambda cost: pool.instant(pool.units(cost) - 1),
        pool.unit,
        METHOD.name,
    ).run(incumbent)


def _accepts(incumbent: Incumbent) -> bool:
    num_jobs, seconds = len(incumbent.problem.jobs), incumbent.state.options.seconds
    if not (incumbent.is_free and incumbent.best and incumbent.criterion.objective.is_latest_end):
        return False
    if not FEWEST_JOBS <= num_jobs <= MOST_JOBS or seconds < LEAST_TIME:
        return False
    pool = pool_of(incumbent.problem)
    return pool is not None and pool.units(incumbent.cost) <= MOST_UNITS


METHOD = Method("branch and bound on identical processors", _run, _accepts, share=SHARE)
