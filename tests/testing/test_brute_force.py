"""Brute force: answers that can be proved in a comment, and a second enumeration that shares none of its ideas.

The second enumeration names processors instead of counting classes, tries every start slot (or every
order with a full-interval test) instead of chronological schedules, and prunes nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Shape, Switch, Window
from coalloc.instance.constraints import TimeBounds
from coalloc.instance.rounding import capacity_limit, slots_down, slots_up
from coalloc.testing.brute_force import (
    BruteForceResult,
    brute_force_cbs,
    brute_force_jpr,
    brute_force_oas,
    brute_force_pas,
)
from coalloc.testing.constraints import DECLARED, small_declarations
from tests.small_instances import (
    TINY,
    SmallSize,
    slotted_instances,
    small_instance,
    small_memory_instance,
    small_package,
)


def cluster(name: str, *powers: float, bandwidth: float = 1000.0, switch: str | None = None) -> Cluster:
    groups = tuple(NodeGroup(1, power) for power in powers)
    return Cluster(name, groups, link_bandwidth=bandwidth, switch=switch)


def one_cluster(*powers: float) -> Platform:
    return Platform((cluster("C1", *powers),))


def three_pairs(bandwidth: float) -> Platform:
    """Three clusters of two reference nodes."""
    return Platform(tuple(cluster(name, 1.0, 1.0, bandwidth=bandwidth) for name in ("C1", "C2", "C3")))


def spans(result: BruteForceResult) -> dict[str, tuple[float, float]]:
    assert result.schedule is not None
    return {p.job: (p.start, p.end) for p in result.schedule}


# --- OAS, answers proved by hand ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slot", "rounding", "expected"),
    # On power 0.5 the jobs take 20 and 40 s, one after the other. Slots of 15 s: 2 + 3 slots up, 1 + 2 down.
    [(None, "up", 60.0), (15.0, "up", 75.0), (15.0, "down", 45.0), (20.0, "up", 60.0), (20.0, "down", 60.0)],
)
def test_two_jobs_share_one_node_one_after_the_other(slot, rounding, expected):
    instance = Instance(one_cluster(0.5), (Job("J1", 1, 10.0), Job("J2", 1, 20.0)))
    assert brute_force_oas(instance, slot, rounding=rounding).objective == pytest.approx(expected)


def test_total_response_time_runs_the_short_job_first():
    # 20 + (20 + 40) = 80; the other order gives 40 + 60 = 100.
    instance = Instance(one_cluster(0.5), (Job("J1", 1, 20.0), Job("J2", 1, 10.0)))
    result = brute_force_oas(instance, None, "total-response-time")
    assert result.objective == pytest.approx(80.0)
    assert spans(result) == {"J2": (0.0, 20.0), "J1": (20.0, 60.0)}


def test_an_arrival_decides_the_order():
    # J1 first: ends 10 and 13. J2 first: 7 and 17. Responses 10 + 9 = 19 against 3 + 17 = 20.
    instance = Instance(one_cluster(1.0), (Job("J1", 1, 10.0), Job("J2", 1, 3.0, arrival=4.0)))
    assert brute_force_oas(instance, None).objective == pytest.approx(13.0)
    assert brute_force_oas(instance, None, "total-response-time").objective == pytest.approx(19.0)


@pytest.mark.parametrize(
    ("slot", "rounding", "expected"),
    # It arrives at 5 and takes 10 s. Slots of 10 s: it runs in [10, 20), 15 s after its arrival; rounded down in
    # [0, 10), 5 s after it, a bound that no schedule attains.
    [(None, "up", 10.0), (10.0, "up", 15.0), (10.0, "down", 5.0)],
)
def test_makespan_counts_from_the_arrival_and_slots_from_zero(slot, rounding, expected):
    instance = Instance(one_cluster(1.0), (Job("J1", 1, 10.0, arrival=5.0),))
    result = brute_force_oas(instance, slot, rounding=rounding)
    assert result.objective == pytest.approx(expected)
    assert (result.schedule is None) == (rounding == "down")


@pytest.mark.parametrize(
    ("slot", "rounding", "expected"),
    # The node is free at 25, or after 3 slots of 10 s (2 rounded down); the job takes 10 s; the clock starts at 0.
    [(None, "up", 35.0), (10.0, "up", 40.0), (10.0, "down", 30.0)],
)
def test_a_running_job_keeps_its_node_until_its_end(slot, rounding, expected):
    running = (RunningJob(Job("R", 1, 99.0), ("C1/0",), 25.0),)
    instance = Instance(one_cluster(1.0), (Job("J1", 1, 10.0, arrival=5.0),), running)
    assert brute_force_oas(instance, slot, rounding=rounding).objective == pytest.approx(expected)


def test_the_end_of_a_running_job_is_not_part_of_the_makespan():
    running = (RunningJob(Job("R", 1, 99.0), ("C1/0",), 500.0),)
    instance = Instance(one_cluster(1.0, 1.0), (Job("J1", 1, 10.0),), running)
    assert brute_force_oas(instance, None).objective == pytest.approx(10.0)


def test_a_job_rounded_down_to_no_slot_occupies_nothing():
    # Each takes 9 s: 0 slots of 10 s, so all three end at 0 on one node.
    instance = Instance(one_cluster(1.0), tuple(Job(f"J{j}", 1, 9.0) for j in range(3)))
    assert brute_force_oas(instance, 10.0, rounding="down").objective == 0.0


@pytest.mark.parametrize(
    ("base_times", "expected"),
    # Power 1 and 0.5. (10, 30): the long job on the fast node, the short one takes 20 s beside it. (10, 12): beside
    # each other 20 (the shorter on the slow node); both on the fast node 22. (4, 30): the short one follows, or runs
    # 8 s on the slow node.
    [((10.0, 30.0), 30.0), ((10.0, 12.0), 20.0), ((4.0, 30.0), 30.0), ((10.0, 10.0), 20.0)],
)
def test_the_slow_node_takes_the_short_job(base_times, expected):
    jobs = tuple(Job(f"J{j}", 1, base_time) for j, base_time in enumerate(base_times))
    assert brute_force_oas(Instance(one_cluster(1.0, 0.5), jobs), None).objective == pytest.approx(expected)


def test_waiting_for_the_fast_node_can_pay():
    # Slow node at once: 200 s. Fast node, free at 40: 140 s.
    running = (RunningJob(Job("R", 1, 99.0), ("C1/0",), 40.0),)
    instance = Instance(one_cluster(1.0, 0.5), (Job("J1", 1, 100.0),), running)
    assert brute_force_oas(instance, None).objective == pytest.approx(140.0)


def test_only_the_processing_share_is_slowed_down_by_the_slowest_node():
    # Powers 1 and 0.5: 30 * (0.25 * 2 + 0.75) = 37.5.
    instance = Instance(one_cluster(1.0, 0.5), (Job("J1", 2, 30.0, processing_share=0.25),))
    assert brute_force_oas(instance, None).objective == pytest.approx(37.5)


@pytest.mark.parametrize(("bandwidth", "expected"), [(20.0, 10.0), (19.9, 20.0), (10.0, 20.0), (9.9, math.inf)])
def test_jobs_that_share_a_link_run_one_after_the_other_when_it_is_too_narrow(bandwidth, expected):
    # Three clusters of 2, two jobs of 3 tasks: side by side they fill the platform, as 2+1+0 and 0+1+2 or twice
    # 1+1+1. Either way both have one task in some cluster, and its link carries 2 * (1 * 10 * 2/2) = 20 MB/s.
    # A job alone loads each of its links with 10 MB/s: 2 * 10 * 1/2 = 1 * 10 * 2/2.
    jobs = tuple(Job(name, 3, 10.0, task_bandwidth=10.0) for name in ("J1", "J2"))
    result = brute_force_oas(Instance(three_pairs(bandwidth), jobs), None)
    assert result.objective == pytest.approx(expected)
    assert (result.schedule is None) == (not result.feasible)


def test_saturation_tolerates_what_it_says():
    # The link carries 8 MB/s, the job asks 10 = 1.25 * 8.
    platform = Platform((cluster("C1", 1.0, bandwidth=8.0), cluster("C2", 1.0, bandwidth=8.0)))
    instance = Instance(platform, (Job("J1", 2, 10.0, task_bandwidth=10.0),))
    assert not brute_force_oas(instance, None, saturation=0.24).feasible
    assert brute_force_oas(instance, None, saturation=0.25).objective == pytest.approx(10.0)


@pytest.mark.parametrize(("bandwidth", "expected"), [(20.0, 10.0), (19.0, 40.0)])
def test_a_running_job_loads_its_links_until_its_end(bandwidth, expected):
    # R holds a node of each cluster until 30, with 1 * 10 * 1/1 = 10 MB/s on both links. The other two nodes would
    # load them with 10 MB/s more.
    platform = Platform(tuple(cluster(name, 1.0, 1.0, bandwidth=bandwidth) for name in ("C1", "C2")))
    running = (RunningJob(Job("R", 2, 99.0, task_bandwidth=10.0), ("C1/0", "C2/0"), 30.0),)
    instance = Instance(platform, (Job("J1", 2, 10.0, task_bandwidth=10.0),), running)
    assert brute_force_oas(instance, None).objective == pytest.approx(expected)


def test_a_link_that_running_jobs_overload_does_not_hinder_a_job_that_does_not_load_it():
    # R puts 10 MB/s on links of 5. J1 fits into C1 and starts at once; J2 needs both clusters: never.
    platform = Platform((cluster("C1", 1.0, 1.0, bandwidth=5.0), cluster("C2", 1.0, bandwidth=5.0)))
    running = (RunningJob(Job("R", 2, 99.0, task_bandwidth=10.0), ("C1/0", "C2/0"), 30.0),)
    local, spread = Job("J1", 1, 10.0), Job("J2", 3, 10.0, task_bandwidth=10.0)
    assert brute_force_oas(Instance(platform, (local,), running), None).objective == pytest.approx(10.0)
    assert not brute_force_oas(Instance(platform, (spread,), running), None).feasible


@pytest.mark.parametrize("bandwidth", [10.0, 9.9])
def test_a_cascaded_switch_carries_what_crosses_it(bandwidth):
    # C1 and C2 hang on S1, C3 on the root; one node each. J1 has 3 tasks, so the link of S1 carries
    # 2 * 10 * 1/2 = 10 MB/s. J2 has 2 and stays below S1, where it loads that link with 2 * 500 * 0 = 0.
    clusters = (cluster("C1", 1.0, switch="S1"), cluster("C2", 1.0, switch="S1"), cluster("C3", 1.0))
    platform = Platform(clusters, (Switch("S1", "S0", bandwidth=bandwidth),))
    across = Instance(platform, (Job("J1", 3, 10.0, task_bandwidth=10.0),))
    assert brute_force_oas(across, None).feasible == (bandwidth >= 10.0)
    below = brute_force_oas(Instance(platform, (Job("J2", 2, 10.0, task_bandwidth=500.0),)), None)
    assert below.schedule is not None
    assert set(below.schedule["J2"].nodes) == {"C1/0", "C2/0"}


def test_jobs_cut_from_a_full_rectangle_fill_it_again():
    # 3 nodes for 20 s: 20 + 2*10 + 1*10 + 1*10 = 60 node-seconds; less than 20 s is impossible.
    pieces = [(1, 20.0), (2, 10.0), (1, 10.0), (1, 10.0)]
    jobs = tuple(Job(f"J{j}", tasks, base_time) for j, (tasks, base_time) in enumerate(pieces))
    assert brute_force_oas(Instance(one_cluster(1.0, 1.0, 1.0), jobs), None).objective == pytest.approx(20.0)


@pytest.mark.parametrize("objective", ["makespan", "total-response-time"])
def test_no_jobs_take_no_time(objective):
    result = brute_force_oas(Instance(one_cluster(1.0), ()), 10.0, objective)
    assert result.objective == 0.0
    assert result.schedule is not None
    assert len(result.schedule) == 0


# --- PAS, CBS, JPR, answers proved by hand -----------------------------------------------------------


def figure_3_3(base_time_1: float, base_time_3: float) -> Instance:
    """Return the first package of thesis figure 3.3: J1 (2 tasks) and J3 (1 task) on powers 1, 1, 0.5, 0.5."""
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), link_bandwidth=1000.0),))
    return Instance(platform, (Job("J1", 2, base_time_1), Job("J3", 1, base_time_3)))


def test_the_first_package_of_figure_3_3():
    # J1 on N1, N2 and J3 on a slow node: 100 + 2 * 50 = 200 s. J1 on a slow node, J3 on a fast one: 200 + 50.
    result = brute_force_pas(figure_3_3(100.0, 50.0))
    assert result.objective == pytest.approx(200.0)
    assert result.schedule is not None
    assert set(result.schedule["J1"].nodes) == {"C1/0", "C1/1"}
    assert set(result.schedule["J3"].nodes) < {"C1/2", "C1/3"}


def test_the_first_package_of_figure_3_3_with_a_longer_third_job():
    # The other way round when sigma1*Tb1 < sigma3*Tb3: 50 + 2 * 100 = 250 against 2 * 50 + 100 = 200.
    result = brute_force_pas(figure_3_3(50.0, 100.0))
    assert result.objective == pytest.approx(200.0)
    assert result.schedule is not None
    assert set(result.schedule["J3"].nodes) < {"C1/0", "C1/1"}


def test_the_second_package_of_figure_3_3():
    # J2 (3 tasks) alone on two fast nodes and two slow ones must use a slow one: 2 * 70 s.
    instance = figure_3_3(1.0, 1.0).replace(jobs=(Job("J2", 3, 70.0),))
    assert brute_force_pas(instance).objective == pytest.approx(140.0)


def test_a_package_starts_at_the_latest_arrival_on_nodes_free_by_then():
    # R1 ends exactly at 20, R2 later: at 20 the fast node and one slow node are free, so 10 + 2 * 10 s.
    running = (RunningJob(Job("R1", 1, 9.0), ("C1/0",), 20.0), RunningJob(Job("R2", 1, 9.0), ("C1/1",), 20.5))
    jobs = (Job("J1", 1, 10.0), Job("J2", 1, 10.0, arrival=20.0))
    result = brute_force_pas(Instance(one_cluster(1.0, 1.0, 0.5), jobs, running))
    assert result.objective == pytest.approx(30.0)
    assert sorted(spans(result).values()) == [(20.0, 30.0), (20.0, 40.0)]


def test_a_package_larger_than_what_is_free_is_infeasible():
    instance = Instance(one_cluster(1.0, 1.0), (Job("J1", 2, 10.0), Job("J2", 1, 10.0)))
    for solve in (brute_force_pas, brute_force_cbs, brute_force_jpr):
        assert not solve(instance).feasible


def overlapping_pair(bandwidth: float) -> Instance:
    """Two jobs of 3 tasks that fill three clusters of 2; some link must carry 20 MB/s, as proved above."""
    jobs = tuple(Job(name, 3, 10.0, processing_share=0.5, task_bandwidth=10.0) for name in ("J1", "J2"))
    return Instance(three_pairs(bandwidth), jobs)


def test_strict_links_forbid_what_shared_links_slow_down():
    # Links of 10 MB/s: the link that both load is saturated twofold, so each takes 10 * (0.5 + 0.5 * 2) = 15 s.
    assert not brute_force_pas(overlapping_pair(10.0)).feasible
    assert brute_force_pas(overlapping_pair(10.0), links="shared").objective == pytest.approx(30.0)
    assert brute_force_pas(overlapping_pair(20.0)).objective == pytest.approx(20.0)
    assert brute_force_pas(overlapping_pair(10.0), saturation=1.0).objective == pytest.approx(20.0)


def test_a_running_job_counts_in_the_slowdown_of_those_that_share_its_link():
    # R and J1 put 10 MB/s each on both links of 8: SC = 20/8, Te = 10 * (0.5 + 0.5 * 2.5) = 17.5.
    platform = Platform((cluster("C1", 1.0, 1.0, bandwidth=8.0), cluster("C2", 1.0, 1.0, bandwidth=8.0)))
    running = (RunningJob(Job("R", 2, 99.0, task_bandwidth=10.0), ("C1/0", "C2/0"), 30.0),)
    job = Job("J1", 2, 10.0, processing_share=0.5, task_bandwidth=10.0)
    assert brute_force_pas(Instance(platform, (job,), running), links="shared").objective == pytest.approx(17.5)


def test_a_link_of_no_bandwidth_is_no_way_unless_the_job_never_communicates():
    platform = Platform((cluster("C1", 1.0, bandwidth=0.0), cluster("C2", 1.0, bandwidth=0.0)))
    talking = Instance(platform, (Job("J1", 2, 10.0, processing_share=0.9, task_bandwidth=1.0),))
    silent = Instance(platform, (Job("J1", 2, 10.0, processing_share=1.0, task_bandwidth=1.0),))
    assert not brute_force_pas(talking, links="shared").feasible
    assert brute_force_pas(silent, links="shared").objective == pytest.approx(10.0)


def test_cbs_counts_missing_tasks_first_and_link_load_second():
    # ceil(0.75 * 3) = 3 tasks wanted in one cluster; 2 is the most: 1 + 1 missing. 2+1+0 loads two links with 10 MB/s:
    # 20 per job.
    assert brute_force_cbs(overlapping_pair(1.0)).objectives == pytest.approx((2.0, 40.0))


def test_cbs_prefers_a_chunk_on_slow_nodes():
    # 4 tasks, 3 wanted: only C1 has 3 nodes, all slow; then 3 * 10 * 1/3 + 1 * 10 * 3/3 = 20 MB/s, and the time of
    # power 0.5.
    platform = Platform((cluster("C1", 0.5, 0.5, 0.5), cluster("C2", 1.0, 1.0), cluster("C3", 1.0, 1.0)))
    result = brute_force_cbs(Instance(platform, (Job("J1", 4, 10.0, task_bandwidth=10.0),)))
    assert result.objectives == pytest.approx((0.0, 20.0))
    assert spans(result) == {"J1": (0.0, 20.0)}


def test_jpr_takes_the_fastest_nodes_whatever_the_links():
    # C1 alone (power 0.8) takes 12.5 s and loads no link; the two nodes of power 1 are in different clusters: 10 s.
    platform = Platform((cluster("C1", 1.0, 0.8, 0.8, bandwidth=0.0), cluster("C2", 1.0, bandwidth=0.0)))
    result = brute_force_jpr(Instance(platform, (Job("J1", 2, 10.0, task_bandwidth=10.0),)))
    assert result.objectives == pytest.approx((10.0, -2.0))


def test_jpr_breaks_ties_by_effective_power():
    # A job that only communicates takes 10 s anywhere: power 1.25 * 0.8 = 1 loses to 1.1.
    groups = (NodeGroup(1, 1.25, availability=0.8), NodeGroup(1, 1.1), NodeGroup(1, 0.5))
    platform = Platform((Cluster("C1", groups, link_bandwidth=1.0),))
    result = brute_force_jpr(Instance(platform, (Job("J1", 1, 10.0, processing_share=0.0),)))
    assert result.objectives == pytest.approx((10.0, -1.1))


# --- memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("memory", "expected"), [(None, 10.0), (1000.0, 10.0), (999.0, 20.0), (499.0, math.inf)])
def test_tasks_on_one_node_share_its_memory(memory, expected):
    # A node of two cores and two jobs of one task, each 10 s and 500 MB: beside each other with 1000 MB, else in turn.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0, cores=2, memory=memory),), 0.0),))
    jobs = tuple(Job(f"J{n}", 1, 10.0, memory=500.0) for n in (1, 2))
    assert brute_force_oas(Instance(platform, jobs), None).objective == pytest.approx(expected)


def test_a_large_job_takes_the_slow_node_that_has_the_memory():
    # 600 MB: not on the fast node; 10 s at power 0.5 are 20 s. The small one may wait for no one: 10 s.
    groups = (NodeGroup(1, 1.0, memory=500.0), NodeGroup(1, 0.5, memory=600.0))
    jobs = (Job("J1", 1, 10.0, memory=600.0), Job("J2", 1, 10.0, memory=1.0))
    result = brute_force_oas(Instance(Platform((Cluster("C1", groups, 0.0),)), jobs), None)
    assert spans(result) == {"J1": (0.0, 20.0), "J2": (0.0, 10.0)}


@pytest.mark.parametrize(("memory", "expected"), [(400.0, 35.0), (0.0, 10.0), (None, 10.0)])
def test_a_running_job_holds_its_memory_until_its_end(memory, expected):
    # 700 of 1000 MB are held until 25: a job that asks for 400 MB waits, one that asks for nothing does not.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0, cores=2, memory=1000.0),), 0.0),))
    running = (RunningJob(Job("R", 1, 99.0, memory=700.0), ("C1/0.0",), 25.0),)
    instance = Instance(platform, (Job("J1", 1, 10.0, memory=memory),), running)
    assert brute_force_oas(instance, None).objective == pytest.approx(expected)


@pytest.mark.parametrize("solve", [brute_force_pas, brute_force_cbs, brute_force_jpr])
@pytest.mark.parametrize(("memory", "is_feasible"), [(1000.0, True), (999.0, False)])
def test_a_package_fits_into_the_memory(solve, memory, is_feasible):
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0, cores=2, memory=memory),), 0.0),))
    jobs = tuple(Job(f"J{n}", 1, 10.0, memory=500.0) for n in (1, 2))
    assert solve(Instance(platform, jobs)).feasible is is_feasible


# --- the second enumeration --------------------------------------------------------------------------


def loads_of(instance: Instance, job: Job, processors: Sequence[int]) -> list[float]:
    """Return the load on every edge of the network, by cutting the tree there and counting pairs of tasks."""
    platform, loads = instance.platform, []
    names = [platform.clusters[platform.nodes[platform.processor_node[p]].cluster].name for p in processors]
    for edge in platform.network.edges:
        cut = nx.restricted_view(platform.network, [], [edge])
        side = nx.node_connected_component(cut, edge[0])
        pairs = sum((("cluster", a) in side) and (("cluster", b) not in side) for a in names for b in names)
        loads.append(pairs * job.task_bandwidth / (job.tasks - 1) if pairs else 0.0)
    return loads


def limits_of(instance: Instance) -> list[float]:
    return [capacity_limit(edge["bandwidth"]) for _, _, edge in instance.platform.network.edges(data=True)]


def time_of(instance: Instance, job: Job, processors: Sequence[int], communication: float = 1.0) -> float:
    platform = instance.platform
    groups = [platform.group_of(platform.nodes[platform.processor_node[p]]) for p in processors]
    slowest = min(group.power * group.availability for group in groups)
    return job.base_time * (job.processing_share / slowest + (1.0 - job.processing_share) * communication)


def subsets(instance: Instance, job: Job) -> Iterator[tuple[int, ...]]:
    return itertools.combinations(range(instance.platform.num_processors), job.tasks)


def held_processors(instance: Instance, run: RunningJob) -> list[int]:
    return [instance.platform.processor_names.index(name) for name in run.nodes]


def asks_of(instance: Instance, job: Job, processors: Sequence[int]) -> list[float]:
    """Return the load on every edge of the network, then the memory asked of every node."""
    nodes = [instance.platform.processor_node[p] for p in processors]
    memory = [nodes.count(n) * (job.memory or 0.0) for n in range(len(instance.platform.nodes))]
    return loads_of(instance, job, processors) + memory


def room_of(instance: Instance) -> list[float]:
    memories = [instance.platform.group_of(node).memory for node in instance.platform.nodes]
    return limits_of(instance) + [math.inf if m is None else capacity_limit(m) for m in memories]


def every_start_on_every_processor(instance: Instance, slot: float, rounding: str, horizon: int) -> tuple[float, float]:
    """Return the least makespan and the least total response time, s, over all starts and all sets of processors."""
    rounded = slots_up if rounding == "up" else slots_down
    limits = room_of(instance)
    busy = [set[int]() for _ in range(horizon)]
    load = [[0.0] * len(limits) for _ in range(horizon)]

    def change(job: Job, processors: Sequence[int], slots: range, sign: int) -> None:
        own = asks_of(instance, job, processors)
        for t in slots:
            busy[t] ^= set(processors)
            load[t] = [total + sign * more for total, more in zip(load[t], own, strict=True)]

    for run in instance.running:
        change(run.job, held_processors(instance, run), range(rounded(run.end, slot)), 1)

    def ends_of(jobs: Sequence[Job]) -> Iterator[tuple[int, ...]]:
        if not jobs:
            yield ()
            return
        for processors in subsets(instance, jobs[0]):
            length = rounded(time_of(instance, jobs[0], processors), slot)
            own = asks_of(instance, jobs[0], processors)
            if any(more > limit for more, limit in zip(own, limits, strict=True)):
                continue
            for start in range(rounded(jobs[0].arrival, slot), horizon - length + 1):
                slots = range(start, start + length)
                apart = all(busy[t].isdisjoint(processors) for t in slots)
                narrow = any(
                    more and total + more > limit
                    for t in slots
                    for total, more, limit in zip(load[t], own, limits, strict=True)
                )
                if apart and not narrow:
                    change(jobs[0], processors, slots, 1)
                    for rest in ends_of(jobs[1:]):
                        yield (start + length, *rest)
                    change(jobs[0], processors, slots, -1)

    origin = 0.0 if instance.running else min(job.arrival for job in instance.jobs)
    arrivals = sum(job.arrival for job in instance.jobs)
    found = list(ends_of(instance.jobs))
    makespan, response = (min(map(worth, found), default=math.inf) for worth in (max, sum))
    return slot * makespan - origin, slot * response - arrivals


@pytest.mark.parametrize("solve", [brute_force_cbs, brute_force_jpr])
@pytest.mark.parametrize(("share", "is_feasible"), [(1.0, True), (0.5, False)])
def test_no_model_puts_a_job_that_communicates_across_a_link_of_no_bandwidth(solve, share, is_feasible):
    # Three tasks on two clusters of two: one link at least is loaded. Where the job communicates it never ends.
    clusters = tuple(Cluster(name, (NodeGroup(2, 1.0),), link_bandwidth=0.0) for name in ("C1", "C2"))
    instance = Instance(Platform(clusters), (Job("J1", 3, 10.0, share, task_bandwidth=1.0),))
    assert solve(instance).feasible is is_feasible
    model = "cbs" if solve is brute_force_cbs else "jpr"
    assert (coalloc.solve(instance, model=model).status == "optimal") is is_feasible


@pytest.mark.parametrize("family", [small_instance, small_memory_instance])
@pytest.mark.parametrize(("seed", "rounding"), [*enumerate(("up", "down") * 5)])
def test_counts_and_chronological_order_lose_nothing(seed, rounding, family):
    # No optimum waits while nothing runs and all have arrived, so it ends within the slots of a serial schedule.
    instance, slot = family(seed, TINY)
    makespan, response = every_start_on_every_processor(instance, slot, rounding, TINY.max_slots)
    assert brute_force_oas(instance, slot, "makespan", rounding).objective == pytest.approx(makespan)
    assert brute_force_oas(instance, slot, "total-response-time", rounding).objective == pytest.approx(response)


def every_order_on_every_processor(instance: Instance) -> tuple[float, float]:
    """Return the least makespan and the least total response time, s, of serial schedule generation.

    Over all orders and all sets of processors; each job at the earliest instant, also before jobs already
    placed, from which processors and links suffice for all its duration.
    """
    limits = room_of(instance)
    base = [(0.0, r.end, set(held_processors(instance, r)), r.job) for r in instance.running]
    hold_loads = {r.job.id: asks_of(instance, r.job, held_processors(instance, r)) for r in instance.running}

    def fits(job: Job, processors: Sequence[int], start: float, end: float, holds: list) -> bool:
        own = asks_of(instance, job, processors)
        beside = [h for h in holds if h[0] < end - 1e-7 and start < h[1] - 1e-7]
        if any(not h[2].isdisjoint(processors) for h in beside):
            return False
        for instant in [start, *(h[0] for h in beside if h[0] > start)]:
            there = [h for h in beside if h[0] <= instant + 1e-7 and instant < h[1] - 1e-7]
            for k, more in enumerate(own):
                if more and more + sum(hold_loads[h[3].id][k] for h in there) > limits[k]:
                    return False
        return True

    def ends_of(jobs: Sequence[Job], holds: list) -> Iterator[tuple[float, ...]]:
        if not jobs:
            yield ()
            return
        job = jobs[0]
        for processors in subsets(instance, job):
            duration = time_of(instance, job, processors)
            instants = sorted({job.arrival, *(h[1] for h in holds if h[1] > job.arrival)})
            start = next((t for t in instants if fits(job, processors, t, t + duration, holds)), None)
            if start is not None:
                hold_loads[job.id] = asks_of(instance, job, processors)
                for rest in ends_of(jobs[1:], [*holds, (start, start + duration, set(processors), job)]):
                    yield (start + duration, *rest)

    origin = 0.0 if instance.running else min(job.arrival for job in instance.jobs)
    arrivals = sum(job.arrival for job in instance.jobs)
    found = [ends for order in itertools.permutations(instance.jobs) for ends in ends_of(order, base)]
    makespan, response = (min(map(worth, found), default=math.inf) for worth in (max, sum))
    return makespan - origin, response - arrivals


@pytest.mark.parametrize("family", [small_instance, small_memory_instance])
@pytest.mark.parametrize("seed", range(100, 112))
def test_continuous_time_agrees_with_serial_schedule_generation_on_processors(seed, family):
    instance, _ = family(seed, TINY)
    makespan, response = every_order_on_every_processor(instance)
    assert brute_force_oas(instance, None).objective == pytest.approx(makespan)
    assert brute_force_oas(instance, None, "total-response-time").objective == pytest.approx(response)


def packages_on_processors(instance: Instance) -> Iterator[list[tuple[int, ...]]]:
    """Yield every choice of processors for all jobs at once, beside what runs after the latest arrival."""
    start = max(job.arrival for job in instance.jobs)
    busy = {p for run in instance.running if run.end > start for p in held_processors(instance, run)}
    for choice in itertools.product(*(subsets(instance, job) for job in instance.jobs)):
        named = [p for processors in choice for p in processors]
        if len(set(named)) == len(named) and busy.isdisjoint(named):
            yield list(choice)


def slowdowns_of(instance: Instance, choice: Sequence[Sequence[int]]) -> list[float]:
    """Return SC of each job of a package that overlaps throughout with what runs after the latest arrival."""
    start = max(job.arrival for job in instance.jobs)
    own = [loads_of(instance, job, processors) for job, processors in zip(instance.jobs, choice, strict=True)]
    there = [loads_of(instance, r.job, held_processors(instance, r)) for r in instance.running if r.end > start]
    ratios = [sum(column) / limit for *column, limit in zip(*own, *there, limits_of(instance), strict=True)]
    return [max([1.0, *(r for r, load in zip(ratios, loads, strict=True) if load)]) for loads in own]


PACKAGE = SmallSize(max_jobs=4, max_processors=6)


@pytest.mark.parametrize("seed", range(20))
def test_packages_agree_with_an_enumeration_of_processors(seed):
    instance = small_package(seed, PACKAGE)
    strict, shared, ignoring = [math.inf], [math.inf], [math.inf]
    for choice in packages_on_processors(instance):
        pairs = list(zip(instance.jobs, choice, strict=True))
        slowdowns = slowdowns_of(instance, choice)
        shared.append(sum(time_of(instance, *pair, sc) for pair, sc in zip(pairs, slowdowns, strict=True)))
        ignoring.append(sum(time_of(instance, *pair) for pair in pairs))
        if max(slowdowns) <= 1.0:
            strict.append(ignoring[-1])
    assert brute_force_pas(instance).objective == pytest.approx(min(strict))
    assert brute_force_pas(instance, links="shared").objective == pytest.approx(min(shared))
    assert brute_force_jpr(instance).objective == pytest.approx(min(ignoring))


@pytest.mark.parametrize("seed", range(20))
def test_cbs_agrees_with_an_enumeration_of_processors(seed):
    instance = small_package(seed, PACKAGE)
    values = []
    for choice in packages_on_processors(instance):
        shortfall, load = 0, 0.0
        for job, processors in zip(instance.jobs, choice, strict=True):
            clusters = [instance.platform.processor_names[p].split("/")[0] for p in processors]
            shortfall += max(0, math.ceil(3 * job.tasks / 4) - max(clusters.count(name) for name in clusters))
            load += sum(loads_of(instance, job, processors))
        values.append((shortfall, round(load, 9)))
    assert brute_force_cbs(instance).objectives == pytest.approx(min(values))


# --- laws ----------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(slotted_instances(SmallSize(max_jobs=4)))
def test_schedules_pass_the_checker_and_have_the_objective(example):
    instance, slot = example
    for length in (slot, None):
        result = brute_force_oas(instance, length)
        assert result.schedule is not None
        assert check(instance, result.schedule) == []
        assert max(p.end for p in result.schedule) - instance.origin == pytest.approx(result.objective)


@settings(max_examples=40, deadline=None)
@given(slotted_instances(SmallSize(max_jobs=4)))
def test_response_times_add_up(example):
    instance, slot = example
    result = brute_force_oas(instance, slot, "total-response-time")
    assert result.schedule is not None
    assert check(instance, result.schedule) == []
    responses = [p.end - instance.job_by_id[p.job].arrival for p in result.schedule]
    assert sum(responses) == pytest.approx(result.objective)


@settings(max_examples=40, deadline=None)
@given(slotted_instances(SmallSize(max_jobs=4)))
def test_rounding_brackets_continuous_time(example):
    # Design: slot * OPT_floor <= OPT_continuous <= slot * OPT_ceil, for every regular objective.
    instance, slot = example
    for objective in ("makespan", "total-response-time"):
        below = brute_force_oas(instance, slot, objective, "down").objective
        between = brute_force_oas(instance, None, objective).objective
        above = brute_force_oas(instance, slot, objective, "up").objective
        assert below <= between + 1e-6
        assert between <= above + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_package_schedules_pass_the_checker(seed):
    instance = small_package(seed)
    strict = brute_force_pas(instance)
    if strict.schedule is not None:
        assert check(instance, strict.schedule) == []
    for result in (brute_force_cbs(instance), brute_force_jpr(instance)):
        assert result.schedule is not None
        assert check(instance, result.schedule, links="ignore") == []


def test_what_runs_counts_where_a_window_takes_processors():
    # Until 20 s one of two processors is held, and from 5 to 10 s a window takes one: nothing is left then.
    platform = Platform(
        [Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=1.0)],
        unavailable=[Window("C1", 5.0, 10.0, group=0, processors=1)],
    )
    instance = Instance(platform, [Job("J1", 1, 8.0)], [RunningJob(Job("R1", 1, 20.0), ["C1/0"], 20.0)])
    best = brute_force_oas(instance, None)
    assert best.schedule is not None
    assert (best.objective, check(instance, best.schedule)) == (18.0, [])


def test_the_best_shape_is_found():
    # 4 tasks take 6 s alone, but 16 s with the other; side by side 10 s.
    platform = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=1.0)])
    moldable = Job("A", 2, 10.0, shapes=[Shape(1, 18.0), Shape(4, 6.0)])
    for jobs, objective, shapes in (([moldable], 6.0, [2]), ([moldable, Job("B", 2, 10.0)], 10.0, [0, 0])):
        best = brute_force_oas(Instance(platform, jobs), None)
        assert best.schedule is not None
        assert (best.objective, [p.shape for p in best.schedule]) == (objective, shapes)


def test_a_longer_run_may_cost_less_of_jobs_that_are_bound_in_time():
    # Both start at 100 s or later. On a fast node 50 s are run, so (100 + 50) / 50 = 3; on a slow one 200 / 100 = 2.
    jobs = [Job(name, 1, 50.0) for name in ("J1", "J2")]
    bounds = [TimeBounds(job.id, earliest_start=100.0) for job in jobs]
    instance = Instance(one_cluster(0.5, 0.5, 1.0), jobs)
    assert brute_force_oas(instance, None, "mean-bounded-slowdown", constraints=bounds).objective == 2.0


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 7, 8, 11, 15, 16, 22])  # others have more starts to try
def test_declarations_agree_with_every_start_of_every_job(seed):
    # Where each slot is tried as a start, constraints are only asked for the faults of complete schedules.
    instance, slot = small_instance(seed, TINY)
    rng = np.random.default_rng(seed)
    kinds = [[*DECLARED][k] for k in rng.permutation(len(DECLARED))[:2]]
    declared = [one for kind in kinds for one in small_declarations(kind, rng, instance, slot)]
    objective = ("makespan", "total-response-time")[seed % 2]
    searched = brute_force_oas(instance, slot, objective, constraints=declared)
    horizon = 9 if searched.schedule is None else 16  # jobs in turn end within 6 slots where all starts fail
    tried = brute_force_oas(instance, slot, objective, constraints=declared, horizon=horizon)
    assert searched.objective == pytest.approx(tried.objective)
    if searched.schedule is not None:
        assert check(instance, searched.schedule, constraints=declared) == []
