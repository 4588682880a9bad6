"""Why an instance has no schedule at all: a job that finds too little memory, or saturates a link wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence

from coalloc.allocation import tasks_per_cluster
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job
from coalloc.problem import MAX_MODES, Problem
from coalloc.rules.serial_generation import fillings
from coalloc.solvers.bounds.release_suffixes import can_saturate


def why_infeasible(problem: Problem) -> list[str]:
    """Return a sentence for each job that fits nowhere, or not without saturating a link."""
    found = (_why_nowhere(problem, job) or _saturation(problem, j) for j, job in enumerate(problem.jobs))
    return [sentence for sentence in found if sentence]


def _why_nowhere(problem: Problem, job: Job) -> str:
    """Return why no part of the platform that the scope allows holds a job; nothing where one does."""
    if max(problem.within_scope(problem.capacities)) < job.tasks:
        return f"job {quoted(job.id)} fits on no {problem.scope}: it has {job.tasks} tasks"
    return problem.shortage(job)


def _saturation(problem: Problem, j: int) -> str:
    """Return which link a job saturates at best; nothing where it can do without."""
    return "" if _fits_alone(problem, j) else _mildest_overload(problem, j)


def _fits_alone(problem: Problem, j: int) -> bool:
    job = problem.jobs[j]
    if job.tasks <= _widest_cluster(problem, job):  # within one cluster no link is loaded
        return True
    if problem.scope == "platform" and not can_saturate(problem, job):
        return True
    if any(True for _ in fillings(problem, job, problem.capacities, problem.limits)):
        return True
    if problem.count_allocations(job) > MAX_MODES:
        raise CoallocError(f"job {quoted(job.id)}: no allocation that the links carry was found among the first tried")
    return any(problem.fits_alone(problem.mode(job, a)) for a in problem.allocations(job))


def _widest_cluster(problem: Problem, job: Job) -> int:
    """Return how many tasks of a job the scope lets be in one cluster at most; 0 where it must be on one node."""
    if problem.scope == "node":
        return 0
    num_clusters = len(problem.instance.platform.clusters)
    return max(tasks_per_cluster(problem.rooms(job), problem.classes, num_clusters))


def _mildest_overload(problem: Problem, j: int) -> str:
    job = problem.jobs[j]

    def worst(loads: Sequence[float]) -> tuple[float, int]:
        return max((loads[k] / max(problem.limits[k], 1e-12), k) for k in range(problem.num_links))

    mildest = min((problem.loads(job, allocation) for allocation in problem.allocations(job)), key=worst)
    k = worst(mildest)[1]
    link = problem.instance.platform.links[k]
    where = "runs" if problem.rooms(job) == problem.capacities else "finds memory"
    return (
        f"job {quoted(job.id)} saturates a link wherever it {where}: at best it puts {mildest[k]:g} MB/s "
        f"on the link of {quoted(link.name)}, which carries {link.bandwidth:g} MB/s"
    )
