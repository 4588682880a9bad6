"""Packages placed without a MIP are as good as those that the MIP places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.heuristics.packages import best_alone, together
from coalloc.instance import Instance, Job
from coalloc.solvers.package import LEVELS, OBJECTIVES, package_problem, solve_package
from coalloc.solvers.result import SolveOptions, SolveStatus
from tests.heuristics.runs import star
from tests.small_instances import small_package
from tests.strategies import LAW


@pytest.mark.parametrize("model", ["pas", "cbs", "jpr"])
@LAW
@given(seed=st.integers(0, 2**32 - 1))
def test_what_needs_no_mip_is_optimal(model: str, seed: int) -> None:
    instance = small_package(seed)
    options = SolveOptions(model=model, objective=OBJECTIVES[model])  # type: ignore[arg-type]
    problem = package_problem(instance, options)
    choices = [best_alone(problem, model, j) for j in range(len(problem.jobs))]
    result = solve_package(instance, options)
    if not all(choices):
        assert result.status is SolveStatus.INFEASIBLE
        return
    chosen = together(problem, choices)
    if chosen is not None:
        levels = LEVELS[model](problem, chosen)
        assert levels == pytest.approx(dict(result.levels) or {OBJECTIVES[model]: result.objective}, abs=1e-6)


def test_pas_loads_links_no_more_than_it_must() -> None:
    # Three tasks at power 1: (2, 1), (1, 2) and (0, 3) take equally long; the last loads no link.
    instance = Instance(star((2, 1.0, 99.0), (3, 1.0, 99.0)), (Job("J1", 3, 10.0, task_bandwidth=1.0),))
    problem = package_problem(instance, SolveOptions(model="pas", objective="total-execution-time"))
    assert best_alone(problem, "pas", 0)[0].allocation == (0, 3)


def test_two_jobs_that_want_the_same_processors_need_the_mip() -> None:
    instance = Instance(star((2, 1.0, 0.0), (2, 0.5, 0.0)), (Job("J1", 2, 10.0), Job("J2", 2, 10.0)))
    problem = package_problem(instance, SolveOptions(model="pas", objective="total-execution-time"))
    assert together(problem, [best_alone(problem, "pas", j) for j in (0, 1)]) is None
