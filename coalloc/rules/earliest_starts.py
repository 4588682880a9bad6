"""Earliest starts in the order of a schedule, where rows bound how much later than others jobs start at most.

Placed one by one a job may start too early for another that has to follow it soon. Here each starts after all those
that have ended before it, and as early as that and the rows allow: longest paths. Jobs that then run at one time do so
in the schedule as well, so they fit. Derivation: docs/mathematics/execution-model.md, "Slotting error".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment, Problem, TimeSumRow
from coalloc.problem.differences import MOST_JOBS
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import choices_of, start_in_order

Floats = NDArray[np.float64]


def moved_left(problem: Problem, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Return assignments of a schedule, maybe in other slots, placed in their order; nothing where that fails.

    Where placing one by one does, starts are the earliest that keep their order and rows.
    """
    choices = choices_of(problem, assignments)
    found = start_in_order(problem, choices)
    declared = problem.declared
    is_about_times = not (declared.is_searched or declared.budgets or declared.clusters)
    if found or not is_about_times or not 0 < len(choices) <= MOST_JOBS:
        return found
    by_start = sorted(assignments, key=lambda a: a.start)
    placed = [replace(a, mode=mode) for a, (_, mode) in zip(by_start, choices, strict=True)]
    starts = _earliest(problem, placed, _least_differences(problem, placed, [a.end for a in by_start]))
    moved = [replace(a, start=start) for a, start in zip(placed, starts, strict=False)]
    return moved if _fits(problem, moved) else []


def _least_differences(problem: Problem, placed: Sequence[Assignment], ends: Sequence[float]) -> Floats:
    """Return by how much one (column) starts after another (row) at least, if that ends so in their schedule."""
    place = {a.job: i for i, a in enumerate(placed)}
    durations = np.array([a.mode.duration for a in placed])
    follows = np.triu(np.array(ends)[:, None] <= [a.start for a in placed], 1)
    least: Floats = np.where(follows, durations[:, None], -np.inf)
    for row in problem.rows:
        if isinstance(row, TimeSumRow) and len(row.members) == 2:
            (_, of_late, late), (_, of_early, early) = sorted(row.terms, reverse=True)
            i, j = place[early], place[late]
            gap = row.least + durations[i] * (of_early == "end") - durations[j] * (of_late == "end")
            least[i, j] = max(least[i, j], gap)
    return least


def _earliest(problem: Problem, placed: Sequence[Assignment], least: Floats) -> list[float]:
    """Return the earliest starts beside what is fixed; none where they do not settle, for rows contradict the order."""
    free = Profile(problem)
    starts = np.array([problem.releases[a.job] for a in placed])
    for _ in range(2 * len(placed)):
        later = np.maximum(starts, (starts[:, None] + least).max(axis=0))
        later = np.array([_first_start(free, replace(a, start=start)) for a, start in zip(placed, later, strict=True)])
        if (later <= starts).all() or not np.isfinite(later).all():
            return [float(start) for start in later]
        starts = later
    return []


def _fits(problem: Problem, moved: Sequence[Assignment]) -> bool:
    """Return whether assignments have room where they are."""
    profile = Profile(problem)
    for a in moved:
        if _first_start(profile, a) > a.start:
            return False
        profile.take(a.start, a.end, profile.vector(a.mode.allocation, a.mode.loads))
    return True


def _first_start(profile: Profile, asked: Assignment) -> float:
    """Return the first instant from the start of an assignment on at which its mode fits to its end."""
    mode = asked.mode
    return profile.first_start(asked.start, mode.duration, profile.vector(mode.allocation, mode.loads))
