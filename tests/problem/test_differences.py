"""Time lags that contradict each other, because of two jobs that cannot run at one time."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, Lag, NodeGroup, Platform
from coalloc.instance.constraints import NotTogether, TimeRow
from coalloc.problem import discretise
from coalloc.problem.differences import contradicting_jobs


def on_two_nodes(*tasks: int) -> Instance:
    """Return jobs J1, J2, ... of 10 s on two nodes."""
    jobs = [Job(f"J{i + 1}", number, 10.0) for i, number in enumerate(tasks)]
    return Instance(Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 100.0)]), jobs)


def lag(late: str, early: str, least: float) -> TimeRow:
    """Return that a job starts so long after the start of another, at least."""
    return TimeRow(((1, "start", late), (-1, "start", early)), least)


@pytest.mark.parametrize("slot", [None, 5.0])
@pytest.mark.parametrize(
    ("tasks", "rows", "jobs"),
    [
        # J2 starts 0 to 5 s after J1, but both need both nodes for 10 s; with one node each they fit.
        ((2, 2), [lag("J2", "J1", 0.0), lag("J1", "J2", -5.0)], [0, 1]),
        ((1, 1), [lag("J2", "J1", 0.0), lag("J1", "J2", -5.0)], []),
        # At most 5 s before or after: neither order leaves 10 s; 10 s do.
        ((2, 2), [lag("J2", "J1", -5.0), lag("J1", "J2", -5.0)], [0, 1]),
        ((2, 2), [lag("J2", "J1", -10.0), lag("J1", "J2", -5.0)], []),
        # J3 starts 10 s after J2 and at most 15 s after J1; J2 follows J1, which needs both nodes, after 10 s.
        ((2, 1, 1), [lag("J2", "J1", 0.0), lag("J3", "J2", 10.0), lag("J1", "J3", -15.0)], [0, 1, 2]),
        ((1, 1, 1), [lag("J2", "J1", 0.0), lag("J3", "J2", 10.0), lag("J1", "J3", -15.0)], []),
        # A job is tied to itself: it cannot start after its own start or end, and runs for 10 s.
        ((1, 1), [lag("J1", "J1", 5.0)], [0]),
        ((1, 1), [lag("J1", "J1", 0.0)], []),
        ((1, 1), [TimeRow(((1, "start", "J1"), (-1, "end", "J1")), -5.0)], [0]),
        ((1, 1), [TimeRow(((1, "end", "J1"), (-1, "start", "J1")), 15.0)], [0]),
        ((1, 1), [TimeRow(((1, "end", "J1"), (-1, "start", "J1")), 10.0)], []),
        # A constraint keeps them apart.
        ((1, 1), [NotTogether(("J1", "J2")), lag("J2", "J1", 0.0), lag("J1", "J2", -5.0)], [0, 1]),
    ],
)
def test_lags_contradict_each_other(slot, tasks, rows, jobs):
    instance = on_two_nodes(*tasks)
    assert contradicting_jobs(discretise(instance, slot, constraints=rows)) == jobs
    status = coalloc.solve(instance, slot=slot, constraints=rows).status
    assert status == ("infeasible" if jobs else "optimal")


def test_a_message_names_the_jobs():
    rows = [lag("J2", "J1", 0.0), lag("J1", "J2", -5.0)]
    result = coalloc.solve(on_two_nodes(2, 2, 1), constraints=rows)
    assert result.message == "no starts of 'J1', 'J2' satisfy the time lags between jobs"


def test_jobs_with_more_allocations_than_are_listed_are_solved():
    # 40 tasks on eight nodes of 16 processors with different resources have far more than 200,000 allocations.
    nodes = [NodeGroup(1, power=1.0, cores=16, resources={"disk": float(number)}) for number in range(8)]
    jobs = [Job("J1", 40, 10.0), Job("J2", 40, 20.0, lags=[Lag("J1", "start", 0.0, 0.0)])]
    result = coalloc.solve(Instance(Platform([Cluster("C1", nodes, 100.0)]), jobs), time_limit=20.0)
    assert (result.status, result.objective) == ("optimal", 20.0)
