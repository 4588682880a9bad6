"""Growth by plans: what starts when, by hand; the schedules of the reference to the last digit, whatever is shared."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.checker import check
from coalloc.documents.errors import InternalError
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import Problem, discretise
from coalloc.rules.serial_sgs import FILLING_RULES, Generation
from coalloc.schedule import schedule_of
from coalloc.solvers.bounds.area import efficiencies_at
from coalloc.solvers.search.growth import Growth, GrowthPlans, Partials
from tests.small_instances import slotted_instances
from tests.solvers.search.parallel_reference import ParallelGeneration, PartialSchedule, Plan
from tests.strategies import LAW

LINKS = {"jobs": 20, "max_tasks": 6, "bsbw_low": 0.1, "link_bandwidth": 100.0}
TREE = {"jobs": 30, "clusters": 4, "nodes": 3, "switch_bandwidth": 60.0}
POWERS = {"jobs": 30, "clusters": 6, "nodes": 2, "interarrival_mean": 2e5}


def with_memory(seed: int) -> Instance:
    """Return jobs on nodes of four cores that have too little memory for four large tasks, beside a running job."""
    rng = np.random.default_rng(seed)
    groups = NodeGroup(3, 1.0, cores=4, memory=100.0), NodeGroup(2, 0.5, cores=4, memory=60.0)
    platform = Platform((Cluster("C1", groups[:1], 30.0), Cluster("C2", groups[1:], 20.0)))
    jobs = tuple(
        Job(f"J{i}", int(rng.integers(1, 9)), float(rng.integers(1, 50)), 0.5, 5.0, memory=float(rng.integers(0, 50)))
        for i in range(20)
    )
    running = RunningJob(Job("R", 2, 50.0), ("C1/0.0", "C2/0.1"), 17.0)
    return Instance(platform, jobs, (running,))


def plans(problem: Problem, number: int, rng: np.random.Generator) -> GrowthPlans:
    """Return so many plans at random."""
    span = problem.horizon_in_turn / 4.0
    return GrowthPlans(
        rng.integers(len(problem.jobs), size=(number, len(problem.jobs))).astype(float),
        rng.uniform(0.2, 1.0, number),
        rng.uniform(0.0, 1.0, number) * span,
        rng.uniform(0.2, 1.2, number) * span,
        rng.integers(len(FILLING_RULES), size=number),
    )


def plan_of(of_all: GrowthPlans, number: int) -> Plan:
    """Return one of some plans."""
    columns = of_all.thresholds, of_all.relaxed, of_all.latest, of_all.rules
    order = np.argsort(-of_all.urgencies[number], kind="stable").tolist()
    return Plan(tuple(order), *(column[number].item() for column in columns))


def costs(problem: Problem, rng: np.random.Generator) -> list[list[float]]:
    """Return one at random for each level."""
    return [rng.uniform(0.2, 1.0, len(levels)).tolist() for levels in problem.levels]


def one_plan(order: tuple[int, ...], **fields: Any) -> GrowthPlans:
    """Return one plan that lets every level start, but for what fields say; slow processors first."""
    fields = {"threshold": 0.0, "relaxed": math.inf, "latest": math.inf, "rule": 1} | fields
    return GrowthPlans(-np.argsort([order]).astype(float), *(np.array([value]) for value in fields.values()))


def begun(growth: Growth) -> Partials:
    """Return one schedule in which nothing has started."""
    return growth.begun(np.zeros((1, 1)))


def by_plans(growth: Growth, of: Partials, parents: Sequence[int], ways: GrowthPlans, **limits: float) -> Partials:
    """Return what becomes of schedules by plans; traits are the numbers of these."""
    return growth.grown(of, np.array(parents), ways, np.arange(len(parents), dtype=float)[None], **limits)


def grown(growth: Growth, plan: GrowthPlans, of: Partials | None = None, **limits: float) -> dict[int, float] | None:
    """Return the ends of the jobs that have started in what becomes of a schedule by a plan, s; None where left out."""
    found = by_plans(growth, of or begun(growth), [0], plan, **limits)
    return {a.job: a.end for a in found.assignments(0)} if len(found.starts) else None


def two_speeds() -> Problem:
    """Return two jobs of one task, 4 s and 8 s, on a fast node and one at half speed (8 s and 16 s)."""
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    return discretise(Instance(platform, (Job("J0", 1, 4.0), Job("J1", 1, 8.0))), None)


def test_each_job_takes_its_most_efficient_level() -> None:
    # J0 prefers the slow node (8 s), J1 the fast one (8 s).
    assert grown(Growth(two_speeds(), [[2.0, 1.0], [1.0, 2.0]]), one_plan((0, 1))) == {0: 8.0, 1: 8.0}


def test_a_job_waits_for_a_level_above_the_threshold() -> None:
    growth = Growth(two_speeds(), [[1.0, 2.0], [1.0, 2.0]])
    # Fast 0..4, then fast 4..12, instead of slow 0..16.
    assert grown(growth, one_plan((0, 1), threshold=0.9)) == {0: 4.0, 1: 12.0}
    assert grown(growth, one_plan((0, 1))) == {0: 4.0, 1: 16.0}
    # No level but the fastest may end after 12 s; or any level will do from the beginning.
    assert grown(growth, one_plan((0, 1), latest=12.0)) == {0: 4.0, 1: 12.0}
    assert grown(growth, one_plan((0, 1), threshold=0.9, relaxed=0.0)) == {0: 4.0, 1: 16.0}


def test_a_threshold_that_no_level_reaches_gives_way() -> None:
    assert grown(Growth(two_speeds(), [[1.0, 2.0], [1.0, 2.0]]), one_plan((0, 1), threshold=1.1)) == {0: 4.0, 1: 16.0}


def test_a_schedule_that_is_no_better_is_left_out() -> None:
    growth = Growth(two_speeds(), [[2.0, 1.0], [1.0, 2.0]])
    assert grown(growth, one_plan((0, 1)), before=8.0) is None
    assert grown(growth, one_plan((0, 1)), before=8.1) == {0: 8.0, 1: 8.0}


def test_a_schedule_goes_on_by_another_plan_and_stays_as_it_is() -> None:
    # Up to 4 s only the fast node is used, by J0, 0..4; then by J1, 4..12.
    growth = Growth(two_speeds(), [[1.0, 2.0], [1.0, 2.0]])
    partials = by_plans(growth, begun(growth), [0], one_plan((0, 1), threshold=0.9), until=4.0)
    assert (partials.starts.tolist(), partials.ends.tolist()) == ([[0.0, math.inf]], [[4.0, math.inf]])
    assert grown(growth, one_plan((0, 1)), partials) == {0: 4.0, 1: 12.0}
    assert grown(growth, one_plan((0, 1)), partials, before=12.0) is None
    assert {a.job: a.end for a in partials.chosen([0, 0]).assignments(1)} == {0: 4.0}


@LAW
@given(slotted_instances(), st.integers(0, 2**32 - 1), st.booleans())
def test_every_schedule_is_valid(drawn: tuple[Instance, float], seed: int, continuous: bool) -> None:
    instance, slot = drawn
    problem = discretise(instance, None if continuous else slot)
    rng = np.random.default_rng(seed)
    growth = Growth(problem, costs(problem, rng))
    found = by_plans(growth, begun(growth), [0, 0, 0], plans(problem, 3, rng))
    assert found.traits.tolist() == [[0, 1, 2]]
    for number in range(3):
        assignments = found.assignments(number)
        assert sorted(a.job for a in assignments) == list(range(len(problem.jobs)))
        assert check(instance, schedule_of(problem, assignments)) == []


@pytest.mark.parametrize("slot", [None, 3e4])
@pytest.mark.parametrize("parameters", [LINKS, TREE, POWERS], ids=["links", "tree", "powers"])
def test_the_engine_makes_the_schedules_of_the_reference(parameters: dict[str, float], slot: float | None) -> None:
    assert_equal(discretise(coalloc.generate("thesis-oas", seed=1, **parameters), slot), before=math.inf)


@pytest.mark.parametrize("seed", range(3))
def test_so_it_does_where_memory_is_shared_and_jobs_run_already(seed: int) -> None:
    problem = discretise(with_memory(seed), None)
    assert problem.contended_memories
    assert problem.busy
    assert_equal(problem, before=math.inf)


@pytest.mark.parametrize("seed", range(2))
def test_so_it_does_where_resources_are_shared(seed: int) -> None:
    instance, rng = with_memory(seed), np.random.default_rng(seed)
    jobs = [
        job.replace(resources={"licences": float(rng.integers(3))}, task_resources={"watts": float(rng.integers(1, 5))})
        for job in instance.jobs
    ]
    clusters = [cluster.replace(resources={"watts": 30.0}) for cluster in instance.platform.clusters]
    platform = instance.platform.replace(clusters=clusters, resources={"licences": 4.0})
    problem = discretise(instance.replace(platform=platform, jobs=jobs), None)
    assert len(problem.contended_stocks) == 3
    assert_equal(problem, before=math.inf)


def test_so_it_does_where_jobs_may_have_several_shapes() -> None:
    platform = Platform(
        (Cluster("C1", (NodeGroup(3, 1.0), NodeGroup(2, 0.5)), 10.0), Cluster("C2", (NodeGroup(4, 0.7),), 9.0))
    )
    rng = np.random.default_rng(0)
    jobs = tuple(
        Job(f"J{i}", 2, seconds, 0.5, 4.0, shapes=(coalloc.Shape(4, 0.6 * seconds), coalloc.Shape(1, 1.7 * seconds)))
        for i, seconds in enumerate(rng.uniform(5.0, 40.0, 12))
    )
    assert_equal(discretise(Instance(platform, jobs), None), before=math.inf)


def test_so_it_does_where_schedules_that_end_late_are_given_up() -> None:
    problem = discretise(coalloc.generate("thesis-oas", seed=2, **TREE), None)
    ends = assert_equal(problem, before=math.inf)
    assert_equal(problem, before=float(np.median(ends)))


@pytest.mark.parametrize("seed", range(2))
def test_so_it_does_where_spreads_over_clusters_are_restricted(seed: int) -> None:
    # Python fills such jobs, and the engine asks it to.
    rng = np.random.default_rng(seed)
    groups = (NodeGroup(3, 1.0), NodeGroup(2, 0.5)), (NodeGroup(5, 0.7),), (NodeGroup(5, 1.0),)
    platform = Platform(tuple(Cluster(f"C{c}", group, 9.0) for c, group in enumerate(groups)))
    jobs = [
        Job(
            f"J{i}", int(rng.integers(1, 6)), seconds, 0.5, 4.0, max_clusters=int(rng.integers(1, 3)) if i % 2 else None
        )
        for i, seconds in enumerate(rng.uniform(5.0, 40.0, 20))
    ]
    assert_equal(discretise(Instance(platform, tuple(jobs)), None), before=math.inf)


def assert_equal(problem: Problem, before: float) -> list[float]:
    """Let schedules go on in two stages and to their end, here and in the engine; return when they end."""
    rng = np.random.default_rng(0)
    of_levels = costs(problem, rng)
    generation, growth = ParallelGeneration(Generation(problem), efficiencies_at(of_levels)), Growth(problem, of_levels)
    listed, partials = [PartialSchedule(problem)], begun(growth)
    for until in (problem.horizon_in_turn / 12.0, problem.horizon_in_turn / 6.0, math.inf):
        drawn, parents = plans(problem, 8, rng), rng.integers(len(listed), size=8).tolist()
        last = before if math.isinf(until) else math.inf
        made = [listed[parent].copy() for parent in parents]
        expected = [
            i for i, one in enumerate(made) if generation.extend(one, plan_of(drawn, i), until=until, before=last)
        ]
        listed = [made[i] for i in expected]
        partials = by_plans(growth, partials, parents, drawn, until=until, before=last)
        assert partials.traits.tolist() == [expected]
        for number, one in enumerate(listed):
            assert sorted(one.assignments, key=lambda a: (a.start, a.job)) == partials.assignments(number)
    assert (len(expected) == 8) == math.isinf(before)
    return [max(a.end for a in one.assignments) for one in listed]


def test_no_more_is_made_once_the_time_is_up() -> None:
    problem = discretise(coalloc.generate("thesis-oas", seed=1, **TREE), None)
    rng = np.random.default_rng(0)
    growth, number = Growth(problem, costs(problem, rng)), 40_000
    late = {"deadline": time.perf_counter()}
    found = by_plans(growth, begun(growth), [0] * number, plans(problem, number, rng), **late)
    assert len(found.starts) == found.traits.shape[1] < number


def test_where_a_call_is_cut_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = discretise(coalloc.generate("thesis-oas", seed=1, **TREE), None)
    rng = np.random.default_rng(0)
    growth, drawn = Growth(problem, costs(problem, rng)), plans(problem, 20, rng)
    whole = by_plans(growth, begun(growth), [0] * 20, drawn)
    monkeypatch.setattr(
        "coalloc.solvers.search.growth.LONGEST_CALL", 0.0
    )  # so each call ends at its first look at the clock
    cut = by_plans(growth, begun(growth), [0] * 20, drawn)
    assert cut.traits.tolist() == whole.traits.tolist()
    assert [cut.assignments(i) for i in range(20)] == [whole.assignments(i) for i in range(20)]


def test_what_is_not_there_is_a_fault() -> None:
    growth = Growth(two_speeds(), [[1.0, 2.0], [1.0, 2.0]])
    with pytest.raises(InternalError, match="parents of growth_by_plans is out of range"):
        by_plans(growth, begun(growth), [1], one_plan((0, 1)))
    with pytest.raises(InternalError, match="rules of growth_by_plans is out of range"):
        grown(growth, one_plan((0, 1), rule=len(FILLING_RULES)))
    with pytest.raises(InternalError, match="taken of growth_take is out of range"):
        begun(growth).chosen([1])
