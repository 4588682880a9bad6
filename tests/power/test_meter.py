"""The meter against schedules small enough to do by hand, and the laws that its parts keep."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.power import node_watts
from coalloc.power.meter import energy, power_curve
from coalloc.schedule import Placement, Schedule
from tests.strategies import LAW, instances, list_schedule

NODE = NodeGroup(2, 1.0, cores=2, idle_watts=3.0, static_watts=10.0, core_watts=5.0)
PLATFORM = Platform((Cluster("C1", (NODE,), 0.0), Cluster("C2", (NODE.replace(count=1),), 0.0)))
JOBS = (Job("A", 1, 4.0, arrival=10.0), Job("B", 2, 3.0, arrival=10.0), Job("C", 1, 2.0, arrival=12.0))
PLACEMENTS = (
    Placement("A", 10.0, 14.0, ("C1/0.0",)),
    Placement("B", 12.0, 15.0, ("C1/0.1", "C1/1.0")),
    Placement("C", 18.0, 20.0, ("C1/0.0",)),
)
"""C1/0 has 1, 2, 1, 0, 1 busy cores over [10, 12, 14, 15, 18, 20); C1/1 has one over [12, 15); C2/0 has none."""


@pytest.fixture
def worked():
    return Instance(PLATFORM, JOBS), Schedule(PLACEMENTS)


def test_every_part_by_hand(worked):
    metered = energy(*worked)
    # C1/0: busy 7 of 10 s, core-seconds 4 + 3 + 2 = 9. C1/1: busy 3 s, 3 core-seconds. C2/0: idle for 10 s.
    assert dataclasses.astuple(metered.nodes["C1/0"]) == (45.0, 70.0, 9.0, 7.0)
    assert dataclasses.astuple(metered.nodes["C1/1"]) == (15.0, 30.0, 21.0, 3.0)
    assert dataclasses.astuple(metered.nodes["C2/0"]) == (0.0, 0.0, 30.0, 0.0)
    assert metered.clusters == {"C1": 190.0, "C2": 30.0}
    # The static watts of C1/0 are A's alone for 2 s, shared for 2 s, B's alone for 1 s, and C's for 2 s.
    assert dataclasses.astuple(metered.jobs["A"]) == (20.0, 30.0)
    assert dataclasses.astuple(metered.jobs["B"]) == (30.0, 10.0 + 10.0 + 30.0)
    assert dataclasses.astuple(metered.jobs["C"]) == (10.0, 20.0)
    assert (metered.total, metered.dynamic, metered.static, metered.idle) == (220.0, 60.0, 100.0, 60.0)
    assert (metered.makespan, metered.edp, metered.ed2p) == (10.0, 2200.0, 22000.0)
    # Work: 4 + 2 * 3 + 2 processor-seconds.
    assert metered.work_per_joule == pytest.approx(12.0 / 220.0)


def test_static_watts_are_shared_by_cores_not_by_jobs():
    # Three cores of four for 6 s at 12 W: the job of two cores pays two thirds.
    group = NodeGroup(1, 1.0, cores=4, idle_watts=1.0, static_watts=12.0, core_watts=0.0)
    instance = Instance(Platform((Cluster("C1", (group,), 0.0),)), (Job("A", 2, 6.0), Job("B", 1, 6.0)))
    placed = (Placement("A", 0.0, 6.0, ("C1/0.0", "C1/0.3")), Placement("B", 0.0, 6.0, ("C1/0.1",)))
    assert {id: job.static for id, job in energy(instance, Schedule(placed)).jobs.items()} == {"A": 48.0, "B": 24.0}


def test_as_published_nodes_draw_nothing_before_their_first_use(worked):
    metered = energy(*worked, idle="from-first-use")
    # C1/0 is used at once, C1/1 from 12 s on (2 s less), C2/0 never.
    assert {name: node.idle for name, node in metered.nodes.items()} == {"C1/0": 9.0, "C1/1": 15.0, "C2/0": 0.0}
    assert (metered.dynamic, metered.static) == (60.0, 100.0)


def test_running_jobs_draw_from_0_on():
    # R holds a core over [0, 4), A runs from 6 to 8; the clock starts at 0 although A arrives at 5.
    running = (RunningJob(Job("R", 1, 9.0), ("C1/1.1",), 4.0),)
    instance = Instance(PLATFORM, (Job("A", 1, 2.0, arrival=5.0),), running)
    metered = energy(instance, Schedule((Placement("A", 6.0, 8.0, ("C1/1.0",)),)))
    assert dataclasses.astuple(metered.nodes["C1/1"]) == (30.0, 60.0, 6.0, 6.0)
    assert metered.nodes["C1/0"].idle == 24.0
    assert (metered.jobs["R"].total, metered.jobs["A"].total) == (60.0, 30.0)
    assert metered.makespan == 8.0
    assert energy(instance, Schedule((Placement("A", 6.0, 8.0, ("C1/1.0",)),)), "from-first-use").idle == 6.0


def test_jobs_that_run_on_are_metered_to_the_last_end_of_the_schedule():
    running = (RunningJob(Job("R", 1, 99.0), ("C1/1.1",), 100.0),)
    instance = Instance(PLATFORM, (Job("A", 1, 2.0),), running)
    metered = energy(instance, Schedule((Placement("A", 0.0, 2.0, ("C1/0.0",)),)))
    assert (metered.jobs["R"].total, metered.makespan) == (30.0, 2.0)


def test_killed_jobs_draw_but_do_no_work(worked):
    instance, schedule = worked
    killed = Schedule((PLACEMENTS[0].replace(end=13.0, outcome="killed"), *PLACEMENTS[1:]))
    metered = energy(instance, killed)
    assert metered.jobs["A"].dynamic == 15.0
    assert metered.work == energy(instance, schedule).work - 4.0


def test_no_jobs_take_no_energy():
    metered = energy(Instance(PLATFORM, ()), Schedule(()))
    assert (metered.total, metered.edp, metered.work_per_joule, len(metered.jobs)) == (0.0, 0.0, 0.0, 0)
    assert power_curve(Instance(PLATFORM, ()), Schedule(())).joules == 0.0


def test_the_curve_shows_what_is_drawn_when(worked):
    curve = power_curve(*worked)
    assert curve.instants.tolist() == [10.0, 12.0, 14.0, 15.0, 18.0, 20.0]
    # Idle nodes: two, one, one, three, two. Busy cores: 1, 3, 2, 0, 1 on one, two, two, no, one node.
    assert curve.watts.tolist() == [
        [6.0, 3.0, 3.0, 9.0, 6.0],
        [10.0, 20.0, 20.0, 0.0, 10.0],
        [5.0, 15.0, 10.0, 0.0, 5.0],
    ]
    assert curve.to_frame()["total"].tolist() == [21.0, 38.0, 33.0, 9.0, 21.0]


def test_tables_have_a_row_per_node_cluster_and_job(worked):
    metered = energy(*worked)
    assert metered.to_frame()["node"].tolist() == ["C1/0", "C1/1", "C2/0"]
    assert metered.to_frame("cluster").values.tolist() == [
        ["C1", 190.0, 30.0, 100.0, 60.0],
        ["C2", 30.0, 30.0, 0.0, 0.0],
    ]
    assert list(metered.to_frame("cluster")) == ["cluster", "total", "idle", "static", "dynamic"]
    assert metered.to_frame("job")["total"].tolist() == [50.0, 80.0, 30.0]
    with pytest.raises(CoallocError, match="part must be one of node, cluster, job, got 'rack'"):
        metered.to_frame("rack")


def test_printing_says_it_in_four_lines(worked):
    assert str(energy(*worked)).splitlines() == [
        "energy     220 J: dynamic 60, static 100, idle 60",
        "makespan   10 s",
        "EDP        2200 J s, ED2P 22000 J s^2",
        "work       0.0545455 processor-seconds of the reference node per J",
    ]


# ------------------------------------------------------------------------------ what is refused


def test_without_watts_there_is_no_energy():
    instance = coalloc.example("thesis-oas-1")
    with pytest.raises(CoallocError) as error:
        energy(*list_schedule(instance))
    assert [line.partition(" (")[0] for line in str(error.value).splitlines()] == [
        f"clusters[{c}].nodes[0]" for c in range(3)
    ]


def test_idle_is_one_of_two(worked):
    with pytest.raises(CoallocError, match="idle: must be 'always' or 'from-first-use', got 'never'"):
        energy(*worked, idle="never")


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        (Placement("A", 9.0, 13.0, ("C1/0.0",)), "from 9 s to 13 s, but the energy model starts at 10 s"),
        (Placement("A", 14.0, 13.0, ("C1/0.0",)), "from 14 s to 13 s"),
        (Placement("X", 10.0, 13.0, ("C1/0.0",)), "X, which is not in the instance"),
        (Placement("A", 10.0, 13.0, ("C9/0",)), "C9/0, which is not a processor of the platform"),
    ],
)
def test_schedules_that_cannot_be_metered(worked, placement, words):
    with pytest.raises(CoallocError, match=words):
        energy(worked[0], Schedule((placement,)))


# ------------------------------------------------------------------------------ laws


@st.composite
def metered_instances(draw):
    """Return an instance with watts, and a valid schedule of it."""
    instance = draw(instances(max_cores=3, max_running=2))
    watts = st.sampled_from((0.0, 1.0, 12.5)) | st.floats(0.0, 100.0)
    clusters = tuple(
        cluster.replace(
            nodes=tuple(
                group.replace(idle_watts=draw(watts), static_watts=draw(watts), core_watts=draw(watts))
                for group in cluster.nodes
            )
        )
        for cluster in instance.platform.clusters
    )
    instance = instance.replace(platform=instance.platform.replace(clusters=clusters))
    return list_schedule(instance)


@LAW
@given(metered_instances(), st.sampled_from(("always", "from-first-use")))
def test_nodes_clusters_jobs_and_the_curve_add_up_to_the_total(case, idle):
    metered = energy(*case, idle)
    whole = pytest.approx(metered.total, rel=1e-9, abs=1e-9)
    assert sum(node.total for node in metered.nodes.values()) == whole
    assert sum(metered.clusters.values()) == whole
    assert sum(job.total for job in metered.jobs.values()) + metered.idle == whole
    assert power_curve(*case, idle).joules == whole


@LAW
@given(metered_instances())
def test_the_total_is_that_of_a_sum_over_instants(case):
    instance, schedule = case
    held = [(p.start, p.end, p.nodes) for p in schedule] + [(0.0, r.end, r.nodes) for r in instance.running]
    end = max((p.end for p in schedule), default=instance.origin)
    instants = sorted({instance.origin, end} | {t for s, e, _ in held for t in (s, e) if instance.origin <= t <= end})
    joules = 0.0
    for since, until in itertools.pairwise(instants):
        busy = [0] * len(instance.platform.nodes)
        for start, stop, names in held:
            for name in names if start <= since < stop else ():
                busy[instance.platform.processor_node[instance.platform.processor_index[name]]] += 1
        groups = map(instance.platform.group_of, instance.platform.nodes)
        joules += (until - since) * sum(map(node_watts, groups, busy))
    assert energy(instance, schedule).total == pytest.approx(joules, rel=1e-9, abs=1e-9)


@LAW
@given(metered_instances())
def test_idle_from_first_use_is_never_more(case):
    always, published = energy(*case), energy(*case, "from-first-use")
    assert published.idle <= always.idle * (1 + 1e-12) + 1e-9
    assert (published.dynamic, published.static) == (always.dynamic, always.static)
