"""PAS, mode formulation: one allocation vector per job of the package.

Minimise the total execution time of the package. Links do not saturate, (P3); where they may
(``links="shared"``), the communication slowdown SC is part of the objective, (P4). With one job it is the
model of Lérida et al., from which PAS starts. Source: thesis 3.1.2, (3.3) to (3.8); errata 2, 7.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyomo.environ as pyo

from coalloc.models.package_models import (
    add_communication_slowdown,
    add_saturation_limits,
    add_stages,
    choices,
    extract,
    mode_model,
    set_start,
    total,
)
from coalloc.problem import Problem

__all__ = ["build", "extract", "set_start"]


def build(problem: Problem) -> pyo.ConcreteModel:
    """Return the model; the objective is in seconds."""
    model = mode_model("PAS mode", problem)
    execution_time = total(model, lambda _, mode: mode.execution_time)
    if problem.links == "strict":
        add_saturation_limits(model)
    elif problem.links == "shared":
        _add_shared_links(model)
        # (3.8) with SC; execution times of modes count it as 1
        execution_time += pyo.quicksum(
            job.base_time * (1.0 - job.processing_share) * (model.SC[j] - 1.0) for j, job in enumerate(problem.jobs)
        )
    add_stages(model, [("total-execution-time", execution_time, False)])
    return model


def _add_shared_links(model: pyo.ConcreteModel) -> None:
    terms: dict[tuple[int, int], list[tuple[float, Any]]] = defaultdict(list)
    for j, mode, y in choices(model):
        for k, load in enumerate(mode.loads[: model.problem.allocations.num_links]):
            if load:
                terms[j, k].append((load, y))
    add_communication_slowdown(
        model,
        loads={pair: pyo.quicksum(load * y for load, y in found) for pair, found in terms.items()},
        is_loaded={pair: pyo.quicksum(y for _, y in found) for pair, found in terms.items()},
    )
