"""View of all methods: node classes, allocations, execution times, link loads, resources, clock, modes."""

from coalloc.problem.allocation import least_tasks
from coalloc.problem.allocations import MAX_MODES, Allocations, Links
from coalloc.problem.blocks import Busy, taken_in_pieces
from coalloc.problem.choices import Assignment, Mode, NotTogetherRow, SpeedLevel, TimeSumRow
from coalloc.problem.clock import Rounding, TickClock
from coalloc.problem.counting import compositions, numbered
from coalloc.problem.discretisation import (
    MAX_SLOTS,
    Slot,
    discretise,
    discretise_for_energy,
    in_other_slots,
    slot_seconds,
)
from coalloc.problem.package import Package
from coalloc.problem.problem import Problem
from coalloc.problem.resources import LinkBandwidth, Pool
from coalloc.problem.shortages import short_resource, shortage

__all__ = [
    "MAX_MODES",
    "MAX_SLOTS",
    "Allocations",
    "Assignment",
    "Busy",
    "LinkBandwidth",
    "Links",
    "Mode",
    "NotTogetherRow",
    "Package",
    "Pool",
    "Problem",
    "Rounding",
    "Slot",
    "SpeedLevel",
    "TickClock",
    "TimeSumRow",
    "compositions",
    "discretise",
    "discretise_for_energy",
    "in_other_slots",
    "least_tasks",
    "numbered",
    "short_resource",
    "shortage",
    "slot_seconds",
    "taken_in_pieces",
]
