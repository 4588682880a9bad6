"""Pricing over the sets that links, memory and the scope allow, where they are too many to be listed.

A search by machine code (:mod:`coalloc.solvers.bounds.link_pricing_kernel`) for the set that is worth most; whether a
set fits is found as :mod:`coalloc.solvers.bounds.link_sets` finds it, by trying allocations. Most sets are never
tried: their jobs could not bring more than what is known, or two of them do not fit beside each other; and what was
found of a set is remembered from one pricing to the next. Derivation: docs/mathematics.md, "Bounds".
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.bounds.link_sets import CHECK_STEPS, MAX_CHOICES, LinkSets
from coalloc.solvers.bounds.pricing import MAX_SETS, JobPrices, Priced, TablePricing, useful_levels
from coalloc.solvers.bounds.release_suffixes import ReleaseSuffix

MOST_JOBS = 64
"""Jobs of a suffix: bits of a word."""
STEPS_BETWEEN = 500
"""Sets that are tried between two looks at the clock."""
MOST_KEPT = 64
"""Good sets that are kept in a search."""
MEMORY = 524_287
"""Sets that are remembered: a prime."""
MOST_STEPS = 1_000_000
"""Sets that are tried for one pricing: beyond, what it would be without links bounds it."""
MOST_ENTRIES = 2_000_000
"""Entries of the table (jobs x most levels of one x states) up to which it is tried: each pricing makes one."""

Array = NDArray[Any]


class Items(NamedTuple):
    """The jobs that are worth something, by places: those that are worth most per processor (``densities``) first.

    ``order`` has their numbers and ``tasks`` the least of each; ``values`` are what a tick is worth at each of their
    ``levels``, falling, shape ``(num_places, num_levels)``. ``beside`` are the places that fit beside one, as bits.
    A room says how many processors of each speed are free, by number: which one ``rooms`` leave beside a place at a
    level, the last where they do not hold it; ``without_links`` is the most that places from one on bring there.
    ``words`` and ``shifts`` say where each job stands in the key of a set.
    """

    order: Array
    tasks: Array
    num_levels: Array
    levels: Array
    values: Array
    densities: Array
    beside: Array
    rooms: Array
    without_links: Array
    words: Array
    shifts: Array


class State(NamedTuple):
    """Where a search is: its ``members``, and after so many of them the next place and level, worth, key and room.

    ``dolls`` are the best values of the places from each on; ``kept_*`` are good sets.
    """

    progress: Array
    dolls: Array
    places: Array
    at_levels: Array
    worths: Array
    laters: Array
    processors: Array
    rooms: Array
    members: Array
    keys: Array
    kept_worths: Array
    kept_sizes: Array
    kept_members: Array


class Memory(NamedTuple):
    """Sets that were tried, by their keys, and whether they fit."""

    keys: Array
    fits: Array


class Trial(NamedTuple):
    """Where a check writes to: the order of the members, and what is left once the first of them are placed."""

    order: Array
    sizes: Array
    following: Array
    free: Array
    left: Array


def may_price(problem: Problem, suffix: ReleaseSuffix) -> bool:
    """Return whether the jobs are few enough, as are their allocations and the states of the processors."""
    states = math.prod(capacity + 1 for capacity in suffix.capacities)
    entries = states * len(suffix.jobs) * max(len(job.durations) for job in suffix.jobs)
    return len(suffix.jobs) <= MOST_JOBS and entries <= MOST_ENTRIES and problem.allocations.number <= MAX_CHOICES


class LinkPricing:
    """Exact, by search, for a suffix of up to ``MOST_JOBS`` jobs on processors whose states a table can hold."""

    is_nested = False
    is_slow = False

    def __init__(self, problem: Problem, suffix: ReleaseSuffix) -> None:
        self._jobs, self._num_processors = suffix.jobs, sum(suffix.capacities)
        self._table = TablePricing(suffix.capacities, suffix.jobs)
        self._choices = choices = LinkSets(problem, suffix).arrays()
        depth = len(suffix.jobs) + 1
        self._trial = Trial(
            order=np.zeros(depth, np.int64),
            sizes=np.zeros(depth, np.int64),
            following=np.zeros(depth, np.int64),
            free=np.tile(choices.free, (depth, 1)),
            left=np.tile(choices.left, (depth, 1)),
        )
        self._pairs: Array | None = None
        bits = max(len(job.durations) for job in suffix.jobs).bit_length()
        places = np.arange(len(suffix.jobs))
        self._words, self._shifts = places // (64 // bits), (places % (64 // bits) * bits).astype(np.uint64)
        self._memory = Memory(np.zeros((MEMORY, self._words[-1] + 1), np.uint64), np.zeros(MEMORY, np.int8))

    def price(self, prices: JobPrices, deadline: float) -> Priced:
        """Return the greatest value of a set, and sets, the best first."""
        from coalloc.solvers.bounds import link_pricing_kernel as kernel

        if self._pairs is None:
            slowest = np.array([len(job.durations) - 1 for job in self._jobs])
            self._pairs = np.zeros((len(slowest), len(slowest)), np.bool_)
            kernel.compare(slowest, self._choices, self._trial, CHECK_STEPS, np.zeros((2, 2), np.int64), self._pairs)
        items, is_over = self._items(prices, self._pairs), False
        if items is None:
            return Priced(0.0, ())
        state = self._state(len(items.order))
        while not is_over and state.progress[kernel.STEPS] < MOST_STEPS:
            is_over = kernel.search(items, self._choices, state, self._trial, self._memory, CHECK_STEPS, STEPS_BETWEEN)
            if time.perf_counter() > deadline:
                return Priced(math.inf, ())
        kept = min(int(state.progress[kernel.KEPT]), MOST_KEPT)
        best = np.argsort(-state.kept_worths[:kept], kind="stable")[:MAX_SETS].tolist()
        members = [state.kept_members[k, : state.kept_sizes[k]].tolist() for k in best]
        value = float(state.dolls[0] if is_over else items.without_links[0, -2])
        return Priced(value, tuple(tuple((j, level) for j, level in of_set) for of_set in members))

    def _items(self, prices: JobPrices, pairs: Array) -> Items | None:
        """Return the jobs that are worth something at some level; None where none is."""
        useful = (list(useful_levels(of_job, job)) for of_job, job in zip(prices, self._jobs, strict=True))
        levels = {j: sorted(of_job, key=lambda pair: -pair[1]) for j, of_job in enumerate(useful) if of_job}
        if not levels:
            return None
        tasks = {j: self._jobs[j].least_tasks for j in levels}
        order = sorted(levels, key=lambda j: (-levels[j][0][1] / tasks[j], j))
        shape = (len(order), max(map(len, levels.values())))
        of_places, values = np.zeros(shape, np.int64), np.zeros(shape)
        for place, j in enumerate(order):
            for k, (level, value) in enumerate(levels[j]):
                of_places[place, k], values[place, k] = level, value
        needed = np.array([tasks[j] for j in order])
        beside = [sum(1 << place for place, other in enumerate(order) if pairs[j, other]) for j in order]
        rooms, without_links = self._table.of_places(order, [levels[j] for j in order])
        return Items(
            order=np.array(order),
            tasks=needed,
            num_levels=np.array([len(levels[j]) for j in order]),
            levels=of_places,
            values=values,
            densities=values[:, 0] / needed,
            beside=np.array(beside, dtype=np.uint64),
            rooms=rooms,
            without_links=without_links,
            words=self._words,
            shifts=self._shifts,
        )

    def _state(self, num_places: int) -> State:
        """Return the state of a search before its begin."""
        depth = num_places + 1
        return State(
            progress=np.array([num_places - 1, 0, 0, 0]),
            dolls=np.zeros(num_places),
            places=np.zeros(depth, np.int64),
            at_levels=np.zeros(depth, np.int64),
            worths=np.zeros(depth),
            laters=np.full(depth, np.uint64(2**64 - 1)),
            processors=np.full(depth, self._num_processors),
            rooms=np.full(depth, self._table.num_states - 1),
            members=np.zeros((depth, 2), np.int64),
            keys=np.zeros((depth, self._memory.keys.shape[1]), np.uint64),
            kept_worths=np.zeros(MOST_KEPT),
            kept_sizes=np.zeros(MOST_KEPT, np.int64),
            kept_members=np.zeros((MOST_KEPT, depth, 2), np.int64),
        )
