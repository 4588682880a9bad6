"""Registry of formulations, and what each must offer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from coalloc.instance import CoallocError
from coalloc.objectives import RegularObjective
from coalloc.problem import Assignment, Mode, Problem
from coalloc.schedule import Schedule

if TYPE_CHECKING:
    import pyomo.environ as pyo


class InfeasibleModelError(CoallocError):
    """No schedule ends within the horizon, as shows while a model is built: Pyomo has no rows without variables."""


@runtime_checkable
class Formulation(Protocol):
    """Interface of a custom formulation: a MILP of a slotted problem.

    Any module or object with ``build`` and ``extract`` is a formulation.

    See Also
    --------
    coalloc.solve : Solve an instance, with ``formulation=``.
    coalloc.build_model : Build a built-in model and extend it.

    Examples
    --------
    The built-in mode model, used as a custom formulation:

    >>> import coalloc
    >>> from coalloc.models import oas_mode
    >>> class Mine:
    ...     def build(self, problem, **options):
    ...         return oas_mode.build(problem, **options)
    ...
    ...     def extract(self, model):
    ...         return oas_mode.extract(model)
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> coalloc.solve(instance, slot=100.0, formulation=Mine()).objective
    500.0
    """

    def build(
        self, problem: Problem, *, horizon: int, objective: RegularObjective, lower_bound: int
    ) -> pyo.ConcreteModel:
        """Return the model; the last end lies between ``lower_bound`` and ``horizon``.

        Parameters
        ----------
        problem : Problem
            The slotted problem.
        horizon : int
            Latest end, slots.
        objective : RegularObjective
            The objective; the model minimizes its aggregated cost, in slots if the costs are ends.
        lower_bound : int
            Lower bound on the last end, slots.

        Returns
        -------
        pyomo.environ.ConcreteModel
            The model.
        """

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return the schedule that the values of the variables describe.

        Parameters
        ----------
        model : pyomo.environ.ConcreteModel
            A solved model of ``build``.

        Returns
        -------
        Schedule
            The schedule.
        """


@runtime_checkable
class TakesStart(Protocol):
    """A formulation whose solver may start from a known schedule."""

    def set_start(self, model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
        """Give the variables the values that the schedule has."""


@runtime_checkable
class OrdersEqualJobs(Protocol):
    """A formulation whose jobs that are equal may be asked to start in their order."""

    def order_equal_jobs(self, model: pyo.ConcreteModel, pairs: Sequence[tuple[int, int]]) -> None:
        """Add that of each pair of jobs, by index, the first starts no later."""


@runtime_checkable
class EstimatesSize(Protocol):
    """A formulation that knows its size before it is built."""

    def estimate_nonzeros(self, problem: Problem, horizon: int) -> int:
        """Return roughly how many nonzeros the model will have, cheaply."""


@runtime_checkable
class PackageFormulation(Protocol):
    """A model of the package of a :class:`Problem`: all jobs start together (PAS, CBS, JPR).

    ``build`` returns a model whose objective is in seconds (CBS: tasks). A model with several
    objectives in order of priority has them in ``model.stages``; see :class:`coalloc.models.package_models.Stage`.
    """

    def build(self, problem: Problem) -> pyo.ConcreteModel:
        """Return the model."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return the schedule that the values of the variables describe, with SC = 1."""


@runtime_checkable
class StartsFromPackage(Protocol):
    """A formulation of a package whose solver may start from a known one."""

    def set_start(self, model: pyo.ConcreteModel, modes: Sequence[Mode]) -> None:
        """Give the variables the values that they have where each job takes its mode."""


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


ENERGY_FORMULATIONS: Mapping[str, str] = {
    "mode": "coalloc.models.energy_mode",
    "blocks": "coalloc.models.energy_blocks",
}
"""Module of each formulation of energy: in slots, and in continuous time."""


class Extracts(Protocol):
    """Mapping from the variables of a model back to a schedule."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return the schedule that the values of the variables describe."""


def formulation_of_model(model: pyo.ConcreteModel) -> Extracts | None:
    """Return the formulation that has built a model, which its attribute ``formulation`` names; None where none has."""
    name = getattr(model, "formulation", None)
    known = {module for modules in (*FORMULATIONS.values(), ENERGY_FORMULATIONS) for module in modules.values()}
    return cast(Extracts, importlib.import_module(name)) if name in known else None


def module_name(model: str, formulation: str) -> str:
    """Return the module of a formulation by name; ``auto`` is the mode model."""
    if model not in FORMULATIONS:
        raise CoallocError(f"model must be one of {', '.join(FORMULATIONS)}, got {model!r}")
    known = FORMULATIONS[model]
    name = "mode" if formulation == "auto" else formulation
    if name not in known:
        raise CoallocError(
            f"formulation of model {model!r} must be one of auto, {', '.join(known)}, got {formulation!r}"
        )
    return known[name]


def formulation_of(model: str, formulation: str) -> Formulation:
    """Return a formulation of a slotted model by name; ``auto`` is the mode model."""
    return cast(Formulation, _module_of(model, formulation))


def package_formulation_of(model: str, formulation: str) -> PackageFormulation:
    """Return a formulation of a package model by name; ``auto`` is the mode model."""
    return cast(PackageFormulation, _module_of(model, formulation))


def _module_of(model: str, formulation: str) -> Any:
    return importlib.import_module(module_name(model, formulation))
