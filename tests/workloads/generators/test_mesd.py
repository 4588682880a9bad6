"""The workloads of the MESD experiments."""

from pathlib import Path

import numpy as np
import pytest

from coalloc.workloads.generators import generate
from coalloc.workloads.generators.mesd import LONGEST_RUN, PARALLEL, SERIAL
from coalloc.workloads.swf import read_swf

HPC2N = Path(__file__).parents[4] / "shared" / "data" / "swf" / "HPC2N-2002-2.2-cln.swf.gz"


def columns(instance):
    rows = np.array([(j.tasks, j.base_time, j.arrival) for j in instance.jobs])
    return rows[:, 0], rows[:, 1], np.diff(rows[:, 2])


@pytest.fixture(scope="module")
def instance():
    return generate("thesis-mesd", seed=1)


def test_the_platform_is_that_of_table_3_6(instance):
    clusters = instance.platform.clusters
    assert [(c.num_nodes, c.nodes[0].effective_power) for c in clusters] == [(60, 1.0), (60, 1.5), (60, 2.0), (60, 1.0)]
    assert {c.link_bandwidth for c in clusters} == {125.0}


def test_the_workload_is_as_large_as_the_thesis_says(instance):
    tasks, times, gaps = columns(instance)
    # "About 15,000 jobs, mean base time 15,520 s, 9 tasks on average, a notable number of serial jobs."
    assert len(tasks) == 15_000
    assert tasks.mean() == pytest.approx(9.0, rel=0.1)
    assert times.mean() == pytest.approx(15_520, rel=0.12)
    assert np.mean(tasks == 1) == pytest.approx(0.286, abs=0.02)
    # Arrivals in bursts: a Weibull of shape 0.368 has half of its gaps below 60 s and a mean of 689 s.
    assert np.median(gaps) == pytest.approx(60, rel=0.1)
    assert gaps.mean() == pytest.approx(689, rel=0.15)
    assert instance.jobs[0].arrival == 0.0


def test_times_are_whole_seconds_of_at_most_five_days(instance):
    _, times, _ = columns(instance)
    assert np.all(times % 1 == 0)
    assert times.min() == 1.0
    assert times.max() <= LONGEST_RUN


def test_run_times_are_a_mixture_of_two_lognormals():
    # With all short, the logarithm is normal(2.577, 1.253): median exp(2.577) = 13.2, cut to 13.
    drawn = PARALLEL.draw(np.random.default_rng(1), 20_000)
    assert np.mean(drawn <= 13) > 0.413 * 0.5
    # Long serial jobs below their limit: the median of all serial ones is between both kinds.
    assert 8_000 < np.median(SERIAL.draw(np.random.default_rng(1), 20_000)) < 20_000


def test_no_job_is_larger_than_a_small_platform():
    small = generate("thesis-mesd", seed=1, jobs=2000, nodes=5)
    assert max(job.tasks for job in small.jobs) <= 20


def test_jobs_can_all_arrive_at_once():
    assert {job.arrival for job in generate("thesis-mesd", jobs=20, interarrival_scale=0.0).jobs} == {0.0}


@pytest.mark.skipif(not HPC2N.is_file(), reason="the HPC2N trace of ../shared is absent")
def test_the_model_is_like_the_log_to_which_it_was_fitted(instance):
    log = columns(read_swf(HPC2N, 240, slice="0:45000"))
    # The means by which the thesis describes its workloads.
    assert log[0].mean() == pytest.approx(8.35, abs=0.01)
    assert log[1].mean() == pytest.approx(15_535, abs=1)
    tasks, times, gaps = columns(instance)
    assert tasks.mean() == pytest.approx(log[0].mean(), rel=0.08)
    assert times.mean() == pytest.approx(log[1].mean(), rel=0.12)
    assert np.median(gaps) == pytest.approx(np.median(log[2]), rel=0.1)
    for size in (1, 2, 4, 8, 16, 32):
        assert np.mean(tasks == size) == pytest.approx(np.mean(log[0] == size), abs=0.05)
    for quantile in (0.1, 0.25, 0.75, 0.9):
        assert np.quantile(times, quantile) == pytest.approx(np.quantile(log[1], quantile), rel=0.35)
