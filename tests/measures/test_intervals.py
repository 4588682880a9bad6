"""Means with intervals."""

import math

import numpy as np
import pytest

from coalloc.measures import intervals
from coalloc.measures.intervals import ConfidenceInterval, mean_interval, statistic_interval

SKEWED = {
    "normal": (lambda rng, n: rng.normal(1.0, 1.0, n), 1.0),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0),
}


@pytest.mark.parametrize("name", SKEWED)
@pytest.mark.parametrize(("samples", "least"), [(7, 0.9), (20, 0.92)])
def test_the_interval_covers_the_mean_as_often_as_it_says(name, samples, least):
    draw, mean = SKEWED[name]
    rng = np.random.default_rng(0)
    found = [mean_interval(draw(rng, samples), seed) for seed in range(400)]
    assert least <= np.mean([interval.low <= mean <= interval.high for interval in found]) <= 0.99
    assert all(interval.low <= interval.mean <= interval.high for interval in found)


def test_the_same_seed_gives_the_same_interval():
    values = [1.0, 2.0, 4.0, 8.0, 0.0]
    assert mean_interval(values, 3) == mean_interval(values, 3)
    assert mean_interval(values).mean == 3.0


def test_what_is_drawn_at_a_time_does_not_change_the_interval(monkeypatch):
    values = np.random.default_rng(1).exponential(1.0, 30).tolist()
    whole = mean_interval(values)
    monkeypatch.setattr(intervals, "AT_A_TIME", 1000)  # 33 of the 2,000 resamples
    assert mean_interval(values) == whole


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0] * 5, ConfidenceInterval(2.0, 2.0, 2.0, 5))],
)
def test_equal_values_have_no_width(values, expected):
    assert mean_interval(values) == expected


@pytest.mark.parametrize("noise", [0.0, 1e-17, 1e-4])
def test_one_large_value_among_almost_equal_ones_stays_below_itself(noise):
    # Resamples without the 0.5 vary by the noise alone, and are hundreds of their standard errors off.
    values = [*(noise * np.random.default_rng(0).random(11)), 0.5]
    found = mean_interval(values)
    assert -0.5 < found.low < found.mean < found.high < 0.5


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


def test_the_interval_of_a_deviation_covers_it():
    rng = np.random.default_rng(0)
    samples = (rng.standard_normal(25) for _ in range(300))
    found = [statistic_interval(values, lambda values: values.std(axis=-1)) for values in samples]
    assert 0.9 <= np.mean([interval.low <= 1.0 <= interval.high for interval in found]) <= 0.99


def test_the_interval_of_a_ratio_covers_it():
    # Means 2 and 1 of skewed values that belong together: the ratio is 2.
    rng = np.random.default_rng(0)
    samples = (rng.exponential(1.0, (20, 1)) + rng.exponential((1.0, 0.5), (20, 2)) for _ in range(300))
    found = [
        statistic_interval(pairs, lambda drawn: drawn[..., 0].mean(axis=-1) / drawn[..., 1].mean(axis=-1))
        for pairs in samples
    ]
    assert 0.9 <= np.mean([interval.low <= 2.0 / 1.5 <= interval.high for interval in found]) <= 0.99


def test_samples_are_left_out_in_blocks(monkeypatch):
    values, sizes = np.random.default_rng(1).exponential(1.0, (23, 2)), []

    def ratio(samples):
        sizes.append(samples.size)
        return samples[..., 1].mean(axis=-1) / samples[..., 0].mean(axis=-1)

    whole = statistic_interval(values, ratio)
    monkeypatch.setattr(intervals, "AT_A_TIME", 5 * values.size)
    sizes.clear()
    assert statistic_interval(values, ratio) == pytest.approx(whole, rel=1e-12)
    # The value, then 23 samples in blocks of five.
    assert sizes == [46, *[5 * 44] * 4, 3 * 44]


def test_few_samples_have_no_interval_of_a_statistic():
    found = statistic_interval(np.array([3.0, 1.0, 2.0, 2.0]), lambda samples: samples.mean(axis=-1))
    assert (found.mean, found.samples) == (2.0, 4)
    assert math.isnan(found.low)
