"""What memory and eligibility leave of free processors to a job, for decisions that are taken one instant at a time.

A *room* is what is free: processors of each class, then units of memory of each node of several cores of which there
may be too little. Rooms are vectors of whole numbers, so what a job takes is one as well, and what holds for
processors alone holds for both: they are added, taken away and compared number by number. Where there is always
enough memory a room has processors only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from coalloc.allocation import Allocation, NodeClass, has_too_little
from coalloc.instance import Job, NodeGroup
from coalloc.instance.rounding import capacity_limit

UNITS = 2**40
"""Units that the memory of a node is counted in; what a task asks for is rounded up, by far less than is tolerated."""


@dataclass(frozen=True, slots=True)
class Memories:
    """The memory of the nodes of each class: ``limits`` in MB, shape ``(num_classes,)``, inf where there is enough.

    ``shared`` are the classes, by index, that are one node of several cores: their tasks share the limit. Of the others
    every task has it for itself. ``places`` are the cluster and the node group of each class, none where every job may
    use all of them.
    """

    limits: tuple[float, ...]
    shared: tuple[int, ...]
    places: tuple[tuple[str, NodeGroup], ...] = ()

    @property
    def is_ample(self) -> bool:
        """Whether there is always enough."""
        return all(map(math.isinf, self.limits))

    @property
    def leave_all(self) -> bool:
        """Whether every job can use every free processor."""
        return self.is_ample and not self.places

    @property
    def full(self) -> Allocation:
        """What is free of the memory where nothing runs."""
        return (UNITS,) * len(self.shared)

    def megabytes(self, room: Sequence[int]) -> tuple[float, ...]:
        """Return the memory that is left on a node of each class, MB."""
        left = list(self.limits)
        for g, units in zip(self.shared, room[len(left) :], strict=True):
            left[g] *= units / UNITS
        return tuple(left)

    def usable(self, job: Job, room: Sequence[int]) -> Sequence[int]:
        """Return how many tasks of a job the free processors of each class can take, where it may be."""
        num_classes = len(self.limits)
        free: Sequence[int] = room[:num_classes]
        if self.places and job.is_choosy:
            free = [count if job.may_use(*place) else 0 for count, place in zip(free, self.places, strict=True)]
        if not job.memory:
            return free
        counts = [count if job.memory <= limit else 0 for count, limit in zip(free, self.limits, strict=True)]
        for g, units in zip(self.shared, room[num_classes:], strict=True):
            if counts[g]:
                counts[g] = min(counts[g], units // self._units(job.memory, g))
        return counts

    def taken(self, job: Job, counts: Sequence[int]) -> Allocation:
        """Return what a job takes of a room on so many processors of each class, which have the memory."""
        if not self.shared:
            return tuple(counts)
        asked = job.memory or 0.0
        return (*counts, *(counts[g] * self._units(asked, g) if asked and counts[g] else 0 for g in self.shared))

    def _units(self, asked: float, g: int) -> int:
        limit = Fraction(self.limits[g])
        return math.ceil(Fraction(asked) * UNITS / limit) if limit else UNITS


def memories_of(classes: Sequence[NodeClass], task_memory: float, clusters: Sequence[str] = ()) -> Memories:
    """Return the memories of classes, where tasks ask for ``task_memory`` MB at most.

    ``clusters`` are the names of all where some jobs say which clusters or nodes they may use.
    """
    limits = [
        capacity_limit(c.group.memory)
        if c.group.memory is not None and has_too_little(c.group, task_memory)
        else math.inf
        for c in classes
    ]
    shared = (g for g, c in enumerate(classes) if c.group.cores > 1 and math.isfinite(limits[g]))
    return Memories(tuple(limits), tuple(shared), tuple((clusters[c.cluster], c.group) for c in classes if clusters))
