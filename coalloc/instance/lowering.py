"""Limits as resources of the platform, so that whatever supports resources supports limits without code of its own.

The instance that users see keeps its limits; the one that methods and runs work on has resources instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from coalloc.instance.instance import Instance
from coalloc.instance.job import Job
from coalloc.instance.limits import resource_names
from coalloc.instance.platform import Platform


def as_resources(instance: Instance) -> Instance:
    """Return an instance whose limits are resources of the platform, called ``limit NAME``."""
    if not instance.limits:
        return instance
    names = tuple(resource_names(instance.limits, _resources_of(instance.platform)))
    capacities, taken = dict(instance.platform.resources), dict[str, dict[str, float]]()
    for name, limit in zip(names, instance.limits, strict=True):
        capacities[name] = limit.capacity
        for job, amount in limit.amount_of.items():
            taken.setdefault(job, {})[name] = amount
    return instance.replace(
        platform=instance.platform.replace(resources=capacities),
        jobs=[_taking(job, taken) for job in instance.jobs],
        running=[run.replace(job=_taking(run.job, taken)) for run in instance.running],
        limits=(),
    )


def _taking(job: Job, taken: Mapping[str, Mapping[str, float]]) -> Job:
    """Return a job that also takes what is taken by its id."""
    return job.replace(resources={**job.resources, **taken[job.id]}) if job.id in taken else job


def _resources_of(platform: Platform) -> frozenset[str]:
    """Return the names of all resources of a platform, its clusters and its nodes."""
    groups = (group.resources for cluster in platform.clusters for group in cluster.nodes)
    return frozenset(platform.resources).union(*(c.resources for c in platform.clusters), *groups)
