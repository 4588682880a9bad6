"""A policy, a broker, a queue order, an objective, a generator and a reader: ``pyproject.toml`` names them."""

import csv
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.extend import Generator, RegularObjective, Start, policy_named
from coalloc.grid import Partition


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


@dataclass(frozen=True)
class LeastUsage:
    """Queue order: users with the least recent usage first."""

    changes_every: float = 300.0
    half_life: float = 604_800.0

    def key(self, state):
        """Return the usage of the user of a job."""
        usage = state.usage(self.half_life)
        return lambda job: usage[job.user]


@dataclass
class ShortestQueue:
    """Assign each job to the cluster with the fewest waiting jobs, which runs EASY backfilling."""

    queue_order: Literal["fcfs", "spt"] = "fcfs"
    scope = "cluster"

    def partitions(self, platform):
        """Return a site for each cluster."""
        easy = policy_named("easy", {"queue_order": self.queue_order})
        return [Partition(easy, (cluster.name,), cluster.name) for cluster in platform.clusters]

    def route(self, sites, job):
        """Return the site that a job joins."""
        return min(sites, key=lambda site: len(site.queue))


class LateJobs(RegularObjective):
    """Number of jobs that end after their due date."""

    name = "late-jobs"
    unit = "jobs"
    is_monotone = True

    def cost(self, job, start, end):
        """Return 1 for a late job."""
        return float(job.due_date is not None and end > job.due_date)


class EqualJobs(Generator):
    """Equal jobs on one cluster."""

    jobs: Annotated[int, Field(ge=1), "number of jobs"] = 4
    nodes: Annotated[int, Field(ge=1), "number of nodes"] = 2

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
