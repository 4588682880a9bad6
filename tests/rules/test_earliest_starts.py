"""Earliest starts in the order of a schedule, by hand."""

from __future__ import annotations

from coalloc import Cluster, Instance, Job, Lag, NodeGroup, Placement, Platform, Schedule
from coalloc.extend import DifferentClusters
from coalloc.problem import discretise
from coalloc.rules.earliest_starts import moved_left
from coalloc.rules.serial_sgs import assignments_of

PLATFORM = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=125.0)])
LONG = Job("J1", tasks=1, base_time=9.0)
SHORT = Job("J2", tasks=1, base_time=3.0)
WIDE = Job("J3", tasks=2, base_time=4.0, lags=[Lag("J2", "end", 0.0, 1.0)])
"""It starts when ``LONG`` has ended, at 9 s, so ``SHORT`` must not end before 8 s."""
SCHEDULE = Schedule(
    [
        Placement("J1", 2.0, 11.0, ["C1/0"]),
        Placement("J2", 9.0, 12.0, ["C1/1"]),
        Placement("J3", 13.0, 17.0, ["C1/0", "C1/1"]),
    ]
)


def test_a_job_waits_for_the_job_that_has_to_follow_it_soon():
    problem = discretise(Instance(PLATFORM, [LONG, SHORT, WIDE]), 1.0)
    moved = moved_left(problem, assignments_of(problem, SCHEDULE))
    assert {problem.jobs[a.job].id: a.start for a in moved} == {"J1": 0.0, "J2": 5.0, "J3": 9.0}


def test_what_clusters_forbid_is_not_moved():
    problem = discretise(Instance(PLATFORM, [LONG, SHORT, WIDE]), 1.0, constraints=[DifferentClusters(("J1", "J2"))])
    assert moved_left(problem, assignments_of(problem, SCHEDULE)) == []


def test_an_order_that_lags_contradict_is_none():
    first = WIDE.replace(lags=[Lag("J1", "end", 0.0, 0.0), Lag("J2", "end", 5.0)])
    problem = discretise(Instance(PLATFORM, [LONG, SHORT, first]), 1.0)
    assert moved_left(problem, assignments_of(problem, SCHEDULE))[-1].start == 9.0
    late = SHORT.replace(lags=[Lag("J1", "end", 0.0)])
    problem = discretise(Instance(PLATFORM, [LONG, late, first]), 1.0)
    assert moved_left(problem, assignments_of(problem, SCHEDULE)) == []
