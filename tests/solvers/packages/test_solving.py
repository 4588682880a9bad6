"""Solving packages: what is proven without a model, what is left to one, and what is said when neither ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import coalloc
import coalloc.solvers.packages.solving as package
from coalloc.checker import check
from coalloc.instance import Instance, Job
from coalloc.problem import Mode, Problem
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.packages.placing import PlacedPackage, place_package
from coalloc.solvers.packages.search import OnBetter, WorkLeft
from coalloc.solvers.packages.solving import solve_package
from coalloc.solvers.packages.worth import OBJECTIVES
from coalloc.solvers.result import ModelSolution, SolveOptions
from tests.heuristics.runs import star

OPTIONS = {m: SolveOptions(model=m, objective=OBJECTIVES[m]) for m in ("pas", "cbs", "jpr")}  # type: ignore[arg-type]

TWO_JOBS = Instance(
    star((3, 1.0, 8.0), (3, 0.5, 8.0)),
    tuple(Job(f"J{i}", 2, 10.0 * i, task_bandwidth=8.0) for i in (1, 2)),
)
"""Two jobs that want the same fast nodes: the longer gets them, 20 s, and the other takes 10 * 2 = 20 s."""


def no_model(*_: Any, **__: Any) -> ModelSolution:
    """Run no model."""
    raise AssertionError("a model was run")


@pytest.mark.parametrize("model", ["pas", "cbs", "jpr"])
def test_a_package_is_proven_without_a_model(model: str) -> None:
    result = solve_package(TWO_JOBS, OPTIONS[model], run_model=no_model)
    assert (result.status, result.stopped_by, result.model_size) == ("optimal", "proof", None)
    assert (result.options.formulation, result.trace[-1].source) == ("auto", "package search")
    assert result.lower_bound == result.objective == {"pas": 40.0, "cbs": 0.0, "jpr": 40.0}[model]


@pytest.mark.parametrize(("model", "formulation"), [("pas", "mode"), ("pas", "node"), ("cbs", "mode"), ("jpr", "mode")])
def test_a_formulation_asked_for_by_name_is_run_to_its_own_proof(model: str, formulation: str) -> None:
    result = solve_package(TWO_JOBS, OPTIONS[model], formulation=formulation)
    assert (result.status, result.options.formulation) == ("optimal", formulation)
    assert result.model_size is not None
    assert {point.source for point in result.trace} <= {"HiGHS", "highs"}


def test_that_no_package_fits_the_links_is_proven_without_a_model() -> None:
    # Three jobs of two tasks: one is in both clusters, and puts 8 MB/s on links of 7.
    jobs = tuple(Job(f"J{i}", 2, 10.0, task_bandwidth=8.0) for i in range(3))
    result = solve_package(Instance(star((3, 1.0, 7.0), (3, 1.0, 7.0)), jobs), OPTIONS["pas"], run_model=no_model)
    assert (result.status, result.stopped_by) == ("infeasible", "proof")
    assert result.message.startswith("there are enough processors for the package, but not enough bandwidth: ")


def test_a_package_that_saturates_no_link_is_proven_where_links_may_saturate() -> None:
    options = SolveOptions(model="pas", objective="total-execution-time", links="shared")
    result = solve_package(TWO_JOBS, options, run_model=no_model)
    assert (result.status, result.objective, result.simulated_objective) == ("optimal", 40.0, 40.0)


@pytest.fixture
def without_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search end before it has proven anything."""

    def unproven(problem: Problem, model: str, work: WorkLeft, on_better: OnBetter | None = None) -> PlacedPackage:
        return replace(place_package(problem, model, work, on_better), lower_bound=0.0, is_proven=False)

    monkeypatch.setattr(package, "place_package", unproven)


