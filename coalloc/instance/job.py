"""Parallel jobs: all tasks start together, keep their processors, and are never preempted.

A job is rigid, or has several shapes of which one is chosen when it starts: it is moldable. Source: thesis, section 2.2
(tau_j, Tb_j, sigma_j, PTBW_j); rigid and moldable, D. Feitelson, L. Rudolph, "Toward convergence in job schedulers for
parallel supercomputers", JSSPP (1996).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Self, cast

from coalloc.documents.values import (
    LEFT_OUT,
    NO_AMOUNTS,
    NO_SECONDS,
    NONE,
    SINCE_2,
    AmountsField,
    Count,
    Listed,
    NonNegative,
    PositiveSeconds,
    Seconds,
    SecondsField,
    Share,
    Text,
    Value,
    value,
)
from coalloc.instance.clusters import NodeGroup


@value()
class Shape(Value):
    """Another way in which a job may run: so many tasks, and how long they take.

    Parameters
    ----------
    tasks
        Processors that it needs all at once; no two shapes of a job have as many.
    base_time
        Run time on dedicated reference nodes, s.
    estimate
        The user's estimate of that base time, s; the base time itself where none is given.
    times
        Run time on dedicated nodes by a feature that they have, s: there it stands for base time and power.
    """

    tasks: Count
    base_time: PositiveSeconds
    estimate: PositiveSeconds = cast(float, None)
    times: SecondsField = field(default=NO_SECONDS, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        if self.estimate is None:
            object.__setattr__(self, "estimate", self.base_time)


@value()
class Job(Value):
    """A job: rigid, unless it has other ``shapes`` than its own tasks and base time.

    Parameters
    ----------
    id
        Unique name within an instance; data, never a path.
    tasks
        Processors that it needs all at once (tau).
    base_time
        Run time on dedicated reference nodes, s (Tb).
    processing_share
        Share of the base time that is processing; the rest is communication (sigma).
    task_bandwidth
        Bandwidth that one task asks of the network, MB/s (PTBW).
    arrival
        Release time, s.
    estimate
        The user's estimate of the base time, s; the base time itself where none is given.
    memory
        Memory that one task asks for, MB; nothing where none is given.
    user
        Whose it is; some policies and groupings use it.
    energy_estimate
        What its user expects it to consume, J per task; some policies use it.
    weight
        What a second of its response, or of its tardiness, counts in weighted objectives, without a unit.
    due_date
        Instant by which it should have ended, s; lateness and tardiness count from there. None: it is never late.
    deadline
        Instant by which it must have ended, s; a simulation counts those that it misses.
    after
        Ids of the jobs, to schedule or running, that must have ended before it starts.
    eligible
        Names of the clusters that it may use; none: all.
    requires
        Features that each node it uses must have.
    times
        Run time on dedicated nodes by a feature that they have, s: there it stands for base time and power.
    shapes
        Other tasks and base times, of which it may take one when it starts, instead of its own: its first shape.
    resources
        What it takes as a whole of resources by name, in their units: once of each place that has the resource (the
        platform, a cluster or a node) in which it has tasks.
    task_resources
        What each of its tasks takes of resources by name, in their units, where that task is.
    """

    id: Text
    tasks: Count
    base_time: PositiveSeconds
    processing_share: Share = 1.0
    task_bandwidth: NonNegative = 0.0
    arrival: Seconds = 0.0
    estimate: PositiveSeconds = cast(float, None)
    user: Text | None = None
    memory: NonNegative | None = None
    energy_estimate: NonNegative | None = None
    weight: NonNegative = field(default=1.0, metadata=LEFT_OUT)
    due_date: Seconds | None = None
    deadline: Seconds | None = field(default=None, metadata=SINCE_2)
    after: Listed[Text] = field(default=NONE, metadata=SINCE_2)
    eligible: Listed[Text] = field(default=NONE, metadata=SINCE_2)
    requires: Listed[Text] = field(default=NONE, metadata=SINCE_2)
    times: SecondsField = field(default=NO_SECONDS, metadata=LEFT_OUT | SINCE_2)
    shapes: Listed[Shape] = field(default=NONE, metadata=SINCE_2)
    resources: AmountsField = field(default=NO_AMOUNTS, metadata=LEFT_OUT | SINCE_2)
    task_resources: AmountsField = field(default=NO_AMOUNTS, metadata=LEFT_OUT | SINCE_2)

    def __post_init__(self) -> None:
        if self.estimate is None:
            object.__setattr__(self, "estimate", self.base_time)

    @property
    def is_choosy(self) -> bool:
        """Whether it says which clusters or nodes it may use."""
        return bool(self.eligible or self.requires)

    @property
    def asks_resources(self) -> bool:
        """Whether it takes something of a resource."""
        return bool(self.resources or self.task_resources) and any(
            (*self.resources.values(), *self.task_resources.values())
        )

    def amount(self, resource: str, tasks: int) -> float:
        """Return what it takes of a resource in a place in which it has so many tasks, in the unit of the resource."""
        if tasks == 0:
            return 0.0
        return self.resources.get(resource, 0.0) + tasks * self.task_resources.get(resource, 0.0)

    @property
    def in_shapes(self) -> tuple[Self, ...]:
        """The rigid jobs that it may run as, by number of the shape: itself, where it has one shape only."""
        if not self.shapes:
            return (self,)
        rigid = self.replace(shapes=())
        others = (
            rigid.replace(tasks=s.tasks, base_time=s.base_time, estimate=s.estimate, times=s.times) for s in self.shapes
        )
        return (rigid, *others)

    def may_use(self, cluster: str, group: NodeGroup) -> bool:
        """Return whether it may have tasks on nodes of a group of a cluster."""
        return (not self.eligible or cluster in self.eligible) and set(self.requires) <= set(group.features)

    def time_named(self, group: NodeGroup) -> float | None:
        """Return its run time by the feature that nodes of a group have and it names, s; None where they have none."""
        if not self.times:
            return None
        return next((self.times[feature] for feature in group.features if feature in self.times), None)


def longest_stated_time(job: Job) -> float:
    """Return the longest of the run times that a job states, s."""
    if not (job.times or job.shapes):
        return job.base_time
    return max(max([shape.base_time, *shape.times.values()]) for shape in job.in_shapes)


def resources_asked(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return the names of the resources that jobs take something of, in order."""
    takers = [job for job in jobs if job.asks_resources]
    return tuple(sorted({name for job in takers for name in (*job.resources, *job.task_resources)}))
