"""The kinds of changes of a what-if, each a value with what a file states of it and a function that makes the change.

A change returns the scenario with one thing changed. What is wrong with it for this log raises an
:class:`~coalloc.instance.InstanceError` with paths below the change. docs/howto/what-if.md shows each kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from coalloc.documents.text import nearest, quoted
from coalloc.documents.values import (
    Flag,
    Listed,
    NonNegative,
    Positive,
    Share,
    Text,
    Value,
    value,
)
from coalloc.documents.wording import plural
from coalloc.heuristics.registry import POLICIES, policy_named
from coalloc.instance import Cluster, CoallocError, Job, Limit, NodeGroup, Shape
from coalloc.instance.job import SwitchLevel
from coalloc.studies.whatif_scenario import ALL, Names, Scenario, Selection, fault, groups_named
from coalloc.workloads.slurm.demands import PARTITION

AMOUNT = re.compile(r"(?P<sign>[+-]?)\s*(?P<number>\d{1,9}(?:\.\d{1,9})?)\s*(?P<percent>%?)")

OTHERS = "others"
"""Partition of the nodes that a split of all nodes leaves."""

CLUSTER = "cluster"
"""Name of the lowest level of a topology: a cluster, such as the nodes of a leaf switch."""


def _refused(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})


def _amount(text: str) -> str:
    match = AMOUNT.fullmatch(text)
    if match is None or (not match["percent"] and "." in match["number"]):
        raise _refused(f'must be a number of nodes or a percentage, such as "+10 %" or "-4", got {quoted(text)}')
    return text


Amount = Annotated[str, Field(strict=True), AfterValidator(_amount)]
"""A number of nodes, or a share of them in percent; with a sign a difference."""


def _nodes_of(amount: str, total: int) -> int:
    """Return a number of nodes, of so many in all."""
    match = AMOUNT.fullmatch(amount)
    assert match is not None, amount  # the field has checked it
    number = float(match["number"]) * (total / 100.0 if match["percent"] else 1.0)
    return round(-number if match["sign"] == "-" else number)


def _policy(given: object) -> dict[str, Any]:
    """Return a policy with its options, both checked."""
    policy = {"policy": given} if isinstance(given, str) else given
    if not isinstance(policy, dict) or not isinstance(policy.get("policy"), str):
        raise _refused('must be the name of a policy, or a table such as {policy = "easy", queue_order = "f1"}')
    options = {name: option for name, option in policy.items() if name != "policy"}
    if " " in policy["policy"]:
        raise _refused('states options in a table: {policy = "easy", queue_order = "f1"}')
    try:
        policy_named(policy["policy"], options)
    except CoallocError as error:
        raise _refused("; ".join(str(error).splitlines())) from None
    return policy


PolicyField = Annotated[dict[str, Any], BeforeValidator(_policy)]
"""A policy by its name, or as ``{"policy": name, option: value}``."""


# ------------------------------------------------------------------------------ the machine


Chosen = list[tuple[int, int]]
"""Node groups: the place of the cluster, and of the group in it."""


def _groups(scenario: Scenario, cluster: str | None, partition: str | None) -> Chosen:
    """Return the node groups of a cluster and of a partition; None: of all."""
    clusters = scenario.platform.clusters
    names = [other.name for other in clusters]
    if cluster is not None and cluster not in names:
        raise fault("cluster", f"must be a cluster of the platform, got {quoted(cluster)}{nearest(cluster, names)}")
    partitions = _partitions(scenario)
    if partition is not None and partition not in partitions:
        raise fault("partition", _unknown_partition(partition, partitions))
    return [
        (c, g)
        for c, holder in enumerate(clusters)
        for g, group in enumerate(holder.nodes)
        if cluster in (None, holder.name) and (partition is None or PARTITION + partition in group.features)
    ]


def _partitions(scenario: Scenario) -> list[str]:
    """Return the partitions that only some nodes have."""
    groups = (group for cluster in scenario.platform.clusters for group in cluster.nodes)
    features = chain.from_iterable(group.features for group in groups)
    return [*dict.fromkeys(name.removeprefix(PARTITION) for name in features if name.startswith(PARTITION))]


def _unknown_partition(name: str, known: Sequence[str]) -> str:
    there = f"the platform has: {', '.join(known)}" if known else "all nodes of the platform are in all partitions"
    return f"no part of the nodes is the partition {quoted(name)}; {there}"


def _apportioned(counts: Sequence[int], number: int) -> list[int]:
    """Return a number in parts in proportion to counts, by the method of the largest remainder."""
    exact = np.array(counts, dtype=np.float64) * number / sum(counts)
    parts = np.floor(exact + 1e-9).astype(np.int64)
    for place in np.argsort(parts - exact, kind="stable")[: number - int(parts.sum())].tolist():
        parts[place] += 1
    return [int(part) for part in parts]


def _sizes(scenario: Scenario, chosen: Chosen) -> list[int]:
    return [scenario.platform.clusters[c].nodes[g].count for c, g in chosen]


@value()
class Nodes(Value):
    """More or fewer nodes: in each node group, of a cluster or a partition, in proportion to its nodes.

    New nodes are numbered after those of their cluster, so that all others keep their numbers.
    """

    by: Amount
    cluster: Text | None = None
    partition: Text | None = None

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario on other numbers of nodes."""
        chosen = _groups(scenario, self.cluster, self.partition)
        counts = _sizes(scenario, chosen)
        change = _nodes_of(self.by, sum(counts))
        if not -sum(counts) < change or not change:
            number = plural(sum(counts), "node")
            raise fault("by", f"must change the number of nodes and leave some, got {self.by} of {number}")
        if change < 0 and (scenario.instance.running or scenario.platform.unavailable):
            raise fault("by", "fewer nodes are not supported where jobs run at the beginning, or nodes have outages")
        parts = dict(zip(chosen, _apportioned(counts, abs(change)), strict=True))
        sign = 1 if change > 0 else -1
        clusters = [
            _resized(cluster, [sign * parts.get((c, g), 0) for g in range(len(cluster.nodes))])
            for c, cluster in enumerate(scenario.platform.clusters)
        ]
        machine = scenario.without_jobs(clusters)
        misfits = [job.tasks for job in scenario.instance.jobs if _least(job) > machine.capacity(job.requires)]
        if change < 0 and misfits:
            raise fault("by", f"leaves too few nodes for {plural(len(misfits), 'job')} of up to {max(misfits)} tasks")
        return scenario.on(clusters)


