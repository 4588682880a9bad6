"""The criterion: which jobs are equal to it, and schedules in which they start in their order."""

from __future__ import annotations

import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, discretise
from coalloc.testing.constraints import EndBy

PLATFORM = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),))
JOBS = (
    Job("J1", 1, 10.0, due_date=20.0),
    Job("J2", 1, 10.0, weight=2.0, due_date=20.0),
    Job("J3", 1, 10.0, arrival=3.0, due_date=20.0),
    Job("J4", 1, 10.0, arrival=4.0),
    Job("J5", 1, 10.0, due_date=20.0),
)
"""In slots of 5 s the third and the fourth arrive at the same slot."""


@pytest.mark.parametrize(
    ("objective", "kinds"),
    [
        ("makespan", (0, 0, 1, 1, 0)),
        ("total-response-time", (0, 0, 1, 1, 0)),
        ("total-weighted-response-time", (0, 1, 2, 3, 0)),
        ("mean-wait", (0, 0, 1, 2, 0)),
        ("mean-bounded-slowdown", (0, 0, 1, 2, 0)),
        ("weighted-tardiness", (0, 1, 2, 3, 0)),
        ("maximum-lateness", (0, 0, 1, 2, 0)),
    ],
)
def test_objectives_tell_jobs_apart_by_what_they_cost(objective: str, kinds: tuple[int, ...]) -> None:
    assert Criterion.of(discretise(Instance(PLATFORM, JOBS), 5.0), objective).kinds == kinds


def test_equal_jobs_are_exchanged_until_they_are_in_order() -> None:
    # J1, J2 and J5 are of one kind: their starts 8, 4 and 0 become 0, 4 and 8. The others stay.
    problem = discretise(Instance(PLATFORM, JOBS), 5.0)
    criterion = Criterion.of(problem, "makespan")
    starts = (8, 4, 1, 3, 0)
    given = [Assignment(j, start, problem.modes[j][0]) for j, start in enumerate(starts)]
    assert criterion.equal_pairs == ((0, 1), (2, 3), (1, 4))
    assert [(a.job, a.start) for a in criterion.in_order(given)] == [(0, 0), (1, 4), (2, 1), (3, 3), (4, 8)]
    told_apart = discretise(problem.instance, 5.0, constraints=[EndBy("J1", 100.0)])
    assert Criterion.of(told_apart, "makespan").equal_pairs == ()
    assert Criterion.of(told_apart, "makespan").in_order(given) == given
