"""Means with intervals."""

import math

import numpy as np
import pytest

from coalloc.measures import intervals
from coalloc.measures.intervals import ConfidenceInterval, mean_interval, statistic_interval


def test_the_interval_covers_the_mean_as_often_as_it_says():
    # 200 samples of 12 skewed values each: 95 % intervals should hold the true mean (1) about 190 times.
    rng = np.random.default_rng(0)
    found = [mean_interval(rng.exponential(1.0, 12).tolist(), seed) for seed in range(200)]
    assert 165 <= sum(interval.low <= 1.0 <= interval.high for interval in found) <= 200
    assert all(interval.low <= interval.mean <= interval.high for interval in found)


def test_the_same_seed_gives_the_same_interval():
    values = [1.0, 2.0, 4.0, 8.0, 0.0]
    assert mean_interval(values, 3) == mean_interval(values, 3)
    assert mean_interval(values).mean == 3.0


def test_what_is_drawn_at_a_time_does_not_change_the_interval(monkeypatch):
    values = np.random.default_rng(1).exponential(1.0, 30).tolist()
    whole = mean_interval(values)
    monkeypatch.setattr(intervals, "DRAWN_AT_A_TIME", 1000)  # 33 of the 2,000 resamples
    assert mean_interval(values) == whole


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0] * 5, ConfidenceInterval(2.0, 2.0, 2.0, 5))],
)
def test_equal_values_have_no_width(values, expected):
    assert mean_interval(values) == expected


@pytest.mark.parametrize("samples", [1, 2, 4])
def test_few_samples_have_no_interval(samples):
    found = mean_interval([4.0, 6.0, 5.0, 5.0][:samples])
    assert (found.mean, found.samples) == ({1: 4.0, 2: 5.0, 4: 5.0}[samples], samples)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_no_samples_have_no_mean():
    assert math.isnan(mean_interval([]).mean)


# ------------------------------------------------------------------------------ other statistics


def test_the_interval_of_a_mean_is_that_of_means():
    values = np.random.default_rng(1).exponential(1.0, 20)
    found = statistic_interval(values, lambda samples: samples.mean(axis=-1))
    assert found == pytest.approx(mean_interval(values.tolist()))


def test_what_belongs_to_one_sample_stays_together():
    # The second value is twice the first in every sample: so is every ratio of means, and the interval has no width.
    values = np.random.default_rng(1).exponential(1.0, (12, 1)) * np.array([1.0, 2.0])
    found = statistic_interval(values, lambda samples: samples[..., 1].mean(axis=-1) / samples[..., 0].mean(axis=-1))
    assert found == pytest.approx((2.0, 2.0, 2.0, 12))


def test_the_interval_of_a_deviation_covers_it_mostly():
    # Standard normal: the deviation is 1. The bootstrap of 25 samples covers it a little less often than it says.
    rng = np.random.default_rng(0)
    samples = (rng.standard_normal(25) for _ in range(100))
    found = [statistic_interval(values, lambda values: values.std(axis=-1)) for values in samples]
    assert 80 <= sum(interval.low <= 1.0 <= interval.high for interval in found) <= 99


def test_few_samples_have_no_interval_of_a_statistic():
    found = statistic_interval(np.array([3.0, 1.0, 2.0, 2.0]), lambda samples: samples.mean(axis=-1))
    assert (found.mean, found.samples) == (2.0, 4)
    assert math.isnan(found.low)
