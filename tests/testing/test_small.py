"""The family of small instances: within its limits, the same for the same seed, and hard enough to be of use."""

from __future__ import annotations

import pytest

from coalloc.instance import Instance
from coalloc.testing.brute_force import brute_force_oas, brute_force_pas
from coalloc.testing.small import NODE_MODEL_SIZE, SmallSize, small_instance, small_package

SEEDS = range(100)


def share(instances: list[Instance], holds) -> float:
    return sum(map(bool, map(holds, instances))) / len(instances)


def with_ample_links(instance: Instance) -> Instance:
    platform = instance.platform
    clusters = tuple(cluster.replace(link_bandwidth=1e9) for cluster in platform.clusters)
    switches = tuple(switch.replace(bandwidth=1e9) for switch in platform.switches)
    return instance.replace(platform=platform.replace(clusters=clusters, switches=switches))


def test_the_seed_decides():
    assert small_instance(7) == small_instance(7)
    assert small_instance(7) != small_instance(8)


@pytest.mark.parametrize("size", [SmallSize(), NODE_MODEL_SIZE, SmallSize(max_jobs=2, max_clusters=1, max_slots=4)])
def test_limits_hold_and_are_reached(size):
    instances = [small_instance(seed, size)[0] for seed in SEEDS]
    assert max(len(i.jobs) for i in instances) == size.max_jobs
    assert max(len(i.platform.clusters) for i in instances) == size.max_clusters
    per_cluster = [c.num_processors for i in instances for c in i.platform.clusters]
    assert max(per_cluster) == size.max_per_cluster
    assert max(i.platform.num_processors for i in instances) <= size.max_processors


def test_the_horizon_holds():
    for seed in SEEDS:
        instance, slot = small_instance(seed, NODE_MODEL_SIZE)
        makespan = brute_force_oas(instance, slot).objective
        assert makespan + instance.origin <= slot * NODE_MODEL_SIZE.max_slots + 1e-6


def test_every_job_can_run_alone():
    for seed in SEEDS:
        instance, _ = small_instance(seed)
        for job in instance.jobs:
            assert brute_force_oas(instance.replace(jobs=(job,), running=()), None).feasible


def test_the_family_has_what_makes_instances_hard():
    instances = [small_instance(seed)[0] for seed in SEEDS]
    assert share(instances, lambda i: i.running) >= 0.3
    assert share(instances, lambda i: any(job.arrival for job in i.jobs)) >= 0.3
    assert share(instances, lambda i: len(i.platform.clusters) > 1) >= 0.8
    assert share(instances, lambda i: i.platform.switches) >= 0.1
    assert share(instances, lambda i: any(len(c.nodes) > 1 for c in i.platform.clusters)) >= 0.3
    assert share(instances, lambda i: any(job.processing_share < 1.0 for job in i.jobs)) >= 0.8


def test_links_decide_the_optimum_of_a_good_share():
    binding = 0
    for seed in SEEDS:
        instance, _ = small_instance(seed, SmallSize(max_jobs=4))
        narrow, ample = (
            brute_force_oas(i, None, "total-response-time").objective for i in (instance, with_ample_links(instance))
        )
        assert ample <= narrow + 1e-6
        binding += ample < narrow - 1e-6
    assert binding >= 0.15 * len(SEEDS)


def test_packages_fit_by_count_and_some_are_held_back_by_links():
    held_back = infeasible = 0
    for seed in SEEDS:
        package = small_package(seed)
        ample = brute_force_pas(with_ample_links(package)).objective
        narrow = brute_force_pas(package).objective
        assert ample < float("inf")
        infeasible += narrow == float("inf")
        held_back += ample < narrow - 1e-6
    assert held_back >= 0.1 * len(SEEDS)
    assert infeasible <= 0.2 * len(SEEDS)
