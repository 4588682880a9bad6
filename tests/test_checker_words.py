"""The checker knows the words of an instance: each mutation of a valid schedule breaks just its rule."""

from __future__ import annotations

import pytest

from coalloc import Cluster, Instance, Job, NodeGroup, Placement, Platform, RunningJob, Schedule
from coalloc.checker import RULES, check
from tests.test_checker import changed, rules

PLATFORM = Platform(
    [
        Cluster("C1", [NodeGroup(2, 1.0), NodeGroup(2, 1.0, features=["gpu", "ssd"])], 100.0),
        Cluster("C2", [NodeGroup(2, 1.0, features=["gpu"])], 100.0),
    ]
)
INSTANCE = Instance(
    PLATFORM,
    [
        Job("A", 1, 10.0, deadline=20.0),
        Job("B", 1, 10.0, after=["A", "R"]),
        Job("C", 2, 10.0, eligible=["C1"], requires=["gpu", "ssd"]),
    ],
    [RunningJob(Job("R", 1, 5.0), ["C1/0"], 5.0)],
)
SCHEDULE = Schedule(
    [
        Placement("A", 0.0, 10.0, ["C1/1"]),
        Placement("B", 10.0, 20.0, ["C1/1"]),
        Placement("C", 0.0, 10.0, ["C1/2", "C1/3"]),
    ]
)
MUTATIONS = {
    "past the deadline": ({"A": (11.0, "C1/1"), "B": (30.0, "C1/1")}, "deadline", ("A",)),
    "before another has ended": ({"B": (9.5, "C2/0")}, "precedence", ("B", "A")),
    "before a running job has ended": ({"A": (0.0, "C1/1"), "B": (4.0, "C2/0")}, "precedence", None),
    "on another cluster": ({"C": (0.0, "C2/0", "C2/1")}, "eligibility", ("C",)),
    "on a node without a feature": ({"C": (20.0, "C1/1", "C1/2")}, "eligibility", ("C",)),
}


def test_what_keeps_to_the_words_is_valid():
    assert check(INSTANCE, SCHEDULE) == []
    at_the_deadline = changed(changed(SCHEDULE, "A", start=10.0, end=20.0), "B", start=20.0, end=30.0)
    assert check(INSTANCE, at_the_deadline) == []


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_mutation_breaks_just_its_rule(name):
    moves, rule, jobs = MUTATIONS[name]
    schedule = SCHEDULE
    for job, (start, *nodes) in moves.items():
        schedule = changed(schedule, job, start=start, end=start + 10.0, nodes=nodes)
    violations = check(INSTANCE, schedule)
    assert set(rules(violations)) == {rule}
    assert rule in RULES
    assert jobs is None or [violation.jobs for violation in violations] == [jobs]


def test_the_sentences():
    late = changed(changed(SCHEDULE, "A", start=11.0, end=21.0), "B", start=30.0, end=40.0)
    (violation,) = check(INSTANCE, late)
    assert violation.sentence == "job A ends at 21 s, after its deadline at 20 s"
    (violation,) = check(INSTANCE, changed(SCHEDULE, "B", start=9.0, end=19.0, nodes=["C2/0"]))
    assert violation.sentence == "job B starts at 9 s, before job A, which it comes after, has ended at 10 s"
    (violation,) = check(INSTANCE, changed(SCHEDULE, "C", start=20.0, end=30.0, nodes=["C1/1", "C1/2"]))
    assert violation.sentence == "job C is on C1/1, which it may not use"


def test_deadlines_are_reported_alone_where_that_is_asked():
    late = changed(changed(SCHEDULE, "A", start=11.0, end=21.0), "B", start=30.0, end=40.0)
    assert check(INSTANCE, late, deadlines="report") == []
