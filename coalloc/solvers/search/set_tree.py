"""Branch and bound over running sets: some million nodes in a second, on any platform.

The tree is that of :mod:`coalloc.solvers.search.branch_and_bound`. The engine goes through it (``set_tree.c``). Running
sets, each with every choice of modes that fits, are numbers there, and which set another becomes is looked up: there
are few thousands of them where there are millions of nodes (:mod:`coalloc.solvers.search.set_tables`). Nodes are
bounded at some dozen prices: now and then the search looks along its path for what is left at each node of each job,
and where the prices that are best for that show that nothing better can follow, all nodes are bounded at these as well
(:mod:`coalloc.solvers.bounds.remainder_prices`).
Derivation: docs/mathematics.md, "Branch and bound over running sets".
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import Handle, engine
from coalloc.problem import Assignment, Problem
from coalloc.solvers.backends import pumpkin
from coalloc.solvers.bounds.link_sets import MAX_CHOICES
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.ceilings import beyond_noise, ceiling_below, mirrored_kind
from coalloc.solvers.search.extension_search import latest_start
from coalloc.solvers.search.node_prices import NodePrices
from coalloc.solvers.search.pool_tree import pool_of
from coalloc.solvers.search.refutation import ENDED, LONGEST_CALL, Refutation
from coalloc.solvers.search.running_sets import TooManyError
from coalloc.solvers.search.set_tables import SetTables
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]

FEW_JOBS, MOST_JOBS = 12, 24
"""Jobs up to which it is done in a second, whatever the gap, and up to which it sees much in seconds."""
MAX_PRICES = 32
"""Prices that bound nodes."""
MEMORY = 1_048_573
"""Nodes that are remembered: a prime."""
FIRST_LESSON, LAST_LESSON = 1_000, 100_000
"""Nodes between two looks for better prices: twice as many after one that finds none, half as many after others."""
FEWEST_LEFT = 3
"""Jobs that wait at nodes at which better prices are looked for."""
FIRST_NODES = 500_000
"""Nodes of the first search, for what is better than the best that is known."""
STEPS = 15
"""First steps of the ceilings, in continuous time, that the gap has room for."""
NEAR, FAR = 0.64, 1.6
"""Gaps, as shares, times the jobs beyond ``FEW_JOBS``, up to which it begins before the heuristics, and at all.

