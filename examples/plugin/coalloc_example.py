"""A policy, an objective, a generator and a reader, which coalloc finds by the entry points of ``pyproject.toml``."""

import csv
from dataclasses import dataclass
from typing import Annotated, Literal

from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.documents.values import value
from coalloc.extend import RegularObjective, Start
from coalloc.workloads.generator import Generator, NumJobs, NumNodes


@dataclass
class LastCome:
    """Last come, first served: start the job that arrived last, if it fits."""

    allocation: Literal["fastest-first", "first-fit"] = "fastest-first"
    scope: Literal["platform", "cluster"] = "platform"

    def decide(self, state):
        """Yield the jobs to start now."""
        allocator, room = state.allocator(self.allocation), state.room
        for job in reversed(state.queue):
            counts = allocator.choose(job, room)
            if counts is None or not state.may_start(job, counts):
                return
            room = tuple(free - taken for free, taken in zip(room, counts, strict=True))
            yield Start(job.id, counts)


class LateJobs(RegularObjective):
    """Number of jobs that end after their due date."""

    name = "late-jobs"
    unit = "jobs"
    is_monotone = True

    def cost(self, job, start, end):
        """Return 1 for a late job."""
        return float(job.due_date is not None and end > job.due_date)


@value()
class EqualJobs(Generator):
    """Equal jobs on one cluster."""

    jobs: Annotated[NumJobs, "number of jobs"] = 4
    nodes: Annotated[NumNodes, "number of nodes"] = 2

    def draw(self, rng, name):
        """Return an instance whose jobs have one random run time."""
        seconds = float(rng.integers(60, 3600))
        cluster = Cluster("C1", [NodeGroup(self.nodes, power=1.0)], link_bandwidth=125.0)
        jobs = [Job(f"J{number}", tasks=1, base_time=seconds) for number in range(self.jobs)]
        return Instance(Platform([cluster]), jobs, name=name)


def read_job_list(path, platform):
    """Return the instance of a CSV file with the columns id, tasks and seconds."""
    if platform is None:
        raise CoallocError(f"{path}: a job list has no platform: give --processors or --platform")
    with open(path, newline="", encoding="utf-8") as file:
        jobs = [Job(row["id"], int(row["tasks"]), float(row["seconds"])) for row in csv.DictReader(file)]
    return Instance(platform, jobs, name=path)
