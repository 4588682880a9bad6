"""What memory adds to bounds: by hand, and never above what brute force finds where sets are not listed with memory."""

from __future__ import annotations

import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Problem, Rounding, discretise
from coalloc.solvers.bounds import feasible_set
from coalloc.solvers.bounds.feasible_set import feasible_set_bound
from coalloc.solvers.bounds.memory_relaxations import memory_relaxations
from coalloc.solvers.bounds.simple import packing, simple_bound
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import SmallSize, small_memory_instance


def problem_of(*jobs: Job, groups: tuple[NodeGroup, ...]) -> Problem:
    """Return a problem on one cluster."""
    return discretise(Instance(Platform((Cluster("C1", groups, 1.0),)), jobs), None)


def test_jobs_that_ask_for_much_share_the_nodes_that_have_it() -> None:
    # Four jobs of 10 s; the two of 800 MB have one node of the three: 20 s, by processors alone 40/3.
    groups = (NodeGroup(2, 1.0, memory=500.0), NodeGroup(1, 1.0, memory=1000.0))
    jobs = [Job(f"J{n}", 1, 10.0, memory=memory) for n, memory in enumerate((800.0, 800.0, 500.0, None))]
    problem = problem_of(*jobs, groups=groups)
    (relaxed,) = memory_relaxations(problem)
    assert ([job.id for job in relaxed.jobs], relaxed.capacities) == (["J0", "J1"], (1,))
    assert packing(problem) == pytest.approx(40.0 / 3.0)
    assert simple_bound(problem) == pytest.approx(20.0)


def test_a_node_holds_as_many_tasks_as_its_memory_even_where_cores_are_free() -> None:
    # 8 cores, 1000 MB: three tasks of 300 MB at once, so six jobs of 10 s take 20 s. By cores 7.5 s, by megabytes 18 s.
    problem = problem_of(
        *(Job(f"J{n}", 1, 10.0, memory=300.0) for n in range(6)),
        groups=(NodeGroup(1, 1.0, cores=8, memory=1000.0),),
    )
    (relaxed,) = memory_relaxations(problem)
    assert relaxed.capacities == (3,)
    assert simple_bound(problem) == pytest.approx(20.0)


def test_megabytes_times_seconds_fit_into_all_memory() -> None:
    # Two nodes of 2 cores, 1000 MB: tasks of 400 and 600 MB, four of each, 10 s: 40,000 MB s on 2000 MB, 20 s; no
    # threshold tells more: the four of 600 MB have one core of each node, 20 s; all eight, by cores, 20 s as well.
    # With 450 MB instead of 400 it is 21 s.
    for small, seconds in ((400.0, 20.0), (450.0, 21.0)):
        jobs = [Job(f"J{n}", 1, 10.0, memory=small if n < 4 else 600.0) for n in range(8)]
        problem = problem_of(*jobs, groups=(NodeGroup(2, 1.0, cores=2, memory=1000.0),))
        assert simple_bound(problem) == pytest.approx(seconds)


def test_without_memory_there_is_nothing_to_relax() -> None:
    group = NodeGroup(2, 1.0, cores=2, memory=1000.0)
    assert list(memory_relaxations(problem_of(Job("J1", 2, 10.0, memory=500.0), groups=(group,)))) == []
    assert list(memory_relaxations(problem_of(Job("J1", 2, 10.0), groups=(group,)))) == []


@pytest.mark.parametrize("rounding", ["up", "down", None])
@pytest.mark.parametrize("seed", range(20))
def test_no_bound_exceeds_the_optimum(seed: int, rounding: Rounding | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feasible_set, "may_check", lambda _: False)
    monkeypatch.setattr(feasible_set, "_few_sets", lambda *_: None)
    instance, slot = small_memory_instance(seed, SmallSize(max_jobs=4))
    problem = discretise(instance, slot, rounding) if rounding else discretise(instance, None)
    best = brute_force_oas(instance, problem.slot, rounding=problem.rounding)
    if best.feasible:
        latest = best.objective + instance.origin
        for bound in (simple_bound(problem), feasible_set_bound(problem)):
            assert problem.clock.seconds(bound) <= latest + 1e-6
