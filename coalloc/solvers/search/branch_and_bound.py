"""Branch and bound over extension alternatives: at each instant at which something ends or arrives, what starts.

A schedule whose jobs start as early as their order allows starts each at such an instant, and one of these
is optimal. So a node is an instant with what runs then and which jobs wait; its children are the sets
of waiting jobs, each at one of its durations, that start. On which nodes a job runs is decided late: a running set
holds *every* choice of a mode for each of its jobs that fits. A node is given up where a bound at
the prices of the feasible sets shows that nothing better can follow, or where another was seen with the
same jobs running and waiting, none of them later. Derivation: docs/mathematics.md, "Branch and
bound over extension alternatives". Source: J. Stinson, E. Davis, B. Khumawala, "Multiple resource-constrained
scheduling using branch and bound", AIIE Transactions 10 (1978); E. Demeulemeester, W. Herroelen, "A branch-and-bound
procedure for the multiple resource-constrained project scheduling problem", Management Science 38 (1992).
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import le

from coalloc.problem import Assignment, Problem
from coalloc.solvers.bounds.link_sets import MAX_CHOICES
from coalloc.solvers.context import Context
from coalloc.solvers.method import Method
from coalloc.solvers.result import PROOF_TOLERANCE
from coalloc.solvers.search.running_sets import (
    ExtensionAlternative,
    Key,
    ModeChoice,
    RunningSet,
    RunningSets,
    TooManyError,
)

MAX_JOBS = 16
"""Jobs up to which the search is tried."""
MAX_NODES = 60_000
"""Nodes of the search in a portfolio."""
SHARE = 0.25
"""Share of the remaining time of a portfolio after which it stops."""
SLOT_NOISE, NOISE = 1e-6, 1e-12
"""What the sums of a bound may lose: in slots, and as a share of its size.

