"""A lower bound on the energy, and on the EDP, of every schedule, at the scale of traces: one linear programme."""

from __future__ import annotations

import math

from coalloc.instance import CoallocError, Instance
from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.models.energy_relaxation import build
from coalloc.problem import discretise
from coalloc.solvers.bounds import simple_bound
from coalloc.solvers.highs import Limits, solve_model
from coalloc.solvers.result import SolveStatus
from coalloc.solvers.time_units import in_units, time_unit


def energy_bound(
    instance: Instance, objective: str = "energy", makespan_limit: float | None = None, time_limit: float = 60.0
) -> float:
    """Return a lower bound on ``"energy"`` (J) or ``"edp"`` (J s), whatever the scope and the links.

    Raises :class:`CoallocError` where watts are missing, or where no schedule keeps ``makespan_limit`` (s).
    """
    if not instance.jobs:
        return 0.0
    unit = time_unit(instance)
    problem = discretise(instance, None)
    least = max(0.0, simple_bound(problem) - instance.origin) * (1.0 - RELATIVE_TOLERANCE)
    if makespan_limit is not None and least > makespan_limit:
        raise CoallocError(
            f"no schedule ends within makespan_limit={makespan_limit:g} s: it takes {least:g} s at least"
        )
    limit = None if makespan_limit is None else makespan_limit / unit
    scaled = discretise(in_units(instance, unit), None)
    model = build(scaled, least_makespan=least / unit, makespan_limit=limit)
    solution = solve_model(model, Limits(time=time_limit), integral=False)
    if solution.status is SolveStatus.INFEASIBLE:
        raise CoallocError(f"no schedule ends within makespan_limit={makespan_limit:g} s: the nodes have too few cores")
    joules = solution.lower_bound * unit * (1.0 - 1e-7) if math.isfinite(solution.lower_bound) else 0.0
    return joules if objective == "energy" else joules * least
