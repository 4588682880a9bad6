"""Objectives of where jobs run, not of when: co-allocated jobs, used clusters, preferred levels that are not kept.

Each is the sum over the jobs of a whole number that depends on the tasks in each cluster alone, so that a budget keeps
it (:class:`coalloc.instance.constraints.Budget`). Proof: docs/mathematics/searches.md, "Objectives of allocations".
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from coalloc.instance import Instance, Job, Platform
from coalloc.instance.spread import Tasks, clusters_under
from coalloc.measures.metrics import COALLOCATED, UNMET_LEVEL, USED_CLUSTERS, Quantity
from coalloc.objectives.objective import Objective
from coalloc.problem.allocation import is_coallocated
from coalloc.schedule import Schedule
from coalloc.schedule.observed import observe


class AllocationObjective(Objective):
    """The sum over the jobs of a weight of the tasks in each cluster; ``quantity`` is the same of a schedule."""

    quantity: ClassVar[Quantity]
    least_weight: ClassVar[int] = 0
    """Least weight that every job counts."""

    @abstractmethod
    def weight(self, platform: Platform, job: Job, tasks: Tasks) -> int:
        """Return what a job with these tasks in each cluster counts, at least 0."""

    @abstractmethod
    def restricted(self, job: Job, most: int) -> Job:
        """Return a job with fields that exclude all allocations with which it counts more than so much."""

    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return the value of a schedule of all jobs."""
        return float(self.quantity.values(observe(instance, schedule).jobs).sum())


class CoallocatedJobs(AllocationObjective):
    """The number of jobs that use more than one cluster."""

    name = "co-allocated-jobs"
    unit = "jobs"
    quantity = COALLOCATED

    def weight(self, platform: Platform, job: Job, tasks: Tasks) -> int:
        """Return 1 where the job uses more than one."""
        return int(is_coallocated(tasks))

    def restricted(self, job: Job, most: int) -> Job:
        """Return the job within one cluster, where it is to count nothing."""
        return job if most else job.replace(max_clusters=1)


class UsedClusters(AllocationObjective):
    """The sum over the jobs of the clusters that each uses."""

    name = "used-clusters"
    unit = "clusters"
    quantity = USED_CLUSTERS
    least_weight = 1

    def weight(self, platform: Platform, job: Job, tasks: Tasks) -> int:
        """Return the number of clusters with tasks."""
        return sum(1 for count in tasks if count)

    def restricted(self, job: Job, most: int) -> Job:
        """Return the job on so many clusters at most."""
        return job.replace(max_clusters=min(most, job.max_clusters or most))


class UnmetLevels(AllocationObjective):
    """The number of jobs whose tasks are not all under one switch of the level that they prefer."""

    name = "unmet-levels"
    unit = "jobs"
    quantity = UNMET_LEVEL

    def weight(self, platform: Platform, job: Job, tasks: Tasks) -> int:
        """Return 1 where they are not."""
        if job.level is None or job.level.required:
            return 0
        used = {c for c, count in enumerate(tasks) if count}
        return int(not any(used <= part for part in clusters_under(platform, job.level.name)))

    def restricted(self, job: Job, most: int) -> Job:
        """Return the job with the level required, where it is to count nothing."""
        return job if most or job.level is None else job.replace(level=job.level.replace(required=True))
