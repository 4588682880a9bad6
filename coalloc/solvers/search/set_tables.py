"""Running sets by number, and tables of what each becomes, which machine code reads.

:class:`coalloc.solvers.search.running_sets.RunningSets` says which running set another becomes when a job joins, or one
has ended. Here each answer is written into a table as it is asked for, so that whoever searches on asks once only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.search.running_sets import Key, RunningSet, RunningSets, TooManyError

Array = NDArray[Any]
Floats = NDArray[np.float64]

UNKNOWN, NONE = -1, -2
"""What a table says of a set that was not asked for, and of one that does not exist."""
MAX_PAIRS = 50_000_000
"""Pairs of a choice and a mode that are tried in all: a dozen seconds where each job has a choice of many modes."""
MAX_SETS = 120_000
"""Running sets that get a number."""
FIRST_SETS = 4_096
"""Running sets for which there is room in the beginning."""
MOST_MEMBERS = 12
"""Members of a running set up to which their keys are listed."""
MOST_COMPARED = 64
"""Running sets of the same members that are compared with each other: bits of a word."""


class Tables(NamedTuple):
    """For each running set: which set it is once a key joins (``joined``), or once the first of a key has left.

    Shapes are ``(num_sets, num_keys)``; ``rates`` (num_sets, num_prices) are what a tick of the set is worth at each
    price, ``always`` whether one more of a key fits whatever choice the others have. Of sets of the same members
    ``numbers`` says which of them it is, and ``covers`` has the bits of those all of whose choices the set has, too.
    ``keys`` are the members, in ascending order.
    """

    joined: Array
    left: Array
    rates: Array
    always: Array
    covers: Array
    numbers: Array
    keys: Array

    @classmethod
    def of(cls, num_sets: int, num_keys: int, num_members: int, num_prices: int) -> Tables:
        """Return tables for so many sets, of which nothing is known; keys of jobs come before those of others."""
        return cls(
            np.full((num_sets, num_keys), UNKNOWN, np.int32),
            np.full((num_sets, num_members), UNKNOWN, np.int32),
            np.zeros((num_sets, num_prices)),
            np.zeros((num_sets, num_keys), np.bool_),
            np.zeros(num_sets, np.uint64),
            np.zeros(num_sets, np.int64),
            np.zeros((num_sets, MOST_MEMBERS), np.int16),
        )


class SetTables:
    """The running sets of a problem by number, 0 nobody, and their worth at up to ``max_prices`` prices.

    ``keys`` are the kinds of jobs at each duration, wide and long kinds first, and then what runs from the beginning;
    ``worths`` is what all jobs together are worth at each price, ticks. Only durations that end by ``ceiling`` (ticks)
    count. Running jobs are worth nothing.
    """

    def __init__(self, problem: Problem, ceiling: float, max_prices: int) -> None:
        sets = RunningSets(problem, [0.0] * len(problem.jobs), ceiling, max_pairs=MAX_PAIRS)
        self.sets = sets
        num_kinds = len(sets.kinds)
        self.shortest = [min(durations, default=math.inf) for durations in sets.durations]
        order = sorted(range(num_kinds), key=lambda kind: (-sets.tasks(kind), -self.shortest[kind], kind))
        of_jobs = [(kind, level) for kind in order for level in range(len(sets.durations[kind]))]
        self.num_keys = len(of_jobs)
        self.keys: list[Key] = [*of_jobs, *((num_kinds + b, 0) for b in range(len(problem.busy)))]
        self.number_of = {key: number for number, key in enumerate(self.keys)}
        self.worths = np.zeros(max_prices)
        self.rates = np.zeros((max_prices, len(self.keys)))
        self._tasks = np.array([sets.tasks(kind) for kind, _ in of_jobs])
        self._listed: list[RunningSet] = []
        self._numbers: dict[RunningSet, int] = {}
        self._alike: dict[tuple[Key, ...], list[int]] = {}
        self._members = np.zeros((FIRST_SETS, len(self.keys)))
        self.tables = Tables.of(FIRST_SETS, self.num_keys, len(self.keys), max_prices)
        self.number(sets.nobody)

    def __getitem__(self, number: int) -> RunningSet:
        return self._listed[number]

    def number(self, running: RunningSet) -> int:
        """Return the number of a running set."""
        if running not in self._numbers:
            self._numbers[running] = len(self._listed)
            self._listed.append(running)
            self._list(len(self._listed) - 1, running)
        return self._numbers[running]

    def join(self, number: int, key: int) -> None:
        """Write down which running set another is once a key joins."""
        joined = self.sets.join(self[number], self.keys[key])
        self.tables.joined[number, key] = NONE if joined is None else self.number(joined)

    def leave(self, number: int, key: int) -> None:
        """Write down which running set another is without the first of a key."""
        running = self[number]
        first = running.keys.index(self.keys[key])
        kept = tuple([i for i in range(len(running.keys)) if i != first])
        self.tables.left[number, key] = self.number(self.sets.without(running, kept))

    def set_prices(self, row: int, prices: Sequence[float]) -> None:
        """Let a row of the prices be these, ticks by job: no jobs that fit together bring more than 1 per tick."""
        of_kinds = self.sets.kinds
        by_kind = [math.fsum(prices[j] for j in of_kind) / len(of_kind) for of_kind in of_kinds]
        self.worths[row] = math.fsum(prices)
        for number, (kind, level) in enumerate(self.keys[: self.num_keys]):
            self.rates[row, number] = by_kind[kind] / self.sets.durations[kind][level]
        count = len(self._listed)
        self.tables.rates[:count, row] = self._members[:count] @ self.rates[row]

    def _list(self, number: int, running: RunningSet) -> None:
        """Write down what is known of a running set at once."""
        if number == len(self.tables.numbers):
            self._grow()
        tables = self.tables
        members = sorted(self.number_of[key] for key in running.keys)
        np.add.at(self._members[number], members, 1.0)
        tables.rates[number] = self.rates @ self._members[number]
        tables.keys[number, : len(members)] = members[:MOST_MEMBERS]
        tables.always[number, [self.number_of[key] for key in self.sets.always_fitting(running)]] = True
        tables.joined[number, self._tasks > self.sets.free_processors(running)] = NONE
        self._compare(number, running)

    def _compare(self, number: int, running: RunningSet) -> None:
        """Note of which sets of the same members it has all choices, and which have all of its own."""
        alike, own, tables = self._alike.setdefault(running.keys, []), running.rooms.keys(), self.tables
        tables.numbers[number] = index = len(alike)
        alike.append(number)
        if index >= MOST_COMPARED:
            return
        for i, other in enumerate(alike):
            theirs = self[other].rooms.keys()
            if own >= theirs:
                tables.covers[number] |= np.uint64(1 << i)
            if theirs >= own:
                tables.covers[other] |= np.uint64(1 << index)

    def _grow(self) -> None:
        """Make room for twice as many sets; raise :class:`TooManyError` where they are too many."""
        count = len(self.tables.numbers)
        if count >= MAX_SETS:
            raise TooManyError
        size = min(2 * count, MAX_SETS)
        larger = Tables.of(size, self.num_keys, len(self.keys), len(self.worths))
        for new, old in zip(larger, self.tables, strict=True):
            new[:count] = old
        self.tables = larger
        self._members = np.concatenate([self._members, np.zeros((size - count, len(self.keys)))])
