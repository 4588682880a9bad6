"""Fixed assignments: the place, time or shape of a job, or any part of that.

A start that is fixed is two rows, a place is a set of classes: nodes that are named are classes of their own, so that
counts say which they are. So every method that knows constraints knows what is fixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from coalloc.documents.text import quoted
from coalloc.documents.values import NONE, Count, Listed, Seconds, Text, Value, value
from coalloc.documents.wording import instant_text
from coalloc.instance import Fault, Instance, InstanceError, Job, Platform
from coalloc.instance.constraints import (
    AllowedNodes,
    AllowedShapes,
    Constraint,
    Declaration,
    MostTasks,
    PlacedJob,
    TimeBounds,
)
from coalloc.instance.processor_names import NamesField, ProcessorNames
from coalloc.instance.rounding import is_whole
from coalloc.problem.allocation import NodeClass, Scope, node_classes, reserved_nodes
from coalloc.problem.declared import told_apart

NO_NODES: Any = ProcessorNames(())
ShapeNumber = Annotated[int, Field(strict=True, ge=0)]


@value()
class Fixed(Value):
    """Fixed parts of the schedule of one job: any of its start, its nodes and its mode.

    Parameters
    ----------
    job : str
        Id of the job.
    start : float or None, default None
        Start time, s; a whole number of slots in a slotted problem.
    nodes : sequence of str, default ()
        Names of the processors that it holds, one per task, or ranges of them (``C1/0-127``). They form whole nodes.
    within : sequence of str, default ()
        Names of clusters, nodes or ranges of nodes; all tasks run within them.
    shape : int or None, default None
        Mode of a moldable job, numbered as in ``coalloc.Placement``.
    counts : mapping of str to int, default {}
        Number of tasks on identical nodes, by name of a cluster, a node or a range of nodes. The numbers add up to the
        tasks of the job.

    See Also
    --------
    coalloc.solve : Solve an instance, with ``fixed=`` parts.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> fixed = [coalloc.Fixed("J2", start=300.0, within=["C1", "C2"])]
    >>> coalloc.solve(instance, fixed=fixed).schedule["J2"].start
    300.0
    """

    job: Text
    start: Seconds | None = None
    nodes: NamesField = field(default=NO_NODES)
    within: Listed[Text] = NONE
    shape: ShapeNumber | None = None
    counts: Mapping[Text, Count] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FixedPlace:
    """Fixed part of a job, as searches ask for it: the nodes (by index) that it is within, and its tasks.

    None where that is not fixed; ``processors`` are the names that it holds, ``counts`` its tasks on sets of nodes.
    """

    start: float | None
    nodes: frozenset[int] | None
    tasks: int | None
    processors: ProcessorNames | None
    counts: tuple[tuple[frozenset[int], int], ...] = ()


@dataclass(frozen=True, eq=False)
class Fixings(Constraint):
    """Jobs are where, and when, it is fixed: ``places`` by id, on the nodes of processors ``node_of``.

    A start within ``tolerance`` (s) of the fixed one keeps it.
    """

    places: Mapping[str, FixedPlace]
    node_of: Sequence[int]
    tolerance: float

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield the start that is fixed of each job, the nodes that it is within, its tasks there, and all of them.

        As the tasks on nodes are all that it has, and such nodes are one class, no other count than the most fits.
        """
        for job, place in self.places.items():
            if place.start is not None:
                yield TimeBounds(job, place.start, place.start)
            if place.nodes is not None:
                yield AllowedNodes(job, place.nodes)
            yield from (MostTasks(job, nodes, count) for nodes, count in place.counts)
            if place.tasks is not None:
                yield AllowedShapes(job, (place.tasks,))

    @property
    def is_declared(self) -> bool:
        """Whether its faults forbid no more than it declares: as processors of whole nodes, it has the nodes."""
        return True

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterator[str]:
        """Yield a sentence for each job that is elsewhere, or starts at another time."""
        index = instance.platform.processor_index
        for placed in schedule:
            place = self.places.get(placed.job)
            if place is None:
                continue
            name = quoted(placed.job)
            if place.start is not None and abs(placed.start - place.start) > self.tolerance:
                yield (
                    f"job {name} starts at {instant_text(placed.start)}, not at its fixed start "
                    f"{instant_text(place.start)}"
                )
            if place.nodes is not None and not {self.node_of[index[p]] for p in placed.nodes} <= place.nodes:
                yield f"job {name} is not on its fixed nodes"
            if place.processors is not None and set(placed.nodes) != set(place.processors):
                yield f"job {name} does not hold its fixed processors"
            held = Counter(self.node_of[index[p]] for p in placed.nodes)
            if any(sum(held[node] for node in nodes) != count for nodes, count in place.counts):
                yield f"job {name} does not have its fixed numbers of tasks"
            if place.tasks not in (None, len(placed.nodes)):
                yield f"job {name} does not have its fixed shape"


