"""Each metric against a schedule small enough to do by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.measures.metrics import METRICS, PERCENTILES, Column, busy_time, metrics, metrics_of, percentile
from coalloc.schedule import Placement, Schedule
from tests.strategies import LAW, instances, list_schedule


@pytest.fixture
def worked() -> tuple[Instance, Schedule]:
    """Two clusters of two nodes (power 1 and 2), links of 10 MB/s, three jobs.

    A and B are co-allocated, one task per cluster: 8 MB/s each on both links, 16 together over [20, 40).
    """
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 10.0), Cluster("C2", (NodeGroup(2, 2.0),), 10.0)))
    jobs = (
        Job("A", 2, 40.0, 1.0, 8.0, arrival=10.0),
        Job("B", 2, 50.0, 1.0, 8.0, arrival=10.0),
        Job("C", 1, 4.0, arrival=30.0),
    )
    placements = (
        Placement("A", 10.0, 40.0, ("C1/0", "C2/0")),
        Placement("B", 20.0, 60.0, ("C1/1", "C2/1")),
        Placement("C", 60.0, 62.0, ("C2/0",), "killed"),
    )
    return Instance(platform, jobs), Schedule(placements)


def test_every_metric_by_hand(worked):
    # Waits 0, 10, 30; responses 30, 50, 32; run times 30, 40, 2 against base times 40, 50, 4; origin 10. Bounded
    # slowdowns 1, 1.25, 3.2. The 90th of 3 values is at position 1 + 2*0.9 = 2.8: 0.2 of the second, 0.8 of the third.
    assert metrics(*worked) == pytest.approx(
        {
            "makespan": 52.0,
            "jobs": 3.0,
            "processor_seconds": 2 * 30.0 + 2 * 40.0 + 2.0,
            "total_execution_time": 72.0,
            "total_response_time": 112.0,
            "total_weighted_response_time": 112.0,
            "weighted_tardiness": 0.0,
            "maximum_lateness": 0.0,
            "wait_mean": 40.0 / 3.0,
            "wait_median": 10.0,
            "wait_p90": 0.2 * 10.0 + 0.8 * 30.0,
            "wait_p95": 0.1 * 10.0 + 0.9 * 30.0,
            "wait_p99": 0.02 * 10.0 + 0.98 * 30.0,
            "wait_max": 30.0,
            "response_mean": 112.0 / 3.0,
            "response_median": 32.0,
            "response_p90": 0.2 * 32.0 + 0.8 * 50.0,
            "response_p95": 0.1 * 32.0 + 0.9 * 50.0,
            "response_p99": 0.02 * 32.0 + 0.98 * 50.0,
            "response_max": 50.0,
            "execution_slowdown": 72.0 / 94.0 - 1.0,
            "execution_slowdown_mean": (30.0 / 40.0 + 40.0 / 50.0 + 2.0 / 4.0) / 3.0 - 1.0,
            "bounded_slowdown_mean": (1.0 + 50.0 / 40.0 + 32.0 / 10.0) / 3.0,
            "bounded_slowdown_median": 1.25,
            "bounded_slowdown_p90": 0.2 * 1.25 + 0.8 * 3.2,
            "bounded_slowdown_p95": 0.1 * 1.25 + 0.9 * 3.2,
            "bounded_slowdown_p99": 0.02 * 1.25 + 0.98 * 3.2,
            "bounded_slowdown_max": 3.2,
            "utilization": (2 * 30.0 + 2 * 40.0 + 2.0) / (4 * 52.0),
            "coallocated_share": 2.0 / 3.0,
            "saturated_share": 2.0 / 3.0,
            "coallocated_jobs": 2.0,
            "used_clusters": 5.0,
            "unmet_levels": 0.0,
            "deadlines_missed": 0.0,
            "killed": 1.0,
            "interruptions": 0.0,
            "lost_processor_seconds": 0.0,
            "peak_link_share": 1.6,
            "queue_length_mean": 40.0 / 52.0,
        }
    )


def test_weights_and_due_dates_by_hand(worked):
    # Responses 30, 50, 32 s times 2, 0.5, 1. A ends at 40, 15 s after its due date, B at 60, 40 s before; C has none.
    instance, schedule = worked
    a, b, c = instance.jobs
    jobs = (a.replace(weight=2.0, due_date=25.0), b.replace(weight=0.5, due_date=100.0), c)
    found = metrics(instance.replace(jobs=jobs), schedule)
    assert found["total_weighted_response_time"] == pytest.approx(60.0 + 25.0 + 32.0)
    assert found["weighted_tardiness"] == pytest.approx(2.0 * 15.0)
    assert found["maximum_lateness"] == pytest.approx(15.0)


def test_a_window_has_the_jobs_that_arrive_in_it_and_the_platform_of_that_time(worked):
    # C alone arrives from 20 on: it waits 30 s. From 20 to 50 A holds 2 processors for 20 s and B 2 for 30 s; C waits
    # from 30 on, B does not any more; both links carry 16 MB/s until 40.
    found = metrics_of(*worked, after=20.0, before=50.0)
    assert set(METRICS) - set(found) == {"makespan"}
    assert (found["jobs"], found["wait_mean"], found["wait_p99"], found["processor_seconds"]) == (1.0, 30.0, 30.0, 2.0)
    assert found["utilization"] == pytest.approx((2 * 20.0 + 2 * 30.0) / (4 * 30.0))
    assert found["queue_length_mean"] == pytest.approx(20.0 / 30.0)
    assert found["peak_link_share"] == 1.6
    assert metrics_of(*worked, after=30.0)["peak_link_share"] == 1.6  # until 40
    assert metrics_of(*worked, before=20.0)["peak_link_share"] == 0.8  # B starts at 20


def test_a_window_without_limits_is_the_whole_schedule(worked):
    found = metrics(*worked)
    assert metrics_of(*worked) | {"makespan": 52.0} == found
    assert metrics_of(*worked, after=-math.inf, before=1e6) | {"makespan": 52.0} == found
    assert metrics_of(*worked, after=10.0) | {"makespan": 52.0} == found  # what arrives at the lower limit counts


def test_running_jobs_use_the_platform_in_a_window_too(worked):
    # From 30 to 62 A holds 2 processors for 10 s, B 2 for 30 s, C 1 for 2 s, and R 1 until 50, for 20 s.
    instance, schedule = worked
    running = RunningJob(Job("R", 1, 99.0), ("C2/1",), 50.0)
    found = metrics_of(instance.replace(running=(running,)), schedule, after=30.0)
    assert found["utilization"] == pytest.approx((20.0 + 60.0 + 2.0 + 20.0) / (4 * 32.0))


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (
            {"after": 11.0, "before": 30.0},
            "no job of the schedule arrives from after=11 to before=30 s; arrivals are from 10",
        ),
        (
            {"after": 50.0, "before": 20.0},
            "no job of the schedule arrives from after=50 to before=20 s; arrivals are from 10",
        ),
        ({"after": "1 d"}, "after: must be a number or None, got '1 d'"),
        ({"before": math.nan}, "before: must be a number or None, got nan"),
    ],
)
def test_a_window_without_jobs_is_refused(worked, window, message):
    with pytest.raises(CoallocError) as error:
        metrics_of(*worked, **window)
    assert str(error.value).startswith(message)


def test_a_window_on_an_empty_schedule_is_refused(worked):
    with pytest.raises(CoallocError, match="it has no jobs"):
        metrics_of(worked[0], Schedule(()), after=0.0)
    assert metrics_of(worked[0], Schedule(()))["jobs"] == 0.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.data())
def test_percentiles_of_groups_are_those_of_numpy(values, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(values) - 1)))) if len(values) > 1 else []
    groups = np.split(np.array(values), cuts)
    column = Column(np.array(values), np.array([0, *cuts]), np.array([len(group) for group in groups]))
    for percent in PERCENTILES.values():
        expected = [np.percentile(group, percent) for group in groups]
        np.testing.assert_allclose(percentile(column, percent), expected, rtol=1e-12, atol=1e-6)


def test_a_link_at_its_capacity_is_not_saturated(worked):
    instance, schedule = worked
    clusters = tuple(cluster.replace(link_bandwidth=16.0) for cluster in instance.platform.clusters)
    found = metrics(instance.replace(platform=Platform(clusters)), schedule)
    assert (found["saturated_share"], found["peak_link_share"]) == (0.0, 1.0)


def test_jobs_back_to_back_do_not_saturate_a_link_together(worked):
    # B starts at 0.3, A ends at 0.1 + 0.2, which is a little later.
    instance, _ = worked
    schedule = Schedule(
        (Placement("A", 10.0, 10.0 + 0.1 + 0.2, ("C1/0", "C2/0")), Placement("B", 10.3, 60.0, ("C1/1", "C2/1")))
    )
    assert metrics(instance, schedule)["peak_link_share"] == pytest.approx(0.8)


def test_a_loaded_link_of_no_bandwidth_is_saturated_without_limit(worked):
    instance, schedule = worked
    clusters = tuple(cluster.replace(link_bandwidth=0.0) for cluster in instance.platform.clusters)
    found = metrics(instance.replace(platform=Platform(clusters)), schedule)
    assert (found["saturated_share"], found["peak_link_share"]) == (pytest.approx(2.0 / 3.0), math.inf)


def test_running_jobs_move_the_origin_to_0_and_use_processors_and_links(worked):
    # R holds C1/1 and C2/1 until 15, A starts at 10: 8 + 4 MB/s on 10; 30 processor-seconds more; 62 s in all.
    instance, schedule = worked
    running = RunningJob(Job("R", 2, 99.0, task_bandwidth=4.0), ("C1/1", "C2/1"), 15.0)
    alone = Schedule((schedule["A"], schedule["C"]))
    found = metrics(instance.replace(running=(running,)), alone)
    assert found["makespan"] == 62.0
    assert found["utilization"] == pytest.approx((2 * 30.0 + 2.0 + 2 * 15.0) / (4 * 62.0))
    assert (found["saturated_share"], found["peak_link_share"]) == (0.5, 1.2)
    assert busy_time(instance.replace(running=(running,)), alone)["C1/1"] == 15.0


def test_running_jobs_count_until_the_last_placement_ends(worked):
    instance, schedule = worked
    running = RunningJob(Job("R", 1, 999.0), ("C1/1",), 500.0)
    assert metrics(instance.replace(running=(running,)), Schedule((schedule["A"],)))["utilization"] == pytest.approx(
        (2 * 30.0 + 40.0) / (4 * 40.0)
    )


def test_busy_time_per_node_counts_an_instant_once():
    # Node 0 has two cores, busy over [0, 10) and [5, 20), then [30, 40): 30 s; node 1 is idle.
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0, cores=2),), 1.0),))
    instance = Instance(platform, tuple(Job(id, 1, 10.0) for id in "ABC"))
    schedule = Schedule(
        (
            Placement("A", 0.0, 10.0, ("C1/0.0",)),
            Placement("B", 5.0, 20.0, ("C1/0.1",)),
            Placement("C", 30.0, 40.0, ("C1/0.1",)),
        )
    )
    assert busy_time(instance, schedule) == {"C1/0": 30.0, "C1/1": 0.0}


@pytest.mark.parametrize("running", [(), (RunningJob(Job("R", 2, 9.0), ("C1/0", "C2/0"), 5.0),)])
def test_an_empty_schedule_measures_nothing(worked, running):
    instance = worked[0].replace(jobs=(), running=running)
    found = metrics(instance, Schedule(()))
    assert set(found) == set(METRICS)
    assert set(found.values()) == {0.0}


def test_what_the_instance_does_not_have_is_refused(worked):
    instance, schedule = worked
    with pytest.raises(CoallocError, match="places job B"):
        metrics(instance.replace(jobs=instance.jobs[:1]), schedule)
    with pytest.raises(CoallocError, match="C7/0"):
        metrics(instance, Schedule((Placement("A", 0.0, 1.0, ("C7/0",)),)))


def test_every_metric_has_a_definition_and_a_unit():
    assert all(metric.definition and metric.unit for metric in METRICS.values())
    assert METRICS["wait_mean"].definition == "Mean of f_j - r_j."


@LAW
@given(instances(max_cores=2, switches=2, max_running=2))
def test_a_valid_schedule_stays_within_what_there_is(instance):
    reduced, schedule = list_schedule(instance)
    found = metrics(reduced, schedule)
    assert 0.0 <= found["utilization"] <= 1.0 + 1e-9
    assert found["saturated_share"] == 0.0  # links are strict
    assert 0.0 <= found["wait_mean"] <= found["wait_max"] <= found["response_max"]
    latest = max([p.end for p in schedule] + [run.end for run in reduced.running], default=0.0)
    assert all(0.0 <= busy <= latest for busy in busy_time(reduced, schedule).values())
