"""Backfilling: jobs start out of order where that delays no reservation.

EASY (:class:`Easy`) keeps one reservation, for the first job that does not fit: the earliest instant at
which the running jobs, by their estimates, leave it an allocation. A job behind it starts if it is
expected to end by then, or uses no processor that the reservation needs. Conservative backfilling
(:class:`Conservative`) reserves for every job. Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import le

from coalloc.allocation import Allocation, NodeClass, Scope
from coalloc.execution import execution_time
from coalloc.heuristics.classics import less
from coalloc.instance import Instance, Job
from coalloc.instance.rounding import time_tolerance
from coalloc.problem import discretise
from coalloc.rules.allocation_rules import Choose, allocation_rule, slowest
from coalloc.rules.profile import Profile
from coalloc.rules.reservations import Release, Reservation, reservation
from coalloc.simulator.policy import Start, State


@dataclass(frozen=True, slots=True)
class Easy:
    """EASY backfilling over the order of arrival."""

    allocation: str = "fastest-first"
    scope: Scope = "platform"

    def decide(self, state: State) -> Iterator[Start]:
        """Yield the jobs that start now: from the head, then those that do not delay the first that waits."""
        choose = allocation_rule(self.allocation, state.classes, self.scope)
        free = state.free
        started: list[Release] = []
        waiting = iter(state.queue)
        for job in waiting:
            counts = choose(job.tasks, free)
            if counts is None:
                candidates = [other for other in waiting if other.tasks <= sum(free)]
                if candidates:
                    kept = reservation(job.tasks, free, _releases(state, started), choose)
                    yield from _backfilled(state, candidates, free, kept, choose)
                return
            free = less(free, counts)
            started.append((state.now + estimated_time(job, counts, state.classes), counts))
            yield Start(job.id, counts)


def _backfilled(
    state: State, candidates: Sequence[Job], free: Allocation, kept: Reservation | None, choose: Choose
) -> Iterator[Start]:
    """Yield the candidates that start now without delaying the reservation."""
    for job in candidates:
        counts = _harmless(state, job, free, kept, choose)
        if counts is not None:
            yield Start(job.id, counts)
            free = less(free, counts)
            if kept is not None and state.now + estimated_time(job, counts, state.classes) > kept.start:
                kept = Reservation(kept.start, less(kept.extra, counts))


def _releases(state: State, started: Sequence[Release]) -> list[Release]:
    """Return when jobs are expected to end, those that start now included; overdue ones are expected now."""
    ends = [(max(state.now, running.estimated_end), running.counts) for running in state.running]
    return sorted([*ends, *started], key=lambda release: release[0]) if started else ends


def _harmless(state: State, job: Job, free: Allocation, kept: Reservation | None, choose: Choose) -> Allocation | None:
    """Return an allocation with which a job does not delay the reservation, None where there is none."""
    counts = choose(job.tasks, free)
    if counts is None or kept is None or all(map(le, counts, kept.extra)):
        return counts
    if state.now + estimated_time(job, counts, state.classes) <= kept.start:
        return counts
    return choose(job.tasks, tuple(map(min, free, kept.extra)))


def estimated_time(job: Job, counts: Allocation, classes: Sequence[NodeClass]) -> float:
    """Return how long a job is expected to run on an allocation if no link saturates, s."""
    return execution_time(job, 1.0 / slowest(counts, classes))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a waiting job is to run: ``[start, end)`` in s on ``counts`` processors of each class."""

    start: float
    end: float
    counts: Allocation


