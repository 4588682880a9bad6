"""What fields must keep between them: names that are unique, a tree, jobs that fit, processors held once.

Every function takes a value or a document as it was parsed, with whatever faults in its fields: what
can be read is examined, the rest is left to the checks of the fields. So all faults come at once.

The name of a processor (``C1/0``, ``C1/0.3``) tells its place: after the last ``/`` stand digits and
at most one dot, before it the name of the cluster. Distinct cluster names therefore give distinct
processor names, whatever characters they have, and no list of all processors is needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.documents.text import quoted
from coalloc.instance.processor_names import MAX_PROCESSORS, NO_NUMBER, ProcessorNames, Range

MAX_NAMED = 10
"""Roots of the network that a message names, where there are several."""

SMALLEST_POWER = 1e-100
"""Least effective power of a node: its inverse stretches times, and they must stay finite."""

NODE_WATTS = ("off_watts", "idle_watts", "static_watts", "core_watts")
"""What nodes draw by themselves: not in a cluster with power states."""

Group = tuple[int, int]
"""Nodes of a group, and cores of each."""

Clusters = dict[str, list[list[Group]]]
"""Groups of nodes of each cluster by its name; of several clusters where a name stands twice."""


class Holding(NamedTuple):
    """Processors that are held, the how-manieth name or range that is, and its path."""

    range: Range
    number: int
    path: str


def platform_faults(platform: object) -> list[Fault]:
    """Return what is wrong between the fields of a platform."""
    clusters, switches = _list(platform, "clusters"), _list(platform, "switches")
    faults = network_faults(
        [(_text(cluster, "name"), _text(cluster, "switch")) for cluster in clusters],
        [(_text(switch, "name"), _text(switch, "parent")) for switch in switches],
    )
    processors = _num_processors(platform)
    if processors is not None and processors > MAX_PROCESSORS:
        sentence = f"must have at most {MAX_PROCESSORS} processors in all, got {shown(processors)}"
        faults.append(Fault("clusters", sentence))
    return faults + list(_power_faults(clusters)) + list(_power_states_faults(clusters))


def _power_faults(clusters: Sequence[object]) -> Iterator[Fault]:
    """Yield a fault for every group whose effective power is so little that its jobs would take for ever."""
    for c, cluster in enumerate(clusters):
        for g, group in enumerate(_list(cluster, "nodes")):
            power, availability = _number(group, "power"), _number(group, "availability", default=1.0)
            if power is not None and availability is not None and power * availability < SMALLEST_POWER:
                sentence = f"times availability must be at least {SMALLEST_POWER:g}, got {shown(power * availability)}"
                yield Fault(f"clusters[{c}].nodes[{g}].power", sentence)


def _power_states_faults(clusters: Sequence[object]) -> Iterator[Fault]:
    """Yield what is wrong between the power states of a cluster and its nodes."""
    for c, cluster in enumerate(clusters):
        states = _field(cluster, "power_states")
        if states is None:
            continue
        yield from _places_faults(f"clusters[{c}].power_states", states, _groups(cluster))
        for g, group in enumerate(_list(cluster, "nodes")):
            path = f"clusters[{c}].nodes[{g}]"
            if (_count(group, "cores", default=1) or 1) > 1:
                sentence = f"must be 1 in a cluster with power_states, got {shown(_field(group, 'cores'))}"
                yield Fault(f"{path}.cores", sentence)
            for key in NODE_WATTS:
                if _field(group, key) is not None:
                    yield Fault(f"{path}.{key}", "must not stand beside the power_states of its cluster")


def _places_faults(path: str, states: object, groups: list[Group] | None) -> Iterator[Fault]:
    """Yield a fault where the boards of a cluster have fewer places than it has processors."""
    chassis, boards, cores = (_count(states, key) for key in ("chassis", "boards", "cores"))
    if groups is None or chassis is None or boards is None or cores is None:
        return
    places, processors = chassis * boards * cores, sum(count * per_node for count, per_node in groups)
    if places < processors:
        sentence = (
            f"must have places for the {shown(processors)} processors of the cluster, got {shown(places)} "
            f"({shown(chassis)} chassis of {shown(boards)} boards of {shown(cores)} cores)"
        )
        yield Fault(path, sentence)


def workload_faults(instance: object) -> list[Fault]:
    """Return what is wrong between the jobs of an instance, those that run, and its platform."""
    jobs, running = _list(instance, "jobs"), _list(instance, "running")
    ids = [_text(job, "id") for job in jobs] + [_text(_field(run, "job"), "id") for run in running]
    faults = duplicate_faults(ids, lambda i: _id_path(i, len(jobs)), "job id")
    platform = _field(instance, "platform")
    processors = _num_processors(platform)
    if processors is not None:
        faults += _size_faults(jobs, processors)
    return faults + _running_faults(running, _clusters(platform))


def _id_path(index: int, num_jobs: int) -> str:
    """Return the path of an id; those of running jobs are counted on after the jobs'."""
    return f"jobs[{index}].id" if index < num_jobs else f"running[{index - num_jobs}].job.id"


