"""The workloads of the OAS experiments."""

import statistics

import numpy as np
import pytest

from coalloc.workloads.generators import generate


@pytest.mark.parametrize(("name", "nodes", "most"), [("thesis-oas", 4, 12), ("paper-oas", 2, 6)])
def test_the_platform_is_that_of_table_3_3(name, nodes, most):
    platform = generate(name, seed=1).platform
    assert [(c.name, c.num_nodes, c.nodes[0].effective_power, c.link_bandwidth) for c in platform.clusters] == [
        ("C1", nodes, 1.0, 125.0),
        ("C2", nodes, 0.75, 125.0),
        ("C3", nodes, 0.5, 125.0),
    ]
    drawn = {job.tasks for seed in range(40) for job in generate(name, seed=seed).jobs}
    assert drawn == set(range(1, most + 1))


def test_powers_fall_evenly_over_any_number_of_clusters():
    platform = generate("thesis-oas", seed=1, clusters=6, nodes=2).platform
    assert [cluster.nodes[0].power for cluster in platform.clusters] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    assert platform.num_processors == 12
    assert generate("thesis-oas", seed=1, clusters=1).platform.clusters[0].nodes[0].power == 1.0


def test_every_second_cluster_may_be_below_a_switch():
    platform = generate("thesis-oas", seed=1, switch_bandwidth=80.0).platform
    assert [cluster.switch for cluster in platform.clusters] == [None, "S1", None]
    assert [(switch.name, switch.parent, switch.bandwidth) for switch in platform.switches] == [("S1", "S0", 80.0)]


def test_arrivals_change_nothing_else():
    late, at_once = (generate("thesis-oas", seed=3, interarrival_mean=mean) for mean in (1e5, 0.0))
    assert [job.arrival for job in at_once.jobs] == [0.0] * 8
    assert late.jobs[0].arrival == 0.0
    assert sorted(job.arrival for job in late.jobs) == [job.arrival for job in late.jobs]
    assert tuple(job.replace(arrival=0.0) for job in late.jobs) == at_once.jobs
    # Exponential: of 200 * 7 gaps the mean is within 5 sigma, 5 * 1e5 / sqrt(1400) = 13400 s.
    last = [generate("thesis-oas", seed=seed, interarrival_mean=1e5).jobs[-1].arrival for seed in range(200)]
    assert statistics.fmean(last) / 7 == pytest.approx(1e5, abs=13400)


def test_the_mean_base_time_is_that_of_the_thesis():
    # Each time is rounded to a millisecond, so the mean is off by half of one at most.
    for seed in range(20):
        instance = generate("thesis-oas", seed=seed)
        assert len(instance.jobs) == 8
        assert instance.mean_base_time == pytest.approx(67e4, abs=5e-4)
        assert instance.origin == 0.0


def test_tasks_are_uniform_and_shares_in_their_range():
    jobs = [job for seed in range(300) for job in generate("thesis-oas", seed=seed).jobs]
    # Uniform on 1..12: mean 6.5, standard deviation 3.45; of 2400 draws the mean is within 0.35 (5 sigma).
    assert statistics.fmean(job.tasks for job in jobs) == pytest.approx(6.5, abs=0.35)
    assert all(0.5 <= job.processing_share <= 0.9 for job in jobs)
    # Uniform on 0.5..0.9: mean 0.7, standard deviation 0.115, 5 sigma of the mean 0.012.
    assert statistics.fmean(job.processing_share for job in jobs) == pytest.approx(0.7, abs=0.012)


def test_the_task_bandwidth_comes_from_a_bisection_bandwidth_in_its_range():
    # BSBW = PTBW tau^2 / (4 (tau - 1)), between a tenth of the Gigabit link and all of it.
    for seed in range(30):
        for job in generate("thesis-oas", seed=seed).jobs:
            if job.tasks > 1:
                assert 12.5 <= job.task_bandwidth * job.tasks**2 / (4 * (job.tasks - 1)) <= 125.001


def test_links_bind_for_some_pairs_of_coallocated_jobs_and_not_for_others():
    # Two jobs that are both split evenly over a link need the sum of their BSBW.
    sums = []
    for seed in range(20):
        bsbw = [
            j.task_bandwidth * j.tasks**2 / (4 * (j.tasks - 1))
            for j in generate("thesis-oas", seed=seed).jobs
            if j.tasks > 4
        ]
        sums += [a + b for i, a in enumerate(bsbw) for b in bsbw[:i]]
    binding = sum(total > 125.0 for total in sums) / len(sums)
    assert 0.3 < binding < 0.9


def test_max_tasks_can_be_lowered():
    assert max(job.tasks for seed in range(20) for job in generate("thesis-oas", seed=seed, max_tasks=6).jobs) == 6


def test_base_times_spread_as_asked_about_the_same_mean() -> None:
    # Standard deviation over mean of Weibull(3), uniform(0, .), Weibull(1), Weibull(0.6): 0.36, 0.58, 1, 1.76.
    asked = ({"base_time_shape": 3.0}, {"base_times": "uniform"}, {}, {"base_time_shape": 0.6})
    for options, expected in zip(asked, (0.363, 0.577, 1.0, 1.758), strict=True):
        times = np.array([job.base_time for job in generate("thesis-oas", seed=5, jobs=4000, **options).jobs])
        assert times.mean() == pytest.approx(67e4, rel=1e-6)
        assert times.std() / times.mean() == pytest.approx(expected, rel=0.08)
