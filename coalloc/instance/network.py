"""The network: a tree of switches with the clusters as leaves, and the links that jobs load.

By default a star: every cluster hangs on the root. A link separates the clusters below it from the
rest, so the load of a job on it follows from the number of its tasks below (thesis, equation 2.6). A star
needs no graph library, so networkx is loaded only where there are switches, or the tree is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coalloc.instance.errors import Fault
from coalloc.instance.text import quoted

if TYPE_CHECKING:
    import networkx as nx

    from coalloc.instance.platform import Cluster, Switch

ROOT = "central switch"
"""Name of the root where no switch of the file names it."""

MAX_NAMED = 10
"""Roots that a message names, where there are several."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the tree: ``name`` of its lower end, ``bandwidth`` in MB/s, ``clusters`` below it by index."""

    name: str
    bandwidth: float
    clusters: frozenset[int]


def network_faults(
    clusters: Sequence[tuple[str | None, str | None]], switches: Sequence[tuple[str | None, str | None]]
) -> list[Fault]:
    """Return what is wrong with the names and the tree.

    ``clusters`` are (name, switch) and ``switches`` (name, parent), in order. A name is ``None``
    where a file has none that can be read: what depends on it is not examined then.
    """
    faults = duplicate_faults([name for name, _ in clusters], "clusters[{}].name".format, "cluster name")
    faults += duplicate_faults([name for name, _ in switches], "switches[{}].name".format, "switch name")
    parents = {name: parent for name, parent in switches if name is not None and parent is not None}
    faults += _cycle_faults(switches, parents)
    if any(name is None or parent is None for name, parent in switches):
        return faults
    roots = sorted({parent for parent in parents.values() if parent not in parents})
    if len(roots) > 1:
        named = ", ".join(quoted(root) for root in roots[:MAX_NAMED]) + (", ..." if len(roots) > MAX_NAMED else "")
        faults.append(Fault("switches", f"must hang on one root, got {len(roots)}: {named}"))
    return faults + _upper_switch_faults(clusters, {*parents, *roots})


def _cycle_faults(switches: Sequence[tuple[str | None, str | None]], parents: Mapping[str, str]) -> list[Fault]:
    """Return a fault for every switch that is above itself."""
    if not parents:
        return []
    import networkx as nx

    tree = nx.DiGraph(list(parents.items()))
    cyclic = {name for part in nx.strongly_connected_components(tree) if len(part) > 1 for name in part}
    cyclic |= {name for name, parent in parents.items() if name == parent}
    return [
        Fault(f"switches[{i}].parent", f"is part of a cycle of switches, got {quoted(parent or '')}")
        for i, (name, parent) in enumerate(switches)
        if name in cyclic
    ]


def _upper_switch_faults(clusters: Sequence[tuple[str | None, str | None]], known: Container[str]) -> list[Fault]:
    """Return a fault for every cluster behind a switch that the platform does not have."""
    return [
        Fault(f"clusters[{i}].switch", f"must name a switch of the platform, got {quoted(switch)}")
        for i, (_, switch) in enumerate(clusters)
        if switch is not None and switch not in known
    ]


def duplicate_faults(names: Sequence[str | None], path_of: Callable[[int], str], what: str) -> list[Fault]:
    """Return a fault for every name that stands before; ``path_of`` its index. ``None`` repeats nothing."""
    first: dict[str, int] = {}
    return [
        Fault(path_of(i), f"repeats the {what} {quoted(name)} of {path_of(first[name])}")
        for i, name in enumerate(names)
        if name is not None and first.setdefault(name, i) != i
    ]


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
