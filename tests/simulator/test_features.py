"""Policies keep to the features of an instance, or refuse; what is waited for is derived by hand."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, RunningJob
from coalloc.extend import Start
from coalloc.heuristics.registry import POLICIES
from coalloc.simulator.policy import ENFORCED, ListsFeatures
from coalloc.testing import SmallSize, small_feature_instance

DEDICATED = [name for name in POLICIES if name != "loras"]
SIZE = SmallSize(max_jobs=8, max_slots=200)
WATTS = {"idle_watts": 1.0, "static_watts": 2.0, "core_watts": 1.0}
TWO = Platform(
    [
        Cluster("C1", [NodeGroup(1, power=1.0, **WATTS)], link_bandwidth=10.0),
        Cluster("C2", [NodeGroup(1, power=0.5, **WATTS, features=["gpu"])], link_bandwidth=10.0),
    ]
)
"""A fast node in C1, one of half the power with a GPU in C2."""


def placements(instance: Instance, name: str, **options: object) -> dict[str, Placement]:
    return {p.job: p for p in coalloc.simulate(instance, name, **options).schedule}


def starts(instance: Instance, name: str, **options: object) -> dict[str, float]:
    return {job: p.start for job, p in placements(instance, name, **options).items()}


EXPECTED = ("link", "runs already", "must be within one site", "suffices for")
EXPECTED += ("but the largest platform has", "but the largest node has", "start together", "because of their lags")
"""What a policy may refuse: shared links, jobs that find too little room where they may be, jobs that run already.

