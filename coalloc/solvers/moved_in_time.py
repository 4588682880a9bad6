"""Instances that begin far from 0, as in Unix time, moved to the beginning of the clock, and their schedules back.

All that counts is differences of times, and floats hold those of small numbers best: bounds are rounded by a share of
what they count, and slots are counted from 0. The move is by whole slots, so a grid is the same before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from coalloc.checker import check
from coalloc.constraint import Constraint, LatestEnd
from coalloc.fixed import Fixings
from coalloc.instance import Instance, Job
from coalloc.instance.rounding import slots_down
from coalloc.objectives import OBJECTIVES, Objective
from coalloc.objectives.metered import MeteredObjective
from coalloc.problem import time_span
from coalloc.schedule import Schedule
from coalloc.solvers.call import bound_below, fail_on_violations
from coalloc.solvers.limits import AtMost
from coalloc.solvers.result import SolveOptions, SolveResult

MOVABLE = (AtMost, Fixings, LatestEnd)
"""The constraints that are known on another clock."""


def move_of(
    instance: Instance, slot: float | None, objective: Objective, constraints: Sequence[Constraint] = ()
) -> float:
    """Return the seconds by which an instance is moved: 0 unless more time lies before what it says than in it.

    An objective and constraints of the user's own keep their clock, so that nothing is moved.
    """
    is_ours = OBJECTIVES.get(objective.name) is objective
    if not is_ours or instance.local_users or not all(isinstance(kept, MOVABLE) for kept in constraints):
        return 0.0
    first = min((instance.origin, *_instants(instance, constraints)))
    if first <= time_span(instance):
        return 0.0
    return first if slot is None else min(slots_down(first, slot) * slot, first)


def _instants(instance: Instance, constraints: Iterable[Constraint]) -> Iterator[float]:
    """Yield the instants, s, that an instance and constraints say besides arrivals, and that must not be below 0."""
    for job in instance.jobs:
        yield from (instant for instant in (job.due_date, job.deadline) if instant is not None)
    for kept in constraints:
        if isinstance(kept, LatestEnd):
            yield kept.instant
        if isinstance(kept, Fixings):
            yield from (place.start for place in kept.places.values() if place.start is not None)


def moved(instance: Instance, seconds: float) -> Instance:
    """Return an instance so much earlier; windows that are over by then are left out, for nothing runs before."""
    if not seconds:
        return instance

    def earlier(job: Job) -> Job:
        due_date = None if job.due_date is None else job.due_date - seconds
        deadline = None if job.deadline is None else job.deadline - seconds
        return job.replace(arrival=job.arrival - seconds, due_date=due_date, deadline=deadline)

    windows = tuple(
        window.replace(start=max(0.0, window.start - seconds), end=window.end - seconds)
        for window in instance.platform.unavailable
        if window.end > seconds
    )
    platform = instance.platform.replace(unavailable=windows)
    return instance.replace(platform=platform, jobs=tuple(map(earlier, instance.jobs)))


def moved_constraints(constraints: Iterable[Constraint], seconds: float) -> tuple[Constraint, ...]:
    """Return constraints, each one of :data:`MOVABLE`, so much earlier."""
    return tuple(_moved_constraint(kept, seconds) for kept in constraints) if seconds else tuple(constraints)


def _moved_constraint(kept: Constraint, seconds: float) -> Constraint:
    if isinstance(kept, LatestEnd):
        return LatestEnd(kept.instant - seconds)
    if isinstance(kept, AtMost):
        return replace(kept, instance=moved(kept.instance, seconds))
    assert isinstance(kept, Fixings)
    places = {
        job: place if place.start is None else replace(place, start=place.start - seconds)
        for job, place in kept.places.items()
    }
    return replace(kept, places=places)


def moved_schedule(schedule: Schedule, seconds: float) -> Schedule:
    """Return a schedule so much earlier; later, if the seconds are below 0."""
    return schedule.replace(
        placements=tuple(p.replace(start=p.start - seconds, end=p.end - seconds) for p in schedule.placements)
    )


def moved_back(
    result: SolveResult, instance: Instance, seconds: float, objective: Objective, options: SolveOptions
) -> SolveResult:
    """Return the result for an instance from that for it moved; its schedule has passed the checker there as well.

    What the meter reads is read anew: it is what the instance takes.
    """
    if result.schedule is None:
        return result
    schedule = moved_schedule(result.schedule, -seconds)
    fail_on_violations(check(instance, schedule, saturation=options.saturation, scope=options.scope))
    found = replace(result, schedule=schedule)
    if not isinstance(objective, MeteredObjective):
        return found
    worth, bound = objective.of_schedule(instance, schedule), result.lower_bound
    return replace(found, objective=worth, lower_bound=None if bound is None else bound_below(worth, bound))
