"""Tolerances and rounding, in one place: when two times are equal, and how many slots a time takes.

Seconds are floats, slots are ints. The same rules serve the models, the schedules and the checker.
"""

from __future__ import annotations

import math

RELATIVE_TOLERANCE = 1e-9
"""Two times, or a load and a capacity, that differ by less than this share of their size are equal."""


def time_tolerance(*times: float) -> float:
    """Return how far apart two equal instants of this size may be, in seconds."""
    return RELATIVE_TOLERANCE * max(1.0, *(abs(time) for time in times))


def slots_up(seconds: float, slot: float) -> int:
    """Return the number of whole slots of length ``slot`` that cover ``seconds``, at least 0."""
    slots = seconds / slot
    return max(0, math.ceil(slots - RELATIVE_TOLERANCE * max(1.0, slots)))


def slots_down(seconds: float, slot: float) -> int:
    """Return the number of whole slots of length ``slot`` that fit into ``seconds``, at least 0."""
    slots = seconds / slot
    return max(0, math.floor(slots + RELATIVE_TOLERANCE * max(1.0, slots)))


def capacity_limit(capacity: float, saturation: float = 0.0) -> float:
    """Return the largest load, in MB/s, that does not saturate a link of this capacity."""
    return capacity * (1.0 + saturation) * (1.0 + RELATIVE_TOLERANCE)
