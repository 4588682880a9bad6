"""Instances that are made to fail in one way: the reason names that way, and giving just what is missing mends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.explanations.reasons import Reason
from coalloc.testing.small import small_instance


class Case(NamedTuple):
    """An instance that has no schedule, for one reason, and what gives it a share of what is missing."""

    instance: Instance
    kind: str
    job: str
    given: Callable[[Reason, float], Instance]
    options: dict[str, Any]


def base(seed: int) -> Instance:
    """Return a small instance without traffic and running jobs, and with at least two clusters."""
    instance = small_instance(seed)[0]
    clusters = instance.platform.clusters
    extra = Cluster("more", [NodeGroup(2, power=1.0)], 1000.0)
    platform = Platform((*(c.replace(switch=None) for c in clusters), extra))
    return Instance(platform, [job.replace(task_bandwidth=0.0) for job in instance.jobs], name=f"broken-{seed}")


def changed(instance: Instance, **values: Any) -> Instance:
    """Return the instance with another first job."""
    return instance.replace(jobs=(instance.jobs[0].replace(**values), *instance.jobs[1:]))


def with_groups(instance: Instance, change: Callable[[NodeGroup], NodeGroup]) -> Instance:
    """Return the instance with other nodes."""
    clusters = [c.replace(nodes=tuple(map(change, c.nodes))) for c in instance.platform.clusters]
    return instance.replace(platform=instance.platform.replace(clusters=tuple(clusters)))


def too_wide(seed: int) -> Case:
    """One task more than the largest cluster has processors, and the job must be in one; nodes are what is missing."""
    instance = base(seed)
    largest = max(c.num_processors for c in instance.platform.clusters)
    jobs = [job.replace(tasks=1) for job in instance.jobs]
    broken = changed(instance.replace(jobs=jobs), tasks=largest + 1)

    def given(reason: Reason, share: float) -> Instance:
        nodes = int(share * ((reason.amount or 0) - (reason.limit or 0)))
        clusters = broken.platform.clusters
        wide = max(clusters, key=lambda c: c.num_processors)
        more = wide.replace(nodes=(*wide.nodes, *(NodeGroup(1, power=1.0) for _ in range(nodes))))
        platform = broken.platform.replace(clusters=tuple(more if c is wide else c for c in clusters))
        return broken.replace(platform=platform)

    return Case(broken, "processors", broken.jobs[0].id, given, {"scope": "cluster"})


def too_hungry(seed: int) -> Case:
    """All nodes but one group have too little memory for a task of the first job."""
    instance = with_groups(base(seed), lambda group: group.replace(memory=100.0, cores=1))
    broken = changed(instance, tasks=2, memory=150.0)

    def given(reason: Reason, share: float) -> Instance:
        missing = int(share * ((reason.amount or 0) - (reason.limit or 0)))
        extra = Cluster("memory", [NodeGroup(max(1, missing), power=1.0, memory=150.0 if missing else 1.0)], 1.0)
        return broken.replace(platform=broken.platform.replace(clusters=(*broken.platform.clusters, extra)))

    return Case(broken, "memory", broken.jobs[0].id, given, {})


def too_choosy(seed: int) -> Case:
    """One task more than the cluster has processors that the first job may use."""
    instance = base(seed)
    broken = changed(instance, tasks=3, eligible=("more",))

    def given(reason: Reason, share: float) -> Instance:
        more = 2 + int(share * ((reason.amount or 0) - (reason.limit or 0)))
        clusters = [
            c.replace(nodes=(NodeGroup(more, power=1.0),)) if c.name == "more" else c for c in broken.platform.clusters
        ]
        return broken.replace(platform=broken.platform.replace(clusters=tuple(clusters)))

    return Case(broken, "eligibility", broken.jobs[0].id, given, {})


def too_loud(seed: int) -> Case:
    """The first job is on every processor, and each link carries half of what that puts on it at best."""
    instance = base(seed)
    everywhere = changed(instance, tasks=instance.platform.num_processors, task_bandwidth=10.0)
    tasks = everywhere.jobs[0].tasks
    sizes = {c.name: c.num_processors for c in instance.platform.clusters}
    loads = {name: 10.0 * size * (tasks - size) / (tasks - 1) for name, size in sizes.items()}

    def carrying(share: float) -> Instance:
        clusters = [c.replace(link_bandwidth=share * loads[c.name]) for c in everywhere.platform.clusters]
        return everywhere.replace(platform=everywhere.platform.replace(clusters=tuple(clusters)))

    def given(reason: Reason, share: float) -> Instance:
        half = (reason.limit or 0.0) / (reason.amount or 1.0)
        return carrying(half + share * (1.0 - half))

    return Case(carrying(0.5), "link", everywhere.jobs[0].id, given, {})


def too_late(seed: int) -> Case:
    """The first job comes after the second, and has to end 1 s before it can."""
    instance = base(seed)
    fastest = max(g.effective_power for c in instance.platform.clusters for g in c.nodes)
    jobs = [Job("first", 1, 30.0, arrival=5.0 + seed), Job("second", 1, 20.0, after=("first",))]
    end = 5.0 + seed + (30.0 + 20.0) / fastest

    def due(by: float) -> Instance:
        return instance.replace(jobs=(jobs[1].replace(deadline=by), jobs[0]))

    def given(reason: Reason, share: float) -> Instance:
        return due((reason.limit or 0.0) + share * ((reason.amount or 0.0) - (reason.limit or 0.0)))

    return Case(due(end - 1.0), "deadline", "second", given, {})


WAYS = (too_wide, too_hungry, too_choosy, too_loud, too_late)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_an_instance_that_fails_in_one_way_names_it_and_what_is_missing(way, seed):
    case = way(seed)
    (reason,) = coalloc.explain(case.instance, **case.options).reasons
    assert (reason.about, reason.kind, reason.jobs[0]) == ("infeasible", case.kind, case.job)
    assert case.job in reason.sentence
    assert reason.amount > reason.limit
    options = {**case.options, "time_limit": 5.0}
    assert coalloc.solve(case.instance, **options).status == "infeasible"
    # What is missing mends it; a little less does not.
    assert coalloc.explain(case.given(reason, 1.0), **case.options).of("infeasible") == ()
    assert coalloc.solve(case.given(reason, 1.0), **options).schedule is not None
    almost = coalloc.explain(case.given(reason, 0.99), **case.options).of("infeasible")
    assert [found.kind for found in almost] == [case.kind]


def test_jobs_that_cannot_all_end_in_time_together():
    # Three jobs of 100 s on one node have to end by 250 s: 50 s too late.
    instance = Instance(
        Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 1.0)]), [Job(f"J{i}", 1, 100.0) for i in range(3)]
    )
    (reason,) = coalloc.explain(instance, makespan_limit=250.0).reasons
    assert (reason.kind, reason.amount, reason.limit) == ("together", pytest.approx(300.0), 250.0)
    assert coalloc.explain(instance, makespan_limit=300.0).of("infeasible") == ()


def test_jobs_that_cannot_end_in_time_together_are_those_with_the_deadlines():
    # J1 and J2 of 100 s on one node have each to end by 150 s, and J3 at any time: 50 s too late.
    jobs = [Job("J1", 1, 100.0, deadline=150.0), Job("J2", 1, 100.0, deadline=150.0), Job("J3", 1, 10.0)]
    instance = Instance(Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 1.0)]), jobs)
    (reason,) = coalloc.explain(instance).reasons
    assert (reason.kind, reason.jobs, reason.limit) == ("together", ("J1", "J2"), 150.0)
    assert reason.amount == pytest.approx(200.0)


@pytest.mark.extras
def test_what_no_simple_reason_finds_a_complete_method_proves():
    # J1 runs from 0 to 100 s on one of two nodes, for it must. J3 takes both for 50 s and must end by 140 s. By area,
    # 100 + 100 node-seconds of 280, there is room, and each alone is in time.
    jobs = [Job("J1", 1, 100.0, deadline=100.0), Job("J3", 2, 50.0, deadline=140.0)]
    instance = Instance(Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 1.0)]), jobs)
    (reason,) = coalloc.explain(instance, slot=50.0).reasons
    assert (reason.about, reason.kind) == ("infeasible", "proof")
    assert reason.sentence == (
        "no schedule satisfies this irreducible set of conditions: job 'J1' must end by 100 s; job 'J3' must end by "
        "140 s"
    )


def many_ends_by(instant: float) -> Instance:
    """Return an instance of five jobs on two clusters which all have to end by an instant."""
    platform = Platform(
        [Cluster("C1", [NodeGroup(6, power=1.0)], 125.0), Cluster("C2", [NodeGroup(8, power=0.6)], 50.0)]
    )
    shapes = [(6, 1100.0, 11.0), (4, 900.0, 3.0), (2, 1900.0, 9.0), (5, 700.0, 10.0), (3, 1300.0, 5.0)]
    jobs = [Job(f"J{k}", tasks, time, 1.0, bandwidth) for k, (tasks, time, bandwidth) in enumerate(shapes)]
    return Instance(platform, [job.replace(deadline=instant) for job in jobs])


def test_what_was_not_decided_is_said_first():
    # Without deadlines the least makespan is 2733.3 s, and no simple bound says so: without time nothing is proven.
    explanation = coalloc.explain(many_ends_by(2700.0), time_limit=1e-6)
    assert explanation.reasons[0].about == "undecided"
    assert str(explanation).startswith("undecided whether a schedule exists:\n  within 5e-07 s neither a schedule nor")
    assert explanation.of("bound")