def _size_faults(jobs: Sequence[object], processors: int) -> list[Fault]:
    """Return a fault for every job that is larger than the platform."""
    return [
        Fault(f"jobs[{i}].tasks", f"must be at most {processors} (all processors of the platform), got {shown(tasks)}")
        for i, job in enumerate(jobs)
        if (tasks := _count(job, "tasks")) is not None and tasks > processors
    ]


def _running_faults(running: Sequence[object], clusters: Clusters | None) -> list[Fault]:
    """Return what is wrong with the processors that running jobs hold."""
    faults: list[tuple[int, Fault]] = []
    holdings: list[Holding] = []
    number = 0
    for r, run in enumerate(running):
        path, nodes, tasks = f"running[{r}].nodes", _field(run, "nodes"), _count(_field(run, "job"), "tasks")
        if not isinstance(nodes, (list, tuple, ProcessorNames)):
            continue
        num_named = _num_named(nodes)
        if tasks is not None and num_named != tasks:
            sentence = f"must name {shown(tasks)} processors, one per task, got {num_named}"
            faults.append((number, Fault(path, sentence)))
        for held, place in _holdings(path, nodes):
            number += 1
            if clusters is not None and not _are_processors(held, clusters):
                what = "a processor" if held.size == 1 else "processors"
                faults.append((number, Fault(place, f"must be {what} of the platform, got {quoted(held.text)}")))
            else:
                holdings.append(Holding(held, number, place))
    faults += _doubly_held(holdings)
    return [fault for _, fault in sorted(faults, key=lambda entry: entry[0])]


def _num_named(nodes: Sequence[object]) -> int:
    """Return how many processors a list names; what is no text counts as one."""
    texts = [name for name in nodes if isinstance(name, str)] if isinstance(nodes, (list, tuple)) else None
    return len(nodes) if texts is None else len(nodes) - len(texts) + len(ProcessorNames(texts))


def _holdings(path: str, nodes: Sequence[object]) -> list[tuple[Range, str]]:
    """Return the processors of a list, as far as they can be read, with their paths.

    The paths of a value and of a document are the same: where ranges are held, that of the list.
    """
    if isinstance(nodes, ProcessorNames):
        ranges, places = nodes.ranges, list(range(len(nodes.ranges)))
    else:
        texts = [(i, name) for i, name in enumerate(nodes) if isinstance(name, str) and name]
        ranges, places = ProcessorNames([name for _, name in texts]).ranges, [i for i, _ in texts]
    if any(held.size > 1 for held in ranges):
        return [(held, path) for held in ranges]
    return [(held, f"{path}[{i}]") for held, i in zip(ranges, places, strict=True)]


