"""A search of the checker that learns better prices while it runs.

What bounds a node best are the dual prices of an LP for what is left there. So now and then the search looks along its
path for a node that such prices would have left, from the first one on, takes the prices, and goes on after that node.
The checker then goes through the same tree with all prices from the beginning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from coalloc.verify import Case, Node, Option, Resources, Search, Steps, Table

FIRST_LESSON = 200
"""Nodes before the first look for better prices, and between two that find some; after others twice as many."""
FEWEST_WAITING = 2
"""Jobs that wait at nodes at which better prices are looked for."""
MOST_TABLES = 32
"""Tables of prices that bound nodes."""

Learn = Callable[[int, int, Sequence[tuple[int, int, int]]], Table | None]
"""Returns prices for what is left at a time: of jobs that wait, as bits, and that run (``Bound.is_exceeded``)."""


class OutOfNodesError(Exception):
    """The search took more nodes, or more time, than it was given."""


class _LeftError(Exception):
    """A node of the path is left at new prices; ``level`` is its number on the path."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


class LearningSearch(Search):
    """A search with some nodes and until a deadline (``time.perf_counter()``, s); ``tables`` are those that it used."""

    def __init__(self, case: Case, resources: Resources, tables: Sequence[Table], learn: Learn) -> None:
        self._hits: list[int] = []
        super().__init__(case, resources, tables, Steps(10**12))
        self._learn, self._lesson, self._due = learn, FIRST_LESSON, FIRST_LESSON
        self._path: list[Node] = []
        self.max_nodes, self.deadline = 0, 0.0

    def add_table(self, table: Table) -> None:
        """Bound nodes at the prices of a table as well."""
        super().add_table(table)
        self._hits.append(0)

    @property
    def tables(self) -> list[Table]:
        """The tables that ended branches, those of the most branches first."""
        order = sorted(range(len(self._hits)), key=lambda k: -self._hits[k])
        return [self.bounds[k].table for k in order if self._hits[k] and self.bounds[k].table.pieces]

    def is_left(self, time: int, waiting: int, cost: int, running: Sequence[tuple[int, int]]) -> bool:
        """Return whether at some prices more is left to do than fits."""
        going = self.started(running)
        for k, bound in enumerate(self.bounds):
            if bound.is_exceeded(time, waiting, cost, going):
                self._hits[k] += 1
                return True
        return False

    def _explore(self, node: Node) -> None:
        level = len(self._path)
        self._path.append(node)
        try:
            super()._explore(node)
        except _LeftError as error:
            if error.level != level:
                raise
        finally:
            del self._path[level:]

    def _go_on(self, ready: list[Option], node: Node) -> None:
        if self.nodes >= self._due:
            if self.nodes >= self.max_nodes or time.perf_counter() > self.deadline:
                raise OutOfNodesError
            level = self._look() if len(self.bounds) < MOST_TABLES else None
            self._lesson = 2 * self._lesson if level is None else max(FIRST_LESSON, self._lesson // 2)
            self._due = min(self.nodes + self._lesson, self.max_nodes)
            if level is not None:
                raise _LeftError(level)
        super()._go_on(ready, node)

    def _look(self) -> int | None:
        """Take the prices at which the first node of the path is left; return its level, None where there are none."""
        for level, node in enumerate(self._path):
            if node.waiting.bit_count() < FEWEST_WAITING:
                return None
            running = self.started(node.running)
            table = self._learn(node.time, node.waiting, running)
            if table is not None:
                self.add_table(table)
                if self.bounds[-1].is_exceeded(node.time, node.waiting, node.cost, running):
                    return level
                self.bounds.pop()
                self._hits.pop()
        return None
