"""Means of what spans orders of magnitude, and intervals for them.

Times are summarised by their shifted geometric mean, after Achterberg, *Constraint Integer
Programming* (2007), appendix A.3: a plain mean is that of the longest sample, a geometric mean that
of the shortest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHIFT = 1.0
"""Shift of the geometric mean of times, s."""
RESAMPLES = 10_000
DRAWN_AT_A_TIME = 1_000_000
LEVEL = 0.95
"""Share of the resampled means that an interval holds."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A mean and the interval around it."""

    mean: float
    low: float
    high: float


def geometric_mean(numbers: Sequence[float], shift: float = 0.0) -> float | None:
    """Return exp(mean(log(x + shift))) - shift, None of nothing."""
    if not len(numbers):
        return None
    return float(np.exp(np.mean(np.log(np.asarray(numbers) + shift))) - shift)


def mean_ratio(ratios: Sequence[float], rng: np.random.Generator) -> ConfidenceInterval | None:
    """Return the geometric mean of paired ratios with its bootstrap interval (percentiles), None of nothing.

    Pairs are drawn with replacement. Source: Efron and Tibshirani, *An Introduction to the Bootstrap*
    (1993), chapter 13.
    """
    if not len(ratios):
        return None
    logs = np.log(np.asarray(ratios))
    at_a_time = max(1, DRAWN_AT_A_TIME // len(logs))
    sizes = [min(at_a_time, RESAMPLES - done) for done in range(0, RESAMPLES, at_a_time)]
    drawn = np.concatenate([logs[rng.integers(len(logs), size=(size, len(logs)))].mean(axis=1) for size in sizes])
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return ConfidenceInterval(float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high)))
