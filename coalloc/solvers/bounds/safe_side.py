"""Rounding of bounds: down by the possible error of their arithmetic, then up to the next slot if there are slots."""

from __future__ import annotations

import math

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.problem import Problem


def rounded(problem: Problem, ticks: float) -> float:
    """Return a bound with the last digits of its arithmetic taken off, up to the next slot if there are slots."""
    safe = ticks * (1.0 - RELATIVE_TOLERANCE)
    return safe if problem.slot is None or math.isinf(safe) else float(math.ceil(safe - RELATIVE_TOLERANCE))
