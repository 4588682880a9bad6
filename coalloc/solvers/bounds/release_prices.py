"""Prices of all jobs for the jobs that arrive at a release or later, where all feasible sets can be listed.

The LP of the feasible sets (:mod:`coalloc.solvers.bounds.feasible_set`) for one release knows the jobs that arrive then
or later. A search also asks what those before are worth, once they wait or run beyond that release. So here every job
has to be covered, the early ones for next to nothing: of the prices that are best for a release, those are taken
that are worth most beside. They are prices of the whole problem, and bound from any instant on.
Derivation: docs/mathematics.md, "Branch and bound over extension alternatives".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.bounds.link_sets import LinkSets, SetList
from coalloc.solvers.bounds.pricing import ListedPricing
from coalloc.solvers.bounds.remainder_prices import RemainderPrices, jobs_that_last

MAX_SETS = 6_000
"""Feasible sets up to which they are listed."""
MAX_RELEASES = 12
"""Releases that get an LP, those of the greatest area first."""
BEST_RELEASES = 3
"""Releases whose prices are kept, those of the greatest bounds."""
EARLY_SHARE = 1e-3
"""What of a job that arrives before the release has to be covered: less than counts beside the others."""

Floats = NDArray[np.float64]


def release_prices(problem: Problem, deadline: float = math.inf) -> list[list[float]]:
    """Return prices of all jobs (ticks), for the best releases; none where sets are too many, or time is up.

    No jobs that fit together bring more than one tick per tick, where a job of ``d`` ticks brings ``price / d``. What
    runs already is left out: it brings nothing, and takes what others might have. ``deadline`` is an instant of
    ``time.perf_counter()``, s.
    """
    releases = np.array(problem.releases, dtype=float)
    jobs = jobs_that_last(problem)
    sets = LinkSets(problem, jobs).listed(deadline, MAX_SETS)
    if not sets:
        return []
    least = np.zeros(len(problem.jobs))
    least[list(jobs.numbers)] = [min(job.durations) for job in jobs.jobs]
    remainder = RemainderPrices(problem, jobs, ListedPricing(SetList.of(sets), jobs.jobs))
    areas = least * [min(level.tasks for level in levels) for levels in problem.levels] / sum(problem.capacities)
    ends = {release: release + float(areas[releases >= release].sum()) for release in set(releases.tolist())}
    found: list[tuple[float, list[float]]] = []
    for release in sorted(ends, key=lambda release: (-ends[release], release))[:MAX_RELEASES]:
        is_late = releases >= release
        prices = remainder.best(np.where(is_late, 1.0, EARLY_SHARE), deadline)
        if prices is None:
            return []
        found.append((release + float(prices[is_late].sum()), prices.tolist()))
    return [prices for _, prices in sorted(found, key=lambda pair: -pair[0])[:BEST_RELEASES]]
