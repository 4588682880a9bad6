"""Costs of jobs in the engine (``costs.c``): by the pieces that an objective declares, or as it says when asked.

It is also asked near two points of one end, a step, where arithmetic decides which cost it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.engine.library import CALLBACKS
from coalloc.objectives import Criterion
from coalloc.solvers.bounds.mean_busy_time import CostLine
from coalloc.solvers.bounds.set_prices import SetPrices
from coalloc.solvers.search.ceilings import NOISE
from coalloc.solvers.search.set_tables import SetTables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class WaitingNode(NamedTuple):
    """A time (ticks), how many of each kind wait then, which keys run until when, and what is spent."""

    now: float
    waiting: Ints
    keys: Ints
    ends: Floats
    spent: float


class CostTables:
    """The costs of a criterion by the keys of tables, in ``handle``.

    Without lines below the costs of the jobs, and values, nothing but what each job costs alone is known of those that
    wait.
    """

    def __init__(self, criterion: Criterion, tables: SetTables, max_rows: int) -> None:
        self._kinds, self._max_rows = [tables.packed.kinds[kind] for kind in tables.kinds], max_rows
        self._failures: list[BaseException] = []
        problem, packed = criterion.problem, tables.packed
        self._durations = tables.durations
        keys = tables.keys[: tables.num_keys]
        self._kind_of_keys = np.array([tables.kinds.index(kind) for kind, _ in keys], dtype=np.int64)
        pieces = [criterion.pieces(packed.kinds[kind][0], packed.durations[kind][level]) for kind, level in keys]
        points = [() if of_key is None else tuple(of_key.points) for of_key in pieces]
        ends, values = np.array([point for of_key in points for point in of_key], dtype=float).reshape(-1, 2).T
        self.handle = engine().costs_new(
            len(self._kinds),
            len(keys),
            len(ends),
            max_rows,
            int(criterion.is_sum),
            1.0 if criterion.objective.counts_ends else problem.clock.seconds(1.0),
            2.0 * problem.base.tolerance,
            criterion.least_cost,
            CALLBACKS["cost_function"](_asked(criterion, tables, self._failures)),
            self._kind_of_keys,
            tables.durations,
            np.array([problem.releases[j] for j, *_ in self._kinds], dtype=float),
            np.array([0, *accumulate(map(len, points))], dtype=np.int64),
            np.ascontiguousarray(ends),
            np.ascontiguousarray(values),
            np.array([0.0 if of_key is None else of_key.slope_after for of_key in pieces], dtype=float),
        )

    def draw(self, lines: Sequence[CostLine]) -> None:
        """Let jobs cost no less than their lines say."""
        of_kinds = [lines[j] for j, *_ in self._kinds]
        slopes, constants = np.array(of_kinds, dtype=float).reshape(-1, 2).T
        engine().costs_draw(self.handle, len(slopes), np.ascontiguousarray(slopes), np.ascontiguousarray(constants))

    def value(self, row: int, values: Sequence[float]) -> None:
        """Let a row of values be these, ticks by job."""
        engine().costs_value(self.handle, len(self._kinds), row, self._by_kind(values))

    def price(self, prices: SetPrices) -> None:
        """Bound nodes by prices over time, too."""
        of = prices.tables(prices.prices)
        keys = zip(self._kind_of_keys.tolist(), self._durations.tolist(), strict=True)
        paid = np.array([prices.paid_by(self._kinds[kind][0], ticks) for kind, ticks in keys])
        least = of.least[[j for j, *_ in self._kinds]]
        sizes = (len(least), len(paid), of.brought.size)
        engine().costs_price(self.handle, *sizes, of.origin, least.ravel(), paid.ravel(), of.brought)

    def _by_kind(self, values: Sequence[float]) -> Floats:
        return np.array([math.fsum(values[j] for j in of_kind) / len(of_kind) for of_kind in self._kinds], dtype=float)

    def at_values(self, values: Sequence[float], node: WaitingNode) -> float:
        """Return what jobs that wait at a node cost at the least at some values."""
        cost, sizes = np.zeros(1), (len(self._kinds), len(node.keys))
        arrays = (self._by_kind(values), node.waiting, node.keys, node.ends)
        engine().costs_at_values(self.handle, *sizes, node.now, *arrays, cost)
        return float(cost[0])

    def hits(self) -> Ints:
        """Return how often each row has ended a branch."""
        hits = np.zeros(self._max_rows, np.int64)
        engine().costs_hits(self.handle, self._max_rows, hits)
        return hits

    def limit(self, ceiling: float) -> None:
        """Let no schedule be of interest that costs more than a ceiling."""
        engine().costs_limit(self.handle, ceiling)

    def refuse_failure(self) -> None:
        """Raise what the objective raised when it was asked."""
        for failure in self._failures:
            raise failure


def _asked(criterion: Criterion, tables: SetTables, failures: list[BaseException]) -> Callable[[int, float], float]:
    """Return what the engine calls: what a job of a key costs that starts at a time, ticks; NaN where that raises."""
    keys, kinds, durations = tables.keys, tables.packed.kinds, tables.packed.durations

    def cost(key: int, start: float) -> float:
        try:
            kind, level = keys[key]
            return criterion.cost(kinds[kind][0], start, start + durations[kind][level])
        except BaseException as failure:  # no exception leaves the engine
            failures.append(failure)
            return math.nan

    return cost


def noise_of(criterion: Criterion, best: float) -> float:
    """Return what sums of costs may lose by rounding, where the best known cost is such."""
    problem = criterion.problem
    latest = problem.horizon_in_turn
    costs = (criterion.cost(j, latest - levels[-1].duration, latest) for j, levels in enumerate(problem.levels))
    known = 0.0 if math.isinf(best) else abs(best)
    return NOISE * (known + sum(map(abs, costs)) + sum(map(abs, criterion.alone)))