Of lags: jobs that start together and are too large for that, or differ too much; jobs that wait for each other."""


def narrow(job):
    """Return a job of one task, in one cluster, which has one slice if any."""
    shapes = [shape for shape in job.shapes if shape.tasks > 1]
    spread = {name: 1 for name in ("min_tasks_per_cluster", "slices") if getattr(job, name) is not None}
    return job.replace(tasks=1, shapes=shapes, **spread)


@pytest.mark.parametrize("name", DEDICATED)
def test_no_run_breaks_a_feature(name):
    """Runs are checked; a policy that ignored a feature would ask for starts that are refused."""
    num_runs, refusals = 0, []
    made = POLICIES[name].make
    supported = made.supported_features if isinstance(made, ListsFeatures) else ENFORCED
    for seed in range(25):
        instance = with_watts(small_feature_instance(seed, SIZE, supported)[0])
        if name == "grid":
            instance = instance.replace(platform=of_one_power(instance.platform))
        if name in ("grid", "pcbe", "node-list"):
            instance = instance.replace(jobs=list(map(narrow, instance.jobs)))
        passes = ("batch", "per-event")[seed % 2]
        try:
            run = coalloc.simulate(instance, name, passes=passes, **({"work_limit": 300} if name == "oas" else {}))
        except CoallocError as error:
            refusals.append(str(error))
            continue
        num_runs += 1
        late = {v.jobs for v in coalloc.check(instance, run.schedule, links="shared") if v.rule == "deadline"}
        assert run.metrics["deadlines_missed"] == len(late)
    assert num_runs >= 5
    assert [refusal for refusal in refusals if not any(part in refusal for part in EXPECTED)] == []


def with_watts(instance: Instance) -> Instance:
    clusters = [c.replace(nodes=[g.replace(**WATTS) for g in c.nodes]) for c in instance.platform.clusters]
    return instance.replace(platform=instance.platform.replace(clusters=clusters))


def of_one_power(platform: Platform) -> Platform:
    return platform.replace(
        clusters=[c.replace(nodes=[g.replace(power=1.0, availability=1.0) for g in c.nodes]) for c in platform.clusters]
    )


@pytest.mark.parametrize("name", DEDICATED)
def test_a_job_arrives_for_the_scheduler_when_those_before_it_have_ended(name):
    # Both nodes are free, but B comes after A, and C after B: each takes 10 s or 20 s.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, after=["A"]), Job("C", 1, 10.0, after=["B", "A"])]
    found = placements(Instance(TWO, jobs), name)
    assert found["B"].start == found["A"].end
    assert found["C"].start == found["B"].end


@pytest.mark.parametrize("passes", ["batch", "per-event"])
def test_a_job_waits_for_what_runs_already_and_for_its_own_arrival(passes):
    jobs = [Job("A", 1, 10.0, after=["R"]), Job("B", 1, 10.0, after=["R"], arrival=7.0)]
    instance = Instance(TWO, jobs, [RunningJob(Job("R", 1, 5.0), ["C1/0"], 5.0)])
    assert starts(instance, "fcfs", passes=passes) == {"A": 5.0, "B": 7.0}


def test_a_job_that_was_killed_has_ended():
    # A is killed at its estimate, 4 s.
    jobs = [Job("A", 1, 10.0, estimate=4.0, eligible=["C1"]), Job("B", 1, 10.0, after=["A"], eligible=["C1"])]
    assert starts(Instance(TWO, jobs), "easy", kill=True) == {"A": 0.0, "B": 4.0}


@pytest.mark.parametrize("name", [name for name in DEDICATED if name != "grid"])
def test_a_job_is_where_it_may_be(name):
    # A and B both need the GPU, though C1/0 is free and faster; C may be nowhere else than on that.
    jobs = [
        Job("A", 1, 10.0, requires=["gpu"]),
        Job("B", 1, 10.0, requires=["gpu"]),
        Job("C", 1, 10.0, eligible=["C1"]),
    ]
    found = placements(Instance(TWO, jobs), name, **({"skip": True} if name == "list" else {}))
    assert {found["A"].nodes[0], found["B"].nodes[0], found["C"].nodes[0]} == {"C2/0", "C1/0"}
    assert sorted((found["A"].start, found["B"].start)) == [0.0, 20.0]
    # C waits behind B there; a package of A and B by count leaves out B, and C was not selected.
    in_order = ("fcfs", "sjf", "bjf", "spt", "lpt", "node-list", "pas", "flux")
    assert found["C"].start == (20.0 if name in in_order else 0.0)


def test_a_broker_sends_a_job_to_a_cluster_that_it_may_use():
    jobs = [Job(f"J{n}", 1, 10.0, eligible=["C2"]) for n in range(2)]
    assert starts(Instance(TWO, jobs), "grid") == {"J0": 0.0, "J1": 20.0}


def test_a_job_that_may_be_nowhere_large_enough_is_refused():
    instance = Instance(TWO, [Job("A", 2, 10.0, eligible=["C2"], requires=["gpu"])])
    with pytest.raises(CoallocError) as caught:
        coalloc.simulate(instance, "fcfs")
    assert str(caught.value).startswith(
        "job 'A' may only use 'C2' and 'gpu': no platform suffices for more than 1 of its 2 tasks"
    )


def test_a_policy_of_ones_own_is_told_where_a_job_may_not_be():
    class First:
        scope = "platform"

        def decide(self, state):
            return [Start(state.queue[0].id, nodes=("C1/0",))]

    with pytest.raises(
        CoallocError, match="gave job 'A' 1 processors of node class 0 in cluster 'C1', which the job may not use"
    ):
        coalloc.simulate(Instance(TWO, [Job("A", 1, 10.0, eligible=["C2"])]), First())


def test_deadlines_are_counted_and_not_enforced():
    # One after the other on C1/0: ends at 10, 20 and 30 s.
    jobs = [Job(f"J{n}", 1, 10.0, deadline=20.0, eligible=["C1"]) for n in range(3)]
    run = coalloc.simulate(Instance(TWO, jobs), "fcfs")
    assert run.metrics["deadlines_missed"] == 1.0
    assert [v.rule for v in coalloc.check(run.instance, run.schedule)] == ["deadline"]
