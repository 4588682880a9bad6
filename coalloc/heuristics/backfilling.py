"""Backfilling: jobs start out of order where that delays no reservation.

EASY (:class:`Easy`) keeps one reservation, for the first job that does not fit: the earliest instant at
which the running jobs, by their estimates, leave it an allocation. A job behind it starts if it is
expected to end by then, or uses no processor that the reservation needs. Conservative backfilling
(:class:`Conservative`) reserves for every job. Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter, le

from coalloc.allocation import Allocation, Scope
from coalloc.heuristics.classics import less
from coalloc.instance import Instance, Job
from coalloc.problem import discretise
from coalloc.rules.allocation_rules import Allocator, RuleName
from coalloc.rules.profile import Profile
from coalloc.rules.reservations import Release, Reservation, reservation
from coalloc.simulator.policy import Start, State


@dataclass(frozen=True, slots=True)
class Easy:
    """EASY backfilling over the order of arrival."""

    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"

    def decide(self, state: State) -> Iterator[Start]:
        """Yield the jobs that start now: from the head, then those that do not delay the first that waits."""
        allocator = state.allocator(self.allocation)
        free = state.free
        started: list[Release] = []
        waiting = iter(state.queue)
        for job in waiting:
            counts = allocator.choose(job.tasks, free)
            if counts is None:
                room = sum(free)
                candidates = [other for other in waiting if other.tasks <= room] if room else []
                if candidates:
                    kept = reservation(job.tasks, free, _releases(state, started), allocator.choose)
                    yield from _backfilled(state.now, candidates, free, kept, allocator)
                return
            free = less(free, counts)
            started.append((state.now + allocator.time(job, counts), counts))
            yield Start(job.id, counts)


def _releases(state: State, started: Sequence[Release]) -> Iterable[Release]:
    """Return when jobs are expected to end, those that start now included; overdue ones are expected now."""
    now = state.now
    ends = ((end if end > now else now, counts) for _, counts, _, _, end in state.running)
    return sorted([*ends, *started], key=itemgetter(0)) if started else ends


def _backfilled(
    now: float, candidates: Iterable[Job], free: Allocation, kept: Reservation, allocator: Allocator
) -> Iterator[Start]:
    """Yield the candidates that start now without delaying the reservation.

    Each ends before it, or leaves it its processors: those that the rule prefers, else others.
    """
    choose, least_time, room, spare = allocator.choose, allocator.least_time, sum(free), sum(kept.extra)
    for job in candidates:
        if job.tasks > room or (job.tasks > spare and now + least_time(job) > kept.start):
            continue
        counts = choose(job.tasks, free)
        is_short = counts is not None and now + allocator.time(job, counts) <= kept.start
        if counts is not None and not is_short and not all(map(le, counts, kept.extra)):
            counts = choose(job.tasks, tuple(map(min, free, kept.extra)))
        if counts is not None:
            yield Start(job.id, counts)
            free, room = less(free, counts), room - job.tasks
            if not is_short:
                kept = Reservation(kept.start, less(kept.extra, counts))
                spare -= job.tasks


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

    allocation: RuleName = "fastest-first"
    scope: Scope = "platform"
    _places: dict[str, _Place] = field(init=False, default_factory=dict)
    _expected: dict[str, float] = field(init=False, default_factory=dict)
    _profile: Profile | None = field(init=False, default=None)
    _empty: Profile | None = field(init=False, default=None)
    _state: State | None = field(init=False, default=None)

    def begin(self, state: State) -> None:
        """Forget the run before."""
        self._places, self._expected, self._profile, self._empty, self._state = {}, {}, None, None, state

    def decide(self, state: State) -> Iterator[Start]:
        """Yield the jobs whose reservations have come."""
        if state is not self._state:
            self.begin(state)
        allocator = state.allocator(self.allocation)
        running = {r.job.id: r.estimated_end for r in state.running}
        if self._profile is None or self._is_late(state.now, running):
            self._profile = self._made_again(state, allocator)
        elif self._ended_early(state.now, running):
            self._profile = self._moved_forward(state, allocator)
        for job in state.queue:
            if job.id not in self._places:
                self._reserve(self._profile, job, state, allocator)
        due = self._due(state)
        self._expected = running | {start.job_id: self._places.pop(start.job_id).end for start in due}
        yield from due

    def _is_late(self, now: float, running: Mapping[str, float]) -> bool:
        """Return whether a job runs longer than expected, or should have started before."""
        return any(end < now for end in running.values()) or any(p.start < now for p in self._places.values())

    def _ended_early(self, now: float, running: Mapping[str, float]) -> bool:
        """Return whether a job has ended that was expected to run on, be it for a moment: what is due is due now."""
        return any(end > now for job, end in self._expected.items() if job not in running)

    def _made_again(self, state: State, allocator: Allocator) -> Profile:
        """Make all reservations again, in order of start; return what they leave free."""
        profile = self._running_profile(state)
        order = sorted(self._places, key=lambda job: self._places[job].start)
        jobs = {job.id: job for job in state.queue}
        for job in order:
            self._reserve(profile, jobs[job], state, allocator)
        return profile

    def _moved_forward(self, state: State, allocator: Allocator) -> Profile:
        """Move reservations, in order of start, to earlier instants; return what they leave free."""
        profile = self._running_profile(state)
        for place in self._places.values():
            _book(profile, place)
        jobs = {job.id: job for job in state.queue}
        for id, place in sorted(self._places.items(), key=lambda item: item[1].start):
            _book(profile, place, -1)
            earlier = _earliest(profile, jobs[id], state, allocator, before=place.start)
            self._places[id] = earlier or place
            _book(profile, self._places[id])
        return profile

    def _running_profile(self, state: State) -> Profile:
        """Return what the running jobs, by their estimates, leave free; overdue ones are expected to end now."""
        if self._empty is None:
            self._empty = Profile(discretise(Instance(state.platform, ()), None, links="ignore", scope=self.scope))
        profile = self._empty.copy()
        for running in state.running:
            _book(profile, _Place(-math.inf, max(state.now, running.estimated_end), running.counts))
        return profile

    def _reserve(self, profile: Profile, job: Job, state: State, allocator: Allocator) -> None:
        """Give a job the earliest place that is left."""
        place = _earliest(profile, job, state, allocator)
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


def _book(profile: Profile, place: _Place, sign: int = 1) -> None:
    """Occupy a place, or (-1) give it back."""
    no_loads = (0.0,) * len(place.counts)
    profile.occupy(place.start, place.end, [sign * count for count in place.counts], no_loads)


def _earliest(
    profile: Profile, job: Job, state: State, allocator: Allocator, before: float = math.inf
) -> _Place | None:
    """Return the place with the earliest start from now on and before ``before`` (s), None where there is none."""
    for start in profile.changes(state.now):
        if start >= before:
            return None
        counts = allocator.choose(job.tasks, [int(count) for count in profile.free_at(start)])
        while counts is not None:
            end = start + allocator.time(job, counts)
            free = _free(profile, start, end)
            if all(map(le, counts, free)):
                return _Place(start, end, counts)
            counts = allocator.choose(job.tasks, free)
    return None


def _free(profile: Profile, start: float, end: float) -> list[int]:
    """Return the processors of each class that are free throughout ``[start, end)``."""
    return [int(count) for count in profile.free_processors(start, end)]
