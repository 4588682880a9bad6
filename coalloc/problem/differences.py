"""Least differences between the starts of jobs, by time lags, and by pairs of jobs that cannot run at one time.

A lag bounds the difference of two starts, and sums of bounds bound others: a longest path. Of two jobs that never
run at one time one ends before the other starts; where bounds exclude one of both orders, the other is a bound. What
must be later than itself contradicts itself.
Source: R. Dechter, I. Meiri, J. Pearl, "Temporal constraint networks", Artificial Intelligence 49 (1991); P. Brucker,
A. Drexl, R. Möhring, K. Neumann, E. Pesch, "Resource-constrained project scheduling", EJOR 112 (1999), section 5.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from coalloc.problem.allocations import MAX_MODES
from coalloc.problem.choices import NotTogetherRow, TimeSumRow
from coalloc.problem.problem import Problem

MOST_JOBS = 200
"""Jobs tied by lags up to which all paths are looked at."""
MOST_PAIRS = 10_000
"""Pairs of modes of two jobs up to which it is looked whether any of them fits."""


def contradicting_jobs(problem: Problem) -> list[int]:
    """Return the jobs, by index, whose time lags contradict each other; none where that is not proved."""
    tying = [row for row in problem.rows if len(row.terms if isinstance(row, TimeSumRow) else row.members) == 2]
    tied = sorted({j for row in tying for j in row.members})
    if not any(isinstance(row, TimeSumRow) for row in problem.rows) or len(tied) > MOST_JOBS:
        return []
    place = {j: i for i, j in enumerate(tied)}
    least = _of_rows(problem, tied, place)
    slack = 0.5 if problem.slot is not None else (len(tied) + 1) * problem.base.tolerance
    apart = [pair for pair in combinations(tied, 2) if _is_apart(problem, *pair)]
    while True:
        for middle in range(len(least)):
            np.maximum(least, least[:, middle : middle + 1] + least[middle], out=least)
        found = np.flatnonzero(np.diag(least)[: len(tied)] > slack)
        if len(found):
            return [tied[i] for i in found.tolist()]
        if not _order(problem, least, apart, place, slack):
            return []


def _of_rows(problem: Problem, tied: list[int], place: dict[int, int]) -> NDArray[np.float64]:
    """Return by how many ticks a job (column) starts after another (row) at least; the last one stands for time 0."""
    origin = len(tied)
    least = np.full((origin + 1, origin + 1), -np.inf)
    np.fill_diagonal(least, 0.0)
    for j in tied:
        least[origin, place[j]] = problem.releases[j]
        least[place[j], origin] = problem.levels[j][0].duration - problem.latest_ends[j]
    for row in problem.rows:
        if not isinstance(row, TimeSumRow):
            continue
        if len(row.terms) == 1:
            ((factor, which, j),) = row.terms
            if (factor, which) == (-1, "start") and j in place:
                least[place[j], origin] = max(least[place[j], origin], row.least)
            continue
        (_, of_late, late), (_, of_early, early) = sorted(row.terms, reverse=True)
        difference = row.least
        difference += problem.levels[early][0].duration if of_early == "end" else 0.0
        difference -= problem.levels[late][-1].duration if of_late == "end" else 0.0
        least[place[early], place[late]] = max(least[place[early], place[late]], difference)
    return least


def _is_apart(problem: Problem, one: int, other: int) -> bool:
    """Return whether two jobs never run at one time: a row says so, or no two of their modes fit together."""
    if any(isinstance(row, NotTogetherRow) and {one, other} <= set(row.members) for row in problem.rows):
        return True
    if problem.allocations.number > MAX_MODES:
        return False
    modes = problem.modes[one], problem.modes[other]
    if not 0 < len(modes[0]) * len(modes[1]) <= MOST_PAIRS:
        return False
    ones, others = (np.array([(*m.allocation, *m.loads) for m in of_job], dtype=float) for of_job in modes)
    limits = problem.allocations.limits
    most = np.array([*problem.capacities, *(limit * (1.0 + 1e-9) for limit in limits)])
    return not bool((ones[:, None] + others[None] <= most).all(axis=2).any())


def _order(
    problem: Problem, least: NDArray[np.float64], apart: list[tuple[int, int]], place: dict[int, int], slack: float
) -> bool:
    """Bound the difference of two jobs that never run at one time and of which one cannot end before the other starts.

    Return whether there was one.
    """
    is_changed = False
    for pair in apart:
        for one, other in (pair, pair[::-1]):
            first, second = place[one], place[other]
            is_excluded = -least[second, first] < problem.levels[one][0].duration - slack
            after = problem.levels[other][0].duration
            if is_excluded and least[second, first] < after - slack:
                least[second, first] = after
                is_changed = True
    return is_changed
