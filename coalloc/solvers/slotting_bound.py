"""The lower edge of the certified band: the optimum of an instance rounded *down* to slots, or a bound on it.

``slot * OPT_floor <= OPT_continuous`` (docs/mathematics/execution-model.md, "Slotting error"): durations, arrivals and
ends of running jobs are rounded down, and a job of no whole slot occupies nothing. The portfolio solves that
problem as it solves any other; only its schedules are none of the instance, so they are never offered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from coalloc.instance import CoallocError, Instance
from coalloc.objectives import OBJECTIVES, Criterion
from coalloc.problem import Assignment, discretise
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.portfolio import close
from coalloc.solvers.result import SolveOptions
from coalloc.solvers.solve_state import SolveState
from coalloc.solvers.time_shift import shifted


@dataclass(frozen=True, slots=True)
class RoundedDown:
    """``lower_bound``, s as reported, holds for every schedule in continuous time.

    ``is_proven``: it is ``slot * OPT_floor``, and no other method could raise it with these slots.
    """

    lower_bound: float
    is_proven: bool


def rounded_down_makespan(
    instance: Instance, slot: float, *, time_limit: float | None = 60.0, threads: int = 1, seed: int = 0
) -> RoundedDown:
    """Return the least makespan of an instance rounded down to slots of ``slot`` seconds, or a bound on it.

    Stops after ``time_limit`` seconds (None or infinity: no limit). Raises :class:`CoallocError` where there is
    no schedule at all.
    """
    given = shifted(instance, slot, OBJECTIVES["makespan"])
    problem = discretise(given.instance, slot, "down", base=given.base)
    reasons = why_infeasible(problem)
    if reasons:
        raise CoallocError("; ".join(reasons))
    if not instance.jobs:
        return RoundedDown(0.0, is_proven=True)
    limit = None if time_limit == math.inf else time_limit
    state = SolveState(instance, SolveOptions(slot=slot, time_limit=limit, threads=threads, seed=seed))
    incumbent = _RoundedDownContext(state, problem, Criterion.of(problem, "makespan"), solve_model)
    close(incumbent)
    return RoundedDown(state.lower_bound or 0.0, state.is_closed)


class _RoundedDownContext(Incumbent):
    """State of a problem rounded down; of its schedules only the makespan is kept."""

    def attain(self, cost: float) -> None:
        """Take the latest end (ticks) of a schedule of the problem as what the bound has to meet."""
        self.state.objective = self.criterion.reported(cost)

    def take(self, assignments: Sequence[Assignment], source: str) -> None:  # noqa: ARG002
        """Keep assignments of the problem if they are better than the best."""
        if assignments and self.criterion.value(assignments) < self.cost:
            self.best = list(assignments)
            self.attain(self.cost)

    take_if_valid = take
