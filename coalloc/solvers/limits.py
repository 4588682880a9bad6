"""Limits on objectives: of a maximum no job ends after it would cost more; of allocations a budget keeps it.

Both are what lexicographic solves keep of the objectives before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text
from coalloc.instance import CoallocError, Instance, Job, Platform
from coalloc.instance.constraints import Budget, Constraint, Declaration, PlacedJob, TimeBounds
from coalloc.objectives import AllocationObjective, RegularObjective


@dataclass(frozen=True)
class AtMost(Constraint):
    """The objective, a maximum that says latest ends, is no more than ``value`` (in its unit)."""

    instance: Instance
    objective: RegularObjective
    value: float

    def declare(self, instance: Instance) -> Iterator[TimeBounds]:
        """Yield until when each job costs no more."""
        return (TimeBounds(job.id, latest_end=self._latest_end(job)) for job in instance.jobs)

    def _latest_end(self, job: Job) -> float:
        """Return until when the job costs no more, s."""
        instance, objective = self.instance, self.objective
        cost = (self.value + objective.offset(instance)) * objective.divisor(instance)
        latest = objective.latest_end(job, cost)
        if latest is None:
            raise CoallocError(f"objective {objective.name!r} cannot be limited: it defines no latest ends of jobs")
        return latest

    @property
    def is_declared(self) -> bool:
        """Whether its faults forbid no more than it declares."""
        return True

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Return a sentence for each job that ends later."""
        for placed in schedule:
            latest = self._latest_end(instance.job_by_id[placed.job])
            if placed.end > latest + instance.time_base.tolerance:
                found = f"job {quoted(placed.job)} ends at {instant_text(placed.end)}"
                yield f"{found}, so the {self.objective.name} exceeds {self.value:g}"


@dataclass(frozen=True)
class AllocationsAtMost(Constraint):
    """An objective of allocations is no more than ``value``."""

    platform: Platform
    objective: AllocationObjective
    value: float

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield the sum of the weights, and the value."""
        yield Budget(lambda job, tasks: self.objective.weight(self.platform, job, tasks), self.value)
