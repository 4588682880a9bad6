"""The lower edge of the certified band: the optimum of an instance rounded *down* to slots, or a bound on it.

``slot * OPT_floor <= OPT_continuous`` (docs/mathematics.md, "Slotting error"): durations, arrivals and ends
of running jobs are rounded down, and a job of no whole slot occupies nothing. The portfolio solves that
problem as it solves any other; only its schedules are none of the instance, so they are never offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coalloc.instance import CoallocError, Instance
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.serial_generation import best_list_schedule
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.call import Search
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.model_run import ModelRun
from coalloc.solvers.objectives import in_seconds, quick_bound, ticks_of
from coalloc.solvers.portfolio import Portfolio
from coalloc.solvers.result import SolveOptions


@dataclass(frozen=True, slots=True)
class RoundedDown:
    """``lower_bound``, s as reported, holds for every schedule in continuous time.

    ``is_proven``: it is ``slot * OPT_floor``, and no other method could raise it on this grid.
    """

    lower_bound: float
    is_proven: bool


def rounded_down_makespan(
    instance: Instance, slot: float, *, time_limit: float = 60.0, threads: int = 1, seed: int = 0
) -> RoundedDown:
    """Return the least makespan of an instance rounded down to slots of ``slot`` seconds, or a bound on it.

    Stops after ``time_limit`` seconds. Raises :class:`CoallocError` where no schedule exists at all.
    """
    problem = discretise(instance, slot, "down")
    reasons = why_infeasible(problem)
    if reasons:
        raise CoallocError("; ".join(reasons))
    if not instance.jobs:
        return RoundedDown(0.0, is_proven=True)
    search = Search(instance, SolveOptions(slot=slot, time_limit=time_limit, threads=threads, seed=seed))
    portfolio = _RoundedDownPortfolio(search, problem, ModelRun(search, solve_model))
    first = best_list_schedule(problem)
    portfolio.know(ticks_of(first, "makespan"))
    portfolio.solve(first, quick_bound(problem, "makespan"))
    return RoundedDown(search.lower_bound or 0.0, search.is_closed)


class _RoundedDownPortfolio(Portfolio):
    """The portfolio on a problem rounded down; of its schedules only the makespan is kept."""

    def know(self, ticks: float) -> None:
        """Take the latest end (ticks) of a schedule of the problem as what the bound has to meet."""
        self.search.objective = in_seconds(self.problem, ticks, self.objective)

    def _take(self, assignments: Sequence[Assignment], source: str) -> None:  # noqa: ARG002
        ticks = ticks_of(assignments, self.objective)
        if ticks < ticks_of(self.best, self.objective):
            self.best = list(assignments)
            self.know(ticks)

    def _run_model(
        self, problem: Problem, first: Sequence[Assignment], time_limit: float
    ) -> tuple[Schedule | None, float | None]:
        """Run a model; rounded down it gives no schedule, but where it ends with a proof its bound is the optimum."""
        _, bound = super()._run_model(problem, first, time_limit)
        if bound is not None and self.search.stopped_by == "proof":
            self.know(bound)
        return None, bound
