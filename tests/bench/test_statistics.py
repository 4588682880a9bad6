import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalloc.bench.statistics import geometric_mean, mean_ratio

POSITIVE = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20)


def test_geometric_means_by_hand():
    # sqrt(1 * 4) = 2; with shift 1: sqrt(2 * 8) - 1 = 3 for 1 and 7.
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([1.0, 7.0], shift=1.0) == pytest.approx(3.0)
    assert geometric_mean([]) is None


@given(POSITIVE)
def test_a_mean_is_between_the_least_and_the_largest(numbers):
    for shift in (0.0, 1.0):
        assert min(numbers) - 1e-9 <= geometric_mean(numbers, shift) <= max(numbers) * (1.0 + 1e-9)


@settings(max_examples=25)
@given(POSITIVE, st.integers(0, 3))
def test_an_interval_holds_its_mean_and_repeats_with_its_seed(ratios, seed):
    one = mean_ratio(ratios, np.random.default_rng(seed))
    assert one == pytest.approx(mean_ratio(ratios, np.random.default_rng(seed)), rel=0.0, abs=0.0, nan_ok=True)
    assert math.isnan(one.low) == math.isnan(one.high) == (len(ratios) < 5)
    if len(ratios) < 5:
        return
    assert 0.0 <= one.low <= one.mean * (1 + 1e-9)
    assert one.mean * (1 - 1e-9) <= one.high


def test_equal_ratios_leave_no_doubt():
    interval = mean_ratio([2.0] * 5, np.random.default_rng(0))
    assert (interval.mean, interval.low, interval.high) == pytest.approx((2.0, 2.0, 2.0))
    assert mean_ratio([], np.random.default_rng(0)) is None


def test_the_interval_is_as_wide_as_the_spread_says():
    # The logs are normal: 95 % of the means of 100 are within 1.96 standard errors, std/10, on either side.
    ratios = np.exp(np.random.default_rng(1).normal(size=100))
    interval = mean_ratio(ratios, np.random.default_rng(2))
    assert math.log(interval.high / interval.low) == pytest.approx(2 * 1.96 * np.log(ratios).std() / 10, rel=0.05)
