"""Policies that choose among shapes: the one that ends first, by what is known at the start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, Shape, Window
from coalloc.problem.allocation import Scope
from coalloc.simulator.policy import Start, State
from coalloc.testing import small_feature_instance

POLICIES = ["easy", "mesd"]


def four_nodes(*jobs: Job, windows: tuple[Window, ...] = (), powers: tuple[float, ...] = (1.0,)) -> Instance:
    """Return jobs on a cluster of four nodes, in equal parts of each power."""
    groups = [NodeGroup(4 // len(powers), power) for power in powers]
    return Instance(Platform([Cluster("C1", groups, 1000.0)], unavailable=windows), jobs)


def taken(instance: Instance, policy: Any, **options: Any) -> dict[str, tuple[int, float, float]]:
    """Return shape, start and end (s) of each job."""
    schedule = coalloc.simulate(instance, policy, **options).schedule
    return {p.job: (p.shape, p.start, p.end) for p in schedule}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_takes_the_shape_that_ends_first(policy: str) -> None:
    job = Job("J1", 2, 100.0, shapes=[Shape(4, 60.0), Shape(1, 180.0)])
    assert taken(four_nodes(job), policy, shapes="ends-first") == {"J1": (1, 0.0, 60.0)}
    assert taken(four_nodes(job), policy) == {"J1": (0, 0.0, 100.0)}


@pytest.mark.parametrize("policy", POLICIES)
def test_it_ends_first_by_estimate(policy: str) -> None:
    # The user takes 4 tasks for 120 s and 2 for 100: the 60 s that they would take nobody knows.
    job = Job("J1", 2, 100.0, shapes=[Shape(4, 60.0, estimate=120.0)])
    assert taken(four_nodes(job), policy, shapes="ends-first")["J1"] == (0, 0.0, 100.0)
    # What the wide one takes is what it takes, though it was estimated at half.
    job = Job("J1", 2, 100.0, shapes=[Shape(4, 120.0, estimate=60.0)])
    assert taken(four_nodes(job), policy, shapes="ends-first")["J1"] == (1, 0.0, 120.0)


def test_easy_waits_for_the_shape_that_ends_first() -> None:
    # J1 holds three nodes until 50 s. J2 alone on the fourth ends at 200 s, on all of them 50 + 60 s: it waits. J3 ends
    # by then on the fourth node. Had J2 to take 100 s on one node, that would be first.
    first = Job("J1", 3, 50.0)
    jobs = [first, Job("J2", 4, 60.0, shapes=[Shape(1, 200.0)]), Job("J3", 1, 50.0)]
    assert taken(four_nodes(*jobs), "easy", shapes="ends-first") == {
        "J1": (0, 0.0, 50.0),
        "J2": (0, 50.0, 110.0),
        "J3": (0, 0.0, 50.0),
    }
    jobs[1] = jobs[1].replace(shapes=[Shape(1, 100.0)])
    assert taken(four_nodes(*jobs[:2]), "easy", shapes="ends-first")["J2"] == (1, 0.0, 100.0)


def test_easy_fills_a_gap_with_a_narrow_shape() -> None:
    # J1 holds three nodes until 50 s, J2 is to have all four from 50 to 80 s. J3 takes one node for 40 s: it ends
    # before that; its own 2 tasks would be done at 80 + 20 s.
    jobs = [Job("J1", 3, 50.0), Job("J2", 4, 30.0), Job("J3", 2, 20.0, shapes=[Shape(1, 40.0)])]
    assert taken(four_nodes(*jobs), "easy", shapes="ends-first")["J3"] == (1, 0.0, 40.0)
    assert taken(four_nodes(*jobs), "easy")["J3"] == (0, 80.0, 100.0)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_shape_ends_before_a_window(policy: str) -> None:
    # All is closed from 70 s to 500 s: only the wide shape ends before.
    windows = (Window("C1", start=70.0, end=500.0),)
    job = Job("J1", 2, 100.0, shapes=[Shape(4, 60.0)])
    assert taken(four_nodes(job, windows=windows), policy, shapes="ends-first")["J1"] == (1, 0.0, 60.0)
    assert taken(four_nodes(job, windows=windows), policy)["J1"] == (0, 500.0, 600.0)


def test_mesd_plans_each_job_in_the_shape_that_runs_shortest_on_what_is_free() -> None:
    # Two nodes of power 1, two of 0.5. J1: 60 s on the fast ones; on all four 50 / 0.5 = 100 s. J2: one slow node 80 s.
    # Neither loses anything on the free nodes, so J1 comes first; J2 has slow ones left.
    jobs = [Job("J1", 2, 60.0, shapes=[Shape(4, 50.0)]), Job("J2", 1, 40.0)]
    instance = four_nodes(*jobs, powers=(1.0, 0.5))
    assert taken(instance, "mesd", shapes="ends-first") == {"J1": (0, 0.0, 60.0), "J2": (0, 0.0, 80.0)}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(8))
def test_every_run_passes_the_checker(policy: str, seed: int) -> None:
    # simulate checks what it returns; where no job has several shapes the option changes nothing.
    instance, _ = small_feature_instance(seed, features=("shapes", "unavailable", "times", "start"))
    run = coalloc.simulate(instance, policy, shapes="ends-first")
    assert coalloc.check(instance, run.schedule, links="shared", deadlines="report") == []
    rigid = instance.replace(jobs=[job.replace(shapes=()) for job in instance.jobs])
    assert coalloc.simulate(rigid, policy, shapes="ends-first").schedule == coalloc.simulate(rigid, policy).schedule


class Narrow:
    """A policy of one's own that starts every job in its narrowest shape, or with as many processors as it is told."""

    scope: ClassVar[Scope] = "platform"
    chooses_shapes = True

    def __init__(self, processors: int | None = None) -> None:
        self.processors = processors

    def decide(self, state: State) -> Iterable[Start]:
        assert state.is_moldable
        for job in state.queue:
            yield Start(job.id, (self.processors or min(shape.tasks for shape in job.in_shapes),))


