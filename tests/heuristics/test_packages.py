"""Packages placed without a MIP are as good as those that the MIP places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc import simulate
from coalloc.heuristics.packages import best_alone, cheapest_levels, together, without_mip
from coalloc.instance import Instance, Job
from coalloc.problem import Problem
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
    chosen = without_mip(problem, model, choices)
    if chosen is not None:
        levels = LEVELS[model](problem, chosen)
        assert levels == pytest.approx(dict(result.levels) or {OBJECTIVES[model]: result.objective}, abs=1e-6)


def test_pas_loads_links_no_more_than_it_must() -> None:
    # Three tasks at power 1: (2, 1), (1, 2) and (0, 3) take equally long; the last loads no link.
    instance = Instance(star((2, 1.0, 99.0), (3, 1.0, 99.0)), (Job("J1", 3, 10.0, task_bandwidth=1.0),))
    problem = package_problem(instance, SolveOptions(model="pas", objective="total-execution-time"))
    assert best_alone(problem, "pas", 0)[0].allocation == (0, 3)


def pas_problem(*tasks: int, bandwidth: float = 0.0) -> Problem:
    """Return jobs of 10, 20, ... s with traffic of 8 MB/s per task on two clusters of three nodes, power 1 and 0.5."""
    jobs = tuple(Job(f"J{i}", n, 10.0 * i, task_bandwidth=8.0) for i, n in enumerate(tasks, 1))
    platform = star((3, 1.0, bandwidth), (3, 0.5, bandwidth))
    return package_problem(Instance(platform, jobs), SolveOptions(model="pas", objective="total-execution-time"))


def test_jobs_that_want_the_same_processors_get_the_cheapest_levels() -> None:
    # Both want the fast cluster; twice 10 s and once 20 s cost less than once 10 s and twice 20 s.
    problem = pas_problem(2, 2)
    choices = [best_alone(problem, "pas", j) for j in (0, 1)]
    assert together(problem, choices, (0, 1)) is None
    found = without_mip(problem, "pas", choices)
    assert found is not None
    assert [mode.allocation for mode in found] == [(0, 2), (2, 0)]


def test_levels_leave_room_on_the_nodes_that_are_left() -> None:
    # Three jobs of two tasks: one is fast, the longest; of the other four tasks one is on a fast node, for nothing.
    levels = cheapest_levels(pas_problem(2, 2, 2))
    assert levels is not None
    assert [level.classes for level in levels] == [(0, 1), (0, 1), (0,)]
    assert cheapest_levels(pas_problem(4, 4)) is None


def test_what_links_forbid_needs_the_mip() -> None:
    # As above: J1 or J2 would be in both clusters, and puts 8 MB/s on links that carry nothing, or 8.
    for bandwidth, is_found in ((0.0, False), (8.0, True)):
        problem = pas_problem(2, 2, 2, bandwidth=bandwidth)
        choices = [best_alone(problem, "pas", j) for j in range(3)]
        assert (without_mip(problem, "pas", choices) is not None) == is_found


def test_jpr_needs_no_mip_and_fills_the_fastest_processors() -> None:
    # As above, J1 and J2 at the slow level, J3 at the fast one: J3 takes two fast nodes, J2 the third and a slow one.
    instance = pas_problem(2, 2, 2).instance
    problem = package_problem(instance, SolveOptions(model="jpr", objective="total-execution-time"))
    found = without_mip(problem, "jpr", [best_alone(problem, "jpr", j) for j in range(3)])
    assert found is not None
    assert sorted(mode.allocation for mode in found) == [(0, 2), (1, 1), (2, 0)]
    assert found[2].allocation == (2, 0)


def test_jpr_puts_no_job_that_communicates_across_a_link_of_no_bandwidth() -> None:
    # C1 has three fast nodes, C2 three slow ones. J1 takes two fast nodes; J2 on the third and a slow one would never
    # end, and takes two slow nodes instead: 10 s, and 10 * (0.5 * 2 + 0.5) = 15 s.
    platform = star((3, 1.0, 0.0), (3, 0.5, 0.0))
    instance = Instance(platform, tuple(Job(f"J{n}", 2, 10.0, 0.5, task_bandwidth=1.0) for n in (1, 2)))
    run = simulate(instance, "pas", allocation="jpr")
    assert sorted((p.start, p.end, {name[:2] for name in p.nodes}) for p in run.schedule) == [
        (0.0, 10.0, {"C1"}),
        (0.0, 15.0, {"C2"}),
    ]
