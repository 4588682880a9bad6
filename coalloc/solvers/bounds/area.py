"""Area bound: an LP over speed levels and class counts, for the suffix of every release.

For a release r let ``x_jl`` be the share of job j done at level l, over the jobs that arrive at r or
later; ``need_jls`` the processors that it then takes of the s fastest speeds together, ``Cap_s`` what
there is of them, ``R_s`` the processor ticks of them that running jobs hold after r:

    min M - r   s.t.  sum_jl d_jl need_jls x_jl + R_s <= Cap_s (M - r),  sum_l x_jl = 1,
                      sum_l d_jl x_jl <= M - r.

The LP is solved in its few prices, ``y_s >= 0`` per speed and ``w_j >= 0`` for the longest jobs, by
cutting planes: a cut is the work of one assignment of levels. At any prices

    r + (sum_j min_l d_jl (need_jl y + w_j) + R y) / (Cap y + sum_j w_j)

is a bound, for every release at once, and it is computed here, so no tolerance of a solver matters.
Derivation: docs/mathematics/bounds.md, "Area". Source of the cutting planes: J. Kelley, "The cutting-plane method for
solving convex programs", Journal of the Society for Industrial and Applied Mathematics 8 (1960).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds.release_suffixes import LevelledJob, held_by_running, levelled_jobs, speed_capacities
from coalloc.solvers.bounds.safe_side import rounded
from coalloc.solvers.bounds.simple import longest_job, simple_bound

MAX_SUFFIXES = 6
"""Releases whose LP is solved; its prices are tried on all the others."""
MAX_CUTS = 200
"""Cuts of one LP."""
MAX_LONG_JOBS = 16
"""Jobs of a suffix that get a price of their own, the longest."""
PRECISION = 1e-5
"""Relative distance between the LP's value and the bound at which the cuts end."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AreaPrices:
    """Prices ``speeds``, shape ``(num_speeds,)``, of a processor tick of each prefix, and ``jobs``, of each job's."""

    speeds: Floats
    jobs: Floats


def area(problem: Problem, *, time_limit: float = math.inf) -> float:
    """Return the area bound on the latest end, or the longest job if that is better, in ticks; whole in slots.

    Solves the LP of the most promising release, tries its prices on every release, and moves on to the
    one that these favour, until it stays or the time (s) is up.
    """
    deadline = time.perf_counter() + time_limit
    work = AreaWork(problem, levelled_jobs(problem, use_links=False), simple_bound(problem))
    return max(longest_job(problem), rounded(problem, float(work.bounds(deadline).max(initial=0.0))))


