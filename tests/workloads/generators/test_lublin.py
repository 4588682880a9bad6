"""The model of Lublin and Feitelson."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from coalloc.instance import CoallocError
from coalloc.workloads.generators import generate
from coalloc.workloads.generators.lublin import BUCKET_SECONDS, MAX_LOG_GAP, Lublin
from coalloc.workloads.streams import truncated_gamma
from coalloc.workloads.swf import read_swf

SAMPLE = Path(__file__).parents[4] / "shared" / "data" / "swf" / "lublin_256_dirlab.swf.gz"


def sizes(**parameters):
    return Lublin(jobs=20_000, **parameters).draw_sizes(np.random.default_rng(1))


def run_times(tasks, **parameters):
    model = Lublin(jobs=20_000, **parameters)
    return model.draw_run_times(np.random.default_rng(1), np.full(model.jobs, tasks))


def test_a_quarter_of_the_jobs_is_serial_and_most_others_are_powers_of_two():
    drawn = sizes()
    # No parallel job rounds to one task (2^0.8 is 1.7); five sigma of 20,000 draws are 0.015.
    assert np.mean(drawn == 1) == pytest.approx(0.244, abs=0.015)
    assert np.mean(np.isin(drawn, 2 ** np.arange(1, 8))) > 0.576 - 0.015
    assert drawn.max() == 128


def test_the_logarithm_of_the_size_has_two_stages():
    # Mean (0.86 (0.8 + 4.5) + 0.14 (4.5 + 7)) / 2 = 3.084; share 0.86 below umed = 7 - 2.5.
    drawn = np.log2(sizes(serial_prob=0.0, pow2_prob=0.0))
    assert drawn.mean() == pytest.approx(3.084, abs=0.06)
    assert np.mean(drawn < 4.5) == pytest.approx(0.86, abs=0.015)


def test_no_power_of_two_is_above_the_platform():
    # log2(240) = 7.9 would round to 256.
    assert sizes(nodes=240, serial_prob=0.0, pow2_prob=1.0).max() == 128


def test_run_times_are_of_the_gamma_that_the_line_selects():
    # p = -0.0054 n + 0.78 is 0.7746 for serial jobs and 0 from 145 tasks on, where ln t is gamma(312, 0.03).
    long = np.log(run_times(200, nodes=256))
    assert long.mean() == pytest.approx(312 * 0.03, abs=0.02)
    assert long.std() == pytest.approx(math.sqrt(312) * 0.03, abs=0.015)
    short = stats.gamma(4.2, scale=0.94)
    assert np.median(run_times(1, pa=0.0, pb=1.0)) == pytest.approx(math.exp(short.median()), rel=0.05)
    # Below exp(7) s are nearly all short ones (cdf 0.98) and none of the long ones (4.4 sigma).
    assert np.mean(run_times(1) < math.exp(7)) == pytest.approx(0.7746 * short.cdf(7), abs=0.015)
    assert run_times(1).max() <= math.exp(12)
    assert np.all(run_times(1) % 1 == 0)


def test_the_daily_cycle_is_busiest_after_noon_and_quiet_before_dawn():
    weights = Lublin().bucket_weights()
    assert weights.mean() == pytest.approx(1.0)
    # The mode of gamma(8.1737, 3.9631) is 7.1737 * 3.9631 = 28.4 half hours, bucket 28 less one: 13:30.
    assert np.argmax(weights) == 27
    assert 4 <= np.argmin(weights) <= 12


def test_arrivals_pay_for_each_bucket_with_its_weight():
    # As the authors describe it: gather points, pay bucket after bucket, then go on within the bucket.
    model = Lublin(jobs=300)
    arrivals = model.draw_arrivals(np.random.default_rng(5))
    logarithms = truncated_gamma(
        np.random.default_rng(5), np.full(300, 10.2303 * 1.0225), np.full(300, 0.4871), MAX_LOG_GAP
    )
    weights, bucket, points = model.bucket_weights(), 0, 0.0
    for arrival, logarithm in zip(arrivals, logarithms, strict=True):
        points += math.exp(logarithm) / BUCKET_SECONDS
        while points > weights[bucket % 48]:
            points -= weights[bucket % 48]
            bucket += 1
        assert arrival == pytest.approx((bucket + points / weights[bucket % 48]) * BUCKET_SECONDS, abs=0.01)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"nodes": 1, "clusters": 1}, "nodes: must be at least 2, got 1"),
        ({"clusters": 3}, "clusters: must divide nodes = 128, got 3"),
        ({"uhi": 8.0}, "uhi: must be at most log2(nodes) = 7, got 8"),
        ({"umed": 0.5}, "umed: must be at least ulow = 0.8, got 0.5"),
        ({"b2": 1.0}, "b2: must not place all values beyond a run time of exp(12) s, got 1"),
        ({"barr": 50.0}, "barr: must not place all values beyond an interarrival time of exp(13) s, got 50"),
        ({"bnum": 0.01}, "bnum: must not place all values beyond the end of the day, got 0.01"),
        ({"pa": "0.1"}, "pa: must be a number, got '0.1'"),
        ({"serial_prob": 0.5}, "pow2_prob: must be at most 1 - serial_prob, got 0.576"),
    ],
)
def test_parameters_that_do_not_go_together(parameters, sentence):
    with pytest.raises(CoallocError) as caught:
        generate("lublin", **parameters)
    assert sentence in str(caught.value)


def test_a_tiny_platform_has_jobs_too():
    assert {job.tasks for job in generate("lublin", nodes=2, clusters=1, jobs=50).jobs} == {1, 2}


def test_clusters_are_fastest_first_and_their_mean_power_is_one():
    clusters = generate("lublin", jobs=1).platform.clusters
    assert [(c.num_nodes, c.nodes[0].power) for c in clusters] == [(32, 1.2), (32, 1.066667), (32, 0.933333), (32, 0.8)]


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the sample of the model in ../shared is absent")
def test_moments_are_those_of_the_sample_of_the_authors():
    sample, ours = read_swf(SAMPLE, 256), generate("lublin", seed=1, jobs=10_000, nodes=256)

    def columns(instance):
        rows = np.array([(j.tasks, j.base_time, j.arrival) for j in instance.jobs])
        return rows[:, 0], np.log(rows[:, 1]), np.diff(rows[:, 2])

    (sizes, logs, gaps), (our_sizes, our_logs, our_gaps) = columns(sample), columns(ours)
    # Two samples of 10,000: five sigma of the difference of means are 2.5 tasks (width 36), 0.21 in ln t (3.0).
    assert our_sizes.mean() == pytest.approx(sizes.mean(), abs=2.5)
    assert np.mean(our_sizes == 1) == pytest.approx(np.mean(sizes == 1), abs=0.03)
    assert our_logs.mean() == pytest.approx(logs.mean(), abs=0.21)
    assert our_logs.std() == pytest.approx(logs.std(), abs=0.15)
    assert stats.ks_2samp(our_sizes, sizes).statistic < 0.03
    assert stats.ks_2samp(np.floor(our_gaps), gaps).statistic < 0.03