def test_a_policy_of_ones_own_chooses_by_the_number_of_processors() -> None:
    job = Job("J1", 2, 100.0, shapes=[Shape(4, 60.0), Shape(1, 180.0)])
    assert taken(four_nodes(job), Narrow()) == {"J1": (2, 0.0, 180.0)}
    with pytest.raises(CoallocError, match="gave job 'J1' 3 processors, but its shapes have 2 or 4 or 1 tasks"):
        coalloc.simulate(four_nodes(job), Narrow(3))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"task_resources": {"licences": 1}}, "the capacity suffices for 3 of 4 tasks"),
        ({"memory": 50.0}, "no platform suffices for more than 2 of its 4 tasks"),
    ],
)
def test_a_first_shape_that_asks_too_much_is_refused_with_what_takes_another(asked, sentence):
    # Three licences, and memory for a task on two of four nodes: 4 tasks never fit, 2 do, and take 180 s.
    groups = [NodeGroup(2, 1.0, memory=50.0), NodeGroup(2, 1.0, memory=10.0)]
    platform = Platform([Cluster("C1", groups, 1000.0)], resources={"licences": 3})
    instance = Instance(platform, [Job("J1", 4, 100.0, shapes=[Shape(2, 180.0)], **asked)])
    remedy = 'easy or mesd with shapes="ends-first" (--parameter shapes=ends-first)'
    for policy in ("fcfs", "easy"):
        with pytest.raises(CoallocError) as caught:
            coalloc.simulate(instance, policy)
        assert str(caught.value).endswith(
            f"{sentence}; policy {policy!r} uses the first shape of a job; to use others: {remedy}"
        )
    assert taken(instance, "easy", shapes="ends-first") == {"J1": (1, 0.0, 180.0)}


def test_a_refusal_that_no_narrower_shape_avoids_is_as_without_shapes():
    instance = four_nodes(Job("J1", 2, 100.0, shapes=[Shape(4, 60.0)]))
    with pytest.raises(CoallocError, match=r"^job 'J1' has 2 tasks, but the largest node has 1 processors$"):
        coalloc.simulate(instance, "node-list")
