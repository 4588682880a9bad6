"""Jobs in one cluster, and jobs no two of which are: by hand; tests/test_constraint_agreement.py has brute force."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.extend import DifferentClusters, SameCluster
from coalloc.problem import discretise
from coalloc.rules import serial_sgs
from coalloc.schedule import schedule_of

PAIR = ("J1", "J2")


def two_clusters(*nodes: int, speed: float = 0.25, tasks: tuple[int, ...] = (2, 2)) -> Instance:
    """Return jobs J1, J2, ... of 10 s on clusters C1, C2, ... of so many nodes each, all but the first of a speed."""
    clusters = [
        Cluster(f"C{n}", [NodeGroup(count, power=speed if n > 1 else 1.0)], 100.0) for n, count in enumerate(nodes, 1)
    ]
    return Instance(Platform(clusters), [Job(f"J{j}", count, 10.0) for j, count in enumerate(tasks, 1)])


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
@pytest.mark.parametrize(
    ("nodes", "constraint", "makespan"),
    [
        (4, SameCluster(PAIR), 10.0),  # both in C1
        (3, SameCluster(PAIR), 20.0),  # one after the other in C1: there are no four nodes for both
        (4, DifferentClusters(PAIR), 40.0),  # one in C2, whose nodes have a quarter of the speed
        (1, SameCluster(PAIR), 80.0),  # no job of two tasks is in C1 alone: one after the other in C2
    ],
)
def test_the_clusters_of_two_jobs(
    nodes: int, constraint: SameCluster | DifferentClusters, makespan: float, formulation: str
) -> None:
    instance = two_clusters(nodes, 2)
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=[constraint])
    assert (result.status, result.objective) == ("optimal", makespan)
    assert coalloc.lower_bound(instance, slot=10.0, constraints=[constraint]) <= makespan


@pytest.mark.parametrize(
    ("second", "same", "different"),
    [
        (("C1/2", "C1/3"), None, "tasks in 'C1'"),
        (("C1/2", "C2/0"), "use 'C1', 'C2'", "tasks in 'C1'"),
        (("C2/0", "C2/1"), "use 'C1', 'C2'", None),
    ],
)
def test_the_check_looks_at_clusters(second: tuple[str, ...], same: str | None, different: str | None) -> None:
    # J2 runs when J1 has ended, at a quarter of the speed where it has a node of C2.
    end = 20.0 if second[1].startswith("C1") else 50.0
    schedule = Schedule((Placement("J1", 0.0, 10.0, ("C1/0", "C1/1")), Placement("J2", 10.0, end, second)))
    for constraint, sentence in ((SameCluster(PAIR), same), (DifferentClusters(PAIR), different)):
        found = coalloc.check(two_clusters(4, 2), schedule, constraints=[constraint])
        assert len(found) == (sentence is not None)
        assert sentence is None or sentence in str(found[0])


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("slot", [None, 10.0])
def test_clusters_that_are_too_few_or_too_small(slot: float | None) -> None:
    def message(instance: Instance, constraint: SameCluster | DifferentClusters) -> str:
        result = coalloc.solve(instance, slot=slot, constraints=[constraint], time_limit=60.0)
        assert (result.status, result.schedule) == ("infeasible", None)
        assert coalloc.lower_bound(instance, slot=slot, constraints=[constraint]) >= 10.0
        return result.message

    three = two_clusters(4, 2, tasks=(2, 2, 2))
    different = DifferentClusters(("J1", "J2", "J3"))
    assert "'J1', 'J2', 'J3' need a cluster each, but there are 2" in message(three, different)
    kept = three.replace(jobs=[job.replace(eligible=(f"C{n}",)) for n, job in enumerate(three.jobs[:2], 1)])
    assert "SameCluster: no cluster can hold each of 'J1', 'J2'" in message(kept, SameCluster(PAIR))
    # Either job fits into C1 alone; C2 has one node.
    assert "no schedule satisfies the constraints" in message(two_clusters(4, 1), DifferentClusters(PAIR))


@pytest.mark.parametrize(("constraint", "speed"), [(SameCluster(PAIR), 0.5), (DifferentClusters(PAIR), 2.0)])
def test_a_list_leaves_room_to_those_that_come_later(constraint: SameCluster | DifferentClusters, speed: float) -> None:
    # J1 comes first and ends first in the faster cluster. J2 fits into C2 alone: J1 has to be there, or must not be.
    instance = two_clusters(1, 3, speed=speed, tasks=(1, 3))
    problem = discretise(instance, None, constraints=[constraint])
    schedule = schedule_of(problem, serial_sgs.list_schedule(problem, (0, 1)))
    assert coalloc.check(instance, schedule, constraints=[constraint]) == []
    assert len(schedule) == 2


def test_a_list_finds_few_clusters_where_modes_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    # By itself either job takes the slow node of each cluster, and leaves the other none.
    monkeypatch.setattr(serial_sgs, "MAX_MODES", 0)
    cluster = Cluster("C1", [NodeGroup(1, power=1.0), NodeGroup(1, power=0.5)], 100.0)
    jobs = [Job(name, 2, 10.0) for name in PAIR]
    problem = discretise(
        Instance(Platform([cluster, cluster.replace(name="C2")]), jobs), None, constraints=[DifferentClusters(PAIR)]
    )
    assert [(a.start, a.end) for a in serial_sgs.list_schedule(problem, (0, 1))] == [(0.0, 20.0), (0.0, 20.0)]


def test_many_jobs_take_variables_in_proportion() -> None:
    # 20 jobs in clusters of their own of 21: one variable for each job and cluster, none for a pair.
    instance = two_clusters(*[1] * 21, tasks=(1,) * 20)
    constraint = DifferentClusters(tuple(job.id for job in instance.jobs))
    model = coalloc.build_model(instance, formulation="mode", slot=40.0, horizon=1, constraints=[constraint])
    assert (len(model.given), len(model.in_given), len(model.one_group)) == (420, 420, 21)
    result = coalloc.solve(instance, slot=40.0, constraints=[constraint])
    assert (result.status, result.objective) == ("optimal", 40.0)


def test_rows_tell_equal_jobs_apart() -> None:
    three = two_clusters(4, 2, tasks=(2, 2, 2))
    assert discretise(three, None).kinds == (0, 0, 0)
    assert discretise(three, None, constraints=[SameCluster(PAIR)]).kinds == (0, 1, 2)


@pytest.mark.parametrize("kind", [SameCluster, DifferentClusters])
def test_a_job_stands_once(kind: type[SameCluster] | type[DifferentClusters]) -> None:
    with pytest.raises(CoallocError, match=f"a {kind.__name__} must name each job once"):
        kind(("J1", "J2", "J1"))
