"""Tolerances and rounding, in one place: when two times are equal, and how many slots a time takes.

Seconds are floats, slots are ints. The same rules serve the models, the schedules and the checker.
"""

from __future__ import annotations

import math

RELATIVE_TOLERANCE = 1e-9
"""Two loads that differ by less than this share of their size are equal."""
TIME_TOLERANCE = 1e-9
"""Durations that differ by less than this, s, are equal."""
TIME_PRECISION = 1e-12
"""Durations that differ by less than this share of their size are equal, since floats are no finer.

Likewise measures and pictures. Whether a schedule is valid, and what exact methods find,
depends on the tolerance of :class:`coalloc.instance.time_base.TimeBase`.
"""


def time_tolerance(*seconds: float) -> float:
    """Return the largest difference of two equal amounts of time of this size, in seconds."""
    return max(TIME_TOLERANCE, TIME_PRECISION * max(map(abs, seconds)))


def slots_up(seconds: float, slot: float, tolerance: float = 0.0) -> int:
    """Return the number of whole slots of length ``slot`` that cover ``seconds``, at least 0.

    ``tolerance`` (s) is that of the time base where the seconds are a point in time, and not a duration.
    """
    return max(0, math.ceil((seconds - max(tolerance, time_tolerance(seconds))) / slot))


def slots_down(seconds: float, slot: float, tolerance: float = 0.0) -> int:
    """Return the number of whole slots of length ``slot`` that fit into ``seconds``, at least 0.

    ``tolerance`` (s) as for :func:`slots_up`.
    """
    return max(0, math.floor((seconds + max(tolerance, time_tolerance(seconds))) / slot))


def is_whole(seconds: float, slot: float, tolerance: float) -> bool:
    """Return whether a point in time is a whole number of slots, but for the tolerance of its time base; all in s."""
    return slots_up(seconds, slot, tolerance) == slots_down(seconds, slot, tolerance)


def capacity_limit(capacity: float, saturation: float = 0.0) -> float:
    """Return the largest load that does not exceed a capacity: MB/s on a link, MB of a node's memory."""
    return capacity * (1.0 + saturation) * (1.0 + RELATIVE_TOLERANCE)
