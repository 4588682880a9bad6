"""Pricing over the sets that links, memory and the scope allow, where they are too many to be listed.

A search by the engine (``link_pricing.c``) for the set that is worth most; whether a set fits is found as
:mod:`coalloc.solvers.bounds.link_sets` finds it, by trying allocations. Most sets are never tried: their jobs could not
bring more than what is known, or two of them do not fit beside each other; and what was found of a set is remembered
from one pricing to the next. Derivation: docs/mathematics/bounds.md, "Pricing by search".
"""

from __future__ import annotations

import math
import time

import numpy as np

from coalloc.engine import LONGEST_CALL, engine
from coalloc.problem import Problem
from coalloc.rules.tuning import CHOICES, ENTRIES, REMEMBERED, TRIED
from coalloc.solvers.bounds.link_sets import LinkSets
from coalloc.solvers.bounds.pricing import MAX_SETS, JobPrices, Priced, TablePricing, useful_levels
from coalloc.solvers.bounds.release_suffixes import Member, ReleaseSuffix

MOST_JOBS = 64
"""Jobs of a suffix: bits of a word."""
ALL_SEEN = 2
"""Return value of the engine when a search is at its end."""


def may_price(problem: Problem, suffix: ReleaseSuffix) -> bool:
    """Return whether the jobs are few enough, as are their allocations and the states of the processors."""
    states = math.prod(capacity + 1 for capacity in suffix.capacities)
    entries = states * len(suffix.jobs) * max(len(job.durations) for job in suffix.jobs)
    return len(suffix.jobs) <= MOST_JOBS and entries <= ENTRIES and problem.allocations.number <= CHOICES


class LinkPricing:
    """Exact, by search, for a suffix of up to ``MOST_JOBS`` jobs on processors whose states a table can hold."""

    is_nested = False
    is_slow = False

    def __init__(self, problem: Problem, suffix: ReleaseSuffix) -> None:
        self._jobs, self._num_processors = suffix.jobs, sum(suffix.capacities)
        self._table = TablePricing(suffix.capacities, suffix.jobs)
        choices = LinkSets(problem, suffix).arrays()
        sizes = (*choices.spans.shape[:2], len(choices.free), len(choices.left), len(choices.allocations))
        arrays = (*choices[:3], choices.is_running.astype(np.uint8), choices.free, choices.left)
        self._handle = engine().link_pricing_new(*sizes, TRIED, REMEMBERED, *arrays)

    def price(self, prices: JobPrices, deadline: float) -> Priced:
        """Return the greatest value of a set, and sets, the best first."""
        slowest = np.array([len(job.durations) - 1 for job in self._jobs])
        while not engine().link_pricing_compare(self._handle, len(slowest), slowest, LONGEST_CALL):
            if time.perf_counter() > deadline:
                return Priced(math.inf, ())
        without_links = self._begin(prices)
        if without_links is None:
            return Priced(0.0, ())
        state, value = 0, np.zeros(1)
        while not state:
            state = engine().link_pricing_search(self._handle, ENTRIES, LONGEST_CALL, value)
            if time.perf_counter() > deadline:
                return Priced(math.inf, ())
        return Priced(float(value[0]) if state == ALL_SEEN else without_links, self._best())

    def _best(self) -> tuple[tuple[Member, ...], ...]:
        """Return the sets that the search has kept, the best first."""
        sizes, members = np.zeros(MAX_SETS, np.int64), np.zeros((MAX_SETS, len(self._jobs), 2), np.int64)
        number = engine().link_pricing_best(self._handle, len(self._jobs), MAX_SETS, sizes, members)
        listed = [members[k, : sizes[k]].tolist() for k in range(number)]
        return tuple(tuple((j, level) for j, level in of_set) for of_set in listed)

    def _begin(self, prices: JobPrices) -> float | None:
        """Begin a search among jobs that are worth something; return what all bring without links, None without any."""
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
        needed, counts = np.array([tasks[j] for j in order]), np.array([len(levels[j]) for j in order])
        rooms, without_links = self._table.of_places(order, [levels[j] for j in order])
        sizes = (*shape, rooms.shape[2], self._num_processors)
        of_order = (np.array(order), needed, counts, of_places, values, values[:, 0] / needed)
        engine().link_pricing_begin(self._handle, *sizes, *of_order, rooms, without_links)
        return float(without_links[0, -2])
