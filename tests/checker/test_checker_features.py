"""The checker knows the features of an instance: each mutation of a valid schedule breaks just its rule."""

from __future__ import annotations

import pytest

from coalloc import Cluster, Instance, Job, NodeGroup, Placement, Platform, RunningJob, Schedule, Shape
from coalloc.checker import RULES, check
from coalloc.instance.windows import Window
from tests.checker.test_checker import changed, rules

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
    assert violation.sentence == "job B starts at 9 s, before the end of its predecessor A at 10 s"
    (violation,) = check(INSTANCE, changed(SCHEDULE, "C", start=20.0, end=30.0, nodes=["C1/1", "C1/2"]))
    assert violation.sentence == "job C is on C1/1, which it may not use"


def test_deadlines_are_reported_alone_where_that_is_asked():
    late = changed(changed(SCHEDULE, "A", start=11.0, end=21.0), "B", start=30.0, end=40.0)
    assert check(INSTANCE, late, deadlines="report") == []


WINDOWS = Instance(
    PLATFORM.replace(
        unavailable=[
            Window("C2", 10.0, 20.0),
            Window("C1", 30.0, 40.0, nodes=["C1/1-2"]),
            Window("C1", 50.0, 60.0, group=0, processors=1),
            Window("C1", 55.0, 65.0, group=0, processors=1),
        ]
    ),
    [Job("A", 1, 10.0), Job("B", 1, 10.0)],
    [RunningJob(Job("R", 1, 5.0), ["C1/0"], 75.0, start=70.0)],
)
"""C1/0 and C1/1 are group 0 of C1."""


@pytest.mark.parametrize(
    ("start", "node", "violated"),
    [
        (0.0, "C2/0", None),  # it ends when the window begins
        (20.0, "C2/0", None),
        (0.1, "C2/0", ("unavailable", "C2/0", 10.0)),
        (19.0, "C2/1", ("unavailable", "C2/1", 19.0)),
        (25.0, "C1/2", ("unavailable", "C1/2", 30.0)),
        (25.0, "C1/3", None),
        (41.0, "C1/1", None),  # one processor of the group is left at 50 s
        (46.0, "C1/1", ("unavailable", "group 0 of C1", 55.0)),  # none is left from 55 to 60 s
        (60.0, "C1/1", None),
        (66.0, "C1/0", ("overlap", "C1/0", 70.0)),
    ],
)
def test_windows_and_reservations(start, node, violated):
    elsewhere = Placement("B", 0.0, 10.0, ["C1/3"])
    found = check(WINDOWS, Schedule([Placement("A", start, start + 10.0, [node]), elsewhere]))
    assert [(v.rule, v.where, v.when) for v in found] == ([] if violated is None else [violated])


def test_what_runs_already_counts_in_a_window_of_a_number_of_processors():
    # R holds C1/0 from 48 s on; with A on C1/1 that is 2, and the window leaves 1.
    reserved = WINDOWS.replace(running=[RunningJob(Job("R", 1, 5.0), ["C1/0"], 54.0, start=48.0)])
    elsewhere = Placement("B", 0.0, 10.0, ["C1/3"])
    (violation,) = check(reserved, Schedule([Placement("A", 43.0, 53.0, ["C1/1"]), elsewhere]))
    assert (violation.rule, violation.jobs, violation.amount, violation.limit) == ("unavailable", ("A",), 2, 1)


TIMED = Instance(
    Platform(
        [
            Cluster("C1", [NodeGroup(1, 2.0, availability=0.5, features=["fast"]), NodeGroup(1, 0.5)], 100.0),
            Cluster("C2", [NodeGroup(2, 1.0, features=["slow"])], 100.0),
        ]
    ),
    [Job("A", 2, 10.0, processing_share=0.6, times={"fast": 4.0, "slow": 30.0})],
)


@pytest.mark.parametrize(
    ("nodes", "seconds"),
    [
        # On C1/0: 4 (0.6/0.5 + 0.4) = 6.4. On C1/1, which no name fits: 10 (0.6/0.5 + 0.4) = 16. On C2: 30.
        (["C1/0", "C1/1"], 16.0),
        (["C1/0", "C2/0"], 30.0),
        (["C2/1", "C2/0"], 30.0),
    ],
)
def test_the_slowest_task_decides_by_the_times_that_a_job_names(nodes, seconds):
    assert check(TIMED, Schedule([Placement("A", 5.0, 5.0 + seconds, nodes)])) == []
    assert rules(check(TIMED, Schedule([Placement("A", 5.0, 5.1 + seconds, nodes)]))) == {"duration": 1}
    in_slots = Schedule([Placement("A", 7.0, 42.0 if seconds > 21.0 else 28.0, nodes)], slot=7.0)
    assert check(TIMED, in_slots) == []


SHAPED = Instance(PLATFORM, [Job("A", 2, 10.0, shapes=[Shape(1, 18.0), Shape(4, 6.0, times={"gpu": 4.0})])])


@pytest.mark.parametrize(
    ("shape", "end", "nodes", "expected"),
    [
        (0, 10.0, ["C1/0-1"], []),
        (1, 18.0, ["C1/0"], []),
        (2, 6.0, ["C1/0-3"], []),  # the slowest decides: 6 s where no time is named
        (2, 4.0, ["C1/2-3", "C2/0-1"], []),
        (1, 10.0, ["C1/0-1"], ["task-count", "duration"]),
        (0, 18.0, ["C1/0"], ["task-count", "duration"]),
        (2, 4.0, ["C1/0-3"], ["duration"]),
        (2, 6.0, ["C1/2-3", "C2/0-1"], ["duration"]),
        (3, 6.0, ["C1/0-3"], ["shape"]),
    ],
)
def test_a_job_runs_as_its_shape_says(shape, end, nodes, expected):
    schedule = Schedule([Placement("A", 0.0, end, nodes, shape=shape)])
    assert list(rules(check(SHAPED, schedule))) == expected


def test_a_rigid_job_has_no_other_shape():
    schedule = changed(SCHEDULE, "A", shape=1)
    assert [str(violation) for violation in check(INSTANCE, schedule)] == [
        "shape: job A has shape 1, but its last shape is 0"
    ]


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
