"""Memory of nodes."""

from __future__ import annotations

import pytest

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed


@pytest.fixture
def memory() -> tuple[Instance, Schedule]:
    """A node of 4 cores and 1000 MB, two of one core and 400 MB, one of one core without a limit; base times of 10 s.

    J1 asks for 2 * 300 MB, J2 and J4 for 400 MB, J3 for nothing.
    """
    groups = (NodeGroup(1, 1.0, cores=4, memory=1000.0), NodeGroup(2, 1.0, memory=400.0), NodeGroup(1, 1.0))
    jobs = (
        Job("J1", 2, 10.0, memory=300.0),
        Job("J2", 1, 10.0, memory=400.0),
        Job("J3", 1, 10.0),
        Job("J4", 1, 10.0, memory=400.0),
    )
    placements = (
        Placement("J1", 0.0, 10.0, ("C/0.0", "C/0.1")),
        Placement("J2", 0.0, 10.0, ("C/0.2",)),
        Placement("J3", 0.0, 10.0, ("C/0.3",)),
        Placement("J4", 5.0, 15.0, ("C/1",)),
    )
    return Instance(Platform((Cluster("C", groups, 0.0),)), jobs), Schedule(placements)


def test_nodes_at_the_limit_of_their_memory_are_valid(memory):
    # 600 + 400 of 1000 MB, 400 of 400 MB; J4 after J2, in its memory.
    instance, schedule = memory
    assert check(instance, schedule) == []
    assert check(instance, changed(schedule, "J4", start=10.0, end=20.0, nodes=("C/0.2",))) == []


@pytest.mark.parametrize("links", ["strict", "shared", "ignore"])
def test_the_tasks_on_a_node_share_its_memory(memory, links):
    # J4 on the large node asks for 400 MB more than its 1000 MB from 5 to 10.
    instance, schedule = memory
    late = changed(schedule, "J3", start=20.0, end=30.0)
    (violation,) = check(instance, changed(late, "J4", nodes=("C/0.3",)), links=links)
    assert (violation.rule, violation.jobs, violation.where) == ("memory", ("J1", "J2", "J4"), "C/0")
    assert (violation.when, violation.amount, violation.limit) == (5.0, 1400.0, 1000.0)
    assert violation.sentence == (
        "tasks on node C/0 require up to 1400 MB of memory from 5 s to 10 s, but it has 1000 MB; jobs then: J1, J2, J4"
    )


def test_a_task_that_asks_for_more_than_a_node_has_is_named_on_each(memory):
    instance, schedule = memory
    jobs = tuple(job.replace(memory=401.0) if job.id in ("J2", "J4") else job for job in instance.jobs)
    moved = changed(schedule, "J2", nodes=("C/2",))
    violations = check(instance.replace(jobs=jobs), moved)
    assert [(v.rule, v.jobs, v.where, v.amount) for v in violations] == [
        ("memory", ("J4",), "C/1", 401.0),
        ("memory", ("J2",), "C/2", 401.0),
    ]
    unlimited = changed(changed(schedule, "J2", nodes=("C/3",)), "J4", start=10.0, end=20.0, nodes=("C/3",))
    assert check(instance.replace(jobs=jobs), unlimited) == []


def test_running_jobs_hold_memory_and_what_they_overload_alone_is_not_the_schedules_fault(memory):
    instance, schedule = memory
    alone = Schedule(tuple(p for p in schedule if p.job in ("J1", "J3")))
    jobs = tuple(job for job in instance.jobs if job.id in ("J1", "J3"))
    running = RunningJob(Job("R", 1, 99.0, memory=401.0), ("C/0.2",), 8.0)
    beside = instance.replace(jobs=jobs, running=(running,))
    (violation,) = check(beside, alone)  # 600 + 401 MB
    assert (violation.rule, violation.jobs, violation.when) == ("memory", ("R", "J1"), 0.0)
    heavy = running.replace(job=running.job.replace(memory=2000.0))
    after = changed(alone, "J1", start=8.0, end=18.0)
    assert check(instance.replace(jobs=jobs, running=(heavy,)), after) == []  # J3 asks for nothing


def test_jobs_that_hold_one_processor_at_once_also_share_its_memory(memory):
    # J2 and J4 on C/1, a node of one core: 800 of 400 MB from 5 to 10.
    instance, schedule = memory
    violations = check(instance, changed(schedule, "J2", nodes=("C/1",)))
    assert [(v.rule, v.jobs, v.where, v.amount) for v in violations] == [
        ("overlap", ("J2", "J4"), "C/1", 2),
        ("memory", ("J2", "J4"), "C/1", 800.0),
    ]


def test_each_node_holds_its_own_part_of_a_job():
    # Two tasks of 300 MB on each of two nodes of 600 MB.
    nodes = NodeGroup(2, 1.0, cores=2, memory=600.0)
    schedule = Schedule((Placement("J1", 0.0, 10.0, ("C/0-1.0-1",)),))
    for required, found in ((300.0, []), (301.0, ["C/0", "C/1"])):
        instance = Instance(Platform((Cluster("C", (nodes,), 0.0),)), (Job("J1", 4, 10.0, memory=required),))
        assert [(v.where, v.amount) for v in check(instance, schedule)] == [(node, 602.0) for node in found]
