"""JPR (Job Preference on Resources): the best processors, co-allocating where needed, whatever the links.

First PAS's objective without links, then the most effective power used. Source: thesis 3.1.3.1, read
as in errata 11.
"""

from __future__ import annotations

import math

import pyomo.environ as pyo

from coalloc.models.package import add_stages, configuration_model, extract, total
from coalloc.problem import Configuration, Problem

__all__ = ["build", "effective_power", "extract"]


def build(problem: Problem) -> pyo.ConcreteModel:
    """Return the model; first objective in seconds, second the negative of the power used."""
    model = configuration_model("JPR", problem)
    execution_time = total(model, lambda _, configuration: configuration.execution_time)
    power = total(model, lambda _, configuration: effective_power(problem, configuration))
    add_stages(model, [("total-execution-time", execution_time, False), ("effective-power", -power, False)])
    return model


def effective_power(problem: Problem, configuration: Configuration) -> float:
    """Return the sum over the tasks of Gamma of their processors."""
    pairs = zip(configuration.allocation, problem.classes, strict=True)
    return math.fsum(count * node_class.effective_power for count, node_class in pairs)
