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
        lambda instance: any(job.deadline is not None for job in instance.jobs),
    ),
    "after": Feature(
        ("Job.after",),
        lambda instance: any(job.after for job in instance.jobs),
    ),
    "eligible": Feature(
        ("Job.eligible",),
        lambda instance: any(job.eligible for job in instance.jobs),
    ),
    "requires": Feature(
        ("Job.requires", "NodeGroup.features"),
        lambda instance: any(job.requires for job in instance.jobs),
    ),
    "times": Feature(
        ("Job.times", "Shape.times"),
        lambda instance: any(job.times or any(shape.times for shape in job.shapes) for job in instance.jobs),
    ),
    "shapes": Feature(
        ("Job.shapes",),
        lambda instance: any(job.shapes for job in instance.jobs),
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
        lambda instance: any(job.asks_resources for job in instance.jobs),
    ),
    "limits": Feature(
        ("Instance.limits",),
        lambda instance: bool(instance.limits),
    ),
    "max_clusters": Feature(
        ("Job.max_clusters",),
        lambda instance: any(job.max_clusters is not None for job in instance.jobs),
    ),
    "min_tasks_per_cluster": Feature(
        ("Job.min_tasks_per_cluster",),
        lambda instance: any(job.min_tasks_per_cluster is not None for job in instance.jobs),
    ),
    "slices": Feature(
        ("Job.slices",),
        lambda instance: any(job.slices is not None for job in instance.jobs),
    ),
    "level": Feature(
        ("Job.level", "Switch.level", "SwitchLevel.name", "SwitchLevel.required"),
        lambda instance: any(job.level is not None and job.level.required for job in instance.jobs),
    ),
    "lags": Feature(
        ("Job.lags",),
        lambda instance: any(job.lags for job in instance.jobs),
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


class RelaxedFeatureWarning(UserWarning):
    """A lower bound leaves out features of an instance, or constraints: it also holds without them.

    See Also
    --------
    coalloc.lower_bound : Warns where a bound on energy relaxes features.

    Examples
    --------
    >>> import warnings
    >>> import coalloc
    >>> instance = coalloc.example("pcbe-8")
    >>> jobs = [job.replace(deadline=100.0) for job in instance.jobs]
    >>> with warnings.catch_warnings(record=True) as found:
    ...     bound = coalloc.lower_bound(instance.replace(jobs=jobs), "energy")
    >>> print(found[0].message)
    lower_bound with objective 'energy' relaxes 'deadline'; it also holds without
    """


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
