"""Growth: machine code makes the schedules of parallel generation, to the last digit, whatever is shared."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import Problem, discretise
from coalloc.rules.serial_sgs import FILLING_RULES, Generation
from coalloc.solvers.search.growth import MOST_ENTRIES, CompiledGrowth, ListedGrowth, Plans, growth_of, may_compile

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


def plans(problem: Problem, number: int, rng: np.random.Generator) -> Plans:
    """Return so many plans at random."""
    span = problem.horizon_in_turn / 4.0
    return Plans(
        np.array([rng.permutation(len(problem.jobs)) for _ in range(number)]),
        rng.uniform(0.2, 1.0, number),
        rng.uniform(0.0, 1.0, number) * span,
        rng.uniform(0.2, 1.2, number) * span,
        rng.integers(len(FILLING_RULES), size=number),
    )


def efficiencies(problem: Problem, rng: np.random.Generator) -> list[list[float]]:
    """Return one at random for each level."""
    return [rng.uniform(0.2, 1.0, len(levels)).tolist() for levels in problem.levels]


@pytest.mark.parametrize("slot", [None, 3e4])
@pytest.mark.parametrize("parameters", [LINKS, TREE, POWERS], ids=["links", "tree", "powers"])
def test_machine_code_makes_the_same_schedules(parameters: dict[str, float], slot: float | None) -> None:
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


def assert_equal(problem: Problem, before: float) -> list[float]:
    """Grow schedules in two stages and to their end, in Python and compiled; return when they end."""
    rng = np.random.default_rng(0)
    of_levels, generation = efficiencies(problem, rng), Generation(problem)
    listed, compiled = ListedGrowth(generation, of_levels), CompiledGrowth(generation, of_levels)
    one, other = listed.begun(), compiled.begun()
    for until in (problem.horizon_in_turn / 12.0, problem.horizon_in_turn / 6.0, math.inf):
        drawn, parents = plans(problem, 8, rng), rng.integers(len(one.starts), size=8).tolist()
        last = before if math.isinf(until) else math.inf
        one, kept = listed.grown(one, parents, drawn, until=until, before=last)
        other, kept_too = compiled.grown(other, parents, drawn, until=until, before=last)
        assert kept == kept_too
        assert np.array_equal(one.starts, other.starts)
        assert np.array_equal(one.ends, other.ends)
    assert (len(kept) == 8) == math.isinf(before)
    for number in range(len(kept)):
        assert sorted(one.assignments(number), key=lambda a: (a.start, a.job)) == other.assignments(number)
    return one.ends.max(axis=1).tolist()


def test_no_more_is_made_once_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # One at a time, in Python and, with so small a chunk, compiled: the first is made, for it has begun in time.
    monkeypatch.setattr("coalloc.solvers.search.growth.PLACED_AT_ONCE", 30)
    problem = discretise(coalloc.generate("thesis-oas", seed=1, **TREE), None)
    rng = np.random.default_rng(0)
    drawn, of_levels = plans(problem, 3, rng), efficiencies(problem, rng)
    for growth in (growth_of(problem, of_levels, is_compiled=is_compiled) for is_compiled in (False, True)):
        late = {"until": math.inf, "before": math.inf, "deadline": time.perf_counter()}
        assert growth.grown(growth.begun(), [0, 0, 0], drawn, **late)[1] == [0]


def test_where_every_node_is_a_class_of_many_jobs_it_stays_in_python() -> None:
    platform = Platform((Cluster("C1", tuple(NodeGroup(1, 1.0 + i) for i in range(30)), 1.0),))
    jobs = tuple(Job(f"J{i}", 1, 1.0) for i in range(MOST_ENTRIES // 30 + 1))
    assert not may_compile(discretise(Instance(platform, jobs), None))
    assert may_compile(discretise(Instance(platform, jobs[:-1]), None))