def _least(job: Job) -> int:
    """Return the least number of processors that a job runs on."""
    return min(shape.tasks for shape in job.in_shapes)


def _resized(cluster: Cluster, changes: Sequence[int]) -> Cluster:
    """Return a cluster with more or fewer nodes of each group."""
    groups: list[NodeGroup] = []
    new: list[NodeGroup] = []
    for g, (group, change) in enumerate(zip(cluster.nodes, changes, strict=True)):
        grows_in_place = change <= 0 or g == len(cluster.nodes) - 1
        left = group.count + (change if grows_in_place else 0)
        groups += [group.replace(count=left)] if left else []
        new += [] if grows_in_place else [group.replace(count=change)]
    if not groups:
        raise fault("by", f"would leave no node of cluster {quoted(cluster.name)}")
    return cluster.replace(nodes=[*groups, *new])


@value()
class Merge(Value):
    """Partitions merged: jobs of each may use the nodes of all."""

    partitions: Names

    def __post_init__(self) -> None:
        if len({*self.partitions}) < 2:
            raise fault("partitions", "must be at least two partitions")

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the partitions merged."""
        known = _partitions(scenario)
        for name in self.partitions:
            if name not in known:
                raise fault("partitions", _unknown_partition(name, known))
        merged = [PARTITION + name for name in self.partitions]
        return scenario.on([_merged(cluster, merged) for cluster in scenario.platform.clusters])


def _merged(cluster: Cluster, features: Sequence[str]) -> Cluster:
    """Return a cluster whose nodes have all of some features, or none of them."""
    return cluster.replace(
        nodes=[
            group.replace(features=[*dict.fromkeys((*group.features, *features))])
            if set(features) & set(group.features)
            else group
            for group in cluster.nodes
        ]
    )


@value()
class Split(Value):
    """A partition, or all nodes, split: some nodes become a partition of its own for some of the jobs.

    All other jobs keep to the other nodes. Jobs that are too large for their part use both.
    """

    nodes: Amount
    name: Text
    jobs: Selection
    partition: Text | None = None

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the partition split."""
        if any(window.group is not None for window in scenario.platform.unavailable):
            raise fault("nodes", "a split is not supported where outages are of some processors of a node group")
        clusters = self._clusters(scenario)
        jobs, moved = scenario.instance.jobs, self.jobs.rows(scenario)
        parts = scenario.without_jobs(clusters)
        large: set[str] = set()
        requires: dict[str, list[str]] = {}
        for job, moves in zip(jobs, moved.tolist(), strict=True):
            if self.partition is None or self._kept in job.requires:
                others = [feature for feature in job.requires if feature != self._kept]
                requires[job.id] = [*others, self._new if moves else self._kept]
                if _least(job) > parts.capacity(requires[job.id]):
                    requires[job.id] = [*others, *([self._both] if self.partition is not None else [])]
                    large.add(job.id)
        everyone = np.ones(len(jobs), dtype=bool)
        note = f"{plural(len(large), 'job')} too large for one part: on both" if large else ""
        return scenario.with_jobs(
            everyone, lambda job: job.replace(requires=requires.get(job.id, job.requires)), clusters
        ).noting(note)

    @property
    def _kept(self) -> str:
        """Feature of the nodes that are left."""
        return PARTITION + (OTHERS if self.partition is None else self.partition)

    @property
    def _new(self) -> str:
        """Feature of the nodes that are split off."""
        return PARTITION + self.name

    @property
    def _both(self) -> str:
        """Feature of all nodes of the partition."""
        return f"{self._kept} and {self.name}"

    def _clusters(self, scenario: Scenario) -> list[Cluster]:
        """Return the clusters with the node groups split, in proportion to their nodes."""
        chosen = _groups(scenario, None, self.partition)
        if self.name in _partitions(scenario):
            raise fault("name", f"must be the name of a new partition, got {quoted(self.name)}")
        counts = _sizes(scenario, chosen)
        number = _nodes_of(self.nodes, sum(counts))
        if not 0 < number < sum(counts):
            raise fault("nodes", f"must be some of the {plural(sum(counts), 'node')} and leave some, got {self.nodes}")
        parts = dict(zip(chosen, _apportioned(counts, number), strict=True))
        clusters = []
        for c, cluster in enumerate(scenario.platform.clusters):
            groups = (self._parts(group, parts.get((c, g))) for g, group in enumerate(cluster.nodes))
            clusters.append(cluster.replace(nodes=[*chain.from_iterable(groups)]))
        return clusters

    def _parts(self, group: NodeGroup, number: int | None) -> Iterator[NodeGroup]:
        """Yield the parts of a node group, of which so many nodes are split off; None: it is not of the partition."""
        if number is None:
            yield group
            return
        others = [feature for feature in group.features if feature != self._kept]
        others += [self._both] if self.partition is not None else []
        for count, feature in ((number, self._new), (group.count - number, self._kept)):
            if count:
                yield group.replace(count=count, features=[*others, feature])


