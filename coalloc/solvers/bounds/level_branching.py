"""Branching on speed levels: the feasible-set bound where every job has one level for its whole run.

The LP of the feasible sets lets a job be done in parts at several levels. In a schedule it is not: its
mode, and so its level, is one. So for a threshold either the job's level is at most that, or above,
and the lesser of the two bounds is one. This is branch-and-price: every node is a column generation of
its own, beginning with the sets of its parent. Derivation: docs/mathematics/bounds.md, "One level per job".
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count

from coalloc.problem import Problem
from coalloc.rules.tuning import TRIED
from coalloc.solvers.bounds.column_generation import Allowed, ColumnGeneration, Set, Values, all_levels
from coalloc.solvers.bounds.pricing import Pricing
from coalloc.solvers.bounds.release_suffixes import ReleaseSuffix
from coalloc.solvers.bounds.safe_side import rounded

WHOLE = 1e-6
"""A job whose share at one side of a threshold is below this is not split by it."""


@dataclass(frozen=True, slots=True)
class Root:
    """A suffix whose LP was solved, and what its nodes share."""

    suffix: ReleaseSuffix
    pricing: Pricing
    speed_prices: Values
    search: ColumnGeneration
    is_complete: bool = False

    @property
    def bound(self) -> float:
        """The bound of the LP, ticks."""
        return self.suffix.release + self.search.bound

    def search_within(self, allowed: Allowed, values: Values, sets: Iterable[Set]) -> ColumnGeneration:
        """Return column generation within ranges of levels, from values of the jobs and sets that are known."""
        return ColumnGeneration(
            self.suffix,
            allowed,
            self.pricing,
            values=values,
            speed_prices=self.speed_prices,
            sets=sets,
            is_complete=self.is_complete,
        )


@dataclass(order=True, slots=True)
class _Node:
    """Node of the branching once its LP is solved; nodes are taken by their bounds, ticks.

    ``split`` is the job and the level after which its range is cut in two; None where every job has one level.
    """

    bound: float
    number: int
    allowed: Allowed = field(compare=False)
    values: Values = field(compare=False)
    sets: list[Set] = field(compare=False)
    split: tuple[int, int] | None = field(compare=False)


def branch(
    problem: Problem, root: Root, *, target: float, max_nodes: int = TRIED, deadline: float = math.inf
) -> Iterator[float]:
    """Yield ever better bounds on the latest end, ticks, until one reaches ``target`` or nothing is left to branch on.

    At most ``max_nodes`` nodes are solved; ``deadline`` is an instant of ``time.perf_counter()``, s.
    """
    numbers = count()
    nodes = [_node(root, next(numbers), all_levels(root.suffix.jobs), root.search, root.bound)]
    while time.perf_counter() < deadline:
        node = heapq.heappop(nodes)
        bound = rounded(problem, node.bound)
        yield bound
        if bound >= target or node.split is None or len(nodes) + 2 > max_nodes:
            return
        for allowed in children(node.allowed, *node.split):
            search = root.search_within(allowed, node.values, node.sets)
            lower = _solved(problem, root, search, target, deadline)
            heapq.heappush(nodes, _node(root, next(numbers), allowed, search, max(node.bound, lower)))


def _node(root: Root, number: int, allowed: Allowed, search: ColumnGeneration, bound: float) -> _Node:
    split = split_of(root, allowed, search.level_shares())
    return _Node(bound, number, allowed, search.values, search.sets, split)


def _solved(problem: Problem, root: Root, search: ColumnGeneration, target: float, deadline: float) -> float:
    """Return the bound of a node, ticks, solved as far as its rounding needs it."""
    release = root.suffix.release
    for lower, upper in search.iterations(deadline):
        bound = rounded(problem, release + lower)
        if bound >= target or rounded(problem, release + upper) <= bound:
            break
    return release + search.bound


def split_of(root: Root, allowed: Allowed, level_shares: Sequence[Sequence[float]]) -> tuple[int, int] | None:
    """Return the threshold that parts most work, by tasks and by what the levels differ in ticks."""
    best, chosen = 0.0, None
    for j, (job, shares) in enumerate(zip(root.suffix.jobs, level_shares, strict=True)):
        first, last = allowed[j]
        done = list(accumulate(shares))
        for level in range(first, last):
            lesser = min(done[level], done[-1] - done[level])
            score = lesser * job.needs[0][-1] * (job.durations[level + 1] - job.durations[level])
            if lesser > WHOLE and score > best:
                best, chosen = score, (j, level)
    return chosen


def children(allowed: Allowed, j: int, level: int) -> Iterator[Allowed]:
    """Yield the ranges with one job at most at a level, and above it."""
    first, last = allowed[j]
    for part in ((first, level), (level + 1, last)):
        yield (*allowed[:j], part, *allowed[j + 1 :])
