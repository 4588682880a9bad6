"""Free capacity when all jobs of a problem start together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from coalloc.instance import RunningJob
from coalloc.problem.allocations import Allocations
from coalloc.problem.blocks import Busy


@dataclass(frozen=True, slots=True)
class Package:
    """All jobs of a problem, started together at ``start`` (ticks), the latest of their arrivals.

    ``processors`` are free then, shape ``(num_classes,)``, and of resources ``limits``, shape
    ``(num_resources,)``. ``running`` jobs outlast the start and take ``busy_loads`` of the resources.
    """

    start: float
    processors: tuple[int, ...]
    limits: tuple[float, ...]
    running: tuple[RunningJob, ...]
    busy_loads: tuple[float, ...]


def package_of(allocations: Allocations, busy: Sequence[Busy], start: float) -> Package:
    """Return what is free when all jobs start together, at ``start`` (ticks): what ends by then holds nothing."""
    started = (run for run in allocations.instance.running if run.start <= 0.0)
    pairs = zip(started, busy, strict=True)
    lasting = [(run, held) for run, held in pairs if held.end > start]
    processors = [sum(held.allocation[g] for _, held in lasting) for g in range(len(allocations.classes))]
    loads = tuple(math.fsum(held.loads[k] for _, held in lasting) for k in range(len(allocations.resources)))
    return Package(
        start=start,
        processors=tuple(capacity - taken for capacity, taken in zip(allocations.capacities, processors, strict=True)),
        limits=tuple(max(0.0, limit - load) for limit, load in zip(allocations.limits, loads, strict=True)),
        running=tuple(run for run, _ in lasting),
        busy_loads=loads,
    )
