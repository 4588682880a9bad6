"""The gap beside the reservation of a job, and the jobs that fill it. Source: EASY (coalloc.heuristics.backfilling)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter, le

from coalloc.heuristics.classics import less
from coalloc.instance import Job
from coalloc.problem.allocation import Allocation
from coalloc.rules.allocation_rules import Allocator
from coalloc.rules.reservations import Release, Reservation
from coalloc.simulator.policy import Running, State


def releases(running: Sequence[Running], now: float, started: Sequence[Release]) -> Iterable[Release]:
    """Return when jobs are expected to end, those that start now included; overdue ones are expected now."""
    ends = ((end if end > now else now, taken) for _, _, _, _, end, taken in running)
    return sorted([*ends, *started], key=itemgetter(0)) if started else ends


class Gap:
    """Gap beside a reservation, and the jobs that fill it."""

    def __init__(self, head: Job, free: Allocation, kept: Reservation, allocator: Allocator, state: State) -> None:
        num_classes, self._num_failures = len(state.classes), state.num_failures
        self._head, self._free, self._extra, self._allocator = head, free, kept.extra, allocator
        self.end, self.room, self.spare = kept.start, sum(free[:num_classes]), sum(kept.extra[:num_classes])
        self.num_tried = 0

    def is_as_it_was(self, head: Job, free: Allocation, state: State) -> bool:
        """Return whether jobs that did not fit do not fit now either, in a pool of equal nodes.

        Nothing has ended or failed since, nothing is due, and the same job waits first: only the clock has moved on.
        """
        if free != self._free or head is not self._head or len(free) > 1 or state.num_failures != self._num_failures:
            return False
        first = next(iter(state.running), None)
        return first is None or first.estimated_end > state.now

    def admit(self, job: Job, now: float) -> Allocation | None:
        """Take the processors of a job that does not delay the reservation; return them, None where it would.

        It ends before the reservation, or leaves it its processors: those that the rule prefers, else others.
        """
        choose = self._allocator.choose
        counts = choose(job, self._free)
        is_short = counts is not None and now + self._allocator.time(job, counts) <= self.end
        if counts is not None and not is_short and not all(map(le, counts, self._extra)):
            counts = choose(job, tuple(map(min, self._free, self._extra)))
        if counts is not None:
            self._free, self.room = less(self._free, counts), self.room - job.tasks
            if not is_short:
                self._extra, self.spare = less(self._extra, counts), self.spare - job.tasks
        return counts
