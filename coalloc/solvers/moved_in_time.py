"""Instances that begin far from 0, as in Unix time, moved to the beginning of the clock, and their schedules back.

All that counts is differences of times, and floats hold those of small numbers best: bounds are rounded by a share of
what they count, and slots are counted from 0. The move is by whole slots, so a grid is the same before and after.
"""

from __future__ import annotations

from dataclasses import replace

from coalloc.checker import check
from coalloc.instance import Instance, Job
from coalloc.instance.rounding import slots_down
from coalloc.problem import time_span
from coalloc.schedule import Schedule
from coalloc.solvers.call import fail_on_violations
from coalloc.solvers.result import SolveOptions, SolveResult


def move_of(instance: Instance, slot: float | None) -> float:
    """Return the seconds by which an instance is moved: 0 unless more time lies before it than in it."""
    origin = instance.origin
    if origin <= time_span(instance) or instance.local_users or instance.platform.unavailable:
        return 0.0
    seconds = origin if slot is None else slots_down(origin, slot) * slot
    instants = (instant for job in instance.jobs for instant in (job.due_date, job.deadline) if instant is not None)
    return min(seconds, origin) if all(instant >= seconds for instant in instants) else 0.0


def moved(instance: Instance, seconds: float) -> Instance:
    """Return an instance so much earlier."""

    def earlier(job: Job) -> Job:
        due_date = None if job.due_date is None else job.due_date - seconds
        deadline = None if job.deadline is None else job.deadline - seconds
        return job.replace(arrival=job.arrival - seconds, due_date=due_date, deadline=deadline)

    return instance.replace(jobs=tuple(map(earlier, instance.jobs))) if seconds else instance


def moved_schedule(schedule: Schedule, seconds: float) -> Schedule:
    """Return a schedule so much earlier; later, if the seconds are below 0."""
    return schedule.replace(
        placements=tuple(p.replace(start=p.start - seconds, end=p.end - seconds) for p in schedule.placements)
    )


def moved_back(result: SolveResult, instance: Instance, seconds: float, options: SolveOptions) -> SolveResult:
    """Return the result for an instance from that for it moved; its schedule has passed the checker there as well."""
    if result.schedule is None:
        return result
    schedule = moved_schedule(result.schedule, -seconds)
    fail_on_violations(check(instance, schedule, saturation=options.saturation, scope=options.scope))
    return replace(result, schedule=schedule)
