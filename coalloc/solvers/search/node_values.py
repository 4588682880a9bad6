"""Values that bound the nodes of a tree of costs, learned from its nodes.

The values that are best for all jobs say little of what is left in the midst of a schedule
(:mod:`coalloc.solvers.bounds.mean_busy_time`). So nodes are asked which jobs wait there and which run, and where the
values that are best for these show that nothing better can follow, they are kept, for they hold at all nodes. Of too
many, those that ended the fewest branches make room for others.
"""

from __future__ import annotations

from coalloc.objectives import Criterion
from coalloc.rules.tuning import PRICES
from coalloc.solvers.bounds.mean_busy_time import BusyTimes, CostLine, ValueSearch
from coalloc.solvers.bounds.release_suffixes import levelled_jobs, release_suffix_of
from coalloc.solvers.search.cost_tables import CostTables, WaitingNode
from coalloc.solvers.search.set_tables import SetTables


class NodeValues:
    """Rows of values of costs, in ``rows`` by job, the first those of the whole problem."""

    def __init__(self, criterion: Criterion, tables: SetTables, costs: CostTables, times: BusyTimes) -> None:
        self._problem, self._tables, self._costs = criterion.problem, tables, costs
        self._lines = times.lines
        self.rows: list[list[float]] = [list(times.values)]
        self._search: ValueSearch | None = None
        costs.draw(times.lines)
        costs.value(0, times.values)

    def learn(self, node: WaitingNode, ceiling: float, deadline: float) -> list[float] | None:
        """Return values that show that what follows a node costs more than a ceiling; None where none are found."""
        lines, held = [CostLine(0.0, 0.0)] * len(self._problem.jobs), dict[int, float]()
        kinds, keys = self._tables.packed.kinds, self._tables.keys
        for kind, number in zip(self._tables.kinds, node.waiting.tolist(), strict=True):
            for j in kinds[kind]:
                share = number / len(kinds[kind])
                lines[j] = CostLine(share * self._lines[j].slope, 0.0)
        for key, end in zip(node.keys.tolist(), node.ends.tolist(), strict=True):
            if key < self._tables.num_keys:
                of_kind = kinds[keys[key][0]]
                share = (end - node.now) / float(self._tables.durations[key]) / len(of_kind)
                for j in of_kind:
                    held[j] = held.get(j, 0.0) + share
        for values in self._searched(deadline).values(lines, held, deadline):
            if node.spent + self._costs.at_values(values, node) > ceiling:
                return values
        return None

    def _searched(self, deadline: float) -> ValueSearch:
        if self._search is None:
            problem = self._problem
            release = min(problem.releases)
            suffix = release_suffix_of(problem, levelled_jobs(problem, use_links=True), release, release)
            self._search = ValueSearch(problem, suffix, deadline)
        return self._search

    def keep(self, values: list[float]) -> None:
        """Bound nodes at these values, too."""
        row = len(self.rows)
        if row == PRICES:
            row = 1 + int(self._costs.hits()[1:].argmin())
        self.rows[row:] = [values, *self.rows[row + 1 :]]
        self._costs.value(row, values)
