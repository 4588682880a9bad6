"""Base of objectives: name, unit, and value of a schedule.

An objective is *regular* if no schedule gets worse when a job ends earlier. Then it is the sum or the maximum over
the jobs of a cost that no later end makes less, and all that schedule generation, bounds and models need to know
of it follows from that cost. Source: M. Pinedo, "Scheduling", section 2.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal

from coalloc.instance import Instance, Job, column
from coalloc.objectives.piecewise import PiecewiseLinear
from coalloc.schedule import Schedule

Aggregate = Literal["sum", "max"]


class Objective(ABC):
    """Base class of objectives; smaller values are better."""

    name: str
    """Name in results and result files."""
    unit: str = "s"
    """Unit of the value; ``-`` for a ratio."""
    needs_watts: ClassVar[bool] = False
    """Whether the objective needs the watts of every node group."""

    def refuse(self, instance: Instance) -> None:  # noqa: B027 - most objectives are defined for every instance
        """Raise ``CoallocError`` if an instance lacks data that the objective needs."""

    @abstractmethod
    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return the value of a schedule of all jobs, in the unit of the objective."""


class RegularObjective(Objective):
    """Base class of custom objectives: the sum or maximum of a cost per job that never decreases with its end.

    The value is the aggregate of ``cost`` over the jobs, divided by ``divisor``, minus ``offset``. A subclass defines
    ``name`` and ``cost``, and overrides the rest as needed.

    See Also
    --------
    coalloc.solve : Solve an instance, with ``objective=``.

    Notes
    -----
    Regular objectives: M. Pinedo, "Scheduling", section 2.1.

    Examples
    --------
    Number of jobs that end after 300 s:

    >>> import coalloc
    >>> class LateJobs(coalloc.extend.RegularObjective):
    ...     name = "late-jobs"
    ...     unit = "-"
    ...     is_monotone = True
    ...
    ...     def cost(self, job, start, end):
    ...         return float(end > 300.0)
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> coalloc.solve(instance, objective=LateJobs(), slot=50.0).objective
    1.0
    """

    aggregate: Aggregate = "sum"
    """``"sum"`` or ``"max"`` of the costs."""
    least: float = 0.0
    """Lower bound on the value of every schedule; minus infinity if costs may be negative."""
    counts_ends: ClassVar[bool] = False
    """Whether the cost of every job is its end, so that it is a whole number in slots."""
    is_monotone: ClassVar[bool] = False
    """Whether the cost never decreases with a later start (same end), nor with a later end (same start).

    Instances that are rounded down to slots then give lower bounds (docs/mathematics/execution-model.md, "Slotting
    error").
    """

    @abstractmethod
    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the cost of a job that runs from ``start`` to ``end`` (s), in the unit of the objective.

        For a given run time (``end - start``), a later end never costs less.
        """

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return a key: jobs with the same data and the same key cost the same at the same times.

        The default is the id, or None if costs are ends.
        """
        return None if self.counts_ends else job.id

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear | None:
        """Return the cost of a job with this run time (s) as a function of its end; None (fewer bounds) for others."""
        return None

    def offset(self, instance: Instance) -> float:
        """Return the constant that is subtracted from the aggregated costs, such as the origin of the makespan."""
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
        """Return the divisor of the aggregate of the costs: the number of jobs, for a mean."""
        return 1.0

    @property
    def is_latest_end(self) -> bool:
        """Whether the objective is the latest end, up to the offset."""
        return self.counts_ends and self.aggregate == "max"

    def of_costs(self, costs: Sequence[float]) -> float:
        """Return the sum or maximum of the costs of all jobs; 0 if there are none."""
        return sum(costs) if self.aggregate == "sum" else max(costs, default=0.0)

    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return the value of a schedule of all jobs, in the unit of the objective."""
        if not len(schedule):
            return max(self.least, 0.0)
        job = instance.job_by_id
        costs = (
            list(column(schedule.placements, "end"))
            if self.counts_ends
            else [self.cost(job[p.job], p.start, p.end) for p in schedule]
        )
        cost = self.of_costs(costs)
        return cost / self.divisor(instance) - self.offset(instance)
