"""Consistency between fields: names that are unique, a tree, jobs that fit, processors held once.

Every function takes a value or a document as it was parsed, with whatever faults in its fields: what
can be read is examined, the rest is left to the checks of the fields. So all faults come at once.

The name of a processor (``C1/0``, ``C1/0.3``) tells its place: after the last ``/`` stand digits and
at most one dot, before it the name of the cluster. Distinct cluster names therefore give distinct
processor names, whatever characters they have, and no list of all processors is needed here.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from coalloc.documents.columns import Columns
from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.features import FEATURES
from coalloc.instance.features.feature import Feature, Stated
from coalloc.instance.processor_names import MAX_PROCESSORS, NO_NUMBER, ProcessorNames, Range
from coalloc.instance.rounding import capacity_limit

MAX_NAMED = 10
"""Roots of the network that a message names, where there are several."""

SMALLEST_POWER = 1e-100
"""Least effective power of a node: its inverse stretches times, and they must stay finite."""

NODE_WATTS = ("off_watts", "idle_watts", "static_watts", "core_watts")
"""Watts of single nodes, which clusters with power states do not have."""

SAYING = tuple(
    field.removeprefix("Job.")
    for feature in FEATURES.values()
    for field in feature.fields
    if feature.has_faults and field.startswith("Job.")
)
"""Fields in which a job says something of others or of where it runs."""


class Holding(NamedTuple):
    """Processors that are held from ``start`` to ``end`` (s), the how-manieth name or range that is, and its path."""

    range: Range
    number: int
    path: str
    start: float
    end: float


def platform_faults(platform: object) -> list[Fault]:
    """Return what is wrong between the fields of a platform."""
    clusters, switches = read.listed(platform, "clusters"), read.listed(platform, "switches")
    faults = network_faults(
        [(read.text(cluster, "name"), read.text(cluster, "switch")) for cluster in clusters],
        [(read.text(switch, "name"), read.text(switch, "parent")) for switch in switches],
    )
    processors = read.num_processors(platform)
    if processors is not None and processors > MAX_PROCESSORS:
        sentence = f"must have at most {MAX_PROCESSORS} processors in total, got {shown(processors)}"
        faults.append(Fault("clusters", sentence))
    own = [*_power_faults(clusters), *_power_states_faults(clusters), *shared_platform_faults(platform)]
    own += [fault for feature in FEATURES.values() for fault in feature.platform_faults(platform)]
    return faults + own


def _power_faults(clusters: Sequence[object]) -> Iterator[Fault]:
    """Yield a fault for every group whose effective power is so little that its jobs would take for ever."""
    for c, cluster in enumerate(clusters):
        for g, group in enumerate(read.listed(cluster, "nodes")):
            power, availability = read.number(group, "power"), read.number(group, "availability", default=1.0)
            if power is not None and availability is not None and power * availability < SMALLEST_POWER:
                product = shown(power * availability)
                sentence = f"must be at least {SMALLEST_POWER:g} when multiplied by availability, got {product}"
                yield Fault(f"clusters[{c}].nodes[{g}].power", sentence)


def _power_states_faults(clusters: Sequence[object]) -> Iterator[Fault]:
    """Yield what is wrong between the power states of a cluster and its nodes."""
    for c, cluster in enumerate(clusters):
        states = read.field(cluster, "power_states")
        if states is None:
            continue
        yield from _places_faults(f"clusters[{c}].power_states", states, read.groups(cluster))
        for g, group in enumerate(read.listed(cluster, "nodes")):
            path = f"clusters[{c}].nodes[{g}]"
            if (read.count(group, "cores", default=1) or 1) > 1:
                sentence = f"must be 1 in a cluster with power_states, got {shown(read.field(group, 'cores'))}"
                yield Fault(f"{path}.cores", sentence)
            for key in NODE_WATTS:
                if read.field(group, key) is not None:
                    yield Fault(f"{path}.{key}", "must not be given in a cluster with power_states")


def _places_faults(path: str, states: object, groups: list[read.Group] | None) -> Iterator[Fault]:
    """Yield a fault where the boards of a cluster have fewer places than it has processors."""
    chassis, boards, cores = (read.count(states, key) for key in ("chassis", "boards", "cores"))
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
    jobs, running = read.listed(instance, "jobs"), read.listed(instance, "running")
    ids = read.each(read.text, jobs, "id") + [read.text(read.field(run, "job"), "id") for run in running]
    faults = read.duplicate_faults(ids, lambda i: _id_path(i, len(jobs)), "job id")
    platform = read.field(instance, "platform")
    processors = read.num_processors(platform)
    if processors is not None:
        faults += _size_faults(jobs, processors)
    given = Stated((), ids, len(jobs), running, platform, read.listed(instance, "limits"))
    for feature, saying in _saying(jobs):
        faults += feature.faults(given._replace(jobs=saying))
    return faults + _running_faults(running, read.clusters(platform)) + shared_workload_faults(instance)


def _id_path(index: int, num_jobs: int) -> str:
    """Return the path of an id; those of running jobs are counted on after the jobs'."""
    return f"jobs[{index}].id" if index < num_jobs else f"running[{index - num_jobs}].job.id"


