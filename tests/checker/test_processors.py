"""Rules on the processors of a job: ranges of names, and scopes."""

from __future__ import annotations

import pytest

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed, rules


def test_scopes(grid):
    instance, schedule = grid
    assert [v.jobs for v in check(instance, schedule, scope="cluster")] == [("J1",), ("J2",)]
    assert [v.amount for v in check(instance, schedule, scope="node")] == [4, 4, 2]
    cores = Instance(Platform((Cluster("C1", (NodeGroup(2, 1.0, cores=2),), 0.0),)), (Job("J1", 2, 10.0),))
    one_node, two_nodes = (
        Schedule((Placement("J1", 0.0, 10.0, n),)) for n in (("C1/1.0", "C1/1.1"), ("C1/0.1", "C1/1.0"))
    )
    assert check(cores, one_node, scope="node") == []
    assert rules(check(cores, two_nodes, scope="node")) == {"scope": 1}
    assert check(cores, two_nodes, scope="cluster") == []


@pytest.fixture
def cores() -> tuple[Instance, Schedule]:
    """Four nodes of one core, then four of four; J1 on six of their cores, J2 on all nodes but one."""
    platform = Platform([Cluster("C1", [NodeGroup(4, 1.0), NodeGroup(4, 1.0, cores=4)], 1.0)])
    jobs = [Job("J1", 6, 10.0), Job("J2", 13, 10.0)]
    placements = [
        Placement("J1", 0.0, 10.0, ["C1/0-1", "C1/4-5.2-3"]),
        Placement("J2", 0.0, 10.0, ["C1/2", "C1/4-5.0-1", "C1/6-7.0-3"]),
    ]
    return Instance(platform, jobs), Schedule(placements)


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        (["C1/2", "C1/4-5.0-1", "C1/6-7.0-3"], []),
        (["C1/1-2", "C1/4.0-1", "C1/5.0", "C1/6-7.0-3"], [("overlap", "C1/1")]),
        (["C1/2", "C1/4-7.2", "C1/6-7.0-1", "C1/6-7.3", "C1/4-5.0"], [("overlap", "C1/4-5.2")]),
        (
            ["C1/2", "C1/4-5.0-1", "C1/6-7.0-2", "C1/7.1-2"],
            [("repeated-processor", "C1/7.1"), ("repeated-processor", "C1/7.2")],
        ),
        (["C1/2-3", "C1/2", "C1/4.0-1", "C1/6-7.0-3"], [("repeated-processor", "C1/2")]),
        (["C1/2", "C1/4-5.0-1", "C1/6-9.0-1"], [("unknown-processor", "C1/8-9.0-1")]),
        (["C1/2", "C1/4-5.0-1", "C1/6-7.2-5"], [("unknown-processor", "C1/6-7.4-5")]),
        (["C1/2-5", "C1/6-7.0-3", "C1/3.0"], [("unknown-processor", "C1/4-5"), ("unknown-processor", "C1/3.0")]),
        (["C2/0-12"], [("unknown-processor", "C2/0-12")]),
        (["C1/2", "C1/4-5.0-1", "C1/6-7.0-2"], [("task-count", "")]),
    ],
)
def test_ranges_are_checked_as_the_processors_that_they_are(cores, nodes, found):
    instance, schedule = cores
    violations = check(instance, changed(schedule, "J2", nodes=nodes))
    assert [(v.rule, v.where) for v in violations] == found
    one_by_one = changed(
        schedule, "J2", nodes=tuple(schedule.replace(placements=[Placement("J2", 0.0, 10.0, nodes)])["J2"].nodes)
    )
    assert check(instance, one_by_one) == violations


def test_a_huge_range_is_a_violation_and_takes_no_memory(cores):
    # Ten million names twice, of which twenty are processors.
    instance, schedule = cores
    violations = check(instance, changed(schedule, "J2", nodes=["C1/0-9999999", "C1/0-9999999"]))
    assert [(v.rule, v.where) for v in violations] == [
        ("task-count", ""),
        ("repeated-processor", "C1/0-9999999"),
        ("unknown-processor", "C1/4-7"),  # nodes of four cores have names with a core
        ("unknown-processor", "C1/8-9999999"),
        ("overlap", "C1/0-1"),
    ]


def test_a_node_is_one_for_the_scope_however_its_cores_are_named(cores):
    instance, _ = cores
    alone = instance.replace(jobs=[Job("J1", 3, 10.0)])
    for nodes, amounts in ((["C1/4.0", "C1/4.2-3"], []), (["C1/4.3", "C1/5.0", "C1/5.2"], [2]), (["C1/0-2"], [3])):
        violations = check(alone, Schedule([Placement("J1", 0.0, 10.0, nodes)]), scope="node")
        assert [v.amount for v in violations] == amounts
