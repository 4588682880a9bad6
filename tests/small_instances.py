"""Small random instances for tests: the family of :mod:`coalloc.testing.small`, by seed and for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from coalloc.instance import Instance
from coalloc.problem.allocation import Scope, node_classes, tasks_per_cluster
from coalloc.testing.small import (
    NODE_MODEL_SIZE,
    SmallSize,
    small_equal_instance,
    small_instance,
    small_memory_instance,
    small_package,
)

TINY = SmallSize(max_jobs=3, max_clusters=3, max_per_cluster=2, max_processors=4, max_slots=6)
"""Small enough to enumerate every start on every processor."""

AGREEMENT_SEEDS = range(200)
"""The seeds over which formulations are compared with brute force."""

__all__ = [
    "AGREEMENT_SEEDS",
    "NODE_MODEL_SIZE",
    "TINY",
    "SmallSize",
    "equal_instances",
    "fitted",
    "slotted_instances",
    "small_equal_instance",
    "small_instance",
    "small_memory_instance",
    "small_package",
]


def slotted_instances(size: SmallSize | None = None) -> st.SearchStrategy[tuple[Instance, float]]:
    """Return a strategy of instances with a slot length, s; a failing example names its seed in the instance."""
    return st.integers(min_value=0, max_value=2**32 - 1).map(lambda seed: small_instance(seed, size))


def equal_instances(size: SmallSize | None = None) -> st.SearchStrategy[tuple[Instance, float]]:
    """Return a strategy of instances with a slot length, s, in which most jobs are copies of others."""
    return st.integers(min_value=0, max_value=2**32 - 1).map(lambda seed: small_equal_instance(seed, size))


def fitted(instance: Instance, scope: Scope) -> Instance:
    """Return an instance whose jobs have no more tasks than the largest cluster, or node, has processors."""
    classes = node_classes(instance.platform, scope)
    room = [c.capacity for c in classes]
    if scope == "cluster":
        room = list(tasks_per_cluster(room, classes, len(instance.platform.clusters)))
    most = sum(room) if scope == "platform" else max(room)
    return instance.replace(jobs=tuple(job.replace(tasks=min(job.tasks, most)) for job in instance.jobs))
