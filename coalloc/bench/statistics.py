"""Means of what spans orders of magnitude, and intervals for them.

Times are summarised by their shifted geometric mean, after Achterberg, *Constraint Integer
Programming* (2007), appendix A.3: a plain mean is that of the longest sample, a geometric mean that
of the shortest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coalloc.measures.intervals import ConfidenceInterval, mean_interval

SHIFT = 1.0
"""Shift of the geometric mean of times, s."""


def geometric_mean(numbers: Sequence[float], shift: float = 0.0) -> float | None:
    """Return exp(mean(log(x + shift))) - shift, None of nothing."""
    if not len(numbers):
        return None
    return float(np.exp(np.mean(np.log(np.asarray(numbers) + shift))) - shift)


def mean_ratio(ratios: Sequence[float], rng: np.random.Generator) -> ConfidenceInterval | None:
    """Return the geometric mean of paired ratios, with the interval of the mean of their logarithms; None of nothing.

    The interval of few ratios is nan, as that of :func:`coalloc.measures.intervals.mean_interval`.
    """
    if not len(ratios):
        return None
    mean, low, high, samples = mean_interval(np.log(np.asarray(ratios)).tolist(), rng)
    return ConfidenceInterval(math.exp(mean), math.exp(low), math.exp(high), samples)
