"""The objectives by name. A new one is a file beside this one and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

from coalloc.documents.arguments import picture_of
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError
from coalloc.objectives.allocations import CoallocatedJobs, UnmetLevels, UsedClusters
from coalloc.objectives.completion import Makespan, TotalResponseTime
from coalloc.objectives.due_dates import MaximumLateness, WeightedTardiness
from coalloc.objectives.metered import EnergyDelayProduct, EnergyObjective
from coalloc.objectives.objective import Objective, RegularObjective
from coalloc.objectives.waiting import MeanBoundedSlowdown, MeanWait, TotalWeightedResponseTime
from coalloc.system.plugins import Registry

BUILTIN: Mapping[str, Objective] = {
    objective.name: objective
    for objective in (
        Makespan(),
        TotalResponseTime(),
        TotalWeightedResponseTime(),
        MeanWait(),
        MeanBoundedSlowdown(),
        WeightedTardiness(),
        MaximumLateness(),
        CoallocatedJobs(),
        UsedClusters(),
        UnmetLevels(),
        EnergyObjective(),
        EnergyDelayProduct(),
    )
}
"""The objectives of coalloc by name."""

REGULAR: tuple[str, ...] = tuple(name for name, objective in BUILTIN.items() if isinstance(objective, RegularObjective))
"""Names of the regular ones."""


def _adopted(found: Any, point: EntryPoint) -> RegularObjective:
    """Return an objective of an installed package; raise where it is none."""
    made = found() if isinstance(found, type) else found
    if not isinstance(made, RegularObjective):
        raise TypeError(f"must be a RegularObjective, got {picture_of(found)}")
    if made.name != point.name:
        raise ValueError(f"the objective has another name, {quoted(made.name)}")
    return made


OBJECTIVES = Registry(BUILTIN, {"coalloc.objectives": _adopted})
"""Every objective of model ``oas`` by name."""


def objective_of(objective: str | Objective) -> Objective:
    """Return an objective by its name, or as it is; raises :class:`CoallocError` where it is neither."""
    if isinstance(objective, Objective):
        return objective
    if objective not in OBJECTIVES:
        raise CoallocError(f"objective of model 'oas' must be one of {', '.join(OBJECTIVES)}, got {objective!r}")
    return OBJECTIVES[objective]


def regular_objective(objective: str | Objective) -> RegularObjective:
    """Return :func:`objective_of` where that is regular; raises :class:`CoallocError` where it is not."""
    found = objective_of(objective)
    if not isinstance(found, RegularObjective):
        regular = (name for name, known in OBJECTIVES.items() if isinstance(known, RegularObjective))
        raise CoallocError(f"objective of this formulation must be one of {', '.join(regular)}, got {found.name!r}")
    return found
