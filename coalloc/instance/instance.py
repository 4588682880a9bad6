"""An instance: a platform, the jobs to schedule, and the jobs that already run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from coalloc.display.html import heading, table
from coalloc.display.wording import plural
from coalloc.documents.errors import CoallocError, InstanceError
from coalloc.documents.text import quoted
from coalloc.documents.values import LEFT_OUT, NONE, SINCE_2, Listed, Seconds, Text, Value, value
from coalloc.instance.consistency import workload_faults
from coalloc.instance.job import Job, longest_stated_time, resources_asked
from coalloc.instance.platform import Platform
from coalloc.instance.processor_names import NamesField
from coalloc.instance.sharing import LocalUser, Sharing
from coalloc.instance.time_base import NEVER, TimeBase, time_base_of
from coalloc.instance.words import WORDS


@value()
class RunningJob(Value):
    """A job placed earlier, which runs at time 0, or is to start later.

    Parameters
    ----------
    job
        The job, with an id of its own.
    nodes
        Names of the processors that it holds, one per task, or ranges of them (``C1/0-127``); it loads the links
        between them.
    end
        When it releases them, s.
    start
        From when on it holds them, s; above 0 it is a reservation.
    """

    job: Job
    nodes: NamesField
    end: Seconds
    start: Seconds = field(default=0.0, metadata=LEFT_OUT | SINCE_2)


@value(slots=False)
class Instance(Value):
    """What is to be scheduled, and where.

    Parameters
    ----------
    platform
        Clusters and the network between them.
    jobs
        The jobs to schedule, none with more tasks than there are processors; ids are unique.
    running
        Jobs that hold processors until their ends, beside those to schedule.
    name
        What pictures and tables call it.
    local_users
        When users are active at nodes.

    Raises
    ------
    InstanceError
        What is given does not fit together: every fault, with its path.
    """

    platform: Platform
    jobs: Listed[Job]
    running: Listed[RunningJob] = NONE
    name: Text = "instance"
    local_users: Listed[LocalUser] = NONE

    def __post_init__(self) -> None:
        faults = workload_faults(self)
        if faults:
            raise InstanceError(faults)

    @cached_property
    def job_by_id(self) -> dict[str, Job]:
        """The jobs to schedule, by id."""
        return {job.id: job for job in self.jobs}

    @cached_property
    def origin(self) -> float:
        """Instant from which the makespan counts, s: the earliest arrival, 0 where jobs run already."""
        if self.running or not self.jobs:
            return 0.0
        return min(job.arrival for job in self.jobs)

    @cached_property
    def time_base(self) -> TimeBase:
        """The tick in which its times are counted, and the tolerance within which they are equal."""
        number = len(self.jobs) + len(self.running) + len(self.local_users)
        return time_base_of(self.origin, self.time_span, number)

    @cached_property
    def time_span(self) -> float:
        """Seconds from the origin in which all jobs can end, one by one, each at its slowest."""
        groups = [group for cluster in self.platform.clusters for group in cluster.nodes]
        slowness = max(1.0, *(1.0 / min(group.effective_power, group.availability) for group in groups))
        in_turn = sum(map(longest_stated_time, self.jobs)) * slowness
        return max(max(self._last_times(), default=0.0) - self.origin, 0.0) + in_turn

    def _last_times(self) -> Iterator[float]:
        """Yield the times, s, after which a job may have to start; outages that never end have but a beginning."""
        yield from (job.arrival for job in self.jobs)
        yield from (run.end for run in self.running)
        yield from (window.end if window.end <= NEVER else window.start for window in self.platform.unavailable)
        yield from (user.end for user in self.local_users)

    @property
    def mean_base_time(self) -> float:
        """Mean base time of the jobs, s; the unit of slots given in percent."""
        return sum(job.base_time for job in self.jobs) / max(1, len(self.jobs))

    @cached_property
    def largest_task_memory(self) -> float:
        """The most memory that a task asks for, of running jobs too, MB; 0 where no job to schedule asks for any."""
        asked = [job.memory or 0.0 for job in self.jobs]
        return max(*asked, *(run.job.memory or 0.0 for run in self.running), 0.0) if any(asked) else 0.0

    @cached_property
    def resources_asked(self) -> tuple[str, ...]:
        """The names of the resources that a job to schedule takes something of, in order."""
        return resources_asked(self.jobs)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of :data:`coalloc.instance.words.WORDS` that it uses."""
        return frozenset(name for name, word in WORDS.items() if word.is_used(self))

    @property
    def shares_nodes(self) -> bool:
        """Whether tasks share nodes with each other or with local users, or may exceed their memory."""
        groups = (group for cluster in self.platform.clusters for group in cluster.nodes)
        is_said = self.platform.sharing is not None or bool(self.local_users)
        return is_said or any(group.multiprogramming > 1 for group in groups)

    @property
    def sharing(self) -> Sharing:
        """How tasks share nodes."""
        return self.platform.sharing or Sharing()

    def refuse_shared_nodes(self, what: str) -> None:
        """Raise :class:`CoallocError` where nodes are shared, for ``what`` knows nothing of that."""
        if self.shares_nodes:
            raise CoallocError(
                f"{what} knows nothing of shared nodes, and this instance has some (multiprogramming, local_users or "
                "sharing): policies that say shares_nodes do, loras for one"
            )

    @property
    def _summary(self) -> str:
        """What it is, in half a line."""
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
        """Return what to do where something else is given as an instance, such as the path of its file."""
        return "coalloc.read_instance(path) reads one" if isinstance(given, (str, os.PathLike)) else ""
