"""The resources of a Flux instance: a resource set (R) or a graph of resources (JGF), and its queues.

Source: RFC 20 (R version 1), RFC 4 (resource graph), RFC 22 (idsets), RFC 23 (durations) and RFC 29 (hostlists) of
Flux; the JSON Graph Format of flux-sched 0.54; flux-config-queues(5) and flux-config-policy(5) of flux-core 0.88.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coalloc.documents.kinds import load_document
from coalloc.documents.sentences import shown
from coalloc.documents.text import nearest
from coalloc.documents.toml import load_toml
from coalloc.instance import Fault, InstanceError
from coalloc.workloads.slurm.conf import SlurmNode, SlurmPartition, SlurmSite
from coalloc.workloads.slurm.topology import Topology
from coalloc.workloads.slurm.values import LineError, hosts

GPU = "gpu"
"""Resource of nodes, as Flux calls it."""

MEGABYTES = {"KB": 1e-3, "MB": 1.0, "GB": 1e3, "TB": 1e6, "KiB": 1 / 1024, "MiB": 1.0, "GiB": 1024.0, "TiB": 1024.0**2}
"""Megabytes of the units of memory."""

INSIDE = frozenset({"socket", "numanode", "pu", "cache", "L2cache", "L3cache"})
"""Types of vertices in a node that are no resources of their own here."""

DOWN = 1
"""Status of a vertex that takes no jobs."""

DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")
SECONDS = {"ms": 1e-3, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

KINDS: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text"}


class _FieldError(Exception):
    """Error of a field, with its path."""

    def __init__(self, path: str, sentence: str) -> None:
        super().__init__(sentence)
        self.fault = Fault(path, sentence)


@dataclass(slots=True)
class FluxResources:
    """The nodes of an instance, the tree above them where a graph has one, and whether jobs get whole nodes."""

    site: SlurmSite
    topology: Topology | None = None
    schedules_nodes: bool = False


def read_resources(path: str, config: str | None) -> FluxResources:
    """Return the resources that R or JGF describes, with the queues of a configuration.

    Raises
    ------
    InstanceError
        A file cannot be read, or is not what it should be.
    """
    document, faults = load_document(path)
    if faults:
        raise InstanceError(faults, path)
    found = FluxResources(SlurmSite(path))
    try:
        scheduling = document.get("scheduling")
        if "graph" in document:
            _add_graph(found, document, "")
        elif isinstance(scheduling, dict) and "graph" in scheduling:
            _add_graph(found, scheduling, "scheduling.")
            _add_properties(found.site, _of(document, "execution", dict, ""), _by_rank(document))
        elif "execution" in document:
            _add_set(found.site, document)
        else:
            raise _FieldError("", "must have execution (R of RFC 20) or graph (JGF)")
    except _FieldError as error:
        raise InstanceError([error.fault], path) from None
    for feature in dict.fromkeys(feature for node in found.site.nodes.values() for feature in node.features):
        found.site.partitions[feature] = _queue(found.site, feature, (feature,), None)
    if config is not None:
        _add_configuration(found, config)
    return found


def _of(holder: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    """Return the value of a key, which is of a kind."""
    value = holder.get(key)
    if not isinstance(value, kind):
        stated = f"must be {KINDS[kind]}"
        raise _FieldError(f"{path}{key}", f"{stated}, got {shown(value)}" if key in holder else stated)
    return value


def _ids(text: Any, path: str) -> list[int]:
    """Return the numbers of an idset: ``0-3,7``."""
    try:
        if not isinstance(text, str) or not text or "[" in text.strip("[]"):
            raise LineError
        return [int(number) for number in hosts(path, f"[{text.strip('[]')}]")]
    except LineError:
        raise _FieldError(path, f"must be an idset such as 0-3,7, got {shown(text)}") from None


# ------------------------------------------------------------------------------ R


def _by_rank(document: Mapping[str, Any]) -> dict[int, str]:
    """Return the name of the node of each rank: those of the list in the order of ranks."""
    execution = _of(document, "execution", dict, "")
    ranks: list[int] = []
    for number, entry in enumerate(_of(execution, "R_lite", list, "execution.")):
        path = f"execution.R_lite[{number}]"
        if not isinstance(entry, dict):
            raise _FieldError(path, f"must be an object, got {shown(entry)}")
        ranks += _ids(entry.get("rank"), f"{path}.rank")
    twice = next((rank for rank, count in Counter(ranks).items() if count > 1), None)
    if twice is not None:
        raise _FieldError("execution.R_lite", f"must have each rank once, got rank {twice} twice")
    names: list[str] = []
    for number, text in enumerate(_of(execution, "nodelist", list, "execution.")):
        path = f"execution.nodelist[{number}]"
        try:
            names += hosts(path, text if isinstance(text, str) else "[")
        except LineError:
            raise _FieldError(path, f"must be a hostlist such as n[0-3], got {shown(text)}") from None
    if len(names) != len(ranks) or len(set(names)) < len(names):
        raise _FieldError("execution.nodelist", f"must have a name of its own for each of {len(ranks)} ranks")
    return dict(zip(sorted(ranks), names, strict=True))


def _add_set(site: SlurmSite, document: Mapping[str, Any]) -> None:
    """Add the nodes of a resource set."""
    if document.get("version") != 1:
        raise _FieldError("version", f"must be 1, got {shown(document.get('version'))}")
    name_of, execution = _by_rank(document), document["execution"]
    nodes: dict[int, SlurmNode] = {}
    for number, entry in enumerate(execution["R_lite"]):
        path = f"execution.R_lite[{number}].children."
        children = _of(entry, "children", dict, f"execution.R_lite[{number}].")
        cores = len(_ids(children.get("core"), f"{path}core"))
        gpus = len(_ids(children[GPU], f"{path}{GPU}")) if children.get(GPU) else 0
        site.notes.update(f"resources of type {key}" for key in children.keys() - {"core", GPU})
        node = SlurmNode(cores, None, ((GPU, float(gpus)),) if gpus else (), ())
        nodes |= dict.fromkeys(_ids(entry["rank"], ""), node)
    site.nodes = {name: nodes[rank] for rank, name in name_of.items()}
    _add_properties(site, execution, name_of)


def _add_properties(site: SlurmSite, execution: Mapping[str, Any], name_of: Mapping[int, str]) -> None:
    """Add the properties of ranks as features of nodes."""
    if "properties" not in execution:
        return
    for name, text in _of(execution, "properties", dict, "execution.").items():
        path = f"execution.properties.{name}"
        for rank in _ids(text, path):
            node = site.nodes.get(name_of.get(rank, ""))
            if node is None:
                raise _FieldError(path, f"must be of ranks of R_lite, got {rank}")
            if name not in node.features:
                site.nodes[name_of[rank]] = node._replace(features=(*node.features, name))


# ------------------------------------------------------------------------------ JGF


@dataclass(slots=True)
class _Graph:
    """Vertices of a graph by id, and the one that contains each."""

    metadata: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def above(self, vertex: str) -> Iterator[str]:
        """Yield the vertices that contain one, from the inside out."""
        seen = {vertex}
        while vertex in self.parents:
            vertex = self.parents[vertex]
            if vertex in seen:
                raise _FieldError("graph.edges", f"must be a tree, but vertex {shown(vertex)} contains itself")
            seen.add(vertex)
            yield vertex

    def type_of(self, vertex: str) -> str:
        """Return the type of a vertex."""
        return str(self.metadata[vertex]["type"])

    def name_of(self, vertex: str) -> str:
        """Return the name of a vertex that is no node: the names on the way to it from below the root."""
        inner = [vertex, *self.above(vertex)]
        return "/".join(str(self.metadata[v]["name"]) for v in reversed(inner[:-1] or inner))


def _add_graph(found: FluxResources, document: Mapping[str, Any], path: str) -> None:
    """Add the nodes of a graph, and the tree above them."""
    graph, site = _graph(_of(document, "graph", dict, path), f"{path}graph."), found.site
    nodes = {v: data for v, data in graph.metadata.items() if data["type"] == "node"}
    if not nodes:
        raise _FieldError(f"{path}graph.nodes", "must have a vertex of type node")
    amounts: dict[str, Counter[str]] = {v: Counter() for v in nodes}
    holders = {above for v in nodes for above in (v, *graph.above(v))}
    for vertex, data in graph.metadata.items():
        node = next((v for v in graph.above(vertex) if v in nodes), None)
        size = data.get("size", 1)
        if node is not None and data["type"] in ("core", GPU):
            amounts[node][data["type"]] += size
        elif node is not None and data["type"] == "memory" and data.get("unit") in MEGABYTES:
            amounts[node]["memory"] += size * MEGABYTES[data["unit"]]
        elif vertex not in holders and data["type"] not in INSIDE:
            site.notes[f"resources of type {data['type']}"] += 1
    for vertex, data in nodes.items():
        held = amounts[vertex]
        if not held["core"]:
            raise _FieldError(f"{path}graph.nodes", f"node {shown(data['name'])} must contain vertices of type core")
        if data["name"] in site.nodes:
            raise _FieldError(f"{path}graph.nodes", f"must not repeat node {shown(data['name'])}")
        features = tuple(data["properties"]) if isinstance(data.get("properties"), dict) else ()
        gpus = ((GPU, float(held[GPU])),) if held[GPU] else ()
        site.notes["nodes that are down since an unknown time, taken as available"] += data.get("status") == DOWN
        site.nodes[str(data["name"])] = SlurmNode(held["core"], float(held["memory"]) or None, gpus, features)
    _add_tree(found, graph, nodes)


def _graph(document: Mapping[str, Any], path: str) -> _Graph:
    """Return the vertices and the edges of containment of a graph."""
    graph = _Graph()
    for number, vertex in enumerate(_of(document, "nodes", list, path)):
        where = f"{path}nodes[{number}]"
        data = _of(vertex if isinstance(vertex, dict) else {}, "metadata", dict, f"{where}.")
        basename, id = data.get("basename", _of(data, "type", str, f"{where}.metadata.")), data.get("id", -1)
        usual = f"{basename}{id if isinstance(id, int) and id >= 0 else ''}"  # RFC 4
        name = _of({"name": usual} | data, "name", str, f"{where}.metadata.")
        if not isinstance(data.get("size", 1), int) or data.get("size", 1) < 0:
            raise _FieldError(f"{where}.metadata.size", f"must be an integer, got {shown(data['size'])}")
        graph.metadata[str(vertex.get("id"))] = data | {"name": name}
    for number, edge in enumerate(_of(document, "edges", list, path)):
        where = f"{path}edges[{number}]"
        ends = [_of(edge if isinstance(edge, dict) else {}, key, str, f"{where}.") for key in ("source", "target")]
        unknown = next((end for end in ends if end not in graph.metadata), None)
        if unknown is not None:
            raise _FieldError(where, f"must connect vertices of the graph, got {shown(unknown)}")
        if _contains(edge.get("metadata")):
            if graph.parents.get(ends[1], ends[0]) != ends[0]:
                raise _FieldError(where, f"must not put vertex {shown(ends[1])} in two others")
            graph.parents[ends[1]] = ends[0]
    return graph


def _contains(metadata: object) -> bool:
    """Return whether an edge is of containment, in the format of today or the one with relationships."""
    if not isinstance(metadata, dict):
        return True
    if isinstance(metadata.get("name"), dict):
        return bool(metadata["name"].get("containment") == "contains")
    is_containment: bool = metadata.get("subsystem", "containment") == "containment"
    return is_containment and metadata.get("relationship") != "in"


def _add_tree(found: FluxResources, graph: _Graph, nodes: Mapping[str, Mapping[str, Any]]) -> None:
    """Add what is between the root and the nodes: what contains a node is a cluster, what contains that a switch."""
    topology = Topology()
    for vertex, data in nodes.items():
        inside = list(graph.above(vertex))
        if inside:
            found.site.settings["clustername"] = str(graph.metadata[inside[-1]]["name"])
        if len(inside) < 2:
            continue
        names = [graph.name_of(v) for v in inside]
        topology.leaves[names[0]] = (*topology.leaves.get(names[0], ()), str(data["name"]))
        topology.leaf_of[str(data["name"])] = names[0]
        for below, above, name in zip(names, inside[1:], names[1:], strict=False):
            topology.parents[below] = name
            topology.levels[name] = graph.type_of(above)
    found.topology = topology if topology.leaves else None


# ------------------------------------------------------------------------------ the configuration


def _add_configuration(found: FluxResources, path: str) -> None:
    """Add the queues of a configuration, and whether it schedules whole nodes."""
    document, _ = load_toml(path)
    try:
        policy = _table(document, "policy", "")
        _stated_limit(policy, "policy.")  # checked where there are no queues as well
        queues = _table(document, "queues", "")
        for name in queues:
            _add_queue(found.site, queues, name, policy)
        match = _table(document, "sched-fluxion-resource", "").get("match-policy", "")
        found.schedules_nodes = isinstance(match, str) and match.endswith("nodex")
    except _FieldError as error:
        raise InstanceError([error.fault], path) from None


def _table(holder: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    """Return a table, an empty one where there is none."""
    table: Mapping[str, Any] = _of(holder, key, dict, path) if key in holder else {}
    return table


def _add_queue(site: SlurmSite, queues: Mapping[str, Any], name: str, policy: Mapping[str, Any]) -> None:
    """Add a queue: the nodes with what it requires, and the longest walltime; a virtual queue has those of another."""
    queue, path = _of(queues, name, dict, "queues."), f"queues.{name}."
    parent = queue.get("parent", name)
    if not isinstance(parent, str) or parent not in queues:
        raise _FieldError(f"{path}parent", f"must be a queue, got {shown(parent)}")
    above = _of(queues, parent, dict, "queues.")
    requires = _of(above, "requires", list, f"queues.{parent}.") if "requires" in above else []
    known = {feature for node in site.nodes.values() for feature in node.features}
    unknown = next((one for one in requires if not isinstance(one, str) or one not in known), None)
    if unknown is not None:
        hint = nearest(str(unknown), known)
        raise _FieldError(f"{path}requires", f"must be properties of the resources, got {shown(unknown)}{hint}")
    policies = [
        (f"{path}policy.", _table(queue, "policy", path)),
        (f"queues.{parent}.policy.", _table(above, "policy", f"queues.{parent}.")),
        ("policy.", policy),
    ]
    longest = next(filter(None, (_stated_limit(table, where) for where, table in policies)), None)
    site.partitions[name] = _queue(site, name, requires, longest or None)


def _stated_limit(policy: Mapping[str, Any], path: str) -> float | None:
    """Return the longest walltime that a policy states, s; infinite without a limit, None where it says nothing."""
    limits = _table(policy, "limits", path)
    if "duration" not in limits:
        return None
    text = limits["duration"]
    if isinstance(text, str) and text.lower() in ("0", "inf", "infinity"):
        return float("inf")
    match = DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise _FieldError(f"{path}limits.duration", f"must be a duration such as 30m or 8h, got {shown(text)}")
    return float(match[1]) * SECONDS[match[2]]


def _queue(site: SlurmSite, name: str, requires: Sequence[str], longest: float | None) -> SlurmPartition:
    """Return the queue of the nodes that have some properties."""
    nodes = tuple(node for node, has in site.nodes.items() if set(requires) <= set(has.features))
    return SlurmPartition(name, nodes, None if longest == float("inf") else longest, "", False)
