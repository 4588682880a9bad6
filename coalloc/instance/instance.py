"""An instance: a platform, the jobs to schedule, and the jobs that already run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from coalloc.instance.errors import Fault, InstanceError
from coalloc.instance.job import Job
from coalloc.instance.network import duplicate_faults
from coalloc.instance.platform import Platform
from coalloc.instance.text import visible
from coalloc.instance.values import Seconds, Text, Value, value


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
        faults = id_faults(
            [(f"jobs[{i}].id", job.id) for i, job in enumerate(self.jobs)],
            [(f"running[{i}].job.id", r.job.id) for i, r in enumerate(self.running)],
        )
        faults += size_faults(
            [(f"jobs[{i}].tasks", job.tasks) for i, job in enumerate(self.jobs)], self.platform.num_processors
        )
        faults += running_faults(self.platform, self.running)
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


def id_faults(jobs: Sequence[tuple[str, str]], running: Sequence[tuple[str, str]]) -> list[Fault]:
    """Return a fault for every job id, given as (path, id), that stands twice."""
    return duplicate_faults([*jobs, *running], "job id")


def size_faults(tasks: Sequence[tuple[str, int]], processors: int) -> list[Fault]:
    """Return a fault for every job, given as (path, tasks), that is larger than the platform."""
    return [
        Fault(path, f"must be at most {processors} (all processors of the platform), got {count}")
        for path, count in tasks
        if count > processors
    ]


def running_faults(platform: Platform, running: Sequence[RunningJob]) -> list[Fault]:
    """Return what is wrong with the nodes that running jobs hold."""
    faults: list[Fault] = []
    holder: dict[str, str] = {}
    for i, run in enumerate(running):
        path = f"running[{i}].nodes"
        if len(run.nodes) != run.job.tasks:
            faults.append(Fault(path, f"must name {run.job.tasks} processors, one per task, got {len(run.nodes)}"))
        for k, name in enumerate(run.nodes):
            if name not in platform.processor_index:
                faults.append(Fault(f"{path}[{k}]", f"must be a processor of the platform, got {visible(name)!r}"))
            elif name in holder:
                faults.append(Fault(f"{path}[{k}]", f"is held twice: {visible(name)!r} is also in {holder[name]}"))
            holder.setdefault(name, f"{path}[{k}]")
    return faults