def _doubly_held(holdings: Sequence[Holding]) -> Iterator[tuple[int, Fault]]:
    """Yield a fault for processors that are held twice, where they are named again."""
    active: list[Holding] = []
    for holding in sorted(holdings):
        held = holding.range
        active = [h for h in active if h.range.cluster == held.cluster and h.range.last >= held.first]
        other = next((h for h in active if _shared(held, h.range).num_cores > 0), None)
        if other is not None:
            shared = _shared(held, other.range)
            before, after = sorted([holding, other], key=lambda h: h.number)
            yield after.number, Fault(after.path, f"is held twice: {quoted(shared.text)} is also {before.path}")
        if other is None or shared != held:
            active.append(holding)


def _shared(one: Range, other: Range) -> Range:
    """Return the nodes and cores that two ranges of a cluster share, if nodes do; no cores where they share none."""
    return Range(
        one.cluster,
        max(one.first, other.first),
        min(one.last, other.last),
        max(one.first_core, other.first_core),
        min(one.last_core, other.last_core),
    )


def _are_processors(held: Range, clusters: Clusters) -> bool:
    """Return whether a platform with these clusters has all processors of a range."""
    return held.first != NO_NUMBER and any(_have_cores(groups, held) for groups in clusters.get(held.cluster, []))


def _have_cores(groups: Iterable[Group], held: Range) -> bool:
    """Return whether a cluster has nodes and cores of these numbers; nodes with one core do not number it."""
    node = 0
    for count, cores in groups:
        if held.first < node + count and node <= held.last:
            has_cores = cores == 1 if held.first_core == NO_NUMBER else 1 < cores > held.last_core
            if not has_cores:
                return False
        node += count
    return held.last < node


def _clusters(platform: object) -> Clusters | None:
    """Return the groups of nodes of each cluster by its name, ``None`` where some cannot be read."""
    clusters: Clusters = {}
    for cluster in _list(platform, "clusters"):
        name, groups = _text(cluster, "name"), _groups(cluster)
        if name is None or groups is None:
            return None
        clusters.setdefault(name, []).append(groups)
    return clusters or None


def _num_processors(platform: object) -> int | None:
    """Return the number of processors, ``None`` where some counts cannot be read."""
    per_cluster = [_groups(cluster) for cluster in _list(platform, "clusters")]
    counted = [count * cores for groups in per_cluster for count, cores in groups or []]
    return sum(counted) if per_cluster and None not in per_cluster else None


def _groups(cluster: object) -> list[Group] | None:
    """Return the groups of a cluster, ``None`` where some cannot be read."""
    groups: list[Group] = []
    for group in _list(cluster, "nodes"):
        count, cores = _count(group, "count"), _count(group, "cores", default=1)
        if count is None or cores is None:
            return None
        groups.append((count, cores))
    return groups or None


def _field(holder: object, key: str) -> Any:
    """Return a field of a value or of a parsed object, ``None`` where there is none."""
    return holder.get(key) if isinstance(holder, dict) else getattr(holder, key, None)


def _list(holder: object, key: str) -> Sequence[Any]:
    """Return a field that is a list, an empty one where it is not."""
    field = _field(holder, key)
    return field if isinstance(field, (list, tuple)) else ()


def _text(holder: object, key: str) -> str | None:
    """Return a field that is a text and not empty."""
    field = _field(holder, key)
    return field if isinstance(field, str) and field else None


def _number(holder: object, key: str, default: float | None = None) -> float | None:
    """Return a field that is a number above 0, ``default`` where the field is absent."""
    field = _field(holder, key)
    if field is None and not (isinstance(holder, dict) and key in holder):
        return default
    return field if isinstance(field, (int, float)) and not isinstance(field, bool) and field > 0 else None


def _count(holder: object, key: str, default: int | None = None) -> int | None:
    """Return a field that is a whole number from 1 on, ``default`` where the field is absent."""
    field = _field(holder, key)
    if field is None and not (isinstance(holder, dict) and key in holder):
        return default
    return field if isinstance(field, int) and not isinstance(field, bool) and field >= 1 else None


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
