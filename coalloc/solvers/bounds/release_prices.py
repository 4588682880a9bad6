"""Prices of all jobs for the jobs that arrive at a release or later, where all feasible sets can be listed.

The LP of the feasible sets (:mod:`coalloc.solvers.bounds.feasible_set`) for one release knows the jobs that arrive then
or later. A search also asks what those before are worth, once they wait or run beyond that release. So here every job
has to be covered, the early ones for next to nothing: of the prices that are best for a release, those are taken
that are worth most beside. They are prices of the whole problem, and bound from any instant on.
Derivation: docs/mathematics.md, "Branch and bound over extension alternatives".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds.link_sets import LinkSets, SetList
from coalloc.solvers.bounds.listed_prices import shares_of_sets

MAX_SETS = 6_000
"""Feasible sets up to which they are listed: each LP has a column for each."""
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
    columns, least = shares_of_sets(problem, lambda sets: _listed(sets, deadline))
    if not len(columns):
        return []
    areas = least * [min(level.tasks for level in levels) for levels in problem.levels] / sum(problem.capacities)
    ends = {release: release + float(areas[releases >= release].sum()) for release in set(releases.tolist())}
    found: list[tuple[float, list[float]]] = []
    for release in sorted(ends, key=lambda release: (-ends[release], release))[:MAX_RELEASES]:
        is_late = releases >= release
        prices = _prices(columns, least, np.where(is_late, 1.0, EARLY_SHARE), deadline)
        if prices is None:
            return []
        found.append((release + float(prices[is_late].sum()), prices.tolist()))
    return [prices for _, prices in sorted(found, key=lambda pair: -pair[0])[:BEST_RELEASES]]


def _listed(sets: LinkSets, deadline: float) -> SetList | None:
    found = sets.listed(deadline, MAX_SETS)
    return None if found is None else SetList.of(found)


def _prices(columns: Floats, least: Floats, shares: Floats, deadline: float) -> Floats | None:
    """Return the prices (ticks) of the LP in which a share of each job is to be covered; None without an optimum."""
    lp, unit = GrowingLp(), float(least.max())
    for ticks in (shares * least / unit).tolist():
        lp.add_row(ticks, math.inf)
    entries: list[Sequence[tuple[int, float]]] = [
        [(j, column[j]) for j in np.flatnonzero(column).tolist()] for column in columns
    ]
    lp.add_columns([1.0] * len(entries), entries)
    solution = lp.solve(deadline)
    if solution is None:
        return None
    rates = np.maximum(solution.duals, 0.0)
    # Whatever a solver's tolerances are: divided by what the best set is worth they are prices.
    prices: Floats = rates * least / max(1.0, float((columns @ rates).max()))
    return prices
