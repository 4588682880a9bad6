"""Means with intervals, for few and skewed samples: the bias-corrected and accelerated bootstrap.

Source: B. Efron, Better bootstrap confidence intervals, JASA 82(397), 1987; as scipy computes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2_000
DRAWN_AT_A_TIME = 1_000_000
"""Numbers that are resampled at a time: memory; the interval does not depend on it."""


class ConfidenceInterval(NamedTuple):
    """A mean, its confidence interval (not known of one sample: nan), and the number of samples."""

    mean: float
    low: float
    high: float
    samples: int


def mean_interval(values: Sequence[float], seed: int | np.random.Generator = 0) -> ConfidenceInterval:
    """Return the mean of independent samples with its 95 % interval; the same for the same seed."""
    if not len(values):
        return ConfidenceInterval(math.nan, math.nan, math.nan, 0)
    mean = float(np.mean(values))
    if len(values) == 1:
        return ConfidenceInterval(mean, math.nan, math.nan, 1)
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
