"""Resources of the platform, its clusters and its nodes: licences, burst buffers, GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from coalloc.documents.errors import Fault
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.features.feature import Condition, Feature, Stated
from coalloc.instance.job import Job
from coalloc.instance.rounding import capacity_limit

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


class ResourcePlaces(NamedTuple):
    """Equal places that have a resource: their path, how many there are, processors of each, and its capacity there."""

    path: str
    number: int
    processors: float
    capacity: float


def _platform_faults(platform: object) -> Iterator[Fault]:
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
    yield 0, "resources", read.amounts(platform, "resources")
    for c, cluster in enumerate(read.listed(platform, "clusters")):
        yield 1, f"clusters[{c}].resources", read.amounts(cluster, "resources")
        for g, group in enumerate(read.listed(cluster, "nodes")):
            yield 2, f"clusters[{c}].nodes[{g}].resources", read.amounts(group, "resources")


def _resource_places(platform: object) -> dict[str, list[ResourcePlaces]]:
    """Return where there is something of each resource; of counts that cannot be read any number of processors."""
    found: dict[str, list[ResourcePlaces]] = {}
    sizes: dict[str, tuple[int, float]] = {"resources": (1, read.num_processors(platform) or math.inf)}
    for c, cluster in enumerate(read.listed(platform, "clusters")):
        groups = read.groups(cluster)
        sizes[f"clusters[{c}].resources"] = 1, sum(a * b for a, b in groups) if groups else math.inf
        for g, pair in enumerate(groups or ()):
            sizes[f"clusters[{c}].nodes[{g}].resources"] = pair
    for _, path, stated in _stated_resources(platform):
        for name, capacity in stated.items():
            count, processors = sizes.get(path, (1, math.inf))
            found.setdefault(name, []).append(ResourcePlaces(path, count, processors, capacity))
    return found


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every resource that no part of the platform has, or has too little of for a job by itself."""
    asking = [(f"jobs[{i}]", job, True) for i, job in stated.jobs]
    asking += [(f"running[{r}].job", read.field(run, "job"), False) for r, run in enumerate(stated.running)]
    asking = [
        entry for entry in asking if read.amounts(entry[1], "resources") or read.amounts(entry[1], "task_resources")
    ]
    places = _resource_places(stated.platform) if asking else {}
    for path, job, is_waiting in asking:
        whole, per_task = read.amounts(job, "resources"), read.amounts(job, "task_resources")
        for name in dict.fromkeys([*whole, *per_task]):
            place = f"{path}.{'resources' if name in whole else 'task_resources'}.{name}"
            if name not in places:
                yield Fault(place, f"must be a resource of the platform, its clusters or its nodes, got {quoted(name)}")
                continue
            tasks = min(
                [n for n in (read.count(s, "tasks") for s in (job, *read.listed(job, "shapes"))) if n], default=0
            )
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


def _conditions(instance: Instance) -> Iterator[Condition]:
    for name in instance.resources_asked:
        total = instance.platform.total_of(name)
        yield Condition(f"the capacity of {quoted(name)} is {total:g}", partial(_without, name))


def _without(name: str, instance: Instance) -> Instance:
    """Return an instance in which no job takes of a resource."""

    def freed(job: Job) -> Job:
        fields = {"resources": job.resources, "task_resources": job.task_resources}
        return job.replace(**{key: {n: a for n, a in of.items() if n != name} for key, of in fields.items()})

    running = [run.replace(job=freed(run.job)) for run in instance.running]
    return instance.replace(jobs=list(map(freed, instance.jobs)), running=running)


FEATURE = Feature(
    fields=(
        *("Job.resources", "Job.task_resources", "NodeGroup.resources", "Cluster.resources"),
        "Platform.resources",
    ),
    is_used=lambda instance: bool(instance.resources_asked),
    faults=_faults,
    platform_faults=_platform_faults,
    conditions=_conditions,
)
