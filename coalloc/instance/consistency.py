"""What fields must keep between them: names that are unique, a tree, jobs that fit, processors held once.

Every function takes a value or a document as it was parsed, with whatever faults in its fields: what
can be read is examined, the rest is left to the checks of the fields. So all faults come at once.

The name of a processor (``C1/0``, ``C1/0.3``) tells its place: after the last ``/`` stand digits and
at most one dot, before it the name of the cluster. Distinct cluster names therefore give distinct
processor names, whatever characters they have, and no list of all processors is needed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.documents.text import quoted
from coalloc.instance.columns import Columns
from coalloc.instance.processor_names import MAX_PROCESSORS, NO_NUMBER, ProcessorNames, Range
from coalloc.instance.rounding import capacity_limit

MAX_NAMED = 10
"""Roots of the network that a message names, where there are several."""

SMALLEST_POWER = 1e-100
"""Least effective power of a node: its inverse stretches times, and they must stay finite."""

NODE_WATTS = ("off_watts", "idle_watts", "static_watts", "core_watts")
"""What nodes draw by themselves: not in a cluster with power states."""

SAYING = (
    *("after", "eligible", "requires", "times", "shapes", "resources", "task_resources"),
    *("max_clusters", "min_tasks_per_cluster", "slices", "level", "lags"),
)
"""Fields in which a job says something of others or of where it runs."""

E = TypeVar("E")

Group = tuple[int, int]
"""Nodes of a group, and processors of each."""

Clusters = dict[str, list[list[Group]]]
"""Groups of nodes of each cluster by its name; of several clusters where a name stands twice."""


class Holding(NamedTuple):
    """Processors that are held from ``start`` to ``end`` (s), the how-manieth name or range that is, and its path."""

    range: Range
    number: int
    path: str
    start: float
    end: float


def platform_faults(platform: object) -> list[Fault]:
    """Return what is wrong between the fields of a platform."""
    clusters, switches = _list(platform, "clusters"), _list(platform, "switches")
    faults = network_faults(
        [(_text(cluster, "name"), _text(cluster, "switch")) for cluster in clusters],
        [(_text(switch, "name"), _text(switch, "parent")) for switch in switches],
    )
    processors = _num_processors(platform)
    if processors is not None and processors > MAX_PROCESSORS:
        sentence = f"must have at most {MAX_PROCESSORS} processors in total, got {shown(processors)}"
        faults.append(Fault("clusters", sentence))
    own = [*_power_faults(clusters), *_power_states_faults(clusters), *shared_platform_faults(platform)]
    own += [*_level_faults(platform), *_nested_level_faults(platform)]
    return faults + own + [*_window_faults(_list(platform, "unavailable"), clusters)]


def _window_faults(windows: Sequence[object], clusters: Sequence[object]) -> Iterator[Fault]:
    """Yield what is wrong with the windows in which parts of a platform are not there."""
    groups_of = {_text(cluster, "name"): _groups(cluster) for cluster in clusters} if windows else {}
    for w, window in enumerate(windows):
        path, name, nodes = f"unavailable[{w}]", _text(window, "cluster"), _field(window, "nodes")
        start, end = _from_zero(window, "start"), _from_zero(window, "end")
        if start is not None and end is not None and end <= start:
            yield Fault(f"{path}.end", f"must be after its start, {start:.12g}, got {end:.12g}")
        if name is not None and None not in groups_of and name not in groups_of:
            yield Fault(f"{path}.cluster", f"must be a cluster of the platform, got {quoted(name)}")
        number, processors = _field(window, "group"), _count(window, "processors")
        if (number is None) != (_field(window, "processors") is None) or (number is not None and nodes):
            yield Fault(path, "must have either nodes, or group and processors, or none of them")
            continue
        groups = groups_of.get(name)
        if groups is None:
            continue
        if isinstance(number, int) and not 0 <= number < len(groups):
            yield Fault(f"{path}.group", f"must be a group of the cluster, 0 to {len(groups) - 1}, got {number}")
        elif isinstance(number, int) and processors is not None and processors > groups[number][0] * groups[number][1]:
            most = groups[number][0] * groups[number][1]
            yield Fault(f"{path}.processors", f"must be at most {most} (all of the group), got {processors}")
        if isinstance(nodes, (list, tuple, ProcessorNames)):
            yield from _closed_node_faults(f"{path}.nodes", nodes, name or "", sum(count for count, _ in groups))


def _closed_node_faults(path: str, nodes: Sequence[object], cluster: str, num_nodes: int) -> Iterator[Fault]:
    """Yield a fault for every name that is no node of a cluster with so many."""
    for held, place in _holdings(path, nodes):
        is_node = held.first != NO_NUMBER and held.first_core == NO_NUMBER and held.last < num_nodes
        if not is_node or held.cluster != cluster:
            yield Fault(place, f"must be nodes of cluster {quoted(cluster)}, got {quoted(held.text)}")


def _power_faults(clusters: Sequence[object]) -> Iterator[Fault]:
    """Yield a fault for every group whose effective power is so little that its jobs would take for ever."""
    for c, cluster in enumerate(clusters):
        for g, group in enumerate(_list(cluster, "nodes")):
            power, availability = _number(group, "power"), _number(group, "availability", default=1.0)
            if power is not None and availability is not None and power * availability < SMALLEST_POWER:
                product = shown(power * availability)
                sentence = f"must be at least {SMALLEST_POWER:g} when multiplied by availability, got {product}"
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
                    yield Fault(f"{path}.{key}", "must not be given in a cluster with power_states")


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
    ids = _each(_text, jobs, "id") + [_text(_field(run, "job"), "id") for run in running]
    faults = duplicate_faults(ids, lambda i: _id_path(i, len(jobs)), "job id")
    platform = _field(instance, "platform")
    processors = _num_processors(platform)
    if processors is not None:
        faults += _size_faults(jobs, processors)
    saying = _saying(jobs)
    faults += [*_eligible_faults(saying, platform), *_times_faults(saying, platform), *_after_faults(saying, ids)]
    faults += [*_shape_faults(saying, processors), *_running_shape_faults(running)]
    faults += _resource_faults(saying, running, platform)
    faults += limit_faults(_list(instance, "limits"), ids, len(jobs))
    faults += _spread_faults(saying, platform)
    faults += [*_lag_faults(saying, ids, running), *_lag_cycle_faults(saying, ids)]
    faults += _closed_faults(running, platform)
    return faults + _running_faults(running, _clusters(platform)) + shared_workload_faults(instance)


def _id_path(index: int, num_jobs: int) -> str:
    """Return the path of an id; those of running jobs are counted on after the jobs'."""
    return f"jobs[{index}].id" if index < num_jobs else f"running[{index - num_jobs}].job.id"


