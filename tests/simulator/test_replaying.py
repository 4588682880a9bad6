"""Replaying schedules: starts kept or moved left, by hand, and the order of the three makespans as a law."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.rounding import time_tolerance
from coalloc.instance.windows import Window
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import Placement, Schedule, schedule_of
from tests.small_instances import TINY, slotted_instances
from tests.strategies import LAW, instances


def pool(nodes: int) -> Platform:
    """Return one cluster of nodes of power 1."""
    return Platform((Cluster("C1", (NodeGroup(nodes, 1.0),), 0.0),))


TWO_CLUSTERS = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 10.0), Cluster("C2", (NodeGroup(2, 1.0),), 10.0)))


def test_the_three_makespans_of_a_slotted_schedule() -> None:
    # Slots of 100 s, one node: J1 takes 150 s, two slots; J2 10 s, in the third. Slotted: 300 s. Starts kept:
    # J2 ends at 210 s. Moved left: J2 runs from 150 s to 160 s.
    instance = Instance(pool(1), (Job("J1", 1, 150.0), Job("J2", 1, 10.0)))
    placements = (Placement("J1", 0.0, 200.0, ("C1/0",)), Placement("J2", 200.0, 300.0, ("C1/0",)))
    slotted = Schedule(placements, slot=100.0)
    assert not check(instance, slotted)
    kept, left = (coalloc.replay(instance, slotted, starts) for starts in ("keep", "left"))
    assert [(p.start, p.end) for p in kept] == [(0.0, 150.0), (200.0, 210.0)]
    assert [(p.start, p.end) for p in left] == [(0.0, 150.0), (150.0, 160.0)]
    assert kept.slot is None
    assert left.slot is None


def test_a_start_moves_to_its_arrival_and_to_the_end_of_what_runs() -> None:
    jobs = (Job("J1", 1, 10.0, arrival=30.0), Job("J2", 1, 10.0))
    running = (RunningJob(Job("R1", 1, 1.0), ("C1/1",), end=20.0),)
    instance = Instance(pool(2), jobs, running)
    given = Schedule((Placement("J1", 100.0, 110.0, ("C1/0",)), Placement("J2", 100.0, 110.0, ("C1/1",))))
    assert {p.job: p.start for p in coalloc.replay(instance, given, starts="left")} == {"J1": 30.0, "J2": 20.0}


def test_jobs_wait_for_the_memory_of_their_nodes() -> None:
    # Two cores, 1000 MB; J1 and J2 ask for 600 MB each, J3 for nothing: J2 moves to the end of J1, J3 to the front.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0, cores=2, memory=1000.0),), 0.0),))
    jobs = (Job("J1", 1, 10.0, memory=600.0), Job("J2", 1, 10.0, memory=600.0), Job("J3", 1, 10.0))
    nodes = {"J1": "C1/0.0", "J2": "C1/0.1", "J3": "C1/0.0"}
    starts = {"J1": 5.0, "J2": 20.0, "J3": 40.0}
    given = Schedule(tuple(Placement(id, t, t + 10.0, (nodes[id],)) for id, t in starts.items()))
    left = coalloc.replay(Instance(platform, jobs), given, starts="left")
    assert {p.job: p.start for p in left} == {"J1": 0.0, "J2": 10.0, "J3": 10.0}
    together = given.replace(placements=tuple(p.replace(start=5.0, end=15.0) for p in given.placements[:2]))
    with pytest.raises(CoallocError, match="tasks on node C1/0 require up to 1200 MB"):
        coalloc.replay(Instance(platform, jobs[:2]), together)


def test_nodes_with_too_little_memory_are_no_place_to_move_to() -> None:
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0, memory=500.0),), 0.0),))
    instance = Instance(platform, (Job("J1", 1, 10.0, memory=501.0),))
    given = Schedule((Placement("J1", 5.0, 15.0, ("C1/0",)),))
    with pytest.raises(CoallocError, match="job J1 requires 501 MB of memory per task, but its nodes have less"):
        coalloc.replay(instance, given, starts="left")


def co_allocated(first: float, second: float, share: float = 1.0) -> tuple[Instance, Schedule]:
    """Return two jobs of two tasks, one per cluster: each loads both links with 1 * 8 * 1/1 = 8 of 10 MB/s."""
    jobs = tuple(Job(id, 2, 100.0, share, task_bandwidth=8.0) for id in ("J1", "J2"))
    placements = (
        Placement("J1", first, first + 100.0, ("C1/0", "C2/0")),
        Placement("J2", second, second + 100.0, ("C1/1", "C2/1")),
    )
    return Instance(TWO_CLUSTERS, jobs), Schedule(placements)


def test_a_start_moves_no_further_than_the_links_allow() -> None:
    # Nodes are free at 0, but the links carry one of the jobs at a time.
    instance, given = co_allocated(50.0, 170.0)
    assert [(p.start, p.end) for p in coalloc.replay(instance, given, starts="left")] == [(0.0, 100.0), (100.0, 200.0)]


def test_links_that_saturate_slow_jobs_down_where_starts_are_kept() -> None:
    # They only communicate. From 50 s to the end of J1 the load is 16 of 10 MB/s: Te = 160 s. J1 has 0.5 left:
    # 80 s, until 130 s. J2 did 80/160 = 0.5 by then and does the rest at full speed in 50 s, until 180 s.
    instance, given = co_allocated(0.0, 50.0, share=0.0)
    assert [p.end for p in coalloc.replay(instance, given)] == [pytest.approx(130.0), pytest.approx(180.0)]


def test_starts_that_cannot_be_kept_are_refused() -> None:
    instance, given = co_allocated(0.0, 50.0, share=0.0)
    late = Job("J3", 1, 10.0, arrival=0.0)
    placements = (*given, Placement("J3", 100.0, 110.0, ("C1/0",)))  # J1 holds C1/0 until 130 s, as above
    with pytest.raises(CoallocError, match=r"cannot be kept.*starts='left'"):
        coalloc.replay(instance.replace(jobs=(*instance.jobs, late)), Schedule(placements))


def test_a_job_that_saturates_a_link_by_itself_cannot_be_moved_left() -> None:
    instance, given = co_allocated(0.0, 100.0)
    heavy = instance.replace(jobs=(instance.jobs[0].replace(task_bandwidth=20.0), instance.jobs[1]))
    with pytest.raises(CoallocError, match=r"job '?J1'? alone loads the link of '?C1'? with 20 MB/s"):
        coalloc.replay(heavy, given, starts="left")


def test_a_killed_job_keeps_its_duration() -> None:
    instance = Instance(pool(1), (Job("J1", 1, 100.0), Job("J2", 1, 10.0)))
    given = Schedule((Placement("J1", 5.0, 45.0, ("C1/0",), "killed"), Placement("J2", 60.0, 70.0, ("C1/0",))))
    assert [p.end for p in coalloc.replay(instance, given)] == [45.0, 70.0]
    assert [p.end for p in coalloc.replay(instance, given, starts="left")] == [40.0, 50.0]


@pytest.mark.parametrize("starts", ["keep", "left"])
def test_a_schedule_of_another_instance_is_refused(starts: str) -> None:
    with pytest.raises(CoallocError, match="the schedule does not match the instance"):
        coalloc.replay(Instance(pool(1), (Job("J1", 1, 1.0),)), Schedule(()), starts)


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(CoallocError, match="starts: must be 'keep' or 'left', got 'right'"):
        coalloc.replay(Instance(pool(1), ()), Schedule(()), "right")


def latest_end(schedule: Schedule) -> float:
    """Return the latest end, s."""
    return max(p.end for p in schedule)


@settings(LAW, max_examples=8)
@given(slotted_instances(TINY))
def test_optimum_left_shifted_replayed_slotted(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    slotted = coalloc.solve(instance, formulation="mode", slot=slot).schedule
    optimum = coalloc.solve(instance, time_limit=2.0).lower_bound  # valid, proven or not
    assert slotted is not None
    assert optimum is not None
    kept, left = (coalloc.replay(instance, slotted, starts) for starts in ("keep", "left"))
    assert not check(instance, kept)
    assert not check(instance, left)
    ends = [optimum + instance.origin, latest_end(left), latest_end(kept), latest_end(slotted)]
    for smaller, larger in pairwise(ends):
        assert smaller <= larger + time_tolerance(larger)


@LAW
@given(slotted_instances())
def test_no_start_moves_right_and_what_is_left_stays(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    slotted = schedule_of(problem, best_list_schedule(problem))
    left = coalloc.replay(instance, slotted, starts="left")
    assert all(p.start <= slotted[p.job].start + time_tolerance(p.start) for p in left)
    again = coalloc.replay(instance, left, starts="left")
    assert all(p.start == pytest.approx(left[p.job].start, rel=1e-9, abs=1e-9) for p in again)
    assert all(p.nodes == slotted[p.job].nodes for p in left)


@LAW
@given(instances(max_jobs=6))
def test_a_simulated_run_replays_to_itself(instance: Instance) -> None:
    # The engine and `shared_link_ends` compute the same progress independently.
    if any(link.bandwidth == 0.0 for link in instance.platform.links):
        instance = instance.replace(jobs=tuple(job.replace(task_bandwidth=0.0) for job in instance.jobs))
    run = coalloc.simulate(instance, "fpfs").schedule
    assert all(p.end == pytest.approx(run[p.job].end, rel=1e-9) for p in coalloc.replay(instance, run))


CLOSED = Platform(
    (Cluster("C1", (NodeGroup(2, 1.0),), 0.0),),
    unavailable=(Window("C1", 20.0, 30.0, nodes=["C1/0"]), Window("C1", 60.0, 70.0, group=0, processors=1)),
)
RESERVED = (RunningJob(Job("R", 1, 5.0), ("C1/1",), end=50.0, start=40.0),)


def test_jobs_move_left_to_between_windows_and_reservations() -> None:
    # On C1/0 A, 15 s, moves to 0 s and B, 10 s, to 30 s, behind the window. On C1/1 C, 25 s, ends before R begins, and
    # D, 16 s, would not: it goes behind R, to 50 s. Of the nodes one is left from 60 s on: E, 25 s, waits for D to end.
    jobs = [Job("A", 1, 15.0), Job("B", 1, 10.0), Job("C", 1, 25.0), Job("D", 1, 16.0), Job("E", 1, 25.0)]
    starts = {"A": 3.0, "C": 5.0, "B": 35.0, "D": 50.0, "E": 80.0}
    nodes = {"A": "C1/0", "B": "C1/0", "C": "C1/1", "D": "C1/1", "E": "C1/0"}
    given = Schedule([Placement(id, t, t + 1.0, [nodes[id]]) for id, t in starts.items()])
    left = coalloc.replay(Instance(CLOSED, jobs, RESERVED), given, starts="left")
    assert {p.job: p.start for p in left} == {"A": 0.0, "B": 30.0, "C": 0.0, "D": 50.0, "E": 66.0}


def test_a_job_moves_left_to_the_end_of_those_it_comes_after() -> None:
    # A was killed after 4 s of its 10 s: B, on another node, follows then. C comes after R, which ends at 50 s.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 5.0, after=["A"]), Job("C", 1, 1.0, after=["R"])]
    instance = Instance(CLOSED, jobs, RESERVED)
    placements = [Placement("A", 3.0, 7.0, ["C1/0"], "killed"), Placement("B", 30.0, 35.0, ["C1/1"])]
    given = Schedule([*placements, Placement("C", 80.0, 81.0, ["C1/0"])])
    left = coalloc.replay(instance, given, starts="left")
    assert {p.job: (p.start, p.end) for p in left} == {"A": (0.0, 4.0), "B": (4.0, 9.0), "C": (50.0, 51.0)}
    turned = given.replace(placements=[p.replace(start=0.0, end=5.0) if p.job == "B" else p for p in given])
    with pytest.raises(CoallocError, match=r"^the schedule starts job B before its predecessor A$"):
        coalloc.replay(instance, turned, starts="left")


def test_a_reservation_loads_links_while_starts_are_kept() -> None:
    # A puts 10 MB/s on links of 10 MB/s, R as much from 10 to 30 s: SC 2 then. A, sigma 0.5, takes 20 s alone and 30 s
    # beside R: half done at 10 s, done at 25 s.
    running = [RunningJob(Job("R", 2, 5.0, task_bandwidth=10.0), ["C1/1", "C2/1"], 30.0, start=10.0)]
    instance = Instance(TWO_CLUSTERS, [Job("A", 2, 20.0, 0.5, task_bandwidth=10.0)], running)
    given = Schedule([Placement("A", 0.0, 1.0, ["C1/0", "C2/0"])])
    assert coalloc.replay(instance, given)["A"].end == pytest.approx(25.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"resources": {"licences": 2.0}},
            "job J1 alone requires 2 of the resource licences of C1, whose capacity is 1",
        ),
        ({"task_resources": {"gpus": 1.0}}, "job J1 requires more of a resource than its nodes have"),
    ],
)
def test_what_cannot_be_where_the_schedule_has_it_is_refused_in_one_line(changes, said):
    clusters = [
        Cluster("C1", [NodeGroup(1, 1.0)], 10.0, resources={"licences": 1.0}),
        Cluster("C2", [NodeGroup(1, 1.0, resources={"gpus": 1.0})], 10.0, resources={"licences": 2.0}),
    ]
    instance = Instance(Platform(clusters), [Job("J1", 1, 10.0, **changes)])
    with pytest.raises(CoallocError, match=said):
        coalloc.replay(instance, Schedule([Placement("J1", 0.0, 10.0, ["C1/0"])]), starts="left")