# ------------------------------------------------------------------------------ the jobs


@value()
class Walltimes(Value):
    """Requested walltimes nearer to the run times, or farther from them: what they are above these, times a factor."""

    overestimate: NonNegative
    jobs: Selection = ALL

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with other requested walltimes."""
        return scenario.with_jobs(self.jobs.rows(scenario), self._changed)

    def _changed(self, job: Job) -> Job:
        shapes = [shape.replace(estimate=self._scaled(shape.base_time, shape.estimate)) for shape in job.shapes]
        return job.replace(estimate=self._scaled(job.base_time, job.estimate), shapes=shapes)

    def _scaled(self, run: float, asked: float) -> float:
        return asked if asked <= run else run + self.overestimate * (asked - run)


@value()
class Level(Value):
    """A level of the topology that jobs require, or only prefer: policies do not keep a preference.

    Jobs that are too large for one switch of the level, or for one cluster, are left as they are.
    """

    name: Text
    required: Flag
    jobs: Selection = ALL

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the level of the jobs changed."""
        parts = self._parts(scenario)
        rows = self.jobs.rows(scenario)
        largest: dict[tuple[str, ...], int] = {}
        too_large = np.zeros(len(rows), dtype=bool)
        for row in np.flatnonzero(rows).tolist():
            job = scenario.instance.jobs[row]
            if job.requires not in largest:
                largest[job.requires] = max(scenario.capacity(job.requires, part) for part in parts)
            too_large[row] = job.tasks > largest[job.requires]
        if (too_large == rows).all():
            raise fault("jobs", f"selects only jobs that are too large for one {self.name}")
        number = plural(int(too_large.sum()), "job")
        note = f"{number} too large for one {self.name}: left as they are" if too_large.any() else ""
        return scenario.with_jobs(rows & ~too_large, self._changed).noting(note)

    def _changed(self, job: Job) -> Job:
        if self.name == CLUSTER:
            return job.replace(max_clusters=1 if self.required else None)
        return job.replace(level=SwitchLevel(self.name, self.required))

    def _parts(self, scenario: Scenario) -> list[set[str]]:
        """Return the clusters below each switch of the level."""
        platform = scenario.platform
        if self.name == CLUSTER:
            return [{cluster.name} for cluster in platform.clusters]
        parents = {switch.name: switch.parent for switch in platform.switches}
        level = [switch.name for switch in platform.switches if switch.level == self.name]
        if not level:
            known = [CLUSTER, *dict.fromkeys(switch.level for switch in platform.switches if switch.level is not None)]
            raise fault("name", f"must be a level of the topology ({', '.join(known)}), got {quoted(self.name)}")
        below: dict[str, set[str]] = {name: set() for name in level}
        for cluster in platform.clusters:
            switch = cluster.switch
            while switch is not None:
                if switch in below:
                    below[switch].add(cluster.name)
                switch = parents.get(switch)
        return [*below.values()]


