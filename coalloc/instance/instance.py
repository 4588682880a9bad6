"""An instance: a platform, the jobs to schedule, and the jobs that already run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from coalloc.documents.columns import Many, by_name, column, some_has
from coalloc.documents.errors import CoallocError, InstanceError
from coalloc.documents.html import heading, table
from coalloc.documents.text import quoted
from coalloc.documents.values import LEFT_OUT, NONE, SINCE_2, SINCE_3, Listed, Seconds, Text, Value, value
from coalloc.documents.wording import plural
from coalloc.instance.consistency import workload_faults
from coalloc.instance.features import FEATURES
from coalloc.instance.job import Job, longest_stated_time, resources_asked
from coalloc.instance.limits import Limit
from coalloc.instance.platform import Platform
from coalloc.instance.processor_names import NamesField
from coalloc.instance.sharing import LocalUser, Sharing
from coalloc.instance.time_base import NEVER, TimeBase, time_base_of


@value()
class RunningJob(Value):
    """A job that holds processors at time 0, or an advance reservation that starts later.

    Parameters
    ----------
    job : Job
        The job; its id differs from those of the jobs to schedule.
    nodes : sequence of str
        Names of the processors, one per task, or ranges of them (``C1/0-127``). The job loads the links between them.
    end : float
        Time at which it releases the processors, s.
    start : float, default 0.0
        Time from which it holds the processors, s. Above 0, it is an advance reservation.

    Examples
    --------
    Two of four nodes are in use for half an hour:

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> cluster = Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)
    >>> old = Job("R1", tasks=2, base_time=3600.0)
    >>> running = coalloc.RunningJob(old, ["C1/0-1"], end=1800.0)
    >>> new = Job("J1", tasks=3, base_time=600.0)
    >>> instance = Instance(Platform([cluster]), [new], running=[running])
    >>> coalloc.solve(instance).schedule["J1"].start
    1800.0
    """

    job: Job
    nodes: NamesField
    end: Seconds
    start: Seconds = field(default=0.0, metadata=LEFT_OUT | SINCE_2)


@value(slots=False)
class Instance(Value):
    """A scheduling instance: a platform and the jobs to schedule on it.

    Instances are immutable; ``replace`` returns a changed copy. ``repr`` and notebooks show a summary.

    Parameters
    ----------
    platform : Platform
        The clusters and the network between them.
    jobs : sequence of Job
        The jobs to schedule, with unique ids. No job has more tasks than the platform has processors.
    running : sequence of RunningJob, default ()
        Jobs that hold processors at time 0, and advance reservations.
    name : str, default "instance"
        The name in tables and figures.
    local_users : sequence of LocalUser, default ()
        Interactive users who are active on time-shared nodes.
    limits : sequence of Limit, default ()
        Limits on some jobs together, such as those of a user, at any time.

    Raises
    ------
    InstanceError
        The parts do not fit together. All validation errors are reported together, each with its path.

    See Also
    --------
    coalloc.read_instance : Read an instance from a file.
    coalloc.example : Load a bundled instance.
    coalloc.generate : Generate an instance from a seed.

    Examples
    --------
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> cluster = Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)
    >>> job = Job("J1", tasks=3, base_time=3600.0)
    >>> instance = Instance(Platform([cluster]), [job], name="one job")
    >>> instance
    <Instance 'one job': 1 job on 1 cluster with 4 processors>
    >>> instance.replace(jobs=[]).jobs
    ()
    """

    platform: Platform
    jobs: Many[Job]
    running: Listed[RunningJob] = NONE
    name: Text = "instance"
    local_users: Listed[LocalUser] = NONE
    limits: Listed[Limit] = field(default=NONE, metadata=SINCE_3)

    def __post_init__(self) -> None:
        faults = workload_faults(self)
        if faults:
            raise InstanceError(faults)

    @cached_property
    def job_by_id(self) -> Mapping[str, Job]:
        """The jobs to schedule, by id."""
        return by_name(self.jobs, "id")

    @cached_property
    def origin(self) -> float:
        """Time from which the makespan counts, s: the earliest arrival, or 0 if there are running jobs."""
        if self.running or not self.jobs:
            return 0.0
        return float(min(column(self.jobs, "arrival")))

    @cached_property
    def time_base(self) -> TimeBase:
        """The time resolution of the instance, and the tolerance within which two times are equal."""
        number = len(self.jobs) + len(self.running) + len(self.local_users)
        return time_base_of(self.origin, self.time_span, number)

    @cached_property
    def time_span(self) -> float:
        """Upper bound on the makespan, s: all jobs one after another, each at its slowest, and all lags."""
        groups = [group for cluster in self.platform.clusters for group in cluster.nodes]
        slowness = max(1.0, *(1.0 / min(group.effective_power, group.availability) for group in groups))
        has_others = bool(self.features & {"times", "shapes"})
        in_turn: float = sum(map(longest_stated_time, self.jobs) if has_others else column(self.jobs, "base_time"))
        all_lags = column(self.jobs, "lags") if "lags" in self.features else ()
        waiting: float = sum(max(0.0, lag.min) for lags in all_lags for lag in lags)
        return max(max(self._last_times(), default=0.0) - self.origin, 0.0) + (in_turn * slowness + waiting)

    def _last_times(self) -> Iterator[float]:
        """Yield the times, s, after which a job may have to start; outages that never end have but a beginning."""
        yield max(column(self.jobs, "arrival"), default=0.0)
        yield from (run.end for run in self.running)
        yield from (window.end if window.end <= NEVER else window.start for window in self.platform.unavailable)
        yield from (user.end for user in self.local_users)

    @property
    def mean_base_time(self) -> float:
        """Mean reference run time of the jobs, s; slots given as percentages refer to it."""
        return float(sum(column(self.jobs, "base_time"))) / max(1, len(self.jobs))

    @cached_property
    def largest_task_memory(self) -> float:
        """Largest memory demand of a task, running jobs included, MB; 0 if no job to schedule has a memory demand."""
        if not some_has(self.jobs, "memory"):
            return 0.0
        asked = (memory or 0.0 for memory in column(self.jobs, "memory"))
        return max(*asked, *(run.job.memory or 0.0 for run in self.running), 0.0)

    @cached_property
    def resources_asked(self) -> tuple[str, ...]:
        """Names of the resources that the jobs to schedule use, in alphabetical order."""
        return resources_asked(self.jobs)

    @cached_property
    def features(self) -> frozenset[str]:
        """The modelling features that the instance uses, by the names of docs/modelling-features.md."""
        return frozenset(name for name, feature in FEATURES.items() if feature.is_used(self))

    @property
    def shares_nodes(self) -> bool:
        """Whether nodes are time-shared: by several tasks, by local users, or with paging."""
        groups = (group for cluster in self.platform.clusters for group in cluster.nodes)
        is_said = self.platform.sharing is not None or bool(self.local_users)
        return is_said or any(group.multiprogramming > 1 for group in groups)

    @property
    def sharing(self) -> Sharing:
        """The rules of time-sharing on the nodes."""
        return self.platform.sharing or Sharing()

    def refuse_shared_nodes(self, what: str) -> None:
        """Raise ``CoallocError`` if nodes are time-shared, because ``what`` does not support them."""
        if self.shares_nodes:
            raise CoallocError(
                f"time-shared nodes (multiprogramming, local_users or sharing) are not supported by {what}; "
                "use a policy with shares_nodes, such as loras"
            )

    @property
    def _summary(self) -> str:
        """The summary of the value, in half a line."""
        running = f", {len(self.running)} running" if self.running else ""
        return f"{plural(len(self.jobs), 'job')}{running} on {self.platform._summary}"

    def __repr__(self) -> str:
        return f"<Instance {quoted(self.name)}: {self._summary}>"

    def _repr_html_(self) -> str:
        jobs = [
            (j.id, j.tasks, j.base_time, j.processing_share, j.task_bandwidth, j.arrival, j.estimate) for j in self.jobs
        ]
        columns = ("job", "tasks", "base time (s)", "processing share", "task bandwidth (MB/s)", "arrival (s)")
        held = [(run.job.id, run.job.tasks, run.end) for run in self.running]
        return "".join(
            [
                heading(self.name, self._summary),
                self.platform._repr_html_(),
                table((*columns, "estimate (s)"), jobs),
                table(("running job", "tasks", "end (s)"), held) if held else "",
            ]
        )

    @staticmethod
    def remedy_for(given: object) -> str:
        """Return a hint for a value that was passed instead of an instance, such as the path of a file."""
        return "coalloc.read_instance(path) reads an instance file" if isinstance(given, (str, os.PathLike)) else ""
