"""Objectives of the ends alone: the makespan, and the sum of the times that jobs spend in the system."""

from __future__ import annotations

from typing import ClassVar

from coalloc.instance import Instance, Job
from coalloc.objectives.objective import Aggregate, RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear
from coalloc.schedule import Schedule


class _OfEnds(RegularObjective):
    """Every job costs its end."""

    counts_ends: ClassVar[bool] = True
    is_monotone: ClassVar[bool] = True

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the end, s."""
        return end

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:
        """Return the end."""
        return PiecewiseLinear([(0.0, 0.0)], 1.0)


class Makespan(_OfEnds):
    """The latest end, less the earliest arrival (0 where jobs run already). Source: thesis, (3.9)."""

    name = "makespan"
    aggregate: Aggregate = "max"

    def latest_end(self, job: Job, cost: float) -> float:
        """Return the cost, an end."""
        return cost

    def offset(self, instance: Instance) -> float:
        """Return the instant from which the makespan counts, s."""
        return instance.origin


class TotalResponseTime(_OfEnds):
    """The sum over the jobs of end less arrival."""

    name = "total-response-time"

    def offset(self, instance: Instance) -> float:
        """Return the sum of the arrivals, s."""
        return sum(job.arrival for job in instance.jobs)

    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return the sum over the jobs of end less arrival, s: difference by difference, which rounds least."""
        return sum(p.end - instance.job_by_id[p.job].arrival for p in schedule)
