"""An instance: a platform, the jobs to schedule, and the jobs that already run."""

from __future__ import annotations

import os
from functools import cached_property

from coalloc.documents.errors import InstanceError
from coalloc.documents.values import NONE, Listed, Seconds, Text, Value, value
from coalloc.instance.consistency import workload_faults
from coalloc.instance.job import Job
from coalloc.instance.platform import Platform


@value()
class RunningJob(Value):
    """A job placed earlier: it holds ``nodes`` and loads links until ``end`` (s; now is 0)."""

    job: Job
    nodes: Listed[Text]
    end: Seconds


@value(slots=False)
class Instance(Value):
    """What is to be scheduled, where. ``running`` jobs hold their nodes until their ends."""

    platform: Platform
    jobs: Listed[Job]
    running: Listed[RunningJob] = NONE
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

    @staticmethod
    def remedy_for(given: object) -> str:
        """Return what to do where something else is given as an instance, such as the path of its file."""
        return "coalloc.read_instance(path) reads one" if isinstance(given, (str, os.PathLike)) else ""
