"""The objectives of a package model in order of priority: each is minimised, and kept while the next is solved.

Source: thesis 3.1.3.1; errata 11.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.numvalue import is_potentially_variable
from pyomo.repn import generate_standard_repn

from coalloc.instance import CoallocError
from coalloc.models.package_models import Stage
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.result import PROOF_TOLERANCE, ModelSolution, Progress, RunModel, SolveStatus, TracePoint
from coalloc.solvers.solve_state import SolveState

LEVEL_TOLERANCE = 1e-9
"""Share by which a proved level may be exceeded later, so that rounding errors do not forbid it."""
LARGEST_COST = 100.0
"""Size to which the largest term of an objective is scaled before it is solved.

A MIP solver prunes what improves by less than about 1e-6: here 1e-8 of the largest term. In seconds that
would be below the rounding errors of a large objective, and far too coarse for a small one.
"""


def solve_stages(
    state: SolveState, run_model: RunModel, model: pyo.ConcreteModel, *, has_start: bool = False
) -> list[ModelSolution]:
    """Minimise the objectives of a model in order; stop after one that is not proved.

    Objectives and bounds of the solutions are in the model's own units, their status ``optimal`` where proved.
    With ``has_start`` the variables hold a solution to start from.
    """
    solutions: list[ModelSolution] = []
    options = state.options
    for stage in _stages(model):
        with _scaled(model, stage) as factor:
            solution = run_model(
                model,
                SolverLimits(state.remaining, options.work_limit, options.gap, options.threads, options.seed),
                integral=stage.is_integral,
                start=has_start or bool(solutions),
                progress=None if solutions else _reporter(state, factor),
            )
        solutions.append(_in_own_units(solution, factor))
        if solutions[-1].status is not SolveStatus.OPTIMAL or solution.objective is None:
            break
        _keep_level(model, stage, factor, solution.objective)
    return solutions


def _stages(model: pyo.ConcreteModel) -> list[Stage]:
    """Return the objectives of a model; one of the user's own has a single active objective."""
    if hasattr(model, "stages"):
        return list(model.stages)
    active = list(model.component_data_objects(pyo.Objective, active=True))
    if len(active) != 1 or active[0].sense != pyo.minimize:
        raise CoallocError(
            f"a model must have one active objective to minimise, or model.stages; this one has {len(active)} "
            "objectives"
        )
    return [Stage(active[0].name, active[0])]


@contextmanager
def _scaled(model: pyo.ConcreteModel, stage: Stage) -> Iterator[float]:
    """Make a stage the active objective, scaled, and yield the factor."""
    for objective in model.component_data_objects(pyo.Objective, active=True):
        objective.deactivate()
    factor = 1.0 if stage.is_integral else _factor(stage.objective.expr)
    name = unique_component_name(model, "scaled_objective")
    model.add_component(name, pyo.Objective(expr=factor * stage.objective.expr))
    try:
        yield factor
    finally:
        model.del_component(name)
        stage.objective.activate()


def _factor(expression: Any) -> float:
    """Return what scales the largest term of a linear expression to ``LARGEST_COST``."""
    terms = generate_standard_repn(expression)
    largest = max(abs(term) for term in (terms.constant, *terms.linear_coefs))
    return LARGEST_COST / largest if largest > 0.0 else 1.0


def _in_own_units(solution: ModelSolution, factor: float) -> ModelSolution:
    """Return a solution unscaled, its status judged by its bound; a solver that stopped short by a gap is said to."""
    if solution.objective is None:
        return replace(solution, lower_bound=solution.lower_bound / factor)
    is_proven = solution.objective - solution.lower_bound <= PROOF_TOLERANCE * max(1.0, abs(solution.objective))
    unproven = "gap" if solution.status is SolveStatus.OPTIMAL else solution.stopped_by
    return replace(
        solution,
        status=SolveStatus.OPTIMAL if is_proven else SolveStatus.FEASIBLE,
        stopped_by="proof" if is_proven else unproven,
        objective=solution.objective / factor,
        lower_bound=solution.lower_bound / factor,
    )


def _keep_level(model: pyo.ConcreteModel, stage: Stage, factor: float, value: float) -> None:
    """Forbid solutions that are worse by this objective than ``value`` (scaled)."""
    if is_potentially_variable(stage.objective.expr):
        limit = value + LEVEL_TOLERANCE * max(1.0, abs(value))
        name = unique_component_name(model, f"level_{stage.name}")
        model.add_component(name, pyo.Constraint(expr=factor * stage.objective.expr <= limit))


def _reporter(state: SolveState, factor: float) -> Progress:
    """Return what puts a solver's news about the first level into the trace."""

    def report(point: TracePoint) -> None:
        incumbent, bound = (None if value is None else value / factor for value in (point.incumbent, point.lower_bound))
        state.record(point.source, incumbent, bound)

    return report
