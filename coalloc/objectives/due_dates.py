"""Objectives of due dates: weighted tardiness and maximum lateness. Source: M. Pinedo, "Scheduling", section 2.1."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import ClassVar

from coalloc.instance import CoallocError, Instance, Job
from coalloc.objectives.objective import Aggregate, RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear


class WeightedTardiness(RegularObjective):
    """The sum over the jobs of weight times the seconds by which they end after their due dates."""

    name = "weighted-tardiness"
    is_monotone: ClassVar[bool] = True

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the weighted tardiness, s; 0 where the job has no due date."""
        return 0.0 if job.due_date is None else job.weight * max(0.0, end - job.due_date)

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return the due date and the weight."""
        return job.due_date, job.weight

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:
        """Return the weighted tardiness by the end."""
        if job.due_date is None:
            return PiecewiseLinear([(0.0, 0.0)])
        return PiecewiseLinear([(job.due_date, 0.0)], job.weight)


class MaximumLateness(RegularObjective):
    """The greatest difference of end and due date, over the jobs that have one; negative where all are early."""

    name = "maximum-lateness"
    aggregate: Aggregate = "max"
    least = -math.inf
    is_monotone: ClassVar[bool] = True

    def refuse(self, instance: Instance) -> None:
        """Raise :class:`CoallocError` where there are jobs, and none with a due date."""
        if instance.jobs and all(job.due_date is None for job in instance.jobs):
            raise CoallocError(f"objective {self.name!r} requires at least one job with a due_date")

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the lateness, s; minus infinity where the job has no due date."""
        return -math.inf if job.due_date is None else end - job.due_date

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return the due date."""
        return job.due_date

    def latest_end(self, job: Job, cost: float) -> float:
        """Return the due date and the lateness, s; infinity where the job has no due date."""
        return math.inf if job.due_date is None else job.due_date + cost
