"""Column generation over feasible sets: an LP over the sets found so far, and pricing that finds more.

One run serves one suffix and, of each job, a range of levels that are allowed. A member of a set at a
level faster than the range counts as at the first of the range, for what fits when it is fast fits when it
is slow, unless the job is moldable and sets are not listed; a member at a slower one counts for nothing. At any
values mu >= 0 of the jobs, and v at least the price of every set, ``sum_j mu_j / v`` is a valid bound, where (j, l)
costs mu_j / d_jl a tick: whatever the tolerances of the LP solver, and whenever it stops. Derivation:
docs/mathematics/bounds.md, "Feasible sets".
Source of the bound: A. Farley, "A note on bounding a class of linear programming problems, including cutting stock
problems", Operations Research 38 (1990); of the prices that are tried: P. Wentges, "Weighted Dantzig-Wolfe
decomposition for linear mixed-integer programming", International Transactions in Operational Research 4 (1997).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds.pricing import GreedyPricing, JobPrices, Pricing
from coalloc.solvers.bounds.release_suffixes import LevelledJob, Member, ReleaseSuffix

IMPROVEMENT = 1e-7
"""A set enters the master when it is worth this much more than 1; the bound is final this close to the master."""
SMOOTHING = 0.6
"""Share of the best prices so far in the prices that are tried next (Wentges)."""
GREEDY_TURNS = 10
"""Times that the heuristic prices between two MIPs at most."""

Values = NDArray[np.float64]
Allowed = tuple[tuple[int, int], ...]
"""The first and the last level, fastest first, that each job may have."""
Set = tuple[Member, ...]


def all_levels(jobs: Sequence[LevelledJob]) -> Allowed:
    """Return the ranges that leave out nothing."""
    return tuple((0, len(job.durations) - 1) for job in jobs)


class ColumnGeneration:
    """Column generation on one suffix; prices are per tick at the first level allowed, in proportion at the others.

    Parameters
    ----------
    values
        What each job is worth at first.
    speed_prices
        What a processor of each prefix costs at first.
    sets
        Sets to begin with.
    is_complete
        Whether these are all sets that matter, so that one LP is enough.

    ``bound`` is the best bound so far, ticks of the suffix.
    """

    def __init__(
        self,
        suffix: ReleaseSuffix,
        allowed: Allowed,
        pricing: Pricing,
        *,
        values: Values,
        speed_prices: Values,
        sets: Iterable[Set] = (),
        is_complete: bool = False,
    ) -> None:
        self._is_complete = is_complete
        self._allowed = allowed
        self._least = np.array([job.durations[first] for job, (first, _) in zip(suffix.jobs, allowed, strict=True)])
        self._shares = [
            list(_shares(job, *span, is_nested=pricing.is_nested or job.is_rigid))
            for job, span in zip(suffix.jobs, allowed, strict=True)
        ]
        self._master = _Master(self._least, self._shares)
        self._pricing = pricing
        self._greedy = GreedyPricing(suffix.capacities, suffix.jobs, speed_prices) if pricing.is_slow else None
        self._center = values / self._least
        self.bound = 0.0
        self._master.add([((j, first),) for j, (first, _) in enumerate(allowed)])
        self._master.add(list(sets))

    @property
    def values(self) -> Values:
        """Worth of each job at the best dual prices so far."""
        values: Values = self._center * self._least
        return values

    @property
    def sets(self) -> list[Set]:
        """The sets of the master."""
        return self._master.sets

    def iterations(self, deadline: float) -> Iterator[tuple[float, float]]:
        """Yield the best bound so far on the ticks of the suffix, and the value of the master, until they meet."""
        if self._is_complete:
            upper, dual = self._master.solve(deadline)
            self._try(dual, deadline, dual)
            yield self.bound, upper
            return
        self._try(self._center, deadline)
        smoothing, in_turn = SMOOTHING, 0
        while time.perf_counter() < deadline:
            upper, dual = self._master.solve(deadline)
            yield self.bound, upper
            trial = smoothing * self._center + (1.0 - smoothing) * dual
            in_turn = in_turn + 1 if self._add_greedy(trial, dual, in_turn) else 0
            if in_turn:
                continue
            improved = self._try(trial, deadline, dual)
            if not improved and smoothing == 0.0:
                return  # a mixture that fails proves nothing of the master, so its own prices are tried before the end
            smoothing = SMOOTHING if improved else 0.0

    def level_shares(self) -> list[list[float]]:
        """Return the share of each job that the master does at each level."""
        done = [[0.0] * len(shares) for shares in self._shares]
        for members, ticks in self._master.chosen():
            for j, level in members:
                if not self._shares[j][level]:
                    continue
                counted = max(level, self._allowed[j][0])
                done[j][counted] += ticks * self._shares[j][counted] / self._least[j]
        return done

    def _try(self, trial: Values, deadline: float, dual: Values | None = None) -> bool:
        """Price a trial exactly; return whether that raised the bound or found a set that the master lacks."""
        priced = self._pricing.price(self._prices(trial), deadline)
        # The trial divided by what the best set is worth is feasible in the dual: Farley's bound.
        bound = float(trial @ self._least) / priced.value if priced.value > 0.0 else 0.0
        raised = bound > self.bound
        if raised:
            self.bound, self._center = bound, trial / priced.value
        return self._add(priced.sets, dual) or raised

    def _add_greedy(self, trial: Values, dual: Values, in_turn: int) -> bool:
        """Add the sets that the heuristic finds, where exact pricing is slow and not due for other reasons."""
        if self._greedy is None or in_turn >= GREEDY_TURNS:
            return False
        return self._add(list(self._greedy.sets(self._prices(trial))), dual)

    def _add(self, sets: Sequence[Set], dual: Values | None) -> bool:
        """Add the sets that are worth more than 1 at the prices of the master; return whether there are any."""
        new = [members for members in sets if dual is None or self._value(members, dual) > 1.0 + IMPROVEMENT]
        self._master.add(new)
        return bool(new)

    def _value(self, members: Set, prices: Values) -> float:
        return sum(float(prices[j]) * self._shares[j][level] for j, level in members)

    def _prices(self, first: Values) -> JobPrices:
        return [[price * share for share in shares] for price, shares in zip(first.tolist(), self._shares, strict=True)]


def _shares(job: LevelledJob, first: int, last: int, *, is_nested: bool) -> Iterator[float]:
    """Yield what a tick at each level does of a job, as a share of what one at the first level allowed does.

    Where levels are nested a member at a faster level fits at all slower ones.
    """
    for level in range(len(job.durations)):
        is_counted = level <= last and (is_nested or level >= first)
        yield job.durations[first] / job.durations[max(level, first)] if is_counted else 0.0


class _Master:
    """The LP over the sets generated so far, kept warm between iterations.

    Row j, times the least duration of the job: sum_S lambda_S * least_j / d_jl >= least_j; ticks are in units of
    the longest of these.
    """

    def __init__(self, least: Values, shares: Sequence[Sequence[float]]) -> None:
        self.sets: list[Set] = []
        self._ticks: list[float] = []
        self._shares = shares
        self._unit = float(least.max())
        self._lp = GrowingLp()
        for ticks in least:
            self._lp.add_row(ticks / self._unit, math.inf)

    def add(self, sets: Sequence[Set]) -> None:
        """Add sets as columns."""
        if not sets:
            return
        entries = [
            sorted((j, self._shares[j][level]) for j, level in members if self._shares[j][level]) for members in sets
        ]
        self._lp.add_columns([1.0] * len(sets), entries)
        self.sets += sets

    def solve(self, deadline: float) -> tuple[float, Values]:
        """Return the value, ticks, and the price of a tick of each job at its first level: 0 where HiGHS gives none."""
        solution = self._lp.solve(deadline)
        if solution is None:
            self._ticks = []
            return math.inf, np.zeros(len(self._shares))
        self._ticks = (solution.columns * self._unit).tolist()
        return solution.value * self._unit, np.maximum(solution.duals, 0.0)  # the bound holds at any prices from 0 on

    def chosen(self) -> Iterator[tuple[Set, float]]:
        """Yield the sets of the last solution with their ticks."""
        for members, ticks in zip(self.sets, self._ticks, strict=False):  # sets may have come since
            if ticks > 0.0:
                yield members, ticks