def _size_faults(jobs: Sequence[object], processors: int) -> list[Fault]:
    """Return a fault for every job that is larger than the platform."""
    return [
        Fault(f"jobs[{i}].tasks", f"must be at most {processors} (all processors of the platform), got {shown(tasks)}")
        for i, tasks in enumerate(_each(_count, jobs, "tasks"))
        if tasks is not None and tasks > processors
    ]


def _saying(jobs: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return the jobs, with their places, that may say something of others or of where they run: few of most."""
    if isinstance(jobs, Columns) and jobs.names.isdisjoint(SAYING):
        return []
    said_by = attrgetter(*SAYING)
    try:
        return [(i, job) for i, job in enumerate(jobs) if any(said_by(job))]
    except AttributeError:  # they are as they were parsed
        return list(enumerate(jobs))


def _eligible_faults(jobs: Sequence[tuple[int, object]], platform: object) -> Iterator[Fault]:
    """Yield a fault for every cluster that a job may use and the platform does not have, and for unknown features."""
    asking = [(i, job) for i, job in jobs if _list(job, "eligible") or _list(job, "requires")]
    if not asking:
        return
    clusters = [_text(cluster, "name") for cluster in _list(platform, "clusters")]
    features = [feature for _, group in _node_groups(platform) for feature in _list(group, "features")]
    for i, job in asking:
        for key, known, what in (("eligible", clusters, "a cluster"), ("requires", features, "a feature of some node")):
            for n, name in enumerate(_list(job, key)):
                if clusters and None not in clusters and isinstance(name, str) and name and name not in known:
                    yield Fault(f"jobs[{i}].{key}[{n}]", f"must be {what} of the platform, got {quoted(name)}")


def _times_faults(jobs: Sequence[tuple[int, object]], platform: object) -> Iterator[Fault]:
    """Yield a fault for every job that names two features of one group of nodes: which time it takes is not said."""
    timed = [
        (path, times)
        for i, job in jobs
        for path, shape in ((f"jobs[{i}]", job), *_shapes(i, job))
        if isinstance(times := _field(shape, "times"), Mapping) and times
    ]
    if not timed:
        return
    groups = [(path, _list(group, "features")) for path, group in _node_groups(platform)]
    for place, times in timed:
        for path, features in groups:
            named = [feature for feature in features if isinstance(feature, str) and feature in times]
            if len(named) > 1:
                listed = " and ".join(map(quoted, named[:2]))
                yield Fault(f"{place}.times", f"must name one feature of each group, got {listed} of platform.{path}")


def _shapes(i: int, job: object) -> Iterator[tuple[str, object]]:
    """Yield the path of each shape of a job but its first, and the shape."""
    for s, shape in enumerate(_list(job, "shapes")):
        yield f"jobs[{i}].shapes[{s}]", shape


def _shape_faults(jobs: Sequence[tuple[int, object]], processors: int | None) -> Iterator[Fault]:
    """Yield a fault for every shape that is larger than the platform, or has as many tasks as one before it."""
    for i, job in jobs:
        known = {_count(job, "tasks")}
        for path, shape in _shapes(i, job):
            tasks = _count(shape, "tasks")
            if tasks is not None and processors is not None and tasks > processors:
                sentence = f"must be at most {processors} (all processors of the platform), got {shown(tasks)}"
                yield Fault(f"{path}.tasks", sentence)
            if tasks is not None and tasks in known:
                yield Fault(f"{path}.tasks", f"must differ from the tasks of other shapes, got {shown(tasks)}")
            known.add(tasks)


def _spread_faults(jobs: Sequence[tuple[int, object]], platform: object) -> Iterator[Fault]:
    """Yield a fault for what no shape of a job has tasks for, or no platform of so many clusters can give it."""
    num_clusters = len(_list(platform, "clusters"))
    levels = [level for switch in _list(platform, "switches") if (level := _text(switch, "level")) is not None]
    for i, job in jobs:
        sizes = [_count(shape, "tasks") for _, shape in (("", job), *_shapes(i, job))]
        tasks = [size for size in sizes if size is not None]
        slices, least, most = (_count(job, key) for key in ("slices", "min_tasks_per_cluster", "max_clusters"))
        if tasks and slices is not None and all(size % slices for size in tasks):
            yield Fault(f"jobs[{i}].slices", f"must divide the tasks ({shown(tasks[0])}), got {shown(slices)}")
        if slices is not None and 0 < num_clusters < slices:
            sentence = f"must be at most {num_clusters} (the clusters of the platform), got {shown(slices)}"
            yield Fault(f"jobs[{i}].slices", sentence)
        if slices is not None and most is not None and slices > most:
            yield Fault(f"jobs[{i}].slices", f"must be at most max_clusters ({shown(most)}), got {shown(slices)}")
        if tasks and least is not None and least > max(tasks):
            sentence = f"must be at most the tasks ({shown(max(tasks))}), got {shown(least)}"
            yield Fault(f"jobs[{i}].min_tasks_per_cluster", sentence)
        name = _text(_field(job, "level"), "name")
        if name is not None and name not in levels:
            sentence = f"must be the level of a switch of the platform, got {quoted(name)}"
            yield Fault(f"jobs[{i}].level.name", sentence)


def _running_shape_faults(running: Sequence[object]) -> Iterator[Fault]:
    """Yield a fault for every running job that could have another shape than it has."""
    for r, run in enumerate(running):
        if _list(_field(run, "job"), "shapes"):
            yield Fault(f"running[{r}].job.shapes", "must not be given: a running job has one shape")


class ResourcePlaces(NamedTuple):
    """Equal places that have a resource: their path, how many there are, processors of each, and its capacity there."""

    path: str
    number: int
    processors: float
    capacity: float


def _level_faults(platform: object) -> Iterator[Fault]:
    """Yield a fault for every resource that is stated at two levels: it is not said then what there is of it."""
    first: dict[str, tuple[int, str]] = {}
    for level, path, stated in _stated_resources(platform):
        for name in stated:
            known, place = first.setdefault(name, (level, path))
            if known != level:
                sentence = f"must be given at one level (platform, clusters or nodes), but is also in {place}"
                yield Fault(f"{path}.{name}", sentence)


def _stated_resources(platform: object) -> Iterator[tuple[int, str, Mapping[str, float]]]:
    """Yield what the platform (level 0), each cluster (1) and each node group (2) has of resources, with its path."""
    yield 0, "resources", _amounts(platform, "resources")
    for c, cluster in enumerate(_list(platform, "clusters")):
        yield 1, f"clusters[{c}].resources", _amounts(cluster, "resources")
        for g, group in enumerate(_list(cluster, "nodes")):
            yield 2, f"clusters[{c}].nodes[{g}].resources", _amounts(group, "resources")


def _resource_places(platform: object) -> dict[str, list[ResourcePlaces]]:
    """Return where there is something of each resource; of counts that cannot be read any number of processors."""
    found: dict[str, list[ResourcePlaces]] = {}
    sizes: dict[str, tuple[int, float]] = {"resources": (1, _num_processors(platform) or math.inf)}
    for c, cluster in enumerate(_list(platform, "clusters")):
        groups = _groups(cluster)
        sizes[f"clusters[{c}].resources"] = 1, sum(a * b for a, b in groups) if groups else math.inf
        for g, pair in enumerate(groups or ()):
            sizes[f"clusters[{c}].nodes[{g}].resources"] = pair
    for _, path, stated in _stated_resources(platform):
        for name, capacity in stated.items():
            count, processors = sizes.get(path, (1, math.inf))
            found.setdefault(name, []).append(ResourcePlaces(path, count, processors, capacity))
    return found


def _resource_faults(
    jobs: Sequence[tuple[int, object]], running: Sequence[object], platform: object
) -> Iterator[Fault]:
    """Yield a fault for every resource that no part of the platform has, or has too little of for a job by itself."""
    asking = [(f"jobs[{i}]", job, True) for i, job in jobs]
    asking += [(f"running[{r}].job", _field(run, "job"), False) for r, run in enumerate(running)]
    asking = [entry for entry in asking if _amounts(entry[1], "resources") or _amounts(entry[1], "task_resources")]
    places = _resource_places(platform) if asking else {}
    for path, job, is_waiting in asking:
        whole, per_task = _amounts(job, "resources"), _amounts(job, "task_resources")
        for name in dict.fromkeys([*whole, *per_task]):
            place = f"{path}.{'resources' if name in whole else 'task_resources'}.{name}"
            if name not in places:
                yield Fault(place, f"must be a resource of the platform, its clusters or its nodes, got {quoted(name)}")
                continue
            tasks = min([n for n in (_count(s, "tasks") for s in (job, *_list(job, "shapes"))) if n], default=0)
            room = sum(
                p.number * _tasks_within(p, whole.get(name, 0.0), per_task.get(name, 0.0), tasks) for p in places[name]
            )
            if is_waiting and room < tasks:
                yield Fault(place, f"must be lower: the capacity suffices for {room} of {tasks} tasks")


def _tasks_within(place: ResourcePlaces, whole: float, per_task: float, tasks: int) -> int:
    """Return how many of the tasks of a job a place can have by one of its resources."""
    limit, most = capacity_limit(place.capacity), int(min(place.processors, tasks))
    if whole > limit:
        return 0
    return most if whole + most * per_task <= limit else int((limit - whole) // per_task)


def limit_faults(limits: Sequence[object], ids: Sequence[str | None], num_jobs: int) -> Iterator[Fault]:
    """Yield what is wrong with the limits of an instance; the first ids are those of the jobs to schedule."""
    if not limits:
        return
    yield from duplicate_faults([_text(limit, "name") for limit in limits], "limits[{}].name".format, "limit name")
    known, waiting = set(ids), set(ids[:num_jobs])
    for i, limit in enumerate(limits):
        jobs = [name if isinstance(name, str) and name else None for name in _list(limit, "jobs")]
        path, amounts, capacity = f"limits[{i}]", _list(limit, "amounts"), _from_zero(limit, "capacity")
        yield from duplicate_faults(jobs, f"{path}.jobs[{{}}]".format, "job")
        for n, name in enumerate(jobs):
            if None not in known and name is not None and name not in known:
                yield Fault(f"{path}.jobs[{n}]", f"must be a job of the instance, got {quoted(name)}")
        if amounts and len(amounts) != len(jobs):
            yield Fault(f"{path}.amounts", f"must have one amount per job, {len(jobs)}, got {len(amounts)}")
            continue
        for n, (name, amount) in enumerate(zip(jobs, amounts or [1.0] * len(jobs), strict=True)):
            is_number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
            if name in waiting and capacity is not None and is_number and amount > capacity_limit(capacity):
                place = f"{path}.amounts[{n}]" if amounts else f"{path}.capacity"
                verdict = f"must be at most the capacity, {capacity:g}," if amounts else "must be at least 1 (one job),"
                yield Fault(place, f"{verdict} got {shown(amount if amounts else capacity)}")


def _amounts(holder: object, key: str) -> Mapping[str, float]:
    """Return the amounts from 0 on of a field of amounts by name, as far as they can be read."""
    field = _field(holder, key)
    if not isinstance(field, Mapping) or not field:
        return {}
    numbers = ((n, a) for n, a in field.items() if isinstance(a, (int, float)) and not isinstance(a, bool))
    return {name: amount for name, amount in numbers if isinstance(name, str) and 0.0 <= amount < math.inf}


def _after_faults(jobs: Sequence[tuple[int, object]], ids: Sequence[str | None]) -> Iterator[Fault]:
    """Yield a fault for every job that must end first and is none, and one for every cycle, named in full."""
    before = {i: _list(job, "after") for i, job in jobs}
    before = {i: names for i, names in before.items() if names}
    if not before:
        return
    known = set(ids)
    for i, names in before.items():
        for n, name in enumerate(names):
            if None not in known and isinstance(name, str) and name and name not in known:
                yield Fault(f"jobs[{i}].after[{n}]", f"must be a job of the instance, got {quoted(name)}")
    texts = {i: [name for name in names if isinstance(name, str)] for i, names in before.items()}
    yield from _circle_faults(texts, ids)


def _circle_faults(before: Mapping[int, Sequence[str]], ids: Sequence[str | None]) -> Iterator[Fault]:
    """Yield a fault for one cycle in each part of the precedences that has some."""
    import networkx as nx

    graph: nx.DiGraph[str | None] = nx.DiGraph([(ids[i], name) for i, names in before.items() for name in names])
    place = {ids[i]: i for i in before}
    for part in nx.strongly_connected_components(graph):
        inner = graph.subgraph(part)
        if inner.number_of_edges():
            first = min(part, key=place.__getitem__)
            cycle = [job for job, _ in nx.find_cycle(inner, first)]
            start = cycle.index(min(cycle, key=place.__getitem__))
            named = [quoted(job or "") for job in (*cycle[start:], *cycle[: start + 1])]
            yield Fault(f"jobs[{place[cycle[start]]}].after", f"must not form a cycle: {' after '.join(named)}")


def _lag_faults(
    jobs: Sequence[tuple[int, object]], ids: Sequence[str | None], running: Sequence[object]
) -> Iterator[Fault]:
    """Yield a fault for every lag that names no other job, or a start that is not stated, or has no room for times."""
    known = set(ids)
    begun = {_text(_field(run, "job"), "id") for run in running if not _from_zero(run, "start", 0.0)}
    for path, i, lag in _lags(jobs):
        other, least, most = _text(lag, "after"), _difference(lag, "min"), _difference(lag, "max")
        if None not in known and other is not None and other not in known:
            yield Fault(f"{path}.after", f"must be a job of the instance, got {quoted(other)}")
        if other is not None and other == ids[i]:
            yield Fault(f"{path}.after", f"must be another job, got {quoted(other)}")
        if other is not None and other in begun and _from_of(lag) == "start":
            yield Fault(f"{path}.from", f"must be 'end': the start of the running job {quoted(other)} is unknown")
        if most is not None and most < (least or 0.0):
            yield Fault(f"{path}.max", f"must be at least min, {least or 0.0:g}, got {shown(_field(lag, 'max'))}")


def _lag_cycle_faults(jobs: Sequence[tuple[int, object]], ids: Sequence[str | None]) -> Iterator[Fault]:
    """Yield a fault for each set of jobs that wait for each other, one of them for a time above 0."""
    number = {name: i for i, name in enumerate(ids)}
    found = [(ids[i], _text(lag, "after"), lag) for _, i, lag in _lags(jobs)]
    later = [pair for pair in found if pair[1] in number and (_difference(pair[2], "min") or 0.0) >= 0.0]
    if not later:
        return
    import networkx as nx

    before = {(ids[i], name) for i, job in jobs for name in _list(job, "after") if name in ids}
    graph: nx.DiGraph[str | None] = nx.DiGraph([*before, *((one, other) for one, other, _ in later)])
    grows = {(one, other) for one, other, lag in later if _from_of(lag) == "end" or _difference(lag, "min")}
    of_lags = {(one, other) for one, other, _ in later}
    for part in nx.strongly_connected_components(graph):
        inner = set(graph.subgraph(part).edges)
        if inner & of_lags and inner & (before | grows) and len(part) > 1:
            names = sorted(part, key=number.__getitem__)
            listed = ", ".join(quoted(name or "") for name in names)
            yield Fault(f"jobs[{number[names[0]]}].lags", f"must not form a cycle of positive lags: {listed}")


def _lags(jobs: Sequence[tuple[int, object]]) -> Iterator[tuple[str, int, object]]:
    """Yield the path of each lag, the number of its job, and the lag."""
    for i, job in jobs:
        for n, lag in enumerate(_list(job, "lags")):
            yield f"jobs[{i}].lags[{n}]", i, lag


def _from_of(lag: object) -> str:
    """Return the time from which a lag counts: of a value, or of a parsed object."""
    return str(_field(lag, "from_") or _field(lag, "from") or "end")


def _difference(lag: object, key: str) -> float | None:
    """Return a number of a lag; None where it is absent, or cannot be read."""
    number = _field(lag, key)
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else None


def _running_faults(running: Sequence[object], clusters: Clusters | None) -> list[Fault]:
    """Return what is wrong with the processors that running jobs hold."""
    faults: list[tuple[int, Fault]] = []
    holdings: list[Holding] = []
    number = 0
    for r, run in enumerate(running):
        path, nodes, tasks = f"running[{r}].nodes", _field(run, "nodes"), _count(_field(run, "job"), "tasks")
        start, end = _from_zero(run, "start", 0.0) or 0.0, _from_zero(run, "end") or 0.0
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
        for held, place in _holdings(path, nodes):
            number += 1
            if clusters is not None and not _are_processors(held, clusters):
                what = "a processor" if held.size == 1 else "processors"
                faults.append((number, Fault(place, f"must be {what} of the platform, got {quoted(held.text)}")))
            else:
                holdings.append(Holding(held, number, place, start, end))
    faults += _doubly_held(holdings)
    return [fault for _, fault in sorted(faults, key=lambda entry: entry[0])]


def _closed_faults(running: Sequence[object], platform: object) -> Iterator[Fault]:
    """Yield a fault for every running job that holds nodes in a window in which they are not there."""
    windows = [
        (w, window) for w, window in enumerate(_list(platform, "unavailable")) if not _field(window, "processors")
    ]
    for r, run in enumerate(running if windows else ()):
        nodes, start, end = _field(run, "nodes"), _from_zero(run, "start", 0.0) or 0.0, _from_zero(run, "end") or 0.0
        held = _holdings("", nodes) if isinstance(nodes, (list, tuple, ProcessorNames)) else []
        for w, window in windows:
            begin, until = _from_zero(window, "start") or 0.0, _from_zero(window, "end") or 0.0
            closed = _field(window, "nodes")
            of_window = [part for part, _ in _holdings("", closed)] if closed else None
            name = _text(window, "cluster")
            touches = any(
                part.cluster == name
                and (of_window is None or any(c.first <= part.last and part.first <= c.last for c in of_window))
                for part, _ in held
            )
            if touches and start < until and begin < end:
                sentence = f"must not overlap platform.unavailable[{w}], which starts at {begin:.12g} s"
                yield Fault(f"running[{r}].nodes", sentence)


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


def _are_processors(held: Range, clusters: Clusters) -> bool:
    """Return whether a platform with these clusters has all processors of a range."""
    return held.first != NO_NUMBER and any(_have_cores(groups, held) for groups in clusters.get(held.cluster, []))


def _have_cores(groups: Iterable[Group], held: Range) -> bool:
    """Return whether a cluster has nodes and processors of these numbers; nodes with one do not number it."""
    node = 0
    for count, processors in groups:
        if held.first < node + count and node <= held.last:
            has_cores = processors == 1 if held.first_core == NO_NUMBER else 1 < processors > held.last_core
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
    counted = [count * processors for groups in per_cluster for count, processors in groups or []]
    return sum(counted) if per_cluster and None not in per_cluster else None


def _groups(cluster: object) -> list[Group] | None:
    """Return the groups of a cluster, ``None`` where some cannot be read."""
    groups: list[Group] = []
    for group in _list(cluster, "nodes"):
        count, cores = _count(group, "count"), _count(group, "cores", default=1)
        places = _count(group, "multiprogramming", default=1)
        if count is None or cores is None or places is None:
            return None
        groups.append((count, cores * places))
    return groups or None


# ------------------------------------------------------------------------------ nodes that are shared


def shared_platform_faults(platform: object) -> list[Fault]:
    """Return what keeps tasks from sharing the nodes of a platform."""
    faults = [] if _shares(platform) is None else _several_core_faults(platform)
    if _limits_paging(platform):
        faults += [
            Fault(f"{path}.memory", "is missing: sharing.paging requires it")
            for path, group in _node_groups(platform)
            if _field(group, "memory") is None
        ]
    return faults


def shared_workload_faults(instance: object) -> list[Fault]:
    """Return what is wrong with jobs and local users where nodes are shared."""
    platform, users, jobs = _field(instance, "platform"), _list(instance, "local_users"), _list(instance, "jobs")
    if _shares(platform) is None and not users:
        return []
    faults = [fault.under("platform") for fault in _several_core_faults(platform)]
    if _list(instance, "running"):
        faults.append(Fault("running", "must be empty with time-shared nodes"))
    if _limits_paging(platform):
        faults += [
            Fault(f"jobs[{i}].memory", "is missing: sharing.paging requires it")
            for i, job in enumerate(jobs)
            if _field(job, "memory") is None
        ]
    return faults + _fitting_faults(jobs, platform) + _user_faults(users, _clusters(platform))


def _shares(platform: object) -> object | None:
    """Return what says that tasks share nodes: ``sharing``, or a multiprogramming above 1."""
    several = (_count(group, "multiprogramming", default=1) for _, group in _node_groups(platform))
    return _field(platform, "sharing") or next((places for places in several if places and places > 1), None)


def _limits_paging(platform: object) -> bool:
    return _number(_field(platform, "sharing"), "paging") is not None


def _node_groups(platform: object) -> Iterator[tuple[str, object]]:
    """Yield the path and the description of every node group."""
    for c, cluster in enumerate(_list(platform, "clusters")):
        for g, group in enumerate(_list(cluster, "nodes")):
            yield f"clusters[{c}].nodes[{g}]", group


def _several_core_faults(platform: object) -> list[Fault]:
    """Return a fault for every group of nodes with several cores: tasks share one core, or none."""
    return [
        Fault(f"{path}.cores", f"must be 1 with time-shared nodes, got {shown(cores)}")
        for path, group in _node_groups(platform)
        if (cores := _count(group, "cores", default=1)) is not None and cores > 1
    ]


def _fitting_faults(jobs: Sequence[object], platform: object) -> list[Fault]:
    """Return a fault for every job that has more tasks than there are nodes, or nodes that can ever hold one."""
    groups = [group for _, group in _node_groups(platform)]
    counts = [_count(group, "count") for group in groups]
    nodes = sum(count or 0 for count in counts)
    if None in counts or not nodes:
        return []
    paging = _from_zero(_field(platform, "sharing"), "paging", default=0.0)
    memories = [math.inf if _field(group, "memory") is None else _number(group, "memory") or 0.0 for group in groups]
    faults = []
    for i, job in enumerate(jobs):
        tasks, memory = _count(job, "tasks"), _number(job, "memory") or 0.0
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


def _user_faults(users: Sequence[object], clusters: Clusters | None) -> list[Fault]:
    """Return what is wrong with the times and the nodes of local users."""
    faults: list[Fault] = []
    spans: dict[str, list[tuple[float, float, int]]] = {}
    for i, user in enumerate(users):
        node, start, end = _text(user, "node"), _from_zero(user, "start"), _from_zero(user, "end")
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


def _is_node(name: str, clusters: Clusters) -> bool:
    """Return whether a platform with these clusters has a node of this name."""
    found = ProcessorNames([name]).ranges[0]
    if found.first == NO_NUMBER or found.first_core != NO_NUMBER or found.size > 1:
        return False
    return any(found.first < sum(count for count, _ in groups) for groups in clusters.get(found.cluster, []))


def _from_zero(holder: object, key: str, default: float | None = None) -> float | None:
    """Return a field that is a number from 0 on, ``default`` where the field is absent."""
    return 0.0 if _field(holder, key) == 0 else _number(holder, key, default)


# ------------------------------------------------------------------------------ reading what may be broken


def _field(holder: object, key: str) -> Any:
    """Return a field of a value or of a parsed object, ``None`` where there is none."""
    return holder.get(key) if isinstance(holder, dict) else getattr(holder, key, None)


def _list(holder: object, key: str) -> Sequence[Any]:
    """Return a field that is a list, an empty one where it is not."""
    field = _field(holder, key)
    return field if isinstance(field, (list, tuple, Columns)) else ()


def _each(field_of: Callable[[object, str], E | None], holders: Sequence[object], key: str) -> list[E | None]:
    """Return a field of several; in columns it is as it must be."""
    if isinstance(holders, Columns):
        return [*holders.column(key)]
    return [field_of(holder, key) for holder in holders]


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


def _nested_level_faults(platform: object) -> Iterator[Fault]:
    """Yield a fault for every switch of the level of a switch above it."""
    switches = _list(platform, "switches")
    above = {_text(switch, "name"): switch for switch in switches}
    for i, switch in enumerate(switches):
        level, upper, passed = _text(switch, "level"), above.get(_text(switch, "parent")), {i}
        while level is not None and upper is not None and id(upper) not in passed:
            if _text(upper, "level") == level:
                sentence = f"must differ from the level of switch {quoted(_text(upper, 'name') or '')} above it"
                yield Fault(f"switches[{i}].level", f"{sentence}, got {quoted(level)}")
                break
            passed.add(id(upper))
            upper = above.get(_text(upper, "parent"))


def _upper_switch_faults(clusters: Sequence[tuple[str | None, str | None]], known: Container[str]) -> list[Fault]:
    """Return a fault for every cluster behind a switch that the platform does not have."""
    return [
        Fault(f"clusters[{i}].switch", f"must name a switch of the platform, got {quoted(switch)}")
        for i, (_, switch) in enumerate(clusters)
        if switch is not None and switch not in known
    ]


def duplicate_faults(names: Sequence[str | None], path_of: Callable[[int], str], what: str) -> list[Fault]:
    """Return a fault for every name that stands before; ``path_of`` its index. ``None`` repeats nothing."""
    if len(set(names)) == len(names):
        return []
    first: dict[str, int] = {}
    return [
        Fault(path_of(i), f"must not repeat the {what} {quoted(name)} of {path_of(first[name])}")
        for i, name in enumerate(names)
        if name is not None and first.setdefault(name, i) != i
    ]