It refutes ends from the bound on: where the best end is far from it, it spends its time on what nobody asks.
"""
SHARE, FURTHER_SHARE, OVER_TIME_SHARE = 0.35, 0.5, 0.7
"""Shares of the remaining time of a portfolio after which it stops: where the end is near, and else; and where jobs
arrive over time, for it is mostly done by then.
"""


class SetTree:
    """The search of a problem for a schedule that ends by a ceiling, ticks, with tables that trees share.

    Running it raises :class:`TooManyError` where there are too many running sets.
    """

    def __init__(self, problem: Problem, tables: SetTables, prices: NodePrices, ceiling: float) -> None:
        self._problem, self._tables, self._prices, self._ceiling = problem, tables, prices, ceiling
        self._tree = _in_engine(problem, tables)
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
        ceiling, left = beyond_noise(self._problem, self._ceiling), max_nodes
        while left > 0 and (seconds := min(LONGEST_CALL, deadline - time.perf_counter())) > 0.0:
            slacks = self._slacks(ceiling)
            if (slacks < 0.0).any():
                return "everything"
            ended, nodes = self._call(min(left, self._until_lesson), ceiling, seconds, slacks)
            left -= nodes
            self._until_lesson -= nodes
            if ended != "stopped":
                return ended
            if self._until_lesson <= 0:
                self._learn(ceiling, deadline)
        return "stopped"

    def _call(self, max_nodes: int, ceiling: float, seconds: float, slacks: Floats) -> tuple[str, int]:
        """Let the engine search on; return how that ended, and the nodes."""
        nodes, hits = np.zeros(1, np.int64), self._prices.hits[: len(slacks)]
        ended = engine().set_tree_run(self._tree, len(slacks), max_nodes, ceiling, seconds, slacks, hits, nodes)
        if ended == len(ENDED):
            raise TooManyError
        return ENDED[ended], int(nodes[0])

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""
        num_jobs, sets = len(self._problem.jobs), self._tables.sets
        keys, modes, starts = np.zeros(num_jobs, np.int64), np.zeros(num_jobs, np.int64), np.zeros(num_jobs)
        engine().set_tree_schedule(self._tree, num_jobs, keys, starts, modes)
        left, found = [iter(of_kind) for of_kind in sets.kinds], []
        for number, start, mode in zip(keys.tolist(), starts.tolist(), modes.tolist(), strict=True):
            key = self._tables.keys[number]
            job = next(left[key[0]])
            found.append(Assignment(job, start, self._problem.modes[job][sets.mode(key, mode)]))
        return found

    # ------------------------------------------------------------------ bounds

    def _slacks(self, ceiling: float) -> Floats:
        """Return what may be lost at each price."""
        slacks: Floats = ceiling - min(self._problem.releases) - self._tables.worths[: self._prices.number]
        return slacks

    def _learn(self, ceiling: float, deadline: float) -> None:
        """Look along the path for a node that better prices would have left, and take them."""
        row = None
        for level in range(1, engine().set_tree_level(self._tree) + 1):
            left, now = self._left(level)
            if (left >= 1.0).sum() < FEWEST_LEFT or time.perf_counter() > deadline:
                break
            row = self._prices.learn(left, ceiling - now, deadline)
            if row is not None:
                engine().set_tree_lose(self._tree, row)
                break
        more = 2 * self._lesson if row is None else self._lesson // 2
        self._lesson = self._until_lesson = min(LAST_LESSON, max(FIRST_LESSON, more))

    def _left(self, level: int) -> tuple[Floats, float]:
        """Return what share of each job is left at a level, before others start there, and when that is, ticks.

        Of equal jobs it is the mean.
        """
        kinds = self._tables.sets.kinds
        numbers, now = np.zeros(len(kinds)), np.zeros(1)
        engine().set_tree_left(self._tree, level, len(kinds), numbers, now)
        left = np.zeros(len(self._problem.jobs))
        for of_kind, number in zip(kinds, numbers.tolist(), strict=True):
            left[of_kind] = number / len(of_kind)
        return left, float(now[0])


def _in_engine(problem: Problem, tables: SetTables) -> Handle:
    """Return the tree of a problem in the engine, with nothing but its first node."""
    sets, release = tables.sets, min(problem.releases)
    mirrored = mirrored_kind(problem, sets)
    busy = [b for b, running in enumerate(problem.busy) if running.end > release]
    handle: Handle = engine().set_tree_new(
        tables.handle,
        len(sets.kinds),
        tables.num_keys,
        len(busy),
        -1 if mirrored is None else mirrored,
        MEMORY,
        release,
        np.array([kind for kind, _ in tables.keys[: tables.num_keys]], dtype=np.int64),
        tables.durations,
        np.array([len(of_kind) for of_kind in sets.kinds]),
        np.array([problem.releases[j] for j, *_ in sets.kinds], dtype=float),
        np.array([latest_start(problem, j) for j, *_ in sets.kinds], dtype=float),
        np.array([problem.latest_ends[j] for j, *_ in sets.kinds], dtype=float),
        np.array(tables.shortest, dtype=float),
        np.array([_bits_before(problem, j) for j, *_ in sets.kinds], dtype=np.uint64),
        np.array([tables.num_keys + b for b in busy], dtype=np.int64),
        np.array([problem.busy[b].end for b in busy], dtype=float),
    )
    return handle


def _bits_before(problem: Problem, j: int) -> int:
    """Return the bits of the kinds that have to end before a job, by index, may start."""
    return sum(1 << kind for kind in {problem.kinds[i] for i in problem.before[j]})


def _run(incumbent: Incumbent) -> None:
    with _refutation(incumbent) as refutation:
        refutation.run(incumbent)


def _run_first(incumbent: Incumbent) -> None:
    with _refutation(incumbent) as refutation:
        refutation.improve(incumbent, FIRST_NODES)


@contextmanager
def _refutation(incumbent: Incumbent) -> Iterator[Refutation]:
    """Yield the refutation of a problem, which goes on where it was stopped, until there are too many running sets."""
    refutation = incumbent.kept(Refutation)
    if refutation is None:
        refutation = _begun(incumbent)
        incumbent.keep(refutation)
    try:
        yield refutation
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


def _is_within(incumbent: Incumbent, far: float) -> bool:
    """Return whether the gap, as a share, times the jobs beyond few is at most so much, and the tree applies."""
    problem = incumbent.problem
    is_near = (incumbent.cost - incumbent.proven) * (len(problem.jobs) - FEW_JOBS) <= far * incumbent.cost
    return is_near and _applies(incumbent)


def _applies(incumbent: Incumbent) -> bool:
    """Return whether the tree is for a problem, whatever its gap, and has not gone as far as it goes."""
    begun = incumbent.kept(Refutation)
    return _is_for_it(incumbent.problem) and not (begun is not None and begun.is_exhausted)


def _is_for_it(problem: Problem) -> bool:
    """Return whether a problem is of the kind that the tree is for: its jobs last, and not one by one."""
    if len(problem.jobs) > MOST_JOBS or problem.allocations.number > MAX_CHOICES:
        return False
    least = min(level.duration for levels in problem.levels for level in levels)
    is_searched = problem.has_monotone_capacity and problem.declared.only_precedes
    return least > 0.0 and is_searched and (problem.couples or pool_of(problem) is None)


def is_near(incumbent: Incumbent) -> bool:
    """Return whether the gap is small enough for the tree at first."""
    return _is_within(incumbent, NEAR)


def is_far(incumbent: Incumbent) -> bool:
    """Return whether it is small enough once schedules have been sampled."""
    return _is_within(incumbent, FAR)


def _would_wait(incumbent: Incumbent) -> bool:
    """Return whether the tree would wait for Pumpkin."""
    return pumpkin.is_of_use(incumbent) and is_near(incumbent)


NEEDS = Trait.MAKESPAN | Trait.SCHEDULE | Trait.PRICES
FIRST = Method("branch and bound over running sets", _run_first, NEEDS, _applies, share=SHARE)
METHOD = Method(FIRST.name, _run, NEEDS | Trait.EQUAL_ARRIVALS, is_near, share=SHARE)
EARLY = replace(METHOD, needs=METHOD.needs | pumpkin.BEGUN.needs, also=_would_wait)
FURTHER = replace(METHOD, also=is_far, share=FURTHER_SHARE, repeats=True)
OVER_TIME = replace(FURTHER, needs=NEEDS | Trait.ARRIVALS_OVER_TIME, share=OVER_TIME_SHARE)
"""Of jobs that arrive over time the bound on the best end is as often right, so schedules come first."""
