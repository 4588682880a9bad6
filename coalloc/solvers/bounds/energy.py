"""A lower bound on the energy, and on the EDP, of every schedule, at the scale of traces: one linear programme."""

from __future__ import annotations

import math

from coalloc.instance import CoallocError, Instance
from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.models.energy_relaxation import build
from coalloc.problem import discretise
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.bounds.simple import simple_bound
from coalloc.solvers.result import SolveStatus


def energy_bound(
    instance: Instance, objective: str = "energy", makespan_limit: float | None = None, time_limit: float = 60.0
) -> float:
    """Return a lower bound on ``"energy"`` (J) or ``"edp"`` (J s), whatever the scope and the links.

    Raises :class:`CoallocError` where watts are missing, or where no schedule keeps ``makespan_limit`` (s).
    """
    joules, makespan = relaxed_energy(instance, makespan_limit, time_limit)
    if math.isinf(joules):
        raise CoallocError(
            f"no schedule ends within makespan_limit={makespan_limit:g} s: {_why(makespan, makespan_limit)}"
        )
    return joules if objective == "energy" else joules * makespan


def _why(makespan: float, limit: float | None) -> str:
    is_long = limit is not None and makespan > limit
    return f"it takes {makespan:g} s at least" if is_long else "the nodes have too few cores"


def relaxed_energy(instance: Instance, makespan_limit: float | None, time_limit: float) -> tuple[float, float]:
    """Return lower bounds on the energy (J; infinite where no schedule keeps the limit) and on the makespan (s)."""
    if not instance.jobs:
        return 0.0, 0.0
    problem = discretise(instance, None)
    least = max(0.0, simple_bound(problem) - instance.origin) * (1.0 - RELATIVE_TOLERANCE)
    if makespan_limit is not None and least > makespan_limit:
        return math.inf, least
    most = None if makespan_limit is None else makespan_limit * (1.0 + RELATIVE_TOLERANCE)
    model = build(problem, least_makespan=least, makespan_limit=most)
    solution = solve_model(model, SolverLimits(time=time_limit), integral=False)
    if solution.status is SolveStatus.INFEASIBLE:
        return math.inf, least
    return solution.lower_bound * (1.0 - 1e-7) if math.isfinite(solution.lower_bound) else 0.0, least
