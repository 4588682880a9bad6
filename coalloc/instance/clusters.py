"""What a platform is made of: groups of equal nodes, clusters of them, and the switches above.

Source: thesis, section 2.1; cascaded switches as in its last paragraph.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from coalloc.documents.values import Count, Listed, NonNegative, Positive, PositiveShare, Text, Value, value


@value()
class NodeGroup(Value):
    """Equal nodes of one cluster.

    ``power`` is relative to the reference node, ``availability`` the share of its CPU that jobs get;
    ``cores`` processors each; ``memory`` is MB per node. A node with a busy core draws ``static_watts`` and
    ``core_watts`` for each busy core, another ``idle_watts``, one that a policy has switched off ``off_watts``.
    ``clock`` is in GHz.
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

    @property
    def effective_power(self) -> float:
        """Gamma = P * A. Source: thesis, equation (2.1)."""
        return self.power * self.availability


@value()
class Cluster(Value):
    """A cluster: node groups behind one link of ``link_bandwidth`` MB/s to its switch."""

    name: Text
    nodes: Annotated[Listed[NodeGroup], Field(min_length=1)]
    link_bandwidth: NonNegative
    switch: Text | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all groups."""
        return sum(group.count for group in self.nodes)

    @property
    def num_processors(self) -> int:
        """Number of cores of all nodes."""
        return sum(group.count * group.cores for group in self.nodes)


@value()
class Switch(Value):
    """A switch below ``parent``, over a link of ``bandwidth`` MB/s; the root of the tree is not listed."""

    name: Text
    parent: Text
    bandwidth: NonNegative
