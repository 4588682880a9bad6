"""Countable resources over time: jobs start where what they take is free, reservations keep it, and it is checked."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.extend import Start
from coalloc.testing import small_feature_instance
from coalloc.testing.features import with_features

PLATFORM = Platform([Cluster("C1", [NodeGroup(4, 1.0)], link_bandwidth=100.0)], resources={"licences": 2.0})
ONE = {"licences": 1.0}
TWO = {"licences": 2.0}


def starts(instance: Instance, policy: object, **options: object) -> dict[str, float]:
    """Return when each job starts, s."""
    return {placement.job: placement.start for placement in coalloc.simulate(instance, policy, **options).schedule}


JOBS = [
    Job("A", 1, 10.0, resources=ONE),
    Job("B", 1, 10.0, resources=TWO),  # waits for A
    Job("C", 1, 20.0, task_resources=ONE),  # would fit now, and delay B
    Job("D", 1, 5.0, task_resources=ONE),  # fits and ends before A does
    Job("E", 1, 30.0),  # takes nothing
]


@pytest.mark.parametrize("policy", ["fcfs", "fpfs", "easy", "conservative"])
def test_when_jobs_start_by_what_they_take(policy: str) -> None:
    # First come: B waits for A, the others for B, and C and D share the two licences after it.
    # Who passes it: C starts at once, so that D waits for A, and B for C.
    # Backfilling: B is kept its licences at 10 s, so that D and E pass it alone.
    assert (
        starts(Instance(PLATFORM, JOBS), policy)
        == {
            "fcfs": {"A": 0.0, "B": 10.0, "C": 20.0, "D": 20.0, "E": 20.0},
            "fpfs": {"A": 0.0, "B": 20.0, "C": 0.0, "D": 10.0, "E": 0.0},
            "easy": {"A": 0.0, "B": 10.0, "C": 20.0, "D": 0.0, "E": 0.0},
            "conservative": {"A": 0.0, "B": 10.0, "C": 20.0, "D": 0.0, "E": 0.0},
        }[policy]
    )


def test_mesd_and_oas_plan_with_resources() -> None:
    # One after the other, for each takes both licences.
    jobs = [Job(name, 1, seconds, resources=TWO) for name, seconds in (("A", 10.0), ("B", 20.0))]
    for policy in ("mesd", "oas"):
        assert sorted(starts(Instance(PLATFORM, jobs), policy).values()) in ([0.0, 10.0], [0.0, 20.0])


def test_what_runs_and_what_is_to_come_hold_theirs() -> None:
    # R has both licences until 5 s, S from 12 s to 20 s: A, of 7 s, fits between them, B, of 8 s, does not.
    running = [
        RunningJob(Job("R", 1, 5.0, resources=TWO), ["C1/0"], 5.0),
        RunningJob(Job("S", 1, 8.0, resources=TWO), ["C1/1"], 20.0, start=12.0),
    ]
    for policy in ("fcfs", "easy", "conservative"):
        for job, seconds, start in (("A", 7.0, 5.0), ("B", 8.0, 20.0)):
            instance = Instance(PLATFORM, [Job(job, 1, seconds, resources=ONE)], running)
            assert starts(instance, policy) == {job: start}


def test_what_still_runs_when_a_reservation_takes_its_resources_is_killed() -> None:
    # By its estimate A is over before S needs both licences at 12 s; it is not.
    running = [RunningJob(Job("S", 1, 8.0, resources=TWO), ["C1/1"], 20.0, start=12.0)]
    job = Job("A", 1, 15.0, estimate=10.0, resources=ONE)
    (placement,) = coalloc.simulate(Instance(PLATFORM, [job], running), "fcfs").schedule
    assert (placement.end, placement.outcome) == (12.0, "killed")


def test_nodes_and_clusters() -> None:
    # C1 has 2 W for its nodes, and each node of C2 a GPU for its two cores: G and H meet on no node.
    clusters = [
        Cluster("C1", [NodeGroup(4, 1.0)], 100.0, resources={"watts": 2.0}),
        Cluster("C2", [NodeGroup(2, 1.0, cores=2, resources={"gpus": 1.0})], 100.0),
    ]
    jobs = [Job(name, 1, 10.0, task_resources={"gpus": 1.0}) for name in "GHI"]
    jobs += [Job(name, 1, 10.0, task_resources={"watts": 1.5}) for name in "VW"]
    instance = Instance(Platform(clusters), jobs)
    for policy in ("fpfs", "easy", "conservative", "mesd"):
        schedule = coalloc.simulate(instance, policy).schedule
        first = {p.nodes[0].partition(".")[0] for p in schedule if p.job in "GHI" and p.start == 0.0}
        assert first == {"C2/0", "C2/1"}
        assert sorted(p.start for p in schedule if p.job in "VW") == [0.0, 10.0]


def test_one_node_after_the_other() -> None:
    # H finds the GPU of the first node taken, I both.
    nodes = NodeGroup(2, 1.0, cores=2, resources={"gpus": 1.0})
    jobs = [Job(name, 1, 10.0, task_resources={"gpus": 1.0}) for name in "GHI"]
    schedule = coalloc.simulate(Instance(Platform([Cluster("C1", [nodes], 1.0)]), jobs), "node-list").schedule
    assert [(p.start, *p.nodes) for p in schedule] == [(0.0, "C1/0.0"), (0.0, "C1/1.0"), (10.0, "C1/0.0")]


class AtOnce:
    """Start every job on the first processors, whatever it takes."""

    scope = "platform"

    def decide(self, state):
        return [Start(job.id, (job.tasks,)) for job in state.queue]


def test_a_start_that_takes_too_much_is_refused() -> None:
    with pytest.raises(
        CoallocError, match="the policy started job 'B', which requires more than the free amount of licences"
    ):
        coalloc.simulate(Instance(PLATFORM, JOBS[:2]), AtOnce())


@pytest.mark.parametrize(("policy", "why"), [("grid", "all processors of a site"), ("loras", "tasks and memory")])
def test_what_does_not_know_resources_says_why(policy: str, why: str) -> None:
    with pytest.raises(CoallocError, match=f"does not support 'resources', which this instance uses: .*{why}"):
        coalloc.simulate(Instance(PLATFORM, JOBS), policy)


def test_a_job_that_fits_nowhere_in_its_scope_is_named() -> None:
    clusters = [Cluster(name, [NodeGroup(2, 1.0)], 100.0, resources={"watts": 1.0}) for name in ("C1", "C2")]
    instance = Instance(Platform(clusters), [Job("A", 2, 1.0, task_resources={"watts": 1.0})])
    assert starts(instance, "easy") == {"A": 0.0}
    with pytest.raises(
        CoallocError, match="job 'A' requires 'watts': no cluster suffices for more than 1 of its 2 tasks"
    ):
        coalloc.simulate(instance, "easy", scope="cluster")


@pytest.mark.parametrize("seed", range(4))
def test_random_runs_pass_the_checker(seed: int) -> None:
    # Every run is checked before it is returned.
    instance, _ = small_feature_instance(seed, features=("unavailable", "start", "eligible", "times"))
    instance = with_features(instance, np.random.default_rng([seed, 3]), ["resources"])
    for policy in ("fpfs", "easy", "conservative", "mesd"):
        assert len(coalloc.simulate(instance, policy).schedule) == len(instance.jobs)
