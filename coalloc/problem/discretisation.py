"""An instance in slots: the length of a slot, what is refused for being too fine, and the problem that it becomes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Annotated

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, column
from coalloc.instance.constraints import Constraint
from coalloc.instance.features import UnsupportedFeature, refuse_unsupported
from coalloc.instance.time_base import TimeBase
from coalloc.problem.allocation import Scope, node_classes, reserved_nodes, switched_classes
from coalloc.problem.allocations import MAX_MODES, Links
from coalloc.problem.clock import Rounding
from coalloc.problem.declared import told_apart
from coalloc.problem.lowering import lowered
from coalloc.problem.problem import Problem
from coalloc.problem.resources import crowded_nodes
from coalloc.problem.stated import StatedConstraint

EXACT_METHODS = "exact methods, bounds and replay"
"""Name in errors for the methods that a :class:`Problem` is made for."""

SUPPORTED = frozenset(
    {"deadline", "after", "eligible", "requires", "times", "shapes", "unavailable", "start", "resources"}
    | {"max_clusters", "min_tasks_per_cluster", "slices", "level", "limits", "lags"}
)
"""The modelling features that a :class:`Problem` tells its methods; those of energy and packages support fewer."""

MAX_SLOTS = 1e8
"""Slots, from the first arrival to the end of all jobs in turn, to which bounds are exact: a tenth of what rounding
takes off them."""
SLOT_TOLERANCES = 10.0
"""Tolerances of times that a slot lasts at least."""

Slot = Annotated[float | str | None, 'seconds, a percentage such as "50%", or None']
"""Length of a slot as a caller gives it: seconds, or a share of the mean base time; None is continuous time."""


def _least_times(instance: Instance) -> list[float]:
    """Return the least of the base times of all shapes of each job, and of the times that it names, s."""
    return [min(min([shape.base_time, *shape.times.values()]) for shape in job.in_shapes) for job in instance.jobs]


def slot_seconds(instance: Instance, slot: Slot) -> float | None:
    """Return a slot length in seconds: a number of seconds, or ``"50%"`` of the mean base time.

    Raises :class:`CoallocError` for one in which times, or bounds on them, are no longer whole to the slot.
    """
    if slot is None:
        return None
    if isinstance(slot, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*", slot)
        if match is None:
            raise CoallocError(f'slot: must be seconds or a percentage such as "50%", got {slot!r}')
        seconds = float(match.group(1)) / 100.0 * (instance.mean_base_time or 1.0)
    else:
        seconds = float(slot)
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise CoallocError(f"slot: must be above 0 and finite, got {slot!r}")
    least = max(instance.time_span / MAX_SLOTS, SLOT_TOLERANCES * instance.time_base.tolerance)
    if seconds < least:
        raise CoallocError(
            f"slot: must be at least {least:.2g} s for the precision of the times of this instance, got {slot!r}"
        )
    return seconds


def discretise(
    instance: Instance,
    slot: float | None,
    rounding: Rounding = "up",
    *,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    constraints: Iterable[Constraint] = (),
    base: TimeBase | None = None,
) -> Problem:
    """Return the problem that an instance is in slots of ``slot`` seconds (None: continuous time).

    With ``rounding="up"`` durations, arrivals and ends of running jobs are rounded up to slots, and a
    schedule of the problem is one of the instance. With ``"down"`` all are rounded down, and the
    optimum, times the slot, is at most the optimum of the instance in continuous time: so only what ``constraints``
    declare is kept that still forbids nothing else then. ``base`` is the time base where the instance was shifted in
    time, and so are the constraints; by default its own. Limits, of the instance or of constraints, become resources of
    the platform in ``problem.instance``.
    """
    instance.refuse_shared_nodes(EXACT_METHODS)
    refuse_unsupported(instance, "a solve, a bound or a replay", SUPPORTED)
    base = base or instance.time_base
    instance, constraints = lowered(instance, constraints)
    _refuse_moments(instance, base.tolerance)
    reserved = reserved_nodes(instance.platform, instance.running, EXACT_METHODS)
    apart = [*reserved, *told_apart(constraints, instance), *({node} for node in crowded_nodes(instance))]
    classes = node_classes(instance.platform, scope, instance.largest_task_memory, apart)
    kept = (StatedConstraint(), *constraints)
    problem = Problem(instance, classes, slot, rounding, links, saturation, scope, base, kept)
    _refuse_unlisted(problem)
    _refuse_split(problem)
    return problem


def _refuse_unlisted(problem: Problem) -> None:
    """Raise :class:`UnsupportedFeature` where a constraint would have to be asked of too many allocations."""
    asking = problem.declared.asking
    if asking and problem.allocations.number > MAX_MODES:
        why = f"the jobs have more than {MAX_MODES:,} allocations"
        raise UnsupportedFeature("a solve or a bound", sorted(asking), why)


def _refuse_split(problem: Problem) -> None:
    """Raise :class:`UnsupportedFeature` where tasks are limited on nodes that are not of one class."""
    if problem.scope == "node":
        return  # each is a class of its own, and a job is on one
    for job in problem.jobs:
        for limit in problem.declared.of(job.id).most_tasks:
            number = sum(node in limit.nodes for node in problem.allocations.first_nodes)
            if number > 1:
                what = f"MostTasks of job {quoted(job.id)} on {number} node classes"
                raise UnsupportedFeature("a solve or a bound", [what], "give a limit for the nodes of each class")


def _refuse_moments(instance: Instance, tolerance: float) -> None:
    """Raise :class:`CoallocError` for jobs that are over within the tolerance of times (s): they occupy nothing."""
    is_simple = instance.features.isdisjoint({"times", "shapes"})
    times = column(instance.jobs, "base_time") if is_simple else _least_times(instance)
    short = [(instance.jobs[j], seconds) for j, seconds in enumerate(times) if seconds <= tolerance]
    if short:
        (first, seconds), more = short[0], f", and {len(short) - 1} more" if len(short) > 1 else ""
        raise CoallocError(
            f"job {quoted(first.id)} has a run time (base_time or times) of {seconds:g} s{more}: must be above "
            f"{tolerance:.2g} s, the time tolerance of this instance"
        )


def in_other_slots(problem: Problem, slot: float, rounding: Rounding) -> Problem:
    """Return a problem in other slots."""
    return discretise(
        problem.instance,
        slot,
        rounding,
        links=problem.links,
        saturation=problem.saturation,
        scope=problem.scope,
        constraints=[c for c in problem.constraints if not isinstance(c, StatedConstraint)],
        base=problem.base,
    )


def discretise_for_energy(
    instance: Instance,
    slot: float | None,
    *,
    saturation: float = 0.0,
    scope: Scope = "platform",
    base: TimeBase | None = None,
) -> Problem:
    """Return :func:`discretise` rounded up, with classes in which it shows which nodes have a busy core."""
    instance.refuse_shared_nodes(EXACT_METHODS)
    classes, kept = switched_classes(instance.platform, scope), (StatedConstraint(),)
    return Problem(instance, classes, slot, "up", "strict", saturation, scope, base or instance.time_base, kept)
