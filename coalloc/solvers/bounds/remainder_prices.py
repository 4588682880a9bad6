"""Prices of all jobs for whatever share of each is left: one LP, with the shares on its right-hand side.

The LP of the feasible sets (:mod:`coalloc.solvers.bounds.feasible_set`) covers every job. In the midst of a schedule
some are done and others are in part: with these shares on the right-hand side its dual has the prices that say most of
what is left. They hold at every instant, of every schedule, for which sets fit together does not depend on it.
Derivation: docs/mathematics/exact-tree.md, "Bounds of a node".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds.pricing import Pricing
from coalloc.solvers.bounds.release_suffixes import Member, ReleaseSuffix, levelled_jobs, speed_capacities

NOISE = 1e-7
"""Excess over 1 of the worth of a set that the LP ignores; dual prices are divided by it."""

Floats = NDArray[np.float64]


def jobs_that_last(problem: Problem) -> ReleaseSuffix:
    """Return all jobs that take time, from the first release on; what runs already is left out."""
    jobs = levelled_jobs(problem, use_links=True)
    numbers = tuple(j for j, job in enumerate(jobs) if min(job.durations) > 0.0)
    return ReleaseSuffix(min(problem.releases), speed_capacities(problem), tuple(jobs[j] for j in numbers), numbers)


class RemainderPrices:
    """The LP of some jobs (:func:`jobs_that_last`), which gets sets as they are needed, solved from its last basis."""

    def __init__(self, problem: Problem, jobs: ReleaseSuffix, pricing: Pricing) -> None:
        self._jobs, self._pricing = jobs, pricing
        self._numbers = np.array(jobs.numbers, dtype=np.int64)
        self._num_jobs = len(problem.jobs)
        self._least = np.array([min(job.durations) for job in jobs.jobs], dtype=float)
        self._speeds = [
            [least / duration for duration in job.durations]
            for job, least in zip(jobs.jobs, self._least.tolist(), strict=True)
        ]
        self._unit = float(self._least.max())
        self._known = set[frozenset[Member]]()
        self._lp = GrowingLp()
        for _ in jobs.jobs:
            self._lp.add_row(0.0, math.inf)
        self._add([((j, speeds.index(1.0)),) for j, speeds in enumerate(self._speeds)])

    def best(self, left: Floats, deadline: float = math.inf) -> Floats | None:
        """Return the prices (ticks) at which the shares that are left of the jobs are worth most; None in no time.

        No jobs that fit together bring more than one tick per tick, where a job of ``d`` ticks brings ``price / d``.
        ``deadline`` is an instant of ``time.perf_counter()``, s.
        """
        self._lp.ask((left[self._numbers] * self._least / self._unit).tolist())
        while True:
            solution = self._lp.solve(deadline)
            if solution is None:
                return None
            rates = np.maximum(solution.duals, 0.0)
            of_levels = [[rate * s for s in speeds] for rate, speeds in zip(rates.tolist(), self._speeds, strict=True)]
            priced = self._pricing.price(of_levels, deadline)
            if math.isinf(priced.value):
                return None
            if priced.value <= 1.0 + NOISE or not self._add(priced.sets):
                # Whatever a solver's tolerances are: divided by what the best set is worth they are prices.
                prices = np.zeros(self._num_jobs)
                prices[self._numbers] = rates * self._least / max(1.0, priced.value)
                return prices

    def _add(self, sets: Sequence[Sequence[Member]]) -> bool:
        """Let the LP have sets; return whether it did not have one of them."""
        new = [members for members in sets if frozenset(members) not in self._known]
        self._known.update(map(frozenset, new))
        entries = [sorted((j, self._speeds[j][level]) for j, level in members) for members in new]
        self._lp.add_columns([1.0] * len(new), entries)
        return bool(new)
