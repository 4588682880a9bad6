"""Means with intervals, for few and skewed samples: the bias-corrected and accelerated bootstrap.

Source: B. Efron, Better bootstrap confidence intervals, JASA 82(397), 1987; as scipy computes it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
LEAST_SAMPLES = 5
"""Fewer samples have no interval: a bootstrap of them says next to nothing."""
RESAMPLES = 2_000
DRAWN_AT_A_TIME = 1_000_000
"""Numbers that are resampled at a time: memory; the interval does not depend on it."""


class ConfidenceInterval(NamedTuple):
    """A mean or another statistic, its confidence interval (nan for few samples), and the number of samples."""

    mean: float
    low: float
    high: float
    samples: int


def mean_interval(values: Sequence[float], seed: int | np.random.Generator = 0) -> ConfidenceInterval:
    """Return the mean of independent samples with its 95 % interval; the same for the same seed.

    The interval of fewer than :data:`LEAST_SAMPLES` samples is nan.
    """
    if not len(values):
        return ConfidenceInterval(math.nan, math.nan, math.nan, 0)
    mean = float(np.mean(values))
    if len(values) < LEAST_SAMPLES:
        return ConfidenceInterval(mean, math.nan, math.nan, len(values))
    if np.ptp(values) == 0.0:
        return ConfidenceInterval(mean, mean, mean, len(values))
    from scipy.stats import bootstrap

    found = bootstrap(
        (np.asarray(values),),
        np.mean,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        batch=max(1, DRAWN_AT_A_TIME // len(values)),
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return ConfidenceInterval(mean, float(found.low), float(found.high), len(values))


def statistic_interval(
    samples: NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    seed: int | np.random.Generator = 0,
) -> ConfidenceInterval:
    """Return a statistic of independent samples with its 95 % interval; the same for the same seed.

    What belongs to one sample is resampled together, so that statistics may compare its parts. Where the correction is
    not defined, all resamples being alike or on one side, the interval is that of percentiles. The interval of fewer
    than :data:`LEAST_SAMPLES` samples is nan.

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
    from scipy.stats import bootstrap

    def of_picked(picked: NDArray[np.int64], axis: int = -1) -> NDArray[np.float64]:  # noqa: ARG001 - always the last
        return statistic(samples[picked])

    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a correction that is not defined: nan says so
            found = bootstrap(
                (np.arange(number),),
                of_picked,
                confidence_level=CONFIDENCE,
                n_resamples=RESAMPLES,
                batch=max(1, DRAWN_AT_A_TIME // samples.size),
                method=method,
                rng=np.random.default_rng(seed),
            ).confidence_interval
        if not math.isnan(found.low):
            break
    return ConfidenceInterval(value, float(found.low), float(found.high), number)
