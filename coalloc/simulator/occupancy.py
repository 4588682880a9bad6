"""Which processors and how much memory are free, and whether a start that a policy asks for is possible.

Whatever a policy says, no processor is given twice, a job gets as many as it has tasks, it stays within the scope,
and the tasks on a node ask for no more than its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import add, index, sub

from coalloc.allocation import Allocation, NodeClass, Scope, counted_groups
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job, Platform
from coalloc.rules.memories import memories_of
from coalloc.simulator.decisions import DecisionError, Start, shown
from coalloc.simulator.processors import Processors, lowest_of, preferred_of, processors_of


class Occupancy:
    """The ``free`` processors of a platform, and their ``counts`` per class, shape ``(num_classes,)``.

    ``memories`` are those of its nodes; tasks ask for ``task_memory`` MB at most. ``is_choosy`` says whether some jobs
    may not be everywhere.
    """

    def __init__(
        self,
        platform: Platform,
        classes: Sequence[NodeClass],
        scope: Scope,
        task_memory: float = 0.0,
        *,
        is_choosy: bool = False,
    ) -> None:
        names = [cluster.name for cluster in platform.clusters] if is_choosy else []
        pools = counted_groups(platform, classes).values()
        self.memories = memories_of(classes, task_memory, names, pools, is_within_node=scope == "node")
        self._leaves_all, self._units = self.memories.leave_all, self.memories.full
        self._index = platform.processor_index
        self._members = [processors_of(node_class.processors) for node_class in classes]
        self._cluster = [node_class.cluster for node_class in classes]
        self._scope = scope
        self.free = processors_of(chain.from_iterable(node_class.processors for node_class in classes))
        self.counts: Allocation = tuple(node_class.capacity for node_class in classes)

    @property
    def room(self) -> Allocation:
        """Free processors of each class, then what else is left: units of memory of nodes, processors of pools."""
        return (*self.counts, *self._units) if self._units else self.counts

    def close(self, taken: Allocation, sign: int = 1) -> None:
        """Let a part of what is free not be there from now on, or be there again (``sign`` -1)."""
        for count, members in zip(taken, self._members, strict=False):
            if count:
                self.free = self.free & ~members if sign > 0 else self.free | members
        self.counts = tuple(free - sign * count for free, count in zip(self.counts, taken, strict=False))
        tail = taken[len(self.counts) :]
        self._units = tuple(units - sign * count for units, count in zip(self._units, tail, strict=True))

    def take(self, job: Job, start: Start, preferred: Processors = 0) -> tuple[Allocation, Processors]:
        """Occupy what a start asks for; return the counts per class and the processors.

        Where it asks for counts those are taken first, of each class, that are preferred.

        Raises :class:`DecisionError` where the start is not possible.
        """
        try:
            nodes, asked = tuple(start.nodes), tuple(map(index, start.counts))
        except TypeError:
            given = shown(start.nodes or start.counts)
            raise DecisionError(f"the policy gave {quoted(job.id)} {given}, not names or whole numbers") from None
        counts, processors = self._named(job, nodes) if nodes else self._lowest(job, asked, preferred)
        if self._scope != "platform" and not self._is_within_scope(counts):
            raise DecisionError(f"the policy started {quoted(job.id)} outside its scope, one {self._scope}")
        if not self._leaves_all:
            self._hold_units(job, counts)
        self.free ^= processors
        self.counts = tuple(map(sub, self.counts, counts))
        return counts, processors

    def occupy(self, job: Job, processors: Processors) -> Allocation:
        """Let a job that runs already have given processors that are free; return what it takes of the room.

        Where it asks for more than the memory of its nodes, it has what is left. Of several such jobs those that end
        last come first: what each gives back at its end is then what is free from there on.
        """
        counts = self._counted(processors)
        units = tuple(map(min, self._units, self.memories.taken(job, counts)[len(counts) :]))
        self._units = tuple(map(sub, self._units, units))
        self.free ^= processors
        self.counts = tuple(map(sub, self.counts, counts))
        return (*counts, *units)

    def release(self, taken: Allocation, processors: Processors) -> None:
        """Free processors again, so many of each class, and memory."""
        self.free |= processors
        self.counts = tuple(map(add, self.counts, taken))
        if self._units:
            self._units = tuple(map(add, self._units, taken[len(self.counts) :]))

    def _counted(self, processors: Processors) -> Allocation:
        """Return how many of some processors each class has."""
        return tuple((processors & members).bit_count() for members in self._members)

    def _hold_units(self, job: Job, counts: Allocation) -> None:
        """Take what a job takes of a room besides processors; raise where that is not there for it."""
        if job.is_choosy:
            self._refuse_ineligible(job, counts)
        if job.memory:
            self._refuse_little_memory(job, counts)
        self._refuse_closed(job, counts)
        self._units = tuple(map(sub, self._units, self.memories.taken(job, counts)[len(counts) :]))

    def _refuse_ineligible(self, job: Job, counts: Allocation) -> None:
        """Raise where the policy puts tasks on nodes that the job may not use."""
        for g, (count, place) in enumerate(zip(counts, self.memories.places, strict=True)):
            if count and not job.may_use(*place):
                raise DecisionError(
                    f"the policy gave {quoted(job.id)} {count} processors of class {g}, in cluster {quoted(place[0])}, "
                    "which it may not use"
                )

    def _refuse_closed(self, job: Job, counts: Allocation) -> None:
        """Raise where the policy gives a job more processors of a group than windows leave now."""
        for pool, left in zip(self.memories.pools, self._units[len(self.memories.shared) :], strict=True):
            asked = sum(counts[g] for g in pool)
            if asked > left:
                raise DecisionError(
                    f"the policy gave {quoted(job.id)} {asked} processors of {_classes(pool)}, of which a window "
                    f"leaves {left}"
                )

    def _refuse_little_memory(self, job: Job, counts: Allocation) -> None:
        """Raise where a class has memory for fewer tasks than the policy puts there."""
        usable = self.memories.with_memory(job.memory or 0.0, self.counts, self._units)
        for g, (count, most) in enumerate(zip(counts, usable, strict=True)):
            if count > most:
                raise DecisionError(
                    f"the policy gave {quoted(job.id)} {count} processors of class {g}, a node of which has "
                    f"{self.memories.megabytes(self.room)[g]:g} MB left: its tasks ask for {job.memory:g} MB each"
                )

    def _lowest(self, job: Job, counts: Allocation, preferred: Processors) -> tuple[Allocation, Processors]:
        """Return the lowest free processors for counts per class; what of a room stands after them is left out."""
        if self._units and len(counts) == len(self.counts) + len(self._units):
            counts = counts[: len(self.counts)]
        if len(counts) != len(self.counts):
            raise DecisionError(
                f"the policy gave {quoted(job.id)} {len(counts)} counts, there are {len(self.counts)} node classes"
            )
        if sum(counts) != job.tasks or min(counts) < 0:
            raise DecisionError(
                f"the policy gave {quoted(job.id)} {_listed(counts)} processors per class, it has {job.tasks} tasks"
            )
        processors = 0
        for g, count in enumerate(counts):
            if count > self.counts[g]:
                raise DecisionError(
                    f"the policy gave {quoted(job.id)} {count} processors of class {g}, "
                    f"of which {self.counts[g]} are free"
                )
            if count:
                free = self.free & self._members[g]
                processors |= preferred_of(free, count, preferred) if preferred else lowest_of(free, count)
        return counts, processors

    def _named(self, job: Job, nodes: Sequence[str]) -> tuple[Allocation, Processors]:
        """Return the processors of these names, and how many each class has."""
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
        if processors & ~self.free:
            raise DecisionError(f"the policy gave {quoted(job.id)} processors that another job holds")
        return self._counted(processors), processors

    def _is_within_scope(self, counts: Allocation) -> bool:
        """Return whether counts are within one cluster, or one node (then each class is one)."""
        used = [g for g, count in enumerate(counts) if count]
        return len(used if self._scope == "node" else {self._cluster[g] for g in used}) == 1


def largest_part(classes: Sequence[NodeClass], scope: Scope, rooms: Sequence[int] | None = None) -> int:
    """Return the processors of the largest cluster or node, or of all, within which the tasks of a job must be.

    ``rooms`` are the processors of each class that count; without them all do.
    """
    room: dict[int, int] = {}
    for g, node_class in enumerate(classes):
        part = {"platform": 0, "cluster": node_class.cluster, "node": g}[scope]
        room[part] = room.get(part, 0) + (node_class.capacity if rooms is None else rooms[g])
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


def refuse_unplaceable(jobs: Iterable[Job], most_tasks: Callable[[Job], int], part: str) -> None:
    """Raise, with a line for each job that could never start: no part that it may use has memory for so many tasks."""
    lines = [
        f"job {quoted(job.id)} {_asked(job)}: no {part} has that for more than {most} of its {job.tasks} tasks"
        for job in jobs
        if (job.memory or job.is_choosy) and (most := most_tasks(job)) < job.tasks
    ]
    if lines:
        raise CoallocError("\n".join(lines))


def _asked(job: Job) -> str:
    """Return what a job asks of its processors."""
    asked = [f"asks for {job.memory:g} MB of memory per task"] if job.memory else []
    if job.is_choosy:
        asked.append(f"may use {' and '.join([*map(quoted, job.eligible), *map(quoted, job.requires)])} alone")
    return " and ".join(asked)


def _classes(pool: Sequence[int]) -> str:
    return f"class{'' if len(pool) == 1 else 'es'} {', '.join(map(str, pool))}"


def _listed(counts: Allocation) -> str:
    return "(" + ", ".join(str(count) for count in counts) + ")"
