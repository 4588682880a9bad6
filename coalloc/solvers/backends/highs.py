"""A thin path from a Pyomo model to HiGHS: MIP start, trace, honest statuses, limits that hold.

The model goes over as a matrix (Pyomo's standard form); the run has a thread of its own, so that
Ctrl-C and the time limit reach it even while HiGHS is in presolve: what was found until then is
kept. Facts about HiGHS behind this file: its thread count is global to the process, its default
relative gap is 1e-4, and every status it returns must be checked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL
from coalloc.instance import CoallocError
from coalloc.solvers.backends.failing import SolverFailedError
from coalloc.solvers.backends.worker import GRACE
from coalloc.solvers.cancelling import noticed
from coalloc.solvers.result import (
    PROOF_TOLERANCE,
    ModelSize,
    ModelSolution,
    Progress,
    SolveStatus,
    StoppedBy,
    TracePoint,
)

if TYPE_CHECKING:
    import pyomo.environ as pyo

INTEGRAL_GAP = 0.999
"""Absolute gap at which a whole-numbered objective is proved (after rounding the bound up)."""
ABSOLUTE_GAP = 1e-9
"""Absolute gap at which any other objective is proved."""
MISREPORTED = 1e-5
"""Difference, absolute and relative, between computed and reported objective of a solution that is an error."""
INTEGRALITY = 1e-6
"""Excess over a whole number up to which a bound is not rounded up."""
WORTH = 1e-3
"""Distance below a whole number within which the objective of a solution counts as that number."""

_threads_of_process: int | None = None


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """Limits of a run: seconds, branch-and-bound nodes (``work``) and relative gap; seed and threads."""

    time: float = math.inf
    work: int | None = None
    gap: float = 0.0
    threads: int = 1
    seed: int = 0


STOPPED: Mapping[Any, StoppedBy] = {
    highspy.HighsModelStatus.kTimeLimit: "time",
    highspy.HighsModelStatus.kSolutionLimit: "work",
    highspy.HighsModelStatus.kInterrupt: "interrupt",
}
"""Why HiGHS stopped, where it stopped by itself without a proof."""


@dataclass(frozen=True, slots=True)
class HighsEnd:
    """End of a run: objective and bound, values of the columns, and the reason."""

    objective: float | None
    bound: float
    values: NDArray[np.float64] | None
    reason: StoppedBy


@dataclass
class _HighsRun:
    """Records of the callbacks of one run of ``highs``.

    A callback that raises ends the run, but not through HiGHS, which expects no exception there. Objectives are
    computed from ``cost``, the coefficients of the columns, and ``offset``: HiGHS 1.16.0 leaves some columns out of the
    objective and the bound that it reports for some models with a start. Such a run is ``misreported`` and proves
    nothing; the start is the first solution that shows it, before any bound is known, and ends the run.
    """

    highs: highspy.Highs
    on_news: Callable[[float | None, float | None], None]
    integral: bool
    cost: NDArray[np.float64]
    offset: float
    misreported: bool = False
    stop: bool = False
    objective: float | None = None
    bound: float = -math.inf
    values: NDArray[np.float64] | None = None
    status: Any = None
    fault: list[BaseException] = field(default_factory=list)

    def on_solution(self, event: Any) -> None:
        self.values = np.array(event.data_out.mip_solution)
        self.objective = self.worth(self.values, event.data_out.objective_function_value)
        self._bound(event)

    def worth(self, values: NDArray[np.float64], reported: float) -> float:
        """Return the objective of a solution, and note where HiGHS reported another."""
        objective = float(self.cost @ values) + self.offset
        if not math.isclose(objective, reported, rel_tol=MISREPORTED, abs_tol=MISREPORTED):
            self.misreported = self.stop = True
        return objective

    def on_log(self, event: Any) -> None:
        self._bound(event)

    def on_interrupt(self, event: Any) -> None:
        if self.stop or self.is_closed:
            event.interrupt()

    def end(self) -> None:
        """Tell HiGHS to stop: its callbacks hear of it, and presolve, which has none, looks at its time limit."""
        self.stop = True
        self.highs.setOptionValue("time_limit", 0.0)

    @property
    def is_closed(self) -> bool:
        """Whether the rounded bound proves the solution, though HiGHS sees a gap yet."""
        if self.misreported or not self.integral or self.objective is None or not math.isfinite(self.bound):
            return False
        return _whole_bound(self.bound) >= _whole_price(self.objective)

    def _bound(self, event: Any) -> None:
        self.bound = max(self.bound, event.data_out.mip_dual_bound)
        if self.fault or self.misreported:
            return
        try:
            self.on_news(self.objective, self.bound if math.isfinite(self.bound) else None)
        except BaseException as fault:
            self.fault.append(fault)
            self.stop = True


def solve_model(
    model: pyo.ConcreteModel,
    limits: SolverLimits,
    *,
    integral: bool,
    start: bool = False,
    progress: Progress | None = None,
    source: str = "HiGHS",
) -> ModelSolution:
    """Solve a Pyomo model with HiGHS and leave the best solution in its variables.

    Parameters
    ----------
    model
        A linear model with one active objective, to be minimised.
    integral
        The objective takes whole numbers only: bounds are rounded up.
    start
        The variables hold a solution to start from; without a value for each whole one it is left out.
    progress
        Called with a :class:`TracePoint` (model units, seconds since this call) at every news.
    """
    began = time.perf_counter()  # what is loaded below counts
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    minimised_objective(model)
    form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    highs, size = _load(form, limits, integral)
    if start:
        _set_start(highs, form.columns)
    last: list[tuple[float | None, float | None]] = []

    def on_news(objective: float | None, bound: float | None) -> None:
        news = (objective, bound)
        if integral:
            news = (
                _whole_price(objective) if objective is not None else None,
                _whole_bound(bound) if bound is not None else None,
            )
        if progress is not None and news != (last[-1] if last else (None, None)):
            last.append(news)
            progress(TracePoint(time.perf_counter() - began, *news, source))

    cost, offset = np.array(highs.getLp().col_cost_), highs.getLp().offset_
    run = _HighsRun(highs, on_news, integral, cost, offset)
    reason = _run(highs, run, max(0.0, limits.time - (time.perf_counter() - began)))
    failed = reason is None and highs.getModelStatus() == highspy.HighsModelStatus.kSolveError
    is_mip = any(not variable.is_continuous() for variable in form.columns)
    end = None if failed else _conclude(highs, run, reason, is_mip)
    if end is None or (run.misreported and reason is None):
        # Presolve of 1.15.1 takes some models without a solution for solved, and then finds a row that is violated;
        # with that of 1.16.0 objectives are misreported.
        highs, _ = _load(form, limits, integral)
        checked(highs.setOptionValue("presolve", "off"), "setting presolve")
        if start:
            _set_start(highs, form.columns)
        run = _HighsRun(highs, on_news, integral, cost, offset)
        reason = _run(highs, run, max(0.0, limits.time - (time.perf_counter() - began)))
        end = _conclude(highs, run, reason, is_mip)
    return _solution(end, form.columns, size, integral)


def run_mip(highs: highspy.Highs, time_limit: float) -> HighsEnd:
    """Return the end of a run of HiGHS on the MIP that it holds; the limit (s) and Ctrl-C end it."""
    lp = highs.getLp()
    run = _HighsRun(highs, lambda *_: None, False, np.array(lp.col_cost_), lp.offset_)
    return _conclude(highs, run, _run(highs, run, time_limit), is_mip=True)


def _whole_bound(bound: float) -> int:
    """Return what a bound says of whole numbers."""
    return math.ceil(bound - INTEGRALITY)


def _whole_price(objective: float) -> int:
    """Return what a solution is worth in whole numbers; what of it is free may be above that."""
    return math.floor(objective + WORTH)


def minimised_objective(model: pyo.ConcreteModel) -> Any:
    """Return the objective of a model; raises :class:`CoallocError` unless there is one, to be minimised."""
    import pyomo.environ as pyo

    active = list(model.component_data_objects(pyo.Objective, active=True))
    if len(active) != 1 or active[0].sense != pyo.minimize:
        raise CoallocError(f"a model must have one active objective to minimise; {model.name!r} does not")
    return active[0]


def _load(form: Any, limits: SolverLimits, integral: bool) -> tuple[highspy.Highs, ModelSize]:
    """Return a solver that holds the model, and the model's size."""
    columns = form.columns
    kinds = np.array([bound_type for _, bound_type in form.rows], dtype=int)
    rhs = np.array(form.rhs, dtype=float)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(columns), len(rhs)
    lp.col_cost_ = form.c.toarray().ravel() if form.c.shape[0] else np.zeros(len(columns))
    lp.offset_ = float(form.c_offset.sum())
    lp.col_lower_ = np.array([-math.inf if v.lb is None else v.lb for v in columns], dtype=float)
    lp.col_upper_ = np.array([math.inf if v.ub is None else v.ub for v in columns], dtype=float)
    lp.row_lower_ = np.where(kinds <= 0, rhs, -math.inf)
    lp.row_upper_ = np.where(kinds >= 0, rhs, math.inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = form.A.indptr, form.A.indices, form.A.data
    whole = [v.is_integer() or v.is_binary() for v in columns]
    lp.integrality_ = [highspy.HighsVarType.kInteger if w else highspy.HighsVarType.kContinuous for w in whole]
    highs: Any = SilentHighs()  # type: ignore[no-untyped-call]
    _options(highs, limits, integral)
    checked(highs.passModel(lp), "passing the model")
    return highs, ModelSize(len(rhs), len(columns), int(form.A.nnz), sum(whole))


class SilentHighs(highspy.Highs):
    """HiGHS without output. HiGHS 1.16 prints a banner when callbacks are enabled, which its constructor does."""

    def enableCallbacks(self) -> None:  # noqa: N802 - its name in HiGHS
        """Enable callbacks, output switched off before."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()  # type: ignore[no-untyped-call]


def _options(highs: highspy.Highs, limits: SolverLimits, integral: bool) -> None:
    global _threads_of_process  # noqa: PLW0603 - HiGHS itself keeps it per process
    if _threads_of_process not in (None, limits.threads):
        highspy.Highs.resetGlobalScheduler(True)
    _threads_of_process = limits.threads
    options: dict[str, Any] = {
        "threads": limits.threads,
        "random_seed": limits.seed,
        "mip_rel_gap": limits.gap,
        "mip_abs_gap": INTEGRAL_GAP if integral else ABSOLUTE_GAP,
    }
    if limits.work is not None:
        options["mip_max_nodes"] = limits.work
    for name, setting in options.items():
        checked(highs.setOptionValue(name, setting), f"setting {name}")


def checked(status: highspy.HighsStatus, doing: str) -> None:
    """Raise :class:`SolverFailedError` where HiGHS says that it failed."""
    if status == highspy.HighsStatus.kError:
        raise SolverFailedError(f"HiGHS failed while {doing}")


def _set_start(highs: highspy.Highs, columns: list[Any]) -> None:
    """Give HiGHS the values of the columns, unless it would have to find whole ones that are missing.

    It does so by a search of its own, whose bounds and solutions come as news of this one: they would prove too much.
    """
    if any(v.value is None and not v.is_continuous() for v in columns):
        return
    known = [(i, v.value) for i, v in enumerate(columns) if v.value is not None]
    indices = np.array([i for i, _ in known], dtype=np.int32)
    checked(highs.setSolution(len(known), indices, np.array([value for _, value in known], dtype=float)), "starting")


def _run(highs: highspy.Highs, run: _HighsRun, time_limit: float) -> StoppedBy | None:
    """Run HiGHS in a thread; return why it was told to stop, if it was."""
    checked(highs.setOptionValue("time_limit", min(time_limit, 1e9)), "setting time_limit")
    highs.cbMipImprovingSolution += run.on_solution
    highs.cbMipLogging += run.on_log
    for interrupt in (highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt):
        interrupt.subscribe(run.on_interrupt)

    done = Event()

    def target() -> None:
        try:
            run.status = highs.run()
        except BaseException as fault:
            run.fault.append(fault)
        finally:
            done.set()

    reason: StoppedBy | None = None
    try:
        Thread(target=target).start()  # no daemon: HiGHS calls back into Python, which must not be gone
    except KeyboardInterrupt:  # the thread runs already, or never will
        noticed()
        reason = "interrupt"
    reason = _wait(run, done, time_limit, reason)
    if any(isinstance(fault, KeyboardInterrupt) for fault in run.fault):
        return "interrupt"
    if run.fault:
        raise run.fault[0]
    return reason


def _wait(run: _HighsRun, done: Event, time_limit: float, reason: StoppedBy | None = None) -> StoppedBy | None:
    """Wait for a run until it is done, or was told to stop and had ``GRACE`` to do so; return why it was told.

    ``Thread.join`` will not do: in Python 3.11, Ctrl-C there passes a running thread for a stopped one.
    """
    deadline, is_told = time.perf_counter() + time_limit, False
    while not done.is_set() and time.perf_counter() < deadline + GRACE:
        try:
            done.wait(LONGEST_CALL)
        except KeyboardInterrupt:
            noticed()
            reason = "interrupt"
        if reason is None and not is_told and time.perf_counter() > deadline:
            reason = "time"
        if (reason is not None or run.stop) and not is_told:
            run.end()
            is_told, deadline = True, time.perf_counter()
    return reason


def _conclude(highs: highspy.Highs, run: _HighsRun, reason: StoppedBy | None, is_mip: bool) -> HighsEnd:
    """Read status, bound and values; a run that did not stop in time leaves what its callbacks saw."""
    if run.status is None:
        return HighsEnd(run.objective, run.bound, run.values, reason or "time")
    checked(run.status, "solving")
    model_status, info, kinds = highs.getModelStatus(), highs.getInfo(), highspy.HighsModelStatus
    is_unclear = model_status == kinds.kUnboundedOrInfeasible
    if model_status == kinds.kInfeasible or (is_unclear and _is_bounded(highs.getLp())):
        return HighsEnd(None, math.inf, None, "proof")
    if is_unclear or model_status == kinds.kUnbounded:
        raise CoallocError("the objective of the model has no lower bound")
    if model_status == kinds.kModelEmpty:
        return HighsEnd(highs.getLp().offset_, highs.getLp().offset_, np.empty(0), "proof")
    objective, values = run.objective, run.values
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = np.array(highs.getSolution().col_value)
        objective = run.worth(values, info.objective_function_value)
    if run.misreported:
        return HighsEnd(objective, -math.inf, values, reason or "failure")
    proven = model_status == kinds.kOptimal or (reason is None and run.is_closed)
    bound = info.mip_dual_bound if is_mip else objective if proven and objective is not None else -math.inf
    if proven:
        return HighsEnd(objective, max(run.bound, bound), values, "proof")
    return HighsEnd(objective, max(run.bound, bound), values, reason or STOPPED.get(model_status, "work"))


def _is_bounded(lp: Any) -> bool:
    """Return whether the bounds of the columns alone bound the objective from below."""
    cost, lower, upper = (np.array(column) for column in (lp.col_cost_, lp.col_lower_, lp.col_upper_))
    return bool(np.isfinite(np.where(cost > 0.0, lower, np.where(cost < 0.0, upper, 0.0))).all())


def _solution(end: HighsEnd, columns: list[Any], size: ModelSize, integral: bool) -> ModelSolution:
    """Put the best values into the model and say honestly what is known."""
    bound = _whole_bound(end.bound) if integral and math.isfinite(end.bound) else end.bound
    if end.values is None or end.objective is None:
        status = SolveStatus.INFEASIBLE if end.reason == "proof" else SolveStatus.UNKNOWN
        return ModelSolution(status, end.reason, None, bound, size)
    for variable, number in zip(columns, end.values, strict=True):
        variable.set_value(float(number), skip_validation=True)
    objective = _whole_price(end.objective) if integral else end.objective
    bound = min(bound, objective)
    if end.reason != "proof":
        return ModelSolution(SolveStatus.FEASIBLE, end.reason, objective, bound, size)
    if objective - bound > max(ABSOLUTE_GAP, PROOF_TOLERANCE * abs(objective)):
        return ModelSolution(SolveStatus.FEASIBLE, "gap", objective, bound, size)
    return ModelSolution(SolveStatus.OPTIMAL, "proof", objective, bound, size)
