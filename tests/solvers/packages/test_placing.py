"""Packages placed without a MIP: what is called proven is what brute force finds, and what is not is a package."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.checker import check
from coalloc.instance import Instance, Job
from coalloc.problem import Problem
from coalloc.rules.package_modes import package_schedule
from coalloc.solvers.feasibility import why_package_infeasible
from coalloc.solvers.packages.placing import PlacedPackage, place_package
from coalloc.solvers.packages.search import WorkLeft
from coalloc.solvers.packages.solving import package_problem
from coalloc.solvers.packages.worth import LEVELS, OBJECTIVES, price_of
from coalloc.solvers.result import SolveOptions
from coalloc.testing.brute_force import BruteForceResult, brute_force_cbs, brute_force_jpr, brute_force_pas
from coalloc.testing.small import with_memory
from tests.heuristics.runs import star
from tests.small_instances import small_package
from tests.strategies import LAW

AMPLE = 1e6
"""Work that no small package uses up."""

BRUTE_FORCE: dict[str, Callable[[Instance], BruteForceResult]] = {
    "pas": brute_force_pas,
    "cbs": brute_force_cbs,
    "jpr": brute_force_jpr,
}


def problem_of(instance: Instance, model: Any = "pas", **options: Any) -> Problem:
    """Return what a package model sees of an instance."""
    return package_problem(instance, SolveOptions(model=model, objective=OBJECTIVES[model], **options))


def restricted_package(seed: int, model: str) -> Instance:
    """Return the first package from a seed on that memory restricts, and leaves a place for each job."""
    for number in count(seed):
        instance = with_memory(small_package(number), number)
        problem = problem_of(instance, model)
        if problem.is_restricted and not why_package_infeasible(problem):
            return instance
    raise AssertionError


def levels_of(problem: Problem, model: str, placed: PlacedPackage) -> tuple[float, ...]:
    """Return the objectives of a package as they are minimised."""
    assert placed.modes is not None
    return price_of(LEVELS[model](problem, placed.modes))


def with_a_dead_link(instance: Instance) -> Instance:
    """Return the same instance with no bandwidth at the link of its first cluster, if nothing runs."""
    first, *others = instance.platform.clusters
    platform = instance.platform.replace(clusters=(first.replace(link_bandwidth=0.0), *others))
    return instance if instance.running else instance.replace(platform=platform)


@pytest.mark.parametrize("model", ["pas", "cbs", "jpr"])
@LAW
@given(seed=st.integers(0, 2**32 - 1), is_dead=st.booleans())
def test_with_ample_work_all_is_proven_as_brute_force_finds_it(model: str, seed: int, is_dead: bool) -> None:
    # JPR says so only where its fastest processors are possible, which links of no bandwidth may forbid.
    instance = with_a_dead_link(small_package(seed)) if is_dead else small_package(seed)
    problem, expected = problem_of(instance, model), BRUTE_FORCE[model](instance)
    placed = place_package(problem, model, WorkLeft(AMPLE))
    assert placed.is_proven or (model == "jpr" and is_dead)
    assert (placed.modes is not None) == expected.feasible
    if placed.modes is not None:
        found = levels_of(problem, model, placed)
        assert found[0] == pytest.approx(expected.objectives[0], rel=1e-6, abs=1e-9)
        assert placed.lower_bound == pytest.approx(found[0], rel=1e-6, abs=1e-9)
        if placed.is_proven:
            assert found == pytest.approx(expected.objectives, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("model", ["pas", "cbs", "jpr"])
@LAW
@given(seed=st.integers(0, 2**32 - 1))
def test_memory_is_kept_to(model: str, seed: int) -> None:
    # JPR has no proof there: memory may forbid its fastest processors.
    instance = restricted_package(seed, model)
    problem, expected = problem_of(instance, model), BRUTE_FORCE[model](instance)
    placed = place_package(problem, model, WorkLeft(AMPLE))
    assert placed.is_proven or (model == "jpr" and expected.feasible)
    assert (placed.modes is not None) == expected.feasible
    if placed.modes is not None:
        found = levels_of(problem, model, placed)
        assert found[0] == pytest.approx(expected.objectives[0], rel=1e-6, abs=1e-9)
        if placed.is_proven:
            assert found == pytest.approx(expected.objectives, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("model", ["pas", "cbs", "jpr"])
@LAW
@given(seed=st.integers(0, 2**32 - 1), work=st.integers(1, 8))
def test_with_little_work_nothing_false_is_said(model: str, seed: int, work: int) -> None:
    instance = small_package(seed)
    problem, expected = problem_of(instance, model), BRUTE_FORCE[model](instance)
    placed = place_package(problem, model, WorkLeft(work))
    if expected.feasible:
        assert placed.lower_bound <= expected.objectives[0] * (1 + 1e-9)
    if placed.modes is None:
        assert not (placed.is_proven and expected.feasible)
        return
    schedule = package_schedule(problem, dict(enumerate(placed.modes)))
    assert check(instance, schedule, "strict" if model == "pas" else "ignore") == []
    if placed.is_proven:
        assert levels_of(problem, model, placed) == pytest.approx(expected.objectives, rel=1e-6, abs=1e-9)


@LAW
@given(seed=st.integers(0, 2**32 - 1), saturation=st.sampled_from((0.1, 0.5)))
def test_a_tolerance_is_used(seed: int, saturation: float) -> None:
    instance = small_package(seed)
    problem = problem_of(instance, saturation=saturation)
    placed, expected = place_package(problem, "pas", WorkLeft(AMPLE)), brute_force_pas(instance, saturation)
    assert placed.is_proven
    found = math.inf if placed.modes is None else levels_of(problem, "pas", placed)[0]
    assert found == pytest.approx(expected.objective, rel=1e-6)


@LAW
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_proven_where_links_may_saturate_is_optimal(seed: int) -> None:
    instance = small_package(seed)
    problem, expected = problem_of(instance, links="shared"), brute_force_pas(instance, links="shared")
    placed = place_package(problem, "pas", WorkLeft(AMPLE))
    assert placed.lower_bound <= expected.objective * (1 + 1e-9)
    if placed.is_proven:
        assert levels_of(problem, "pas", placed)[0] == pytest.approx(expected.objective, rel=1e-6)


def jobs_of(*tasks: int, bandwidth: float = 0.0) -> Instance:
    """Return jobs of 10, 20, ... s with traffic of 8 MB/s per task on two clusters of three nodes, power 1 and 0.5."""
    jobs = tuple(Job(f"J{i}", n, 10.0 * i, task_bandwidth=8.0) for i, n in enumerate(tasks, 1))
    return Instance(star((3, 1.0, bandwidth), (3, 0.5, bandwidth)), jobs)


def allocations(placed: PlacedPackage) -> list[tuple[int, ...]]:
    """Return the allocation of each job."""
    assert placed.modes is not None
    return [mode.allocation for mode in placed.modes]


def test_jobs_that_want_the_same_processors_get_the_cheapest_levels() -> None:
    # Both want the fast cluster; twice 10 s and once 20 s cost less than once 10 s and twice 20 s.
    placed = place_package(problem_of(jobs_of(2, 2)), "pas", WorkLeft(AMPLE))
    assert allocations(placed) == [(0, 2), (2, 0)]


def test_links_decide_whether_a_package_fits() -> None:
    # Three jobs of two tasks on three and three nodes: one is in both clusters, and puts 8 MB/s on links.
    for bandwidth, fits in ((7.9, False), (8.0, True)):
        placed = place_package(problem_of(jobs_of(2, 2, 2, bandwidth=bandwidth)), "pas", WorkLeft(AMPLE))
        assert (placed.is_proven, placed.modes is not None) == (True, fits)


def test_pas_loads_links_no_more_than_it_must() -> None:
    # Three tasks at power 1: (2, 1), (1, 2) and (0, 3) take equally long; the last loads no link.
    instance = Instance(star((2, 1.0, 99.0), (3, 1.0, 99.0)), (Job("J1", 3, 10.0, task_bandwidth=1.0),))
    assert allocations(place_package(problem_of(instance), "pas", WorkLeft(AMPLE))) == [(0, 3)]


def test_jpr_fills_the_fastest_processors() -> None:
    # One job is fast, J3; J2's level has both classes, and one of its tasks is on the fast node that is left.
    placed = place_package(problem_of(jobs_of(2, 2, 2), "jpr"), "jpr", WorkLeft(AMPLE))
    assert placed.is_proven
    assert sorted(allocations(placed)) == [(0, 2), (1, 1), (2, 0)]
    assert allocations(placed)[2] == (2, 0)


def test_jpr_without_its_fastest_processors_is_not_called_proven() -> None:
    # J1 takes two fast nodes. J2 on the third and a slow one would never end, and takes two slow nodes: whether another
    # package of 10 s and 10 * (0.5 * 2 + 0.5) = 15 s uses more power is not known.
    platform = star((3, 1.0, 0.0), (3, 0.5, 0.0))
    instance = Instance(platform, tuple(Job(f"J{n}", 2, 10.0, 0.5, task_bandwidth=1.0) for n in (1, 2)))
    problem = problem_of(instance, "jpr")
    placed = place_package(problem, "jpr", WorkLeft(AMPLE))
    assert not placed.is_proven
    assert placed.lower_bound == pytest.approx(25.0)
    assert sorted(allocations(placed)) == [(0, 2), (2, 0)]


def test_a_package_that_saturates_no_link_needs_no_more_where_links_may_saturate() -> None:
    # One job, whole in C1: SC = 1. With three tasks it must be split: SC = 2 * 8 * 1/2 / 4 = 2, which takes the model.
    for tasks, is_proven in ((2, True), (3, False)):
        instance = Instance(star((2, 1.0, 4.0), (1, 1.0, 4.0)), (Job("J1", tasks, 10.0, 0.5, 8.0),))
        placed = place_package(problem_of(instance, links="shared"), "pas", WorkLeft(AMPLE))
        assert (placed.is_proven, placed.lower_bound) == (is_proven, pytest.approx(10.0))


def test_better_packages_are_told_on_the_way() -> None:
    # By their gain per task J1 chooses first. The best is told last.
    told: list[float] = []
    problem = problem_of(replace_jobs(jobs_of(2, 2, 2, 1)))
    placed = place_package(
        problem, "pas", WorkLeft(AMPLE), lambda modes: told.append(sum(m.execution_time for m in modes))
    )
    assert placed.modes is not None
    assert told == sorted(told, reverse=True)
    assert told[-1] == pytest.approx(sum(mode.execution_time for mode in placed.modes))


def replace_jobs(instance: Instance) -> Instance:
    """Return the instance on larger clusters, whose links carry 8 MB/s."""
    return replace(instance, platform=star((4, 1.0, 8.0), (4, 0.5, 8.0)))


def test_many_jobs_are_placed_without_recursion() -> None:
    # 2,000 jobs of one task, all alike: 1,000 fast, 1,000 slow, 10 and 20 s.
    jobs = tuple(Job(f"J{i}", 1, 10.0) for i in range(2_000))
    instance = Instance(star((1_000, 1.0, 0.0), (1_000, 0.5, 0.0)), jobs)
    placed = place_package(problem_of(instance), "pas", WorkLeft(10_000))
    assert placed.is_proven
    assert placed.lower_bound == pytest.approx(30_000.0)
