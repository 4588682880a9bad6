"""Objectives that the meter reads off a schedule: energy, and energy times makespan. Neither is regular."""

from __future__ import annotations

from typing import ClassVar

from coalloc.instance import Instance
from coalloc.meter import energy
from coalloc.objectives.objective import Objective
from coalloc.schedule import Schedule


class Energy(Objective):
    """What :func:`coalloc.energy` meters with ``idle="always"``."""

    name = "energy"
    unit = "J"
    needs_watts: ClassVar[bool] = True

    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return joules."""
        return energy(instance, schedule).total


class EnergyDelayProduct(Objective):
    """Energy times makespan."""

    name = "edp"
    unit = "J s"
    needs_watts: ClassVar[bool] = True

    def of_schedule(self, instance: Instance, schedule: Schedule) -> float:
        """Return joule seconds."""
        return energy(instance, schedule).edp
