"""Platforms: clusters of nodes, joined by a tree of links.

Source: thesis, section 2.1; cascaded switches as in its last paragraph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import Field

from coalloc.documents.errors import InstanceError
from coalloc.documents.html import table
from coalloc.documents.values import LEFT_OUT, NO_AMOUNTS, NONE, SINCE_2, AmountsField, Listed, Value, value
from coalloc.documents.wording import plural
from coalloc.instance.clusters import Cluster, NodeGroup, Switch
from coalloc.instance.consistency import platform_faults
from coalloc.instance.network import Link, links_of, network_of
from coalloc.instance.numbering import Numbering, numbering_of
from coalloc.instance.sharing import Sharing
from coalloc.instance.windows import Window

if TYPE_CHECKING:
    import networkx as nx


class Node(NamedTuple):
    """One node: ``name`` (``C1/0``), its cluster and group by index, its first processor by index, and their number.

    ``cores`` counts places for tasks where they share a core.
    """

    name: str
    cluster: int
    group: int
    first_processor: int
    cores: int


@value(slots=False)
class Platform(Value):
    """A platform: clusters of nodes, joined by a tree of capacity-constrained links.

    Parameters
    ----------
    clusters : sequence of Cluster
        The clusters, at least one; processors are numbered in this order.
    switches : sequence of Switch, default ()
        Switches below the root of the tree. Empty: every cluster is connected to one central switch.
    sharing : Sharing or None, default None
        Rules of time-sharing on the nodes. None: the defaults of ``coalloc.Sharing``.
    unavailable : sequence of Window, default ()
        Maintenance windows and outages: no job overlaps one.
    resources : mapping of str to float, default {}
        Amounts of resources of the whole platform, by name, in units of your choice, for all jobs together: licenses,
        W.

    Raises
    ------
    InstanceError
        Names repeat, the switches are not a tree, or there are too many processors. All validation errors are reported
        together, each with its path.

    See Also
    --------
    coalloc.Instance : A platform with its jobs.
    coalloc.io.read_platform : Read a platform from a file.

    Notes
    -----
    Source: thesis, section 2.1.

    Examples
    --------
    >>> from coalloc import Cluster, NodeGroup, Platform
    >>> nodes = [NodeGroup(2, power=1.0)]
    >>> clusters = [Cluster(name, nodes, link_bandwidth=125.0) for name in ("C1", "C2")]
    >>> platform = Platform(clusters)
    >>> platform.num_processors
    4
    >>> platform.processor_names
    ('C1/0', 'C1/1', 'C2/0', 'C2/1')
    """

    clusters: Annotated[Listed[Cluster], Field(min_length=1)]
    switches: Listed[Switch] = NONE
    sharing: Sharing | None = None
    unavailable: Listed[Window] = field(default=NONE, metadata=SINCE_2)
    resources: AmountsField = field(default=NO_AMOUNTS, metadata=LEFT_OUT | SINCE_2)

    def __post_init__(self) -> None:
        faults = platform_faults(self)
        if faults:
            raise InstanceError(faults)

    def total_of(self, resource: str) -> float:
        """Return what the platform, its clusters and its nodes together have of a resource."""
        groups = (group for cluster in self.clusters for group in cluster.nodes)
        of_all_nodes = sum(group.count * group.resources.get(resource, 0.0) for group in groups)
        of_clusters = sum(cluster.resources.get(resource, 0.0) for cluster in self.clusters)
        return self.resources.get(resource, 0.0) + of_clusters + of_all_nodes

    @cached_property
    def num_processors(self) -> int:
        """Number of processors of all clusters."""
        return sum(cluster.num_processors for cluster in self.clusters)

    @cached_property
    def total_power(self) -> float:
        """Sum of the effective speeds of all processors: the number of reference processors that are equally fast."""
        groups = (group for cluster in self.clusters for group in cluster.nodes)
        return math.fsum(group.count * group.cores * group.effective_power for group in groups)

    @cached_property
    def network(self) -> nx.Graph[tuple[str, str]]:
        """The tree of switches and clusters as a networkx graph; each edge has a ``bandwidth`` in MB/s."""
        return network_of(self.clusters, self.switches)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The links: those of the clusters in their order, then those of the switches."""
        return links_of(self.clusters, self.switches)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, in the order of clusters and groups."""
        return tuple(self._nodes())

    def _nodes(self) -> Iterator[Node]:
        processor = 0
        for c, cluster in enumerate(self.clusters):
            number = 0
            for g, group in enumerate(cluster.nodes):
                places = group.places
                for _ in range(group.count):
                    yield Node(f"{cluster.name}/{number}", c, g, processor, places)
                    number += 1
                    processor += places

    @cached_property
    def window_nodes(self) -> tuple[frozenset[int], ...]:
        """Indices of the nodes of each maintenance window, which blocks all or some of their processors."""
        first = {cluster.name: sum(c.num_nodes for c in self.clusters[:i]) for i, cluster in enumerate(self.clusters)}
        of_name = {cluster.name: cluster for cluster in self.clusters}
        found: list[frozenset[int]] = []
        for window in self.unavailable:
            inside: Iterable[int] = range(of_name[window.cluster].num_nodes)
            if window.nodes:
                inside = chain.from_iterable(range(r.first, r.last + 1) for r in window.nodes.ranges)
            if window.group is not None:
                counts = [group.count for group in of_name[window.cluster].nodes]
                inside = range(sum(counts[: window.group]), sum(counts[: window.group + 1]))
            found.append(frozenset(first[window.cluster] + n for n in inside))
        return tuple(found)

    @cached_property
    def processor_names(self) -> tuple[str, ...]:
        """Names of all processors: ``C1/0``, or ``C1/0.3`` for a core of a node with several."""
        return tuple(
            node.name if node.cores == 1 else f"{node.name}.{core}" for node in self.nodes for core in range(node.cores)
        )

    @cached_property
    def processor_index(self) -> dict[str, int]:
        """Index of each processor, by name."""
        return {name: i for i, name in enumerate(self.processor_names)}

    @cached_property
    def processor_node(self) -> tuple[int, ...]:
        """Index into ``nodes`` of the node of each processor."""
        groups = [group for cluster in self.clusters for group in cluster.nodes]
        places = np.repeat([group.places for group in groups], [group.count for group in groups])
        return tuple(np.repeat(np.arange(len(places)), places).tolist())

    @cached_property
    def numbering(self) -> Numbering:
        """The numbering of the processors, which converts names to indices and back."""
        return numbering_of(self.clusters)

    @property
    def _summary(self) -> str:
        """The summary of the value, in half a line."""
        return f"{plural(len(self.clusters), 'cluster')} with {plural(self.num_processors, 'processor')}"

    def __repr__(self) -> str:
        return f"<Platform of {self._summary}>"

    def _repr_html_(self) -> str:
        groups = [
            (c.name, g.count, g.cores, g.power, g.availability, c.link_bandwidth, c.switch)
            for c in self.clusters
            for g in c.nodes
        ]
        columns = ("cluster", "nodes", "cores", "power", "availability", "link (MB/s)", "switch")
        return table(columns, groups)

    def group_of(self, node: Node) -> NodeGroup:
        """Return the node group of a node."""
        return self.clusters[node.cluster].nodes[node.group]
