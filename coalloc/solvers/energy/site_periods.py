"""A lower bound on the energy of sites that switch off, by column generation over their periods.

A period of a site is the time from its start-up until it goes off, with the jobs that run in it. The bound looks at the
sets of jobs of periods, in order of arrival, and relaxes starts, cores, and when the next start-up can begin:

    least sum of (start-up + sum of costs of its jobs) over periods,   each job in one period.

By Lagrangian duality the bound is, for *any* price of each job, the sum of prices and the least sum of (costs - prices)
of each site, which a dynamic programme finds; the linear programme over known periods offers prices.

**Consecutive periods.** A wait of at most W <= T + ``off_delay`` keeps periods in order of arrival: were job k in a
period and j, which arrived before k, in a later one, then s_j >= s_k + run time + ``off_delay`` + T > r_k + W, which is
at least r_j + W.

**Jobs of a period.** Taken in order of arrival, job j joins a period whose jobs before j can keep it on until b, if r_j
<= b: else all of these would be off before j and later ones arrive. Then they can keep it on until max(b, s_j + run
time + ``off_delay``). Here s_j is at most r_j + W. It is at most b as well where the next job arrives after b: were j
to start after b, so would all later ones, with the site off between.

**Cost of a job**, never more than what it adds: its working cores, with their shares of board, chassis and site; and
the grace period of its cores, unless the last end may cut it; less the idle energy of a grace period of as many cores
as it may take over from other jobs. A period costs its start-up and the site's watts during ``off_delay``; the latter
is deducted once per site, for the last end may cut it.
"""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Instance
from coalloc.instance.rounding import RELATIVE_TOLERANCE, TIME_PRECISION
from coalloc.instance.time_base import MOST_TOLERANCE
from coalloc.models.site_switching import UNIT, Site, run_times, sites_of
from coalloc.power.sites import Working
from coalloc.solvers.backends.growing_lp import GrowingLp

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STABLE = 0.7
"""Share of the best prices so far in those that are tried: prices of the linear programme alone jump."""
CLOSED = 1e-9
"""Gap to the linear programme, as a share, at which the bound is as good as it gets ..."""
NEARLY_CLOSED = 5e-3
"""... and at which jobs need no longer be in two periods."""


class Period(NamedTuple):
    """A site that is on, and its jobs in order of arrival."""

    site: int
    jobs: tuple[int, ...]


class Chain(NamedTuple):
    """The last job of a period, those before it, and whether it is the first of its period."""

    job: int
    before: Chain | None
    is_first: bool


class Open(NamedTuple):
    """A period until now: how long it can last, s, its cost, and its jobs."""

    until: float
    cost: float
    jobs: Chain | None


class SitePeriods:
    """Instance as the bound sees it, with the jobs in order of arrival.

    ``tolerance`` (s) is more than those of the meter and the checker together: a job that starts so little after a site
    is off, or after cores of another, may still find them on.
    """

    def __init__(self, instance: Instance, longest_wait: float, working: Working) -> None:
        self.sites = sites_of(instance, working)
        arrival = np.array([job.arrival for job in instance.jobs])
        tasks = np.array([job.tasks for job in instance.jobs])
        times = run_times(instance)
        last_end = float((arrival + times.min(axis=1)).max())
        longest = float(times[np.isfinite(times)].max()) + max(site.states.off_delay for site in self.sites)
        latest = arrival + longest_wait
        self.tolerance = 2.0 * max(MOST_TOLERANCE, TIME_PRECISION * (float(latest.max()) + longest))
        self.arrivals = arrival.tolist()
        self.latest = latest.tolist()
        self.costs = [
            (_costs(site, (tasks, times[:, i]), (arrival, latest), last_end, self.tolerance) / UNIT).tolist()
            for i, site in enumerate(self.sites)
        ]
        self.lasts = [(times[:, i] + site.states.off_delay).tolist() for i, site in enumerate(self.sites)]
        tails = [site.states.site_watts * site.states.off_delay for site in self.sites]
        self.startups = [(site.startup_joules + tail) / UNIT for site, tail in zip(self.sites, tails, strict=True)]
        self.deducted = sum(tails) / UNIT

    def cost(self, period: Period) -> float:
        """Return the least cost of a period."""
        costs = self.costs[period.site]
        return self.startups[period.site] + math.fsum(costs[j] for j in period.jobs)

    def cheapest(self, site: int, prices: Sequence[float]) -> tuple[float, list[Period]]:
        """Return the least sum of costs less prices over the periods of a site, and these periods."""
        arrivals, latest, startup = self.arrivals, self.latest, self.startups[site]
        lasts = [seconds + self.tolerance for seconds in self.lasts[site]]
        off: tuple[float, Chain | None] = (0.0, None)
        opened: list[Open] = []  # none lasts longer at no more cost than another: ``until`` and ``cost`` increase
        for j, cost in enumerate(self.costs[site]):
            if cost == math.inf:
                continue
            worth = cost - prices[j]
            expired = bisect.bisect_left(opened, arrivals[j], key=lambda one: one.until)
            off = _least(off, opened[:expired])
            opened = opened[expired:]
            following = arrivals[j + 1] if j + 1 < len(arrivals) else math.inf
            cheapest, before = _least(off, opened[:1])
            found = [*opened, Open(latest[j] + lasts[j], cheapest + startup + worth, Chain(j, before, True))]
            for until, spent, jobs in opened:
                start = latest[j] if following <= until else min(latest[j], until)
                if worth < 0.0 or start + lasts[j] > until:
                    found.append(Open(max(until, start + lasts[j]), spent + worth, Chain(j, jobs, False)))
            opened = _undominated(found)
        value, chain = _least(off, opened)
        return value, list(_periods(site, chain))

    def bound(self, prices: Sequence[float]) -> tuple[float, list[Period]]:
        """Return the bound at these prices, and the periods that attain it."""
        found = [self.cheapest(i, prices) for i in range(len(self.sites))]
        total = math.fsum([*prices, *(value for value, _ in found), -self.deducted])
        return total, [period for _, periods in found for period in periods]


