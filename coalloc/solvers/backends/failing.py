"""A solver that fails: a licence that is missing, a model beyond its size, an attribute that it does not know.

It ends the run of that solver, and with a note; what is known from elsewhere is not lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from coalloc.instance import CoallocError
from coalloc.solvers.result import ModelSize, ModelSolution, RunModel, SolveStatus

if TYPE_CHECKING:
    import pyomo.environ as pyo


class SolverFailedError(CoallocError):
    """A solver did not do what it was asked to do."""


def noting(run_model: RunModel, note: Callable[[str], None]) -> RunModel:
    """Return what runs a model likewise; where the solver fails, that is noted, and nothing is found."""

    def run(model: pyo.ConcreteModel, *arguments: Any, **options: Any) -> ModelSolution:
        try:
            return run_model(model, *arguments, **options)
        except SolverFailedError as failure:
            note(str(failure))
            size = ModelSize(model.nconstraints(), model.nvariables(), 0, 0)
            return ModelSolution(SolveStatus.UNKNOWN, "failure", None, -math.inf, size)

    return run
