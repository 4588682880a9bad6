"""List policies for jobs that each run on one node: the baselines of the PCBE experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from coalloc.heuristics.classics import less
from coalloc.heuristics.over_time import Admission
from coalloc.instance import Job, Platform
from coalloc.instance.platform import Node
from coalloc.instance.power import node_watts, require_watts
from coalloc.problem.allocation import Scope
from coalloc.problem.execution import dedicated_time
from coalloc.rules.orders import FIXED_ORDERS, OrderName, ordered
from coalloc.simulator.policy import Start, State

JobOrder = Literal["first", "shortest"]
NodeOrder = Literal["first", "high-flops", "low-power", "high-power"]

JOB_ORDERS: Mapping[str, OrderName] = {"first": "fcfs", "shortest": "spt"}
"""Orders of the queue, and their names among :data:`coalloc.rules.orders.ORDERS`."""


def full_watts(platform: Platform, node: Node) -> float:
    """Return what a node draws with all cores busy, W."""
    group = platform.group_of(node)
    return node_watts(group, group.cores)


NODE_KEYS: Mapping[str, Callable[[Platform, Node], Any]] = {
    "first": lambda _, node: node.name,
    "high-flops": lambda platform, node: -platform.group_of(node).effective_power,
    "low-power": full_watts,
    "high-power": lambda platform, node: -full_watts(platform, node),
}
"""Sort key of nodes by name of the order; equal ones as the platform lists them.

``first`` is the order of names as texts: C1/0, C1/1, C1/10, C1/2 (errata 20). ``high-power`` is what the published
runs did under the name of low power (errata 22).
"""

NEED_WATTS = ("low-power", "high-power")
"""Orders for which node groups must have watts."""


@dataclass(slots=True)
class NodeList:
    """Jobs in order, each on the first node with enough free cores; stop at the first job without one.

    Equal nodes are in the order of the platform. Source: PCBE, Tables 4.1 and 4.2; errata 20 and 22.

    Parameters
    ----------
    job_order
        Jobs by arrival, or by estimate.
    node_order
        Nodes by name as text (C1/0, C1/1, C1/10, C1/2), by effective speed, or by the watts of the node with all cores
        busy.

    Examples
    --------
    *Example.* C1/0 has two cores of speed 1, C1/1 one core of speed 2. A (1 core, 10 s) arrives at 0 s, B (2 cores, 6
    s) at 1 s, C (1 core, 6 s) at 2 s. ``"first"``: A has a core of C1/0 until 10 s. B fits nowhere and blocks C, though
    C1/1 is free. At 10 s B takes C1/0, and C takes C1/1 until 10 + 6/2 = 13 s. ``"high-flops"``: A has C1/1 until 10/2
    = 5 s, so B takes C1/0 at 1 s. C waits for C1/1 until 5 s.

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> nodes = [NodeGroup(1, power=1.0, cores=2), NodeGroup(1, power=2.0)]
    >>> platform = Platform([Cluster("C1", nodes, link_bandwidth=1.0)])
    >>> jobs = [
    ...     Job("A", 1, 10.0),
    ...     Job("B", 2, 6.0, arrival=1.0),
    ...     Job("C", 1, 6.0, arrival=2.0),
    ... ]
    >>> for order in ("first", "high-flops"):
    ...     run = coalloc.simulate(
    ...         Instance(platform, jobs), "node-list", node_order=order
    ...     )
    ...     print({found.job: (found.start, found.end) for found in run.schedule})
    {'A': (0.0, 10.0), 'B': (10.0, 16.0), 'C': (10.0, 13.0)}
    {'A': (0.0, 5.0), 'B': (1.0, 7.0), 'C': (5.0, 8.0)}
    """

    job_order: JobOrder = "first"
    node_order: NodeOrder = "first"
    scope: Scope = field(init=False, default="node")
    _platform: Platform | None = field(init=False, default=None, repr=False)
    _nodes: Sequence[int] = field(init=False, default=(), repr=False)

    def copy(self) -> Self:
        """Return a policy of its own over the same nodes."""
        return copy(self)

    def decide(self, state: State) -> Iterator[Start]:
        """Yield the jobs that start now."""
        if self._platform is not state.platform:
            self._platform, self._nodes = state.platform, self._ordered_nodes(state.platform)
        if state.has_closings:
            yield from self._beside_closings(state)
            return
        room, num_nodes = state.room, len(state.classes)
        for job in self._ordered_queue(state):
            free = state.usable(job, room)
            node = next((g for g in self._nodes if free[g] >= job.tasks), None)
            if node is None:
                return
            start = on_node(job, node, num_nodes)
            room = less(room, state.taken(job, start.counts))
            yield start

    def _beside_closings(self, state: State) -> Iterator[Start]:
        """Yield the jobs that start now, and end by their estimates before their nodes are not there."""
        admission, num_nodes = Admission(state), len(state.classes)
        for job in self._ordered_queue(state):
            seconds = [dedicated_time(job, node_class.group) for node_class in state.classes]
            usable = admission.usable(job, seconds)
            node = next((g for g in self._nodes if usable[g] >= job.tasks), None)
            if node is None:
                return
            start = on_node(job, node, num_nodes)
            admission.admits_counts(job, start.counts, seconds[node])
            yield start

    def _ordered_nodes(self, platform: Platform) -> list[int]:
        """Return the nodes, by index, in order."""
        key = NODE_KEYS[self.node_order]
        if self.node_order in NEED_WATTS:
            require_watts(platform)
        return sorted(range(len(platform.nodes)), key=lambda n: key(platform, platform.nodes[n]))

    def _ordered_queue(self, state: State) -> Iterable[Job]:
        """Return the waiting jobs in order."""
        return ordered(state.queue, FIXED_ORDERS[JOB_ORDERS[self.job_order]])


def on_node(job: Job, node: int, num_nodes: int) -> Start:
    """Return the start of a job with all its tasks on one node."""
    counts = [0] * num_nodes
    counts[node] = job.tasks
    return Start(job.id, counts)
