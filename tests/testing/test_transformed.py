"""Transformed instances: other clocks, units and orders of the same problem."""

from __future__ import annotations

import numpy as np
import pytest

from coalloc import Cluster, Instance, Job, NodeGroup, Placement, Platform, RunningJob, Schedule, Shape, check
from coalloc.instance.windows import Window
from coalloc.testing import small_feature_instance
from coalloc.testing.transformed import permuted, scaled, shifted, shifted_schedule

GROUPS = [NodeGroup(2, power=1.0), NodeGroup(1, power=0.5, cores=2)]


def instance(running=()) -> Instance:
    windows = [Window("C1", 5.0, 6.0, nodes=["C1/2"]), Window("C1", 7.0, 9.0, group=1, processors=1)]
    platform = Platform([Cluster("C1", GROUPS, 1.0), Cluster("C2", [NodeGroup(1, 1.0)], 1.0)], unavailable=windows)
    jobs = [
        Job("J1", 1, 4.0, arrival=1.0, due_date=8.0, deadline=20.0, shapes=[Shape(2, 3.0)]),
        Job("J2", 2, 2.0, arrival=3.0, times={"fast": 1.0}, estimate=6.0),
    ]
    return Instance(platform, jobs, running)


def test_a_shift_moves_times_and_no_durations():
    first, second = shifted(instance(), 100.0).jobs
    assert (first.arrival, first.due_date, first.deadline, first.base_time) == (101.0, 108.0, 120.0, 4.0)
    assert (second.arrival, second.due_date, second.estimate, second.times["fast"]) == (103.0, None, 6.0, 1.0)
    windows = shifted(instance(), 100.0).platform.unavailable
    assert [(window.start, window.end) for window in windows] == [(105.0, 106.0), (107.0, 109.0)]


def test_another_unit_scales_times_and_durations():
    run = RunningJob(Job("R1", 1, 8.0), ["C2/0"], end=4.0)
    other = scaled(instance([run]), 0.5)
    first, second = other.jobs
    assert (first.arrival, first.due_date, first.deadline, first.base_time) == (0.5, 4.0, 10.0, 2.0)
    assert (first.shapes[0].base_time, second.times["fast"], second.estimate) == (1.5, 0.5, 3.0)
    assert (other.running[0].end, other.running[0].job.base_time) == (2.0, 4.0)
    assert [window.end for window in other.platform.unavailable] == [3.0, 4.5]


def test_nodes_keep_what_they_are_in_another_order():
    # C1 is two nodes of power 1 and one of two cores: wherever the groups are, the outages are of the latter.
    orders = set()
    run = RunningJob(Job("R1", 1, 9.0), ["C1/2.1"], end=4.0)
    for seed in range(8):
        other = permuted(instance([run]), np.random.default_rng(seed))
        cluster = next(c for c in other.platform.clusters if c.name == "C1")
        where = next(g for g, group in enumerate(cluster.nodes) if group.cores == 2)
        name = "C1/2" if where else "C1/0"
        named, grouped = sorted(other.platform.unavailable, key=lambda window: window.start)
        assert (list(named.nodes), grouped.group) == ([name], where)
        assert list(other.running[0].nodes) == [f"{name}.1"]
        orders.add((where, other.platform.clusters[0].name, other.jobs[0].id))
    assert len(orders) > 4


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_in_another_order(seed):
    before, _ = small_feature_instance(seed)
    after = permuted(before, np.random.default_rng(seed))
    for name in ("jobs", "running"):
        assert len(getattr(after, name)) == len(getattr(before, name))
    assert {job.id: job for job in after.jobs} == {job.id: job for job in before.jobs}
    assert len(after.platform.unavailable) == len(before.platform.unavailable)


def test_a_shifted_schedule_is_one_of_the_shifted_instance():
    schedule = Schedule([Placement("J1", 1.0, 5.0, ["C1/0"]), Placement("J2", 3.0, 5.0, ["C2/0", "C1/1"])])
    assert check(instance(), schedule) == []
    assert check(shifted(instance(), 64.0), shifted_schedule(schedule, 64.0)) == []
