"""Jobs that start together: what a job may use, what its mode costs CBS and JPR, and the schedule of all modes.

Source: thesis 3.1.2 (PAS) and 3.1.3.1 (CBS, JPR), errata 7 and 11.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from coalloc.instance import Job
from coalloc.problem import Assignment, Mode, Problem
from coalloc.problem.allocation import Allocation, tasks_per_cluster
from coalloc.schedule import Schedule, schedule_of

CHUNK_SHARE = 0.75
"""Share of a job's tasks that should be in one cluster."""


def package_limits(problem: Problem, j: int) -> tuple[float, ...]:
    """Return how much job ``j`` can take of each resource if it starts alone: MB/s of links, MB of memories.

    Where links may saturate there is no limit, except that a job that spends time communicating never ends on a
    link of no bandwidth.
    """
    limits = problem.package.limits
    if problem.links == "strict" or problem.jobs[j].processing_share == 1.0:
        return limits
    links = (math.inf if link.bandwidth > 0.0 else 0.0 for link in problem.instance.platform.links)
    return (*links, *limits[problem.allocations.num_links :])


def fits_processors(problem: Problem, allocation: Allocation) -> bool:
    """Return whether an allocation fits the processors that are free when the package starts."""
    return all(n <= free for n, free in zip(allocation, problem.package.processors, strict=True))


def chunk_shortfall(problem: Problem, job: Job, mode: Mode) -> int:
    """Return how many tasks the largest part of a job in one cluster lacks to hold 75 % of its tasks."""
    return _shortfall(problem, job, mode.allocation)


def least_shortfall(problem: Problem, job: Job) -> int:
    """Return how many tasks the largest part of a job lacks at least, on all that is free for the package."""
    return _shortfall(problem, job, problem.package.processors)


def _shortfall(problem: Problem, job: Job, processors: Sequence[int]) -> int:
    held = tasks_per_cluster(processors, problem.classes, len(problem.instance.platform.clusters))
    return max(0, math.ceil(CHUNK_SHARE * job.tasks) - max(held))


def total_link_load(problem: Problem, mode: Mode) -> float:
    """Return the total load of a mode over all links, MB/s."""
    return math.fsum(mode.loads[: problem.allocations.num_links])


def effective_power(problem: Problem, mode: Mode) -> float:
    """Return the sum over the tasks of Gamma of their processors."""
    pairs = zip(mode.allocation, problem.classes, strict=True)
    return math.fsum(count * node_class.effective_power for count, node_class in pairs)


def package_schedule(problem: Problem, modes: Mapping[int, Mode]) -> Schedule:
    """Return the schedule in which each job (by index) starts with the package, in its mode."""
    start = problem.package.start
    return schedule_of(problem, [Assignment(j, start, mode) for j, mode in modes.items()])
