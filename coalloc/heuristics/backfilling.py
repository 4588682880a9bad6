"""EASY backfilling: jobs start out of order where that does not delay the first that waits.

It keeps one reservation, for the first job that does not fit: the earliest instant at which the running
jobs, by their estimates, leave it an allocation. A job behind it starts if it is expected to end by then,
or uses no processor that the reservation needs. Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001,
section 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter, le

from coalloc.allocation import Allocation, Scope
from coalloc.heuristics.classics import less
from coalloc.instance import Job
from coalloc.rules.allocation_rules import Allocator, RuleName
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
        free, num_classes = state.room, len(state.classes)
        started: list[Release] = []
        waiting = iter(state.queue)
        for job in waiting:
            taken = allocator.choose(job, free)
            if taken is None:
                room = sum(free[:num_classes])
                candidates = [other for other in waiting if other.tasks <= room] if room else []
                if candidates:
                    kept = reservation(job, free, _releases(state, started), allocator.choose)
                    yield from _backfilled(state, candidates, free, kept, allocator)
                return
            free = less(free, taken)
            started.append((state.now + allocator.time(job, taken), taken))
            yield Start(job.id, taken)


def _releases(state: State, started: Sequence[Release]) -> Iterable[Release]:
    """Return when jobs are expected to end, those that start now included; overdue ones are expected now."""
    now = state.now
    ends = ((end if end > now else now, taken) for _, _, _, _, end, taken in state.running)
    return sorted([*ends, *started], key=itemgetter(0)) if started else ends


def _backfilled(
    state: State, candidates: Iterable[Job], free: Allocation, kept: Reservation, allocator: Allocator
) -> Iterator[Start]:
    """Yield the candidates that start now without delaying the reservation.

    Each ends before it, or leaves it its processors: those that the rule prefers, else others.
    """
    now, num_classes = state.now, len(state.classes)
    choose, least_time = allocator.choose, allocator.least_time
    room, spare = sum(free[:num_classes]), sum(kept.extra[:num_classes])
    for job in candidates:
        if job.tasks > room or (job.tasks > spare and now + least_time(job) > kept.start):
            continue
        counts = choose(job, free)
        is_short = counts is not None and now + allocator.time(job, counts) <= kept.start
        if counts is not None and not is_short and not all(map(le, counts, kept.extra)):
            counts = choose(job, tuple(map(min, free, kept.extra)))
        if counts is not None:
            yield Start(job.id, counts)
            free, room = less(free, counts), room - job.tasks
            if not is_short:
                kept = Reservation(kept.start, less(kept.extra, counts))
                spare -= job.tasks
