"""Branch and bound over running sets, compiled: some million nodes in a second, on any platform.

The tree is that of :mod:`coalloc.solvers.search.branch_and_bound`. Running sets, each with every choice of modes that
fits, are numbers here, and what each becomes is looked up (:mod:`coalloc.solvers.search.set_tables`): there are few
thousands of them where there are millions of nodes. So machine code goes through the tree
(:mod:`coalloc.solvers.search.set_tree_kernel`), and asks where it comes to a set that is new. Nodes are bounded at some
dozen prices: now and then the nodes of the path are asked what is left there of each job, and where the prices that
are best for that show that nothing better can follow, all nodes are bounded at these as well
(:mod:`coalloc.solvers.bounds.remainder_prices`).
Derivation: docs/mathematics.md, "Branch and bound over running sets".
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment, Problem
from coalloc.solvers.backends import pumpkin
from coalloc.solvers.bounds.link_sets import MAX_CHOICES
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.ceilings import beyond_noise, ceiling_below, mirrored_kind
from coalloc.solvers.search.extension_search import Member, assignments_of
from coalloc.solvers.search.node_prices import NodePrices
from coalloc.solvers.search.pool_tree import pool_of
from coalloc.solvers.search.refutation import Refutation
from coalloc.solvers.search.running_sets import RunningSet, TooManyError
from coalloc.solvers.search.set_tables import MOST_MEMBERS, SetTables

Array = NDArray[Any]
Floats = NDArray[np.float64]

FEWEST_JOBS, MOST_JOBS = 12, 24
"""Jobs from which on it is worth its loading, and up to which it sees much in seconds."""
LEAST_TIME = 10.0
"""Time limit, s, from which on it is: compiling takes some seconds, once."""
MAX_PRICES = 32
"""Prices that bound nodes."""
MEMORY = 1_048_573
"""Nodes that are remembered: a prime."""
FIRST_LESSON, LAST_LESSON = 1_000, 100_000
"""Nodes between two looks for better prices: twice as many after one that finds none, half as many after others."""
FEWEST_LEFT = 3
"""Jobs that wait at nodes at which better prices are looked for."""
STEPS = 15
"""First steps of the ceilings, in continuous time, that the gap has room for."""
NEAR, FAR = 0.64, 1.6
"""Gaps, as shares, times the jobs beyond ``FEWEST_JOBS``, up to which it begins before the heuristics, and at all.

