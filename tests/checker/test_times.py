"""Deadlines, precedence, lags and eligibility: each mutation of a valid schedule breaks just its rule."""

from __future__ import annotations

import pytest

from coalloc.checker import RULES, check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.lags import Lag
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed, rules

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


def test_the_last_end_of_a_predecessor_counts():
    # A is placed twice: B starts at the end of the first, and before that of the second, at 40 s.
    again = SCHEDULE.replace(placements=[*SCHEDULE.placements, Placement("A", 30.0, 40.0, ["C2/0"])])
    assert rules(check(INSTANCE, again)) == {"duplicate-job": 1, "deadline": 1, "precedence": 1}


def lagged(lag: Lag, start: float, first: float = 0.0) -> tuple[Instance, Schedule]:
    """Return J1, which starts at ``first`` and lasts 10 s, and J2 with a lag after it."""
    instance = Instance(PLATFORM, [Job("J1", 1, 10.0), Job("J2", 1, 10.0, lags=[lag])])
    placements = [Placement("J1", first, first + 10.0, ["C1/0"]), Placement("J2", start, start + 10.0, ["C1/1"])]
    return instance, Schedule(placements)


@pytest.mark.parametrize(
    ("lag", "start", "limit"),
    [
        (Lag("J1", "end", 2.0, 5.0), 11.0, 12.0),  # 10 + 2
        (Lag("J1", "end", 2.0, 5.0), 16.0, 15.0),  # 10 + 5
        (Lag("J1", "end", 2.0), 16.0, None),
        (Lag("J1", "end", 2.0, 2.0), 12.0, None),
        (Lag("J1", "start", 2.0, 5.0), 1.0, 2.0),
        (Lag("J1", "start", 2.0, 5.0), 6.0, 5.0),
        (Lag("J1", "start", 2.0, 5.0), 4.0, None),
        (Lag("J1", "end", -4.0, -4.0), 6.0, None),
    ],
)
def test_lags(lag, start, limit):
    instance, schedule = lagged(lag, start)
    found = [(v.rule, v.jobs, v.amount, v.limit) for v in check(instance, schedule)]
    assert found == ([] if limit is None else [("lag", ("J2", "J1"), start, limit)])


@pytest.mark.parametrize(("first", "lag", "start"), [(0.3, 0.3, 10.6), (0.1, 0.2, 10.3)])
def test_a_lag_holds_within_the_tolerance(first, lag, start):
    # 0.3 + 10 + 0.3 is a little more than 10.6, and 0.1 + 10 + 0.2 a little less than 10.3.
    assert abs(first + 10.0 + lag - start) > 0.0
    assert check(*lagged(Lag("J1", "end", lag, lag), start, first)) == []


def test_maximal_lags_are_not_checked_where_misses_are_only_reported():
    lag = Lag("J1", "end", 2.0, 5.0)
    assert check(*lagged(lag, 16.0), deadlines="report") == []
    assert [str(violation) for violation in check(*lagged(lag, 11.0), deadlines="report")] == [
        "lag: job J2 starts at 11 s, but must start at 12 s or later, because of the end of J1 at 10 s"
    ]
