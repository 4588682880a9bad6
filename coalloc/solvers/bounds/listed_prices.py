"""Prices of all jobs where all feasible sets can be listed: one LP for whatever share of each job is left.

The LP of the feasible sets (:mod:`coalloc.solvers.bounds.feasible_set`) covers every job. In the midst of a schedule
some are done and others are in part: with these shares on the right-hand side its dual has the prices that say most of
what is left. They hold at every instant, of every schedule, for which sets fit together does not depend on it.
Derivation: docs/mathematics.md, "Branch and bound over extension alternatives".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds.link_sets import LinkSets, SetList
from coalloc.solvers.bounds.release_suffixes import ReleaseSuffix, levelled_jobs, speed_capacities

AT_ONCE = 20
"""Sets that the LP gets at a time: those that are worth most."""
NOISE = 1e-7
"""What a set may be worth above 1 without the LP getting it; prices are divided by it."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def shares_of_sets(problem: Problem, listed: Callable[[LinkSets], SetList | None]) -> tuple[Floats, Floats]:
    """Return what share of a job, shape ``(num_sets, num_jobs)``, a tick of each set does, and the least durations.

    At its least duration (ticks) a job is done in so many ticks. Sets that do the same are one; there are none where
    ``listed`` gives none. What runs already is left out: it takes what others might have.
    """
    jobs = levelled_jobs(problem, use_links=True)
    least = np.array([min(job.durations) for job in jobs], dtype=float)
    numbers = tuple(j for j, ticks in enumerate(least.tolist()) if ticks > 0.0)
    suffix = ReleaseSuffix(min(problem.releases), speed_capacities(problem), tuple(jobs[j] for j in numbers), numbers)
    sets = listed(LinkSets(problem, suffix))
    if sets is None or not len(sets.ends):
        return np.zeros((0, len(jobs))), least
    levels = max(len(job.durations) for job in suffix.jobs)
    rates = np.ones((len(numbers), levels))
    for i, job in enumerate(suffix.jobs):
        rates[i, : len(job.durations)] = least[numbers[i]] / np.array(job.durations, dtype=float)
    members, levels_of = sets.members[:, 0], sets.members[:, 1]
    shares = np.zeros((len(sets.ends), len(jobs)))
    of_set = np.repeat(np.arange(len(sets.ends)), np.diff(sets.ends, prepend=0))
    shares[of_set, np.array(numbers)[members]] = rates[members, levels_of]
    return np.unique(shares, axis=0), least


class ListedPrices:
    """The LP over listed sets, which it gets as they are needed, solved for any shares from its last basis.

    ``shares`` and ``least`` are those of :func:`shares_of_sets`.
    """

    def __init__(self, shares: Floats, least: Floats) -> None:
        self._shares, self._least = shares, least
        self._is_known: Bools = np.zeros(len(shares), dtype=bool)
        self._unit = float(least.max())
        self._lp = GrowingLp()
        for _ in least:
            self._lp.add_row(0.0, math.inf)
        self._add(np.unique(shares.argmax(axis=0)))

    def best(self, left: Floats, deadline: float = math.inf) -> Floats | None:
        """Return the prices (ticks) at which the shares that are left of the jobs are worth most; None in no time.

        No jobs that fit together bring more than one tick per tick, where a job of ``d`` ticks brings ``price / d``.
        ``deadline`` is an instant of ``time.perf_counter()``, s.
        """
        self._lp.ask((left * self._least / self._unit).tolist())
        while True:
            solution = self._lp.solve(deadline)
            if solution is None:
                return None
            rates = np.maximum(solution.duals, 0.0)
            worths = self._shares @ rates
            new = np.flatnonzero((worths > 1.0 + NOISE) & ~self._is_known)
            if not len(new):
                # Whatever a solver's tolerances are: divided by what the best set is worth they are prices.
                prices: Floats = rates * self._least / max(1.0, float(worths.max()))
                return prices
            self._add(new[np.argsort(-worths[new], kind="stable")[:AT_ONCE]])

    def _add(self, sets: NDArray[np.intp]) -> None:
        self._is_known[sets] = True
        entries = [[(j, self._shares[s, j]) for j in np.flatnonzero(self._shares[s]).tolist()] for s in sets.tolist()]
        self._lp.add_columns([1.0] * len(entries), entries)
