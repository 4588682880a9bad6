"""Resources by name: where the platform has them, and how many tasks of a job a place can have by them.

A resource is of the platform, of clusters, or of the nodes of groups: a *place* is the platform, a cluster, or a node.
All tasks in a place share what it has; a place that states nothing of a resource of its level has nothing of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from coalloc.instance.clusters import NodeGroup
from coalloc.instance.job import Job
from coalloc.instance.platform import Platform
from coalloc.instance.rounding import capacity_limit

Level = Literal["platform", "cluster", "node"]


def level_of(platform: Platform, resource: str) -> Level:
    """Return what a resource is of; no platform has one at two levels."""
    if resource in platform.resources:
        return "platform"
    return "cluster" if any(resource in cluster.resources for cluster in platform.clusters) else "node"


def with_more(platform: Platform, resource: str, factor: float) -> Platform:
    """Return a platform that has so many times as much of a resource wherever it has some."""

    def scaled(amounts: Mapping[str, float]) -> dict[str, float]:
        return {name: amount * factor if name == resource else amount for name, amount in amounts.items()}

    clusters = [
        cluster.replace(
            resources=scaled(cluster.resources),
            nodes=[group.replace(resources=scaled(group.resources)) for group in cluster.nodes],
        )
        for cluster in platform.clusters
    ]
    return platform.replace(resources=scaled(platform.resources), clusters=clusters)


def of_nodes(platform: Platform, resources: Iterable[str]) -> tuple[str, ...]:
    """Return those of some resources that nodes have."""
    return tuple(name for name in resources if level_of(platform, name) == "node")


def tasks_within(limit: float, job: Job, resource: str, most: int) -> int:
    """Return how many of up to ``most`` tasks of a job fit into a place by what it has of a resource."""
    if job.amount(resource, most) <= limit:
        return most
    whole, per_task = job.resources.get(resource, 0.0), job.task_resources.get(resource, 0.0)
    return int((limit - whole) // per_task) if whole <= limit else 0


def tasks_on_node(group: NodeGroup, resources: Iterable[str], job: Job) -> int:
    """Return how many tasks of a job fit on a node by some resources of nodes and its cores."""
    most = group.cores
    for name in resources:
        most = tasks_within(capacity_limit(group.resources.get(name, 0.0)), job, name, most)
    return most


def contended_nodes(platform: Platform, jobs: Sequence[Job], resources: Collection[str]) -> list[int]:
    """Return the nodes, by index, of several cores of which tasks of some jobs may ask for more than they have.

    ``resources`` are those of nodes. On all other nodes as many tasks fit by them as of one job do.
    """
    greatest = {name: max(job.amount(name, 1) for job in jobs) for name in resources}
    is_tight = [
        [
            group.cores > 1
            and any(group.cores * greatest[name] > capacity_limit(group.resources.get(name, 0.0)) for name in resources)
            for group in cluster.nodes
        ]
        for cluster in platform.clusters
    ]
    return [n for n, node in enumerate(platform.nodes) if is_tight[node.cluster][node.group]] if resources else []
