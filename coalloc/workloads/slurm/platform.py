"""The platform of a Slurm site: a cluster for each leaf switch or block, with groups of equal nodes.

Nodes are equal if they have the same CPUs, memory, generic resources, features and partitions. A processor is a CPU, or
a whole node where a site schedules nodes. Speeds and bandwidths are not in Slurm's files: all nodes have speed 1, and
links are never loaded, because jobs state no communication.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from coalloc.instance import Cluster, NodeGroup, Platform, Switch, Window
from coalloc.instance.rounding import capacity_limit
from coalloc.workloads.slurm.conf import SlurmNode, SlurmSite
from coalloc.workloads.slurm.sacct_records import Unit
from coalloc.workloads.slurm.topology import Topology

WHOLE_NODE = "node"
"""Resource of each node of which an exclusive job takes all, and each task of the others a part."""
UNCONNECTED = "unconnected"
"""Cluster of the nodes that no switch connects."""


class NodePlace(NamedTuple):
    """Place of a node: its cluster by index, its number there, its group by index, and its processors."""

    cluster: int
    number: int
    group: int
    processors: int


class NodeKind(NamedTuple):
    """Equal nodes of a cluster, by index: what they have, their partitions and their number."""

    cluster: int
    node: SlurmNode
    partitions: frozenset[str]
    size: int


class Demand(NamedTuple):
    """Requirement on nodes: features; memory (MB) and resources of each task; resources of the job in each node."""

    requires: tuple[str, ...]
    memory: float | None
    per_task: tuple[tuple[str, float], ...]
    whole_node: bool


@dataclass(slots=True)
class SiteLayout:
    """The nodes of a site as an instance numbers them.

    ``features`` are of each kind of nodes, and grow with what jobs ask.
    """

    site: SlurmSite
    unit: Unit
    names: list[str]
    kinds: list[NodeKind]
    places: dict[str, NodePlace]
    switches: Sequence[Switch]
    above: Mapping[str, str]
    features: list[dict[str, None]] = field(default_factory=list)
    shares_nodes: bool = False

    @property
    def num_processors(self) -> int:
        """Number of processors of all nodes."""
        return sum(kind.size * self.processors_of(kind.node) for kind in self.kinds)

    def processors_of(self, node: SlurmNode) -> int:
        """Return the processors of a node."""
        return node.cpus if self.unit == "cpus" else 1

    def feature(self, name: str, kinds: Iterable[int]) -> tuple[str, ...]:
        """Return what a job requires that may use some kinds of nodes only; nothing where these are all."""
        chosen = set(kinds)
        if len(chosen) == len(self.kinds):
            return ()
        for kind in chosen:
            self.features[kind][name] = None
        return (name,)

    def capacity(self, demand: Demand) -> int:
        """Return how many tasks of a job the nodes have place for at once."""
        return sum(
            kind.size * self._tasks_of(kind.node, demand)
            for kind, features in zip(self.kinds, self.features, strict=True)
            if features.keys() >= set(demand.requires)
        )

    def _tasks_of(self, node: SlurmNode, demand: Demand) -> int:
        """Return how many tasks of a job one node has place for."""
        tasks, gres = self.processors_of(node), dict(node.gres)
        asked = [(amount, gres.get(name, 0.0)) for name, amount in demand.per_task if name != WHOLE_NODE]
        if demand.memory and node.memory is not None and self.site.schedules_memory:
            asked.append((demand.memory, node.memory))
        for amount, there in asked:
            if amount * tasks > capacity_limit(there):
                tasks = int(capacity_limit(there) // amount)
        return tasks

    def platform(self, windows: Sequence[Window]) -> Platform:
        """Return the platform."""
        groups: list[list[NodeGroup]] = [[] for _ in self.names]
        for kind, features in zip(self.kinds, self.features, strict=True):
            whole = {WHOLE_NODE: 1.0} if self.shares_nodes else {}
            groups[kind.cluster].append(
                NodeGroup(
                    kind.size,
                    power=1.0,
                    cores=self.processors_of(kind.node),
                    memory=kind.node.memory if self.site.schedules_memory else None,
                    features=tuple(features),
                    resources=dict(kind.node.gres) | whole,
                )
            )
        clusters = [
            Cluster(name, nodes, link_bandwidth=0.0, switch=self.above.get(name))
            for name, nodes in zip(self.names, groups, strict=True)
        ]
        return Platform(clusters, self.switches, unavailable=windows, resources=self.site.licenses)

    def ranges(self, nodes: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield each cluster of some nodes with these nodes as ranges."""
        places = sorted(self.places[name] for name in nodes)
        for cluster, inside in groupby(places, key=lambda place: place.cluster):
            name = self.names[cluster]
            yield name, [f"{name}/{span(first, last)}" for first, last in spans(place.number for place in inside)]


