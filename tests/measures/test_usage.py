"""A schedule over time: by hand on a small one, and by laws on many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob, Switch
from coalloc.measures.metrics import metrics
from coalloc.measures.usage import MAX_STEPS, Usage, series, usage_of
from coalloc.schedule import Placement, Schedule
from tests.strategies import LAW, instances, list_schedule


@pytest.fixture
def worked() -> tuple[Instance, Schedule]:
    """Two clusters of two nodes, links of 10 and 20 MB/s; A waits from 10 to 20, C from 30 to 60.

    A and B have a task in each cluster: 8 MB/s each on both links, 16 together over [20, 40).
    """
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 10.0), Cluster("C2", (NodeGroup(2, 1.0),), 20.0)))
    jobs = (
        Job("A", 2, 40.0, 1.0, 8.0, arrival=10.0),
        Job("B", 2, 30.0, 1.0, 8.0, arrival=10.0),
        Job("C", 1, 4.0, arrival=30.0),
    )
    placements = (
        Placement("A", 20.0, 60.0, ("C1/1", "C2/1")),
        Placement("B", 10.0, 40.0, ("C1/0", "C2/0")),
        Placement("C", 60.0, 64.0, ("C2/0",)),
    )
    return Instance(platform, jobs), Schedule(placements)


def test_every_column_by_hand(worked):
    # At 30 C arrives, at 40 B ends: then C still waits, until A has ended.
    assert series(*worked).to_dict("list") == {
        "start": [10.0, 20.0, 30.0, 40.0, 60.0],
        "end": [20.0, 30.0, 40.0, 60.0, 64.0],
        "queue_length": [1.0, 0.0, 1.0, 1.0, 0.0],
        "waiting_processors": [2.0, 0.0, 1.0, 1.0, 0.0],
        "running_jobs": [1.0, 2.0, 2.0, 1.0, 1.0],
        "busy_processors": [2.0, 4.0, 4.0, 2.0, 1.0],
        "load:C1": [8.0, 16.0, 16.0, 8.0, 0.0],
        "share:C1": [0.8, 1.6, 1.6, 0.8, 0.0],
        "load:C2": [8.0, 16.0, 16.0, 8.0, 0.0],
        "share:C2": [0.4, 0.8, 0.8, 0.4, 0.0],
    }


def test_rows_of_equal_length_have_means(worked):
    # From 10 to 35: 10 s of one waiting job, 10 of none, 5 of one; from 35 to 60 always one; the last 4 s none.
    # Busy: (10*2 + 15*4)/25, (5*4 + 20*2)/25, 1.
    found = series(*worked, every=25.0)
    assert found["start"].tolist() == [10.0, 35.0, 60.0]
    assert found["end"].tolist() == [35.0, 60.0, 64.0]
    assert found["queue_length"].tolist() == pytest.approx([0.6, 1.0, 0.0])
    assert found["busy_processors"].tolist() == pytest.approx([3.2, 2.4, 1.0])


def test_peaks_are_the_largest_values_within_each_step(worked):
    assert usage_of(*worked).peaks(25.0).columns["busy_processors"].tolist() == [4.0, 4.0, 1.0]


@pytest.mark.parametrize("every", [54.0, 1e6, math.inf])
def test_one_row_may_have_all(worked, every):
    # Waits are 10 and 30 s, and 54 s pass in all.
    found = series(*worked, every=every)
    assert found[["start", "end"]].to_numpy().tolist() == [[10.0, 64.0]]
    assert found["queue_length"].tolist() == pytest.approx([40.0 / 54.0])


def test_a_number_of_steps_that_divides_the_time_makes_no_empty_one_more(worked):
    # 54/0.1 is not 540 in floats.
    assert len(series(*worked, every=0.1)) == 540


def test_running_jobs_hold_processors_and_load_links_from_0_on(worked):
    # R has one task in each cluster until 15: 4 MB/s, alone over [0, 10), beside B over [10, 15).
    instance, schedule = worked
    running = RunningJob(Job("R", 2, 99.0, task_bandwidth=4.0), ("C1/1", "C2/1"), 15.0)
    found = series(instance.replace(running=(running,)), schedule)
    assert found["start"].tolist()[:3] == [0.0, 10.0, 15.0]
    assert found["running_jobs"].tolist()[:3] == [1.0, 2.0, 1.0]
    assert found["busy_processors"].tolist()[:3] == [2.0, 4.0, 2.0]
    assert found["load:C1"].tolist()[:3] == [4.0, 12.0, 8.0]


def test_time_ends_with_the_last_placement_even_where_jobs_run_on(worked):
    instance, schedule = worked
    running = RunningJob(Job("R", 1, 999.0), ("C1/1",), 500.0)
    found = series(instance.replace(running=(running,)), Schedule((schedule["B"],)))
    assert found["end"].tolist()[-1] == 40.0
    assert found["running_jobs"].tolist() == [1.0, 2.0]


def test_power_is_there_where_all_nodes_have_watts():
    # One of two nodes busy: 10 + 2*5 W beside 3 W idle; both idle over [4, 6), 6 W.
    node = NodeGroup(2, 1.0, cores=2, idle_watts=3.0, static_watts=10.0, core_watts=5.0)
    instance = Instance(Platform((Cluster("C1", (node,), 0.0),)), (Job("A", 2, 4.0), Job("B", 1, 1.0)))
    schedule = Schedule((Placement("A", 0.0, 4.0, ("C1/0.0", "C1/0.1")), Placement("B", 6.0, 7.0, ("C1/1.0",))))
    assert series(instance, schedule)["power"].tolist() == [23.0, 6.0, 18.0]
    assert series(instance, schedule, idle="from-first-use")["power"].tolist() == [20.0, 3.0, 18.0]
    watts_of_some = Cluster("C2", (NodeGroup(1, 1.0),), 0.0)
    platform = Platform((*instance.platform.clusters, watts_of_some))
    assert "power" not in series(instance.replace(platform=platform), schedule)


def test_a_switch_that_is_named_as_a_cluster_has_columns_of_its_own():
    # S carries what crosses to C2, where one of the two tasks is: 2 tasks of 3 MB/s, 1 * 3 * 1/1.
    clusters = (Cluster("S", (NodeGroup(1, 1.0),), 10.0, "S"), Cluster("C2", (NodeGroup(1, 1.0),), 10.0))
    platform = Platform(clusters, (Switch("S", "root", 6.0),))
    instance = Instance(platform, (Job("A", 2, 5.0, 1.0, 3.0),))
    found = series(instance, Schedule((Placement("A", 0.0, 5.0, ("S/0", "C2/0")),)))
    assert [name for name in found if name.startswith("share")] == ["share:S", "share:C2", "share:S'"]
    assert found["share:S"].tolist() == [0.3]
    assert found["share:S'"].tolist() == [0.5]


def test_a_load_on_a_link_of_no_bandwidth_is_infinitely_much(worked):
    instance, schedule = worked
    clusters = tuple(cluster.replace(link_bandwidth=0.0) for cluster in instance.platform.clusters)
    found = series(instance.replace(platform=Platform(clusters)), schedule)
    assert found["share:C1"].tolist() == [math.inf] * 4 + [0.0]


def test_jobs_back_to_back_make_one_instant(worked):
    # A ends at 0.1 + 0.2, a little after 0.3, when B starts: no row in which both run.
    instance, _ = worked
    schedule = Schedule(
        (Placement("A", 10.0, 10.0 + 0.1 + 0.2, ("C1/0", "C2/0")), Placement("B", 10.3, 60.0, ("C1/1", "C2/1")))
    )
    found = series(instance, schedule)
    assert found["busy_processors"].tolist() == [2.0, 2.0]
    assert found["load:C1"].tolist() == [8.0, 8.0]


def test_an_empty_schedule_has_no_rows(worked):
    instance = worked[0]
    assert len(series(instance, Schedule(()))) == 0
    assert len(series(instance, Schedule(()), every=5.0)) == 0


@pytest.mark.parametrize(
    ("every", "message"),
    [
        (0.0, "every must be above 0 s, got 0"),
        (-5.0, "every must be above 0 s, got -5"),
        (1e-9, f"every=1e-09 s divides 54 s into 5.4e+10 steps, above the limit of {MAX_STEPS}; use longer steps"),
        (math.nan, "every: must be a number or None, got nan"),
    ],
)
def test_steps_of_a_wrong_length_are_refused(worked, every, message):
    with pytest.raises(CoallocError) as error:
        series(*worked, every=every)
    assert str(error.value) == message


def integral(usage: Usage, name: str) -> float:
    return float(usage.columns[name] @ np.diff(usage.instants))


@LAW
@given(instances(max_cores=2, switches=2, max_running=2))
def test_integrals_are_the_sums_over_jobs(instance):
    # Busy processors are tasks times run time; waiting jobs are waits (Little's law); and the metrics say the same.
    reduced, schedule = list_schedule(instance)
    usage = usage_of(reduced, schedule)
    jobs = reduced.job_by_id
    last = max((p.end for p in schedule), default=0.0)
    held = sum(jobs[p.job].tasks * (p.end - p.start) for p in schedule)
    held += sum(len(run.nodes) * min(run.end, last) for run in reduced.running)
    waited = sum(p.start - jobs[p.job].arrival for p in schedule)
    found = metrics(reduced, schedule)
    assert integral(usage, "busy_processors") == pytest.approx(held)
    assert integral(usage, "queue_length") == pytest.approx(waited, abs=1e-6)
    assert found["utilization"] * reduced.platform.num_processors * usage.span == pytest.approx(held)
    assert found["queue_length_mean"] * usage.span == pytest.approx(waited, abs=1e-6)
    assert usage.span == pytest.approx(found["makespan"])
    shares = [values.max(initial=0.0) for name, values in usage.columns.items() if name.startswith("share:")]
    assert max(shares) == pytest.approx(found["peak_link_share"])


@LAW
@given(instances(max_cores=2, switches=2, max_running=2))
def test_means_keep_the_integrals(instance):
    reduced, schedule = list_schedule(instance)
    usage = usage_of(reduced, schedule)
    means = usage.averaged(77.7)
    for name in usage.columns:
        if not name.startswith("share:"):  # on a link of no bandwidth infinite
            assert integral(means, name) == pytest.approx(integral(usage, name))
    assert (usage.columns["busy_processors"] <= reduced.platform.num_processors).all()


def test_the_integral_of_power_is_the_energy():
    run = coalloc.simulate(coalloc.example("pcbe-8"), "pcbe")
    usage = usage_of(run.instance, run.schedule)
    assert integral(usage, "power") == pytest.approx(coalloc.energy(run.instance, run.schedule).total)
