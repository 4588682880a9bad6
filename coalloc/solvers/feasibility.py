"""Why there is no schedule at all: jobs that find no room, saturate a link or cannot end in time; packages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import le

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text
from coalloc.instance import Job, column
from coalloc.problem import MAX_MODES, Problem, least_tasks, shortage
from coalloc.problem.allocation import tasks_per_cluster
from coalloc.problem.differences import contradicting_jobs
from coalloc.problem.execution import link_loads_of
from coalloc.rules.package_modes import package_limits
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import earliest_start, fillings, room_for
from coalloc.rules.spreading import Spreading
from coalloc.rules.tuning import CHOICES, TRIED
from coalloc.solvers.bounds.release_suffixes import can_saturate
from coalloc.solvers.bounds.simple import simple_bound

LEAST_LIMIT = 1e-12
"""Bandwidth, MB/s, that a link counts as having when loads are compared with it."""


def why_infeasible(problem: Problem) -> list[str]:
    """Return a sentence for each job that fits nowhere, saturates a link, or cannot end in time."""
    nowhere = why_without_place(problem) or [*_why_beyond_budget(problem), *problem.cluster_rows.faults()]
    ends = ((j, latest) for j, latest in enumerate(problem.latest_ends) if latest < math.inf)
    late = nowhere or [_too_late(problem, j) for j, latest in ends if _earliest_end(problem, j) > latest]
    return late or [
        *(_all_too_late(problem) or _some_too_late(problem)),
        *filter(None, [why_crowded(problem), _why_contradicting(problem)]),
    ]


def _why_contradicting(problem: Problem) -> str:
    """Return the jobs whose time lags contradict each other; nothing if that is not proved."""
    names = [quoted(problem.jobs[j].id) for j in contradicting_jobs(problem)]
    return f"no starts of {', '.join(names)} satisfy the time lags between jobs" if names else ""


def _why_beyond_budget(problem: Problem) -> list[str]:
    """Return a sentence for each budget that all jobs exceed whatever their allocations are."""
    return [
        f"constraint {row.name}: the allocations of all jobs take at least {row.least:g}, above the limit of "
        f"{row.limit:g}"
        for row in problem.budgets
        if row.room < 0.0
    ]


def why_without_place(problem: Problem) -> list[str]:
    """Return a sentence for each job that fits nowhere, or saturates a link wherever it does."""
    asking = np.flatnonzero(~_surely_fit(problem)).tolist()
    if not asking:
        return []
    spreading = Spreading(problem)
    found = (why_nowhere(problem, problem.jobs[j]) or _saturation(problem, spreading, j) for j in asking)
    return [sentence for sentence in found if sentence]


def _surely_fit(problem: Problem) -> NDArray[np.bool_]:
    """Return for which jobs processors are all that counts, of which there are enough.

    They are in one cluster, where a job loads no link, or no link saturates however the tasks are spread.
    """
    allocations, jobs = problem.allocations, problem.jobs
    if problem.scope == "node" or allocations.restricts_spreads or allocations.is_moldable:
        return np.zeros(len(jobs), dtype=bool)
    num_clusters = len(problem.instance.platform.clusters)
    widest = max(tasks_per_cluster(allocations.capacities, problem.classes, num_clusters), default=0)
    tasks = np.array(column(problem.instance.jobs, "tasks"), dtype=np.int64)
    fits = tasks <= widest
    if problem.scope == "platform":
        most = link_loads_of(tasks // 2, jobs)  # no split loads a link more than an even one
        limit = min(allocations.limits[: allocations.num_links], default=math.inf)
        fits |= (tasks <= sum(allocations.capacities)) & (most <= limit)
    if not allocations.has_equal_rooms:
        fits &= [allocations.rooms(job) is allocations.capacities for job in jobs]
    return fits


def why_crowded(problem: Problem) -> str:
    """Return an instant at which jobs that must run then need more processors than there are; nothing if there is none.

    A job runs for certain from when it has to start at the latest to when it can end at the earliest.
    """
    if all(map(math.isinf, problem.latest_ends)) or any(why_nowhere(problem, job) for job in problem.jobs):
        return ""
    fastest = [levels[0].duration for levels in problem.levels]
    since = [end - duration for end, duration in zip(problem.latest_ends, fastest, strict=True)]
    until = [release + duration for release, duration in zip(problem.releases, fastest, strict=True)]
    tasks = [least_tasks(job) for job in problem.jobs]
    for instant in sorted({start for start in since if math.isfinite(start)}):
        certain = [j for j in range(len(problem.jobs)) if since[j] <= instant < until[j]]
        needed = sum(tasks[j] for j in certain)
        held = sum(sum(b.allocation) for b in (*problem.busy, *problem.blocks) if b.start <= instant < b.end)
        if needed > (there := sum(problem.capacities) - held):
            names = ", ".join(quoted(problem.jobs[j].id) for j in certain)
            return (
                f"{names} require {needed} processors at {instant_text(problem.clock.seconds_of(instant))}, but there "
                f"are {there}"
            )
    return ""


def why_package_infeasible(problem: Problem) -> list[str]:
    """Return why the package cannot start: too few free processors, or each job that no allocation can hold."""
    package, spreading = problem.package, Spreading(problem)
    tasks, free = sum(job.tasks for job in problem.jobs), sum(package.processors)
    if tasks > free:
        return [f"the package requires {tasks} processors, but {free} are free at {instant_text(package.start)}"]
    found = (_lack_of_memory(problem, j) or _lack_of_bandwidth(problem, spreading, j) for j in range(len(problem.jobs)))
    return [
        f"job {quoted(job.id)} cannot start at {instant_text(package.start)}: {reason}"
        for job, reason in zip(problem.jobs, found, strict=True)
        if reason
    ]


def _all_too_late(problem: Problem) -> list[str]:
    latest = max(problem.latest_ends, default=math.inf)
    if math.isfinite(latest) and (least := simple_bound(problem)) > latest:
        by, at = problem.clock.seconds_of(latest), problem.clock.seconds_of(least)
        return [f"all jobs must end by {instant_text(by)}, but the last one cannot end before {instant_text(at)}"]
    return []


def too_late_together(problem: Problem) -> tuple[list[int], float] | None:
    """Return jobs, by index, the last of which ends after all have to, and before when it cannot end, ticks.

    Those that have to end by an instant, the least one; None where simple bounds prove nothing of any.
    """
    instants = sorted({latest for latest in problem.latest_ends if math.isfinite(latest)})
    is_tried = len(instants) * len(problem.jobs) <= CHOICES
    if not is_tried or any(why_nowhere(problem, job) for job in problem.jobs if instants):
        return None
    for instant in instants:
        numbers = [j for j, latest in enumerate(problem.latest_ends) if latest <= instant]
        least = simple_bound(alone(problem, numbers))
        if len(numbers) > 1 and least > instant:
            return numbers, least
    return None


def alone(problem: Problem, numbers: Sequence[int]) -> Problem:
    """Return the problem of some of its jobs, which come after each other alone."""
    kept = {problem.jobs[j].id for j in numbers} | {run.job.id for run in problem.instance.running}
    jobs = (
        job.replace(
            after=tuple(i for i in job.after if i in kept), lags=tuple(lag for lag in job.lags if lag.after in kept)
        )
        for job in (problem.jobs[j] for j in numbers)
    )
    return replace(problem, instance=problem.instance.replace(jobs=tuple(jobs)))


def _some_too_late(problem: Problem) -> list[str]:
    found = too_late_together(problem)
    if found is None:
        return []
    names = ", ".join(quoted(problem.jobs[j].id) for j in found[0])
    by, at = (problem.clock.seconds_of(ticks) for ticks in (max(problem.latest_ends[j] for j in found[0]), found[1]))
    return [f"{names} must end by {instant_text(by)}, but the last of them cannot end before {instant_text(at)}"]


def _earliest_end(problem: Problem, j: int) -> float:
    """Return before when a job cannot end, ticks: at its fastest, or where it is tried, beside what is not there."""
    fastest = problem.releases[j] + problem.levels[j][0].duration
    if not problem.blocks or problem.allocations.count(problem.jobs[j]) > TRIED:
        return fastest
    profile = Profile(problem)
    return min(
        (earliest_start(profile, problem.releases[j], m) + m.duration for m in problem.allocations.modes_of(j)),
        default=fastest,
    )


def _too_late(problem: Problem, j: int) -> str:
    release, duration = (
        problem.clock.seconds_of(problem.releases[j]),
        problem.clock.seconds(problem.levels[j][0].duration),
    )
    latest = problem.clock.seconds_of(problem.latest_ends[j])
    slots = "" if problem.slot is None else f" with time slots of {problem.slot:g} s"
    beside = problem.clock.seconds_of(_earliest_end(problem, j))
    if beside > release + duration:
        name = quoted(problem.jobs[j].id)
        by, at = instant_text(latest), instant_text(beside)
        return f"job {name} must end by {by}{slots}, but reservations and outages delay its end to {at} or later"
    return (
        f"job {quoted(problem.jobs[j].id)} must end by {instant_text(latest)}{slots}, but it starts at "
        f"{instant_text(release)} or later and takes at least {duration:g} s"
    )


def why_not_together(problem: Problem) -> str:
    """Return what the jobs of a package that fit one by one lack together."""
    lacking = {"bandwidth": "the bandwidth of every link"} if problem.links == "strict" else {}
    lacking |= {"memory": "the memory of every node"} if problem.is_restricted else {}
    return (
        f"there are enough processors for the package, but not enough {' and '.join(lacking)}: no allocation that "
        "starts "
        f"all {len(problem.jobs)} jobs at {instant_text(problem.package.start)} respects "
        f"{' and '.join(lacking.values())}"
    )


def why_nowhere(problem: Problem, job: Job) -> str:
    """Return why no part of the platform that the scope allows holds a job; nothing where one does."""
    if problem.allocations.widest_part < least_tasks(job):
        return f"job {quoted(job.id)} fits on no {problem.scope}: it has {least_tasks(job)} tasks"
    return shortage(problem.allocations, job)


def _saturation(problem: Problem, spreading: Spreading, j: int) -> str:
    """Return which link a job saturates at best; nothing where it can do without."""
    job = problem.jobs[j]
    if fits_alone(problem, spreading, j):
        return ""
    if problem.contended_stocks and job.asks_resources:
        return f"job {quoted(job.id)} fits on no allocation: wherever its resources suffice, it saturates a link"
    where = "" if problem.allocations.rooms(job) == problem.capacities else " with enough memory"
    at_best = _at_best(problem, j, problem.capacities, problem.allocations.limits, "whose limit is {:g} MB/s")
    return f"job {quoted(job.id)} saturates a link on every allocation{where}{at_best and ': ' + at_best}"


def fits_alone(problem: Problem, spreading: Spreading, j: int) -> bool:
    """Return whether a job that the platform holds saturates no link on some allocation."""
    job = problem.jobs[j]
    is_spread = any(problem.allocations.spread(shape) is not None for shape in problem.allocations.shapes(job))
    is_tried = is_spread or (job.asks_resources and problem.contended_stocks)
    if is_tried and problem.allocations.count(job) <= MAX_MODES:
        return bool(problem.allocations.modes_of(j))
    if is_spread:
        return True  # there are too many allocations to try them all
    if least_tasks(job) <= _widest_cluster(problem, job):  # within one cluster no link is loaded
        return True
    if problem.scope != "platform":
        shapes = problem.allocations.shapes(job)
        return any(
            True for shape in shapes for _ in fillings(problem, shape, problem.capacities, problem.allocations.limits)
        )
    return not can_saturate(problem, job) or spreading.fits(j, problem.capacities, problem.allocations.limits)


def _widest_cluster(problem: Problem, job: Job) -> int:
    """Return how many tasks of a job the scope lets be in one cluster at most; 0 where it must be on one node."""
    if problem.scope == "node":
        return 0
    num_clusters = len(problem.instance.platform.clusters)
    return max(tasks_per_cluster(problem.allocations.rooms(job), problem.classes, num_clusters))


def _lack_of_memory(problem: Problem, j: int) -> str:
    """Return why a job finds too little memory beside what runs, nothing where there is enough."""
    job, package = problem.jobs[j], problem.package
    room = sum(room_for(problem, job, package.processors, package.limits))
    if not job.memory or room >= job.tasks:
        return ""
    return (
        f"it requires {job.memory:g} MB of memory per task, "
        f"but the free nodes suffice for {room:g} of its {job.tasks} tasks"
    )


def _lack_of_bandwidth(problem: Problem, spreading: Spreading, j: int) -> str:
    """Return which link a job overloads beside what runs, nothing where it need not."""
    processors, limits = problem.package.processors, package_limits(problem, j)
    if spreading.fits(j, processors, limits):
        return ""
    return _at_best(problem, j, processors, limits, "which has {:g} MB/s free") or "every allocation saturates a link"


def _at_best(problem: Problem, j: int, processors: Sequence[int], limits: Sequence[float], limit: str) -> str:
    """Return what a job puts on a link, and the link's limit (MB/s), where it overloads the worst link least.

    Nothing where it has more allocations than are enumerated.
    """
    mildest = mildest_load(problem, j, processors, limits)
    if mildest is None:
        return ""
    k, load, carried = mildest
    link = problem.instance.platform.links[k].name
    return f"it puts at least {load:g} MB/s on the link of {quoted(link)}, {limit.format(carried)}"


def mildest_load(
    problem: Problem, j: int, processors: Sequence[int], limits: Sequence[float]
) -> tuple[int, float, float] | None:
    """Return (link, load, limit; MB/s) of the worst link of a job on the allocation that overloads that least.

    None where it has more allocations than are enumerated, or none.
    """
    job = problem.jobs[j]
    if problem.allocations.count(job) > MAX_MODES:
        return None

    def worst(loads: Sequence[float]) -> tuple[float, int]:
        return max((loads[k] / max(limits[k], LEAST_LIMIT), k) for k in range(problem.allocations.num_links))

    room = room_for(problem, job, processors, limits)
    fitting = (a for a in problem.allocations.of(job) if all(map(le, a, room)))
    mildest = min((problem.allocations.mode(job, allocation).loads for allocation in fitting), key=worst, default=None)
    if mildest is None:
        return None
    k = worst(mildest)[1]
    return k, mildest[k], limits[k]
