"""Limits on what some jobs take together: of users, of a quality of service."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.features.feature import Condition, Feature, Stated
from coalloc.instance.rounding import capacity_limit

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield what is wrong with the limits of an instance."""
    limits, ids = stated.limits, stated.ids
    if not limits:
        return
    yield from read.duplicate_faults(
        [read.text(limit, "name") for limit in limits], "limits[{}].name".format, "limit name"
    )
    known, waiting = set(ids), set(ids[: stated.num_jobs])
    for i, limit in enumerate(limits):
        jobs = [name if isinstance(name, str) and name else None for name in read.listed(limit, "jobs")]
        path, amounts, capacity = f"limits[{i}]", read.listed(limit, "amounts"), read.from_zero(limit, "capacity")
        yield from read.duplicate_faults(jobs, f"{path}.jobs[{{}}]".format, "job")
        for n, name in enumerate(jobs):
            if None not in known and name is not None and name not in known:
                yield Fault(f"{path}.jobs[{n}]", f"must be a job of the instance, got {quoted(name)}")
        if amounts and len(amounts) != len(jobs):
            yield Fault(f"{path}.amounts", f"must have one amount per job, {len(jobs)}, got {len(amounts)}")
            continue
        for n, (name, amount) in enumerate(zip(jobs, amounts or [1.0] * len(jobs), strict=True)):
            is_number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
            if name in waiting and capacity is not None and is_number and amount > capacity_limit(capacity):
                place = f"{path}.amounts[{n}]" if amounts else f"{path}.capacity"
                verdict = f"must be at most the capacity, {capacity:g}," if amounts else "must be at least 1 (one job),"
                yield Fault(place, f"{verdict} got {shown(amount if amounts else capacity)}")


def _conditions(instance: Instance) -> Iterator[Condition]:
    for limit in instance.limits:
        sentence = f"the jobs of limit {quoted(limit.name)} take at most {limit.capacity:g} at any time"
        yield Condition(sentence, partial(_without, limit.name))


def _without(name: str, instance: Instance) -> Instance:
    return instance.replace(limits=[limit for limit in instance.limits if limit.name != name])


FEATURE = Feature(
    fields=("Instance.limits",),
    is_used=lambda instance: bool(instance.limits),
    faults=_faults,
    conditions=_conditions,
)
