"""Any other MIP solver that Pyomo finds, by name: the compatibility path beside HiGHS.

"optimal" from a solver counts as a proof only where its gap was set to 0 by the options known here;
from any other solver the bound that it reports decides.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError
from pyomo.common.log import LoggingIntercept
from pyomo.common.tempfiles import TempfileManager
from pyomo.opt import SolverStatus, TerminationCondition

from coalloc.documents.text import visible
from coalloc.instance import CoallocError
from coalloc.solvers.backends.failing import SolverFailedError
from coalloc.solvers.backends.highs import INTEGRALITY, SolverLimits, minimised_objective
from coalloc.solvers.result import ModelSize, ModelSolution, Progress, SolveStatus, StoppedBy, TracePoint

WHOLE = 1e-5
"""How far from a whole number a solver may leave an integer variable."""


@dataclass(frozen=True, slots=True)
class _Options:
    """Names of a solver's options; None where it has none. ``always`` are those that it is given in any case."""

    gap: str
    threads: str | None = None
    seed: str | None = None
    always: Mapping[str, str] = field(default_factory=dict)


KNOWN: Mapping[str, _Options] = {
    # With its preprocessing CBC 2.10.3 calls solutions of small models optimal that are not, by HiGHS and brute force;
    # without it none (benchmarks/results/rows.md).
    "cbc": _Options("ratio", "threads", "randomCbcSeed", {"preprocess": "off"}),
    "cplex": _Options("mip_tolerances_mipgap", "threads", "randomseed"),
    "glpk": _Options("mipgap"),
    "gurobi": _Options("MIPGap", "Threads", "Seed"),
    "scip": _Options("limits/gap", "parallel/maxnthreads", "randomization/randomseedshift"),
    "xpress": _Options("miprelstop", "threads", "randomseed"),
}
"""Solvers whose gap, threads and seed we can set."""


def available_solvers() -> list[str]:
    """Return the names that ``solver=`` takes here: HiGHS and what Pyomo finds of the known ones."""
    with _quiet():
        return ["highs", *(name for name in KNOWN if _is_available(pyo.SolverFactory(name)))]


def _is_available(solver: Any) -> bool:
    try:
        return bool(solver.available(exception_flag=False))
    except Exception:  # each interface of Pyomo raises what it likes
        return False


def _quiet() -> LoggingIntercept:
    """Keep to ourselves what Pyomo logs, the whole log of a solver that fails among it."""
    return LoggingIntercept(StringIO(), "pyomo", logging.WARNING)


def solver_named(name: str, *, work_limit: int | None = None) -> Callable[..., ModelSolution]:
    """Return what runs a model with a named solver: the signature of ``highs.solve_model``.

    Raises :class:`CoallocError` where the solver is missing, or takes no limit on its work.
    """
    _solver(name)
    if work_limit is not None:
        raise CoallocError(f"work_limit requires solver='highs'; with {name!r} use time_limit")
    return partial(solve_with, name)


def solve_with(
    name: str,
    model: pyo.ConcreteModel,
    limits: SolverLimits,
    *,
    integral: bool,
    start: bool = False,
    progress: Progress | None = None,
    source: str | None = None,
) -> ModelSolution:
    """Solve a Pyomo model with a named solver; arguments and result as in ``highs.solve_model``.

    The time limit is cut to whole seconds, at least one, for some solvers take no others. There is one report
    of progress, at the end. Raises :class:`CoallocError` where the solver is missing, and
    :class:`SolverFailedError` where it fails.
    """
    objective = minimised_objective(model)
    solver = _solver(name)
    began = time.perf_counter()
    with _quiet(), _failures(name):
        _set_options(name, solver, limits)
        extra: dict[str, Any] = {"warmstart": True} if start and _may_start(solver) else {}
        if math.isfinite(limits.time):
            extra["timelimit"] = max(1, int(limits.time))
        results = _results(solver, model, extra)
        seconds = time.perf_counter() - began
        if results is None:
            solution = ModelSolution(SolveStatus.UNKNOWN, "time", None, -math.inf, _size(model))
        else:
            solution = _solution(name, model, objective, results, integral=integral, gap=limits.gap)
    if progress is not None:
        bound = solution.lower_bound if math.isfinite(solution.lower_bound) else None
        progress(TracePoint(seconds, solution.objective, bound, source or name))
    return solution


