"""The network: a tree of switches with the clusters as leaves, and the links that jobs load.

By default a star: every cluster hangs on the root. A link separates the clusters below it from the
rest, so the load of a job on it follows from the number of its tasks below (thesis, equation 2.6). A star
needs no graph library, so networkx is loaded only where there are switches, or the tree is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coalloc.instance.clusters import Cluster, Switch

if TYPE_CHECKING:
    import networkx as nx


ROOT = "central switch"
"""Name of the root where no switch of the file names it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the tree: ``name`` of its lower end, ``bandwidth`` in MB/s, ``clusters`` below it by index."""

    name: str
    bandwidth: float
    clusters: frozenset[int]


def root_of(switches: Sequence[Switch]) -> str:
    """Return the name of the root: the one parent that is not itself listed."""
    names = {switch.name for switch in switches}
    return next((s.parent for s in switches if s.parent not in names), ROOT)


def network_of(clusters: Sequence[Cluster], switches: Sequence[Switch]) -> nx.Graph[tuple[str, str]]:
    """Return the tree; vertices are ("switch", name) and ("cluster", name), edges carry ``bandwidth``."""
    import networkx as nx

    root = root_of(switches)
    tree: nx.Graph[tuple[str, str]] = nx.Graph(root=("switch", root))
    tree.add_node(("switch", root))
    for switch in switches:
        tree.add_edge(("switch", switch.parent), ("switch", switch.name), bandwidth=switch.bandwidth)
    for cluster in clusters:
        upper = ("switch", cluster.switch or root)
        tree.add_edge(upper, ("cluster", cluster.name), bandwidth=cluster.link_bandwidth)
    return tree


def links_of(clusters: Sequence[Cluster], switches: Sequence[Switch]) -> tuple[Link, ...]:
    """Return one link per cluster, in their order, then one per switch, with the clusters below each."""
    links = [Link(c.name, c.link_bandwidth, frozenset([i])) for i, c in enumerate(clusters)]
    if not switches:
        return tuple(links)
    import networkx as nx

    root = root_of(switches)
    downward: nx.DiGraph[tuple[str, str]] = nx.DiGraph()
    downward.add_edges_from((("switch", s.parent), ("switch", s.name)) for s in switches)
    index = {("cluster", cluster.name): i for i, cluster in enumerate(clusters)}
    downward.add_edges_from((("switch", c.switch or root), ("cluster", c.name)) for c in clusters)
    for switch in switches:
        below = nx.descendants(downward, ("switch", switch.name))
        links.append(Link(switch.name, switch.bandwidth, frozenset(index[v] for v in below if v in index)))
    return tuple(links)
