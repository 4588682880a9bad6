"""Which processors are free, and whether a start that a policy asks for is possible.

Whatever a policy says, no processor is given twice, a job gets as many as it has tasks, and it stays
within the scope.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence

from coalloc.allocation import Allocation, NodeClass, Scope, has_too_little
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Job, Platform
from coalloc.simulator.decisions import DecisionError, Start, shown
from coalloc.simulator.processors import Processors, lowest_of, processors_of


class Occupancy:
    """The free processors of a platform, by class."""

    def __init__(self, platform: Platform, classes: Sequence[NodeClass], scope: Scope) -> None:
        self._index = platform.processor_index
        self._members = [processors_of(node_class.processors) for node_class in classes]
        self._cluster = [node_class.cluster for node_class in classes]
        self._scope = scope
        self._free = list(self._members)
        self._counts = [node_class.capacity for node_class in classes]

    @property
    def counts(self) -> Allocation:
        """Free processors of each class, shape ``(num_classes,)``."""
        return tuple(self._counts)

    @property
    def free(self) -> Processors:
        """The free processors of all classes."""
        return functools.reduce(operator.or_, self._free)

    def take(self, job: Job, start: Start) -> tuple[Allocation, Processors]:
        """Occupy what a start asks for; return the counts per class and the processors.

        Raises :class:`DecisionError` where the start is not possible.
        """
        try:
            nodes, asked = tuple(start.nodes), tuple(map(operator.index, start.counts))
        except TypeError:
            given = shown(start.nodes or start.counts)
            raise DecisionError(f"the policy gave {quoted(job.id)} {given}, not names or whole numbers") from None
        counts, parts = self._named(job, nodes) if nodes else self._lowest(job, asked)
        if self._scope != "platform" and not self._is_within_scope(counts):
            raise DecisionError(f"the policy started {quoted(job.id)} outside its scope, one {self._scope}")
        processors = 0
        for g, part in enumerate(parts):
            if part:
                self._free[g] ^= part
                self._counts[g] -= counts[g]
                processors |= part
        return counts, processors

    def occupy(self, processors: Processors) -> Allocation:
        """Occupy given processors that are free; return the counts per class."""
        parts = [processors & members for members in self._members]
        counts = tuple(part.bit_count() for part in parts)
        for g, part in enumerate(parts):
            self._free[g] ^= part
            self._counts[g] -= counts[g]
        return counts

    def release(self, counts: Allocation, processors: Processors) -> None:
        """Free processors again, so many of each class."""
        for g, count in enumerate(counts):
            if count:
                self._free[g] |= processors & self._members[g]
                self._counts[g] += count

    def _lowest(self, job: Job, counts: Allocation) -> tuple[Allocation, list[Processors]]:
        """Return the lowest free processors for counts per class."""
        if len(counts) != len(self._counts):
            raise DecisionError(
                f"the policy gave {quoted(job.id)} {len(counts)} counts, there are {len(self._counts)} node classes"
            )
        if sum(counts) != job.tasks or min(counts) < 0:
            raise DecisionError(
                f"the policy gave {quoted(job.id)} {_listed(counts)} processors per class, it has {job.tasks} tasks"
            )
        parts = []
        for g, count in enumerate(counts):
            if count > self._counts[g]:
                raise DecisionError(
                    f"the policy gave {quoted(job.id)} {count} processors of class {g}, "
                    f"of which {self._counts[g]} are free"
                )
            parts.append(lowest_of(self._free[g], count) if count else 0)
        return counts, parts

    def _named(self, job: Job, nodes: Sequence[str]) -> tuple[Allocation, list[Processors]]:
        """Return the processors of these names, by class."""
        unknown = [name for name in nodes if name not in self._index]
        if unknown:
            raise DecisionError(
                f"the policy gave {quoted(job.id)} {quoted(str(unknown[0]))}, no processor of the platform"
            )
        processors = processors_of(self._index[name] for name in nodes)
        if len(nodes) != job.tasks or processors.bit_count() != job.tasks:
            raise DecisionError(
                f"the policy gave {quoted(job.id)} {processors.bit_count()} processors, it has {job.tasks} tasks"
            )
        parts = [processors & members for members in self._members]
        for part, free in zip(parts, self._free, strict=True):
            if part & ~free:
                raise DecisionError(f"the policy gave {quoted(job.id)} processors that another job holds")
        return tuple(part.bit_count() for part in parts), parts

    def _is_within_scope(self, counts: Allocation) -> bool:
        """Return whether counts are within one cluster, or one node (then each class is one)."""
        used = [g for g, count in enumerate(counts) if count]
        return len(used if self._scope == "node" else {self._cluster[g] for g in used}) == 1


def largest_part(classes: Sequence[NodeClass], scope: Scope) -> int:
    """Return the processors of the largest cluster or node, or of all, within which the tasks of a job must be."""
    room: dict[int, int] = {}
    for g, node_class in enumerate(classes):
        part = {"platform": 0, "cluster": node_class.cluster, "node": g}[scope]
        room[part] = room.get(part, 0) + node_class.capacity
    return max(room.values())


def refuse_too_large(jobs: Iterable[Job], largest: int, part: str) -> None:
    """Raise, with a line for each job that could never start because no part is so large."""
    lines = [
        f"job {quoted(job.id)} has {job.tasks} tasks, the largest {part} has {largest} processors"
        for job in jobs
        if job.tasks > largest
    ]
    if lines:
        raise CoallocError("\n".join(lines))


def refuse_little_memory(instance: Instance) -> None:
    """Raise where some node has less memory than tasks on it might ask for together: a run does not divide memory."""
    asked = instance.largest_task_memory
    for cluster in instance.platform.clusters:
        for group in cluster.nodes:
            if has_too_little(group, asked):
                raise CoallocError(
                    f"a node of cluster {quoted(cluster.name)} has {group.memory:g} MB, its tasks may ask for "
                    f"{group.cores * asked:g} MB: simulate does not keep to memory; solve does, or leave memory out"
                )


def _listed(counts: Allocation) -> str:
    return "(" + ", ".join(str(count) for count in counts) + ")"
