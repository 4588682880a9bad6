"""Branch and bound over running sets for sums of costs, and for maxima that do not say latest ends.

The tree is that of :mod:`coalloc.solvers.search.set_tree`. What a job costs is known when it starts. Those that wait
cost no less than if each were alone from the next time on, and no less than their mean busy times
(:mod:`coalloc.solvers.bounds.mean_busy_time`) say, on a machine of which running jobs hold their part until they end:
the engine bounds nodes by both, and by prices of sets over time (:mod:`coalloc.solvers.bounds.set_prices`) where there
are some (``costs.c``).
Derivation: docs/mathematics/exact-tree.md, "Costs".
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from coalloc.engine import LONGEST_CALL, engine
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem
from coalloc.rules.tuning import FIRST_NODES, MOST, NODES, PRICES
from coalloc.solvers.bounds.mean_busy_time import BusyTimes
from coalloc.solvers.bounds.set_prices import SetPrices
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.result import PROOF_TOLERANCE
from coalloc.solvers.search import set_tree
from coalloc.solvers.search.ceilings import SLOT_NOISE
from coalloc.solvers.search.cost_tables import CostTables, WaitingNode, noise_of
from coalloc.solvers.search.lags import latest_start
from coalloc.solvers.search.node_values import NodeValues
from coalloc.solvers.search.parallel import Memories, ParallelTree, divided
from coalloc.solvers.search.set_tables import SetTables, TooManyError
from coalloc.solvers.search.set_tree import found_by, how_ended, is_shared, is_small, takes, tree_in_engine
from coalloc.solvers.traits import Trait


class CostTree:
    """The search of a problem for a schedule that costs less than the best known.

    Running it raises :class:`TooManyError` where there are too many running sets.

    Parameters
    ----------
    times
        Lines below the costs of the jobs, and their values, ticks; None where nothing but each job alone is known.
    best
        Cost that is known.
    tables
        Running sets; None for sets of its own.
    prices
        Prices over time that bound nodes; None where there are none.
    memory
        Bytes in which nodes are remembered, if not as many as there are for one tree.
    """

    def __init__(
        self,
        criterion: Criterion,
        times: BusyTimes | None,
        best: float,
        tables: SetTables | None = None,
        *,
        memory: int | None = None,
        prices: SetPrices | None = None,
    ) -> None:
        self._criterion = criterion
        self._latest = criterion.problem.horizon_in_turn
        self._tables = tables_of(criterion) if tables is None else tables
        self._costs = CostTables(criterion, self._tables, PRICES)
        self._values: NodeValues | None = None
        if times is not None and times.values and criterion.is_sum:
            self._values = NodeValues(criterion, self._tables, self._costs, times)
        if prices is not None:
            self._costs.price(prices)
        self._lesson, self._until_lesson = FIRST_NODES, FIRST_NODES
        self._news: list[list[float]] = []
        self._tree = tree_in_engine(criterion.problem, self._tables, None, memory=memory)
        engine().set_tree_count(self._tree, self._costs.handle, int(_may_delay(criterion.problem)))
        self._noise = noise_of(criterion, best)
        self.lower(best)

    @property
    def proven(self) -> float:
        """The cost that is proved once everything was seen."""
        if self._criterion.is_integral or math.isinf(self._best):
            return self._best
        divisor = self._criterion.objective.divisor(self._criterion.problem.instance)
        return self._best - 0.5 * PROOF_TOLERANCE * abs(self._criterion.reported(self._best)) * divisor

    @property
    def _ceiling(self) -> float:
        return (self._best - 1 + SLOT_NOISE if self._criterion.is_integral else self.proven) + self._noise

    def lower(self, best: float) -> None:
        """Look for what costs less than a best known cost from now on."""
        self._best = best
        self._costs.limit(self._ceiling)

    def run(self, max_nodes: int, deadline: float) -> tuple[str, int]:
        """Search on; return "everything" where all was seen, "better" at a schedule, else "stopped", and the nodes.

        ``deadline`` is an instant of ``time.perf_counter()``, s, at which it stops as well.
        """
        left = max_nodes
        while left > 0 and (seconds := min(LONGEST_CALL, deadline - time.perf_counter())) > 0.0:
            ended, nodes = self._call(min(left, self._until_lesson), seconds)
            left -= nodes
            self._until_lesson -= nodes
            if ended != "stopped":
                return ended, max_nodes - left
            if self._until_lesson <= 0:
                self._learn(deadline)
        return "stopped", max_nodes - left

    def _call(self, max_nodes: int, seconds: float) -> tuple[str, int]:
        """Let the engine search on; return how that ended, and the nodes."""
        nodes, hits, slacks = np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, math.inf)
        try:
            ended = engine().set_tree_run(self._tree, 1, max_nodes, self._latest, seconds, slacks, hits, nodes)
        finally:
            self._costs.refuse_failure()
        return how_ended(ended), int(nodes[0])

    def _learn(self, deadline: float) -> None:
        """Look for the first node of the path that better values would have left, and keep these."""
        found, first, beyond = None, 1, engine().set_tree_level(self._tree) + 1
        while self._values is not None and first < beyond and time.perf_counter() < deadline:
            level = (first + beyond) // 2
            values = self._values.learn(self._node(level), self._ceiling, deadline)
            if values is None:
                first = level + 1
            else:
                found, beyond = values, level
        if found is not None and self._values is not None:
            self._values.keep(found)
            self._news.append(found)
        more = 2 * self._lesson if found is None else self._lesson // 2
        self._lesson = self._until_lesson = min(NODES, max(FIRST_NODES, more))

    def _node(self, level: int) -> WaitingNode:
        """Return the node of the path at a level, before jobs start there."""
        kinds, most = len(self._tables.kinds), len(self._tables.keys) + len(self._criterion.problem.jobs)
        waiting, keys, ends = np.zeros(kinds, np.int64), np.zeros(most, np.int64), np.zeros(most)
        now, spent = np.zeros(1), np.zeros(1)
        number = engine().set_tree_node(self._tree, level, kinds, most, waiting, keys, ends, now, spent)
        return WaitingNode(float(now[0]), waiting, keys[:number], ends[:number], float(spent[0]))

    def share(self, other: CostTree, least_waiting: int) -> bool:
        """Give a part, at which so many jobs wait if may be, to a tree that has none; return whether there was one."""
        return is_shared(self._tree, other._tree, least_waiting)

    def lessons(self) -> list[list[float]]:
        """Return the values that bound nodes."""
        return [] if self._values is None else self._values.rows

    def news(self) -> list[list[float]]:
        """Return the values that were learned since this was asked."""
        news, self._news = self._news, []
        return news

    def adopt(self, lesson: list[float]) -> None:
        """Bound nodes at values that another tree has learned."""
        if self._values is not None and lesson not in self._values.rows:
            self._values.keep(lesson)

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""
        return found_by(self._tree, self._criterion.problem, self._tables)


def tables_of(criterion: Criterion, threads: int = 1) -> SetTables:
    """Return the running sets of a criterion, for so many threads at the same time."""
    return SetTables(criterion.problem, criterion.problem.horizon_in_turn, 1, criterion.kinds, threads)


def _may_delay(problem: Problem) -> bool:
    """Return whether all jobs that start from a time on may as well start so much later."""
    is_free = problem.has_monotone_capacity and problem.declared.only_precedes
    return is_free and all(
        math.isinf(end) and math.isinf(latest_start(problem, j)) for j, end in enumerate(problem.latest_ends)
    )


@dataclass(slots=True)
class _Kept:
    """The tree of an incumbent, which goes on where it was stopped; ``is_exhausted`` says that it goes no further.

    ``prices`` bound its nodes.
    """

    tree: CostTree | ParallelTree[CostTree]
    prices: SetPrices | None
    is_exhausted: bool = False


def _run(incumbent: Incumbent) -> None:
    max_nodes = NODES if incumbent.round == 0 else 2**62
    kept = incumbent.kept(_Kept)
    prices = incumbent.kept(SetPrices)
    if kept is None or kept.prices is not prices:
        kept = _Kept(_tree_of(incumbent), prices)
        incumbent.keep(kept)
    try:
        _search(incumbent, kept, incumbent.limited(max_nodes))
    except TooManyError:
        kept.is_exhausted = True


def _tree_of(incumbent: Incumbent) -> CostTree | ParallelTree[CostTree]:
    times, prices = incumbent.kept(BusyTimes), incumbent.kept(SetPrices)
    cost, criterion = incumbent.cost, incumbent.criterion
    memories = Memories.of(incumbent)
    common = tables_of(criterion, memories.sharers) if memories.are_one else None
    memory = memories.size(set_tree.MEMORY)
    return divided(lambda _: CostTree(criterion, times, cost, common, memory=memory, prices=prices), incumbent)


def _search(incumbent: Incumbent, kept: _Kept, left: int) -> None:
    """Search so many nodes for anything that is better than the best."""
    tree = kept.tree
    while left > 0 and not incumbent.is_closed and incumbent.time_left > 0.0:
        tree.lower(incumbent.cost)
        ended, nodes = tree.run(min(left, NODES), incumbent.deadline)
        left -= nodes
        if ended == "everything":
            kept.is_exhausted = True
            if incumbent.best:
                incumbent.prove(tree.proven, METHOD.name)
            else:
                incumbent.exclude()
            return
        if ended == "better":
            found = tree.assignments()
            incumbent.take_if_valid(found, METHOD.name)
            if incumbent.cost > incumbent.criterion.value(found):  # another choice of modes might be valid
                kept.is_exhausted = True
                return
        incumbent.hear()


def _is_of_use(incumbent: Incumbent) -> bool:
    """Return whether the tree is for a problem and its objective, and has not gone as far as it goes."""
    criterion, kept = incumbent.criterion, incumbent.kept(_Kept)
    is_folded = criterion.is_sum or not criterion.objective.has_latest_ends
    return is_folded and may_search(criterion) and not (kept is not None and kept.is_exhausted)


def may_search(criterion: Criterion) -> bool:
    """Return whether a problem is of the size, and the kind, that the tree is for: its jobs last."""
    problem = criterion.problem
    return takes(problem) and is_small(criterion.kinds) and all(levels[0].duration > 0 for levels in problem.levels)


METHOD = Method("branch and bound for sums", _run, also=_is_of_use, shares={Trait.NONE: (MOST, MOST, 0.0, MOST)})
