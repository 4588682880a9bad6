"""The earliest start that the running jobs, by their estimates, leave to one that does not fit now.

Where nothing but ends of jobs is to come a sum of releases says it, else a :class:`coalloc.rules.timeline.Timeline`.
Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section 2.2 (shadow time and extra nodes).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import le, sub
from typing import NamedTuple

from coalloc.instance import Job
from coalloc.problem.allocation import Allocation
from coalloc.rules.allocation_rules import Allocator, Choose
from coalloc.rules.timeline import Timeline

Release = tuple[float, Allocation]
"""Times at which processors become free (s), and how many of each class."""


class Reservation(NamedTuple):
    """A start (s) kept for a job, and the ``extra`` processors per class that are free then besides its own."""

    start: float
    extra: Allocation


Reserve = Callable[[Job, Sequence[int], Iterable[Release], Choose], Reservation]
"""Signature of :func:`reservation`."""


def reservation(job: Job, free: Sequence[int], releases: Iterable[Release], choose: Choose) -> Reservation:
    """Return the reservation of a job.

    ``free`` are the processors per class (or the room, :mod:`coalloc.rules.capacity_vectors`) before the ``releases``,
    which are in order of time. A job that fits nowhere even once all have ended has its start at infinity, and takes
    nothing from the others.
    """
    parts, room, since = [tuple(free)], sum(free), -math.inf
    for instant, counts in releases:
        if room >= job.tasks and instant > since and len(parts) > 1:
            parts = [_total(parts)]
            chosen = choose(job, parts[0])
            if chosen is not None:
                return Reservation(since, tuple(map(sub, parts[0], chosen)))
        parts.append(counts)
        room += sum(counts)
        since = instant
    available = _total(parts)
    chosen = choose(job, available) if len(parts) > 1 else None
    return (
        Reservation(math.inf, available) if chosen is None else Reservation(since, tuple(map(sub, available, chosen)))
    )


def reservation_in_pool(job: Job, free: Sequence[int], releases: Iterable[Release], _: Choose) -> Reservation:
    """Return the reservation of a job in a pool of equal nodes, where a job fits if there are processors enough."""
    (room,), since = free, math.inf
    for instant, (count,) in releases:
        if room >= job.tasks and instant > since:
            break
        room, since = room + count, instant
    return Reservation(since, (room - job.tasks,)) if room >= job.tasks else Reservation(math.inf, (room,))


def _total(parts: Sequence[Allocation]) -> Allocation:
    """Return the sum of processors per class."""
    return tuple(map(sum, zip(*parts, strict=True)))


class Span(NamedTuple):
    """Span in which a job may run: from ``start`` (s) for ``seconds``, on ``counts``, with what it takes of a room."""

    start: float
    seconds: float
    counts: Allocation


def fitting(timeline: Timeline[int], job: Job, start: float, allocator: Allocator) -> Span | None:
    """Return where a job runs from a start (s) on, None where it does not fit until its end.

    Where the rule chooses what is not free so long, it is asked again on what is.
    """
    counts = allocator.choose(job, timeline.free(start))
    while counts is not None:
        seconds = allocator.time(job, counts)
        free = timeline.free(start, start + seconds)
        if all(map(le, counts, free)):
            return Span(start, seconds, counts)
        counts = allocator.choose(job, free)
    return None


def earliest(
    timeline: Timeline[int],
    job: Job,
    least_time: float,
    allocator: Allocator,
    *,
    since: float = -math.inf,
    before: float = math.inf,
) -> Span | None:
    """Return the earliest start of a job, from ``since`` on and before ``before`` (s), None where there is none.

    On the fastest class it takes ``least_time`` (s).
    """
    for start in timeline.windows(since, least_time, job.tasks, before=before):
        span = fitting(timeline, job, start, allocator)
        if span is not None:
            return span
    return None