def spans(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive numbers, which are in order."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        inside = [number for _, number in run]
        yield inside[0], inside[-1]


def span(first: int, last: int) -> str:
    """Return a range of numbers as names of processors have it."""
    return str(first) if first == last else f"{first}-{last}"


def layout_of(site: SlurmSite, topology: Topology | None, unit: Unit) -> SiteLayout:
    """Return where the nodes of a site are."""
    topology = topology or Topology({"": ()})
    member: dict[str, list[str]] = {name: [] for name in site.nodes}
    for partition in site.partitions.values():
        for name in partition.nodes:
            member[name].append(partition.name)
    leaves = _leaves(site, topology)
    kinds: list[NodeKind] = []
    places: dict[str, NodePlace] = {}
    for c, nodes in enumerate(leaves.values()):
        equal: dict[tuple[SlurmNode, frozenset[str]], list[str]] = {}
        for name in nodes:
            equal.setdefault((site.nodes[name], frozenset(member[name])), []).append(name)
        number = 0
        for (node, partitions), same in equal.items():
            processors = node.cpus if unit == "cpus" else 1
            for name in same:
                places[name] = NodePlace(c, number, len(kinds), processors)
                number += 1
            kinds.append(NodeKind(c, node, partitions, len(same)))
    switches, above = _switches(topology, leaves)
    features = [dict.fromkeys(kind.node.features) for kind in kinds]
    return SiteLayout(site, unit, list(leaves), kinds, places, switches, above, features)


def _leaves(site: SlurmSite, topology: Topology) -> dict[str, list[str]]:
    """Return the nodes of each cluster, which has some."""
    unnamed = site.settings.get("clustername") or "cluster"
    leaves = {
        leaf or unnamed: [node for node in nodes if node in site.nodes] for leaf, nodes in topology.leaves.items()
    }
    site.notes["nodes of the topology that the site does not have"] += len(topology.leaf_of.keys() - site.nodes.keys())
    others = [name for name in site.nodes if name not in topology.leaf_of]
    if topology.leaf_of:
        site.notes["nodes without a switch, in a cluster of their own"] += len(others)
    leaves.setdefault(UNCONNECTED if topology.leaf_of else unnamed, []).extend(others)
    return {leaf: nodes for leaf, nodes in leaves.items() if nodes}


def _switches(topology: Topology, leaves: Iterable[str]) -> tuple[list[Switch], dict[str, str]]:
    """Return the switches below the root that have clusters below them, and the switch of each cluster.

    The topmost switch is the root where there is one only; several are below a root that the file does not name.
    """
    used: dict[str, None] = {}
    tops: dict[str, None] = {}
    for leaf in leaves:
        switch = leaf
        while switch in topology.parents:
            switch = topology.parents[switch]
            used[switch] = None
        tops[switch] = None
    root = next(iter(tops)) if len(tops) == 1 else ""
    top = root or ("root" if "root" not in topology.levels else "root of all")
    switches = [
        Switch(name, topology.parents.get(name, top), bandwidth=0.0, level=topology.levels[name])
        for name in used
        if name != root
    ]
    above = {leaf: topology.parents[leaf] for leaf in leaves if topology.parents.get(leaf, root) != root}
    return switches, above
