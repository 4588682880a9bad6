"""Objectives of how long jobs wait: weighted response time, mean wait, mean bounded slowdown.

Source of the bounded slowdown: D. Feitelson, L. Rudolph, "Metrics and benchmarking for parallel job scheduling", JSSPP
(1998).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from coalloc.instance import Instance, Job
from coalloc.measures.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from coalloc.objectives.objective import RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear


class TotalWeightedResponseTime(RegularObjective):
    """The sum over the jobs of weight times (end less arrival)."""

    name = "total-weighted-response-time"
    is_monotone: ClassVar[bool] = True

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the weighted response time, s."""
        return job.weight * (end - job.arrival)

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return the weight and the arrival, of which slots say less."""
        return job.weight, job.arrival

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:
        """Return the weighted response time by the end."""
        return PiecewiseLinear([(0.0, -job.weight * job.arrival)], job.weight)


class _Mean(RegularObjective):
    """The mean over the jobs of what each costs; 0 where there are none."""

    def divisor(self, instance: Instance) -> float:
        """Return the number of jobs."""
        return float(max(1, len(instance.jobs)))

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return the arrival, of which slots say less."""
        return job.arrival


class MeanWait(_Mean):
    """The mean over the jobs of start less arrival."""

    name = "mean-wait"
    is_monotone: ClassVar[bool] = True

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the wait, s."""
        return start - job.arrival

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:
        """Return the wait by the end."""
        return PiecewiseLinear([(0.0, -duration - job.arrival)], 1.0)


class MeanBoundedSlowdown(_Mean):
    """The mean over the jobs of response over run time, where short run times count as a threshold; 1 at least.

    A longer run from the same start makes it less: not monotone.
    """

    name = "mean-bounded-slowdown"
    unit = "-"

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the bounded slowdown."""
        return max(1.0, (end - job.arrival) / max(end - start, BOUNDED_SLOWDOWN_THRESHOLD))

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:
        """Return the bounded slowdown by the end."""
        run = max(duration, BOUNDED_SLOWDOWN_THRESHOLD)
        return PiecewiseLinear([(job.arrival + run, 1.0)], 1.0 / run)
