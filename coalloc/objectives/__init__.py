"""Objectives, one file per family, and the registry of their names.

An objective of your own is a subclass of :class:`RegularObjective`; ``coalloc.solve(objective=...)`` takes it wherever
it takes a name.
"""

from coalloc.objectives.allocations import AllocationObjective
from coalloc.objectives.criterion import Criterion
from coalloc.objectives.objective import Objective, RegularObjective
from coalloc.objectives.registry import OBJECTIVES, objective_of, regular_objective

__all__ = [
    "OBJECTIVES",
    "AllocationObjective",
    "Criterion",
    "Objective",
    "RegularObjective",
    "objective_of",
    "regular_objective",
]
