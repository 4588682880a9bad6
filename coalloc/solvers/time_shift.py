"""Instances on a clock that begins with them, so that bounds and slots count from small numbers, as in Unix time.

Bounds are rounded by a share of what they count, and slots are counted from 0, so far from 0 both are coarse. The shift
is a whole number of ticks or slots, so that slots stay the same. Schedules and results are in the user's times:
:meth:`coalloc.problem.Problem.seconds_of` leads back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from coalloc.instance import Instance, Job, column
from coalloc.instance.constraints import Constraint, LatestEnd
from coalloc.instance.rounding import slots_down
from coalloc.instance.time_base import TimeBase
from coalloc.objectives import OBJECTIVES, Objective
from coalloc.problem.fixed import Fixings
from coalloc.solvers.limits import AllocationsAtMost, AtMost
from coalloc.solvers.solve_state import KNOWN


@dataclass(frozen=True, slots=True)
class Shifted:
    """An instance and its constraints on a clock that begins later, and the time base that says how much."""

    instance: Instance
    constraints: tuple[Constraint, ...]
    base: TimeBase


def shifted(
    instance: Instance, slot: float | None, objective: Objective, constraints: Iterable[Constraint] = ()
) -> Shifted:
    """Return an instance on the clock on which it is solved: its own, unless more time lies before it than in it.

    A user's objective and constraints keep their clock, so that nothing is shifted.
    """
    base, kept = instance.time_base, tuple(constraints)
    seconds = _seconds(instance, slot, objective, kept)
    if not seconds:
        return Shifted(instance, kept, base)
    earlier = tuple(_earlier_constraint(one, seconds) for one in kept)
    return Shifted(_earlier(instance, seconds), earlier, replace(base, shift=seconds))


def _seconds(instance: Instance, slot: float | None, objective: Objective, constraints: Sequence[Constraint]) -> float:
    """Return the seconds by which an instance is shifted."""
    is_ours = OBJECTIVES.builtin.get(objective.name) is objective
    if not is_ours or instance.local_users or not all(isinstance(kept, KNOWN) for kept in constraints):
        return 0.0
    first = min((instance.origin, *_times(instance, constraints)))
    if first <= instance.time_span:
        return 0.0
    tick = instance.time_base.tick
    return first // tick * tick if slot is None else min(slots_down(first, slot) * slot, first)


def _times(instance: Instance, constraints: Iterable[Constraint]) -> Iterator[float]:
    """Yield the times, s, that an instance and constraints state besides arrivals, and that must not be below 0."""
    for name in ("due_date", "deadline"):
        yield from (time for time in column(instance.jobs, name) if time is not None)
    for kept in constraints:
        if isinstance(kept, LatestEnd):
            yield kept.instant
        if isinstance(kept, Fixings):
            yield from (place.start for place in kept.places.values() if place.start is not None)


def _earlier(instance: Instance, seconds: float) -> Instance:
    """Return an instance so much earlier; windows that are over by then are left out, for nothing runs before."""

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


def _earlier_constraint(kept: Constraint, seconds: float) -> Constraint:
    """Return a constraint, one of :data:`coalloc.solvers.solve_state.KNOWN`, so much earlier."""
    if isinstance(kept, LatestEnd):
        return LatestEnd(kept.instant - seconds)
    if isinstance(kept, AtMost):
        return replace(kept, instance=_earlier(kept.instance, seconds))
    if isinstance(kept, AllocationsAtMost):
        return kept
    assert isinstance(kept, Fixings)
    places = {
        job: place if place.start is None else replace(place, start=place.start - seconds)
        for job, place in kept.places.items()
    }
    return replace(kept, places=places)
