"""Modelling features, a file each: what an instance may state beyond jobs, nodes and links.

A method supports a feature only if it says so. What an instance has besides raises :class:`UnsupportedFeature` before
any work begins, so that a feature which somebody forgot is never ignored. A field that no feature here claims, and that
is not one of the :data:`BASIC` fields, fails at import. The checker has rules of its own, and does not ask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from coalloc.instance.features import (
    after,
    deadline,
    eligible,
    lags,
    level,
    limits,
    max_clusters,
    min_tasks_per_cluster,
    requires,
    resources,
    shapes,
    slices,
    start,
    times,
    unavailable,
)
from coalloc.instance.features.feature import Feature, RelaxedFeatureWarning, UnsupportedFeature

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance

FEATURES: Mapping[str, Feature] = {
    "deadline": deadline.FEATURE,
    "after": after.FEATURE,
    "eligible": eligible.FEATURE,
    "requires": requires.FEATURE,
    "times": times.FEATURE,
    "shapes": shapes.FEATURE,
    "unavailable": unavailable.FEATURE,
    "start": start.FEATURE,
    "resources": resources.FEATURE,
    "limits": limits.FEATURE,
    "max_clusters": max_clusters.FEATURE,
    "min_tasks_per_cluster": min_tasks_per_cluster.FEATURE,
    "slices": slices.FEATURE,
    "level": level.FEATURE,
    "lags": lags.FEATURE,
}
"""Every feature by its name."""

BASIC: Mapping[str, frozenset[str]] = {
    "Instance": frozenset({"platform", "jobs", "running", "name", "local_users"}),
    "Platform": frozenset({"clusters", "switches", "sharing"}),
    "Cluster": frozenset({"name", "nodes", "link_bandwidth", "switch", "efficiency", "power_states"}),
    "Switch": frozenset({"name", "parent", "bandwidth"}),
    "NodeGroup": frozenset(
        {"count", "power", "availability", "cores", "off_watts", "idle_watts", "static_watts", "core_watts"}
        | {"clock", "flops_per_cycle", "memory", "multiprogramming"}
    ),
    "Job": frozenset(
        {"id", "tasks", "base_time", "processing_share", "task_bandwidth", "arrival", "estimate", "user", "memory"}
        | {"energy_estimate", "weight", "due_date"}
    ),
    "Shape": frozenset({"tasks", "base_time", "estimate"}),
    "RunningJob": frozenset({"job", "nodes", "end"}),
}
"""The other fields of each class: what every method knows, or what time-shared nodes and power state elsewhere."""


def refuse_unsupported(instance: Instance, method: str, supported: Collection[str], why: str = "") -> None:
    """Raise :class:`UnsupportedFeature` where an instance uses a feature that a method does not list; say why if so."""
    missing = [name for name in FEATURES if name in instance.features and name not in supported]
    if missing:
        raise UnsupportedFeature(method, missing, why)


def refuse_undeclared(fields: Mapping[str, Iterable[str]]) -> None:
    """Raise :class:`TypeError` for a field of a class, given by name, that no feature and no basic set claims."""
    claimed = {field for feature in FEATURES.values() for field in feature.fields}
    claimed |= {f"{owner}.{field}" for owner, names in BASIC.items() for field in names}
    found = {f"{owner}.{field}" for owner, names in fields.items() for field in names}
    if found ^ claimed:
        raise TypeError(f"coalloc.instance.features must declare each field once, see {sorted(found ^ claimed)}")


__all__ = [
    "BASIC",
    "FEATURES",
    "Feature",
    "RelaxedFeatureWarning",
    "UnsupportedFeature",
    "refuse_undeclared",
    "refuse_unsupported",
]
