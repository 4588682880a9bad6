"""Each MIP solver behind an adapter against brute force: skipped where the solver is not installed."""

from __future__ import annotations

import json
import math

import pyomo.environ as pyo
import pytest
from typer.testing import CliRunner

import coalloc
from coalloc.checker import check
from coalloc.instance import CoallocError
from coalloc.solvers.backends.adapters import ADAPTERS, find_solver, solver_called
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.backends.pyomo_solver import solve_with
from coalloc.testing.brute_force import brute_force_cbs, brute_force_jpr, brute_force_oas, brute_force_pas
from tests.small_instances import NODE_MODEL_SIZE, small_instance, small_package
from tests.solvers.hard import cover, market_split


def is_available(name: str) -> bool:
    """Return whether a solver can be used."""
    try:
        find_solver(name)
    except CoallocError:
        return False
    return True


SOLVERS = [
    pytest.param(
        adapter.name,
        marks=[
            pytest.mark.adapters,
            pytest.mark.skipif(not is_available(adapter.name), reason=f"{adapter.name} needs {adapter.source}"),
        ],
    )
    for adapter in ADAPTERS.builtin.values()
]
PACKAGES = {"pas": brute_force_pas, "cbs": brute_force_cbs, "jpr": brute_force_jpr}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", ["node", "count", "mode"])
@pytest.mark.parametrize("seed", range(4))
def test_models_of_slots_agree_with_brute_force(solver: str, formulation: str, seed: int) -> None:
    instance, slot = small_instance(seed, NODE_MODEL_SIZE)
    model = coalloc.build_model(instance, formulation=formulation, slot=slot)
    solution = solve_with(solver, model, SolverLimits(), integral=True)
    assert (solution.status, solution.stopped_by) == ("optimal", "proof")
    best = brute_force_oas(instance, slot)
    schedule = coalloc.schedule_of_model(model)
    assert check(instance, schedule) == []
    assert max(placement.end for placement in schedule) - instance.origin == pytest.approx(best.objective)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("model", "formulation", "seed"),
    [(m, f, s) for m, f in [("pas", "node"), ("pas", "mode"), ("cbs", "mode"), ("jpr", "mode")] for s in (1, 4)],
)
def test_models_of_packages_agree_with_brute_force(solver: str, model: str, formulation: str, seed: int) -> None:
    instance = small_package(seed)
    result = coalloc.solve(instance, model=model, formulation=formulation, solver=solver)
    best = PACKAGES[model](instance)
    if best.objective is None:
        assert result.status == "infeasible"
    else:
        assert result.status == "optimal"
        assert result.objective == pytest.approx(best.objective)


@pytest.mark.parametrize("solver", SOLVERS)
def test_statuses_limits_and_starts(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    infeasible = solve_with(solver, cover(need=10), SolverLimits(), integral=True)
    assert (infeasible.status, infeasible.lower_bound) == ("infeasible", math.inf)
    started = cover()
    for x in started.x.values():
        x.set_value(1)
    assert solve_with(solver, started, SolverLimits(), integral=True, start=True).objective == 2
    notes: list[str] = []
    stopped = solve_with(
        solver, market_split(), SolverLimits(time=1.0, threads=2, seed=3), integral=False, note=notes.append
    )
    assert stopped.stopped_by == "time"
    assert stopped.lower_bound < (stopped.objective or math.inf)
    assert all(note.startswith(f"solver {solver!r} takes no ") for note in notes)
    without = solve_with(solver, market_split(slack=False), SolverLimits(time=1.0), integral=True)
    assert (without.status, without.stopped_by) == ("unknown", "time")
    unbounded = pyo.ConcreteModel()
    unbounded.x = pyo.Var(domain=pyo.Integers)
    unbounded.row = pyo.Constraint(expr=unbounded.x <= 2)
    unbounded.objective = pyo.Objective(expr=unbounded.x)
    with pytest.raises(CoallocError, match="no lower bound"):
        solve_with(solver, unbounded, SolverLimits(), integral=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", [p for p in SOLVERS if p.values[0] in ("cplex", "gurobi")])
def test_the_size_limit_of_a_free_edition_is_one_line(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    # 2,001 variables: above the 1,000 of CPLEX and the 2,000 of Gurobi.
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2001), domain=pyo.Binary)
    model.row = pyo.Constraint(expr=pyo.quicksum(model.x.values()) >= 1)
    model.objective = pyo.Objective(expr=pyo.quicksum(model.x.values()))
    with pytest.raises(CoallocError, match=rf"^solver '{solver}' failed: .*size[^\n]*$"):
        solve_with(solver, model, SolverLimits(), integral=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        *[("appsi_highs", "highs"), ("gurobi_persistent", "gurobi"), ("appsi_gurobi", "gurobi"), ("Gurobi", "gurobi")],
        *[("cplex_direct", "cplex"), ("scip_direct", "scip"), ("cbc", "cbc"), ("mosek", "mosek")],
    ],
)
def test_names_of_interfaces_mean_the_solver(alias: str, name: str) -> None:
    assert solver_called(alias) == name


def test_an_option_that_a_solver_does_not_take_is_noted() -> None:
    # HiGHS as a solver without adapter: Pyomo's configuration has a gap and no seed.
    instance, slot = small_instance(5)
    notes: list[str] = []
    model = coalloc.build_model(instance, formulation="mode", slot=slot)
    limits = SolverLimits(gap=0.5, seed=3)
    found = solve_with("highs", model, limits, integral=True, note=notes.append)
    assert found.objective is not None
    assert notes == ["solver 'highs' takes no seed"]


def test_the_shell_lists_solvers_and_why_one_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from coalloc.cli.app import app

    monkeypatch.setenv("PATH", "")
    lines = CliRunner().invoke(app, ["solvers"]).output.splitlines()
    assert any(line.startswith("  highs ") for line in lines)
    listed = {row["name"]: row for row in json.loads(CliRunner().invoke(app, ["solvers", "--json"]).output)}
    assert listed["highs"]["usable"]
    assert listed["glpk"] == {
        **{"name": "glpk", "usable": False, "version": "", "options": [], "used_by": "solver"},
        "reason": "it is not installed; it needs the program glpsol on the PATH",
    }
