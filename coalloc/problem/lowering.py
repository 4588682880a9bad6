"""What an instance and constraints limit cumulatively, as resources of the platform, which every method supports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, as_resources
from coalloc.instance.limits import Limit
from coalloc.problem.constraint import Constraint, Cumulative, NotCumulative


def lowered(instance: Instance, constraints: Iterable[Constraint]) -> tuple[Instance, tuple[Constraint, ...]]:
    """Return an instance whose limits, and the cumulative rows of constraints, are resources; and the constraints left.

    Such rows also hold after all times are rounded down to slots: jobs that share a slot then share its last moment.
    """
    kept, limits = list[Constraint](), list(instance.limits)
    for constraint in constraints:
        rows = [row for row in constraint.rows(instance) if isinstance(row, Cumulative)] if constraint.couples else []
        limits += _limits_of(constraint, rows, instance, {limit.name for limit in limits})
        kept.append(NotCumulative(constraint, instance) if rows else constraint)
    return as_resources(instance.replace(limits=limits) if limits else instance), tuple(kept)


def _limits_of(
    constraint: Constraint, rows: Iterable[Cumulative], instance: Instance, taken: set[str]
) -> Iterator[Limit]:
    """Yield the cumulative rows of a constraint as limits; raise where a row names no job, or one beyond its limit."""
    known = {*instance.job_by_id, *(run.job.id for run in instance.running)}
    for row in rows:
        name = type(constraint).__name__
        for job, amount in zip(row.jobs, row.each, strict=True):
            if job not in known:
                raise CoallocError(f"constraint {name}: a row refers to {quoted(job)}, which is not a job")
            if job in instance.job_by_id and amount > row.capacity:
                raise CoallocError(
                    f"constraint {name}: job {quoted(job)} alone has the amount {amount:g}, above the capacity of "
                    f"{row.capacity:g}"
                )
        number, found = 1, name
        while found in taken:
            number += 1
            found = f"{name} {number}"
        taken.add(found)
        yield Limit(found, row.jobs, row.capacity, row.each)
