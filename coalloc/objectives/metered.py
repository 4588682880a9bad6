"""Objectives that the meter reads off a schedule: energy, and energy times makespan. Neither is regular."""

from __future__ import annotations

from typing import ClassVar

from coalloc.instance import Instance
from coalloc.objectives.objective import Objective
from coalloc.power.meter import energy
from coalloc.schedule import Schedule


class MeteredObjective(Objective):
    """Energy times makespan to the power of ``delay``."""

    needs_watts: ClassVar[bool] = True
    delay: ClassVar[int]

    def worth(self, joules: float, makespan: float) -> float:
        """Return what energy, J, and makespan, s, are worth."""
        return joules * makespan**self.delay

    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return what a schedule is worth."""
        metered = energy(instance, schedule)
        return self.worth(metered.total, metered.makespan)


class EnergyObjective(MeteredObjective):
    """Energy as :func:`coalloc.energy` computes it with ``idle="always"``."""

    name = "energy"
    unit = "J"
    delay = 0


class EnergyDelayProduct(MeteredObjective):
    """Energy times makespan."""

    name = "edp"
    unit = "J s"
    delay = 1


def metered_objective(name: str) -> MeteredObjective:
    """Return the objective of this name."""
    return next(objective for objective in (EnergyObjective(), EnergyDelayProduct()) if objective.name == name)
