"""Means with confidence intervals for few and skewed samples: the studentised bootstrap.

The bootstrap resamples the mean in units of its standard error, so that skewed samples have skewed intervals; to either
side an interval is at least as wide as Student's, for resamples of few or of equal values vary too little. Intervals of
other statistics are those of their jackknife pseudo-values. Sources: P. Hall, Theoretical
comparison of bootstrap confidence intervals, Annals of Statistics 16(3), 1988; J. W. Tukey, Bias and confidence in
not-quite large samples, 1958; R. G. Miller, The jackknife: a review, Biometrika 61(1), 1974.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
LEAST_SAMPLES = 5
"""Fewer samples have no interval: they say next to nothing of their own error."""
RESAMPLES = 2_000
LEAST_ERROR = 0.1
"""Least standard error of a resample, of that of the samples: those without the one large value vary too little."""
AT_A_TIME = 1_000_000
"""Numbers that are resampled, or left with one sample out, at a time: a limit of memory, not of the interval."""


class ConfidenceInterval(NamedTuple):
    """A mean or another statistic, its confidence interval (nan for few samples), and the number of samples."""

    mean: float
    low: float
    high: float
    samples: int


def mean_interval(
    values: Sequence[float] | NDArray[np.float64], seed: int | np.random.Generator = 0
) -> ConfidenceInterval:
    """Return the mean of independent samples with its 95 % interval; the same for the same seed.

    The interval of fewer than :data:`LEAST_SAMPLES` samples is nan.
    """
    number = len(values)
    if not number:
        return ConfidenceInterval(math.nan, math.nan, math.nan, 0)
    given = np.asarray(values, dtype=float)
    mean = float(np.mean(given))
    if number < LEAST_SAMPLES:
        return ConfidenceInterval(mean, math.nan, math.nan, number)
    if np.ptp(given) == 0.0:
        return ConfidenceInterval(mean, mean, mean, number)
    from scipy.stats import t as student

    error = float(_standard_error(given))
    errors = _studentised(given, error, np.random.default_rng(seed))
    tail = (1 - CONFIDENCE) / 2
    least = float(student.ppf(1 - tail, number - 1))
    below = max(least, float(np.quantile(errors, 1 - tail)))
    above = max(least, -float(np.quantile(errors, tail)))
    return ConfidenceInterval(mean, mean - below * error, mean + above * error, number)


def _standard_error(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard error of the mean along the last axis."""
    error: NDArray[np.float64] = samples.std(axis=-1, ddof=1) / math.sqrt(samples.shape[-1])
    return error


def _studentised(values: NDArray[np.float64], error: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the error of the mean of each resample in units of its standard error; ``error`` is that of the values."""
    number, mean = len(values), values.mean()
    at_a_time = max(1, AT_A_TIME // number)
    found = []
    for begin in range(0, RESAMPLES, at_a_time):
        drawn = values[rng.integers(number, size=(min(at_a_time, RESAMPLES - begin), number))]
        found.append((drawn.mean(axis=-1) - mean) / np.maximum(_standard_error(drawn), LEAST_ERROR * error))
    return np.concatenate(found)


def statistic_interval(
    samples: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    seed: int | np.random.Generator = 0,
) -> ConfidenceInterval:
    """Return a smooth statistic of independent samples with its 95 % interval; the same for the same seed.

    The interval is that of the mean of the pseudo-values n T - (n - 1) T_i; T_i is the statistic without sample i, and
    those of a mean are its samples. What belongs to one sample is left out together, so that statistics may compare its
    parts. The interval of fewer than :data:`LEAST_SAMPLES` samples is nan.

    Parameters
    ----------
    samples
        One for each index of the first axis.
    statistic
        Takes samples along the axis ``-samples.ndim``, any axes before it, and returns one number for each of those.
    """
    number = len(samples)
    value = float(statistic(samples))
    if number < LEAST_SAMPLES:
        return ConfidenceInterval(value, math.nan, math.nan, number)
    found = mean_interval(number * value - (number - 1) * _without_each(samples, statistic), seed)
    return found._replace(mean=value)


def _without_each(
    samples: NDArray[np.float64], statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the statistic without each of the samples."""
    number, kept = len(samples), np.arange(len(samples) - 1)
    at_a_time = max(1, AT_A_TIME // samples.size)
    found = []
    for begin in range(0, number, at_a_time):
        left_out = np.arange(begin, min(begin + at_a_time, number))[:, np.newaxis]
        found.append(statistic(samples[kept + (kept >= left_out)]))
    return np.concatenate(found)
