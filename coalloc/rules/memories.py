"""What memory, eligibility and windows leave of free processors to a job, for decisions taken one instant at a time.

A *room* is what is free: processors of each class, then units of memory of each node of several cores of which there
may be too little, then processors of each group of which windows take a number. Rooms are vectors of whole numbers, so
what a job takes is one as well, and what holds for processors alone holds for all: they are added, taken away and
compared number by number. Where there is always enough memory, and no such window, a room has processors only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
    use all of them. ``pools`` are the classes of each group of which windows take processors, ``sizes`` its
    processors; with ``is_within_node`` a job is on one class alone.
    """

    limits: tuple[float, ...]
    shared: tuple[int, ...]
    places: tuple[tuple[str, NodeGroup], ...] = ()
    pools: tuple[tuple[int, ...], ...] = ()
    sizes: tuple[int, ...] = ()
    is_within_node: bool = False

    @property
    def is_ample(self) -> bool:
        """Whether there is always enough."""
        return all(map(math.isinf, self.limits))

    @property
    def leave_all(self) -> bool:
        """Whether every job can use every free processor."""
        return self.is_ample and not self.places and not self.pools

    @property
    def full(self) -> Allocation:
        """What is free besides processors of classes where nothing runs, and no window has begun."""
        return (UNITS,) * len(self.shared) + self.sizes

    def megabytes(self, room: Sequence[int]) -> tuple[float, ...]:
        """Return the memory that is left on a node of each class, MB."""
        left = list(self.limits)
        for g, units in zip(self.shared, room[len(left) :], strict=False):
            left[g] *= units / UNITS
        return tuple(left)

    def usable(self, job: Job, room: Sequence[int]) -> Sequence[int]:
        """Return how many tasks of a job the free processors of each class can take together, where it may be."""
        num_classes = len(self.limits)
        free: Sequence[int] = room[:num_classes]
        if self.places and job.is_choosy:
            free = [count if job.may_use(*place) else 0 for count, place in zip(free, self.places, strict=True)]
        if job.memory:
            free = self.with_memory(job.memory, free, room[num_classes:])
        return self._within_pools(free, room[num_classes + len(self.shared) :]) if self.pools else free

    def with_memory(self, asked: float, free: Sequence[int], left: Sequence[int]) -> Sequence[int]:
        """Return how many of the free processors have so much memory, MB each; ``left`` are units of it."""
        counts = [count if asked <= limit else 0 for count, limit in zip(free, self.limits, strict=True)]
        for g, units in zip(self.shared, left, strict=False):
            if counts[g]:
                counts[g] = min(counts[g], units // self._units(asked, g))
        return counts

    def taken(self, job: Job, counts: Sequence[int]) -> Allocation:
        """Return what a job takes of a room on so many processors of each class, which have the memory."""
        if not self.shared and not self.pools:
            return tuple(counts)
        asked = job.memory or 0.0
        units = (counts[g] * self._units(asked, g) if asked and counts[g] else 0 for g in self.shared)
        return (*counts[: len(self.limits)], *units, *(sum([counts[g] for g in pool]) for pool in self.pools))

    def _within_pools(self, free: Sequence[int], left: Sequence[int]) -> Sequence[int]:
        """Return free processors cut to what windows leave of their groups: of the last classes first."""
        cut = list(free)
        for pool, units in zip(self.pools, left, strict=True):
            rest = max(0, units)
            for g in pool:
                cut[g] = min(cut[g], rest)
                if not self.is_within_node:
                    rest -= cut[g]
        return cut

    def _units(self, asked: float, g: int) -> int:
        limit = Fraction(self.limits[g])
        return math.ceil(Fraction(asked) * UNITS / limit) if limit else UNITS


def memories_of(
    classes: Sequence[NodeClass],
    task_memory: float,
    clusters: Sequence[str] = (),
    pools: Iterable[tuple[int, ...]] = (),
    *,
    is_within_node: bool = False,
) -> Memories:
    """Return the memories of classes, where tasks ask for ``task_memory`` MB at most.

    ``clusters`` are the names of all where some jobs say which clusters or nodes they may use, ``pools`` the classes of
    groups of which windows take processors.
    """
    limits = [
        capacity_limit(c.group.memory)
        if c.group.memory is not None and has_too_little(c.group, task_memory)
        else math.inf
        for c in classes
    ]
    shared = (g for g, c in enumerate(classes) if c.group.cores > 1 and math.isfinite(limits[g]))
    places = tuple((clusters[c.cluster], c.group) for c in classes if clusters)
    pools = tuple(pools)
    sizes = tuple(sum(classes[g].capacity for g in pool) for pool in pools)
    return Memories(tuple(limits), tuple(shared), places, pools, sizes, is_within_node)
