"""The workload of the PAS experiments."""

import math
import statistics

import pytest

from coalloc.workloads.generators import generate


@pytest.mark.parametrize(
    ("heterogeneity", "powers"),
    # Table 3.1, evenly spaced over its range.
    [(10, [1.0, 29 / 30, 28 / 30, 0.9]), (50, [1.2, 16 / 15, 14 / 15, 0.8]), (90, [1.4, 17 / 15, 13 / 15, 0.6])],
)
def test_the_platform_is_that_of_section_3_1_3(heterogeneity, powers):
    platform = generate("thesis-pas", seed=1, heterogeneity=heterogeneity).platform
    assert [c.num_nodes for c in platform.clusters] == [24, 16, 16, 8]
    assert [c.nodes[0].effective_power for c in platform.clusters] == pytest.approx(powers, abs=1e-6)
    assert {c.link_bandwidth for c in platform.clusters} == {1000.0}


def test_the_task_bandwidth_follows_table_3_2():
    for job in generate("thesis-pas", seed=2, bsbw=0.7).jobs:
        assert job.task_bandwidth == pytest.approx(700 * 4 * (job.tasks - 1) / job.tasks**2, rel=1e-12)


def instances(**parameters):
    return [generate("thesis-pas", seed=seed, **parameters) for seed in range(60)]


def load(instance):
    """Offered work over the nodes, until the last arrival."""
    return sum(j.tasks * j.base_time for j in instance.jobs) / (64 * instance.jobs[-1].arrival)


def test_sizes_and_load_are_those_of_errata_9():
    # "14 tasks on average, load 30 to 35 %"; the mean size of 6000 jobs is known to about 0.25.
    drawn = instances()
    sizes = [job.tasks for instance in drawn for job in instance.jobs]
    assert statistics.fmean(sizes) == pytest.approx(14.0, abs=0.7)
    assert max(sizes) == 64
    assert 0.28 < statistics.median(load(instance) for instance in drawn) < 0.40


def test_read_literally_jobs_have_three_tasks_and_the_platform_is_empty():
    # "3 to 5 tasks per job and an offered load of 7 to 13 %": the gamma's mean is 4.04 * 0.77 = 3.1.
    drawn = instances(sizes="literal")
    assert statistics.fmean(job.tasks for i in drawn for job in i.jobs) == pytest.approx(3.15, abs=0.15)
    assert 0.06 < statistics.median(load(instance) for instance in drawn) < 0.13


def test_powers_of_two_are_preferred():
    def powers(**parameters):
        sizes = [job.tasks for i in instances(**parameters) for job in i.jobs if job.tasks > 2]
        return sum(math.log2(size).is_integer() for size in sizes) / len(sizes)

    assert powers(power_of_two_share=1.0) == 1.0
    assert powers() > 0.75
    assert powers(power_of_two_share=0.0) < 0.5


def test_times_follow_their_weibulls():
    drawn = instances()
    # Weibull(200, 1): mean 200, so 5 sigma of the mean of 6000 are 13 s.
    assert statistics.fmean(j.base_time for i in drawn for j in i.jobs) == pytest.approx(200, abs=13)
    gaps = [b.arrival - a.arrival for i in drawn for a, b in zip(i.jobs, i.jobs[1:], strict=False)]
    # Weibull(82.6, 0.6): median 82.6 ln(2)^(1/0.6) = 44.8 s, mean 82.6 * Gamma(8/3) = 124.3 s.
    assert statistics.median(gaps) == pytest.approx(44.8, rel=0.08)
    assert statistics.fmean(gaps) == pytest.approx(124.3, rel=0.12)
    assert all(i.jobs[0].arrival == 0.0 for i in drawn)


def test_all_jobs_can_arrive_at_once():
    assert {j.arrival for j in generate("thesis-pas", seed=1, interarrival_scale=0).jobs} == {0.0}


def test_a_bisection_bandwidth_above_the_links_is_capped():
    # 64 tasks fill the platform: 24 inside, 24 * PTBW * 40/63 <= 1000.
    jobs = [j for i in instances(bsbw=1.1) for j in i.jobs if j.tasks == 64]
    assert jobs
    assert all(j.task_bandwidth == pytest.approx(1000 * 63 / (24 * 40)) for j in jobs)
