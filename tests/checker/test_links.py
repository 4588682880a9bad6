"""Loads of links, with running jobs and tolerated saturation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.checker import Violation, check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Switch
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed, rules
from tests.strategies import LAW


def test_an_overload_is_one_violation_with_its_peak(grid):
    # J1 [60, 160) and J2 [100, 200) both load C1 and C2: 26.67 MB/s over [100, 160), J3's instants in between included.
    instance, schedule = grid
    moved = changed(
        changed(schedule, "J1", start=60.0, end=160.0), "J3", nodes=("C3/0", "C3/1"), start=110.0, end=170.0
    )
    first, second = check(instance, moved)
    assert (first.where, second.where) == ("C1", "C2")
    assert first.when == 100.0
    assert first.amount == pytest.approx(80.0 / 3.0)
    assert first.limit == 15.0
    assert "from 100 s to 160 s" in first.sentence


def pairs(*spans: tuple[float, float, float], bandwidth: float) -> tuple[Instance, Schedule]:
    """Return jobs A, B, ... of two tasks, given as (start, end, MB/s that each puts on link C1)."""
    names = [chr(ord("A") + i) for i in range(len(spans))]
    clusters = (
        Cluster("C1", (NodeGroup(len(spans), 1.0),), bandwidth),
        Cluster("C2", (NodeGroup(len(spans), 1.0),), 1e12),
    )
    jobs = tuple(
        Job(name, 2, end - start, task_bandwidth=load) for name, (start, end, load) in zip(names, spans, strict=True)
    )
    placements = tuple(
        Placement(name, start, end, (f"C1/{i}", f"C2/{i}"))
        for i, (name, (start, end, _)) in enumerate(zip(names, spans, strict=True))
    )
    return Instance(Platform(clusters), jobs), Schedule(placements)


def test_the_jobs_named_are_those_at_the_peak():
    # 10 MB/s until 5, then 20, from 10 on 25 without A, from 15 on 10 again.
    instance, schedule = pairs((0.0, 10.0, 10.0), (5.0, 20.0, 10.0), (10.0, 15.0, 15.0), bandwidth=12.0)
    (violation,) = check(instance, schedule)
    assert (violation.when, violation.amount, violation.jobs) == (5.0, 25.0, ("B", "C"))
    assert "from 5 s to 15 s" in violation.sentence


def test_a_huge_overload_leaves_no_trace_behind():
    # Adding and removing 1e9/3 and 0.1 leaves rounding errors far above 1e-9 of the capacity, which C just meets.
    instance, schedule = pairs((0.0, 10.0, 1e9 / 3), (5.0, 20.0, 0.1), (20.0, 30.0, 1.0), bandwidth=1.0)
    assert [v.jobs for v in check(instance, schedule)] == [("A", "B")]


def test_tolerated_saturation_moves_the_limit(grid):
    # 26.67 MB/s on 15 MB/s need a tolerance of 7/9; SC counts as 1 all the same.
    instance, schedule = grid
    crowded = changed(schedule, "J1", start=60.0, end=160.0)
    violations = check(instance, crowded, saturation=0.77)
    assert [(v.rule, v.where, v.limit) for v in violations] == [
        ("link-load", site, 15.0 * 1.77) for site in ("C1", "C2")
    ]
    assert check(instance, crowded, saturation=7.0 / 9.0) == []
    assert check(instance, crowded, links="ignore") == []


def test_a_link_at_its_limit_is_not_saturated(grid):
    instance, schedule = grid
    clusters = tuple(cluster.replace(link_bandwidth=40.0 / 3.0) for cluster in instance.platform.clusters)
    assert check(instance.replace(platform=Platform(clusters)), schedule) == []


def test_cascaded_switches_carry_what_crosses_them():
    # 4 tasks: A 2, B 1 below S1, C 1 beside it, 9 MB/s each. A: 2*9*2/3 = 12, B and C: 1*9*3/3 = 9, S1: 3*9*1/3 = 9.
    def platform(a: float, b: float, c: float, s1: float) -> Platform:
        group = (NodeGroup(2, 1.0),)
        clusters = (Cluster("A", group, a, "S1"), Cluster("B", group, b, "S1"), Cluster("C", group, c, "S0"))
        return Platform(clusters, (Switch("S1", "S0", s1),))

    job = Job("J1", 4, 10.0, task_bandwidth=9.0)
    schedule = Schedule((Placement("J1", 0.0, 10.0, ("A/0", "A/1", "B/0", "C/0")),))
    assert check(Instance(platform(12.0, 9.0, 9.0, 9.0), (job,)), schedule) == []
    violations = check(Instance(platform(11.9, 8.9, 8.9, 8.9), (job,)), schedule)
    assert [(v.where, round(v.amount, 9)) for v in violations] == [("A", 12.0), ("B", 9.0), ("C", 9.0), ("S1", 9.0)]


def test_a_link_of_no_bandwidth_carries_nothing(grid):
    instance, schedule = grid
    clusters = tuple(cluster.replace(link_bandwidth=0.0) for cluster in instance.platform.clusters)
    closed = instance.replace(platform=Platform(clusters))
    assert [(v.where, v.when, v.limit) for v in check(closed, schedule)] == [("C1", 0.0, 0.0), ("C2", 0.0, 0.0)]


def test_running_jobs_hold_processors_and_load_links_until_they_end(grid):
    instance, schedule = grid
    running = RunningJob(Job("R1", 2, 500.0, task_bandwidth=2.0), ("C1/2", "C2/2"), 30.0)  # 2 MB/s on C1 and C2
    violations = check(instance.replace(running=(running,)), schedule)
    assert [(v.rule, v.jobs, v.where, v.when) for v in violations] == [
        ("overlap", ("R1", "J3"), "C1/2", 20.0),
        ("link-load", ("R1", "J1"), "C1", 0.0),  # 13.33 + 2 > 15 until 30
        ("link-load", ("R1", "J1"), "C2", 0.0),
    ]
    assert "from 20 s to 30 s" in violations[0].sentence
    assert "from 0 s to 30 s" in violations[1].sentence
    early = instance.replace(running=(running.replace(end=20.0, job=running.job.replace(task_bandwidth=0.0)),))
    assert check(early, schedule) == []


def test_what_running_jobs_do_alone_is_not_the_schedules_fault(grid):
    instance, schedule = grid
    heavy = RunningJob(Job("R1", 2, 500.0, task_bandwidth=99.0), ("C1/2", "C3/2"), 10.0)
    late = changed(schedule, "J1", start=10.0, end=110.0)
    late = changed(late, "J2", start=110.0, end=210.0)
    assert check(instance.replace(running=(heavy,)), late) == []
    assert rules(check(instance.replace(running=(heavy,)), schedule)) == {"link-load": 1}


@LAW
@given(
    here=st.integers(1, 4), there=st.integers(1, 4), num_jobs=st.integers(1, 4), task_bandwidth=st.floats(0.01, 100.0)
)
def test_a_link_narrower_than_its_load_is_named(here, there, num_jobs, task_bandwidth):
    # Each job puts here * PTBW * there/(here + there - 1) on both links; all of them run at once.
    load = num_jobs * here * task_bandwidth * there / (here + there - 1)
    jobs = tuple(Job(f"J{i}", here + there, 10.0, task_bandwidth=task_bandwidth) for i in range(num_jobs))
    placements = tuple(
        Placement(
            f"J{i}",
            float(i),
            i + 10.0,
            (*(f"C1/{i * here + k}" for k in range(here)), *(f"C2/{i * there + k}" for k in range(there))),
        )
        for i in range(num_jobs)
    )

    def found(bandwidth: float) -> list[Violation]:
        clusters = (
            Cluster("C1", (NodeGroup(num_jobs * here, 1.0),), bandwidth),
            Cluster("C2", (NodeGroup(num_jobs * there, 1.0),), 1e9),
        )
        return check(Instance(Platform(clusters), jobs), Schedule(placements))

    assert found(load) == []
    (violation,) = found(0.99 * load)
    assert (violation.rule, violation.where, violation.when) == ("link-load", "C1", num_jobs - 1.0)
    assert violation.amount == pytest.approx(load)
    assert violation.jobs == tuple(job.id for job in jobs)