A bound is a sum of some hundred floats, each right to 1e-16 of its size, so both are ample; and a node that is as close
as that to the ceiling is kept, not left. In slots ends are whole: what is kept for the noise is no new end.
"""

OnSchedule = Callable[[list[Assignment]], bool]


@dataclass(frozen=True, slots=True)
class _Node:
    """An instant (ticks): who runs until when, who waits (a bit per job), and the bound at the prices."""

    now: float
    running: RunningSet
    ends: tuple[float, ...]
    waiting: int
    bound: float


class _StoppedError(Exception):
    """The search came to an end before it had seen everything."""


def may_search(problem: Problem) -> bool:
    """Return whether a problem is of the size, and the kind, that the search is for."""
    is_small = len(problem.jobs) <= MAX_JOBS and sum(map(problem.count_allocations, problem.jobs)) <= MAX_CHOICES
    return is_small and problem.is_plain and not problem.busy


class BranchAndBound:
    """The search for one problem.

    Parameters
    ----------
    dual_prices
        Dual price of each job, ticks: no jobs that fit together bring more than one tick per tick, where a job of
        ``d`` ticks brings ``price / d`` (:class:`FeasibleSets`).
    best
        Latest end (ticks) that is known; only better ones are looked for.
    target
        Latest end, ticks, at which the search stops: a proven bound.
    on_schedule
        Hears of every better schedule, and says whether it is valid.
    """

    def __init__(
        self, problem: Problem, dual_prices: Sequence[float], *, best: float, target: float, on_schedule: OnSchedule
    ) -> None:
        self.best = best
        self._target = target
        self._on_schedule = on_schedule
        self._problem = problem
        self._running_sets = RunningSets(problem, dual_prices, self._ceiling)
        self._dual_prices = dual_prices
        self._arrivals = sorted(set(problem.releases))
        self._last_arrival = self._arrivals[-1]
        self._num_nodes = 0
        self._seen: dict[tuple[int, int, tuple[Key, ...]], list[_Node]] = {}
        self._starts: dict[Key, float] = {}
        self._path: list[RunningSet] = []
        self._longest: dict[int, float] = {0: 0.0}

    @property
    def proven(self) -> float:
        """What the latest end is proven to be at least, ticks, once :meth:`run` has seen everything."""
        if self._problem.slot is not None:
            return self.best
        return self.best - 0.5 * PROOF_TOLERANCE * (self.best - self._problem.instance.origin)

    @property
    def _ceiling(self) -> float:
        """The latest end, ticks, that would be worth finding."""
        ceiling = self.best - 1 + SLOT_NOISE if self._problem.slot is not None else self.proven
        return ceiling + NOISE * self.best

    def run(self, max_nodes: int, deadline: float = math.inf) -> bool:
        """Search; return whether everything was seen, so that no schedule ends before ``proven``.

        Stops after ``max_nodes`` nodes or at the deadline, an instant of ``time.perf_counter()``, s.
        """
        self._max_nodes, self._deadline = max_nodes, deadline
        try:
            self._visit(self._root())
        except (_StoppedError, TooManyError):
            return False
        return True

    def _root(self) -> _Node:
        waiting = sum(1 << j for j in range(len(self._dual_prices)))
        now = min(self._problem.releases)
        return _Node(now, self._running_sets.nobody, (), waiting, now + math.fsum(self._dual_prices))

    def _visit(self, node: _Node) -> None:
        self._count()
        for child, start in sorted(self._children(node), key=lambda pair: (pair[0].bound, -pair[0].running.rate)):
            if child.bound > self._ceiling:
                return  # those after it are bounded no lower, and the ceiling only falls
            self._starts |= dict.fromkeys(start.keys, node.now)
            self._path.append(start.running)
            if not child.waiting:
                self._end()
            elif not self._is_known(child):
                self._visit(child)
            self._path.pop()
            for key in start.keys:
                del self._starts[key]

    def _count(self) -> None:
        self._num_nodes += 1
        if self._num_nodes > self._max_nodes or time.perf_counter() > self._deadline:
            raise _StoppedError

    def _children(self, node: _Node) -> Iterator[tuple[_Node, ExtensionAlternative]]:
        """Yield the node after each start that may lead to something better."""
        now, ceiling = node.now, self._ceiling
        ready, arrival = self._ready(node)
        first = min(min(node.ends, default=math.inf), arrival)
        for start in self._running_sets.starts(node.running, ready):
            later = min(first, now + start.shortest)
            if start.jobs & ~ready or later == math.inf or now + start.longest > ceiling:
                continue
            bound = node.bound + (later - now) * (1.0 - start.running.rate)
            waiting = node.waiting & ~start.jobs
            if bound <= ceiling and later + self._longest_of(waiting) <= ceiling:
                yield self._after(node, start, later, waiting, bound), start

    def _after(self, node: _Node, start: ExtensionAlternative, later: float, waiting: int, bound: float) -> _Node:
        ends = dict(zip(node.running.keys, node.ends, strict=True))
        for key in start.keys:
            ends[key] = node.now + self._running_sets.durations[key[0]][key[1]]
        keys = tuple([key for key in start.running.keys if ends[key] > later])
        running = self._running_sets.without(start.running, keys)
        return _Node(later, running, tuple([ends[key] for key in keys]), waiting, bound)

    def _ready(self, node: _Node) -> tuple[int, float]:
        """Return the jobs that wait and have arrived, a bit each, and when the next one arrives."""
        if node.now >= self._last_arrival:
            return node.waiting, math.inf
        waiting = [j for j in range(len(self._dual_prices)) if node.waiting >> j & 1]
        releases = self._problem.releases
        arrived = sum(1 << j for j in waiting if releases[j] <= node.now)
        return arrived, min((releases[j] for j in waiting if releases[j] > node.now), default=math.inf)

    def _longest_of(self, jobs: int) -> float:
        """Return the longest of the least durations of jobs, ticks."""
        if jobs not in self._longest:
            lowest = jobs & -jobs
            shortest = min(self._running_sets.durations[lowest.bit_length() - 1], default=math.inf)
            self._longest[jobs] = max(self._longest_of(jobs ^ lowest), shortest)
        return self._longest[jobs]

    def _is_known(self, node: _Node) -> bool:
        """Return whether a node was seen that is no worse; remember this one where not.

        Depth first, and as no node is like one that it came from, what was seen has been searched to its end.
        Source: the cutset rule of Demeulemeester and Herroelen.
        """
        arrived = bisect_right(self._arrivals, node.now)
        known = self._seen.setdefault((node.waiting, arrived, node.running.keys), [])
        if any(_is_no_worse(other, node) for other in known):
            return True
        known.append(node)
        return False

    def _end(self) -> None:
        """Offer the schedule of the path: from the last running set back, a choice that agrees with those after."""
        chosen: dict[Key, int] = {}
        for running in reversed(self._path):
            chosen |= zip(running.keys, next(c for c in running.rooms if _agrees(running, c, chosen)), strict=True)
        found = [
            Assignment(key[0], start, self._running_sets.mode(key, chosen[key])) for key, start in self._starts.items()
        ]
        end = max(assignment.end for assignment in found)
        if end >= self.best:
            return
        if not self._on_schedule(found):
            raise _StoppedError  # another choice might be valid, so nothing would be proven
        self.best = end
        if end <= self._target:
            raise _StoppedError


def _is_no_worse(one: _Node, other: _Node) -> bool:
    """Return whether what can follow the other can follow the one; the same jobs run and wait at both.

    Each at the same duration, that is: only their choices of modes may differ. Whatever starts after the other can
    start then after the one, where nothing that runs ends later. It fits if the choice beside which it fits is there,
    too: so the one must have every choice that the other has, and what a choice leaves follows from the choice alone.
    Moved left it ends no later, in floats as well, for their sums are rounded monotonically.
    """
    is_earlier = one.now <= other.now and all(map(le, one.ends, other.ends))
    return is_earlier and (one.running is other.running or one.running.rooms.keys() >= other.running.rooms.keys())


def _agrees(running: RunningSet, choice: ModeChoice, chosen: dict[Key, int]) -> bool:
    return all(chosen.get(key, index) == index for key, index in zip(running.keys, choice, strict=True))


def _run(context: Context) -> None:
    """Search exhaustively, as far as a number of nodes goes, for anything better than the best assignments."""

    def is_taken(assignments: list[Assignment]) -> bool:
        context.take_if_valid(assignments, METHOD.name)
        return context.cost <= context.criterion.value(assignments)

    search = BranchAndBound(
        context.problem, context.dual_prices, best=context.cost, target=context.goal, on_schedule=is_taken
    )
    if search.run(context.limited(MAX_NODES), context.deadline):
        context.prove(search.proven, METHOD.name)


def _accepts(context: Context) -> bool:
    is_known = context.is_free and bool(context.best and context.dual_prices)
    return is_known and context.criterion.objective.is_latest_end and may_search(context.problem)


METHOD = Method("branch and bound", _run, _accepts, share=SHARE)
