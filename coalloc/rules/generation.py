"""Serial schedule generation: jobs of a list are placed one by one, each as early as it can end.

Every exact method starts from such a schedule: it gives the horizon and the first incumbent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coalloc.allocation import Allocation
from coalloc.instance import CoallocError, Job
from coalloc.problem import Assignment, Configuration, Problem
from coalloc.rules.orders import ORDERS, ordered
from coalloc.rules.profile import Profile

FILL_STEPS = 2_000
"""Partial allocations that one search for a filling tries before it gives up."""


def list_schedule(problem: Problem, jobs: Sequence[int]) -> list[Assignment]:
    """Place the jobs (indices) in this order, each where it ends first (then where it starts first).

    Raises :class:`CoallocError` where a job finds no allocation on an empty platform.
    """
    profile = Profile(problem)
    assignments = []
    for j in jobs:
        assignment = earliest_end(problem, profile, j)
        book(profile, assignment)
        assignments.append(assignment)
    return assignments


def best_list_schedule(problem: Problem) -> list[Assignment]:
    """Return the schedule with the least latest end among those of all named orders."""
    index = {job.id: j for j, job in enumerate(problem.jobs)}
    schedules = [list_schedule(problem, [index[job.id] for job in ordered(problem.jobs, name)]) for name in ORDERS]
    return min(schedules, key=lambda schedule: max((a.end for a in schedule), default=0))


def start_in_order(problem: Problem, choices: Sequence[tuple[int, Configuration]]) -> list[Assignment]:
    """Place jobs in this order in given configurations, each at the earliest instant that is free."""
    profile = Profile(problem)
    assignments = []
    for j, configuration in choices:
        start = earliest_start(profile, problem.releases[j], configuration)
        assignment = Assignment(j, start, configuration)
        book(profile, assignment)
        assignments.append(assignment)
    return assignments


def book(profile: Profile, assignment: Assignment) -> None:
    """Occupy what an assignment uses."""
    configuration = assignment.configuration
    profile.occupy(assignment.start, assignment.end, configuration.allocation, configuration.loads)


def earliest_start(profile: Profile, release: float, configuration: Configuration) -> float:
    """Return the first instant from ``release`` on at which the configuration fits to its end."""
    for start in profile.changes(release):
        nodes, bandwidth = profile.free(start, start + configuration.duration)
        if (nodes >= configuration.allocation).all() and (bandwidth >= configuration.loads).all():
            return start
    raise CoallocError("a configuration that fits the platform must fit once everything has ended")


def earliest_end(problem: Problem, profile: Profile, j: int) -> Assignment:
    """Return the assignment of job ``j`` that ends first, over all starts, levels and fillings."""
    best: Assignment | None = None
    levels = problem.levels[j]
    for start in profile.changes(problem.releases[j]):
        if best is not None and start + levels[0].duration >= best.end:
            break
        for level in levels:
            nodes, bandwidth = profile.free(start, start + level.duration)
            free = [int(nodes[g]) if g in level.classes else 0 for g in range(len(nodes))]
            for configuration in fillings(problem, problem.jobs[j], free, bandwidth.tolist()):
                if best is None or start + configuration.duration < best.end:
                    best = Assignment(j, start, configuration)
            if best is not None and best.start == start:
                break
    if best is not None:
        return best
    return _any_assignment(problem, profile, j)


def _any_assignment(problem: Problem, profile: Profile, j: int) -> Assignment:
    """Return the earliest-ending assignment over all configurations, where no filling was found."""
    candidates = [
        Assignment(j, earliest_start(profile, problem.releases[j], configuration), configuration)
        for configuration in problem.configurations[j]
    ]
    if not candidates:
        raise CoallocError(f"job {problem.jobs[j].id!r} fits nowhere")
    return min(candidates, key=lambda assignment: assignment.end)


def fillings(problem: Problem, job: Job, free: Sequence[int], bandwidth: Sequence[float]) -> Iterator[Configuration]:
    """Yield allocations of a job to free processors (per class) that leave no link overloaded (MB/s).

    One fills the fastest classes first, one the clusters with most free processors first; with scope
    ``cluster`` or ``node`` there is one per cluster or node.
    """
    for order in _class_orders(problem, free):
        if sum(free[g] for g in order) >= job.tasks:
            allocation = _fill(problem, job, free, bandwidth, order)
            if allocation is not None:
                yield problem.configuration(job, allocation)


def _class_orders(problem: Problem, free: Sequence[int]) -> list[list[int]]:
    classes = problem.classes
    used = [g for g in range(len(classes)) if free[g] > 0]
    if problem.scope == "node":
        return [[g] for g in used]
    fastest = sorted(used, key=lambda g: -classes[g].effective_power)
    if problem.scope == "cluster":
        return [[g for g in fastest if classes[g].cluster == c] for c in sorted({classes[g].cluster for g in used})]
    room: dict[int, int] = {}
    for g in used:
        room[classes[g].cluster] = room.get(classes[g].cluster, 0) + free[g]
    widest = sorted(fastest, key=lambda g: (-room[classes[g].cluster], classes[g].cluster))
    return [fastest, widest] if fastest != widest else [fastest]


def _fill(
    problem: Problem, job: Job, free: Sequence[int], bandwidth: Sequence[float], order: Sequence[int]
) -> Allocation | None:
    """Return the first allocation, most tasks on the first classes, that the links can carry."""
    allocation = [0] * len(free)
    rooms = [sum(free[g] for g in order[i:]) for i in range(len(order) + 1)]
    steps = 0

    def place(i: int, rest: int) -> bool:
        nonlocal steps
        steps += 1
        if rest == 0:
            return all(load <= limit for load, limit in zip(problem.loads(job, allocation), bandwidth, strict=True))
        if rest > rooms[i] or steps > FILL_STEPS:
            return False
        for count in range(min(rest, free[order[i]]), -1, -1):
            allocation[order[i]] = count
            if place(i + 1, rest - count):
                return True
        allocation[order[i]] = 0
        return False

    return tuple(allocation) if place(0, job.tasks) else None
