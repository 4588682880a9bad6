"""Node classes and allocation vectors: the number of tasks of a job in each class.

The nodes of a class are interchangeable, so exact models count tasks per class and never name a
node (``schedule.assign_nodes`` does that afterwards). An :data:`Allocation` has one count per class,
in the order of :func:`node_classes`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.numbering import Numbering, intervals_of, places_within
from coalloc.instance.processor_names import ProcessorNames, distinct
from coalloc.instance.resources import Level, level_of
from coalloc.instance.rounding import capacity_limit

Allocation = tuple[int, ...]
"""Tasks per node class, shape ``(num_classes,)``."""

Scope = Literal["platform", "cluster", "node"]
"""Places of the tasks of one job: anywhere, within one cluster, or on one node."""


@dataclass(frozen=True, slots=True)
class NodeClass:
    """A class of interchangeable nodes: nodes of one cluster with the same description, or a single node.

    Attributes
    ----------
    cluster : int
        Index of the cluster in ``platform.clusters``.
    group : NodeGroup
        Description of the nodes.
    processors : tuple of int
        Indices of the processors, in order.

    See Also
    --------
    coalloc.extend.State : The state of a run, with its classes.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> model = coalloc.build_model(instance, formulation="mode", slot=100.0)
    >>> [(found.cluster, found.capacity) for found in model.problem.classes]
    [(0, 2), (1, 2)]
    """

    cluster: int
    group: NodeGroup
    processors: tuple[int, ...]

    @property
    def capacity(self) -> int:
        """Number of processors."""
        return len(self.processors)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.capacity // self.group.places

    @property
    def effective_power(self) -> float:
        """Effective speed of each processor (Gamma)."""
        return self.group.effective_power

    def room(self, task_memory: float) -> int:
        """Return the number of tasks with this memory demand (MB each) that fit at once."""
        if not has_too_little(self.group, task_memory):
            return self.capacity
        limit = capacity_limit(self.group.memory or 0.0)
        tasks_per_node = max(n for n in range(self.group.cores) if n * task_memory <= limit)
        return self.num_nodes * tasks_per_node


def has_too_little(group: NodeGroup, task_memory: float) -> bool:
    """Return whether a node has too little memory for a task on each core that asks for so much, MB."""
    return group.memory is not None and group.cores * task_memory > capacity_limit(group.memory)


def shares_memory(group: NodeGroup, task_memory: float) -> bool:
    """Return whether tasks may compete for the memory of a node, where they ask for ``task_memory`` MB at most.

    Infinity says that suspended jobs may keep some of it: then they do on a node of one core, too.
    """
    return has_too_little(group, task_memory) and (group.cores > 1 or math.isinf(task_memory))


def node_classes(
    platform: Platform,
    scope: Scope = "platform",
    task_memory: float = 0.0,
    reserved: Sequence[Collection[int]] = (),
) -> tuple[NodeClass, ...]:
    """Return the classes of a platform, by cluster and first node.

    Nodes that are not there in different windows, or ``reserved`` (sets of nodes, by index) for different jobs, are in
    different classes: at any instant all of a class are there, or none; so are nodes that are told apart otherwise.

    With scope ``node`` every node is a class of its own: totals would fit where packing does not. So is a node
    whose tasks may compete for memory, where they ask for ``task_memory`` (MB) at most.
    """
    if scope not in get_args(Scope):
        raise CoallocError(f"scope must be one of {', '.join(get_args(Scope))}, got {scope!r}")
    closed = _closings(platform, reserved)
    members: dict[tuple[int, NodeGroup, int, tuple[int, ...]], list[int]] = {}
    node = processor = 0
    for c, cluster in enumerate(platform.clusters):
        for group in cluster.nodes:
            single, last = group.replace(count=1), node + group.count
            is_alone = scope == "node" or shares_memory(group, task_memory)
            at_once = 1 if is_alone or closed else group.count
            while node < last:
                key = (c, single, node if is_alone else -1, closed.get(node, ()))
                stop = processor + at_once * group.places
                members.setdefault(key, []).extend(range(processor, stop))
                node, processor = node + at_once, stop
    return tuple(NodeClass(c, group, tuple(processors)) for (c, group, *_), processors in members.items())


def _closings(platform: Platform, reserved: Sequence[Collection[int]]) -> dict[int, tuple[int, ...]]:
    """Return the numbers of the windows and reservations of each node, by index; nodes without any are left out."""
    found: dict[int, tuple[int, ...]] = {}
    for number, nodes in enumerate((*platform.window_nodes, *reserved)):
        for node in nodes:
            found[node] = (*found.get(node, ()), number)
    return found


def counted_groups(platform: Platform, classes: Sequence[NodeClass]) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return the classes, by index, of each cluster and group of which a window takes a number of processors."""
    names = [cluster.name for cluster in platform.clusters]
    counted = {(names.index(w.cluster), w.group) for w in platform.unavailable if w.group is not None}
    nodes = [platform.nodes[platform.processor_node[c.processors[0]]] for c in classes] if counted else []
    groups = [(node.cluster, node.group) for node in nodes]
    return {key: tuple(g for g, group in enumerate(groups) if group == key) for key in sorted(counted)}