@value()
class Moldable(Value):
    """Rigid jobs that may also run on other numbers of processors, by Amdahl's law.

    On n processors a job takes the time s + (1 - s)/n of that on one, where s is its serial share; 0 keeps its work.
    Source: G. M. Amdahl, Validity of the single processor approach to achieving large scale computing capabilities,
    AFIPS Spring Joint Computer Conference, 1967.
    """

    factors: Annotated[Listed[Positive], Field(min_length=1)]
    serial_share: Share
    jobs: Selection = ALL

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the jobs moldable, under a policy that chooses their modes."""
        policy = scenario.policy["policy"]
        if "shapes" not in POLICIES[policy].options:
            able = ", ".join(name for name, entry in POLICIES.items() if "shapes" in entry.options)
            raise fault("", f"requires a policy that selects modes ({able}), got {policy}")
        most = {requires: scenario.capacity(requires) for requires in {job.requires for job in scenario.instance.jobs}}
        shapes = {
            job.id: self._shapes(job, most[job.requires])
            for job, row in zip(scenario.instance.jobs, self.jobs.rows(scenario).tolist(), strict=True)
            if row and not job.shapes and not job.times
        }
        if not any(shapes.values()):
            raise fault("factors", "no selected job can run on so many processors")
        rows = np.array([bool(shapes.get(job.id)) for job in scenario.instance.jobs])
        changed = scenario.with_jobs(rows, lambda job: job.replace(shapes=shapes[job.id]))
        note = f"{plural(int(rows.sum()), 'job')} moldable; the policy selects the mode that ends first"
        return replace(changed, policy={**scenario.policy, "shapes": "ends-first"}).noting(note)

    def _shapes(self, job: Job, most: int) -> list[Shape]:
        """Return the other modes of a job."""
        numbers = dict.fromkeys(round(factor * job.tasks, 9) for factor in self.factors)
        found = []
        for number in numbers:
            if number.is_integer() and 1 <= number <= most and number != job.tasks:
                ratio = self._time(int(number)) / self._time(job.tasks)
                found.append(Shape(int(number), job.base_time * ratio, job.estimate * ratio))
        return found

    def _time(self, processors: int) -> float:
        return self.serial_share + (1.0 - self.serial_share) / processors


# ------------------------------------------------------------------------------ limits


@value()
class DeclaredLimit(Value):
    """Another capacity of a limit of the instance."""

    name: Text
    capacity: NonNegative

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the limit changed."""
        limits = scenario.instance.limits
        names = [limit.name for limit in limits]
        if self.name not in names:
            there = f"the instance has: {', '.join(names[:10])}" if names else "the instance has no limits"
            raise fault("name", f"is no limit{nearest(self.name, names)}, got {quoted(self.name)}; {there}")
        changed = [limit.replace(capacity=self.capacity) if limit.name == self.name else limit for limit in limits]
        return replace(scenario, instance=scenario.instance.replace(limits=changed))


@value()
class NewLimit(Value):
    """A limit on the jobs, or on the processors, that each user, account, QOS or partition holds at a time."""

    each: Literal["user", "account", "group", "queue", "partition", "qos"]
    running: Annotated[int, Field(strict=True, ge=1)] | None = None
    processors: Annotated[int, Field(strict=True, ge=1)] | None = None
    jobs: Selection = ALL

    def __post_init__(self) -> None:
        if (self.running is None) == (self.processors is None):
            raise fault("", "must have either running (jobs) or processors")

    def applied(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the limit."""
        labels, rows = groups_named(scenario, self.each, "each"), self.jobs.rows(scenario)
        jobs = scenario.instance.jobs
        limits = list(scenario.instance.limits)
        for place in np.unique(labels.of_job[rows]).tolist():
            if labels.names[place] is not None:
                members = [jobs[row] for row in np.flatnonzero(rows & (labels.of_job == place)).tolist()]
                limits.append(self._limit(str(labels.names[place]), members))
        return replace(scenario, instance=scenario.instance.replace(limits=limits))

    def _limit(self, group: str, members: Sequence[Job]) -> Limit:
        name = f"new limit of {self.each} {group}"
        if self.processors is None:
            return Limit(name, [job.id for job in members], float(self.running or 0))
        largest = max(job.tasks for job in members)
        if largest > self.processors:
            whose = f"{self.each} {quoted(group)}"
            raise fault("processors", f"must be at least {largest}, which one job of {whose} requires")
        return Limit(name, [job.id for job in members], float(self.processors), [float(job.tasks) for job in members])
