"""Running sets of a problem in the engine, which makes each when a tree first comes to it (``running_sets.c``)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.problem import Problem
from coalloc.solvers.search.running_sets import MAX_PAIRS as MAX_PAIRS_OF_ONE
from coalloc.solvers.search.running_sets import Key, RunningSets

Floats = NDArray[np.float64]

MAX_PAIRS = 50_000_000
"""Pairs of a choice and a mode that are tried in all."""
MAX_SETS = 120_000
"""Running sets that are made."""
MOST_COMPARED = 64
"""Running sets of the same members that are compared with each other: bits of a word."""


class SetTables:
    """The running sets of a problem, and their worth at up to ``max_prices`` prices, which trees share.

    ``keys`` are the kinds of jobs at each duration, wide and long kinds first, and then what runs from the beginning;
    ``worths`` is what all jobs together are worth at each price, ticks. Only durations that end by ``ceiling`` (ticks)
    count. Running jobs are worth nothing.
    """

    def __init__(self, problem: Problem, ceiling: float, max_prices: int) -> None:
        self.sets = sets = RunningSets(problem, [0.0] * len(problem.jobs), ceiling)
        num_kinds = len(sets.kinds)
        self.shortest = [min(durations, default=math.inf) for durations in sets.durations]
        order = sorted(range(num_kinds), key=lambda kind: (-sets.tasks(kind), -self.shortest[kind], kind))
        of_jobs = [(kind, level) for kind in order for level in range(len(sets.durations[kind]))]
        self.num_keys = len(of_jobs)
        self.keys: list[Key] = [*of_jobs, *((num_kinds + b, 0) for b in range(len(problem.busy)))]
        self.durations = np.array([sets.durations[kind][level] for kind, level in of_jobs], dtype=float)
        self.worths = np.zeros(max_prices)
        uses = [sets.uses(key) for key in self.keys]
        everything = sets.words(sets.everything)
        self.handle = engine().running_sets_new(
            self.num_keys,
            len(self.keys),
            len(everything),
            sum(map(len, uses)),
            max_prices,
            sum(problem.capacities),
            MAX_SETS,
            MAX_PAIRS,
            MAX_PAIRS_OF_ONE,
            MOST_COMPARED,
            everything,
            sets.words(sets.guards),
            np.cumsum([0, *map(len, uses)]),
            sets.words(*(used for of_key in uses for used in of_key)),
            sets.words(*(sets.most(key) for key in of_jobs)),
            np.array([sets.tasks(kind) for kind, _ in self.keys], dtype=np.int64),
        )

    def set_prices(self, row: int, prices: Sequence[float]) -> None:
        """Let a row of the prices be these, ticks by job: no jobs that fit together bring more than 1 per tick."""
        of_kinds = self.sets.kinds
        by_kind = [math.fsum(prices[j] for j in of_kind) / len(of_kind) for of_kind in of_kinds]
        self.worths[row] = math.fsum(prices)
        of_keys = np.array([by_kind[kind] for kind, _ in self.keys[: self.num_keys]], dtype=float)
        engine().running_sets_price(self.handle, self.num_keys, row, of_keys / self.durations)
