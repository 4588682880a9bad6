"""Which formulations there are, and what each must offer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from coalloc.instance import CoallocError
from coalloc.problem import Assignment, Problem
from coalloc.schedule import Schedule

if TYPE_CHECKING:
    import pyomo.environ as pyo

OBJECTIVES = ("makespan", "total-response-time")
"""Objectives of the formulations in slots."""


@runtime_checkable
class Formulation(Protocol):
    """A model of a :class:`Problem` in slots: a module, or any object, with these two functions."""

    def build(self, problem: Problem, *, horizon: int, objective: str, lower_bound: int) -> pyo.ConcreteModel:
        """Return the model, its objective in slots; the last end is between ``lower_bound`` and ``horizon``."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return the schedule that the values of the variables describe."""


@runtime_checkable
class TakesStart(Protocol):
    """A formulation whose solver may start from a known schedule."""

    def set_start(self, model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
        """Give the variables the values that the schedule has."""


@runtime_checkable
class EstimatesSize(Protocol):
    """A formulation that knows its size before it is built."""

    def estimate_nonzeros(self, problem: Problem, horizon: int) -> int:
        """Return roughly how many nonzeros the model will have, cheaply."""


@runtime_checkable
class PackageFormulation(Protocol):
    """A model of the package of a :class:`Problem`: all jobs start together (PAS, CBS, JPR).

    ``build`` returns a model whose objective is in seconds (CBS: tasks). A model with several
    objectives in order of priority has them in ``model.stages``; see :class:`coalloc.models.package.Stage`.
    """

    def build(self, problem: Problem) -> pyo.ConcreteModel:
        """Return the model."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return the schedule that the values of the variables describe, with SC = 1."""


FORMULATIONS: Mapping[str, Mapping[str, str]] = {
    "oas": {
        "node": "coalloc.models.oas_node",
        "count": "coalloc.models.oas_count",
        "mode": "coalloc.models.oas_mode",
    },
    "pas": {"node": "coalloc.models.pas_node", "mode": "coalloc.models.pas_mode"},
    "cbs": {"mode": "coalloc.models.cbs"},
    "jpr": {"mode": "coalloc.models.jpr"},
}
"""Module of each formulation, by model and formulation name."""


def formulation_of(model: str, formulation: str) -> Formulation:
    """Return a formulation of a slotted model by name; ``auto`` is the mode model."""
    return cast(Formulation, _module_of(model, formulation))


def package_formulation_of(model: str, formulation: str) -> PackageFormulation:
    """Return a formulation of a package model by name; ``auto`` is the mode model."""
    return cast(PackageFormulation, _module_of(model, formulation))


def _module_of(model: str, formulation: str) -> Any:
    if model not in FORMULATIONS:
        raise CoallocError(f"model must be one of {', '.join(FORMULATIONS)}, got {model!r}")
    known = FORMULATIONS[model]
    name = "mode" if formulation == "auto" else formulation
    if name not in known:
        raise CoallocError(
            f"formulation of model {model!r} must be one of auto, {', '.join(known)}, got {formulation!r}"
        )
    return importlib.import_module(known[name])
