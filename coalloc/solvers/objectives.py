"""Objectives of OAS, in seconds as reported and in ticks as the models count."""

from __future__ import annotations

from collections.abc import Sequence

from coalloc.instance import Instance
from coalloc.problem import Assignment, Problem
from coalloc.schedule import Schedule
from coalloc.solvers.bounds.simple import earliest_ends, simple_bound

ENERGY_OBJECTIVES = ("energy", "edp")
"""Objectives that need watts."""


def objective_of(instance: Instance, schedule: Schedule, objective: str) -> float:
    """Return the objective of a schedule, s."""
    if objective == "makespan":
        return max((p.end for p in schedule), default=instance.origin) - instance.origin
    return sum(p.end - instance.job_by_id[p.job].arrival for p in schedule)


def ticks_of(assignments: Sequence[Assignment], objective: str) -> float:
    """Return what a model of the objective counts: the latest end, or the sum of ends, in ticks."""
    ends = [a.end for a in assignments]
    return max(ends, default=0) if objective == "makespan" else sum(ends)


def in_seconds(problem: Problem, ticks: float, objective: str) -> float:
    """Return what a model's objective or bound, in ticks, is worth in seconds as reported."""
    if objective == "makespan":
        return max(0.0, problem.seconds(ticks) - problem.instance.origin)
    return problem.seconds(ticks) - sum(job.arrival for job in problem.jobs)


def quick_bound(problem: Problem, objective: str) -> float:
    """Return a bound in ticks that costs nothing: longest job and packing, or every job alone."""
    return simple_bound(problem) if objective == "makespan" else sum(earliest_ends(problem))


def safe_horizon(problem: Problem, first: Sequence[Assignment], objective: str) -> int:
    """Return a number of slots within which an optimal schedule ends.

    For the makespan that of any schedule will do. For the sum of responses no job of an optimal
    schedule ends later than the best known sum less the earliest ends of the others.
    """
    if objective == "makespan":
        return int(ticks_of(first, objective))
    earliest = earliest_ends(problem)
    return int(max(ticks_of(first, objective) - (sum(earliest) - end) for end in earliest))
