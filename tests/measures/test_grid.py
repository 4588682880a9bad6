"""Metrics of a two-level grid, on schedules whose values are derived in the comments."""

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.instance import PowerStates
from coalloc.measures.grid import GRID_METRICS


def cluster(name, count, power):
    return Cluster(name, [NodeGroup(count, power)], link_bandwidth=0.0)


PLATFORM = Platform([cluster("slow", 4, 1.0), cluster("fast", 2, 4.0)])
"""Sum of m_i v_i: 4 + 8 = 12."""

STATES = PowerStates(
    chassis=1,
    boards=1,
    cores=4,
    site_watts=100.0,
    chassis_watts=0.0,
    board_watts=0.0,
    core_idle_watts=1.0,
    core_working_watts=5.0,
    startup_time=20.0,
    core_grace=0.0,
    site_grace=0.0,
    startup_watts=50.0,
)


def powered(platform):
    return platform.replace(clusters=[cluster.replace(power_states=STATES) for cluster in platform.clusters])


def schedule(*placements):
    return Schedule([Placement(*placement) for placement in placements])


def test_each_metric_by_hand():
    # J1 fits only the slow site: at best it ends at 10 + 100. J2 could run four times as fast: it ends at 50 + 20
    # at best; work is 3*100 + 1*80 = 380, all of it takes 10 + 380/12 = 41.7. So B = 110, and C_max = 150. As
    # printed: max(10 + 100, 50 + 80, 380/2) = 190. Waits are 20 and 20. SD_b: J1 120/100, J2 100/80.
    instance = Instance(PLATFORM, [Job("J1", 3, 100.0, arrival=10.0), Job("J2", 1, 80.0, arrival=50.0)])
    found = coalloc.grid.grid_metrics(
        instance,
        schedule(("J1", 30.0, 130.0, ["slow/0", "slow/1", "slow/2"]), ("J2", 70.0, 150.0, ["slow/3"])),
        power_management=None,
    )
    assert set(GRID_METRICS) - set(found) == {"energy", "energy_efficiency"}
    assert found == {
        "competitive_factor": pytest.approx(150 / 110),
        "competitive_factor_printed": pytest.approx(150 / 190),
        "wait_mean": 20.0,
        "waited_share": 1.0,
        "sd_b": pytest.approx((1.2 + 1.25) / 2),
        "work": 380.0,
    }


def test_the_work_on_all_processors_is_a_bound():
    # Six jobs of 120 s on one processor each: 720/12 = 60 s from the first arrival on, at 5; alone each takes 30 s.
    instance = Instance(PLATFORM, [Job(f"J{i}", 1, 120.0, arrival=5.0) for i in range(6)])
    nodes = ["slow/0", "slow/1", "fast/0", "fast/1", "fast/0", "fast/1"]
    spans = [(5, 125), (5, 125), (5, 35), (5, 35), (35, 65), (35, 65)]
    placed = [(f"J{i}", *map(float, span), [node]) for i, (node, span) in enumerate(zip(nodes, spans, strict=True))]
    found = coalloc.grid.grid_metrics(instance, schedule(*placed), power_management=None)
    assert found["competitive_factor"] == pytest.approx(125 / 65)


def test_run_times_below_10_s_count_as_10_s_and_there_is_no_floor():
    # It runs for 2 s after none: 2/10.
    instance = Instance(PLATFORM, [Job("J1", 1, 8.0)])
    found = coalloc.grid.grid_metrics(instance, schedule(("J1", 0.0, 2.0, ["fast/0"])), power_management=None)
    assert found["sd_b"] == 0.2


def test_joules_are_those_of_the_meter_and_work_is_logged_or_done_on_the_site():
    # J1 waits 20 s for the start-up of the fast site, 50 W, and then takes one of its cores for 200/4 = 50 s: 100 W for
    # the site and 5 W for the core. 1000 + 5250 = 6250 J. With all on, over 70 s: 2 * 100 W, 5 idle cores and
    # the working one, and another idle one for 20 s: 70 * 200 + 50 * (5 + 5) + 20 * 6 = 14,620 J.
    instance = Instance(powered(PLATFORM), [Job("J1", 1, 200.0)])
    run = schedule(("J1", 20.0, 70.0, ["fast/0"]))
    found = coalloc.grid.grid_metrics(instance, run)
    assert list(found) == list(GRID_METRICS)
    assert (found["energy"], found["work"]) == (pytest.approx(6250.0), 200.0)
    assert found["energy_efficiency"] == pytest.approx(200 / 6250)
    always_on = coalloc.grid.grid_metrics(instance, run, power_management=False, work="site")
    assert (always_on["energy"], always_on["work"]) == (pytest.approx(14_620.0), 50.0)
    assert always_on["energy_efficiency"] == pytest.approx(50 / 14_620)


def test_joules_need_power_states_of_every_cluster():
    with pytest.raises(CoallocError, match=r"clusters\[0\] \(cluster 'slow'\) has no power_states.*\n.*'fast'"):
        coalloc.grid.grid_metrics(Instance(PLATFORM, []), Schedule([]))


def test_over_nothing_all_is_0():
    assert set(coalloc.grid.grid_metrics(Instance(powered(PLATFORM), []), Schedule([])).values()) == {0.0}


@pytest.mark.parametrize(
    ("job", "fault"),
    [
        (Job("J1", 1, 8.0, processing_share=0.5), "job 'J1' has communication, which grid metrics do not support"),
        (Job("J1", 1, 8.0, times={"new": 4.0}), "job 'J1' has times, which grid metrics do not support"),
        (Job("J1", 5, 8.0), "job 'J1' has 5 tasks, but no cluster has as many processors"),
    ],
)
def test_what_the_metrics_are_not_for(job, fault):
    with pytest.raises(CoallocError, match=fault):
        coalloc.grid.grid_metrics(Instance(PLATFORM, [job]), schedule(("J1", 0.0, 8.0, ["slow/0"])))


@pytest.mark.parametrize("seed", range(12))
def test_no_run_beats_the_bound(seed):
    # A crowd of jobs on three sites of different speeds, under a strategy of each kind.
    platform = Platform([cluster("a", 4, 1.0), cluster("b", 8, 2.5), cluster("c", 2, 7.0)])
    drawn = coalloc.generate("lublin", seed=seed, jobs=20, nodes=8, clusters=1).jobs
    jobs = [
        job.replace(arrival=0.01 * job.arrival, tasks=min(job.tasks, 8), processing_share=1.0, task_bandwidth=0.0)
        for job in drawn
    ]
    instance = Instance(platform, jobs)
    for strategy in ("Random", "MLp_v", "MCT", "MST_v"):
        run = coalloc.simulate(instance, "grid", strategy=strategy)
        found = coalloc.grid.grid_metrics(instance, run.schedule, power_management=None)
        assert found["competitive_factor"] >= 1.0 - 1e-9
