"""What is fixed is kept by every method; starts that have only some of the jobs are completed."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Fixed, Instance, InstanceError, Job, NodeGroup, Platform, Schedule, Shape
from coalloc.problem.fixed import fixings
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.testing import brute_force_oas, small_instance
from coalloc.testing.features import with_features
from tests.small_instances import TINY

PLATFORM = Platform(
    [
        Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=10.0),
        Cluster("C2", [NodeGroup(2, power=1.0)], link_bandwidth=10.0),
    ]
)
INSTANCE = Instance(
    PLATFORM, [Job("A", 2, 10.0, shapes=[Shape(4, 6.0)]), Job("B", 2, 10.0), Job("C", 1, 5.0), Job("D", 3, 7.0)]
)


SMALL = Instance(
    Platform([Cluster(name, [NodeGroup(n, power=1.0)], link_bandwidth=9.0) for name, n in (("C1", 2), ("C2", 1))]),
    [Job("A", 1, 4.0, shapes=[Shape(2, 2.0)]), Job("B", 2, 3.0), Job("D", 2, 3.0)],
)


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
@pytest.mark.parametrize(
    ("fixed", "least", "kept"),
    [
        # D has a task on C1, where there is no room for 3 s before A, from 1 to 3 s.
        (Fixed("A", start=1.0, shape=1, within=["C1"]), 6.0, (1.0, 3.0, None)),
        (Fixed("B", nodes=["C1/1", "C2/0"]), 6.0, (None, None, ["C1/1", "C2/0"])),
        (Fixed("B", start=2.0, nodes=["C1/0-1"]), 8.0, (2.0, 5.0, ["C1/0", "C1/1"])),
    ],
)
def test_what_is_fixed_is_kept(formulation, fixed, least, kept):
    jobs = [job for job in SMALL.jobs if job.id in (fixed.job, "D")]
    result = coalloc.solve(SMALL.replace(jobs=jobs), slot=1.0, formulation=formulation, fixed=[fixed])
    placed = result.schedule[fixed.job]
    found = (placed.start, placed.end, list(placed.nodes))
    assert (result.status, result.objective) == ("optimal", least)
    assert [f for f, k in zip(found, kept, strict=True) if k is not None] == [k for k in kept if k is not None]


def test_a_schedule_that_is_fixed_is_returned():
    schedule = coalloc.solve(INSTANCE, slot=1.0).schedule
    again = coalloc.solve(INSTANCE, slot=1.0, fixed=list(schedule))
    assert (again.status, list(again.schedule)) == ("optimal", list(schedule))


def test_in_continuous_time_a_start_is_what_it_is():
    # 2.5 s until A; B beside it on the two others.
    instance = INSTANCE.replace(jobs=INSTANCE.jobs[:2])
    result = coalloc.solve(instance, fixed=[Fixed("A", start=2.5, shape=1)])
    assert (result.objective, result.schedule["A"].start, result.schedule["A"].end) == (10.0, 2.5, 8.5)


def test_what_cannot_be_kept_is_infeasible():
    fixed = [Fixed("B", start=0.0, within=["C2"]), Fixed("A", start=1.0, within=["C2"])]
    result = coalloc.solve(INSTANCE, slot=1.0, fixed=fixed)
    assert result.status == "infeasible"
    assert result.message.startswith("a complete method proves that no schedule satisfies the fixed assignments")


def test_faults_of_what_is_fixed_come_at_once():
    fixed = [
        Fixed("X"),
        Fixed("A", start=2.5, shape=2),
        Fixed("B", nodes=["C1/0-2"], within=["C3"]),
        Fixed("C", nodes=["C9/0"]),
        Fixed("C", shape=0),
    ]
    with pytest.raises(InstanceError) as caught:
        coalloc.solve(INSTANCE, slot=2.0, fixed=fixed)
    assert str(caught.value).splitlines() == [
        "fixed[0].job: must be a job of the instance, got 'X'",
        "fixed[1].start: must be a multiple of the time slot of 2 s, got 2.5 s",
        "fixed[1].shape: must be at most 1, the last shape of the job, got 2",
        "fixed[2].within[0]: must be a cluster or nodes of the platform, got 'C3'",
        "fixed[2].nodes: must have one processor per task of the job (2), got 3",
        "fixed[3].nodes: must be processors of the platform, got 'C9/0'",
        "fixed: must contain each job once, got 'C' again",
    ]
    cores = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2)], link_bandwidth=1.0)])
    with pytest.raises(InstanceError, match=r"^fixed\[0\]\.nodes: must be complete nodes, got part of a node$"):
        coalloc.solve(Instance(cores, [Job("A", 1, 1.0)]), fixed=[Fixed("A", nodes=["C1/0.1"])])


def test_other_models_refuse_what_is_fixed():
    with pytest.raises(CoallocError, match=r"^fixed requires model 'oas', got 'pas'$"):
        coalloc.solve(INSTANCE, model="pas", fixed=[Fixed("B", start=0.0)])
    with pytest.raises(CoallocError, match=r"^constraints and fixed require a regular objective"):
        coalloc.solve(INSTANCE, objective="energy", fixed=[Fixed("B", start=0.0)])


@pytest.mark.parametrize("seed", range(6))
def test_brute_force_agrees(seed):
    instance, slot = small_instance(seed, TINY)
    rng = np.random.default_rng([seed, 3])
    instance = with_features(instance, rng, ["shapes"]) if seed % 2 else instance
    job = instance.jobs[int(rng.integers(len(instance.jobs)))]
    nodes = [node.name for node in instance.platform.nodes]
    within = [nodes[n] for n in rng.permutation(len(nodes))[: max(1, 2 * len(nodes) // 3)].tolist()]
    start = slot * int(rng.integers(0, 4)) if seed % 3 else None
    if start is not None and start < job.arrival:
        start = None
    fixed = [Fixed(job.id, start, within=within)]
    best = brute_force_oas(instance, slot, constraints=fixings(instance, fixed, slot))
    result = coalloc.solve(instance, slot=slot, fixed=fixed, time_limit=60.0)
    assert (result.status == "infeasible") == (not best.feasible)
    if best.feasible:
        assert (result.status, result.objective) == ("optimal", pytest.approx(best.objective))


def test_a_start_of_some_jobs_is_completed():
    first = coalloc.solve(INSTANCE, slot=1.0).schedule
    result = coalloc.solve(INSTANCE, slot=1.0, start=Schedule(first.placements[1:3], slot=1.0), formulation="mode")
    assert result.message == "start has 2 of 4 jobs; a list schedule added the others"
    assert (result.status, result.trace[0].source) == ("optimal", "warm start, completed")


def test_a_start_that_cannot_be_completed_says_so():
    # B runs at 0 s, and A, which has to end before it starts, has no place.
    jobs = [Job("A", 2, 10.0), Job("B", 2, 10.0, after=["A"])]
    instance = Instance(PLATFORM, jobs)
    start = Schedule([coalloc.Placement("B", 0.0, 10.0, ["C2/0-1"])])
    result = coalloc.solve(instance, start=start)
    assert (result.status, result.objective) == ("optimal", 20.0)
    assert result.message == "start has 1 of 2 jobs; no list schedule could add the others; it was ignored"


def test_a_start_that_is_not_what_is_fixed_is_left_out():
    first = coalloc.solve(INSTANCE, slot=1.0, fixed=[Fixed("A", shape=0)]).schedule
    result = coalloc.solve(INSTANCE, slot=1.0, fixed=[Fixed("A", shape=1)], start=first)
    assert (result.status, result.schedule["A"].shape) == ("optimal", 1)
    assert result.message == "start was ignored: job 'A' does not have its fixed shape"


def counts_of(instance: Instance, nodes: list[str]) -> dict[str, int]:
    """Return how many of some processors are on each group of each cluster, by the names of its nodes."""
    found = {}
    for cluster in instance.platform.clusters:
        first = 0
        for group in cluster.nodes:
            names = [f"{cluster.name}/{n}" for n in range(first, first + group.count)]
            number = sum(name.split(".")[0] in names for name in nodes)
            if number:
                found[f"{cluster.name}/{first}-{first + group.count - 1}" if group.count > 1 else names[0]] = number
            first += group.count
    return found


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
@pytest.mark.parametrize("seed", range(3))
def test_the_counts_of_an_optimal_schedule_leave_it_optimal(seed, formulation):
    instance, slot = small_instance(seed, TINY)
    best = brute_force_oas(instance, slot)
    fixed = [Fixed(p.job, counts=counts_of(instance, list(p.nodes))) for p in best.schedule]
    result = coalloc.solve(instance, slot=slot, formulation=formulation, fixed=fixed)
    assert (result.status, result.objective) == ("optimal", pytest.approx(best.objective))
    found = {p.job: counts_of(instance, list(p.nodes)) for p in result.schedule}
    assert found == {one.job: dict(one.counts) for one in fixed}


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_counts_are_kept_though_others_were_better(formulation):
    # B with a task on each cluster takes as long, but beside it only C2 has room for one more: D of 2 tasks waits.
    jobs = [job for job in SMALL.jobs if job.id in ("B", "D")]
    fixed = [Fixed("B", counts={"C1": 1, "C2": 1})]
    result = coalloc.solve(SMALL.replace(jobs=jobs), slot=1.0, formulation=formulation, fixed=fixed)
    assert (result.status, result.objective) == ("optimal", 6.0)
    assert len([name for name in result.schedule["B"].nodes if name.startswith("C1")]) == 1


@pytest.mark.parametrize(
    ("fixed", "sentence"),
    [
        ([Fixed("A", counts={"C1": 3})], r"counts: must add up to the tasks of the job \(2 or 4\), got 3"),
        ([Fixed("A", counts={"C9": 2})], "counts: must refer to a cluster or nodes of the platform, got 'C9'"),
        ([Fixed("D", counts={"C2": 3})], "counts: must be at most 2, the number of processors of 'C2', got 3"),
        ([Fixed("A", counts={"C1": 1, "C1/0": 1})], "counts: must refer to disjoint sets of nodes"),
        ([Fixed("A", counts={"C1": 2}, nodes=["C1/0-1"])], "counts: must not be given together with nodes"),
        ([Fixed("A", counts={"C1": 2}), Fixed("C", within=["C1/0"])], "must each refer to nodes of one class, but 'C1"),
    ],
)
@pytest.mark.parametrize("function", [coalloc.solve, coalloc.build_model, coalloc.lower_bound, coalloc.explain])
def test_wrong_counts_are_one_line(function, fixed, sentence):
    with pytest.raises(InstanceError, match=sentence) as raised:
        function(INSTANCE, slot=1.0, fixed=fixed)
    assert "\n" not in str(raised.value)


def test_a_model_keeps_what_is_fixed():
    # A holds two of six from 5 to 15 s. B (2 tasks, 10 s) and D (3 tasks, 7 s) do not both fit beside it: 10 + 7 s.
    model = coalloc.build_model(INSTANCE, slot=1.0, fixed=[Fixed("A", start=5.0, shape=0)])
    solve_model(model, SolverLimits(time=60.0), integral=True)
    schedule = coalloc.schedule_of_model(model)
    assert (schedule["A"].start, max(p.end for p in schedule)) == (5.0, 17.0)
    with pytest.raises(CoallocError, match="horizon, constraints and fixed require model 'oas', got 'pas'"):
        coalloc.build_model(INSTANCE, model="pas", fixed=[Fixed("A", start=5.0)])


def test_a_bound_counts_what_is_fixed():
    # A starts at 20 s, and takes 6 s at the least.
    assert coalloc.lower_bound(INSTANCE, fixed=[Fixed("A", start=20.0)]) == pytest.approx(26.0)
    assert coalloc.lower_bound(INSTANCE, fixed=[Fixed("A", start=20.0, shape=0)]) == pytest.approx(30.0)


def test_explain_knows_what_is_fixed():
    fixed = [Fixed("A", start=20.0, shape=0, counts={"C2": 2})]
    (reason,) = coalloc.explain(INSTANCE, slot=1.0, fixed=fixed).of("bound")
    assert (reason.kind, reason.amount) == ("longest-job", 30.0)
    # Both on the two nodes of C2 at one time.
    fixed += [Fixed("B", start=21.0, within=["C2"])]
    (reason,) = coalloc.explain(INSTANCE, slot=1.0, fixed=fixed).of("infeasible")
    assert reason.kind == "proof"
    schedule = coalloc.solve(INSTANCE, slot=1.0).schedule
    (reason,) = coalloc.explain(INSTANCE, schedule, fixed=[Fixed("A", start=20.0)]).of("invalid")
    assert schedule["A"].start != 20.0
    assert reason.sentence == f"job 'A' starts at {schedule['A'].start:g} s, not at its fixed start 20 s"