def fixings(
    instance: Instance,
    fixed: Sequence[Fixed],
    slot: float | None = None,
    scope: Scope = "platform",
    others: Iterable[Constraint] = (),
) -> tuple[Fixings, ...]:
    """Return the constraint that keeps to what is fixed; none where nothing is.

    ``slot`` (s) and ``scope`` are those of the problem, ``others`` its other constraints.

    Raises
    ------
    InstanceError
        What is fixed is of no job, on no node, not whole slots or no shape of the job: every fault, with its path.
    """
    if not fixed:
        return ()
    faults = [
        Fault(f"fixed[{i}]{path}", sentence)
        for i, one in enumerate(fixed)
        for path, sentence in _faults(instance, one, slot)
    ]
    repeated = [job for job, number in Counter(one.job for one in fixed).items() if number > 1]
    faults += [Fault("fixed", f"must contain each job once, got {quoted(job)} again") for job in repeated]
    if faults:
        raise InstanceError(faults)
    found = Fixings(
        {one.job: _place(instance, one) for one in fixed},
        instance.platform.processor_node,
        instance.time_base.tolerance,
    )
    reserved = reserved_nodes(instance.platform, instance.running, "fixed assignments")
    apart = [*reserved, *told_apart((*others, found), instance)]
    faults = list(
        _class_faults(fixed, node_classes(instance.platform, scope, instance.largest_task_memory, apart), found)
    )
    if faults:
        raise InstanceError(faults)
    return (found,)


def _class_faults(fixed: Sequence[Fixed], classes: Sequence[NodeClass], found: Fixings) -> Iterator[Fault]:
    """Yield a fault for each part in which nodes are told apart: counts there do not say which have how many."""
    of_classes = [found.node_of[node_class.processors[0]] for node_class in classes]
    for i, one in enumerate(fixed):
        for name, (nodes, _) in zip(one.counts, found.places[one.job].counts, strict=True):
            number = sum(node in nodes for node in of_classes)
            if number > 1:
                yield Fault(
                    f"fixed[{i}].counts",
                    f"must each refer to nodes of one class, but {quoted(name)} has {number} classes (by description, "
                    "outages, reservations, memory or other fixed jobs); give a count for the nodes of each class",
                )


def _faults(instance: Instance, fixed: Fixed, slot: float | None) -> Iterator[tuple[str, str]]:
    """Yield path and sentence of each fault of what is fixed of a job."""
    job = instance.job_by_id.get(fixed.job)
    if job is None:
        yield ".job", f"must be a job of the instance, got {quoted(fixed.job)}"
        return
    if slot is not None and fixed.start is not None and not is_whole(fixed.start, slot, instance.time_base.tolerance):
        yield ".start", f"must be a multiple of the time slot of {slot:g} s, got {instant_text(fixed.start)}"
    if fixed.shape is not None and fixed.shape > len(job.shapes):
        yield ".shape", f"must be at most {len(job.shapes)}, the last shape of the job, got {fixed.shape}"
        return
    for n, name in enumerate(fixed.within):
        if _nodes_called(instance.platform, name) is None:
            yield f".within[{n}]", f"must be a cluster or nodes of the platform, got {quoted(name)}"
    if fixed.nodes:
        yield from _processor_faults(instance.platform, job, fixed)
    if fixed.counts:
        yield from _count_faults(instance.platform, job, fixed)