def efficiencies_at(costs: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return for each job and level its least cost as a share of its cost there; 1 where that is nothing."""
    return [[min(of_job) / cost if cost > 0.0 else 1.0 for cost in of_job] for of_job in costs]


def level_costs(problem: Problem, time_limit: float = math.inf) -> list[list[float]]:
    """Return what each job costs at each level, at the prices of the release with the greatest area bound."""
    jobs = levelled_jobs(problem, use_links=False)
    work = AreaWork(problem, jobs, simple_bound(problem))
    deadline = time.perf_counter() + time_limit
    prices = work.best_prices(int(work.bounds(deadline).argmax()), deadline)
    return [row[: len(job.durations)] for row, job in zip(work.level_costs(prices).tolist(), jobs, strict=True)]


class AreaWork:
    """The jobs of a problem as arrays, in order of release; levels are padded with the slowest.

    ``order`` are the indices of the jobs in the problem, ``releases`` the distinct releases, ``proven_end``
    a lower bound on the latest end, up to which running jobs count. All times are in ticks.
    """

    def __init__(self, problem: Problem, jobs: Sequence[LevelledJob], proven_end: float) -> None:
        arrivals = np.array(problem.releases, dtype=float)
        self.order = np.argsort(arrivals, kind="stable")
        self.releases = np.unique(arrivals)
        self._first = np.searchsorted(arrivals[self.order], self.releases)
        most = max((len(job.durations) for job in jobs), default=1)
        rows = [[min(level, len(jobs[j].durations) - 1) for level in range(most)] for j in self.order]
        self._durations = np.array(
            [[jobs[j].durations[i] for i in row] for j, row in zip(self.order, rows, strict=True)], dtype=float
        ).reshape(len(jobs), most)
        self._capacities = np.cumsum(np.array(speed_capacities(problem), dtype=float))
        self._needs = np.array(
            [[jobs[j].needs[i] for i in row] for j, row in zip(self.order, rows, strict=True)], dtype=float
        ).reshape(len(jobs), most, len(self._capacities))
        running = held_by_running(problem)
        rests = np.array([[min(end, proven_end) for end, _ in running]]) - self.releases[:, None]
        held = np.array([needs for _, needs in running], dtype=float).reshape(len(running), len(self._capacities))
        self._held = np.maximum(rests.reshape(len(self.releases), len(running)), 0.0) @ held

    def bounds(self, deadline: float = math.inf) -> Floats:
        """Return a bound on the latest end for each release."""
        prices = self._plain_prices()
        best = self.values(prices)
        solved: set[int] = set()
        while len(best) and len(solved) < MAX_SUFFIXES and time.perf_counter() < deadline:
            suffix = int(best.argmax())
            if suffix in solved:
                break
            solved.add(suffix)
            best = np.maximum(best, self.values(self.best_prices(suffix, deadline)))
        return best

    def values(self, prices: AreaPrices) -> Floats:
        """Return the bound that prices give for each release."""
        costs, _ = self._costs(prices)
        done = _suffix_sums(costs, self._first) + self._held @ prices.speeds
        worth = self._capacities @ prices.speeds + _suffix_sums(prices.jobs, self._first)
        is_priced = worth > 0.0
        bounds: Floats = self.releases + np.where(is_priced, done / np.where(is_priced, worth, 1.0), 0.0)
        return bounds

    def best_prices(self, suffix: int, deadline: float = math.inf) -> AreaPrices:
        """Return the best prices found for the release of this index, by cutting planes."""
        prices = self._plain_prices()
        best = float(self.values(prices)[suffix] - self.releases[suffix])
        master = _Master(self._capacities, self._long_jobs(suffix, best))
        trial = prices
        for _ in range(MAX_CUTS):
            work, durations = self._cut(suffix, trial)
            value, trial = master.with_cut(work, durations)
            found = float(self.values(trial)[suffix] - self.releases[suffix])
            if found > best:
                best, prices = found, trial
            if value - best <= PRECISION * value or time.perf_counter() > deadline:
                break
        return prices

    def job_values(self, prices: AreaPrices) -> Floats:
        """Return what each job is worth at these prices, shape ``(num_jobs,)``, in the order of the problem."""
        costs, _ = self._costs(prices)
        values = np.empty(len(costs))
        values[self.order] = costs
        return values

    def level_costs(self, prices: AreaPrices) -> Floats:
        """Return what each job costs at each level, padded with the slowest, in the order of the problem."""
        costs = np.empty(self._durations.shape)
        costs[self.order] = self._durations * (self._needs @ prices.speeds + prices.jobs[:, None])
        return costs

    def _plain_prices(self) -> AreaPrices:
        """Return the prices of the plain area bound: every processor costs the same."""
        speeds = np.zeros(len(self._capacities))
        speeds[-1] = 1.0
        return AreaPrices(speeds, np.zeros(len(self._durations)))

    def _costs(self, prices: AreaPrices) -> tuple[Floats, NDArray[np.intp]]:
        """Return the cost of each job at its cheapest level, and that level."""
        costs = self._durations * (self._needs @ prices.speeds + prices.jobs[:, None])
        return costs.min(axis=1, initial=math.inf), costs.argmin(axis=1)

    def _cut(self, suffix: int, prices: AreaPrices) -> tuple[Floats, Floats]:
        """Return the work on each prefix and the durations of all jobs at the levels that are cheapest now."""
        _, levels = self._costs(prices)
        jobs = np.arange(len(levels))
        durations = self._durations[jobs, levels]
        first = self._first[suffix]
        return durations[first:] @ self._needs[jobs, levels][first:] + self._held[suffix], durations

    def _long_jobs(self, suffix: int, ticks: float) -> NDArray[np.intp]:
        """Return the longest of the jobs that may take longer than a bound on the whole suffix."""
        first = self._first[suffix]
        longest = self._durations[first:].max(axis=1)
        # A job without a price only weakens the bound, and one that is shorter than it at every level does not bind.
        candidates = first + np.flatnonzero(longest > ticks)
        order = np.argsort(-self._durations[candidates, 0], kind="stable")
        return np.asarray(candidates[order][:MAX_LONG_JOBS], dtype=np.intp)


def _suffix_sums(values: Floats, first: NDArray[np.intp]) -> Floats:
    return np.cumsum(values[::-1])[::-1][first]


class _Master:
    """max theta s.t. theta <= work y + durations w for each cut, and Cap y + sum w = 1."""

    def __init__(self, capacities: Floats, long_jobs: NDArray[np.intp]) -> None:
        self._num_speeds, self._long_jobs = len(capacities), long_jobs
        weights = np.concatenate([capacities / capacities[-1], np.ones(len(long_jobs))])
        self._scale = np.concatenate([np.full(len(capacities), capacities[-1]), np.ones(len(long_jobs))])
        self._lp = GrowingLp()
        self._lp.add_columns([-1.0] + [0.0] * len(weights), [()] * (1 + len(weights)))
        self._lp.add_row(1.0, 1.0, range(1, len(weights) + 1), weights)
        self._unit = 0.0

    def with_cut(self, work: Floats, durations: Floats) -> tuple[float, AreaPrices]:
        """Add a cut, solve, and return the value and the prices: 0 where the solver gives none."""
        gains = np.concatenate([work, durations[self._long_jobs]]) / self._scale
        self._unit = self._unit or float(gains.max(initial=0.0)) or 1.0
        row = np.concatenate([[1.0], -gains / self._unit])
        self._lp.add_row(-math.inf, 0.0, range(len(row)), row)
        solution = self._lp.solve()
        # Any prices from 0 on give a bound; those a tolerance below 0 would not.
        found = np.zeros(len(row)) if solution is None else np.maximum(solution.columns, 0.0)
        jobs = np.zeros(len(durations))
        jobs[self._long_jobs] = found[1 + self._num_speeds :]
        return float(found[0]) * self._unit, AreaPrices(found[1 : 1 + self._num_speeds] / self._scale[0], jobs)
