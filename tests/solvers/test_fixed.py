"""What is fixed is kept by every method; starts that have only some of the jobs are completed."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Fixed, Instance, InstanceError, Job, NodeGroup, Platform, Schedule, Shape
from coalloc.fixed import fixings
from coalloc.testing import brute_force_oas, small_instance
from coalloc.testing.words import with_words
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
    assert result.message.startswith("a complete method proves that no schedule keeps what is fixed")


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
        "fixed[1].start: must be a whole number of slots of 2 s, got 2.5",
        "fixed[1].shape: must be at most 1 (the last shape of the job), got 2",
        "fixed[2].within[0]: must be a cluster, or nodes, of the platform, got 'C3'",
        "fixed[2].nodes: must be a processor for each task of the job (2), got 3",
        "fixed[3].nodes: must be processors of the platform, got 'C9/0'",
        "fixed: must have each job once, got 'C' again",
    ]
    cores = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2)], link_bandwidth=1.0)])
    with pytest.raises(InstanceError, match=r"^fixed\[0\]\.nodes: must be whole nodes, got a part of one$"):
        coalloc.solve(Instance(cores, [Job("A", 1, 1.0)]), fixed=[Fixed("A", nodes=["C1/0.1"])])


def test_other_models_refuse_what_is_fixed():
    with pytest.raises(CoallocError, match=r"^fixed is for model 'oas', not for 'pas'$"):
        coalloc.solve(INSTANCE, model="pas", fixed=[Fixed("B", start=0.0)])
    with pytest.raises(CoallocError, match=r"^constraints and fixed placements are for regular objectives"):
        coalloc.solve(INSTANCE, objective="energy", fixed=[Fixed("B", start=0.0)])


@pytest.mark.parametrize("seed", range(6))
def test_brute_force_agrees(seed):
    instance, slot = small_instance(seed, TINY)
    rng = np.random.default_rng([seed, 3])
    instance = with_words(instance, rng, ["shapes"]) if seed % 2 else instance
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
    assert result.message == "start has 2 of 4 jobs, the others were placed by a list"
    assert (result.status, result.trace[0].source) == ("optimal", "start, completed")


def test_a_start_that_cannot_be_completed_says_so():
    # B runs at 0 s, and A, which has to end before it starts, has no place.
    jobs = [Job("A", 2, 10.0), Job("B", 2, 10.0, after=["A"])]
    instance = Instance(PLATFORM, jobs)
    start = Schedule([coalloc.Placement("B", 0.0, 10.0, ["C2/0-1"])])
    result = coalloc.solve(instance, start=start)
    assert (result.status, result.objective) == ("optimal", 20.0)
    assert result.message == "start has 1 of 2 jobs, no list placed the others beside them: it was left out"


def test_a_start_that_is_not_what_is_fixed_is_left_out():
    first = coalloc.solve(INSTANCE, slot=1.0, fixed=[Fixed("A", shape=0)]).schedule
    result = coalloc.solve(INSTANCE, slot=1.0, fixed=[Fixed("A", shape=1)], start=first)
    assert (result.status, result.schedule["A"].shape) == ("optimal", 1)
    assert result.message == "start was left out: job 'A' is not in the shape that is fixed"
