"""Scenarios of a what-if study: the jobs of a log on a machine under a policy, and the jobs that a change is about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from coalloc.documents.errors import Fault, InstanceError
from coalloc.documents.text import nearest, quoted
from coalloc.documents.values import NONE, Count, Listed, PositiveSeconds, Text, Value, value
from coalloc.instance import Cluster, Instance, Job, Platform
from coalloc.measures.groups import Labels, name_labels
from coalloc.workloads.logs import Log
from coalloc.workloads.slurm.demands import PARTITION

Truths = NDArray[np.bool_]

Names = Annotated[Listed[Text], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
"""A name, or several."""

GROUPS = ("user", "account", "group", "queue", "partition", "qos")
"""Attributes of a job that a log may name."""


@dataclass(frozen=True)
class Scenario:
    """An instance, the policy that runs it, and the groups of its jobs by what a log names (:data:`GROUPS`).

    ``notes`` say what a change left as it was.
    """

    instance: Instance
    policy: Mapping[str, Any]
    groups: Mapping[str, Labels]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, log: Log, policy: Mapping[str, Any]) -> Scenario:
        """Return a log as it is; partitions of an imported site are those that its jobs require."""
        jobs = log.instance.jobs
        named = {
            "user": [job.user for job in jobs],
            "partition": [next(map(_partition_of, filter(_is_partition, job.requires)), None) for job in jobs],
        }
        groups = {name: name_labels(of_jobs) for name, of_jobs in named.items() if any(of_jobs)}
        return cls(log.instance, policy, {**groups, **log.memberships})

    @property
    def platform(self) -> Platform:
        """The machine."""
        return self.instance.platform

    def on(self, clusters: Sequence[Cluster]) -> Scenario:
        """Return the same on other clusters."""
        return replace(self, instance=self.instance.replace(platform=self.platform.replace(clusters=clusters)))

    def without_jobs(self, clusters: Sequence[Cluster]) -> Scenario:
        """Return the machine with other clusters, whatever does not fit on them."""
        platform = self.platform.replace(clusters=clusters)
        return replace(self, instance=self.instance.replace(platform=platform, jobs=(), running=(), limits=()))

    def with_jobs(
        self, rows: Truths, changed: Callable[[Job], Job], clusters: Sequence[Cluster] | None = None
    ) -> Scenario:
        """Return the same with some jobs changed, and on other clusters."""
        jobs = [changed(job) if row else job for job, row in zip(self.instance.jobs, rows.tolist(), strict=True)]
        platform = self.platform if clusters is None else self.platform.replace(clusters=clusters)
        return replace(self, instance=self.instance.replace(platform=platform, jobs=jobs))

    def noting(self, *notes: str) -> Scenario:
        """Return the same with more notes; empty ones are none."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))

    def capacity(self, requires: Iterable[str], clusters: Collection[str] | None = None) -> int:
        """Return the processors on nodes with some features, in some clusters."""
        features = set(requires)
        return sum(
            group.count * group.places
            for cluster in self.platform.clusters
            if clusters is None or cluster.name in clusters
            for group in cluster.nodes
            if features.issubset(group.features)
        )


def _is_partition(feature: str) -> bool:
    return feature.startswith(PARTITION)


def _partition_of(feature: str) -> str:
    return feature.removeprefix(PARTITION)


def fault(path: str, sentence: str) -> InstanceError:
    """Return the error that one fault is."""
    return InstanceError([Fault(path, sentence)])


@value()
class Selection(Value):
    """Jobs of a log: those that have all that is stated, one of the names where there are several."""

    user: Names = NONE
    account: Names = NONE
    group: Names = NONE
    queue: Names = NONE
    partition: Names = NONE
    qos: Names = NONE
    min_tasks: Count | None = None
    max_tasks: Count | None = None
    max_walltime: PositiveSeconds | None = field(default=None, metadata={"unit": "s"})

    def rows(self, scenario: Scenario, path: str = "jobs") -> Truths:
        """Return whether each job is one of these; raise where a name is unknown or none is."""
        jobs = scenario.instance.jobs
        chosen = np.ones(len(jobs), dtype=bool)
        for name in GROUPS:
            asked = getattr(self, name)
            if asked:
                chosen &= _named(scenario, name, asked, f"{path}.{name}")
        tasks = np.array([job.tasks for job in jobs], dtype=np.int64)
        walltime = np.array([job.estimate for job in jobs], dtype=np.float64)
        for bounds, numbers in (((self.min_tasks, self.max_tasks), tasks), ((None, self.max_walltime), walltime)):
            low, high = bounds
            chosen &= (numbers >= (low or 0)) & (numbers <= (np.inf if high is None else high))
        if not chosen.any():
            raise fault(path, "selects no job of the log")
        return chosen


ALL = Selection()


def groups_named(scenario: Scenario, name: str, path: str) -> Labels:
    """Return a grouping of the jobs; raise where the log does not have it."""
    if name not in scenario.groups:
        there = ", ".join(scenario.groups) or "nothing"
        raise fault(path, f"the log does not name the {name} of its jobs; it names: {there}")
    return scenario.groups[name]


def _named(scenario: Scenario, name: str, asked: Sequence[str], path: str) -> Truths:
    """Return whether each job is in one of some groups."""
    labels = groups_named(scenario, name, path)
    known = [str(group) for group in labels.names if group is not None]
    unknown = [group for group in asked if group not in known]
    if unknown:
        raise fault(path, f"no job of the log has the {name} {quoted(unknown[0])}{nearest(unknown[0], known)}")
    places = [place for place, group in enumerate(labels.names) if group in asked]
    return np.isin(labels.of_job, places)
