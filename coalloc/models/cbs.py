"""CBS (Chunk Big Small): keep 75 % of the tasks of each job in one cluster, then load the links least.

As a hard rule the 75 % could never start jobs larger than a cluster, so it is the first of two objectives.
Link capacities and node powers play no part. Source: thesis 3.1.3.1, read as in errata 11.
"""

from __future__ import annotations

import pyomo.environ as pyo

from coalloc.models.package_models import add_stages, extract, mode_model, set_start, total
from coalloc.problem import Problem
from coalloc.rules.package_modes import chunk_shortfall, total_link_load

__all__ = ["build", "extract", "set_start"]


def build(problem: Problem) -> pyo.ConcreteModel:
    """Return the model; first objective in tasks, second in MB/s."""
    model = mode_model("CBS", problem)
    shortfall = total(model, lambda job, mode: chunk_shortfall(problem, job, mode))
    load = total(model, lambda _, mode: total_link_load(problem, mode))
    add_stages(model, [("chunk-shortfall", shortfall, True), ("link-load", load, False)])
    return model
