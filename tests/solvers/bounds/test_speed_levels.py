"""The bound by speed levels: never above an optimum, and exact where the comment says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Instance, Job
from coalloc.problem import Problem, discretise
from coalloc.solvers.bounds.speed_levels import LevelBound
from coalloc.testing.brute_force import brute_force_pas
from tests.heuristics.runs import star
from tests.small_instances import small_package
from tests.strategies import LAW


def problem_of(*jobs: tuple[int, float], fast: int = 3) -> Problem:
    """Return jobs of (tasks, s) on some fast nodes and five of half their power."""
    listed = tuple(Job(f"J{i}", tasks, seconds) for i, (tasks, seconds) in enumerate(jobs, 1))
    return discretise(Instance(star((fast, 1.0, 0.0), (5, 0.5, 0.0)), listed), None)


def of_all(problem: Problem) -> float:
    """Return the bound before any job is placed."""
    return LevelBound(problem, range(len(problem.jobs))).of_rest(0, problem.package.processors)


@LAW
@given(seed=st.integers(0, 2**32 - 1))
def test_it_is_a_bound(seed: int) -> None:
    instance = small_package(seed)
    expected = brute_force_pas(instance)
    if expected.feasible:
        assert of_all(discretise(instance, None)) <= expected.objective * (1.0 + 1e-9)


def test_jobs_with_room_at_their_best_level_take_their_best_times() -> None:
    assert of_all(problem_of((1, 10.0), (2, 30.0))) == pytest.approx(40.0)


def test_room_counts_only_as_far_as_whole_jobs_fill_it() -> None:
    # Of three fast nodes jobs of two tasks fill two: one job of 10 s is fast, two take 20 s. A share of a job on the
    # third node would bound the sum by 50 - 10 * 1.5 = 45 s only. With a job of one task three are filled.
    assert of_all(problem_of((2, 10.0), (2, 10.0), (2, 10.0))) == pytest.approx(50.0)
    assert of_all(problem_of((2, 10.0), (2, 10.0), (1, 10.0))) == pytest.approx(40.0)


def test_it_follows_what_is_placed() -> None:
    # Once J1 has both fast nodes, J2 takes 20 s; once J1 has two slow ones, J2 may be fast.
    problem = problem_of((2, 10.0), (2, 10.0), fast=2)
    bound = LevelBound(problem, (0, 1))
    assert bound.of_rest(1, (0, 5)) == pytest.approx(20.0)
    assert bound.of_rest(1, (2, 3)) == pytest.approx(10.0)
    assert bound.with_level(0, (2, 5), 0) == pytest.approx(30.0)
    assert bound.with_level(0, (2, 5), 1) == pytest.approx(30.0)
