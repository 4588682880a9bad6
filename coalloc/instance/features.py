"""Modelling features: what an instance may state beyond jobs, nodes and links, and who supports it.

A method supports a feature only if it says so. What an instance has besides raises :class:`UnsupportedFeature` before
any work begins, so that a feature which somebody forgot is never ignored. A field that no feature here claims, and that
is not one of the :data:`BASIC` fields, fails at import.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from coalloc.documents.errors import CoallocError
from coalloc.instance.columns import column
from coalloc.instance.job import resources_asked

if TYPE_CHECKING:
    from coalloc.instance.job import Job
    from coalloc.instance.limits import Limit
    from coalloc.instance.platform import Platform


class Placed(Protocol):
    """What is looked at of a job that is placed already."""

    @property
    def start(self) -> float:
        """From when on it holds its processors, s."""


class Featured(Protocol):
    """What is looked at of an instance."""

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs to schedule."""

    @property
    def running(self) -> Sequence[Placed]:
        """The jobs that are placed already."""

    @property
    def platform(self) -> Platform:
        """Where jobs run."""

    @property
    def limits(self) -> Sequence[Limit]:
        """What some jobs take together at most."""

    @property
    def features(self) -> Collection[str]:
        """The names of the features that it uses."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A modelling feature: the fields that state it (``Class.field``), and whether an instance uses it."""

    fields: tuple[str, ...]
    is_used: Callable[[Featured], bool]


FEATURES: Mapping[str, Feature] = {
    "deadline": Feature(
        ("Job.deadline",),
        lambda instance: any(time is not None for time in column(instance.jobs, "deadline")),
    ),
    "after": Feature(
        ("Job.after",),
        lambda instance: any(column(instance.jobs, "after")),
    ),
    "eligible": Feature(
        ("Job.eligible",),
        lambda instance: any(column(instance.jobs, "eligible")),
    ),
    "requires": Feature(
        ("Job.requires", "NodeGroup.features"),
        lambda instance: any(column(instance.jobs, "requires")),
    ),
    "times": Feature(
        ("Job.times", "Shape.times"),
        lambda instance: (
            any(column(instance.jobs, "times"))
            or any(shape.times for shapes in column(instance.jobs, "shapes") for shape in shapes)
        ),
    ),
    "shapes": Feature(
        ("Job.shapes",),
        lambda instance: any(column(instance.jobs, "shapes")),
    ),
    "unavailable": Feature(
        ("Platform.unavailable",),
        lambda instance: bool(instance.platform.unavailable),
    ),
    "start": Feature(
        ("RunningJob.start",),
        lambda instance: any(run.start > 0.0 for run in instance.running),
    ),
    "resources": Feature(
        (
            "Job.resources",
            "Job.task_resources",
            "NodeGroup.resources",
            "Cluster.resources",
            "Platform.resources",
        ),
        lambda instance: bool(resources_asked(instance.jobs)),
    ),
    "limits": Feature(
        ("Instance.limits",),
        lambda instance: bool(instance.limits),
    ),
    "max_clusters": Feature(
        ("Job.max_clusters",),
        lambda instance: any(column(instance.jobs, "max_clusters")),
    ),
    "min_tasks_per_cluster": Feature(
        ("Job.min_tasks_per_cluster",),
        lambda instance: any(column(instance.jobs, "min_tasks_per_cluster")),
    ),
    "slices": Feature(
        ("Job.slices",),
        lambda instance: any(column(instance.jobs, "slices")),
    ),
    "level": Feature(
        ("Job.level", "Switch.level", "SwitchLevel.name", "SwitchLevel.required"),
        lambda instance: any(level is not None and level.required for level in column(instance.jobs, "level")),
    ),
    "lags": Feature(
        ("Job.lags",),
        lambda instance: any(column(instance.jobs, "lags")),
    ),
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


class UnsupportedFeature(CoallocError):  # noqa: N818 - what it is, not that it is an error
    """A method does not support a modelling feature that an instance uses; raised before any work begins.

    Attributes
    ----------
    method : str
        The method.
    features : tuple of str
        Names of the features that it does not support.

    See Also
    --------
    coalloc.solve : Supports every feature with regular objectives.

    Notes
    -----
    docs/modelling-features.md lists which method supports which feature.

    Examples
    --------
    >>> import coalloc
    >>> job = coalloc.Job("J1", tasks=1, base_time=10.0, deadline=20.0)
    >>> instance = coalloc.example("pas-figure-3.3").replace(jobs=[job])
    >>> try:
    ...     coalloc.solve(instance, model="pas")
    ... except coalloc.UnsupportedFeature as error:
    ...     print(error.features)
    ('deadline',)
    """

    def __init__(self, method: str, features: Iterable[str], why: str = "") -> None:
        self.method, self.features = method, tuple(features)
        because = f": {why}" if why else ""
        used = " and ".join(map(repr, self.features))
        super().__init__(f"{method} does not support {used}, which this instance uses{because}")


def refuse_unsupported(instance: Featured, method: str, supported: Collection[str], why: str = "") -> None:
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
