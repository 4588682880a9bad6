"""Parallel jobs: all tasks start together, keep their processors, and are never preempted.

A job is rigid, or has several shapes of which one is chosen when it starts: it is moldable. Source: thesis, section 2.2
(tau_j, Tb_j, sigma_j, PTBW_j); rigid and moldable, D. Feitelson, L. Rudolph, "Toward convergence in job schedulers for
parallel supercomputers", JSSPP (1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Self, cast

from coalloc.documents.columns import column, some_has
from coalloc.documents.values import (
    LEFT_OUT,
    NO_AMOUNTS,
    NO_SECONDS,
    NONE,
    SAME_AS,
    SINCE_2,
    SINCE_3,
    AmountsField,
    Count,
    Flag,
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
from coalloc.instance.lags import Lag


@value()
class Shape(Value):
    """An alternative mode of a moldable job: another number of tasks with another run time.

    Parameters
    ----------
    tasks : int
        Number of processors that the job needs at once; the modes of a job differ in it.
    base_time : float
        Reference run time in this mode, s.
    estimate : float, default None
        Requested walltime in this mode, s. None: the reference run time.
    times : mapping of str to float, default {}
        Run time on dedicated nodes with a feature, s, by feature: it replaces the reference run time and the speed.

    Examples
    --------
    >>> from coalloc import Job, Shape
    >>> wide = Shape(tasks=4, base_time=60.0)
    >>> job = Job("J1", tasks=2, base_time=100.0, shapes=[wide])
    >>> job.shapes[0].estimate
    60.0
    """

    tasks: Count
    base_time: PositiveSeconds
    estimate: PositiveSeconds = cast(float, None)
    times: SecondsField = field(default=NO_SECONDS, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        if self.estimate is None:
            object.__setattr__(self, "estimate", self.base_time)


@value()
class SwitchLevel(Value):
    """A level of the tree of switches that a job refers to.

    Parameters
    ----------
    name : str
        Name of the level: the ``level`` of some switches of the platform.
    required : bool, default True
        Whether all tasks must be under one switch of the level; otherwise that is preferred.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.Job("J1", tasks=4, base_time=60.0, level={"name": "row"}).level.required
    True
    """

    name: Text
    required: Flag = True


@value()
class Job(Value):
    """A parallel job: rigid and gang-scheduled, or moldable if it has alternative ``shapes``.

    All tasks start together, hold one processor each, and are not preempted.

    Parameters
    ----------
    id : str
        Unique name within the instance.
    tasks : int
        Number of processors that the job needs at once (tau).
    base_time : float
        Reference run time, s: run time on dedicated nodes of speed 1 (Tb).
    processing_share : float, default 1.0
        Share of the reference run time that is processing, 0 to 1; the rest is communication (sigma).
    task_bandwidth : float, default 0.0
        Network bandwidth that one task uses, MB/s (PTBW).
    arrival : float, default 0.0
        Arrival (release) time, s.
    estimate : float, default None
        Requested walltime (user estimate of the reference run time), s. None: the reference run time.
    user : str or None, default None
        Owner of the job; some policies and groupings use it.
    memory : float or None, default None
        Memory that one task needs, MB. None: no demand.
    energy_estimate : float or None, default None
        User estimate of the energy of one task, J; some policies use it.
    weight : float, default 1.0
        Weight of its response time or tardiness in weighted objectives, without unit.
    due_date : float or None, default None
        Time from which lateness and tardiness count, s. None: the job is never late.
    deadline : float or None, default None
        Latest end, s. Schedules must meet it; a simulation counts the deadlines that it misses.
    after : sequence of str, default ()
        Predecessors: ids of the jobs (to schedule or running) that must have ended before it starts.
    eligible : sequence of str, default ()
        Names of the clusters that it may use. Empty: all.
    requires : sequence of str, default ()
        Features that each of its nodes must have.
    times : mapping of str to float, default {}
        Run time on dedicated nodes with a feature, s, by feature: it replaces the reference run time and the speed.
    shapes : sequence of Shape, default ()
        Alternative modes of a moldable job; its own tasks and reference run time are the first mode.
    resources : mapping of str to float, default {}
        Amounts of resources that the job uses as a whole, by name, in their units: once in each place (platform,
        cluster or node) that has the resource and runs some of its tasks.
    task_resources : mapping of str to float, default {}
        Amounts of resources that each task uses where it runs, by name, in their units.
    max_clusters : int or None, default None
        Maximum number of clusters that its tasks use. None: any number.
    min_tasks_per_cluster : int or None, default None
        Minimum number of its tasks in each cluster that it uses. None: 1.
    slices : int or None, default None
        Number of equal parts of its tasks, each in a separate cluster; it divides the tasks. None: no parts.
    level : SwitchLevel or None, default None
        Level of the switch tree: all tasks are under one switch of it, or preferably so. None: no restriction.
    lags : sequence of Lag, default ()
        Minimal and maximal time lags: how long after the start or the end of other jobs it starts.

    Examples
    --------
    >>> from coalloc import Job, Shape
    >>> job = Job("J1", tasks=4, base_time=600.0, processing_share=0.8, estimate=900.0)
    >>> job.replace(arrival=60.0).arrival
    60.0

    A moldable job with two modes, and a job that needs a GPU and a license:

    >>> wide = Shape(tasks=8, base_time=350.0)
    >>> moldable = Job("J2", tasks=4, base_time=600.0, shapes=[wide])
    >>> [mode.tasks for mode in moldable.in_shapes]
    [4, 8]
    >>> demands = {"resources": {"licenses": 1}, "task_resources": {"gpu": 1}}
    >>> Job("J3", tasks=2, base_time=60.0, **demands).amount("gpu", tasks=2)
    2.0
    """

    id: Text
    tasks: Count
    base_time: PositiveSeconds
    processing_share: Share = 1.0
    task_bandwidth: NonNegative = 0.0
    arrival: Seconds = 0.0
    estimate: PositiveSeconds = field(default=cast(float, None), metadata={SAME_AS: "base_time"})
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
    max_clusters: Count | None = field(default=None, metadata=SINCE_3)
    min_tasks_per_cluster: Count | None = field(default=None, metadata=SINCE_3)
    slices: Count | None = field(default=None, metadata=SINCE_3)
    level: SwitchLevel | None = field(default=None, metadata=SINCE_3)
    lags: Listed[Lag] = field(default=NONE, metadata=SINCE_3)

    def __post_init__(self) -> None:
        if self.estimate is None:
            object.__setattr__(self, "estimate", self.base_time)

    @property
    def is_choosy(self) -> bool:
        """Whether the job is restricted to some clusters or nodes."""
        return bool(self.eligible or self.requires)

    @property
    def is_spread(self) -> bool:
        """Whether the job restricts the number of its tasks in each cluster."""
        return self.spread_limits != (None, None, None, None)

    @property
    def spread_limits(self) -> tuple[int | None, int | None, int | None, str | None]:
        """Limits on the spread: ``max_clusters``, ``min_tasks_per_cluster``, ``slices``, and the required level."""
        required = self.level.name if self.level is not None and self.level.required else None
        return self.max_clusters, self.min_tasks_per_cluster, self.slices, required

    @property
    def asks_resources(self) -> bool:
        """Whether the job uses any resource."""
        return bool(self.resources or self.task_resources) and any(
            (*self.resources.values(), *self.task_resources.values())
        )

    def amount(self, resource: str, tasks: int) -> float:
        """Return the amount of a resource that the job uses in a place with this number of its tasks."""
        if tasks == 0:
            return 0.0
        return self.resources.get(resource, 0.0) + tasks * self.task_resources.get(resource, 0.0)

    @property
    def in_shapes(self) -> tuple[Self, ...]:
        """The alternative modes as rigid jobs, in order; a rigid job itself is its only mode."""
        if not self.shapes:
            return (self,)
        rigid = self.replace(shapes=())
        others = (
            rigid.replace(tasks=s.tasks, base_time=s.base_time, estimate=s.estimate, times=s.times) for s in self.shapes
        )
        return (rigid, *others)

    def may_use(self, cluster: str, group: NodeGroup) -> bool:
        """Return whether tasks of the job may run on a node group of a cluster."""
        return (not self.eligible or cluster in self.eligible) and set(self.requires) <= set(group.features)

    def time_named(self, group: NodeGroup) -> float | None:
        """Return the run time in ``times`` for the features of a node group, s; None if no feature applies."""
        if not self.times:
            return None
        return next((self.times[feature] for feature in group.features if feature in self.times), None)


def longest_stated_time(job: Job) -> float:
    """Return the longest of the run times that a job states, s."""
    if not (job.times or job.shapes):
        return job.base_time
    return max(max([shape.base_time, *shape.times.values()]) for shape in job.in_shapes)


def resources_asked(jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return the names of the resources that jobs take something of, in order."""
    if not (some_has(jobs, "resources") or some_has(jobs, "task_resources")):
        return ()
    asked = set(zip(column(jobs, "resources"), column(jobs, "task_resources"), strict=True))
    takers = [both for both in asked if any(amount for amounts in both for amount in amounts.values())]
    return tuple(sorted({name for both in takers for amounts in both for name in amounts}))
