"""PAS: both formulations on instances whose answer the comment proves, and against brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pyomo.environ as pyo
import pytest

from coalloc.checker import check
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.models import pas_mode
from coalloc.models.package_models import largest_load
from coalloc.problem import Problem, discretise
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.packages.solving import build_package, solve_package
from coalloc.solvers.result import ModelSize, ModelSolution, SolveOptions, SolveResult, SolveStatus, TracePoint
from coalloc.testing.brute_force import brute_force_pas
from tests.small_instances import small_instance, small_package

OPTIONS = SolveOptions(model="pas", objective="total-execution-time")

Solve = Callable[..., SolveResult]


@pytest.fixture(params=["node", "mode", "auto"])
def solve(request: pytest.FixtureRequest) -> Solve:
    """Return a function that solves an instance as PAS, with each formulation and with what needs none."""

    def run(instance: Instance, **options: Any) -> SolveResult:
        return solve_package(instance, replace(OPTIONS, **options), formulation=request.param)

    return run


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, p),), b) for i, (n, p, b) in enumerate(clusters, 1)))


FIGURE_3_3 = Platform((Cluster("N", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), 125.0),))
"""Nodes of power 1, 1, 0.5, 0.5. The figure names one environment and no links that matter."""


def test_the_walk_through_of_figure_3_3(solve: Solve) -> None:
    # sigma1 Tb1 = 80 > sigma3 Tb3 = 40. J1 on the fast nodes, J3 on a slow one: 100 + 50*(0.8*2 + 0.2) = 190. J3 on a
    # fast node puts J1 on a slow one: 50 + 100*(0.8*2 + 0.2) = 230. Both slow: 180 + 90.
    first, third = Job("J1", 2, 100.0, 0.8), Job("J3", 1, 50.0, 0.8)
    result = solve(Instance(FIGURE_3_3, (first, third)))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(190.0)
    assert result.schedule is not None
    assert result.schedule["J1"].nodes == ("N/0", "N/1")
    assert result.schedule["J3"].nodes == ("N/2",)
    # The next package is J2, of 3 tasks, on the empty system: N1, N2 and one slow node, 60*(0.5*2 + 0.5) = 90.
    second = solve(Instance(FIGURE_3_3, (Job("J2", 3, 60.0, 0.5),)))
    assert second.objective == pytest.approx(90.0)
    assert second.schedule is not None
    assert len(second.schedule["J2"].nodes) == 3


def test_one_job_takes_the_fastest_cluster_that_holds_it(solve: Solve) -> None:
    # The model of Lérida et al. Two tasks on C1 and C2 would load their links with 10 MB/s, they carry 5. So both are
    # in C2, 100*(0.5/0.8 + 0.5) = 112.5, not in C3, 100*(0.5/0.5 + 0.5) = 150.
    result = solve(Instance(star((1, 1.0, 5.0), (2, 0.8, 5.0), (2, 0.5, 5.0)), (Job("J1", 2, 100.0, 0.5, 10.0),)))
    assert result.objective == pytest.approx(112.5)
    assert result.schedule is not None
    assert set(result.schedule["J1"].nodes) == {"C2/0", "C2/1"}


def test_jobs_share_a_link_only_within_its_bandwidth(solve: Solve) -> None:
    # Fast nodes: 2 in C1, 2 in C2. J1 (3 tasks) loads a link with 2*10*1/2 = 10, J2 (1 task) with nothing: 10 MB/s
    # do for both on fast nodes. With 9 MB/s J1 needs the slow C3: 100*1/0.5 = 200.
    def total(bandwidth: float) -> float | None:
        platform = star((2, 1.0, bandwidth), (2, 1.0, bandwidth), (3, 0.5, bandwidth))
        return solve(Instance(platform, (Job("J1", 3, 100.0, 1.0, 10.0), Job("J2", 1, 100.0)))).objective

    assert total(10.0) == pytest.approx(200.0)
    assert total(9.0) == pytest.approx(300.0)


def test_a_link_at_its_limit_is_not_saturated(solve: Solve) -> None:
    # Two tasks on each side: 2 * 10 * 2/3 = 13.33 MB/s on both links, exactly their capacity.
    job = Job("J1", 4, 100.0, 0.5, 10.0)
    assert solve(Instance(star((2, 1.0, 40 / 3), (2, 1.0, 40 / 3)), (job,))).status == "optimal"
    assert solve(Instance(star((2, 1.0, 13.33), (2, 1.0, 13.33)), (job,))).status == "infeasible"


def test_the_saturation_tolerance_ends_where_it_says(solve: Solve) -> None:
    # One task on each side loads both links with 10 MB/s; they carry 8, so a tolerance of 25 % is just enough.
    instance = Instance(star((1, 1.0, 8.0), (1, 1.0, 8.0)), (Job("J1", 2, 100.0, 0.5, 10.0),))
    tolerant = solve(instance, saturation=0.25)
    assert tolerant.status == "optimal"
    assert tolerant.objective == pytest.approx(100.0)  # SC still counts as 1
    assert solve(instance, saturation=0.2499).status == "infeasible"


def test_running_jobs_hold_processors_and_bandwidth_until_their_end(solve: Solve) -> None:
    # R holds one node of C1 and one of C2 and loads both links with 10 of their 15 MB/s until 50 s. A job that arrives
    # before cannot put another 10 MB/s there, so it takes the slow C3: 200 s; one that arrives at 50 s gets C1.
    platform = star((2, 1.0, 15.0), (2, 1.0, 15.0), (2, 0.5, 15.0))
    running = (RunningJob(Job("R", 2, 100.0, 0.5, 10.0), ("C1/0", "C2/0"), 50.0),)
    early = solve(Instance(platform, (Job("J1", 2, 100.0, 1.0, 10.0, arrival=49.0),), running))
    late = solve(Instance(platform, (Job("J1", 2, 100.0, 1.0, 10.0, arrival=50.0),), running))
    assert early.objective == pytest.approx(200.0)
    assert late.objective == pytest.approx(100.0)
    assert late.schedule is not None
    assert late.schedule["J1"].start == 50.0


def test_a_package_that_does_not_fit_by_count_says_what_does_not_fit(solve: Solve) -> None:
    # J1 and J2 need 4 processors; R holds 1 of 4 until 10 s. At 10 s it no longer counts.
    running = (RunningJob(Job("R", 1, 100.0), ("N/3",), 10.0),)
    jobs = (Job("J1", 2, 100.0, arrival=5.0), Job("J2", 2, 100.0))
    result = solve(Instance(FIGURE_3_3, jobs, running))
    assert (result.status, result.stopped_by) == ("infeasible", "proof")
    assert result.message == "the package requires 4 processors, but 3 are free at 5 s"
    assert solve(Instance(FIGURE_3_3, (jobs[0].replace(arrival=10.0), jobs[1]), running)).status == "optimal"


def test_a_job_that_no_link_carries_is_named(solve: Solve) -> None:
    # 3 tasks over C1 and C2 put 2 * 6 * 1/2 = 6 MB/s on both links whichever way; C1 carries 5, C2 only 4. J2 is fine.
    platform = star((2, 1.0, 5.0), (2, 1.0, 4.0))
    result = solve(Instance(platform, (Job("J1", 3, 100.0, 0.5, 6.0), Job("J2", 1, 100.0))))
    assert result.status == "infeasible"
    assert result.message == (
        "job 'J1' cannot start at 0 s: it puts at least 6 MB/s on the link of 'C2', which has 4 MB/s free"
    )


def test_a_package_that_fits_by_count_but_not_by_links_is_infeasible(solve: Solve) -> None:
    # Each job alone runs in C1. Together one of them is split 1 to 2 and loads the links with 2*10*1/2 = 10 > 9 MB/s.
    platform = star((4, 1.0, 9.0), (2, 1.0, 9.0))
    jobs = (Job("J1", 3, 100.0, 0.5, 10.0), Job("J2", 3, 100.0, 0.5, 10.0))
    result = solve(Instance(platform, jobs))
    assert result.status == "infeasible"
    assert "there are enough processors for the package, but not enough bandwidth" in result.message
    assert solve(Instance(platform, jobs[:1])).status == "optimal"


def test_no_jobs_are_no_work(solve: Solve) -> None:
    result = solve(Instance(FIGURE_3_3, ()))
    assert (result.status, result.objective, result.lower_bound) == ("optimal", 0.0, 0.0)
    assert result.schedule is not None
    assert len(result.schedule) == 0


def test_an_objective_that_is_constant_is_solved(solve: Solve) -> None:
    # sigma = 0: wherever the job runs, it takes its base time.
    result = solve(Instance(FIGURE_3_3, (Job("J1", 2, 100.0, 0.0),)))
    assert (result.status, result.objective) == ("optimal", 100.0)


# --- links that may saturate -----------------------------------------------------------------------


@pytest.mark.parametrize(("bandwidth", "expected"), [(10.0, 100.0), (8.0, 112.5), (5.0, 150.0), (4.0, 150.0)])
def test_saturating_a_link_can_be_worth_it(solve: Solve, bandwidth: float, expected: float) -> None:
    # Spread over the fast C1 and C2 the job loads 10 MB/s: SC = 10/8 = 1.25 gives 50 + 50*1.25 = 112.5, better than the
    # slow C3, 50*2 + 50 = 150. At 5 MB/s (SC = 2) both are equal, at 4 MB/s C3 is better.
    platform = star((1, 1.0, bandwidth), (1, 1.0, bandwidth), (2, 0.5, bandwidth))
    result = solve(Instance(platform, (Job("J1", 2, 100.0, 0.5, 10.0),)), links="shared")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(expected)
    assert result.simulated_objective == pytest.approx(expected)  # alone and all the time under the same load
    assert ("'C1' (load 10, bandwidth 8 MB/s)" in result.message) == (bandwidth == 8.0)


def test_the_simulated_value_is_reported_apart(solve: Solve) -> None:
    # R and J1 each load both links with 10 of their 10 MB/s, so SC = 2 and J1 takes 50 + 50*2 = 150 s. But R ends at
    # 30 s: by then J1 has done 30/150 = 0.2 of its work, and the rest takes 0.8*100 s. It ends at 110 s.
    running = (RunningJob(Job("R", 2, 100.0, 0.5, 10.0), ("C1/0", "C2/0"), 30.0),)
    instance = Instance(star((2, 1.0, 10.0), (2, 1.0, 10.0)), (Job("J1", 2, 100.0, 0.5, 10.0),), running)
    result = solve(instance, links="shared")
    assert result.objective == pytest.approx(150.0)
    assert result.simulated_objective == pytest.approx(110.0)
    assert result.schedule is not None
    assert result.schedule["J1"].end == pytest.approx(110.0)
    assert check(instance, result.schedule, "shared") == []


def test_a_link_of_no_bandwidth_may_not_be_loaded_by_a_job_that_communicates(solve: Solve) -> None:
    # J1 would never end if it were split, so it takes the slow C3, 100*(0.5*2 + 0.5) = 150. With sigma = 1 its time
    # does not depend on links.
    platform = star((1, 1.0, 0.0), (1, 1.0, 0.0), (2, 0.5, 0.0))
    assert solve(Instance(platform, (Job("J1", 2, 100.0, 0.5, 10.0),)), links="shared").objective == pytest.approx(150)
    assert solve(Instance(platform, (Job("J1", 2, 100.0, 1.0, 10.0),)), links="shared").objective == pytest.approx(100)
    nowhere = solve(Instance(star((1, 1.0, 0.0), (1, 1.0, 0.0)), (Job("J1", 2, 100.0, 0.5, 10.0),)), links="shared")
    assert nowhere.status == "infeasible"
    assert "it puts at least 10 MB/s on the link" in nowhere.message


def test_the_largest_load_beside_an_idle_job() -> None:
    # C1 has 3 of 6 nodes. Both jobs of 2 tasks split: 10 + 20 = 30, but one must not load the link: 10 or 20. Where no
    # node is above the link nothing can cross it.
    platform = star((3, 1.0, 10.0), (3, 1.0, 10.0))
    jobs = (Job("J1", 2, 100.0, 0.5, 10.0), Job("J2", 2, 100.0, 0.5, 20.0))
    problem = discretise(Instance(platform, jobs), None, links="shared")
    assert largest_load(problem, 0, 0) == pytest.approx(20.0)
    assert largest_load(problem, 0, 1) == pytest.approx(10.0)
    alone = discretise(Instance(star((4, 1.0, 10.0)), jobs), None, links="shared")
    assert largest_load(alone, 0, 0) == 0.0


# --- agreement -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_both_formulations_agree_with_brute_force(solve: Solve, seed: int) -> None:
    # Every third instance is one whose jobs need not fit together.
    instance = small_instance(seed)[0] if seed % 3 == 0 else small_package(seed)
    tolerance = 0.3 if seed % 2 else 0.0
    cases: tuple[tuple[Literal["strict", "shared"], float], ...] = (("strict", tolerance), ("shared", 0.0))
    for links, saturation in cases:
        expected = brute_force_pas(instance, saturation, links)
        result = solve(instance, links=links, saturation=saturation)
        if not expected.feasible:
            assert result.status == "infeasible"
            assert result.message
        else:
            assert result.status == "optimal"
            assert result.objective == pytest.approx(expected.objective, rel=1e-6)
            assert result.schedule is not None
            assert check(instance, result.schedule, links, saturation) == []


@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_the_unit_of_time_does_not_matter(solve: Solve, factor: float) -> None:
    # Times enter the objective linearly, whatever their size against the solver's absolute tolerances.
    for seed in range(8):
        instance = small_package(seed)
        jobs = tuple(j.replace(base_time=factor * j.base_time, estimate=j.base_time) for j in instance.jobs)
        expected = brute_force_pas(instance.replace(jobs=jobs))
        result = solve(instance.replace(jobs=jobs))
        assert result.status == ("optimal" if expected.feasible else "infeasible")
        if expected.feasible:
            assert result.objective == pytest.approx(expected.objective, rel=1e-6)


# --- tightness: values of the LP relaxations, pinned -----------------------------------------------------

ONE_JOB = Instance(FIGURE_3_3, (Job("J1", 3, 100.0),))
THREE_FAST = Instance(
    star((3, 1.0, 100.0), (2, 0.5, 100.0)), (Job("J1", 2, 100.0, 1.0, 1.0), Job("J2", 2, 100.0, 1.0, 1.0))
)


@pytest.mark.parametrize(
    ("instance", "formulation", "value"),
    [
        # Three tasks need a slow node in every mode: 200, the optimum.
        (ONE_JOB, "mode", 200.0),
        # X = 1 on both fast nodes and 1/2 on both slow ones: SP >= 1 and SP >= 2 * 1/2.
        (ONE_JOB, "node", 100.0),
        # Three fast nodes hold 3/2 of the modes (2, 0) of 100 s, the other 1/2 takes 200 s: 150 + 100.
        (THREE_FAST, "mode", 250.0),
        # The 4 tasks need S >= 1 in C2, and SP_j >= 2 * S_j/2, so the sum of SP is at least 1; X = 1/2 on the three
        # nodes of C1 and 1/4 on the two of C2, for both jobs, attains it.
        (THREE_FAST, "node", 100.0),
    ],
)
def test_value_of_the_relaxation(instance: Instance, formulation: str, value: float) -> None:
    model = build_package(instance, OPTIONS, formulation)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    assert solve_model(model, SolverLimits(), integral=False).objective == pytest.approx(value)


# --- statuses ------------------------------------------------------------------------------------------

INSTANCE = Instance(FIGURE_3_3, (Job("J1", 2, 100.0, 0.8), Job("J3", 1, 50.0, 0.8)))
SIZE = ModelSize(1, 1, 1, 1)


def test_time_that_runs_out_before_a_schedule_leaves_it_unknown() -> None:
    def out_of_time(*_: Any, **__: Any) -> ModelSolution:
        return ModelSolution(SolveStatus.UNKNOWN, "time", None, -math.inf, SIZE)

    result = solve_package(INSTANCE, OPTIONS, formulation="mode", run_model=out_of_time)
    assert (result.status, result.stopped_by, result.schedule) == ("unknown", "time", None)
    assert result.message


@pytest.mark.parametrize(
    ("status", "stopped_by", "reported"), [("feasible", "interrupt", "interrupt"), ("optimal", "proof", "gap")]
)
def test_a_schedule_without_a_proof_is_feasible_with_its_bound(status: str, stopped_by: Any, reported: str) -> None:
    # HiGHS calls a run optimal that ended within the gap it was allowed; the bound says what is proven: half.
    def half_proven(*arguments: Any, **options: Any) -> ModelSolution:
        solution = solve_model(*arguments, **options)
        bound = 0.5 * solution.lower_bound
        return replace(solution, status=SolveStatus(status), stopped_by=stopped_by, lower_bound=bound)

    result = solve_package(INSTANCE, OPTIONS, formulation="mode", run_model=half_proven)
    assert (result.status, result.stopped_by) == ("feasible", reported)
    assert result.objective == pytest.approx(190.0)
    assert result.lower_bound == pytest.approx(95.0)
    assert result.schedule is not None


def test_trace_timings_and_names() -> None:
    points: list[TracePoint] = []
    result = solve_package(INSTANCE, OPTIONS, formulation="mode", progress=points.append)
    assert result.options.formulation == "mode"
    assert tuple(points) == result.trace
    assert result.trace[-1].incumbent == pytest.approx(190.0)
    assert result.trace[-1].lower_bound == pytest.approx(190.0)
    assert {"build", "solve", "total"} <= set(result.timings)
    assert result.model_size is not None
    assert result.model_size.integers == 5  # on two classes of two nodes J1 has 3 modes and J3 has 2


class NotOnNodeTwo:
    """The mode model with a wish of the user's own: J3 stays off the slow nodes."""

    def build(self, problem: Problem) -> pyo.ConcreteModel:
        model = pas_mode.build(problem)
        slow = [(j, p) for j, p in model.y if j == 1 and model.modes[j][p].allocation[1]]
        model.wish = pyo.Constraint(expr=sum(model.y[key] for key in slow) == 0)
        del model.stages
        return model

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        return pas_mode.extract(model)


