"""Simple lower bounds on the latest end, in ticks of a problem: longest job, and packing (area among others).

Derivations: docs/mathematics.md, "Bounds". Both hold for slots, rounded up or down, and for seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.problem import Problem
from coalloc.rules.dual_feasible import weightings


def longest_job(problem: Problem) -> float:
    """Return the latest of (release + fastest duration) over the jobs."""
    return max(earliest_ends(problem), default=0)


def packing(problem: Problem) -> float:
    """Return the best bound of dual feasible functions, the area bound among them.

    For each weighting and each release r: when the weighted durations of the jobs that arrive at r or
    later are done, if they get all that running jobs leave free.
    """
    tasks = [job.tasks for job in problem.jobs] + [sum(busy.allocation) for busy in problem.busy]
    best = 0.0
    for weights in weightings(tasks, sum(problem.capacities)):
        best = max(best, _weighted_bound(problem, weights))
    return best if problem.slot is None else math.ceil(best * (1.0 - RELATIVE_TOLERANCE))


def _weighted_bound(problem: Problem, weights: Sequence[float]) -> float:
    work = [w * d for w, d in zip(weights, fastest_durations(problem), strict=False)]
    running = list(zip(weights[len(problem.jobs) :], (busy.end for busy in problem.busy), strict=True))
    best = tail = 0.0
    for release, amount in sorted(zip(problem.releases, work, strict=True), reverse=True):
        tail += amount
        best = max(best, _done(release, tail, running))
    return best


def _done(release: float, work: float, running: Sequence[tuple[float, float]]) -> float:
    """Return when ``work`` (weight times ticks) is done from ``release`` on, beside ``running`` (weight, end)."""
    now = release
    for end in sorted(end for _, end in running if end > release):
        free = 1.0 - sum(w for w, until in running if until > now)
        if work <= free * (end - now):
            break
        work -= max(0.0, free) * (end - now)
        now = end
    free = 1.0 - sum(w for w, until in running if until > now)
    return now + work / free if work > 0.0 else now


def fastest_durations(problem: Problem) -> list[float]:
    """Return the least ticks that each job can take, shape ``(num_jobs,)``."""
    return [levels[0].duration for levels in problem.levels]


def earliest_ends(problem: Problem) -> list[float]:
    """Return when each job could end if it were alone, ticks, shape ``(num_jobs,)``."""
    return [r + d for r, d in zip(problem.releases, fastest_durations(problem), strict=True)]


def simple_bound(problem: Problem) -> float:
    """Return the better of :func:`longest_job` and :func:`packing`."""
    return max(longest_job(problem), packing(problem))
