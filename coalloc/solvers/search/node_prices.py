"""Prices that bound the nodes of a tree of running sets, learned from its nodes.

The prices that are best for the whole problem say little of what is left in the midst of a schedule. So nodes are asked
what is left there of each job; where the prices that are best for that show that nothing better can follow,
they are kept, for they hold at all nodes (:mod:`coalloc.solvers.bounds.remainder_prices`). Of too many, those that
ended the fewest branches lately make room for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.bounds.link_pricing import LinkPricing, may_price
from coalloc.solvers.bounds.remainder_prices import RemainderPrices, jobs_that_last
from coalloc.solvers.search.set_tables import SetTables

Floats = NDArray[np.float64]

LEAST_LEFT = 1e-3
"""Least share of a job that counts as left in the search for dual prices, so that jobs that are done have some, too."""
NOISE = 1e-6
"""Ticks by which what is left has to be worth more than there is time for it."""


class NodePrices:
    """Rows of prices of tables, the first those of the whole problem (``dual_prices``, ticks).

    ``rows`` has them by job; in the tables they are those of a thread, from row ``first`` on. ``hits`` count how often
    each ended a branch. Nothing is learned where the sets are too many to be priced.
    """

    def __init__(self, problem: Problem, tables: SetTables, dual_prices: Sequence[float], thread: int = 0) -> None:
        self._problem, self._tables, self.first = problem, tables, thread * tables.max_prices
        self.hits = np.zeros(tables.max_prices, np.int64)
        self.rows: list[list[float]] = [list(dual_prices)]
        tables.set_prices(self.first, dual_prices)

    @property
    def worths(self) -> Floats:
        """Worth of all jobs together at each dual price, ticks."""
        worths: Floats = self._tables.worths[self.first : self.first + len(self.rows)]
        return worths

    @cached_property
    def _remainder(self) -> RemainderPrices | None:
        jobs = jobs_that_last(self._problem)
        may_learn = may_price(self._problem, jobs)
        return RemainderPrices(self._problem, jobs, LinkPricing(self._problem, jobs)) if may_learn else None

    def learn(self, left: Floats, time_left: float, deadline: float) -> int | None:
        """Return the row of new prices that show that what is left cannot be done in time; None where there are none.

        ``left`` is what is left of each job, as a share, and ``time_left`` the ticks that there are for it.
        """
        if self._remainder is None:
            return None
        prices = self._remainder.best(np.maximum(left, LEAST_LEFT), deadline)
        if prices is None or float(prices @ left) <= time_left + NOISE:
            return None
        return self.keep(prices.tolist())

    def keep(self, prices: list[float]) -> int:
        """Return the row in which new prices are kept from now on, as good as the others at first."""
        hits, row = self.hits, len(self.rows)
        if row == len(hits):
            row = 1 + int(np.argmin(hits[1:]))
            hits //= 2
        self.rows[row:] = [prices, *self.rows[row + 1 :]]
        hits[row] = int(hits[1 : len(self.rows)].mean())
        self._tables.set_prices(self.first + row, prices)
        return row
