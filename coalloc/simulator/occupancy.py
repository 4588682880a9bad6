"""Occupancy of processors and memory, and whether a start that a policy asks for is possible.

Whatever a policy says, no processor is given twice, a job gets as many as it has tasks, it stays within the scope,
and the tasks on a node ask for no more than its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from operator import add, index, sub

from coalloc.documents.columns import column
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job, Platform
from coalloc.instance.resources import of_nodes, tasks_on_node
from coalloc.instance.spread import Spread, spread_of
from coalloc.problem.allocation import Allocation, NodeClass, Scope, counted_groups, stocks_of
from coalloc.rules.capacity_vectors import CapacityVectors, capacity_vectors_of
from coalloc.simulator.decisions import DecisionError, Start, shown
from coalloc.simulator.processors import Processors, lowest_of, preferred_of, processors_of


class Occupancy:
    """The ``free`` processors of a platform, and its ``room``.

    That is: free processors of each class, then what else is left: units of memory of nodes, processors of pools.
    ``vectors`` say what else is left, and what jobs can use.
    """

    def __init__(
        self, platform: Platform, classes: Sequence[NodeClass], scope: Scope, vectors: CapacityVectors
    ) -> None:
        self.vectors, self._has_tail = vectors, bool(vectors.full)
        self._num_classes = len(classes)
        self._platform = platform
        self._members = [processors_of(node_class.processors) for node_class in classes]
        self._cluster = [node_class.cluster for node_class in classes]
        self._scope = scope
        self.free = processors_of(chain.from_iterable(node_class.processors for node_class in classes))
        self.down, self.failed, self.num_failures = 0, 0, 0
        """The processors of failed nodes, those of them that are not closed, and how often that has changed."""
        self.room: Allocation = (*(node_class.capacity for node_class in classes), *vectors.full)

    @property
    def counts(self) -> Allocation:
        """Free processors of each class."""
        return self.room[: self._num_classes]

    @property
    def _tail(self) -> Allocation:
        """Part of the room behind the counts."""
        return self.room[self._num_classes :]

    def close(self, taken: Allocation, sign: int = 1) -> None:
        """Let a part of what is free not be there from now on, or be there again (``sign`` -1)."""
        for count, members in zip(taken, self._members, strict=False):
            if count:
                self.free = self.free & ~members if sign > 0 else self.free | members
        self.room = tuple(free - sign * count for free, count in zip(self.room, taken, strict=True))

    def fail(self, processors: Processors, sign: int = 1) -> None:
        """Let free processors not be there from now on, or be there again (``sign`` -1)."""
        if not processors:
            return
        self.failed ^= processors
        self.num_failures += 1
        self.lend(processors, -sign)

    def lend(self, processors: Processors, sign: int = 1) -> None:
        """Free processors of a suspended job, which keeps its memory and resources, or take them back (``sign`` -1)."""
        self.free ^= processors
        lent = (*self.counted(processors), *(0 for _ in self._tail))
        self.room = tuple(free + sign * count for free, count in zip(self.room, lent, strict=True))

    def without_down(self, taken: Allocation) -> Allocation:
        """Return what a closing takes besides failed nodes, of which it is unknown when they are repaired."""
        if not self.down:
            return taken
        down = (*self.counted(self.down), *(0 for _ in self._tail))
        return tuple(max(0, count - lost) for count, lost in zip(taken, down, strict=True))

    def take(self, job: Job, start: Start, preferred: Processors = 0) -> tuple[Allocation, Processors, Allocation]:
        """Occupy what a start asks for; return the counts per class, the processors, and what that takes of the room.

        Where it asks for counts those are taken first, of each class, that are preferred.

        Raises :class:`DecisionError` where the start is not possible.
        """
        try:
            nodes, asked = tuple(start.nodes), tuple(map(index, start.counts))
        except TypeError:
            given = shown(start.nodes or start.counts)
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} {given}, not processor names or integers"
            ) from None
        counts, processors = self._named(job, nodes) if nodes else self._lowest(job, asked, preferred)
        if self._scope != "platform" and not self._is_within_scope(counts):
            raise DecisionError(f"the policy started job {quoted(job.id)} outside its scope of one {self._scope}")
        if self.vectors.places and job.is_choosy:
            self._refuse_ineligible(job, counts)
        if self.vectors.spread is not None:
            self._refuse_spread(job, counts)
        if job.memory:
            self._refuse_little_memory(job, counts)
        if self.vectors.pools:
            self._refuse_closed(job, counts)
        taken = self.vectors.taken(job, counts) if self._has_tail else counts
        if self.vectors.nodes and job.asks_resources:
            self._refuse_short(job, counts, taken)
        self.free ^= processors
        self.room = tuple(map(sub, self.room, taken))
        return counts, processors, taken

    def occupy(self, job: Job, processors: Processors) -> Allocation:
        """Let a job that runs already have given processors that are free; return what it takes of the room.

        Where it asks for more than the memory of its nodes, it has what is left. Of several such jobs those that end
        last come first: what each gives back at its end is then what is free from there on.
        """
        counts = self.counted(processors)
        taken = (*counts, *map(min, self._tail, self.vectors.taken(job, counts)[len(counts) :]))
        self.free ^= processors
        self.room = tuple(map(sub, self.room, taken))
        return taken

    def release(self, taken: Allocation, processors: Processors) -> None:
        """Free processors again, and what was taken of the room."""
        self.free |= processors
        self.room = tuple(map(add, self.room, taken))

    def counted(self, processors: Processors) -> Allocation:
        """Return how many of some processors each class has."""
        return tuple((processors & members).bit_count() for members in self._members)

    def _refuse_ineligible(self, job: Job, counts: Allocation) -> None:
        """Raise where the policy puts tasks on nodes that the job may not use."""
        for g, (count, place) in enumerate(zip(counts, self.vectors.places, strict=True)):
            if count and not job.may_use(*place):
                raise DecisionError(
                    f"the policy gave job {quoted(job.id)} {count} processors of node class {g} in cluster "
                    f"{quoted(place[0])}, which the job may not use"
                )

    def _refuse_spread(self, job: Job, counts: Allocation) -> None:
        """Raise where the policy spreads a job over clusters as it must not be."""
        spread = self.vectors.spread(job) if self.vectors.spread is not None else None
        tasks = [0] * (max(self._cluster) + 1)
        for cluster, count in zip(self._cluster, counts, strict=True):
            tasks[cluster] += count
        if spread is not None and not spread.keeps(tasks):
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} {_listed(tuple(tasks))} processors in the clusters, which its "
                "max_clusters, min_tasks_per_cluster, slices or level exclude"
            )

    def _refuse_closed(self, job: Job, counts: Allocation) -> None:
        """Raise where the policy gives a job more processors of a group than windows leave now."""
        for pool, left in zip(self.vectors.pools, self.room[self.vectors.first_pool :], strict=True):
            asked = sum(counts[g] for g in pool)
            if asked > left:
                raise DecisionError(
                    f"the policy gave job {quoted(job.id)} {asked} processors of node {_classes(pool)}, of which an "
                    f"outage leaves {left}"
                )

    def _refuse_short(self, job: Job, counts: Allocation, taken: Allocation) -> None:
        """Raise where the policy puts a job where there is too little left of a resource that it takes."""
        first = self.vectors.first_stock
        rows = zip(self.vectors.stocks, taken[first:], self.room[first:], strict=False)  # pools come behind
        short = [stock.name for stock, asked, left in rows if asked > left]
        for g, (count, node_of) in enumerate(zip(counts, self.vectors.nodes, strict=True)):
            if count and not tasks_on_node(*node_of, job):
                short.append(f"a resource of the nodes of class {g}")
        if short:
            raise DecisionError(
                f"the policy started job {quoted(job.id)}, which requires more than the free amount of {short[0]}"
            )

    def _refuse_little_memory(self, job: Job, counts: Allocation) -> None:
        """Raise where a class has memory for fewer tasks than the policy puts there."""
        usable = self.vectors.with_memory(job.memory or 0.0, self.counts, self._tail)
        for g, (count, most) in enumerate(zip(counts, usable, strict=True)):
            if count > most:
                raise DecisionError(
                    f"the policy gave job {quoted(job.id)} {count} processors of node class {g}, whose nodes have "
                    f"{self.vectors.megabytes(self.room)[g]:g} MB of free memory; its tasks require {job.memory:g} "
                    "MB each"
                )

    def _lowest(self, job: Job, counts: Allocation, preferred: Processors) -> tuple[Allocation, Processors]:
        """Return the lowest free processors for counts per class; what of a room stands after them is left out."""
        num_classes, room = self._num_classes, self.room
        if self._has_tail and len(counts) == len(room):
            counts = counts[:num_classes]
        if len(counts) != num_classes:
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} {len(counts)} counts, but there are {num_classes} node classes"
            )
        if sum(counts) != job.tasks or min(counts) < 0:
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} {_listed(counts)} processors per class, but it has "
                f"{job.tasks} tasks"
            )
        processors = 0
        for g, count in enumerate(counts):
            if count > room[g]:
                raise DecisionError(
                    f"the policy gave job {quoted(job.id)} {count} processors of node class {g}, of which {room[g]} "
                    "are free"
                )
            if count:
                free = self.free & self._members[g]
                processors |= preferred_of(free, count, preferred) if preferred else lowest_of(free, count)
        return counts, processors

    def _named(self, job: Job, nodes: Sequence[str]) -> tuple[Allocation, Processors]:
        """Return the processors of these names, and how many each class has."""
        unknown = [name for name in nodes if name not in self._platform.processor_index]
        if unknown:
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} {quoted(str(unknown[0]))}, which is not a processor of the "
                "platform"
            )
        processors = processors_of(self._platform.processor_index[name] for name in nodes)
        if len(nodes) != job.tasks or processors.bit_count() != job.tasks:
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} {processors.bit_count()} processors, but it has {job.tasks} "
                "tasks"
            )
        if processors & ~self.free:
            raise DecisionError(f"the policy gave job {quoted(job.id)} processors that another job holds")
        return self.counted(processors), processors

    def _is_within_scope(self, counts: Allocation) -> bool:
        """Return whether counts are within one cluster, or one node (then each class is one)."""
        used = [g for g, count in enumerate(counts) if count]
        return len(used if self._scope == "node" else {self._cluster[g] for g in used}) == 1


class PoolOccupancy(Occupancy):
    """The occupancy of nodes of one class, where memory is no matter and every job may be everywhere.

    Most starts there are as every rule makes them, so many processors as the job has tasks: nothing is to be refused.
    """

    def take(self, job: Job, start: Start, preferred: Processors = 0) -> tuple[Allocation, Processors, Allocation]:
        """Occupy what a start asks for; see :meth:`Occupancy.take`."""
        tasks, counts, asked = job.tasks, (job.tasks,), start.counts
        free = self.room[0]
        if start != (job.id, counts, ()) or type(asked[0]) is not int or tasks > free:
            return super().take(job, start, preferred)
        processors = preferred_of(self.free, tasks, preferred) if preferred else lowest_of(self.free, tasks)
        self.free ^= processors
        self.room = (free - tasks,)
        return counts, processors, counts

    def release(self, taken: Allocation, processors: Processors) -> None:
        """Free processors again."""
        self.free |= processors
        self.room = (self.room[0] + taken[0],)


def occupancy_of(platform: Platform, classes: Sequence[NodeClass], scope: Scope, vectors: CapacityVectors) -> Occupancy:
    """Return the occupancy of an empty platform."""
    is_pool = len(classes) == 1 and vectors.leave_all
    return (PoolOccupancy if is_pool else Occupancy)(platform, classes, scope, vectors)


def vectors_on(
    platform: Platform,
    classes: Sequence[NodeClass],
    scope: Scope,
    task_memory: float = 0.0,
    *,
    is_choosy: bool = False,
    is_spread: bool = False,
    resources: Sequence[str] = (),
    crowded: Collection[int] = (),
) -> CapacityVectors:
    """Return the capacity vectors of a platform, where tasks ask for ``task_memory`` MB at most.

    ``is_choosy`` says whether some jobs may not be everywhere, ``is_spread`` whether some restrict their tasks in each
    cluster. ``resources`` are those that jobs take, ``crowded`` the nodes, by index, of which tasks of several jobs may
    take more than there is.
    """
    return capacity_vectors_of(
        classes,
        task_memory,
        [cluster.name for cluster in platform.clusters] if is_choosy else [],
        counted_groups(platform, classes).values(),
        is_within_node=scope == "node",
        stocks=stocks_of(platform, classes, resources, crowded),
        resources=of_nodes(platform, resources) if resources else None,
        spread=_spreads_on(platform, scope) if is_spread else None,
    )


def _spreads_on(platform: Platform, scope: Scope) -> Callable[[Job], Spread | None]:
    """Return what says what a job asks of its tasks in each cluster, within a scope."""
    known: dict[tuple[object, ...], Spread | None] = {}

    def found(job: Job) -> Spread | None:
        if not job.is_spread:
            return None
        if job.spread_limits not in known:
            spread = spread_of(job, platform)
            known[job.spread_limits] = spread.narrowed(1) if spread and scope != "platform" else spread
        return known[job.spread_limits]

    return found


def largest_part(classes: Sequence[NodeClass], scope: Scope, rooms: Sequence[int] | None = None) -> int:
    """Return the processors of the largest cluster or node, or of all, within which the tasks of a job must be.

    ``rooms`` are the processors of each class that count; without them all do.
    """
    room: dict[int, int] = {}
    for g, node_class in enumerate(classes):
        part = {"platform": 0, "cluster": node_class.cluster, "node": g}[scope]
        room[part] = room.get(part, 0) + (node_class.capacity if rooms is None else rooms[g])
    return max(room.values())


class UnplaceableError(CoallocError):
    """Jobs could never start, however long they wait: one line for each."""


def refuse_too_large(jobs: Sequence[Job], largest: int, part: str) -> None:
    """Raise, with a line for each job that could never start because no part is so large."""
    if max(column(jobs, "tasks"), default=0) <= largest:
        return
    lines = [
        f"job {quoted(job.id)} has {job.tasks} tasks, but the largest {part} has {largest} processors"
        for job in jobs
        if job.tasks > largest
    ]
    if lines:
        raise UnplaceableError("\n".join(lines))


def refuse_unplaceable(jobs: Iterable[Job], most_tasks: Callable[[Job], int], part: str) -> None:
    """Raise, with a line for each job that could never start: no part that it may use has memory for so many tasks."""
    lines = [
        f"job {quoted(job.id)} {_asked(job)}: no {part} suffices for more than {most} of its {job.tasks} tasks"
        for job in jobs
        if (job.memory or job.is_choosy or job.asks_resources or job.is_spread)
        and (most := most_tasks(job)) < job.tasks
    ]
    if lines:
        raise UnplaceableError("\n".join(lines))


def _asked(job: Job) -> str:
    """Return what a job asks of its processors."""
    asked = [f"requires {job.memory:g} MB of memory per task"] if job.memory else []
    if job.is_choosy:
        asked.append(f"may only use {' and '.join([*map(quoted, job.eligible), *map(quoted, job.requires)])}")
    if job.is_spread:
        asked.append("restricts its tasks in each cluster (max_clusters, min_tasks_per_cluster, slices or level)")
    if job.asks_resources:
        asked.append(f"requires {' and '.join(map(quoted, dict.fromkeys([*job.resources, *job.task_resources])))}")
    return " and ".join(asked)


def _classes(pool: Sequence[int]) -> str:
    return f"class{'' if len(pool) == 1 else 'es'} {', '.join(map(str, pool))}"


def _listed(counts: Allocation) -> str:
    return "(" + ", ".join(str(count) for count in counts) + ")"
