"""Cumulative limits of an instance and of constraints, as resources of the platform, which every method supports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, as_resources
from coalloc.instance.constraints import AllowedNodes, Constraint, Cumulative, Declaration, Kept, MostTasks, name_of
from coalloc.instance.limits import Limit


def lowered(instance: Instance, constraints: Iterable[Constraint]) -> tuple[Instance, tuple[Constraint, ...]]:
    """Return an instance whose limits, its own and those that constraints declare, are resources; and what is left.

    They also hold after all times are rounded down to slots: jobs that share a slot then share its last moment.
    """
    kept, limits = list[Constraint](), list(instance.limits)
    for constraint in constraints:
        declared = _declared(constraint, instance)
        rows = [one for one in declared if isinstance(one, Cumulative)]
        limits += _limits_of(constraint, rows, instance, {limit.name for limit in limits})
        others = tuple(one for one in declared if not isinstance(one, Cumulative))
        given = constraint.constraint if isinstance(constraint, Kept) else constraint
        kept.append(Kept(given, others, len(instance.jobs)))
    return as_resources(instance.replace(limits=limits) if limits else instance), tuple(kept)


def _declared(constraint: Constraint, instance: Instance) -> list[Declaration]:
    """Return what a constraint declares; raise for what is none of the language, or names what is not there."""
    declared = constraint.declare(instance)
    found = list(declared) if isinstance(declared, Iterable) else [declared]
    for one in found:
        if fault := _fault_of(one, instance):
            raise CoallocError(f"constraint {name_of(constraint)}: {fault}")
    return found


def _fault_of(one: Declaration, instance: Instance) -> str:
    """Return what is wrong with what a constraint declares; nothing where it is right."""
    if not isinstance(one, Declaration):
        return f"declare must return declarations, got {one!r}"
    unknown = next((job for job in one.jobs if job not in instance.job_by_id), None)
    if unknown is not None and not isinstance(one, Cumulative):
        return f"{type(one).__name__} refers to {quoted(unknown)}, which is not a job to schedule"
    num_nodes = len(instance.platform.nodes)
    outside = [n for n in one.nodes if not 0 <= n < num_nodes] if isinstance(one, (AllowedNodes, MostTasks)) else []
    if outside:
        return f"{type(one).__name__} refers to node {outside[0]}, but the platform has nodes 0 to {num_nodes - 1}"
    return ""


def _limits_of(
    constraint: Constraint, rows: Iterable[Cumulative], instance: Instance, taken: set[str]
) -> Iterator[Limit]:
    """Yield the cumulative rows of a constraint as limits; raise where a row names no job, or one beyond its limit."""
    known = {*instance.job_by_id, *(run.job.id for run in instance.running)}
    for row in rows:
        name = name_of(constraint)
        for job, amount in zip(row.jobs, row.each, strict=True):
            if job not in known:
                raise CoallocError(f"constraint {name}: Cumulative refers to {quoted(job)}, which is not a job")
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