def _count_faults(platform: Platform, job: Job, fixed: Fixed) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the tasks that are fixed on some nodes."""
    parts = {name: _nodes_called(platform, name) for name in fixed.counts}
    for name, nodes in parts.items():
        if nodes is None:
            yield ".counts", f"must refer to a cluster or nodes of the platform, got {quoted(name)}"
            return
        room = sum(platform.nodes[n].cores for n in nodes)
        if fixed.counts[name] > room:
            yield (
                ".counts",
                f"must be at most {room}, the number of processors of {quoted(name)}, got {fixed.counts[name]}",
            )
    known = [nodes for nodes in parts.values() if nodes is not None]
    if sum(map(len, known)) != len(frozenset().union(*known)):
        yield ".counts", "must refer to disjoint sets of nodes"
    tasks = [shape.tasks for shape in job.in_shapes]
    allowed = tasks if fixed.shape is None else [tasks[fixed.shape]]
    if sum(fixed.counts.values()) not in allowed:
        wanted = " or ".join(map(str, allowed))
        yield ".counts", f"must add up to the tasks of the job ({wanted}), got {sum(fixed.counts.values())}"
    if fixed.nodes:
        yield ".counts", "must not be given together with nodes"


def _processor_faults(platform: Platform, job: Job, fixed: Fixed) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the processors that are fixed."""
    unknown = next((name for name in fixed.nodes if name not in platform.processor_index), None)
    if unknown is not None:
        yield ".nodes", f"must be processors of the platform, got {quoted(unknown)}"
        return
    tasks = [shape.tasks for shape in job.in_shapes]
    allowed = tasks if fixed.shape is None else [tasks[fixed.shape]]
    if len(set(fixed.nodes)) != len(fixed.nodes) or len(fixed.nodes) not in allowed:
        wanted = " or ".join(map(str, allowed))
        yield ".nodes", f"must have one processor per task of the job ({wanted}), got {len(set(fixed.nodes))}"
    held = _nodes_of(platform, fixed.nodes)
    if sum(platform.nodes[n].cores for n in held) > len(fixed.nodes):
        yield ".nodes", "must be complete nodes, got part of a node"


def _nodes_of(platform: Platform, names: Iterable[str]) -> frozenset[int]:
    """Return the nodes, by index, of processors by name."""
    return frozenset(platform.processor_node[platform.processor_index[name]] for name in names)


def pinned(platform: Platform, fixed: Fixed) -> Fixed:
    """Return what is fixed with the nodes of counts by their own names, so that more nodes change nothing of it."""
    ranges = {c.name: f"{c.name}/0-{c.num_nodes - 1}" if c.num_nodes > 1 else f"{c.name}/0" for c in platform.clusters}
    return fixed.replace(counts={ranges.get(name, name): count for name, count in fixed.counts.items()})


def _nodes_called(platform: Platform, name: str) -> frozenset[int] | None:
    """Return the nodes, by index, of a cluster, or those that a name or range of nodes says; None where it is none."""
    clusters = {cluster.name: c for c, cluster in enumerate(platform.clusters)}
    if name in clusters:
        return frozenset(n for n, node in enumerate(platform.nodes) if node.cluster == clusters[name])
    index = {node.name: n for n, node in enumerate(platform.nodes)}
    names = ProcessorNames([name])
    return frozenset(index[node] for node in names) if names and all(node in index for node in names) else None


def _place(instance: Instance, fixed: Fixed) -> FixedPlace:
    """Return what is fixed of a job, with the shape that its processors make."""
    platform, job = instance.platform, instance.job_by_id[fixed.job]
    parts = [_nodes_called(platform, name) or frozenset() for name in fixed.within]
    nodes = frozenset().union(*parts) if parts else None
    counts = tuple((_nodes_called(platform, name) or frozenset(), count) for name, count in fixed.counts.items())
    if counts:
        counted = frozenset().union(*(of_count for of_count, _ in counts))
        nodes = counted if nodes is None else counted & nodes
    if fixed.nodes:
        held = _nodes_of(platform, fixed.nodes)
        nodes = held if nodes is None else held & nodes
    tasks = len(fixed.nodes) or sum(fixed.counts.values()) or None
    if fixed.shape is not None:
        tasks = job.in_shapes[fixed.shape].tasks
    return FixedPlace(fixed.start, nodes, tasks, fixed.nodes or None, counts)
