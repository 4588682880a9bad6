"""The objectives by name. A new one is a file beside this one and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from coalloc.instance import CoallocError
from coalloc.objectives.allocations import CoallocatedJobs, UnmetLevels, UsedClusters
from coalloc.objectives.completion import Makespan, TotalResponseTime
from coalloc.objectives.due_dates import MaximumLateness, WeightedTardiness
from coalloc.objectives.metered import Energy, EnergyDelayProduct
from coalloc.objectives.objective import Objective, RegularObjective
from coalloc.objectives.waiting import MeanBoundedSlowdown, MeanWait, TotalWeightedResponseTime

OBJECTIVES: Mapping[str, Objective] = {
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
        Energy(),
        EnergyDelayProduct(),
    )
}
"""Every objective of model ``oas`` by name."""

REGULAR: tuple[str, ...] = tuple(
    name for name, objective in OBJECTIVES.items() if isinstance(objective, RegularObjective)
)
"""Names of the regular ones."""


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
        raise CoallocError(f"objective of this formulation must be one of {', '.join(REGULAR)}, got {found.name!r}")
    return found
