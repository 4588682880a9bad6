"""The work bound, in ticks: the work of jobs on the processors that they may use, with the tails of all releases.

In slots, with scope ``cluster``, the bound of the two-level grid study, equation (3), as errata 29 has it, for every
set of sites that some job is not too large for. Derivation: docs/mathematics/bounds.md, "Work".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.problem import Problem
from coalloc.problem.execution import execution_time
from coalloc.solvers.bounds.safe_side import rounded

Floats = NDArray[np.float64]


def work(problem: Problem) -> float:
    """Return a bound on the latest end, the best over all releases and sets of classes, in ticks; whole in slots.

    For each set of classes that some job is confined to, and each release r: when the work of the jobs that are
    confined to it and arrive at r or later is done, if all its processors do nothing else.
    """
    usable = [
        tuple(g for g, room in enumerate(problem.allocations.rooms_in_scope(job)) if room) for job in problem.jobs
    ]
    order = np.argsort(np.array(problem.releases, dtype=float), kind="stable")
    releases = np.array(problem.releases, dtype=float)[order]
    amounts = np.array([_least_work(problem, job, of_job) for job, of_job in zip(problem.jobs, usable, strict=True)])
    best = 0.0
    for classes in set(usable):
        within = set(classes)
        is_confined = np.array([within.issuperset(of_job) for of_job in usable])[order]
        power = sum(problem.capacities[g] * problem.classes[g].effective_power for g in classes)
        tails = np.cumsum(np.where(is_confined, amounts[order], 0.0)[::-1])[::-1]
        best = max(best, float((releases + tails / power)[is_confined].max()))
    return rounded(problem, best)


def _least_work(problem: Problem, job: Job, classes: tuple[int, ...]) -> float:
    """Return the least that a job takes of its processors, on the classes that it may use: power times ticks."""
    if job.shapes:
        return min(_least_work(problem, shape, classes) for shape in problem.allocations.shapes(job))
    if job.times:
        times = problem.allocations.class_times(job)
        return job.tasks * min(problem.clock.ticks(times[g]) * problem.classes[g].effective_power for g in classes)
    powers = {problem.classes[g].effective_power for g in classes}
    return job.tasks * min(problem.clock.ticks(execution_time(job, 1.0 / power)) * power for power in powers)