def _may_start(solver: Any) -> bool:
    """Return whether a solver takes a start by the keyword for it; interfaces of another kind have none."""
    return hasattr(solver, "warm_start_capable") and bool(solver.warm_start_capable())


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """Make whatever an interface of Pyomo raises the failure of a solver: each raises what it likes."""
    try:
        yield
    except CoallocError:
        raise
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise SolverFailedError(f"solver {name!r} failed: {visible(said)}") from error


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


def _solver(name: str) -> Any:
    with _quiet():
        solver = pyo.SolverFactory(name)
        is_available = _is_available(solver)
    if not is_available:
        found = ", ".join(available_solvers())
        raise CoallocError(f"solver {name!r} is not installed or unknown to Pyomo; available: {found}")
    return solver


def _set_options(name: str, solver: Any, limits: SolverLimits) -> None:
    known = KNOWN.get(name)
    if known is None:
        return
    solver.options[known.gap] = limits.gap
    solver.options.update(known.always)
    if known.threads is not None and limits.threads > 1:
        solver.options[known.threads] = limits.threads
    if known.seed is not None:
        solver.options[known.seed] = limits.seed


def _size(model: pyo.ConcreteModel) -> ModelSize:
    """Return the size as Pyomo counts it; nonzeros are not counted on this path (0)."""
    integers = sum(1 for v in model.component_data_objects(pyo.Var) if not v.is_continuous())
    return ModelSize(model.nconstraints(), model.nvariables(), 0, integers)


def _solution(
    name: str, model: pyo.ConcreteModel, minimised: Any, results: Any, *, integral: bool, gap: float
) -> ModelSolution:
    size = _size(model)
    condition = results.solver.termination_condition
    if condition in (TerminationCondition.infeasible, TerminationCondition.infeasibleOrUnbounded):
        return ModelSolution(SolveStatus.INFEASIBLE, "proof", None, math.inf, size)
    if condition == TerminationCondition.unbounded:
        raise CoallocError("the objective of the model has no lower bound")
    if results.solver.status not in (SolverStatus.ok, SolverStatus.warning, SolverStatus.aborted):
        raise SolverFailedError(f"solver {name!r} failed: it ended with status {results.solver.status}")
    reported = results.problem.lower_bound
    bound = float(reported) if isinstance(reported, (int, float)) and math.isfinite(reported) else -math.inf
    if integral and math.isfinite(bound):
        bound = math.ceil(bound - INTEGRALITY)
    if not len(results.solution):
        return ModelSolution(SolveStatus.UNKNOWN, "time", None, bound, size)
    model.solutions.load_from(results)
    if not _is_whole(model):
        return ModelSolution(SolveStatus.UNKNOWN, "time", None, bound, size)
    objective = float(pyo.value(minimised))
    if integral:
        objective = round(objective)
    if condition == TerminationCondition.optimal and name in KNOWN and gap == 0.0:
        return ModelSolution(SolveStatus.OPTIMAL, "proof", objective, objective, size)
    bound = min(bound, objective)
    if bound == objective:
        return ModelSolution(SolveStatus.OPTIMAL, "proof", objective, bound, size)
    reason: StoppedBy = "gap" if condition == TerminationCondition.optimal else "time"
    return ModelSolution(SolveStatus.FEASIBLE, reason, objective, bound, size)


def _is_whole(model: pyo.ConcreteModel) -> bool:
    """Return whether integer variables are whole; a solver may hand over a relaxation when its time is up."""
    numbers = (v.value for v in model.component_data_objects(pyo.Var) if not v.is_continuous() and v.value is not None)
    return all(abs(number - round(number)) <= WHOLE for number in numbers)
