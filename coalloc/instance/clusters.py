"""Parts of a platform: groups of equal nodes, clusters of them, and the switches above.

Source: thesis, section 2.1; cascaded switches as in its last paragraph. Efficiency and power states: the two-level
grid study, sections 2.1 and 3.1.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from pydantic import Field

from coalloc.documents.values import (
    LEFT_OUT,
    NO_AMOUNTS,
    NONE,
    SINCE_2,
    SINCE_3,
    AmountsField,
    Count,
    Listed,
    NonNegative,
    Positive,
    PositiveShare,
    Text,
    Value,
    value,
)
from coalloc.instance.power_states import PowerStates


@value()
class NodeGroup(Value):
    """A group of identical nodes of one cluster.

    Parameters
    ----------
    count : int
        Number of nodes.
    power : float
        Speed of a processor relative to the reference node (P).
    availability : float, default 1.0
        Share of the CPU that jobs get, above 0 and at most 1 (A).
    cores : int, default 1
        Number of processors per node.
    off_watts : float or None, default None
        Power of a node that a policy has switched off, W.
    idle_watts : float or None, default None
        Power of a node without a busy core, W.
    static_watts : float or None, default None
        Power of a node with a busy core, without its cores, W.
    core_watts : float or None, default None
        Additional power of each busy core, W.
    clock : float or None, default None
        Clock frequency, GHz; some policies use it.
    flops_per_cycle : float or None, default None
        Floating-point operations per cycle; some policies use it.
    memory : float or None, default None
        Memory per node, MB, for all tasks on it together. None: not limited.
    multiprogramming : int, default 1
        Multiprogramming level (MPL): number of tasks that may share the single core of a node.
    features : sequence of str, default ()
        Features of the nodes, such as ``gpu``; jobs may require them.
    resources : mapping of str to float, default {}
        Amounts of resources per node, by name, in units of your choice, for all tasks on it together: GPUs (GRES), W.

    Examples
    --------
    >>> from coalloc import NodeGroup
    >>> group = NodeGroup(16, power=0.75, cores=8, resources={"gpu": 2})
    >>> group.effective_power
    0.75
    """

    count: Count
    power: Positive
    availability: PositiveShare = 1.0
    cores: Count = 1
    off_watts: NonNegative | None = None
    idle_watts: NonNegative | None = None
    static_watts: NonNegative | None = None
    core_watts: NonNegative | None = None
    clock: Positive | None = None
    flops_per_cycle: Positive | None = None
    memory: NonNegative | None = None
    multiprogramming: Count = field(default=1, metadata=LEFT_OUT)
    features: Listed[Text] = field(default=NONE, metadata=SINCE_2)
    resources: AmountsField = field(default=NO_AMOUNTS, metadata=LEFT_OUT | SINCE_2)

    @property
    def effective_power(self) -> float:
        """Effective speed of a processor, Gamma = P * A. Source: thesis, equation (2.1)."""
        return self.power * self.availability

    @property
    def places(self) -> int:
        """Number of processors per node: its cores, or the tasks that may share its single core."""
        return self.cores * self.multiprogramming


@value()
class Cluster(Value):
    """A cluster: groups of nodes behind one network link.

    Parameters
    ----------
    name : str
        Unique name within the platform. Its nodes are ``C1/0``, ``C1/1``, ...; the cores of a node are ``C1/0.0``,
        ``C1/0.1``, ...
    nodes : sequence of NodeGroup
        Its groups of nodes, at least one; nodes are numbered in this order.
    link_bandwidth : float
        Bandwidth of the link to its switch, MB/s (MBW).
    switch : str or None, default None
        Name of its switch. None: the root of the tree.
    efficiency : float or None, default None
        Energy efficiency of its processors, MFLOPS/W; brokers compare clusters by it.
    power_states : PowerStates or None, default None
        Power of the parts of the cluster, and when they switch on and off.
    resources : mapping of str to float, default {}
        Amounts of resources of the cluster, by name, in units of your choice, for all tasks on its nodes together:
        licenses, W.

    Examples
    --------
    >>> from coalloc import Cluster, NodeGroup
    >>> groups = [NodeGroup(4, power=1.0), NodeGroup(2, power=0.5, cores=8)]
    >>> cluster = Cluster("C1", groups, link_bandwidth=125.0)
    >>> cluster.num_nodes, cluster.num_processors
    (6, 20)
    """

    name: Text
    nodes: Annotated[Listed[NodeGroup], Field(min_length=1)]
    link_bandwidth: NonNegative
    switch: Text | None = None
    efficiency: Positive | None = None
    power_states: PowerStates | None = None
    resources: AmountsField = field(default=NO_AMOUNTS, metadata=LEFT_OUT | SINCE_2)

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all groups."""
        return sum(group.count for group in self.nodes)

    @property
    def num_processors(self) -> int:
        """Number of processors of all nodes."""
        return sum(group.count * group.places for group in self.nodes)


@value()
class Switch(Value):
    """A network switch below the root of the tree; the root itself is not listed.

    Parameters
    ----------
    name : str
        Unique name within the platform.
    parent : str
        Name of the switch above it, or of the root.
    bandwidth : float
        Bandwidth of the link between the two, MB/s.
    level : str or None, default None
        Name of the level of the tree that it belongs to, such as ``"row"``: jobs refer to it.

    Examples
    --------
    Two clusters share a switch, whose link to the root is a bottleneck:

    >>> from coalloc import Cluster, NodeGroup, Platform, Switch
    >>> nodes = [NodeGroup(4, power=1.0)]
    >>> clusters = [
    ...     Cluster("C1", nodes, link_bandwidth=125.0, switch="S1"),
    ...     Cluster("C2", nodes, link_bandwidth=125.0, switch="S1"),
    ...     Cluster("C3", nodes, link_bandwidth=125.0),
    ... ]
    >>> platform = Platform(clusters, [Switch("S1", parent="root", bandwidth=50.0)])
    >>> [link.name for link in platform.links]
    ['C1', 'C2', 'C3', 'S1']
    """

    name: Text
    parent: Text
    bandwidth: NonNegative
    level: Text | None = field(default=None, metadata=SINCE_3)