def test_a_formulation_of_the_users_own() -> None:
    # J3 on a fast node, so J1 on a slow one: 50 + 100*(0.8*2 + 0.2) = 230.
    result = solve_package(INSTANCE, OPTIONS, formulation=NotOnNodeTwo())
    assert (result.status, result.options.formulation) == ("optimal", "NotOnNodeTwo")
    assert result.objective == pytest.approx(230.0)


class Forgetful(NotOnNodeTwo):
    """A formulation whose schedule ends too early."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        schedule = super().extract(model)
        return schedule.replace(placements=tuple(p.replace(end=p.start + 1.0) for p in schedule))


def test_a_schedule_that_fails_the_check_is_never_returned() -> None:
    with pytest.raises(CoallocError, match="ends too early"):
        solve_package(INSTANCE, OPTIONS, formulation=Forgetful())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slot": 10.0}, "does not support slot"),
        ({"links": "ignore"}, "'strict' or 'shared'"),
        ({"objective": "makespan"}, "must be 'total-execution-time'"),
        ({"links": "shared", "saturation": 0.1}, "links='strict'"),
        ({"model": "cbs", "objective": "chunks", "saturation": 0.1}, "model='pas'"),
        ({"model": "oas"}, "pas, cbs, jpr"),
    ],
)
def test_options_that_do_not_go_together_are_one_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CoallocError, match=message):
        solve_package(INSTANCE, replace(OPTIONS, **options))