def _costs(
    site: Site, jobs: tuple[Ints, Floats], starts: tuple[Floats, Floats], last_end: float, tolerance: float
) -> Floats:
    """Return the cost of each job on a site, J; infinite where it does not fit.

    ``jobs`` are their tasks and run times, ``starts`` the earliest and latest ones; all times in s.
    """
    (tasks, times), (arrival, latest), grace = jobs, starts, site.states.core_grace
    fits = np.isfinite(times)
    times = np.where(fits, times, 0.0)
    leaves, gone, leaving = (arrival + times - tolerance)[fits], (latest + times + grace + tolerance)[fits], tasks[fits]
    left = np.array([leaving[(leaves <= t) & (gone >= r)].sum() for r, t in zip(arrival, latest, strict=True)])
    left = left - np.where(fits & (arrival + times - tolerance <= latest), tasks, 0)  # its own
    is_counted = latest + times + grace <= last_end
    cores = np.where(is_counted, tasks, 0) - np.minimum(tasks, left)
    watts = site.working_watts + site.states.site_watts / site.size
    return np.where(fits, tasks * times * watts + cores * site.idle_watts * grace, math.inf)


def _least(best: tuple[float, Chain | None], periods: Iterable[Open]) -> tuple[float, Chain | None]:
    return min([best, *((one.cost, one.jobs) for one in periods)], key=lambda one: one[0])


def _undominated(periods: list[Open]) -> list[Open]:
    """Return those that last longer, or cost less, than each other, in order."""
    kept: list[Open] = []
    for one in sorted(periods, key=lambda one: (-one.until, one.cost)):
        if not kept or one.cost < kept[-1].cost:
            kept.append(one)
    return kept[::-1]


def _periods(site: int, chain: Chain | None) -> Iterable[Period]:
    jobs: list[int] = []
    while chain is not None:
        jobs.append(chain.job)
        if chain.is_first:
            yield Period(site, tuple(jobs[::-1]))
            jobs = []
        chain = chain.before


def priced(periods: SitePeriods, deadline: float) -> tuple[float, list[Period]]:
    """Return the best bound found by a deadline (``time.perf_counter()``, s), in J, and the periods seen on the way.

    At first a job may be in two periods at its least cost, which keeps prices in a narrow range; then in one.
    """
    num_jobs = len(periods.arrivals)
    each = [(i, j) for i, costs in enumerate(periods.costs) for j in range(num_jobs) if costs[j] < math.inf]
    known = {Period(i, (j,)): None for i, j in each}
    best, center = -math.inf, np.zeros(num_jobs)
    for twice, enough in ((True, NEARLY_CLOSED), (False, CLOSED)):
        programme = _programme(periods, known, twice)
        while time.perf_counter() < deadline:
            solution = programme.solve(deadline)
            if solution is None:
                break
            found: dict[Period, None] = {}
            for share in (STABLE, 0.0):
                prices = share * center + (1.0 - share) * solution.duals
                bound, cheapest = periods.bound(prices.tolist())
                found.update(dict.fromkeys(one for one in cheapest if one not in known))
                if bound > best:
                    best, center = bound, prices
                if found:
                    break
            _add(programme, periods, found)
            known.update(found)
            if not found or solution.value - periods.deducted - best <= enough * abs(best):
                break
    return (best - RELATIVE_TOLERANCE * abs(best)) * UNIT, list(known)


def _programme(periods: SitePeriods, known: Iterable[Period], twice: bool) -> GrowingLp:
    """Return the linear programme over known periods."""
    programme, jobs = GrowingLp(), range(len(periods.arrivals))
    for _ in jobs:
        programme.add_row(1.0, 1.0)
    if twice:
        least = [max(0.0, min(costs[j] for costs in periods.costs)) for j in jobs]
        programme.add_columns(least, [[(j, -1.0)] for j in jobs])
    _add(programme, periods, known)
    return programme


def _add(programme: GrowingLp, periods: SitePeriods, found: Iterable[Period]) -> None:
    new = list(found)
    if new:
        programme.add_columns([periods.cost(one) for one in new], [[(j, 1.0) for j in one.jobs] for one in new])
