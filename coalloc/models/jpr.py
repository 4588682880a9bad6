"""JPR (Job Preference on Resources): the best processors, co-allocating where needed, whatever the links.

First PAS's objective without links, then the most effective power used. Source: thesis 3.1.3.1, read
as in errata 11.
"""

from __future__ import annotations

import pyomo.environ as pyo

from coalloc.models.package_models import add_stages, extract, mode_model, set_start, total
from coalloc.problem import Problem
from coalloc.rules.package_modes import effective_power

__all__ = ["build", "extract", "set_start"]


def build(problem: Problem) -> pyo.ConcreteModel:
    """Return the model; first objective in seconds, second the negative of the power used."""
    model = mode_model("JPR", problem)
    execution_time = total(model, lambda _, mode: mode.execution_time)
    power = total(model, lambda _, mode: effective_power(problem, mode))
    add_stages(model, [("total-execution-time", execution_time, False), ("effective-power", -power, False)])
    return model
