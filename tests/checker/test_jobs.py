"""Rules on the jobs of a schedule, each placed once, in one of its modes."""

from __future__ import annotations

import pytest

from coalloc.checker import check
from coalloc.instance import Instance, Job, RunningJob, Shape
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed, rules
from tests.checker.test_times import INSTANCE, PLATFORM, SCHEDULE


def test_a_running_job_is_not_placed_again(grid):
    instance, schedule = grid
    running = RunningJob(Job("R1", 1, 5.0), ("C3/0",), 5.0)
    again = schedule.replace(placements=(*schedule.placements, Placement("R1", 5.0, 10.0, ("C3/0",))))
    (violation,) = check(instance.replace(running=(running,)), again)
    assert (violation.rule, violation.sentence) == ("unknown-job", "job R1 is already running and must not be placed")


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


@pytest.mark.parametrize(
    ("ids", "differences"),
    [
        ("J1 J2", "1 job not placed (J3)"),
        ("J1 J2 J3 X Y", "2 jobs unknown (X, Y)"),
        ("J1 J2 X", "1 job unknown (X), 1 job not placed (J3)"),
    ],
)
def test_a_schedule_of_another_instance_has_no_other_violation(grid, ids, differences):
    instance, _ = grid
    foreign = Schedule([Placement(name, -1.0, 0.0, ["nowhere"]) for name in ids.split()], instance="theirs")
    assert [str(violation) for violation in check(instance, foreign)] == [
        f"other-instance: the schedule belongs to instance theirs, not to instance: {differences}"
    ]


def test_a_schedule_of_all_jobs_may_name_another_instance(grid):
    instance, schedule = grid
    assert check(instance, schedule.replace(instance="theirs")) == []


class Never:
    """A constraint that no schedule satisfies."""

    def faults(self, instance, schedule):
        yield f"{len(list(schedule))} placements"


def test_constraints_see_only_schedules_that_place_each_job_once(grid):
    instance, schedule = grid
    (violation,) = check(instance, schedule, constraints=[Never()])
    assert str(violation) == "constraint: Never: 3 placements"
    first, second = schedule.placements[0], Placement("X", 20.0, 30.0, ["C2/3"])
    for placements, rule in (
        (schedule.placements[1:], "missing-job"),
        ((*schedule.placements, first.replace(start=300.0, end=400.0)), "duplicate-job"),
        ((*schedule.placements, second), "unknown-job"),
    ):
        found = check(instance, schedule.replace(placements=placements), constraints=[Never()])
        assert [violation.rule for violation in found] == [rule]
