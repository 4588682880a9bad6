"""Nodes that tasks share, as a source of pace, and as policies see them.

What the state of the nodes is, and what it does to jobs, says :mod:`coalloc.problem.shared_nodes`. Local users are
changes from outside. At the end of an instant all that has happened at it takes effect at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Self

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Job, LocalUser, Platform
from coalloc.problem.shared_nodes import SharedNodes
from coalloc.rules.node_choice import NodeLoad
from coalloc.simulator.clock import Change, Passes
from coalloc.simulator.decisions import DecisionError, Start
from coalloc.simulator.processors import Processors, indices_of, processors_of


@dataclass(frozen=True, slots=True)
class UserChange:
    """A local user comes to a node, or leaves it; ``processors`` are those of the node."""

    time: float
    is_leaving: bool
    processors: Processors
    node: int
    user: LocalUser


def user_changes(instance: Instance) -> list[UserChange]:
    """Return the comings and goings of local users, in order of time."""
    number = {node.name: n for n, node in enumerate(instance.platform.nodes)}
    found = []
    for user in instance.local_users:
        node = instance.platform.nodes[number[user.node]]
        places = processors_of(range(node.first_processor, node.first_processor + node.cores))
        found.append(UserChange(user.start, False, places, number[user.node], user))
        found.append(UserChange(user.end, True, places, number[user.node], user))
    return sorted(found, key=lambda change: (change.time, not change.is_leaving))


class NodeSharing:
    """The jobs of a run, by index, on the nodes of a platform."""

    def __init__(self, platform: Platform, nodes: SharedNodes) -> None:
        self._platform, self._nodes = platform, nodes
        self._places = [processors_of(range(node.cores)) for node in platform.nodes]
        self._held: dict[int, list[tuple[int, Processors]]] = {}
        self._node_of = dict(zip(platform.processor_names, platform.processor_node, strict=True))
        self._node_of |= {node.name: n for n, node in enumerate(platform.nodes)}
        self._settled = set[int]()
        self._loads = [self._load(n) for n in range(len(platform.nodes))]

    def copied(self) -> Self:
        """Return the jobs on the nodes as something of its own."""
        twin = copy(self)
        twin._nodes, twin._places, twin._held = self._nodes.copied(), self._places.copy(), self._held.copy()
        twin._settled, twin._loads = self._settled.copy(), self._loads.copy()
        return twin

    # -------------------------------------------------------------------------- a source of pace

    def enter(self, index: int, job: Job, processors: Processors) -> Collection[int]:
        """Put the tasks of a job on their nodes; nobody's pace changes before the end of the instant."""
        held = []
        for processor in indices_of(processors):
            node = self._platform.processor_node[processor]
            held.append((node, 1 << (processor - self._platform.nodes[node].first_processor)))
            self._places[node] ^= held[-1][1]
        self._held[index] = held
        self._nodes.enter(index, job, [node for node, _ in held])
        return ()

    def leave(self, index: int) -> Collection[int]:
        """Take the tasks of a job off their nodes."""
        for node, place in self._held.pop(index):
            self._places[node] ^= place
        self._nodes.leave(index)
        return ()

    def change(self, change: Change) -> Collection[int]:
        """Let a local user come or leave."""
        if isinstance(change, UserChange):
            if change.is_leaving:
                self._nodes.go(change.node)
            else:
                self._nodes.come(change.node, change.user)
        return ()

    def slowdowns(self, index: int) -> tuple[float, float]:
        """Return SP of a job, and the factor on its communication."""
        return self._nodes.jobs[index].slowdowns

    def settle(self) -> Iterable[int]:
        """Say what follows from all that has happened at an instant; return the jobs whose pace may have changed."""
        self._settled |= self._nodes.touched
        return self._nodes.settle()

    # -------------------------------------------------------------------------- what policies see and say

    def loads(self) -> tuple[NodeLoad, ...]:
        """Return what is on each node now."""
        for n in self._nodes.touched | self._settled:
            self._loads[n] = self._load(n)
        self._settled = set()
        return tuple(self._loads)

    def _load(self, n: int) -> NodeLoad:
        """Return what is on a node now."""
        node = self._nodes.nodes[n]
        return NodeLoad(
            self._name(n),
            len(node.tasks),
            len(node.stopped),
            self._places[n].bit_count(),
            node.user is not None,
            self._nodes.memory_left(n),
            self._nodes.most_memory(n, is_alone=True),
        )

    def placed(self, job: Job, start: Start) -> Start:
        """Return a start with a place named on each node; raises :class:`DecisionError` where one is not possible."""
        if not start.nodes:
            raise DecisionError(
                f"the policy gave job {quoted(job.id)} counts; with time-shared nodes a start must name nodes"
            )
        names, taken = list(map(str, start.nodes)), set[int]()
        for i, name in enumerate(names):
            node = self._node_of.get(name)
            if node is None:
                raise DecisionError(
                    f"the policy gave job {quoted(job.id)} {quoted(name)}, which is not a node of the platform"
                )
            if node in taken:
                raise DecisionError(f"the policy gave job {quoted(job.id)} node {quoted(self._name(node))} twice")
            if (job.memory or 0.0) > self._nodes.most_memory(node, is_alone=True):
                raise DecisionError(
                    f"the policy gave job {quoted(job.id)} node {quoted(name)}, which never has {job.memory:g} MB "
                    "for a task"
                )
            taken.add(node)
            if name == self._name(node):
                names[i] = self._first_place(job, node)
        return Start(job.id, nodes=names)

    def _first_place(self, job: Job, node: int) -> str:
        """Return the name of the first free place of a node."""
        places = self._places[node]
        if not places:
            raise DecisionError(f"the policy gave job {quoted(job.id)} node {quoted(self._name(node))}, which is full")
        first = self._platform.nodes[node].first_processor
        return self._platform.processor_names[first + next(indices_of(places))]

    def _name(self, node: int) -> str:
        return self._platform.nodes[node].name


def sharing_of(instance: Instance) -> NodeSharing | None:
    """Return the shared nodes of an instance, None where they are dedicated."""
    if not instance.shares_nodes:
        return None
    return NodeSharing(instance.platform, SharedNodes(instance.platform, instance.sharing))


def refuse_unshared(num_sites: int, passes: Passes, kill: bool) -> None:
    """Raise where a run on shared nodes is asked for what has no meaning there, or is not known."""
    if num_sites > 1:
        raise CoallocError("a simulation with several sites does not support time-shared nodes")
    if passes != "batch":
        raise CoallocError("passes: must be 'batch' with time-shared nodes")
    if kill:
        raise CoallocError("kill: is not supported with time-shared nodes")


def refuse_missing_memory(instance: Instance, asked: str) -> None:
    """Raise, with a line for each group of nodes and each job without memory, where something asks for it."""
    groups = [
        f"group {g} of cluster {quoted(cluster.name)}"
        for cluster in instance.platform.clusters
        for g, group in enumerate(cluster.nodes)
        if group.memory is None
    ]
    jobs = [f"job {quoted(job.id)}" for job in instance.jobs if job.memory is None]
    if groups or jobs:
        raise CoallocError("\n".join(f"{what} has no memory, but {asked} requires it" for what in [*groups, *jobs]))
