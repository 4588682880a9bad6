"""Why an instance has no schedule at all: a job that saturates a link wherever it runs, or cannot end in time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError
from coalloc.problem import MAX_MODES, Problem
from coalloc.rules.serial_generation import fillings
from coalloc.solvers.bounds.release_suffixes import can_saturate
from coalloc.solvers.bounds.simple import simple_bound


def why_infeasible(problem: Problem) -> list[str]:
    """Return a sentence for each job that fits nowhere within the scope, saturates a link, or cannot end in time."""
    nowhere = [
        f"job {quoted(job.id)} fits on no {problem.scope}: it has {job.tasks} tasks"
        for job in problem.jobs
        if problem.scope != "platform" and next(problem.allocations(job), None) is None
    ]
    if nowhere:
        return nowhere
    widest = _processors_of_the_widest_cluster(problem)
    wider = [j for j, job in enumerate(problem.jobs) if job.tasks > widest]  # within one cluster no link is loaded
    saturating = [_mildest_overload(problem, j) for j in wider if not _fits_alone(problem, j)]
    late = saturating or [_too_late(problem, j) for j in range(len(problem.jobs)) if _is_too_late(problem, j)]
    return late or list(_all_too_late(problem))


def _all_too_late(problem: Problem) -> Iterator[str]:
    latest = max(problem.latest_ends, default=math.inf)
    if math.isfinite(latest) and (least := simple_bound(problem)) > latest:
        by, at = problem.seconds(latest), problem.seconds(least)
        yield f"all jobs have to end by {by:g} s, but the last cannot end before {at:g} s"


def _is_too_late(problem: Problem, j: int) -> bool:
    return problem.releases[j] + problem.levels[j][0].duration > problem.latest_ends[j]


def _too_late(problem: Problem, j: int) -> str:
    release, duration = problem.seconds(problem.releases[j]), problem.seconds(problem.levels[j][0].duration)
    latest = problem.seconds(problem.latest_ends[j])
    slots = "" if problem.slot is None else f" in slots of {problem.slot:g} s"
    return (
        f"job {quoted(problem.jobs[j].id)} has to end by {latest:g} s{slots}, but starts at {release:g} s "
        f"and takes {duration:g} s at the least"
    )


def _fits_alone(problem: Problem, j: int) -> bool:
    job = problem.jobs[j]
    if problem.scope == "platform" and not can_saturate(problem, job):
        return True
    if any(True for _ in fillings(problem, job, problem.capacities, problem.bandwidths)):
        return True
    if problem.count_allocations(job) > MAX_MODES:
        raise CoallocError(f"job {quoted(job.id)}: no allocation that the links carry was found among the first tried")
    return any(problem.fits_links(problem.mode(job, a)) for a in problem.allocations(job))


def _processors_of_the_widest_cluster(problem: Problem) -> int:
    """Return how many tasks of a job the scope lets be in one cluster at most; 0 where it must be on one node."""
    if problem.scope == "node":
        return 0
    return max(cluster.num_processors for cluster in problem.instance.platform.clusters)


def _mildest_overload(problem: Problem, j: int) -> str:
    job = problem.jobs[j]

    def worst(loads: Sequence[float]) -> tuple[float, int]:
        shares = (load / max(limit, 1e-12) for load, limit in zip(loads, problem.bandwidths, strict=True))
        return max((share, k) for k, share in enumerate(shares))

    mildest = min((problem.loads(job, allocation) for allocation in problem.allocations(job)), key=worst)
    k = worst(mildest)[1]
    link = problem.instance.platform.links[k]
    return (
        f"job {quoted(job.id)} saturates a link wherever it runs: at best it puts {mildest[k]:g} MB/s "
        f"on the link of {quoted(link.name)}, which carries {link.bandwidth:g} MB/s"
    )
