"""Which formulations there are, and what each must offer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import pyomo.environ as pyo

from coalloc.instance import CoallocError
from coalloc.problem import Assignment, Problem
from coalloc.schedule import Schedule


class Formulation(Protocol):
    """A model of a :class:`Problem`; a module or any object with these functions.

    ``build`` returns a model whose active objective is in ticks (slots or seconds). ``extract`` reads
    the schedule from the values of its variables. ``estimate_nonzeros`` and ``set_start`` are
    optional for an object of the user's own.
    """

    def build(self, problem: Problem, *, horizon: int, objective: str, lower_bound: int) -> pyo.ConcreteModel:
        """Return the model; every job ends by ``horizon``, the latest not before ``lower_bound`` (ticks)."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return the schedule that the values of the variables describe."""

    def estimate_nonzeros(self, problem: Problem, horizon: int) -> int:
        """Return roughly how many nonzeros the model will have, cheaply."""

    def set_start(self, model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
        """Give the variables the values that a known schedule has."""


FORMULATIONS: Mapping[str, Mapping[str, str]] = {
    "oas": {
        "node": "coalloc.models.oas_node",
        "count": "coalloc.models.oas_count",
        "configuration": "coalloc.models.oas_configuration",
    },
    "pas": {"node": "coalloc.models.pas_node", "configuration": "coalloc.models.pas_configuration"},
    "cbs": {"configuration": "coalloc.models.cbs"},
    "jpr": {"configuration": "coalloc.models.jpr"},
}
"""Module of each formulation, by model and formulation name."""


def formulation_of(model: str, formulation: str) -> Formulation:
    """Return a formulation by name; ``auto`` is the configuration model."""
    if model not in FORMULATIONS:
        raise CoallocError(f"model must be one of {', '.join(FORMULATIONS)}, got {model!r}")
    known = FORMULATIONS[model]
    name = "configuration" if formulation == "auto" else formulation
    if name not in known:
        raise CoallocError(
            f"formulation of model {model!r} must be one of auto, {', '.join(known)}, got {formulation!r}"
        )
    return cast(Formulation, cast(Any, importlib.import_module(known[name])))