def _size_faults(jobs: Sequence[object], processors: int) -> list[Fault]:
    """Return a fault for every job that is larger than the platform."""
    return [
        Fault(f"jobs[{i}].tasks", f"must be at most {processors} (all processors of the platform), got {shown(tasks)}")
        for i, tasks in enumerate(read.each(read.count, jobs, "tasks"))
        if tasks is not None and tasks > processors
    ]


def _saying(jobs: Sequence[Any]) -> Iterator[tuple[Feature, list[tuple[int, Any]]]]:
    """Yield each feature with the jobs, and their places, that may state it: few of most."""
    features = [feature for feature in FEATURES.values() if feature.has_faults]
    if isinstance(jobs, Columns):
        yield from ((feature, [*jobs.stating(_fields_of_jobs(feature))]) for feature in features)
    else:
        objects = _saying_objects(jobs)
        yield from ((feature, objects) for feature in features)


def _fields_of_jobs(feature: Feature) -> list[str]:
    """Return the fields in which a job states a feature, be it of one of its shapes."""
    own = [field.removeprefix("Job.") for field in feature.fields if field.startswith("Job.")]
    return own + ["shapes"] * any(field.startswith("Shape.") for field in feature.fields)


def _saying_objects(jobs: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return the jobs, with their places, that may say something of others or of where they run."""
    said_by = attrgetter(*SAYING)
    try:
        return [(i, job) for i, job in enumerate(jobs) if any(said_by(job))]
    except AttributeError:  # they are as they were parsed
        return list(enumerate(jobs))


def _running_faults(running: Sequence[object], clusters: read.Clusters | None) -> list[Fault]:
    """Return what is wrong with the processors that running jobs hold."""
    faults: list[tuple[int, Fault]] = []
    holdings: list[Holding] = []
    number = 0
    for r, run in enumerate(running):
        path, nodes = f"running[{r}].nodes", read.field(run, "nodes")
        tasks = read.count(read.field(run, "job"), "tasks")
        start, end = read.from_zero(run, "start", 0.0) or 0.0, read.from_zero(run, "end") or 0.0
        if start > 0.0 and end <= start:
            faults.append(
                (number, Fault(f"running[{r}].end", f"must be after its start, {start:.12g}, got {end:.12g}"))
            )
        if not isinstance(nodes, (list, tuple, ProcessorNames)):
            continue
        num_named = _num_named(nodes)
        if tasks is not None and num_named != tasks:
            sentence = f"must name {shown(tasks)} processors, one per task, got {num_named}"
            faults.append((number, Fault(path, sentence)))
        for held, place in read.holdings(path, nodes):
            number += 1
            if clusters is not None and not _are_processors(held, clusters):
                what = "a processor" if held.size == 1 else "processors"
                faults.append((number, Fault(place, f"must be {what} of the platform, got {quoted(held.text)}")))
            else:
                holdings.append(Holding(held, number, place, start, end))
    faults += _doubly_held(holdings)
    return [fault for _, fault in sorted(faults, key=lambda entry: entry[0])]


def _num_named(nodes: Sequence[object]) -> int:
    """Return how many processors a list names; what is no text counts as one."""
    texts = [name for name in nodes if isinstance(name, str)] if isinstance(nodes, (list, tuple)) else None
    return len(nodes) if texts is None else len(nodes) - len(texts) + len(ProcessorNames(texts))


def _doubly_held(holdings: Sequence[Holding]) -> Iterator[tuple[int, Fault]]:
    """Yield a fault for processors that are held twice, where they are named again."""
    active: list[Holding] = []
    for holding in sorted(holdings):
        held = holding.range
        active = [h for h in active if h.range.cluster == held.cluster and h.range.last >= held.first]
        other = next((h for h in active if _shared(held, h.range).num_cores > 0 and _at_once(holding, h)), None)
        if other is not None:
            shared = _shared(held, other.range)
            before, after = sorted([holding, other], key=lambda h: h.number)
            yield after.number, Fault(after.path, f"must not repeat {quoted(shared.text)} of {before.path}")
        if other is None or shared != held or holding.start > 0.0:
            active.append(holding)


def _at_once(one: Holding, other: Holding) -> bool:
    """Return whether two hold something at one instant; both do now where neither starts later."""
    return one.start == other.start == 0.0 or (one.start < other.end and other.start < one.end)


def _shared(one: Range, other: Range) -> Range:
    """Return the nodes and cores that two ranges of a cluster share, if nodes do; no cores where they share none."""
    return Range(
        one.cluster,
        max(one.first, other.first),
        min(one.last, other.last),
        max(one.first_core, other.first_core),
        min(one.last_core, other.last_core),
    )


def _are_processors(held: Range, clusters: read.Clusters) -> bool:
    """Return whether a platform with these clusters has all processors of a range."""
    return held.first != NO_NUMBER and any(_have_cores(groups, held) for groups in clusters.get(held.cluster, []))


def _have_cores(groups: Iterable[read.Group], held: Range) -> bool:
    """Return whether a cluster has nodes and processors of these numbers; nodes with one do not number it."""
    node = 0
    for count, processors in groups:
        if held.first < node + count and node <= held.last:
            has_cores = processors == 1 if held.first_core == NO_NUMBER else 1 < processors > held.last_core
            if not has_cores:
                return False
        node += count
    return held.last < node


# ------------------------------------------------------------------------------ nodes that are shared


def shared_platform_faults(platform: object) -> list[Fault]:
    """Return what keeps tasks from sharing the nodes of a platform."""
    faults = [] if _shares(platform) is None else _several_core_faults(platform)
    if _limits_paging(platform):
        faults += [
            Fault(f"{path}.memory", "is missing: sharing.paging requires it")
            for path, group in read.node_groups(platform)
            if read.field(group, "memory") is None
        ]
    return faults


def shared_workload_faults(instance: object) -> list[Fault]:
    """Return what is wrong with jobs and local users where nodes are shared."""
    platform = read.field(instance, "platform")
    users, jobs = read.listed(instance, "local_users"), read.listed(instance, "jobs")
    if _shares(platform) is None and not users:
        return []
    faults = [fault.under("platform") for fault in _several_core_faults(platform)]
    if read.listed(instance, "running"):
        faults.append(Fault("running", "must be empty with time-shared nodes"))
    if _limits_paging(platform):
        faults += [
            Fault(f"jobs[{i}].memory", "is missing: sharing.paging requires it")
            for i, job in enumerate(jobs)
            if read.field(job, "memory") is None
        ]
    return faults + _fitting_faults(jobs, platform) + _user_faults(users, read.clusters(platform))


def _shares(platform: object) -> object | None:
    """Return what says that tasks share nodes: ``sharing``, or a multiprogramming above 1."""
    several = (read.count(group, "multiprogramming", default=1) for _, group in read.node_groups(platform))
    return read.field(platform, "sharing") or next((places for places in several if places and places > 1), None)


def _limits_paging(platform: object) -> bool:
    return read.number(read.field(platform, "sharing"), "paging") is not None


def _several_core_faults(platform: object) -> list[Fault]:
    """Return a fault for every group of nodes with several cores: tasks share one core, or none."""
    return [
        Fault(f"{path}.cores", f"must be 1 with time-shared nodes, got {shown(cores)}")
        for path, group in read.node_groups(platform)
        if (cores := read.count(group, "cores", default=1)) is not None and cores > 1
    ]


def _fitting_faults(jobs: Sequence[object], platform: object) -> list[Fault]:
    """Return a fault for every job that has more tasks than there are nodes, or nodes that can ever hold one."""
    groups = [group for _, group in read.node_groups(platform)]
    counts = [read.count(group, "count") for group in groups]
    nodes = sum(count or 0 for count in counts)
    if None in counts or not nodes:
        return []
    paging = read.from_zero(read.field(platform, "sharing"), "paging", default=0.0)
    memories = [
        math.inf if read.field(group, "memory") is None else read.number(group, "memory") or 0.0 for group in groups
    ]
    faults = []
    for i, job in enumerate(jobs):
        tasks, memory = read.count(job, "tasks"), read.number(job, "memory") or 0.0
        holding = sum(
            count or 0
            for count, most in zip(counts, memories, strict=True)
            if memory <= capacity_limit(most, paging or 0.0)
        )
        if tasks is not None and tasks > nodes:
            sentence = f"must be at most {nodes} (one task per time-shared node), got {shown(tasks)}"
            faults.append(Fault(f"jobs[{i}].tasks", sentence))
        elif tasks is not None and paging is not None and tasks > holding:
            sentence = f"must fit on {tasks} nodes, but {shown(memory)} MB fit on {holding}"
            faults.append(Fault(f"jobs[{i}].memory", sentence))
    return faults


def _user_faults(users: Sequence[object], clusters: read.Clusters | None) -> list[Fault]:
    """Return what is wrong with the times and the nodes of local users."""
    faults: list[Fault] = []
    spans: dict[str, list[tuple[float, float, int]]] = {}
    for i, user in enumerate(users):
        node, start, end = read.text(user, "node"), read.from_zero(user, "start"), read.from_zero(user, "end")
        if start is not None and end is not None and end <= start:
            faults.append(Fault(f"local_users[{i}].end", f"must be after its start, {start:.12g}, got {end:.12g}"))
        if node is None or clusters is None:
            continue
        if not _is_node(node, clusters):
            faults.append(Fault(f"local_users[{i}].node", f"must be a node of the platform, got {quoted(node)}"))
        elif start is not None and end is not None:
            spans.setdefault(node, []).append((start, end, i))
    for node, active in spans.items():
        until, holder = -math.inf, 0
        for start, end, i in sorted(active):
            if start < until:
                sentence = f"must not overlap local_users[{holder}], active on {quoted(node)} until {until:.12g}"
                faults.append(Fault(f"local_users[{i}]", sentence))
            until, holder = max((until, holder), (end, i))
    return faults


def _is_node(name: str, clusters: read.Clusters) -> bool:
    """Return whether a platform with these clusters has a node of this name."""
    found = ProcessorNames([name]).ranges[0]
    if found.first == NO_NUMBER or found.first_core != NO_NUMBER or found.size > 1:
        return False
    return any(found.first < sum(count for count, _ in groups) for groups in clusters.get(found.cluster, []))


def network_faults(
    clusters: Sequence[tuple[str | None, str | None]], switches: Sequence[tuple[str | None, str | None]]
) -> list[Fault]:
    """Return what is wrong with the names and the tree.

    ``clusters`` are (name, switch) and ``switches`` (name, parent), in order. A name is ``None``
    where a file has none that can be read: what depends on it is not examined then.
    """
    faults = read.duplicate_faults([name for name, _ in clusters], "clusters[{}].name".format, "cluster name")
    faults += read.duplicate_faults([name for name, _ in switches], "switches[{}].name".format, "switch name")
    parents = {name: parent for name, parent in switches if name is not None and parent is not None}
    faults += _cycle_faults(switches, parents)
    if any(name is None or parent is None for name, parent in switches):
        return faults
    roots = sorted({parent for parent in parents.values() if parent not in parents})
    if len(roots) > 1:
        named = ", ".join(quoted(root) for root in roots[:MAX_NAMED]) + (", ..." if len(roots) > MAX_NAMED else "")
        faults.append(Fault("switches", f"must have one root, got {len(roots)}: {named}"))
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
        Fault(f"switches[{i}].parent", f"must not form a cycle of switches, got {quoted(parent or '')}")
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
