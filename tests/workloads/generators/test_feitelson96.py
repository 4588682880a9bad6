"""The model of Feitelson, 1996."""

import numpy as np
import pytest

from coalloc.instance import CoallocError
from coalloc.workloads.generators import generate
from coalloc.workloads.generators.feitelson96 import Feitelson96, harmonic, repeated


def test_sizes_are_harmonic():
    # 1, 2^-1.5, 3^-1.5, 4^-1.5 = 1, 0.35355, 0.19245, 0.125: 1.671 in all.
    plain = Feitelson96(nodes=4, clusters=1, small_factor=1.0, power_factor=1.0)
    assert plain.size_probabilities() == pytest.approx([0.59844, 0.21158, 0.11517, 0.07480], abs=1e-5)


def test_small_sizes_and_powers_of_two_are_emphasised():
    plain = Feitelson96(small_factor=1.0, power_factor=1.0).size_probabilities()
    ratios = Feitelson96(small_factor=2.0, power_factor=8.0).size_probabilities() / plain
    # Against 15 tasks: 1 and 9 are small, 16 is a power, 8 is both.
    assert ratios[[0, 8, 15, 7]] / ratios[14] == pytest.approx([2.0, 2.0, 8.0, 16.0])


def test_large_jobs_run_longer():
    # Shares of short ones: 0.95 - 0.2/128 and 0.75; means 1000 and 7000 s.
    model = Feitelson96(jobs=20_000)
    assert model.short_shares(np.array([64, 128])) == pytest.approx([0.85, 0.75])
    drawn = generate("feitelson96", seed=1, jobs=20_000)
    times = {n: [j.base_time for j in drawn.jobs if j.tasks == n] for n in (1, 2)}
    # Mean 0.94844 * 1000 + 0.05156 * 7000 = 1309 s, width 2300 s, runs repeat: 3,000 jobs, so 5 sigma are 300 s.
    assert np.mean(times[1]) == pytest.approx(1309, abs=300)
    assert np.mean(times[2]) == pytest.approx(1319, abs=300)


def test_every_run_of_a_job_is_counted():
    jobs, repetitions = repeated(np.array([2, 1, 3]))
    assert jobs.tolist() == [0, 0, 1, 2, 2, 2]
    assert repetitions.tolist() == [0, 1, 0, 0, 1, 2]


def test_runs_of_a_job_are_alike_and_follow_each_other():
    instance = generate("feitelson96", seed=2, jobs=3000)
    arrivals = [job.arrival for job in instance.jobs]
    assert arrivals[0] == 0.0
    assert arrivals == sorted(arrivals)
    runs = {}
    for job in instance.jobs:
        runs.setdefault(job.user, []).append(job)
    for first, *others in runs.values():
        for number, job in enumerate(others, start=1):
            assert (job.tasks, job.base_time) == (first.tasks, first.base_time)
            assert job.arrival == pytest.approx(first.arrival + number * first.base_time, abs=0.002)
    # P(one run) = 1/zeta(2.5) = 0.745; those cut off at the end add some.
    assert np.mean([len(jobs) == 1 for jobs in runs.values()]) == pytest.approx(0.75, abs=0.05)


def test_the_load_is_the_one_asked_for():
    # Without repeated runs, 20,000 jobs: work per job has a width of about 5 means, so 4 sigma are 0.1.
    instance = generate("feitelson96", seed=3, jobs=20_000, run_order=60.0, load=0.7)
    work = sum(job.tasks * job.base_time for job in instance.jobs)
    assert work / (128 * instance.jobs[-1].arrival) == pytest.approx(0.7, abs=0.1)
    assert harmonic(60.0, 10)[0] == pytest.approx(1.0)


def test_repeated_runs_need_fewer_first_ones():
    # sum k^-1.5 / sum k^-2.5 over 1 to 1000 = 2.5492 / 1.3415 = 1.900.
    assert Feitelson96().mean_gap() / Feitelson96(run_order=60.0).mean_gap() == pytest.approx(1.900, abs=0.001)


def test_the_share_of_short_jobs_cannot_fall_below_nothing():
    with pytest.raises(CoallocError, match=r"short_share: must be at least short_drop = 0\.2, got 0\.1"):
        generate("feitelson96", short_share=0.1)
