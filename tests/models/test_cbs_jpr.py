"""CBS and JPR: lexicographic answers that the comment proves, and against brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.packages.solving import solve_package
from coalloc.solvers.result import ModelSolution, SolveOptions, SolveResult, SolveStatus
from coalloc.testing.brute_force import brute_force_cbs, brute_force_jpr
from tests.small_instances import small_instance, small_package

CBS = SolveOptions(model="cbs", objective="chunks")
JPR = SolveOptions(model="jpr", objective="total-execution-time")


Solve = Callable[[Instance, SolveOptions], SolveResult]


@pytest.fixture(params=["mode", "auto"])
def solve(request: pytest.FixtureRequest) -> Solve:
    """Return a function that solves an instance, with the model and with what proves packages without it."""

    def run(instance: Instance, options: SolveOptions) -> SolveResult:
        return solve_package(instance, options, formulation=request.param)

    return run


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, p),), b) for i, (n, p, b) in enumerate(clusters, 1)))


THESIS = star((24, 1.0, 1000.0), (16, 1.0, 1000.0), (16, 1.0, 1000.0), (8, 1.0, 1000.0))
"""The clusters of the PAS experiment, thesis 3.1.3.1."""


def clusters_of(result: SolveResult, job: str) -> list[int]:
    """Return the tasks of a job per cluster used, most first."""
    assert result.schedule is not None
    names = [node.split("/")[0] for node in result.schedule[job].nodes]
    return sorted((names.count(name) for name in set(names)), reverse=True)


@pytest.mark.parametrize(
    ("tasks", "shortfall", "parts"),
    [
        (24, 0, [24]),  # fits the largest cluster whole: no load at all
        (32, 0, [24, 8]),  # ceil(0.75 * 32) = 24, which is all of C1; one part for the rest is the least load
        (33, 1, [24, 9]),  # 25 tasks fit no cluster
        (40, 6, [24, 16]),  # 30 are wanted, 24 are possible
    ],
)
def test_three_quarters_of_a_job_stay_together_where_they_can(
    solve: Solve, tasks: int, shortfall: int, parts: list[int]
) -> None:
    # The load of a link is concave in the tasks below it, so the rest is not split further. With parts a and b
    # both links carry a * 10 * b/(tasks - 1).
    result = solve(Instance(THESIS, (Job("J1", tasks, 100.0, 0.5, 10.0),)), CBS)
    assert (result.status, result.objective) == ("optimal", float(shortfall))
    assert clusters_of(result, "J1") == parts
    load = 2 * 24 * 10 * (tasks - 24) / (tasks - 1)
    assert result.levels == {"chunk-shortfall": float(shortfall), "link-load": pytest.approx(load)}


def test_chunks_come_before_link_load(solve: Solve) -> None:
    # J1 (4 tasks, wants 3) and J2 (2 tasks, wants 2) share nodes 3, 1, 1, 1. J1 on 3 + 1 splits J2: 1 task short, and a
    # load of 2*(3*1*1/3) + 2*(1*100*1) = 202. J2 in C1 scatters J1: 2 short, with a load of 4*(1*1*3/3) = 4 only.
    platform = star((3, 1.0, 1.0), (1, 1.0, 1.0), (1, 1.0, 1.0), (1, 1.0, 1.0))
    jobs = (Job("J1", 4, 100.0, 0.5, 1.0), Job("J2", 2, 100.0, 0.5, 100.0))
    result = solve(Instance(platform, jobs), CBS)
    assert result.levels == {"chunk-shortfall": 1.0, "link-load": pytest.approx(202.0)}


def test_cbs_does_not_look_at_power(solve: Solve) -> None:
    # Two fast nodes in C1 and in C2 would do the job in 100 s, over links that carry it. CBS keeps it whole: C3, 400 s.
    instance = Instance(star((2, 1.0, 100.0), (2, 1.0, 100.0), (4, 0.25, 100.0)), (Job("J1", 4, 100.0, 1.0, 1.0),))
    result = solve(instance, CBS)
    assert clusters_of(result, "J1") == [4]
    assert result.simulated_objective == pytest.approx(400.0)


def test_jpr_takes_the_fastest_then_the_most_power(solve: Solve) -> None:
    # One node of power 1/2 at least is needed, so SP = 2 and 100*2 = 200 s, as long as none of power 1/4 is used. Then
    # 1 + 1 + 1/2 = 2.5 beats 1 + 1/2 + 1/2 = 2.
    platform = star((2, 1.0, 1.0), (2, 0.5, 1.0), (2, 0.25, 1.0))
    result = solve(Instance(platform, (Job("J1", 3, 100.0),)), JPR)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(200.0)
    assert result.levels == {"total-execution-time": pytest.approx(200.0), "effective-power": pytest.approx(2.5)}


def test_jpr_saturates_links_and_says_so(solve: Solve) -> None:
    # The fast nodes are in C1 and C2; split, J1 loads their links of 1 MB/s with 10 MB/s. JPR does not see it: 100 s.
    # In fact SC = 10, and J1 takes 50 + 50*10 = 550 s.
    instance = Instance(
        star((1, 1.0, 1.0), (1, 1.0, 1.0), (2, 0.5, 1.0)), (Job("J1", 2, 100.0, 0.5, 10.0, arrival=7.0),)
    )
    result = solve(instance, JPR)
    assert result.objective == pytest.approx(100.0)
    assert result.simulated_objective == pytest.approx(550.0)
    assert (
        result.message == "saturated links at 7 s: 'C1' (load 10, bandwidth 1 MB/s), 'C2' (load 10, bandwidth 1 MB/s)"
    )
    assert result.schedule is not None
    assert result.schedule["J1"].end == pytest.approx(557.0)
    assert check(instance, result.schedule, "shared") == []
    assert check(instance, result.schedule, "strict") != []


def test_where_no_link_saturates_the_schedule_is_one_of_strict_links(solve: Solve) -> None:
    instance = Instance(star((1, 1.0, 10.0), (1, 1.0, 10.0)), (Job("J1", 2, 100.0, 0.5, 10.0),))
    for options in (CBS, JPR):
        result = solve(instance, options)
        assert result.message == ""
        assert result.simulated_objective == pytest.approx(100.0)
        assert result.schedule is not None
        assert check(instance, result.schedule, "strict") == []


@pytest.mark.parametrize("options", [CBS, JPR])
def test_busy_processors_are_not_used(solve: Solve, options: SolveOptions) -> None:
    # R holds both nodes of the fast C1 until 10 s: until then J1 goes to C2, at 10 s it does not.
    platform = star((2, 1.0, 10.0), (2, 0.5, 10.0))
    running = (RunningJob(Job("R", 2, 100.0), ("C1/0", "C1/1"), 10.0),)
    busy = solve(Instance(platform, (Job("J1", 2, 100.0),), running), options)
    assert busy.schedule is not None
    assert set(busy.schedule["J1"].nodes) == {"C2/0", "C2/1"}
    full = solve(Instance(platform, (Job("J1", 3, 100.0),), running), options)
    assert full.message == "the package requires 3 processors, but 2 are free at 0 s"
    late = solve(Instance(platform, (Job("J1", 3, 100.0, arrival=10.0),), running), options)
    assert late.status == "optimal"


def test_a_job_that_communicates_needs_some_bandwidth_even_where_capacities_are_ignored(solve: Solve) -> None:
    # Over a link of no bandwidth it would never end, so JPR takes the slow C3: 100*(0.5*2 + 0.5) = 150 s.
    platform = star((1, 1.0, 0.0), (1, 1.0, 0.0), (2, 0.5, 0.0))
    assert solve(Instance(platform, (Job("J1", 2, 100.0, 0.5, 10.0),)), JPR).objective == pytest.approx(150.0)


@pytest.mark.parametrize("seed", range(24))
def test_both_levels_agree_with_brute_force(solve: Solve, seed: int) -> None:
    # Every third instance is one whose jobs need not fit together. The power of JPR is minimised as its negative.
    instance = small_instance(seed)[0] if seed % 3 == 0 else small_package(seed)
    for options, brute_force, sign in ((CBS, brute_force_cbs, 1.0), (JPR, brute_force_jpr, -1.0)):
        expected = brute_force(instance)
        result = solve(instance, options)
        if not expected.feasible:
            assert result.status == "infeasible"
            continue
        assert result.status == "optimal"
        first, second = result.levels.values()
        assert (first, sign * second) == pytest.approx(expected.objectives, rel=1e-6, abs=1e-9)
        assert result.objective == first
        assert result.schedule is not None
        assert check(instance, result.schedule, "shared") == []


def test_a_second_level_without_a_proof_leaves_the_schedule_feasible() -> None:
    # The first level is proven, so the bound meets the objective; which schedule loads the links least is open.
    runs = []

    def second_out_of_time(*arguments: Any, **options: Any) -> ModelSolution:
        runs.append(options["start"])
        solution = solve_model(*arguments, **options)
        if len(runs) == 1:
            return solution
        return replace(solution, status=SolveStatus.UNKNOWN, stopped_by="time", objective=None, lower_bound=-math.inf)

    instance = Instance(THESIS, (Job("J1", 40, 100.0, 0.5, 10.0),))
    result = solve_package(instance, CBS, formulation="mode", run_model=second_out_of_time)
    assert runs == [False, True]  # the second level starts from the solution of the first
    assert (result.status, result.stopped_by) == ("feasible", "time")
    assert (result.objective, result.lower_bound) == (6.0, 6.0)