@dataclass(slots=True)
class Conservative:
    """Conservative backfilling: every job gets a reservation when it arrives, and never a later one.

    When a job ends before its estimate, each reservation, in order of start, moves to the earliest
    instant at which the others leave room. Jobs that run longer than estimated may push reservations
    back: all are made again then, in the same order.
    """

    allocation: str = "fastest-first"
    scope: Scope = "platform"
    _places: dict[str, _Place] = field(init=False, default_factory=dict)
    _expected: dict[str, float] = field(init=False, default_factory=dict)
    _profile: Profile | None = field(init=False, default=None)

    def decide(self, state: State) -> Iterator[Start]:
        """Yield the jobs whose reservations have come."""
        choose = allocation_rule(self.allocation, state.classes, self.scope)
        running = {r.job.id: r.estimated_end for r in state.running}
        if self._profile is None or self._is_late(state.now, running):
            self._profile = self._made_again(state, choose)
        elif self._ended_early(state.now, running):
            self._profile = self._moved_forward(state, choose)
        for job in state.queue:
            if job.id not in self._places:
                self._reserve(self._profile, job, state, choose)
        due = self._due(state)
        self._expected = running | {start.job_id: self._places.pop(start.job_id).end for start in due}
        yield from due

    def _is_late(self, now: float, running: Mapping[str, float]) -> bool:
        """Return whether a job runs longer than expected, or should have started before."""
        return any(end < now for end in running.values()) or any(p.start < now for p in self._places.values())

    def _ended_early(self, now: float, running: Mapping[str, float]) -> bool:
        """Return whether a job has ended that was expected to run on."""
        return any(end > now + time_tolerance(now) for job, end in self._expected.items() if job not in running)

    def _made_again(self, state: State, choose: Choose) -> Profile:
        """Make all reservations again, in order of start; return what they leave free."""
        profile = _running_profile(state, self.scope)
        order = sorted(self._places, key=lambda job: self._places[job].start)
        jobs = {job.id: job for job in state.queue}
        for job in order:
            self._reserve(profile, jobs[job], state, choose)
        return profile

    def _moved_forward(self, state: State, choose: Choose) -> Profile:
        """Move reservations, in order of start, to earlier instants; return what they leave free."""
        profile = _running_profile(state, self.scope)
        for place in self._places.values():
            _book(profile, place)
        jobs = {job.id: job for job in state.queue}
        for id, place in sorted(self._places.items(), key=lambda item: item[1].start):
            _book(profile, place, -1)
            earlier = _earliest(profile, jobs[id], state, choose, before=place.start)
            self._places[id] = earlier or place
            _book(profile, self._places[id])
        return profile

    def _reserve(self, profile: Profile, job: Job, state: State, choose: Choose) -> None:
        """Give a job the earliest place that is left."""
        place = _earliest(profile, job, state, choose)
        if place is not None:
            self._places[job.id] = place
            _book(profile, place)

    def _due(self, state: State) -> list[Start]:
        """Return the jobs whose reservations have come and whose processors are free, as they are."""
        free, due = state.free, []
        for job in state.queue:
            place = self._places.get(job.id)
            if place is not None and place.start <= state.now and all(map(le, place.counts, free)):
                free = less(free, place.counts)
                due.append(Start(job.id, place.counts))
        return due


def _running_profile(state: State, scope: Scope) -> Profile:
    """Return what the running jobs, by their estimates, leave free; overdue ones are expected to end now."""
    profile = Profile(discretise(Instance(state.platform, ()), None, links="ignore", scope=scope))
    for running in state.running:
        _book(profile, _Place(-math.inf, max(state.now, running.estimated_end), running.counts))
    return profile


def _book(profile: Profile, place: _Place, sign: int = 1) -> None:
    """Occupy a place, or (-1) give it back."""
    no_loads = (0.0,) * len(place.counts)
    profile.occupy(place.start, place.end, [sign * count for count in place.counts], no_loads)


def _earliest(profile: Profile, job: Job, state: State, choose: Choose, before: float = math.inf) -> _Place | None:
    """Return the place with the earliest start from now on and before ``before`` (s), None where there is none."""
    for start in profile.changes(state.now):
        if start >= before:
            return None
        counts = choose(job.tasks, _free(profile, start, start))
        while counts is not None:
            end = start + estimated_time(job, counts, state.classes)
            free = _free(profile, start, end)
            if all(map(le, counts, free)):
                return _Place(start, end, counts)
            counts = choose(job.tasks, free)
    return None


def _free(profile: Profile, start: float, end: float) -> list[int]:
    """Return the processors of each class that are free throughout ``[start, end)``."""
    free, _ = profile.free(start, end)
    return [int(count) for count in free]
