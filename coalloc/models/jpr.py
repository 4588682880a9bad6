"""JPR (Job Preference on Resources): the best processors, co-allocating where needed, whatever the links.

First PAS's objective without links, then the most effective power used. Source: thesis 3.1.3.1, read
as in errata 11.
"""

from __future__ import annotations

import math

import pyomo.environ as pyo

from coalloc.models.package import add_stages, extract, mode_model, total
from coalloc.problem import Mode, Problem

__all__ = ["build", "effective_power", "extract"]


def build(problem: Problem) -> pyo.ConcreteModel:
    """Return the model; first objective in seconds, second the negative of the power used."""
    model = mode_model("JPR", problem)
    execution_time = total(model, lambda _, mode: mode.execution_time)
    power = total(model, lambda _, mode: effective_power(problem, mode))
    add_stages(model, [("total-execution-time", execution_time, False), ("effective-power", -power, False)])
    return model


def effective_power(problem: Problem, mode: Mode) -> float:
    """Return the sum over the tasks of Gamma of their processors."""
    pairs = zip(mode.allocation, problem.classes, strict=True)
    return math.fsum(count * node_class.effective_power for count, node_class in pairs)
