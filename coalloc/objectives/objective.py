"""What an objective says: its name and unit, and what a schedule is worth.

An objective is *regular* if no schedule gets worse when a job ends earlier. Then it is the sum or the maximum over
the jobs of a cost that no later end makes less, and all that schedule generation, bounds and models need to know
of it follows from that cost. Source: M. Pinedo, "Scheduling", section 2.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal, NamedTuple

from coalloc.instance import Instance, Job
from coalloc.schedule import Schedule

Aggregate = Literal["sum", "max"]


class Ramp(NamedTuple):
    """What a job of a given run time costs by its start, s: ``floor``, or ``slope * start + intercept`` if more."""

    floor: float
    slope: float
    intercept: float


class Objective(ABC):
    """What a schedule is worth; less is better."""

    name: str
    """How ``coalloc.solve`` and result files call it."""
    unit: str = "s"
    needs_watts: ClassVar[bool] = False
    """Whether every node group must have watts."""

    def refuse(self, instance: Instance) -> None:  # noqa: B027 - most objectives are defined for every instance
        """Raise :class:`CoallocError` where an instance lacks what the objective counts."""

    @abstractmethod
    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return what a schedule of all jobs is worth, in :attr:`unit`."""


class RegularObjective(Objective):
    """The sum or the maximum over the jobs of :meth:`cost`, over :meth:`divisor`, less :meth:`offset`.

    A subclass gives ``name``, ``aggregate`` and ``cost``, and what of the rest differs.
    """

    aggregate: Aggregate = "sum"
    least: float = 0.0
    """What no schedule can be worth less than, in :attr:`unit`; minus infinity where costs may be negative."""
    counts_ends: ClassVar[bool] = False
    """Whether the cost of every job is its end, so that in slots it is a whole number of them."""
    is_monotone: ClassVar[bool] = False
    """Whether a cost is no less for a later start with the same end, nor for a later end with the same start.

    Then an instance rounded down to slots bounds it from below (docs/mathematics.md, "Slotting error").
    """

    @abstractmethod
    def cost(self, job: Job, start: float, end: float) -> float:
        """Return what a job costs that runs from ``start`` to ``end`` (s), in :attr:`unit`.

        For a given run time (``end - start``) a later end costs no less.
        """

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return what it tells jobs apart by: those for which it is equal cost the same at the same times.

        The id, unless costs are ends or a subclass says otherwise.
        """
        return None if self.counts_ends else job.id

    def ramp(self, job: Job, duration: float) -> Ramp | None:
        """Return the cost of a job of this run time (s) by its start; None where it is no ramp: fewer bounds then."""
        return None

    def offset(self, instance: Instance) -> float:
        """Return what is taken off the costs of every schedule of an instance, in :attr:`unit`."""
        return 0.0

    def latest_end(self, job: Job, cost: float) -> float | None:
        """Return until when a job may end that costs no more than this, s, however long it runs; None: it is not said.

        A maximum that says it may be followed by another objective (``coalloc.solve(objective=(...))``).
        """
        return None

    @property
    def has_latest_ends(self) -> bool:
        """Whether it is a maximum that says latest ends."""
        return self.aggregate == "max" and type(self).latest_end is not RegularObjective.latest_end

    def divisor(self, instance: Instance) -> float:
        """Return what the sum or the maximum of the costs is divided by: the number of jobs, for a mean."""
        return 1.0

    @property
    def is_latest_end(self) -> bool:
        """Whether a lower bound on the latest end is one on this objective, but for the offset."""
        return self.counts_ends and self.aggregate == "max"

    def of_costs(self, costs: Sequence[float]) -> float:
        """Return the sum or the maximum of the costs of all jobs; 0 where there are none."""
        return sum(costs) if self.aggregate == "sum" else max(costs, default=0.0)

    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return what a schedule of all jobs is worth, in :attr:`unit`."""
        if not len(schedule):
            return max(self.least, 0.0)
        job = instance.job_by_id
        cost = self.of_costs([self.cost(job[p.job], p.start, p.end) for p in schedule])
        return cost / self.divisor(instance) - self.offset(instance)