@dataclass(frozen=True, slots=True)
class Stock:
    """Stock of a ``resource`` in a place (the platform, a cluster, a node), for tasks on its classes."""

    name: str
    classes: tuple[int, ...]
    limit: float
    resource: str
    level: Level

    def parts(self, job: Job) -> tuple[float, float]:
        """Return the units that a job takes by being there, and those that each of its tasks there takes."""
        return job.resources.get(self.resource, 0.0), job.task_resources.get(self.resource, 0.0)

    def load(self, tasks: int, job: Job) -> float:
        """Return the units that so many tasks of a job in the place take."""
        return job.amount(self.resource, tasks)

    def load_table(self, most: int, job: Job) -> list[float]:
        """Return the units that 0, 1, ..., ``most`` tasks of a job in the place take."""
        for_being_there, each = self.parts(job)
        return [0.0, *(for_being_there + tasks * each for tasks in range(1, most + 1))]

    def sees(self, job: Job) -> Hashable:
        """Return what a load depends on besides the tasks there."""
        return self.resource, job.resources.get(self.resource), job.task_resources.get(self.resource)


def stocks_of(
    platform: Platform, classes: Sequence[NodeClass], resources: Sequence[str], crowded: Collection[int]
) -> Iterator[Stock]:
    """Yield what each place has of each of some resources; of nodes those that are ``crowded`` (by index) alone.

    On the others as many tasks fit as of one job do. A place that states nothing of a resource has nothing of it. Those
    of nodes come first, then those of clusters: whoever cuts what is free to one after the other keeps all that fits.
    """
    nodes = [platform.processor_node[c.processors[0]] for c in classes]
    names = {level: [n for n in resources if level_of(platform, n) == level] for level in get_args(Level)}
    for name in names["node"]:
        for g, node in enumerate(nodes):
            if node in crowded:
                limit = capacity_limit(classes[g].group.resources.get(name, 0.0))
                yield Stock(f"{name} of {platform.nodes[node].name}", (g,), limit, name, "node")
    for name in names["cluster"]:
        for c, cluster in enumerate(platform.clusters):
            inside = tuple(g for g, node_class in enumerate(classes) if node_class.cluster == c)
            limit = capacity_limit(cluster.resources.get(name, 0.0))
            yield Stock(f"{name} of {cluster.name}", inside, limit, name, "cluster")
    for name in names["platform"]:
        yield Stock(name, tuple(range(len(classes))), capacity_limit(platform.resources[name]), name, "platform")


