"""Why there is no schedule, job by job: which limit is in the way, and how much is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from graphlib import TopologicalSorter

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text, number_text
from coalloc.explanations.reasons import Reason, named
from coalloc.problem import MAX_MODES, Problem, least_tasks, short_resource
from coalloc.rules.spreading import Spreading
from coalloc.solvers.bounds.simple import simple_bound
from coalloc.solvers.feasibility import alone, fits_alone, mildest_load


def why_no_schedule(problem: Problem) -> list[Reason]:
    """Return a reason for each job that has no place; if all have one, for each that ends too late, or for all."""
    spreading = Spreading(problem)
    jobs = range(len(problem.jobs))
    nowhere = [reason for j in jobs if (reason := _no_room(problem, j) or _saturated(problem, spreading, j))]
    return nowhere or list(_too_late(problem)) or list(_together_too_late(problem))


def _no_room(problem: Problem, j: int) -> Reason | None:
    """Return why no part of the platform that the scope allows has room for a job."""
    job, tasks = problem.jobs[j], least_tasks(problem.jobs[j])
    part = {"platform": "the platform has", "cluster": "no cluster has more than", "node": "no node has more than"}
    by_memory = [node_class.room(job.memory or 0.0) for node_class in problem.classes]
    rooms = {
        "processors": (problem.capacities, f"{part[problem.scope]} {{}} processors"),
        "memory": (by_memory, f"the memory ({job.memory or 0.0:g} MB per task) suffices for {{}}"),
        "eligibility": (problem.allocations.rooms(job), "the clusters and nodes that it may use have room for {}"),
    }
    for kind, (room, words) in rooms.items():
        if kind == "eligibility" and (short := short_resource(problem.allocations, job)):
            resource, enough = short
            within = "" if problem.scope == "platform" else f" in one {problem.scope}"
            sentence = (
                f"job {quoted(job.id)} has {tasks} tasks, but the capacity of {quoted(resource)}{within} suffices for "
                f"{enough}: {tasks - enough} too few"
            )
            return Reason("infeasible", "resource", (job.id,), resource, tasks, enough, sentence)
        most = problem.allocations.widest(room)
        if most < tasks:
            limit = words.format(most)
            sentence = f"job {quoted(job.id)} has {tasks} tasks, but {limit}: {tasks - most} too few"
            return Reason("infeasible", kind, (job.id,), "", tasks, most, sentence)
    return None


def _saturated(problem: Problem, spreading: Spreading, j: int) -> Reason | None:
    """Return which link a job saturates at best."""
    if fits_alone(problem, spreading, j):
        return None
    job = problem.jobs[j]
    if problem.contended_stocks and job.asks_resources:
        sentence = f"job {quoted(job.id)} saturates a link on every allocation with enough of its resources"
        return Reason("infeasible", "link", (job.id,), "", None, None, sentence)
    mildest = mildest_load(problem, j, problem.capacities, problem.allocations.limits)
    if mildest is None:
        sentence = f"job {quoted(job.id)} saturates a link on every allocation"
        return Reason("infeasible", "link", (job.id,), "", None, None, sentence)
    link, load, limit = problem.instance.platform.links[mildest[0]].name, *mildest[1:]
    sentence = (
        f"job {quoted(job.id)} saturates a link on every allocation: it puts at least {load:g} MB/s on the link of "
        f"{quoted(link)}, whose limit is {limit:g} MB/s: {load - limit:g} MB/s too few"
    )
    return Reason("infeasible", "link", (job.id,), link, load, limit, sentence)


def _too_late(problem: Problem) -> Iterator[Reason]:
    """Yield a reason for each job that cannot end in time, even if it waits for those alone that it comes after."""
    number = {job.id: j for j, job in enumerate(problem.jobs)}
    before = {j: [number[i] for i in job.after if i in number] for j, job in enumerate(problem.jobs)}
    earliest: dict[int, float] = {}
    for j in TopologicalSorter(before).static_order():
        job, duration, latest = problem.jobs[j], fastest(problem, j), _stated_end(problem, j)
        release = problem.release_alone(j)
        last = max(before[j], key=earliest.__getitem__, default=None)
        waits = last is not None and earliest[last] > release
        start = earliest[last] if waits and last is not None else release
        earliest[j] = start + duration
        if earliest[j] <= problem.clock.last_tick(latest):
            continue
        begins, takes, ends = (problem.clock.seconds(t) for t in (start, duration, earliest[j]))
        others = (problem.jobs[last].id,) if waits and last is not None else ()
        when = f" (the end of {named(others)})" if others else ""
        sentence = (
            f"job {quoted(job.id)} must end by {instant_text(latest)}, but cannot end before {instant_text(ends)}: "
            f"it starts at {instant_text(begins)}{when} or later and takes {number_text(takes)} s: "
            f"{number_text(ends - latest)} s too late"
        )
        yield Reason("infeasible", "deadline", (job.id, *others), "", ends, latest, sentence)


def _stated_end(problem: Problem, j: int) -> float:
    """Return by when a job has to end, s, whatever others make of that; infinity where nothing says so."""
    return problem.declared.of(problem.jobs[j].id).latest_end


def fastest(problem: Problem, j: int) -> float:
    """Return the ticks that a job takes at least: with links counted where its allocations can be tried."""
    if problem.allocations.count(problem.jobs[j]) > MAX_MODES:
        return problem.levels[j][0].duration
    modes = (
        problem.allocations.mode(problem.jobs[j], allocation) for allocation in problem.allocations.of(problem.jobs[j])
    )
    return min(mode.duration for mode in modes if problem.allocations.fits_alone(mode))


def _together_too_late(problem: Problem) -> Iterator[Reason]:
    """Yield that some jobs cannot all end in time: of those that have to end by an instant, the least one."""
    ends = [_stated_end(problem, j) for j in range(len(problem.jobs))]
    for latest in sorted({end for end in ends if math.isfinite(end)}):
        numbers = [j for j, end in enumerate(ends) if end <= latest]
        least = simple_bound(alone(problem, numbers))
        if least > problem.clock.last_tick(latest):
            jobs, at = tuple(problem.jobs[j].id for j in numbers), problem.clock.seconds(least)
            by, ends_at = instant_text(latest), instant_text(at)
            together = f"{named(jobs)} must end by {by}, but the last of them cannot end before {ends_at}"
            late = f"{together}: {number_text(at - latest)} s too late"
            yield Reason("infeasible", "together", jobs, "", at, latest, late)
            return
