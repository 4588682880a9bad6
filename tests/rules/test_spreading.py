"""Spreading one job over clusters: exactly the allocations that the links carry, on any tree."""

from __future__ import annotations

import math
from operator import le

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, Shape, Switch, Window
from coalloc.problem import Mode, Problem, compositions, discretise
from coalloc.rules.package_modes import total_link_load
from coalloc.rules.spreading import Spreading
from tests.small_instances import small_memory_instance
from tests.strategies import LAW, instances


def problem_of(job: Job, *clusters: Cluster, switches: tuple[Switch, ...] = ()) -> Problem:
    """Return one job on some clusters."""
    return discretise(Instance(Platform(clusters, switches), (job,)), None)


def cluster(name: str, nodes: int, bandwidth: float, switch: str | None = None) -> Cluster:
    """Return a cluster of nodes of power 1."""
    return Cluster(name, (NodeGroup(nodes, 1.0),), bandwidth, switch)


def spread(problem: Problem) -> list[tuple[int, ...]]:
    """Return the allocations of the first job on the empty platform, in the order in which they come."""
    every_class = range(len(problem.classes))
    return list(Spreading(problem).allocations(0, problem.capacities, problem.allocations.limits, every_class))


@LAW
@given(instances(switches=2), st.data())
def test_it_finds_what_enumeration_finds(instance: Instance, data: st.DataObject) -> None:
    # One allocation for each vector of tasks per cluster; classes of a cluster are not told apart.
    problem = discretise(instance, None)
    free = tuple(data.draw(st.integers(0, capacity)) for capacity in problem.capacities)
    for j in range(len(problem.jobs)):
        found, carried = both_ways(problem, j, free, problem.allocations.limits)
        by_cluster = {tasks_per_cluster(problem, mode.allocation) for mode in carried}
        assert sorted(tasks_per_cluster(problem, mode.allocation) for mode in found) == sorted(by_cluster)


@LAW
@given(st.integers(0, 10_000), st.data())
def test_where_memory_counts_it_finds_every_allocation(seed: int, data: st.DataObject) -> None:
    problem = discretise(small_memory_instance(seed)[0], None)
    assume(problem.is_restricted)
    free = tuple(data.draw(st.integers(0, capacity)) for capacity in problem.capacities)
    left = tuple(data.draw(st.sampled_from((0.3, 0.7, 1.0))) * limit for limit in problem.allocations.limits)
    for j in range(len(problem.jobs)):
        found, carried = both_ways(problem, j, free, left)
        assert sorted(mode.allocation for mode in found) == sorted(mode.allocation for mode in carried)


def both_ways(
    problem: Problem, j: int, free: tuple[int, ...], left: tuple[float, ...]
) -> tuple[list[Mode], list[Mode]]:
    """Return the modes of a job on what is free, as spread and as enumerated; the other answers are compared here."""
    job, spreading = problem.jobs[j], Spreading(problem)
    rooms = list(map(min, free, problem.allocations.rooms(job)))
    modes = [problem.allocations.mode(job, allocation) for allocation in compositions(job.tasks, rooms)]
    carried = [mode for mode in modes if all(map(le, mode.loads, left))]
    found = [
        problem.allocations.mode(job, a) for a in spreading.allocations(j, free, left, range(len(problem.classes)))
    ]
    assert all(map(le, mode.allocation, free) for mode in found)
    assert spreading.fits(j, free, left) == bool(carried)
    least = min((total_link_load(problem, mode) for mode in carried), default=math.inf)
    assert spreading.least_total_load(j, free, left) == pytest.approx(least)
    return found, carried


def tasks_per_cluster(problem: Problem, allocation: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tasks of an allocation in each cluster."""
    counts = [0] * len(problem.instance.platform.clusters)
    for g, count in enumerate(allocation):
        counts[problem.classes[g].cluster] += count
    return tuple(counts)


def test_clusters_that_hold_the_whole_job_come_first_the_smallest_before_all() -> None:
    # Three tasks fit C2 and C3 whole. Split they load links with 2 * 1 * 1/2 = 1 MB/s, which C1 does not carry.
    job = Job("J1", 3, 10.0, task_bandwidth=1.0)
    problem = problem_of(job, cluster("C1", 2, 0.5), cluster("C2", 5, 1.0), cluster("C3", 3, 1.0))
    assert spread(problem) == [(0, 0, 3), (0, 3, 0), (0, 2, 1), (0, 1, 2)]


def test_a_link_of_a_switch_counts_all_tasks_below_it() -> None:
    # Four tasks of 3 MB/s. C1 and C2 hang on S1, whose link carries 3: with one or three tasks below it 1 * 3 * 3/3 = 3
    # are on it, with two 2 * 3 * 2/3 = 4. The links of the clusters carry 4.
    job, root = Job("J1", 4, 10.0, task_bandwidth=3.0), "S0"
    clusters = cluster("C1", 2, 4.0, "S1"), cluster("C2", 2, 4.0, "S1"), cluster("C3", 3, 4.0, root)
    problem = problem_of(job, *clusters, switches=(Switch("S1", root, 3.0),))
    assert sorted(spread(problem)) == [(0, 1, 3), (1, 0, 3), (1, 2, 1), (2, 1, 1), (2, 2, 0)]
    narrow = problem_of(job, *clusters, switches=(Switch("S1", root, 2.9),))
    assert spread(narrow) == [(2, 2, 0)]


def test_classes_of_a_cluster_are_filled_in_the_order_given() -> None:
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), 1.0),))
    problem = discretise(Instance(platform, (Job("J1", 3, 10.0),)), None)
    spreading = Spreading(problem)
    for order, expected in (((0, 1), (2, 1)), ((1, 0), (1, 2))):
        assert list(spreading.allocations(0, (2, 2), (1.0,), order)) == [expected]
    assert list(spreading.allocations(0, (2, 2), (1.0,), (0,))) == []


def test_what_is_left_of_a_pool_counts():
    # A window takes 3 of the 4 processors of the group on C1; with 1 there and 2 on C2 there is room for 3 tasks.
    platform = Platform(
        [Cluster(name, [NodeGroup(n, power=1.0)], link_bandwidth=100.0) for name, n in (("C1", 4), ("C2", 2))],
        unavailable=[Window("C1", 0.0, 10.0, group=0, processors=3)],
    )
    problem = discretise(
        Instance(platform, [Job("A", 3, 1.0), Job("B", 4, 1.0), Job("C", 4, 1.0, shapes=[Shape(2, 2.0)])]), None
    )
    spreading, left = Spreading(problem), (*problem.allocations.limits[:-1], 1.0)
    assert [spreading.fits(j, (4, 2), problem.allocations.limits) for j in range(3)] == [True, True, True]
    assert [spreading.fits(j, (4, 2), left) for j in range(3)] == [True, False, True]