@pytest.mark.usefixtures("without_proof")
def test_what_is_not_proven_goes_to_the_model_which_starts_from_the_package() -> None:
    starts: list[bool] = []

    def run_model(*arguments: Any, **options: Any) -> ModelSolution:
        starts.append(options["start"])
        return solve_model(*arguments, **options)

    for model, objective, stages in (("pas", 40.0, 1), ("cbs", 0.0, 2), ("jpr", 40.0, 2)):
        starts.clear()
        result = solve_package(TWO_JOBS, OPTIONS[model], run_model=run_model)
        assert (result.status, result.objective) == ("optimal", objective)
        assert starts == [True] * stages
        assert result.model_size is not None


@pytest.mark.usefixtures("without_proof")
def test_too_many_modes_are_left_to_the_node_formulation_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_MODES", 1)
    jpr = solve_package(TWO_JOBS, OPTIONS["jpr"], run_model=no_model)
    assert (jpr.status, jpr.stopped_by, jpr.objective, jpr.lower_bound) == ("feasible", "work", 40.0, 0.0)
    pas = solve_package(TWO_JOBS, OPTIONS["pas"])
    assert (pas.status, pas.objective) == ("optimal", 40.0)
    assert pas.model_size is not None


def test_ctrl_c_keeps_the_best_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(problem: Problem, model: str, work: WorkLeft, on_better: OnBetter | None = None) -> PlacedPackage:
        def after_the_first(modes: Sequence[Mode]) -> None:
            assert on_better is not None
            on_better(modes)
            raise KeyboardInterrupt

        return place_package(problem, model, work, after_the_first)

    monkeypatch.setattr(package, "place_package", interrupted)
    result = solve_package(TWO_JOBS, OPTIONS["pas"], run_model=no_model)
    assert (result.status, result.stopped_by) == ("feasible", "interrupt")
    assert result.schedule is not None
    assert check(TWO_JOBS, result.schedule) == []


def test_the_time_limit_holds_for_the_search_too() -> None:
    # With no time at all nothing is placed, and the model is not solved either.
    result = coalloc.solve(TWO_JOBS, model="pas", time_limit=1e-9)
    assert (result.status, result.stopped_by, result.schedule) == ("unknown", "time", None)


def test_a_gap_that_the_search_reaches_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly(problem: Problem, model: str, work: WorkLeft, on_better: OnBetter | None = None) -> PlacedPackage:
        placed = place_package(problem, model, work, on_better)
        return PlacedPackage(placed.modes, 0.9 * placed.lower_bound, is_proven=False)

    monkeypatch.setattr(package, "place_package", nearly)
    result = solve_package(TWO_JOBS, OPTIONS["pas"].replace(gap=0.2), run_model=no_model)
    assert (result.status, result.stopped_by) == ("feasible", "gap")
    assert result.gap == pytest.approx(0.1)


def test_a_job_with_more_allocations_than_are_listed_is_judged_all_the_same() -> None:
    # 60 tasks on 12 clusters of 8 nodes: some 10**9 allocations, none within a cluster, and the links carry nothing.
    job = Job("J1", 60, 10.0, 0.5, 1.0)
    result = solve_package(Instance(star(*[(8, 1.0, 0.0)] * 12), (job,)), OPTIONS["pas"])
    assert (result.status, result.message) == (
        "infeasible",
        "job 'J1' cannot start at 0 s: every allocation saturates a link",
    )


def test_a_node_model_that_is_too_large_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two jobs on six processors: twelve places.
    monkeypatch.setattr(package, "MAX_PLACES", 11)
    refused = r"12 pairs of job and processor, above the limit of 11; .*formulation='mode'"
    with pytest.raises(coalloc.CoallocError, match=refused):
        coalloc.build_model(TWO_JOBS, model="pas", formulation="node")
    with pytest.raises(coalloc.CoallocError, match=refused):
        coalloc.solve(TWO_JOBS, model="pas", formulation="node")
    assert coalloc.solve(TWO_JOBS, model="pas").status == "optimal"
