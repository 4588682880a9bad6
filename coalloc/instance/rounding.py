"""Tolerances and rounding, in one place: when two times are equal, and how many slots a time takes.

Seconds are floats, slots are ints. The same rules serve the models, the schedules and the checker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RELATIVE_TOLERANCE = 1e-9
"""Two loads that differ by less than this share of their size are equal."""
INSTANT_TOLERANCE = 1e-9
"""Two instants that are closer than this, s, are equal ..."""
INSTANT_PRECISION = 1e-12
"""... and so are two that are closer than this share of their size, for floats are no finer."""


def time_tolerance(*times: float) -> float:
    """Return how far apart two equal instants of this size may be, in seconds."""
    return max(INSTANT_TOLERANCE, INSTANT_PRECISION * max(abs(time) for time in times))


def slots_up(seconds: float, slot: float) -> int:
    """Return the number of whole slots of length ``slot`` that cover ``seconds``, at least 0."""
    return max(0, math.ceil((seconds - time_tolerance(seconds)) / slot))


def slots_down(seconds: float, slot: float) -> int:
    """Return the number of whole slots of length ``slot`` that fit into ``seconds``, at least 0."""
    return max(0, math.floor((seconds + time_tolerance(seconds)) / slot))


def capacity_limit(capacity: float, saturation: float = 0.0) -> float:
    """Return the largest load that does not exceed a capacity: MB/s on a link, MB of a node's memory."""
    return capacity * (1.0 + saturation) * (1.0 + RELATIVE_TOLERANCE)


def merge_instants(times: Sequence[float] | NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct instants among ``times`` (s) in order, and for each time the index of its instant.

    A time within the tolerance of the one before it is the same instant, so that jobs back to back
    do not overlap by rounding.
    """
    unordered = np.asarray(times, dtype=np.float64)
    order = np.argsort(unordered, kind="stable")
    ordered = unordered[order]
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = np.diff(ordered) > np.maximum(INSTANT_TOLERANCE, INSTANT_PRECISION * np.abs(ordered[1:]))
    index = np.empty(len(ordered), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return ordered[is_new], index
