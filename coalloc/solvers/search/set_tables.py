"""Running sets of a problem in the engine, which makes each when a tree first comes to it (``running_sets.c``)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.problem import Problem
from coalloc.rules.tuning import ENTRIES, LISTED, MANY_ENTRIES
from coalloc.solvers.search.coming_blocks import coming_blocks
from coalloc.solvers.search.packed_modes import Key, PackedModes

Floats = NDArray[np.float64]

MOST_COMPARED = 64
"""Running sets of the same members that are compared with each other: bits of a word."""


class TooManyError(Exception):
    """There are more ways to run jobs together than are looked at."""


class SetTables:
    """The running sets of a problem, and their worth at up to ``max_prices`` prices for each of ``threads``.

    Trees share them, of as many threads at the same time, each of which has rows of prices of its own.


    ``kinds`` are those of jobs that last, by their numbers in ``packed``: what takes no time occupies nothing. ``keys``
    are these at each duration, wide and long kinds first, then what runs from the beginning, then ``blocks``, what
    comes to hold something for a time. ``worths`` is what all jobs together are worth at each price, ticks. Only
    durations that end by ``ceiling`` (ticks) count. Running jobs and blocks are worth nothing. ``kind_of`` is the kind
    of each job where the problem's do not do.
    """

    def __init__(
        self, problem: Problem, ceiling: float, max_prices: int, kind_of: Sequence[int] = (), threads: int = 1
    ) -> None:
        self.ceiling, self.blocks, self.max_prices = ceiling, coming_blocks(problem), max_prices
        self.packed = packed = PackedModes(problem, ceiling, kind_of, self.blocks)
        num_kinds = len(packed.kinds)
        shortest = [min(durations, default=math.inf) for durations in packed.durations]
        self.kinds = [kind for kind in range(num_kinds) if shortest[kind] > 0.0]
        order = sorted(self.kinds, key=lambda kind: (-packed.tasks(kind), -shortest[kind], kind))
        of_jobs = [(kind, level) for kind in order for level in range(len(packed.durations[kind]))]
        self.shortest = [shortest[kind] for kind in self.kinds]
        self.num_keys = len(of_jobs)
        of_busy = [(num_kinds + b, 0) for b in range(len(problem.busy))]
        self.keys: list[Key] = [*of_jobs, *of_busy, *map(packed.block_key, range(len(self.blocks)))]
        self.durations = np.array([packed.durations[kind][level] for kind, level in of_jobs], dtype=float)
        self.worths = np.zeros(max_prices * threads)
        uses = [packed.uses(key) for key in self.keys]
        everything = packed.words(packed.everything)
        self.handle = engine().running_sets_new(
            self.num_keys,
            len(self.keys),
            len(everything),
            sum(map(len, uses)),
            len(self.worths),
            sum(problem.capacities),
            LISTED,
            MANY_ENTRIES,
            ENTRIES,
            MOST_COMPARED,
            int(threads > 1),
            everything,
            packed.words(packed.guards),
            np.cumsum([0, *map(len, uses)]),
            packed.words(*(used for of_key in uses for used in of_key)),
            packed.words(*(packed.most(key) for key in of_jobs)),
            np.array([packed.tasks(kind) for kind, _ in self.keys], dtype=np.int64),
        )

    def set_prices(self, row: int, prices: Sequence[float]) -> None:
        """Let a row of the prices be these, ticks by job: no jobs that fit together bring more than 1 per tick."""
        of_kinds = self.packed.kinds
        by_kind = [math.fsum(prices[j] for j in of_kind) / len(of_kind) for of_kind in of_kinds]
        self.worths[row] = math.fsum(prices[j] for kind in self.kinds for j in of_kinds[kind])
        of_keys = np.array([by_kind[kind] for kind, _ in self.keys[: self.num_keys]], dtype=float)
        engine().running_sets_price(self.handle, self.num_keys, row, of_keys / self.durations)
