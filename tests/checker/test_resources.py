"""Resources of the platform, of clusters and of nodes."""

from __future__ import annotations

import pytest

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.limits import Limit
from coalloc.schedule import Placement, Schedule

# Four licences in all; C1 shares 100 W among its nodes, C2 has none; each node of C3 has 2 GPUs for its two cores.
STOCKED = Platform(
    [
        Cluster("C1", [NodeGroup(2, 1.0)], 100.0, resources={"watts": 100.0}),
        Cluster("C2", [NodeGroup(2, 1.0)], 100.0),
        Cluster("C3", [NodeGroup(2, 1.0, cores=2, resources={"gpus": 2.0})], 100.0),
    ],
    resources={"licences": 4.0},
)

TAKERS = Instance(
    STOCKED,
    [
        Job("A", 1, 10.0, resources={"licences": 2.0}),
        Job("B", 2, 10.0, resources={"licences": 1.0}, task_resources={"licences": 0.5}),
        Job("C", 1, 10.0, resources={"watts": 40.0}, task_resources={"watts": 30.0}),
        Job("D", 1, 10.0, task_resources={"watts": 40.0}),
        Job("E", 2, 10.0, task_resources={"gpus": 1.0}),
        Job("F", 1, 10.0, task_resources={"gpus": 1.5}),
    ],
    [RunningJob(Job("R", 1, 20.0, resources={"licences": 1.0}), ["C2/0"], 10.0)],
)

TAKEN = {
    "A": (10.0, "C3/0.0"),
    "B": (10.0, "C3/1.0", "C3/1.1"),
    "C": (0.0, "C1/0"),
    "D": (10.0, "C1/1"),
    "E": (0.0, "C3/0.0", "C3/1.0"),
    "F": (20.0, "C3/0.1"),
}


TAKING_TOO_MUCH = {
    "of a cluster": ({"D": (5.0, "C1/1")}, "C1", 110.0, 100.0),
    "where there is none": ({"D": (30.0, "C2/1")}, "C2", 40.0, 0.0),
    "of a node": ({"F": (5.0, "C3/0.1")}, "C3/0", 2.5, 2.0),
}


def taking(moves) -> Schedule:
    placed = {**TAKEN, **moves}
    return Schedule([Placement(job, start, start + 10.0, nodes) for job, (start, *nodes) in placed.items()])


def test_what_shares_resources_is_valid():
    assert check(TAKERS, taking({})) == []


@pytest.mark.parametrize("name", TAKING_TOO_MUCH)
def test_more_than_there_is_of_a_resource_is_found(name):
    moves, where, amount, limit = TAKING_TOO_MUCH[name]
    violations = check(TAKERS, taking(moves))
    (violation,) = violations
    assert (violation.rule, violation.where, violation.amount, violation.limit) == ("resources", where, amount, limit)


def test_a_node_gives_once_what_a_job_takes_as_a_whole_whichever_of_its_cores_it_is_on():
    # A holds cores 0 and 2 of one node: 2 GPUs as a whole and 0.5 for each of its two tasks, 3 of 3. B holds the core
    # between them and 0.25 more: 3.25 of 3 while both run.
    platform = Platform([Cluster("C1", [NodeGroup(1, 1.0, cores=3, resources={"gpus": 3.0})], 100.0)])
    jobs = [
        Job("A", 2, 10.0, resources={"gpus": 2.0}, task_resources={"gpus": 0.5}),
        Job("B", 1, 10.0, resources={"gpus": 0.25}),
    ]
    ends = Placement("A", 0.0, 10.0, ["C1/0.0", "C1/0.2"])
    assert check(Instance(platform, jobs[:1]), Schedule([ends])) == []
    (violation,) = check(Instance(platform, jobs), Schedule([ends, Placement("B", 5.0, 15.0, ["C1/0.1"])]))
    found = (violation.rule, violation.where, violation.when, violation.amount, violation.limit)
    assert found == ("resources", "C1/0", 5.0, 3.25, 3.0)


def test_running_jobs_count_beside_those_of_the_schedule():
    # R has one licence until 10 s; with the 2 of A and the 2 of B that is 5 of 4 from 5 s on.
    moves = {"A": (5.0, "C2/1"), "B": (5.0, "C3/0.1", "C3/1.1")}
    (violation,) = check(TAKERS, taking(moves))
    assert (violation.rule, violation.where, violation.amount, violation.when) == ("resources", "", 5.0, 5.0)
    assert set(violation.jobs) == {"A", "B", "R"}
    assert "licences of the platform from 5 s to 10 s, but the capacity is 4" in violation.sentence


LIMITED = Instance(
    Platform([Cluster("C1", [NodeGroup(3, 1.0)], 10.0)]),
    [Job("J1", 1, 10.0), Job("J2", 1, 10.0), Job("J3", 1, 10.0)],
    limits=[Limit("anna", ["J1", "J3"], 2.5, [1.0, 2.0])],
)
"""J1 and J2 start at 0 s, J3 at 5 s in ``TOGETHER``."""
TOGETHER = Schedule(
    [
        Placement(job, start, start + 10.0, [f"C1/{n}"])
        for n, (job, start) in enumerate([("J1", 0.0), ("J2", 0.0), ("J3", 5.0)])
    ]
)


def test_a_limit_adds_up_the_amounts_of_its_jobs():
    (violation,) = check(LIMITED, TOGETHER)
    assert (violation.rule, violation.where, violation.jobs) == ("limit", "anna", ("J1", "J3"))
    assert (violation.when, violation.amount, violation.limit) == (5.0, 3.0, 2.5)
    assert str(violation) == (
        "limit: jobs of limit anna take up to 3 from 5 s to 10 s, but its capacity is 2.5; jobs then: J1, J3"
    )


@pytest.mark.parametrize(
    ("limit", "amount"),
    [
        (Limit("anna", ["J1", "J3"], 3.0, [1.0, 2.0]), None),
        (Limit("anna", ["J1", "J2", "J3"], 2.0), 3.0),  # without amounts each job counts 1
        (Limit("anna", ["J1", "J2", "J3"], 3.0), None),
    ],
)
def test_limits(limit, amount):
    found = [v.amount for v in check(LIMITED.replace(limits=[limit]), TOGETHER)]
    assert found == ([] if amount is None else [amount])
