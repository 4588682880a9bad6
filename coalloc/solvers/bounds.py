"""Simple lower bounds on the latest end, in ticks of a problem: longest job and area.

Derivations: docs/mathematics.md, "Bounds". Both hold for slots, rounded up or down, and for seconds.
"""

from __future__ import annotations

import math

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.problem import Problem


def longest_job(problem: Problem) -> float:
    """Return the latest of (release + fastest duration) over the jobs."""
    return max(earliest_ends(problem), default=0)


def area(problem: Problem) -> float:
    """Return the best of: earliest release in a tail of jobs + their least work over all processors.

    The tail holds the jobs that are released at ``r`` or later, so nothing of their work is done before.
    """
    work = [job.tasks * d for job, d in zip(problem.jobs, fastest_durations(problem), strict=True)]
    processors = sum(problem.capacities)
    best = tail = 0.0
    for release, amount in sorted(zip(problem.releases, work, strict=True), reverse=True):
        tail += amount
        best = max(best, release + tail / processors)
    return best if problem.slot is None else math.ceil(best * (1.0 - RELATIVE_TOLERANCE))


def fastest_durations(problem: Problem) -> list[float]:
    """Return the least ticks that each job can take, shape ``(num_jobs,)``."""
    return [levels[0].duration for levels in problem.levels]


def earliest_ends(problem: Problem) -> list[float]:
    """Return when each job could end if it were alone, ticks, shape ``(num_jobs,)``."""
    return [r + d for r, d in zip(problem.releases, fastest_durations(problem), strict=True)]


def simple_bound(problem: Problem) -> float:
    """Return the better of :func:`longest_job` and :func:`area`."""
    return max(longest_job(problem), area(problem))
