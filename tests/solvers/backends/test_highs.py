"""The path to HiGHS: statuses, starts, limits, trace; on models that can be solved by hand, and on one that cannot."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyomo.environ as pyo
import pytest

from coalloc.instance import CoallocError
from coalloc.solvers.backends.highs import SolverLimits, _HighsRun, _wait, solve_model
from coalloc.solvers.result import ModelSize, TracePoint
from tests.solvers.hard import cover, market_split

ROOT = Path(__file__).resolve().parents[3]


def chosen(model: pyo.ConcreteModel) -> list[float]:
    """Return the values of the variables x."""
    return [pyo.value(x) for x in model.x.values()]


def test_an_optimum_and_its_size() -> None:
    model = cover()
    solution = solve_model(model, SolverLimits(), integral=True)
    assert (solution.status, solution.stopped_by) == ("optimal", "proof")
    assert (solution.objective, solution.lower_bound) == (2, 2)
    assert solution.size == ModelSize(rows=1, columns=3, nonzeros=3, integers=3)
    assert sum(chosen(model)) == 2
    assert isinstance(solution.objective, int)


def test_a_linear_programme() -> None:
    # min x + 2 y, x + y >= 3, x <= 2: 2 + 2 = 4, and 10 on top.
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, None))
    model.row = pyo.Constraint(expr=model.x + model.y >= 3)
    model.objective = pyo.Objective(expr=model.x + 2 * model.y + 10)
    solution = solve_model(model, SolverLimits(), integral=False)
    assert (solution.status, solution.objective, solution.lower_bound) == ("optimal", 14.0, 14.0)
    assert (pyo.value(model.x), pyo.value(model.y)) == (2.0, 1.0)


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_a_model_without_rows(domain: pyo.Set) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(2, 5), domain=domain)
    model.objective = pyo.Objective(expr=model.x + 1)
    assert solve_model(model, SolverLimits(), integral=False).objective == 3.0


def test_an_empty_model_has_its_constant() -> None:
    model = pyo.ConcreteModel()
    model.objective = pyo.Objective(expr=3)
    solution = solve_model(model, SolverLimits(), integral=True)
    assert (solution.status, solution.objective, solution.lower_bound) == ("optimal", 3, 3)


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_an_infeasible_model(domain: pyo.Set) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 5), domain=domain)
    model.row = pyo.Constraint(expr=2 * model.x >= 11)
    model.objective = pyo.Objective(expr=model.x)
    solution = solve_model(model, SolverLimits(), integral=False)
    assert (solution.status, solution.stopped_by, solution.objective) == ("infeasible", "proof", None)


def test_a_model_that_is_infeasible_by_parity_only() -> None:
    # 2 x + 2 y = 3 has solutions, none of them whole.
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(0, 9), domain=pyo.Integers)
    model.row = pyo.Constraint(expr=2 * model.x[0] + 2 * model.x[1] == 3)
    model.objective = pyo.Objective(expr=model.x[0])
    assert solve_model(model, SolverLimits(), integral=True).status == "infeasible"


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_an_objective_without_bound_is_not_called_infeasible(domain: pyo.Set) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=domain)
    model.row = pyo.Constraint(expr=model.x <= 1)
    model.objective = pyo.Objective(expr=model.x)
    with pytest.raises(CoallocError, match="no lower bound"):
        solve_model(model, SolverLimits(), integral=False)


def test_only_one_objective_to_be_minimised() -> None:
    model = cover()
    model.objective.sense = pyo.maximize
    with pytest.raises(CoallocError, match=r"one active objective to minimise; 'cover'"):
        solve_model(model, SolverLimits(), integral=True)
    model.objective.sense = pyo.minimize
    model.second = pyo.Objective(expr=model.x[0])
    with pytest.raises(CoallocError, match="one active objective"):
        solve_model(model, SolverLimits(), integral=True)
    model.second.deactivate()
    assert solve_model(model, SolverLimits(), integral=True).objective == 2


def test_fixed_variables_stay() -> None:
    model = cover()
    model.x[0].fix(0)
    assert solve_model(model, SolverLimits(), integral=True).objective == 2
    assert chosen(model) == [0, 1, 1]


def test_a_start_comes_back_when_there_is_no_work_to_do() -> None:
    model = cover()
    for x in model.x.values():
        x.set_value(1)
    solution = solve_model(model, SolverLimits(work=0), integral=True, start=True)
    assert solution.objective is not None
    assert solution.objective <= 3
    hard = market_split()
    for x in hard.x.values():
        x.set_value(0)
    # All x = 0: each row lacks its half, so HiGHS completes the start by the slacks.
    worst = 1 + sum(int(row.upper) for row in hard.half.values())
    from_start = solve_model(hard, SolverLimits(work=0), integral=False, start=True)
    assert (from_start.status, from_start.stopped_by) == ("feasible", "work")
    assert from_start.objective is not None
    assert from_start.objective <= worst


def test_without_a_start_and_without_work_nothing_is_known() -> None:
    solution = solve_model(market_split(slack=False), SolverLimits(work=0), integral=False)
    assert (solution.status, solution.stopped_by, solution.objective) == ("unknown", "work", None)


def test_a_start_that_breaks_a_row_is_no_solution() -> None:
    model = cover()
    for x in model.x.values():
        x.set_value(0)
    assert solve_model(model, SolverLimits(), integral=True, start=True).objective == 2


def test_a_start_that_leaves_out_whole_variables_proves_nothing() -> None:
    # Five items that need not be chosen are; HiGHS proves what is best beside them when it completes the start.
    rng = np.random.default_rng(6)
    weights = rng.integers(1, 10, (4, 12)).tolist()
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(12), domain=pyo.Binary)
    model.rows = pyo.ConstraintList()
    for row in weights:
        model.rows.add(pyo.quicksum(w * x for w, x in zip(row, model.x.values(), strict=True)) >= sum(row) // 2)
    prices = rng.integers(2, 10, 12).tolist()
    model.objective = pyo.Objective(expr=pyo.quicksum(c * x for c, x in zip(prices, model.x.values(), strict=True)))
    without = solve_model(model, SolverLimits(), integral=True)
    for i, x in model.x.items():
        x.set_value(1 if i < 5 else None)
    solution = solve_model(model, SolverLimits(), integral=True, start=True)
    assert (solution.status, solution.objective) == ("optimal", without.objective)


def test_the_work_limit_stops_after_some_nodes() -> None:
    solution = solve_model(market_split(), SolverLimits(work=5), integral=False)
    assert (solution.status, solution.stopped_by) == ("feasible", "work")
    assert solution.objective is not None
    assert 1.0 <= solution.lower_bound < solution.objective


def test_a_run_ends_where_the_rounded_bound_meets_what_a_solution_is_worth() -> None:
    # Any slack costs 0.97 * 1.05 on top of 9.9: 10.9185, worth 10, which HiGHS sees 1.0185 above its bound.
    # Whether there is one without slack takes hours to know, and does not matter: 9.9 is 10 at least.
    model = market_split()
    model.share = pyo.Var(bounds=(0, 1))
    model.any = pyo.Var(domain=pyo.Binary)
    most = sum(50 * 100 for _ in range(6))
    model.needs = pyo.Constraint(expr=pyo.quicksum(model.slack.values()) <= most * model.any)
    model.costs = pyo.Constraint(expr=model.share >= 0.97 * model.any)
    model.objective.set_value(9.9 + 1.05 * model.share)
    solution = solve_model(model, SolverLimits(time=60.0), integral=True)
    assert (solution.status, solution.stopped_by) == ("optimal", "proof")
    assert (solution.objective, solution.lower_bound) == (10, 10)


def test_the_time_limit_stops_honestly() -> None:
    solution = solve_model(market_split(), SolverLimits(time=0.3), integral=False)
    assert solution.stopped_by == "time"
    assert solution.status == ("unknown" if solution.objective is None else "feasible")
    assert solution.lower_bound < (solution.objective or math.inf)
    unknown = solve_model(market_split(slack=False), SolverLimits(time=0.3), integral=False)
    assert (unknown.status, unknown.stopped_by, unknown.objective) == ("unknown", "time", None)


def test_no_time_at_all() -> None:
    solution = solve_model(market_split(slack=False), SolverLimits(time=0.0), integral=False)
    assert (solution.status, solution.stopped_by) == ("unknown", "time")


def test_a_gap_stop_is_no_proof() -> None:
    # Any cover is within 100 % of the optimum; the bound that is left may say no more than 1.
    model = market_split(rows=3)
    solution = solve_model(model, SolverLimits(gap=0.9), integral=False)
    exact = solve_model(model, SolverLimits(), integral=False)
    assert exact.status == "optimal"
    assert exact.objective is not None
    assert solution.objective is not None
    assert solution.lower_bound <= exact.objective <= solution.objective
    assert solution.stopped_by == ("proof" if solution.lower_bound == solution.objective else "gap")
    assert solution.status == ("optimal" if solution.lower_bound == solution.objective else "feasible")


def test_whole_objectives_round_the_bound_up() -> None:
    # The relaxation of three weights of 2 for a need of 3 is 1.5: rounded up that is the optimum.
    solution = solve_model(cover((2, 2, 2), 3), SolverLimits(work=0), integral=True)
    assert solution.lower_bound in (2, -math.inf)
    assert solve_model(cover((2, 2, 2), 3), SolverLimits(), integral=True).lower_bound == 2


def test_the_trace_only_improves() -> None:
    trace: list[TracePoint] = []
    solution = solve_model(
        market_split(rows=4), SolverLimits(work=400), integral=False, progress=trace.append, source="us"
    )
    assert {point.source for point in trace} == {"us"}
    assert [point.time for point in trace] == sorted(point.time for point in trace)
    incumbents = [point.incumbent for point in trace if point.incumbent is not None]
    bounds = [point.lower_bound for point in trace if point.lower_bound is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    assert bounds == sorted(bounds)
    assert solution.objective == pytest.approx(incumbents[-1])
    assert max(bounds) <= solution.lower_bound + 1e-6
    assert all(a != b for a, b in pairwise(trace))


def test_the_number_of_threads_may_change_within_a_process() -> None:
    for threads in (1, 2, 1):
        assert solve_model(cover(), SolverLimits(threads=threads), integral=True).objective == 2


def test_the_same_seed_gives_the_same_solution() -> None:
    first, second = market_split(rows=4), market_split(rows=4)
    limits = SolverLimits(work=30, seed=7)
    one, two = (solve_model(model, limits, integral=False) for model in (first, second))
    assert one == two
    assert chosen(first) == chosen(second)


def test_a_fault_in_the_progress_function_reaches_the_caller() -> None:
    def fail(_: TracePoint) -> None:
        raise ZeroDivisionError("of the caller")

    with pytest.raises(ZeroDivisionError, match="of the caller"):
        solve_model(market_split(rows=4), SolverLimits(work=100), integral=False, progress=fail)


def test_an_interrupt_of_the_progress_function_keeps_what_is_known() -> None:
    def interrupt(point: TracePoint) -> None:
        if point.incumbent is not None:
            raise KeyboardInterrupt

    solution = solve_model(market_split(), SolverLimits(time=30.0), integral=False, progress=interrupt)
    assert (solution.status, solution.stopped_by) == ("feasible", "interrupt")


def test_what_is_told_to_stop_is_out_of_time_as_well() -> None:
    # Presolve, which may take minutes, calls nobody back, but looks at the time limit.
    class Interrupted(Event):
        def wait(self, timeout: float | None = None) -> bool:
            if not options:
                raise KeyboardInterrupt
            return self.set() or True

    options: dict[str, float] = {}
    highs: Any = SimpleNamespace(setOptionValue=options.__setitem__)
    run = _HighsRun(highs, lambda *_: None, True, np.zeros(0), 0.0)
    assert _wait(run, Interrupted(), 100.0) == "interrupt"
    assert (run.stop, options) == (True, {"time_limit": 0.0})


def test_what_takes_long_to_stop_is_not_out_of_time() -> None:
    class Slow(Event):
        polls = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.polls += 1
            return self.polls == 5 and (self.set() or True)

    run = _HighsRun(cast(Any, SimpleNamespace(setOptionValue=lambda *_: None)), lambda *_: None, True, np.zeros(0), 0.0)
    run.stop = True  # its callbacks found something wrong
    assert _wait(run, Slow(), 100.0) is None


def test_a_run_that_misreports_an_objective_proves_nothing() -> None:
    # Two columns at 1 that cost 3 and 8, and an offset of 2: 13, where 5 is reported, as by HiGHS 1.16.0.
    run = _HighsRun(SimpleNamespace(), lambda *_: None, True, np.array([3.0, 8.0]), 2.0)
    assert run.worth(np.array([1.0, 1.0]), 13.0) == 13.0
    assert not run.misreported
    event = SimpleNamespace(
        data_out=SimpleNamespace(mip_solution=[1.0, 1.0], objective_function_value=5.0, mip_dual_bound=13.0)
    )
    run.on_solution(event)
    assert (run.objective, run.misreported, run.is_closed) == (13.0, True, False)


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )


def test_ctrl_c_returns_the_best_known() -> None:
    script = """
import os, signal
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from tests.solvers.hard import market_split

sent = []

def interrupt(point):
    if point.incumbent is not None and not sent:
        sent.append(point)
        os.kill(os.getpid(), signal.SIGINT)

solution = solve_model(market_split(), SolverLimits(time=30), integral=False, progress=interrupt)
print(solution.status.value, solution.stopped_by, solution.objective is not None)
"""
    done = run(script)
    assert (done.stdout, done.stderr, done.returncode) == ("feasible interrupt True\n", "", 0)


def test_a_process_ends_cleanly_right_after_a_time_limit() -> None:
    script = """
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from tests.solvers.hard import market_split
print(solve_model(market_split(), SolverLimits(time=0.2), integral=False).stopped_by)
"""
    done = run(script)
    assert (done.stdout, done.stderr, done.returncode) == ("time\n", "", 0)
