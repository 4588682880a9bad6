"""Bisection bandwidth and the most that links can bear."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Job, NodeGroup, Platform, Switch
from coalloc.problem.execution import link_load, link_loads
from coalloc.workloads.communication import bearable_task_bandwidth, largest_task_bandwidth, task_bandwidth


@pytest.mark.parametrize("tasks", [2, 4, 12, 64])
def test_an_even_split_loads_a_link_by_exactly_the_bisection_bandwidth(tasks):
    job = Job("J", tasks=tasks, base_time=1.0, task_bandwidth=task_bandwidth(0.5, tasks))
    assert link_load(tasks // 2, job) == pytest.approx(500.0, rel=1e-12)


def test_a_lone_task_does_not_communicate():
    assert task_bandwidth(0.5, 1) == 0.0


def test_the_cap_of_a_forced_allocation():
    # 12 tasks on three clusters of 4: 4 inside, 4 * PTBW * 8/11 <= 10, so PTBW <= 110/32.
    platform = star([4, 4, 4], [10.0, 10.0, 10.0])
    assert largest_task_bandwidth(12, platform) == pytest.approx(110 / 32)
    assert bearable_task_bandwidth(1.0, 12, platform) == pytest.approx(110 / 32)
    # 0.001 GB/s is 1 MB/s: PTBW = 4 * 11/144, below the cap.
    assert bearable_task_bandwidth(0.001, 12, platform) == pytest.approx(44 / 144)


def test_a_job_that_one_cluster_holds_has_no_cap():
    assert largest_task_bandwidth(4, star([4, 4], [0.0, 0.0])) == math.inf


def test_a_link_of_no_bandwidth_carries_nothing():
    assert largest_task_bandwidth(5, star([4, 4], [0.0, 10.0])) == 0.0


def star(nodes, bandwidths):
    return Platform(
        tuple(Cluster(f"C{i}", (NodeGroup(n, 1.0),), b) for i, (n, b) in enumerate(zip(nodes, bandwidths, strict=True)))
    )


@st.composite
def trees(draw):
    """Up to four clusters, on the root or below up to two switches, one of which may hang on the other."""
    bandwidth = st.sampled_from([0.0, 1.0, 2.5, 7.0])
    switches = (
        Switch("S1", parent="S0", bandwidth=draw(bandwidth)),
        Switch("S2", parent=draw(st.sampled_from(["S0", "S1"])), bandwidth=draw(bandwidth)),
    )
    where = st.sampled_from(["S0", "S1", "S2"])
    clusters = tuple(
        Cluster(f"C{i}", (NodeGroup(draw(st.integers(1, 3)), 1.0),), draw(bandwidth), switch=draw(where))
        for i in range(draw(st.integers(1, 4)))
    )
    return Platform(clusters, switches)


@given(trees(), st.data())
def test_the_cap_is_that_of_the_best_of_all_allocations(platform, data):
    tasks = data.draw(st.integers(1, platform.num_processors))
    unit = Job("J", tasks=tasks, base_time=1.0, task_bandwidth=1.0)
    counts = itertools.product(*(range(c.num_processors + 1) for c in platform.clusters))
    best = max(
        min(
            (
                link.bandwidth / load
                for link, load in zip(platform.links, link_loads(unit, c, platform), strict=True)
                if load
            ),
            default=math.inf,
        )
        for c in counts
        if sum(c) == tasks
    )
    assert largest_task_bandwidth(tasks, platform) == pytest.approx(best)
