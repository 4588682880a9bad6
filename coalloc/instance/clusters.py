"""What a platform is made of: groups of equal nodes, clusters of them, and the switches above.

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
    """Equal nodes of one cluster.

    Parameters
    ----------
    count
        Number of nodes.
    power
        Speed of a processor, relative to the reference node (P).
    availability
        Share of its CPU that jobs get (A).
    cores
        Processors of each node.
    off_watts
        What a node draws that a policy has switched off, W.
    idle_watts
        What a node without a busy core draws, W.
    static_watts
        What a node with a busy core draws, W.
    core_watts
        What each busy core of a node draws beside its static watts, W.
    clock
        Clock in GHz; some policies use it.
    flops_per_cycle
        Operations per cycle; some policies use them.
    memory
        MB per node, for all tasks on it together; without it nothing is limited.
    multiprogramming
        Places for tasks on each node (MPL): above 1 so many tasks share its only core.
    features
        What its nodes have, such as ``gpu``: jobs may require it.
    resources
        What each of its nodes has of resources by name, in units of your own, for all tasks on it together: GPUs, W.
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
        """Gamma = P * A. Source: thesis, equation (2.1)."""
        return self.power * self.availability

    @property
    def places(self) -> int:
        """Places for tasks on each node, its processors: cores, or what of its only core tasks share."""
        return self.cores * self.multiprogramming


@value()
class Cluster(Value):
    """A cluster: groups of nodes behind one link.

    Parameters
    ----------
    name
        Unique within a platform; its nodes are ``C1/0``, ``C1/1``, ..., their cores (or places
        for tasks) ``C1/0.0``, ``C1/0.1``, ...
    nodes
        Its groups of nodes, numbered through in this order.
    link_bandwidth
        Of the link to its switch, MB/s (MBW).
    switch
        Name of that switch; None: the root of the tree.
    efficiency
        What its processors do per joule, MFLOPS/W; brokers compare clusters by it.
    power_states
        What its parts draw, and when they switch on and off.
    resources
        What it has of resources by name, in units of your own, for all tasks on its nodes together: licences, W.
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
        """Number of places for tasks on all nodes: cores, unless tasks share them."""
        return sum(group.count * group.places for group in self.nodes)


@value()
class Switch(Value):
    """A switch; the root of the tree is not listed.

    Parameters
    ----------
    name
        Unique within a platform.
    parent
        The switch above it, or the root.
    bandwidth
        Of the link between the two, MB/s.
    """

    name: Text
    parent: Text
    bandwidth: NonNegative
