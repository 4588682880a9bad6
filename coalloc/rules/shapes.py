"""Choice of the shape of a moldable job: the one that ends first by what is known at the decision.

Between shapes that end at the same instant the first of the job decides. A job of one shape has no other choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from coalloc.instance import Job
from coalloc.problem.allocation import Allocation
from coalloc.rules.allocation_rules import Allocator
from coalloc.rules.reservations import Span, earliest, fitting
from coalloc.rules.timeline import Timeline

ShapeChoice = Literal["first", "ends-first"]
"""Choice of the shape in which jobs run: their first, or the one that ends first."""


def in_best_shape(allocator: Allocator, num_classes: int) -> Allocator:
    """Return a rule that takes the shape that runs shortest on the room it is given.

    The counts that it chooses say which it was: no two shapes have as many tasks.
    """

    def choose(job: Job, room: Sequence[int]) -> Allocation | None:
        chosen = ((shape, allocator.choose(shape, room)) for shape in job.in_shapes)
        timed = [(allocator.time(shape, counts), counts) for shape, counts in chosen if counts is not None]
        return min(timed, key=lambda timed: timed[0])[1] if timed else None

    def time(job: Job, counts: Sequence[int]) -> float:
        tasks = sum(counts[:num_classes])
        return allocator.time(next(shape for shape in job.in_shapes if shape.tasks == tasks), counts)

    def least_time(job: Job) -> float:
        return min(map(allocator.least_time, job.in_shapes))

    return Allocator(choose, time, least_time)


def first_to_end_from(timeline: Timeline[int], job: Job, start: float, allocator: Allocator) -> Span | None:
    """Return where a job runs from a start (s) on, in the shape that ends first; None where none fits."""
    return _first_to_end(fitting(timeline, shape, start, allocator) for shape in job.in_shapes)


def first_to_end(timeline: Timeline[int], job: Job, allocator: Allocator) -> Span | None:
    """Return where a job runs as early as it fits, in the shape that ends first; None where none ever fits."""
    return _first_to_end(_earliest_spans(timeline, job, allocator))


def _earliest_spans(timeline: Timeline[int], job: Job, allocator: Allocator) -> Iterator[Span | None]:
    for shape in job.in_shapes:
        yield earliest(timeline, shape, allocator.least_time(shape), allocator)


def _first_to_end(spans: Iterable[Span | None]) -> Span | None:
    """Return the span that ends first, the first of equal ones."""
    return min(filter(None, spans), key=lambda span: span.start + span.seconds, default=None)