def reserved_nodes(platform: Platform, running: Iterable[RunningJob], what: str) -> list[frozenset[int]]:
    """Return the nodes, by index, of each running job that starts later.

    Raises :class:`CoallocError` where one has a part of a node, for ``what`` knows only whole ones.
    """
    found = []
    for run in running:
        if run.start > 0.0:
            if reserves_part_of_node(platform, run):
                raise CoallocError(
                    f"reservation {quoted(run.job.id)} (start {run.start:g} s) covers a part of a node; {what} require "
                    "complete nodes in reservations"
                )
            found.append(_nodes_of(platform, run))
    return found


def reserves_part_of_node(platform: Platform, run: RunningJob) -> bool:
    """Return whether a running job starts later, and then has some but not all processors of a node."""
    return run.start > 0.0 and sum(platform.nodes[n].cores for n in _nodes_of(platform, run)) > len(run.nodes)


def _nodes_of(platform: Platform, run: RunningJob) -> frozenset[int]:
    return frozenset(platform.processor_node[platform.processor_index[name]] for name in run.nodes)


def switched_classes(
    platform: Platform, scope: Scope = "platform", reserved: Sequence[Collection[int]] = ()
) -> tuple[NodeClass, ...]:
    """Return the classes of :func:`node_classes`, with every node of several cores a class of its own.

    Whether a node has a busy core, and so draws its static watts, is then a matter of one class; a node of one
    core has one exactly while a task is on it, and may stay among its equals.
    """
    single = node_classes(platform, "node")
    if scope == "node":
        return single
    kept = [c for c in single if c.group.cores > 1]
    together = [c for c in node_classes(platform, scope, reserved=reserved) if c.group.cores == 1]
    return tuple(sorted([*kept, *together], key=lambda c: c.processors[0]))


def tasks_per_cluster(allocation: Sequence[int], classes: Sequence[NodeClass], num_clusters: int) -> tuple[int, ...]:
    """Return the tasks of an allocation in each cluster, shape ``(num_clusters,)``."""
    tasks = [0] * num_clusters
    for count, node_class in zip(allocation, classes, strict=True):
        tasks[node_class.cluster] += count
    return tuple(tasks)


def is_coallocated(tasks: Iterable[int]) -> bool:
    """Return whether tasks per cluster are spread over two or more clusters."""
    return sum(1 for count in tasks if count) > 1


def allocations_of(
    numbering: Numbering, sets: Sequence[ProcessorNames], classes: Sequence[NodeClass]
) -> list[Allocation]:
    """Return the allocation vector of each set of processors, by name; of many sets on many processors at once."""
    class_of = np.empty(sum(node_class.capacity for node_class in classes), dtype=np.int64)
    for g, node_class in enumerate(classes):
        class_of[np.array(node_class.processors)] = g
    begins = np.append(0, np.flatnonzero(np.diff(class_of)) + 1)  # of adjacent processors of one class
    unique, which = distinct(sets)
    held = intervals_of(numbering, unique)
    low = np.searchsorted(begins, held.first, side="right") - 1
    parts = np.searchsorted(begins, held.stop - 1, side="right") - low
    interval, part = np.repeat(np.arange(len(parts)), parts), np.repeat(low, parts) + places_within(parts)
    stops = np.append(begins[1:], len(class_of))
    sizes = np.minimum(held.stop[interval], stops[part]) - np.maximum(held.first[interval], begins[part])
    counts = np.zeros((len(unique), len(classes)), dtype=np.int64)
    np.add.at(counts, (held.holder[interval], class_of[begins[part]]), sizes)
    allocations = [tuple(row) for row in counts.tolist()]
    return [allocations[i] for i in which.tolist()]


def allocation_of(processors: Iterable[int], classes: Sequence[NodeClass]) -> Allocation:
    """Return the allocation vector of named processors (indices)."""
    class_of = {p: g for g, node_class in enumerate(classes) for p in node_class.processors}
    counts = [0] * len(classes)
    for processor in processors:
        counts[class_of[processor]] += 1
    return tuple(counts)


def least_tasks(job: Job) -> int:
    """Return the tasks of a job in its narrowest shape."""
    return min([job.tasks, *(shape.tasks for shape in job.shapes)]) if job.shapes else job.tasks
