"""Any other MIP solver that Pyomo finds, by name: the compatibility path beside HiGHS.

"optimal" from a solver counts as a proof only where its gap was set to 0 by the options known here;
from any other solver the bound that it reports decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError
from pyomo.common.tempfiles import TempfileManager
from pyomo.opt import SolverStatus, TerminationCondition
from pyomo.repn import generate_standard_repn

from coalloc.instance import CoallocError
from coalloc.solvers.backends.adapters import START, Found, find_solver, one_line, quiet
from coalloc.solvers.backends.failing import SolverFailedError
from coalloc.solvers.backends.highs import INTEGRALITY, SolverLimits, minimised_objective
from coalloc.solvers.result import ModelSize, ModelSolution, Progress, SolveStatus, StoppedBy, TracePoint

WHOLE = 1e-5
"""Greatest distance from a whole number at which a solver may leave an integer variable."""
SHORTEST = 0.01
"""Seconds that a solver gets at least: 0 means no limit to some."""
DEFAULTS = SolverLimits()
"""Limits that nobody has set."""


def solver_named(
    name: str, note: Callable[[str], None], *, work_limit: int | None = None
) -> Callable[..., ModelSolution]:
    """Return what runs a model with a named solver: the signature of ``highs.solve_model``.

    Each option that the solver does not take is noted in a run that sets it. Raises :class:`CoallocError` where the
    solver cannot be used, or ``work_limit`` is given.
    """
    find_solver(name)
    if work_limit is not None:
        raise CoallocError(f"work_limit requires solver='highs'; with {name!r} use time_limit")
    return partial(solve_with, name, note=note)


def solve_with(
    name: str,
    model: pyo.ConcreteModel,
    limits: SolverLimits,
    *,
    integral: bool,
    start: bool = False,
    progress: Progress | None = None,
    source: str | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> ModelSolution:
    """Solve a Pyomo model with a named solver; arguments and result as in ``highs.solve_model``.

    The time limit is cut to whole seconds, at least one, for solvers that take no others. There is one report
    of progress, at the end. Raises :class:`CoallocError` where the solver cannot be used, and
    :class:`SolverFailedError` where it fails.
    """
    objective = minimised_objective(model)
    found = find_solver(name)
    began = time.perf_counter()
    with quiet(), _failures(name):
        for option in _set_options(found, limits):
            note(f"solver {found.name!r} takes no {option}")
        extra = _time_keywords(found, limits.time)
        if start and _has_start(model):
            extra |= _start_keywords(found)
        is_cplex = found.interface.name == "cplex_direct"
        if is_cplex:
            _silence(found.solver)
        results = _results(found.solver, model, extra)
        seconds = time.perf_counter() - began
        if results is None:
            solution = ModelSolution(SolveStatus.UNKNOWN, "time", None, -math.inf, _size(model))
        else:
            if is_cplex and results.solver.status == SolverStatus.error:
                _complete(found.solver, results)
            solution = _solution(found, model, objective, results, integral=integral, gap=limits.gap)
    if progress is not None:
        bound = solution.lower_bound if math.isfinite(solution.lower_bound) else None
        progress(TracePoint(seconds, solution.objective, bound, source or found.name))
    return solution


def _has_start(model: pyo.ConcreteModel) -> bool:
    """Return whether each integer variable has a value: a partial start is left out, as in ``highs.solve_model``."""
    return all(v.value is not None for v in model.component_data_objects(pyo.Var) if not v.is_continuous())


def _start_keywords(found: Found) -> dict[str, Any]:
    """Prepare a solver to start from the values of the variables, and return the keywords for that."""
    if not found.takes_start:
        return {}
    if START in getattr(found.solver, "config", ()):
        setattr(found.solver.config, START, True)
        return {}
    return {"warmstart": True}


def _time_keywords(found: Found, limit: float) -> dict[str, Any]:
    """Set the time limit of a solver, or return the keyword by which Pyomo does so, which some interfaces ignore."""
    if not math.isfinite(limit):
        return {}
    if found.interface.time is not None:
        found.solver.options[found.interface.time] = max(SHORTEST, limit)
        return {}
    return {"timelimit": max(1, int(limit))}


def _set_options(found: Found, limits: SolverLimits) -> list[str]:
    """Set gap, threads and seed of a solver; return those that it does not take, though they are no defaults."""
    if found.interface.always:
        found.solver.options.update(found.interface.always)
    given = {option: getattr(limits, option) for option in ("gap", "threads", "seed")}
    refused = [option for option, value in given.items() if not found.set_option(option, value)]
    return [option for option in refused if given[option] != getattr(DEFAULTS, option)]


def _silence(solver: Any) -> None:
    """Keep CPLEX from writing errors and warnings to the terminal; what matters of them is raised as well."""

    def silence(_: Any) -> None:
        solver._solver_model.set_error_stream(None)
        solver._solver_model.set_warning_stream(None)

    solver._initialize_callbacks = silence


def _complete(solver: Any, results: Any) -> None:
    """Add what Pyomo leaves out where CPLEX ends without a solution, or is interrupted: why, and the bound."""
    solution = solver._solver_model.solution
    results.solver.termination_message = solution.get_status_string()
    with suppress(Exception):  # there is no bound of a model that it has not begun
        results.problem.lower_bound = float(solution.MIP.get_best_objective())


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """Make whatever an interface of Pyomo raises the failure of a solver: each raises what it likes."""
    try:
        yield
    except CoallocError:
        raise
    except Exception as error:
        raise SolverFailedError(f"solver {name!r} failed: {one_line(error)}") from error


def _results(solver: Any, model: pyo.ConcreteModel, extra: dict[str, Any]) -> Any | None:
    """Return what Pyomo says of a run; nothing of a solver that broke down once its time was up, as CBC may."""
    began = time.perf_counter()
    try:
        with _files_of_its_own():
            return solver.solve(model, load_solutions=False, **extra)
    except TimeoutExpired:  # Pyomo kills a solver that goes on a second after its time is up, as CBC may
        return None
    except (ApplicationError, OSError, RuntimeError, ValueError):
        if time.perf_counter() - began >= extra.get("timelimit", math.inf):
            return None
        raise


@contextmanager
def _files_of_its_own() -> Iterator[None]:
    """Keep the files of a solver in a folder that goes with it, also when it is interrupted."""
    before = TempfileManager.tempdir
    with TemporaryDirectory(prefix="coalloc-", ignore_cleanup_errors=True) as folder:
        TempfileManager.tempdir = folder
        try:
            yield
        finally:
            TempfileManager.tempdir = before


def _size(model: pyo.ConcreteModel) -> ModelSize:
    """Return the size as Pyomo counts it; nonzeros are not counted on this path (0)."""
    integers = sum(1 for v in model.component_data_objects(pyo.Var) if not v.is_continuous())
    return ModelSize(model.nconstraints(), model.nvariables(), 0, integers)


def _solution(
    found: Found, model: pyo.ConcreteModel, minimised: Any, results: Any, *, integral: bool, gap: float
) -> ModelSolution:
    """Put the best values into the model and say what is known, whatever status the solver ended with."""
    size, condition = _size(model), results.solver.termination_condition
    if condition in NO_SOLUTION:
        if condition == TerminationCondition.infeasible or _is_bounded(minimised):
            return ModelSolution(SolveStatus.INFEASIBLE, "proof", None, math.inf, size)
        raise CoallocError("the objective of the model has no lower bound")
    bound, reason = _bound(results, integral), _stopped_by(results)
    if not _has_values(results):
        if reason == "failure" and bound == -math.inf:
            raise SolverFailedError(f"solver {found.name!r} failed: it ended with status {results.solver.status}")
        return ModelSolution(SolveStatus.UNKNOWN, reason, None, bound, size)
    results.solver.status = SolverStatus.ok  # Pyomo loads no solution of a run that ended in another way
    model.solutions.load_from(results)
    if not _is_whole(model):
        return ModelSolution(SolveStatus.UNKNOWN, reason, None, bound, size)
    objective = float(pyo.value(minimised))
    if integral:
        objective = round(objective)
    is_exact = found.interface.gap is not None and gap == 0.0
    bound = objective if is_exact and reason == "gap" else min(bound, objective)
    if bound == objective:
        return ModelSolution(SolveStatus.OPTIMAL, "proof", objective, bound, size)
    return ModelSolution(SolveStatus.FEASIBLE, reason, objective, bound, size)


NO_SOLUTION = (
    TerminationCondition.infeasible,
    TerminationCondition.infeasibleOrUnbounded,
    TerminationCondition.unbounded,
)
"""Conditions in which there is no best solution."""


def _is_bounded(minimised: Any) -> bool:
    """Return whether the bounds of the variables alone bound the objective from below."""
    terms = generate_standard_repn(minimised.expr)
    ends = (v.lb if share > 0.0 else v.ub for v, share in zip(terms.linear_vars, terms.linear_coefs, strict=True))
    return all(end is not None and math.isfinite(end) for end in ends)


def _bound(results: Any, integral: bool) -> float:
    """Return the lower bound that a solver reports, -inf where it reports none."""
    reported = results.problem.lower_bound
    if not isinstance(reported, (int, float)) or not math.isfinite(reported):
        return -math.inf
    return math.ceil(reported - INTEGRALITY) if integral else float(reported)


def _stopped_by(results: Any) -> StoppedBy:
    """Return why a solver stopped without a proof; ``"gap"`` where it says that its solution is optimal."""
    solver = results.solver
    said = f"{solver.termination_condition} {solver.termination_message}".lower()
    if solver.termination_condition == TerminationCondition.optimal:
        return "gap"
    if "time limit" in said or "maxtimelimit" in said:
        return "time"
    if any(word in said for word in ("interrupt", "terminated by the user", "abort")):
        return "interrupt"
    return "failure" if solver.status in (SolverStatus.error, SolverStatus.unknown) else "time"


def _has_values(results: Any) -> bool:
    """Return whether there is a solution: some interfaces add an empty one where there is none."""
    return len(results.solution) > 0 and len(results.solution(0).variable) > 0


def _is_whole(model: pyo.ConcreteModel) -> bool:
    """Return whether integer variables are whole; a solver may hand over a relaxation when its time is up."""
    numbers = (v.value for v in model.component_data_objects(pyo.Var) if not v.is_continuous() and v.value is not None)
    return all(abs(number - round(number)) <= WHOLE for number in numbers)
