"""Why an instance has no schedule: each set of reasons is derived by hand, and every reason in it is needed."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Window
from coalloc.solvers.backends import cpsat
from coalloc.solvers.irreducible_sets import irreducible, reasons_of

FOUR = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=1.0)])
NEEDED = "no schedule satisfies this irreducible set of conditions: "


def message(instance: Instance, **options: object) -> str:
    result = coalloc.solve(instance, **options)
    assert (result.status, result.schedule) == ("infeasible", None)
    return result.message


@pytest.mark.parametrize("slot", [None, 1.0])
def test_two_deadlines_that_need_more_processors_than_there_are(slot):
    # A runs from 2 to 10 s for certain, B from 5 to 10 s: five processors of four. C and D have nothing to do with it.
    jobs = [
        Job("A", 3, 10.0, deadline=12.0),
        Job("B", 2, 10.0, deadline=15.0),
        Job("C", 1, 10.0, deadline=100.0),
        Job("D", 4, 50.0, after=["C"]),
    ]
    assert message(Instance(FOUR, jobs), slot=slot) == (
        f"{NEEDED}job 'A' must end by 12 s; job 'B' must end by 15 s ('A', 'B' require 5 processors at 5 s, but "
        "there are 4)"
    )


def test_a_chain_that_is_too_long_for_a_deadline():
    # A, C and B take 30 s one after the other.
    jobs = [
        Job("A", 3, 10.0, deadline=22.0),
        Job("B", 2, 10.0, deadline=25.0, after=["C"]),
        Job("C", 1, 10.0, after=["A"]),
        Job("D", 4, 50.0),
    ]
    assert message(Instance(FOUR, jobs)).startswith(
        f"{NEEDED}job 'B' must end by 25 s; job 'B' must start after the end of 'C'; job 'C' must start after the "
        "end of 'A'"
    )


def test_a_window_before_a_deadline():
    # From 20 to 40 s there are two processors: A, three tasks of 25 s, ends at 65 s at the earliest. C has time enough.
    platform = FOUR.replace(unavailable=[Window("C1", 20.0, 40.0, group=0, processors=2), Window("C1", 900.0, 901.0)])
    jobs = [Job("A", 3, 25.0, deadline=44.0), Job("C", 2, 10.0, deadline=30.0)]
    assert message(Instance(platform, jobs), slot=1.0, formulation="mode") == (
        f"{NEEDED}job 'A' must end by 44 s; 2 processors of group 0 of 'C1' are unavailable from 20 s to 40 s"
    )


def test_one_job_that_is_too_late_by_itself_says_so():
    assert message(Instance(FOUR, [Job("A", 1, 10.0, deadline=5.0)])) == (
        "job 'A' must end by 5 s, but it starts at 0 s or later and takes at least 10 s"
    )


def test_each_reason_is_needed_and_what_is_not_proven_is_said():
    running = [RunningJob(Job("R", 1, 5.0), ["C1/0"], 5.0)]
    jobs = [Job("A", 1, 1.0, deadline=9.0, eligible=["C1"]), Job("B", 1, 1.0, after=["A", "R"])]
    instance = Instance(FOUR, jobs, running)
    told = [reason.sentence for reason in reasons_of(instance)]
    assert told == [
        "job 'A' must end by 9 s",
        "job 'B' must start after the end of 'A'",
        "job 'B' must start after the end of 'R'",
        "job 'A' may only use 'C1'",
        "job 'R' runs until 5 s",
    ]

    def has_schedule(changed: Instance) -> bool:
        # As if the deadline and what runs already were what leaves no schedule.
        return changed.jobs[0].deadline is None or not changed.running

    kept, is_proven = irreducible(instance, has_schedule)
    assert ([reason.sentence for reason in kept], is_proven) == ([told[0], told[4]], True)
    kept, is_proven = irreducible(instance, lambda _: None)
    assert ([reason.sentence for reason in kept], is_proven) == (told, False)


def test_deadlines_that_contradict_each_other_are_proven_in_continuous_time(monkeypatch):
    # On one processor A, B and C take 30.5 s, and all have to end by 25 s; D has until 100 s, so not all are too late.
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=10.0)])
    deadlines = {"A": 11.0, "B": 21.0, "C": 25.0, "D": 100.0}
    jobs = [Job(name, 1, 10.5 if name == "B" else 10.0, deadline=latest) for name, latest in deadlines.items()]
    result = coalloc.solve(Instance(platform, jobs))
    assert result.status == "infeasible"
    assert result.message == (
        "no schedule satisfies this irreducible set of conditions: job 'A' must end by 11 s; "
        "job 'B' must end by 21 s; job 'C' must end by 25 s"
    )
    assert coalloc.solve(Instance(platform, [job.replace(deadline=40.5) for job in jobs])).status == "optimal"
