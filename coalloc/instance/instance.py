"""An instance: a platform, the jobs to schedule, and the jobs that already run."""

from __future__ import annotations

from functools import cached_property

from coalloc.documents.errors import CoallocError, InstanceError
from coalloc.documents.text import quoted
from coalloc.documents.values import Seconds, Text, Value, value
from coalloc.instance.consistency import workload_faults
from coalloc.instance.job import Job
from coalloc.instance.platform import Platform


@value()
class RunningJob(Value):
    """A job placed earlier: it holds ``nodes`` and loads links until ``end`` (s; now is 0)."""

    job: Job
    nodes: tuple[Text, ...]
    end: Seconds


@value(slots=False)
class Instance(Value):
    """What is to be scheduled, where. ``running`` jobs hold their nodes until their ends."""

    platform: Platform
    jobs: tuple[Job, ...]
    running: tuple[RunningJob, ...] = ()
    name: Text = "instance"

    def __post_init__(self) -> None:
        faults = workload_faults(self)
        if faults:
            raise InstanceError(faults)

    @cached_property
    def job_by_id(self) -> dict[str, Job]:
        """The jobs to schedule, by id."""
        return {job.id: job for job in self.jobs}

    @property
    def origin(self) -> float:
        """Instant from which the makespan counts, s: the earliest arrival, 0 where jobs run already."""
        if self.running or not self.jobs:
            return 0.0
        return min(job.arrival for job in self.jobs)

    @property
    def mean_base_time(self) -> float:
        """Mean base time of the jobs, s; the unit of slots given in percent."""
        return sum(job.base_time for job in self.jobs) / max(1, len(self.jobs))

    @cached_property
    def largest_task_memory(self) -> float:
        """The most memory that a task asks for, of running jobs too, MB; 0 where no job to schedule asks for any."""
        asked = [job.memory or 0.0 for job in self.jobs]
        return max(*asked, *(run.job.memory or 0.0 for run in self.running), 0.0) if any(asked) else 0.0


def require_instance(given: object) -> None:
    """Raise :class:`CoallocError` where something else is given as an instance, such as the path of its file."""
    if not isinstance(given, Instance):
        shown = quoted(given) if isinstance(given, str) else type(given).__name__
        raise CoallocError(f"instance must be an Instance, got {shown}; coalloc.read_instance(path) reads one")