It refutes ends from the bound on: where the best end is far from it, it spends its time on what nobody asks.
"""
SHARE, FURTHER_SHARE, OVER_TIME_SHARE = 0.35, 0.5, 0.7
"""Shares of the remaining time of a portfolio after which it stops: where the end is near, and else; and where jobs
arrive over time, for it is mostly done by then.
"""


class Keys(NamedTuple):
    """Kinds of jobs at each duration: kind, ticks, worth of a tick at each price; and of kinds where they stand.

    Among those that wait, packed, a kind is ``shifts`` bits up, under ``masks``. ``releases`` are when it arrives,
    ``shortest`` its least ticks, and ``mirrored`` is the kind that is in the first half of the schedule, -1 where none
    is.
    """

    kinds: Array
    ticks: Array
    rates: Array
    shifts: Array
    masks: Array
    releases: Array
    shortest: Array
    mirrored: Array


class Path(NamedTuple):
    """The node of each level: its instant, who waits (packed), and what runs, by key and end.

    ``sets`` are the running sets after so many starts, ``counts`` the starts, ``started`` their places among the
    ``candidates``, ``places`` the next one to look at; ``firsts`` are the first ends after so many starts, ``losses``
    what was lost at each price, ``rooms`` since when each key has room. The last two are what is compared in the
    memory, in the order of keys, then of ends.
    """

    instants: Array
    waiting: Array
    sets: Array
    counts: Array
    places: Array
    num_candidates: Array
    candidates: Array
    started: Array
    firsts: Array
    losses: Array
    rooms: Array
    num_members: Array
    members: Array
    ends: Array
    lasting_keys: Array
    lasting_ends: Array


class Memory(NamedTuple):
    """Nodes that are remembered: who waited, when, the running set, how many ran and until when."""

    waiting: Array
    instants: Array
    sizes: Array
    sets: Array
    ends: Array


class SetTree:
    """The search of a problem for a schedule that ends by a ceiling, ticks, with tables that trees share.

    Running it raises :class:`TooManyError` where there are too many running sets.
    """

    def __init__(self, problem: Problem, tables: SetTables, prices: NodePrices, ceiling: float) -> None:
        self._problem, self._tables, self._prices = problem, tables, prices
        self._ceiling = ceiling
        self._keys = _keys_of(problem, tables)
        self._path = _path_of(problem, tables, self._keys)
        self._numbers = np.array([-1, 1, 0, 0])
        self._memory = Memory(
            np.empty(MEMORY, np.uint64),
            np.empty(MEMORY),
            np.full(MEMORY, -1, np.int16),
            np.empty(MEMORY, np.int32),
            np.empty((MEMORY, MOST_MEMBERS)),
        )
        self._lesson, self._until_lesson = FIRST_LESSON, FIRST_LESSON

    @property
    def proven(self) -> float:
        """The latest end, ticks, that is proven once everything was seen."""
        return self._ceiling if self._problem.slot is None else math.floor(self._ceiling) + 1.0

    def lower(self, ceiling: float) -> None:
        """Look for what ends by an earlier ceiling, ticks, from now on."""
        self._ceiling = min(self._ceiling, ceiling)

    def run(self, max_nodes: int, deadline: float = math.inf) -> str:
        """Search on; return "everything" where all was seen, "better" at a schedule, else "stopped".

        ``deadline`` is an instant of ``time.perf_counter()``, s, at which it stops as well.
        """
        from coalloc.solvers.search import set_tree_kernel as kernel

        left, tables = max_nodes, self._tables
        while left > 0 and time.perf_counter() < deadline:
            ceiling = beyond_noise(self._problem, self._ceiling)
            slacks = self._slacks(ceiling)
            if (slacks < 0.0).any():
                return "everything"
            ended, nodes = kernel.search(
                self._keys,
                self._path,
                self._numbers,
                ceiling,
                slacks,
                self._prices.hits,
                tables.tables,
                self._memory,
                min(left, self._until_lesson),
            )
            left -= nodes
            self._until_lesson -= nodes
            if ended == kernel.JOINING:
                tables.join(*self._numbers[2:].tolist())
            elif ended == kernel.LEAVING:
                tables.leave(*self._numbers[2:].tolist())
            elif ended != kernel.STOPPED:
                return "everything" if ended == kernel.EVERYTHING else "better"
            if self._until_lesson <= 0:
                self._learn(ceiling, deadline)
        return "stopped"

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""
        return assignments_of(self._problem, self._tables.sets, list(self._steps()))

    def _steps(self) -> Iterator[tuple[RunningSet, list[Member]]]:
        """Yield the running sets of the path, with who their members are."""
        path, tables = self._path, self._tables
        lasting = [
            (float(path.ends[0, i]), Member(tables.keys[path.members[0, i]], -math.inf, 0, i))
            for i in range(self._num_before(0))
        ]
        for level in range(self._numbers[0] + 1):
            now = float(path.instants[level])
            lasting = [(end, member) for end, member in lasting if end > now]
            for i, key in enumerate(self._started(level)):
                end = now + float(self._keys.ticks[key])
                lasting.append((end, Member(tables.keys[key], now, level + 1, i)))
            running = tables[int(path.sets[level, path.counts[level]])]
            yield running, [member for _, member in sorted(lasting, key=lambda pair: (pair[1].key, pair[0]))]

    def _started(self, level: int) -> list[int]:
        """Return the keys that have started at a level."""
        path = self._path
        places = path.started[level, : path.counts[level]]
        keys: list[int] = path.candidates[level, places].tolist()
        return keys

    def _num_before(self, level: int) -> int:
        """Return how many ran at a level before others started."""
        return int(self._path.num_members[level] - self._path.counts[level])

    # ------------------------------------------------------------------ bounds

    def _slacks(self, ceiling: float) -> Floats:
        """Return what may be lost at each price."""
        slacks: Floats = ceiling - float(self._path.instants[0]) - self._tables.worths[: self._prices.number]
        return slacks

    def _learn(self, ceiling: float, deadline: float) -> None:
        """Look along the path for a node that better prices would have left, and take them."""
        row = None
        for level in range(1, self._numbers[0] + 1):
            left = self._left(level)
            if (left >= 1.0).sum() < FEWEST_LEFT or time.perf_counter() > deadline:
                break
            row = self._prices.learn(left, ceiling - float(self._path.instants[level]), deadline)
            if row is not None:
                self._lose(row)
                break
        more = 2 * self._lesson if row is None else self._lesson // 2
        self._lesson = self._until_lesson = min(LAST_LESSON, max(FIRST_LESSON, more))

    def _left(self, level: int) -> Floats:
        """Return what share of each job is left at a level, before others start there: of equal jobs the mean."""
        path, keys, sets = self._path, self._keys, self._tables.sets
        waiting = (path.waiting[level] >> keys.shifts).astype(np.int64) & keys.masks
        numbers = waiting.astype(float)
        for key in self._started(level):
            numbers[keys.kinds[key]] += 1.0
        now = path.instants[level]
        for key, end in zip(path.members[level], path.ends[level, : self._num_before(level)], strict=False):
            if key < len(keys.kinds):
                numbers[keys.kinds[key]] += (end - now) / keys.ticks[key]
        left = np.zeros(len(self._problem.jobs))
        for of_kind, number in zip(sets.kinds, numbers.tolist(), strict=True):
            left[of_kind] = number / len(of_kind)
        return left

    def _lose(self, row: int) -> None:
        """Note what was lost along the path at new prices."""
        path, rates = self._path, self._tables.tables.rates
        for level in range(self._numbers[0]):
            span = path.instants[level + 1] - path.instants[level]
            rate = rates[path.sets[level, path.counts[level]], row]
            path.losses[level + 1, row] = path.losses[level, row] + (1.0 - rate) * span


def _keys_of(problem: Problem, tables: SetTables) -> Keys:
    of_jobs, sets = tables.keys[: tables.num_keys], tables.sets
    numbers = [len(of_kind) for of_kind in sets.kinds]
    widths = [number.bit_length() for number in numbers]
    mirrored = mirrored_kind(problem, sets)
    return Keys(
        kinds=np.array([kind for kind, _ in of_jobs]),
        ticks=np.array([sets.durations[kind][level] for kind, level in of_jobs], dtype=float),
        rates=tables.rates,
        shifts=np.array([0, *accumulate(widths[:-1])], dtype=np.uint64),
        masks=np.array([(1 << width) - 1 for width in widths]),
        releases=np.array([problem.releases[j] for j, *_ in sets.kinds], dtype=float),
        shortest=np.array(tables.shortest, dtype=float),
        mirrored=np.array([-1 if mirrored is None else mirrored]),
    )


def _path_of(problem: Problem, tables: SetTables, keys: Keys) -> Path:
    """Return the path with nothing but its first node."""
    num_jobs, num_keys, release = len(problem.jobs), tables.num_keys, min(problem.releases)
    busy = [b for b, running in enumerate(problem.busy) if running.end > release]
    levels, members = num_jobs + len(busy) + len(set(problem.releases)) + 1, num_jobs + len(busy)
    path = Path(
        instants=np.zeros(levels),
        waiting=np.zeros(levels, np.uint64),
        sets=np.zeros((levels, num_jobs + 1), np.int32),
        counts=np.zeros(levels, np.int64),
        places=np.zeros(levels, np.int64),
        num_candidates=np.zeros(levels, np.int64),
        candidates=np.zeros((levels, num_keys), np.int64),
        started=np.zeros((levels, num_jobs), np.int64),
        firsts=np.zeros((levels, num_jobs + 1)),
        losses=np.zeros((levels, len(tables.worths))),
        rooms=np.full((levels, num_keys), math.inf),
        num_members=np.zeros(levels, np.int64),
        members=np.zeros((levels, members), np.int64),
        ends=np.zeros((levels, members)),
        lasting_keys=np.zeros(members, np.int64),
        lasting_ends=np.zeros(members),
    )
    numbers = [len(of_kind) for of_kind in tables.sets.kinds]
    path.instants[0], path.num_members[0] = release, len(busy)
    path.waiting[0] = sum(number << shift for number, shift in zip(numbers, keys.shifts.tolist(), strict=True))
    path.sets[0, 0] = tables.number(tables.sets.busy(busy))
    path.members[0, : len(busy)] = [tables.number_of[len(numbers) + b, 0] for b in busy]
    path.ends[0, : len(busy)] = [problem.busy[b].end for b in busy]
    return path


def _run(incumbent: Incumbent) -> None:
    refutation = incumbent.kept(Refutation)
    if refutation is None:
        refutation = _begun(incumbent)
        incumbent.keep(refutation)
    try:
        refutation.run(incumbent)
    except TooManyError:
        refutation.is_exhausted = True


def _begun(incumbent: Incumbent) -> Refutation:
    """Return the refutation of ends of a problem, of which none is refuted yet."""
    problem = incumbent.problem
    tables = SetTables(problem, ceiling_below(problem, incumbent.cost), MAX_PRICES)
    prices = NodePrices(problem, tables, incumbent.dual_prices)
    unit = 1.0 if problem.slot is not None else (incumbent.cost - incumbent.proven) / STEPS
    return Refutation(
        lambda ceiling: SetTree(problem, tables, prices, ceiling),
        lambda cost: ceiling_below(problem, cost),
        unit,
        METHOD.name,
    )


def _accepts(incumbent: Incumbent, far: float) -> bool:
    """Accept what has a gap of so much, as a share, times the jobs beyond the fewest."""
    problem, begun = incumbent.problem, incumbent.kept(Refutation)
    if not (
        incumbent.is_free and incumbent.best and incumbent.dual_prices and incumbent.criterion.objective.is_latest_end
    ):
        return False
    if not FEWEST_JOBS <= len(problem.jobs) <= MOST_JOBS or incumbent.state.options.seconds < LEAST_TIME:
        return False
    if (incumbent.cost - incumbent.proven) * (len(problem.jobs) - FEWEST_JOBS) > far * incumbent.cost:
        return False
    return _is_for_it(problem) and not (begun is not None and begun.is_exhausted)


def _is_for_it(problem: Problem) -> bool:
    """Return whether a problem is of the kind that the tree is for: its jobs last, and not one by one."""
    if problem.allocations.number > MAX_CHOICES:
        return False
    least = min(level.duration for levels in problem.levels for level in levels)
    return least > 0.0 and problem.declared.is_searched and pool_of(problem) is None


def _accepts_near(incumbent: Incumbent) -> bool:
    return incumbent.problem.has_equal_releases and _accepts(incumbent, NEAR)


def _accepts_far(incumbent: Incumbent) -> bool:
    return incumbent.problem.has_equal_releases and _accepts(incumbent, FAR)


def _accepts_over_time(incumbent: Incumbent) -> bool:
    """Accept jobs that arrive over time: the bound on their best end is as often right, so schedules come first."""
    return not incumbent.problem.has_equal_releases and _accepts(incumbent, FAR)


def may_follow(incumbent: Incumbent) -> bool:
    """Return whether the tree is searched once schedules have been sampled."""
    return _accepts(incumbent, FAR)


def _accepts_early(incumbent: Incumbent) -> bool:
    """Accept what would wait for Pumpkin."""
    return pumpkin.BEGUN.accepts(incumbent) and _accepts_near(incumbent)


METHOD = Method("branch and bound over running sets", _run, _accepts_near, share=SHARE)
EARLY = Method(METHOD.name, _run, _accepts_early, share=SHARE)
FURTHER = Method(METHOD.name, _run, _accepts_far, share=FURTHER_SHARE, repeats=True)
OVER_TIME = Method(METHOD.name, _run, _accepts_over_time, share=OVER_TIME_SHARE, repeats=True)
