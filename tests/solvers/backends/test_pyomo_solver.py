"""Other MIP solvers through Pyomo: tested for real with the cbc inside PuLP's wheel."""

from __future__ import annotations

import logging
import math
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any, ClassVar

import highspy
import pyomo.environ as pyo
import pytest
from pyomo.common import Executable
from pyomo.common.errors import ApplicationError
from pyomo.common.tempfiles import TempfileManager

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.solvers import portfolio
from coalloc.solvers.backends import cpsat, pyomo_solver
from coalloc.solvers.backends.adapters import Found, Interface, available_solvers
from coalloc.solvers.backends.highs import SolverLimits, checked
from coalloc.solvers.backends.pyomo_solver import solve_with, solver_named
from coalloc.solvers.result import TracePoint
from tests.small_instances import small_instance, small_package
from tests.solvers.hard import cover, market_split


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Leave one empty folder on the path, and have Pyomo look again; return the folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    Executable("cbc").rehash()
    yield tmp_path
    monkeypatch.undo()
    Executable("cbc").rehash()


@pytest.fixture
def cbc(alone: Path) -> str:
    """Put the cbc of PuLP on the path; return its name."""
    pulp = pytest.importorskip("pulp", reason="PuLP, whose wheel has a cbc in it, is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from version 4 on there is an extra for it
        program = Path(getattr(pulp.apis, "PULP_CBC_CMD", pulp.apis.COIN_CMD)().path or "missing")
    if not program.is_file():
        pytest.skip("the wheel of PuLP has no cbc for this machine")
    (alone / "cbc").symlink_to(program.resolve())
    Executable("cbc").rehash()
    return "cbc"


@pytest.fixture
def silent(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fail where anything was printed or logged that the user did not ask for."""
    with caplog.at_level(logging.WARNING):
        yield
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


LIMITS = SolverLimits(time=30.0)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("seed", [2, 5, 12])
def test_cbc_agrees_with_highs_on_oas(cbc: str, seed: int) -> None:
    instance, slot = small_instance(seed)
    ours, theirs = (coalloc.solve(instance, slot=slot, solver=name, formulation="count") for name in ("highs", cbc))
    assert theirs.status == "optimal"
    assert theirs.objective == pytest.approx(ours.objective)
    assert theirs.lower_bound == pytest.approx(ours.lower_bound)
    assert theirs.schedule is not None
    assert check(instance, theirs.schedule) == []


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("seed", [1, 4])
def test_cbc_agrees_with_highs_on_pas(cbc: str, seed: int) -> None:
    instance = small_package(seed)
    ours, theirs = (coalloc.solve(instance, model="pas", solver=name) for name in ("highs", cbc))
    assert theirs.status == ours.status
    assert theirs.objective == pytest.approx(ours.objective)


def test_a_model_that_needs_a_solver_is_proven_by_it(cbc: str) -> None:
    # Two nodes and jobs of 3, 3, 2, 2, 2 slots: longest first ends at 7, optimal is 3 + 3 beside 2 + 2 + 2.
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),))
    instance = Instance(platform, tuple(Job(f"J{i}", 1, t) for i, t in enumerate((30.0, 30.0, 20.0, 20.0, 20.0))))
    result = coalloc.solve(instance, slot=10.0, formulation="mode", solver=cbc)
    assert (result.status, result.objective) == ("optimal", 60.0)
    assert result.model_size is not None
    assert result.trace[-1].incumbent == 60.0


@pytest.mark.usefixtures("silent")
def test_statuses_and_values(cbc: str) -> None:
    trace: list[TracePoint] = []
    model = cover()
    solution = solve_with(cbc, model, LIMITS, integral=True, progress=trace.append)
    assert (solution.status, solution.stopped_by, solution.objective, solution.lower_bound) == (
        "optimal",
        "proof",
        2,
        2,
    )
    assert sum(pyo.value(x) for x in model.x.values()) == 2
    assert [(point.incumbent, point.lower_bound, point.source) for point in trace] == [(2, 2, "cbc")]
    infeasible = solve_with(cbc, cover(need=10), LIMITS, integral=True)
    assert (infeasible.status, infeasible.stopped_by, infeasible.objective) == ("infeasible", "proof", None)


@pytest.mark.usefixtures("silent")
def test_a_start_is_taken(cbc: str) -> None:
    model = cover()
    for x in model.x.values():
        x.set_value(1)
    assert solve_with(cbc, model, LIMITS, integral=True, start=True).objective == 2


@pytest.mark.usefixtures("silent")
def test_an_objective_without_bound_is_an_error(cbc: str) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers)
    model.row = pyo.Constraint(expr=model.x <= 2)
    model.objective = pyo.Objective(expr=model.x)
    with pytest.raises(CoallocError, match="no lower bound"):
        solve_with(cbc, model, LIMITS, integral=True)


def test_an_objective_to_be_maximised_is_refused(cbc: str) -> None:
    model = cover()
    model.objective.sense = pyo.maximize
    with pytest.raises(CoallocError, match="one active objective to minimise"):
        solve_with(cbc, model, LIMITS, integral=True)


@pytest.mark.usefixtures("silent")
def test_a_relaxation_handed_over_at_the_time_limit_is_no_solution(cbc: str) -> None:
    # cbc then writes the fractional values of its last relaxation into its solution file.
    solution = solve_with(cbc, market_split(slack=False), SolverLimits(time=1.0), integral=True)
    assert (solution.status, solution.stopped_by, solution.objective) == ("unknown", "time", None)


@pytest.mark.usefixtures("silent")
def test_the_time_limit_gives_what_is_known(cbc: str) -> None:
    solution = solve_with(cbc, market_split(), SolverLimits(time=1.0), integral=False)
    assert solution.stopped_by == "time"
    assert solution.status == ("unknown" if solution.objective is None else "feasible")
    assert solution.lower_bound < (solution.objective or math.inf)


@pytest.mark.usefixtures("silent")
def test_a_gap_stop_is_no_proof(cbc: str) -> None:
    exact = solve_with(cbc, market_split(rows=3), LIMITS, integral=False)
    solution = solve_with(cbc, market_split(rows=3), SolverLimits(gap=0.9), integral=False)
    assert exact.status == "optimal"
    assert exact.objective is not None
    assert solution.objective is not None
    assert solution.lower_bound <= exact.objective + 1e-6
    assert exact.objective <= solution.objective + 1e-6
    assert solution.status == ("optimal" if solution.lower_bound == solution.objective else "feasible")


@pytest.mark.usefixtures("silent")
def test_a_solver_that_breaks_down_is_named(alone: Path) -> None:
    (alone / "cbc").write_text("#!/bin/sh\necho Version: 2.10.3\nexit 3\n")
    (alone / "cbc").chmod(0o755)
    Executable("cbc").rehash()
    with pytest.raises(CoallocError, match="solver 'cbc' failed"):
        solve_with("cbc", cover(), LIMITS, integral=True)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (FileNotFoundError("no loader for it"), "solver 'cbc' failed: no loader for it"),
        (RuntimeError("it broke down"), "solver 'cbc' failed: it broke down"),
    ],
)
def test_a_solver_that_cannot_run_is_one_error(monkeypatch: pytest.MonkeyPatch, raised: Exception, said: str) -> None:
    monkeypatch.setattr(pyomo_solver, "find_solver", lambda _: Found("cbc", Interface("cbc"), Raising(raised)))
    with pytest.raises(CoallocError, match=said):
        solve_with("cbc", cover(), LIMITS, integral=True)


def test_a_solver_that_is_killed_after_its_time_has_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Raising(TimeoutExpired("cbc", 2.0))
    monkeypatch.setattr(pyomo_solver, "find_solver", lambda _: Found("cbc", Interface("cbc"), solver))
    solution = solve_with("cbc", cover(), SolverLimits(time=1.0), integral=True)
    assert (solution.status, solution.stopped_by, solution.objective) == ("unknown", "time", None)


class Raising:
    """A solver of Pyomo whose run ends with an exception."""

    def __init__(self, raised: Exception) -> None:
        self.options: dict[str, Any] = {}
        self._raised = raised

    def warm_start_capable(self) -> bool:
        return False

    def solve(self, *_: Any, **__: Any) -> None:
        raise self._raised


class OutOfLicenceError(Exception):
    """What interfaces of Pyomo raise need not be an error that anybody knows."""


class Failing:
    """A solver of Pyomo that is there, and fails: ``raised`` where it is asked to solve."""

    raised: ClassVar[Exception]

    def __init__(self, **_: Any) -> None:
        self.options: dict[str, Any] = {}

    def available(self, exception_flag: bool = True) -> bool:
        return True

    def warm_start_capable(self) -> bool:
        return True

    def solve(self, *_: Any, **__: Any) -> None:
        raise self.raised


class Optionless(Failing):
    """A solver that does not have what others have."""

    def __init__(self, **_: Any) -> None: ...


FAILURES = {
    "limited": (
        OutOfLicenceError("Model too large\nfor size-limited license"),
        "Model too large for size-limited license",
    ),
    "keyword": (TypeError("unexpected keyword 'timelimit'"), "unexpected keyword 'timelimit'"),
    "speechless": (OutOfLicenceError(), "OutOfLicenceError"),
    "license": (ApplicationError("no license\x1b[31m"), "no license\\x1b[31m"),
}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[str, str]:
    """Register a solver that fails; return the name that Pyomo knows it by, and what it says."""
    raised, said = FAILURES[request.param]
    monkeypatch.setattr(Failing, "raised", raised, raising=False)
    monkeypatch.setitem(pyo.SolverFactory._cls, "gurobi_direct", Failing)
    return "gurobi", f"solver 'gurobi' failed: {said}"


HARD = Instance(
    Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),)),
    tuple(Job(f"J{i}", 1, t) for i, t in enumerate((30.0, 30.0, 20.0, 20.0, 20.0))),
)
"""Two nodes and jobs of 3, 3, 2, 2, 2 slots: the area bounds them by 6 slots, and lists end at 7."""


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("failing", FAILURES, indirect=True)
@pytest.mark.parametrize("formulation", ["node", "count", "mode"])
def test_a_solver_that_fails_leaves_what_is_known(failing: tuple[str, str], formulation: str) -> None:
    name, said = failing
    result = coalloc.solve(HARD, slot=10.0, formulation=formulation, solver=name)
    assert (result.status, result.stopped_by, result.message) == ("feasible", "failure", said)
    assert (result.objective, result.lower_bound) == (70.0, 60.0)
    assert result.schedule is not None
    assert check(HARD, result.schedule) == []


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("failing", ["limited"], indirect=True)
def test_a_solver_that_fails_is_noted_once_by_the_portfolio(
    failing: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing but lists and the model is left, and the model is asked for again and again.
    name, said = failing
    kept = tuple(m for m in portfolio.METHODS if m.name in ("longest job and packing", "list schedule", "model"))
    monkeypatch.setattr(portfolio, "METHODS", kept)
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    result = coalloc.solve(HARD, slot=10.0, solver=name, time_limit=1.0)
    assert (result.status, result.objective, result.message) == ("feasible", 70.0, said)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("failing", ["limited"], indirect=True)
@pytest.mark.parametrize(
    "options",
    [
        {"model": "pas", "formulation": "node"},
        {"model": "pas", "formulation": "mode"},
        {"objective": "energy", "slot": 10.0},
        {"objective": "edp", "slot": 10.0},
        {"objective": ("makespan", "total-response-time"), "slot": 10.0, "formulation": "mode"},
    ],
)
def test_no_model_raises_where_its_solver_fails(failing: tuple[str, str], options: dict[str, Any]) -> None:
    name, said = failing
    watts = {"idle_watts": 50.0, "static_watts": 100.0, "core_watts": 10.0}
    platform = Platform((Cluster("C1", (NodeGroup(6, 1.0, **watts), NodeGroup(2, 0.5, **watts)), 1.0),))
    instance = HARD.replace(platform=platform)
    result = coalloc.solve(instance, solver=name, time_limit=2.0, **options)
    assert result.status in ("optimal", "feasible", "unknown")
    assert said in result.message or result.status == "optimal"


def test_a_bound_whose_solver_fails_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        checked(highspy.HighsStatus.kError, "adding a row")

    monkeypatch.setattr("coalloc.solvers.bounds.feasible_set.FeasibleSets.bound", fail)
    result = coalloc.solve(HARD, slot=10.0)
    assert (result.status, result.objective) == ("optimal", 60.0)
    assert "HiGHS failed while adding a row" in result.message


def test_a_solver_that_cannot_be_asked_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def available(self: Failing, exception_flag: bool = True) -> bool:
        raise OutOfLicenceError

    monkeypatch.setitem(pyo.SolverFactory._cls, "gurobi_direct", Failing)
    monkeypatch.setattr(Failing, "available", available)
    assert "gurobi" not in available_solvers()
    with pytest.raises(CoallocError, match="solver 'gurobi' cannot be used"):
        coalloc.solve(HARD, slot=10.0, solver="gurobi")


def test_a_solver_without_options_fails_likewise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pyo.SolverFactory._cls, "gurobi_direct", Optionless)
    result = coalloc.solve(HARD, slot=10.0, formulation="mode", solver="gurobi")
    assert (result.objective, result.stopped_by) == (70.0, "failure")
    assert result.message == "solver 'gurobi' failed: 'Optionless' object has no attribute 'options'"


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("name", ["glpk", "no such solver", "../cbc"])
def test_a_missing_solver_is_one_error_that_lists_those_found(cbc: str, name: str) -> None:
    known = "it is not installed; it needs the program glpsol on the PATH"
    unknown = r"it is unknown to Pyomo or not installed; available: highs, cbc(, cplex)?(, gurobi)?(, scip)?"
    with pytest.raises(CoallocError, match=f"cannot be used: {known if name == 'glpk' else unknown}$"):
        solver_named(name, print)
    # Also where no model is needed: one job alone is proven by its own length.
    instance = Instance(Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),)), (Job("J1", 1, 10.0),))
    with pytest.raises(CoallocError, match="not installed"):
        coalloc.solve(instance, slot=10.0, solver=name)


@pytest.mark.usefixtures("alone")
def test_without_any_other_solver_there_is_highs() -> None:
    assert "highs" in available_solvers()
    assert "cbc" not in available_solvers()


def test_a_limit_on_work_is_for_highs(cbc: str) -> None:
    with pytest.raises(CoallocError, match="work_limit requires solver='highs'; with 'cbc' use time_limit"):
        solver_named(cbc, print, work_limit=10)


def test_an_interrupted_solver_leaves_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Interrupted:
        warm_start_capable = staticmethod(lambda: False)
        options: ClassVar[dict[str, float]] = {}

        def solve(self, model: pyo.ConcreteModel, **_: object) -> None:
            Path(TempfileManager.create_tempfile(suffix=".lp")).write_text("a model")
            raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(pyomo_solver, "find_solver", lambda _: Found("cbc", Interface("cbc"), Interrupted()))
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.cost = pyo.Objective(expr=model.x)
    before = TempfileManager.tempdir
    with TempfileManager.new_context(), pytest.raises(KeyboardInterrupt):
        pyomo_solver.solve_with("cbc", model, SolverLimits(time=1.0), integral=False)
    assert (list(tmp_path.iterdir()), TempfileManager.tempdir) == ([], before)
