"""Formulations of OAS: built, started from a known schedule, run, and their news reported; alone and as methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coalloc.instance import CoallocError
from coalloc.models import Formulation, formulation_of
from coalloc.models.registry import EstimatesSize, InfeasibleModelError, OrdersEqualJobs, TakesStart
from coalloc.objectives import Criterion
from coalloc.problem import MAX_MODES, Assignment, Problem, Rounding, in_other_slots
from coalloc.rules.serial_sgs import assignments_of, best_list_schedule, choices_of, start_in_order
from coalloc.schedule import Schedule
from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.bounds.simple import quick_bound
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.result import PROOF_TOLERANCE, Progress, RunModel, SolveStatus, TracePoint
from coalloc.solvers.solve_state import SolveState
from coalloc.solvers.traits import Trait

if TYPE_CHECKING:
    import pyomo.environ as pyo

MAX_NONZEROS = 5_000_000
"""Nonzeros beyond which a model is not built."""
BUILT_PER_SECOND = 100_000
"""Nonzeros that are built and handed over in a second, on a slow machine."""
COARSE_SLOT = 0.25
"""Length of the slots that models get for continuous time, as a share of the mean base time."""
ROUNDINGS: tuple[Rounding, Rounding] = ("up", "down")
"""Of the two models in them: one for a schedule, one for a bound."""
ROUNDING_GAP = 0.1 * PROOF_TOLERANCE
"""Relative gap that is left to the rounding errors of a model whose objective is no whole number."""


@dataclass(frozen=True, slots=True)
class ModelRun:
    """Runs of formulations of OAS within one call of ``solve``."""

    state: SolveState
    run_model: RunModel

    def size(self, criterion: Criterion, formulation: Formulation, horizon: int) -> int:
        """Return roughly how many nonzeros the model will have; 0 where the formulation cannot tell."""
        if not isinstance(formulation, EstimatesSize):
            return 0
        problem = criterion.problem
        return max(formulation.estimate_nonzeros(problem, horizon), slot_cells(problem, horizon))

    def build(
        self, criterion: Criterion, formulation: Formulation, horizon: int, lower_bound: float
    ) -> pyo.ConcreteModel:
        """Build a model whose jobs end by the horizon (slots); the bound is a cost."""
        self._refuse_large(criterion.problem, self.size(criterion, formulation, horizon), horizon)
        known = int(lower_bound) if criterion.objective.is_latest_end else 0
        return formulation.build(criterion.problem, horizon=horizon, objective=criterion.objective, lower_bound=known)

    def run(
        self,
        criterion: Criterion,
        formulation: Formulation,
        first: Sequence[Assignment],
        *,
        time_limit: float,
        lower_bound: float,
        horizon: int | None = None,
    ) -> tuple[Schedule | None, float | None]:
        """Solve a formulation; return its best schedule (rounded up only) and its bound, a cost: inf where it has none.

        The solver starts from ``first``, where that is given and the formulation takes it. Without ``horizon`` (slots)
        jobs end by the one that ``first`` proves sufficient. Nothing is built where that alone would take longer than
        the time limit, s.
        """
        state = self.state
        horizon = int(criterion.horizon(first)) if horizon is None else horizon
        nonzeros = self.size(criterion, formulation, horizon)
        if nonzeros <= MAX_NONZEROS and nonzeros / BUILT_PER_SECOND > time_limit:
            state.stopped_by = "time"
            state.message = f"the time limit is too short to build the model of about {nonzeros:,} nonzeros"
            return None, None
        began = state.elapsed
        starts = False
        with state.timed("build"):
            try:
                model = self.build(criterion, formulation, horizon, lower_bound)
            except InfeasibleModelError:
                return None, math.inf
            if isinstance(formulation, OrdersEqualJobs):
                formulation.order_equal_jobs(model, criterion.equal_pairs)
            if isinstance(formulation, TakesStart) and first:
                formulation.set_start(model, criterion.in_order(first))
                starts = True
        left = time_limit - (state.elapsed - began)
        if left <= 0.0:
            state.stopped_by = "time"
            return None, None
        limits = SolverLimits(
            time=left,
            work=state.options.work_limit,
            gap=self._gap(criterion),
            threads=state.options.threads,
            seed=state.options.seed,
        )
        with state.timed("solve"):
            solution = self.run_model(
                model, limits, integral=criterion.is_integral, start=starts, progress=reporter(state, criterion)
            )
        state.size, state.stopped_by = solution.size, solution.stopped_by
        if solution.status is SolveStatus.INFEASIBLE:
            return None, math.inf
        is_schedule = solution.objective is not None and criterion.problem.rounding == "up"
        return formulation.extract(model) if is_schedule else None, solution.lower_bound

    def _gap(self, criterion: Criterion) -> float:
        gap = self.state.options.gap * _gap_scale(criterion)
        return gap if criterion.is_integral else max(gap, ROUNDING_GAP)

    def _refuse_large(self, problem: Problem, nonzeros: int, horizon: int) -> None:
        if nonzeros > MAX_NONZEROS:
            half = 0.5 * problem.instance.mean_base_time
            remedy = 'did you mean slot="50%"?' if problem.clock.seconds(1) < half else "or fewer jobs"
            raise CoallocError(
                f"the model would have about {nonzeros:.2g} nonzeros in {horizon:,} time slots, above the limit of "
                f"{MAX_NONZEROS:,}; slot={problem.slot:g} is {problem.slot:g} s: use a coarser slot ({remedy}) or "
                "formulation='auto'"
            )


def slot_cells(problem: Problem, horizon: int) -> int:
    """Return how many numbers say what is free in each slot; gaps between arrivals make them more than a model's."""
    return max(0, horizon - problem.first_slot) * (len(problem.classes) + len(problem.resources))


def _gap_scale(criterion: Criterion) -> float:
    """Return by what a relative gap shrinks on a model's objective, which counts without the offset.

    (C - L)/(C - offset) <= gap wherever (C - L)/C <= gap * (L - offset)/L, for C >= L; a divisor changes nothing.
    """
    bound = quick_bound(criterion)
    counted = criterion.problem.clock.seconds(bound) if criterion.objective.counts_ends else bound
    without_offset = criterion.reported(bound) * criterion.objective.divisor(criterion.problem.instance)
    return max(0.0, without_offset / counted) if counted > 0.0 else 0.0


def reporter(state: SolveState, criterion: Criterion) -> Progress:
    """Return what turns a solver's news, costs on the clock of a problem, into points of the trace.

    The news of slots is the truth in slots; where the call is about continuous time, it is an
    incumbent only where rounded up and a bound only where rounded down. What a constraint of the user's own may refuse
    is no incumbent yet.
    """
    rounding = criterion.problem.rounding
    takes_incumbents = rounding == "up" and not state.may_refuse
    takes_bounds = state.options.slot is not None or rounding == "down"

    def report(point: TracePoint) -> None:
        incumbent, bound = (
            None if cost is None or not takes else criterion.reported(cost)
            for cost, takes in ((point.incumbent, takes_incumbents), (point.lower_bound, takes_bounds))
        )
        state.record(point.source, incumbent, bound)

    return report


# --- as methods of the portfolio ---------------------------------------------------------------------


def _fitting(incumbent: Incumbent, criterion: Criterion, first: Sequence[Assignment]) -> Formulation | None:
    """Return the mode model, or the count model where that would be too large; None where both are."""
    problem, horizon = criterion.problem, int(criterion.horizon(first))
    runner, count = ModelRun(incumbent.state, incumbent.run_model), formulation_of("oas", "count")
    if problem.allocations.number <= MAX_MODES:
        mode = formulation_of("oas", "mode")
        if runner.size(criterion, mode, horizon) <= MAX_NONZEROS:
            return mode
    return count if runner.size(criterion, count, horizon) <= MAX_NONZEROS else None


def _solve(
    incumbent: Incumbent, criterion: Criterion, first: Sequence[Assignment], time_limit: float
) -> tuple[Schedule | None, float | None]:
    """Run the formulation that fits, from a known schedule; slots without solution, rounded up, prove nothing."""
    formulation = _fitting(incumbent, criterion, first)
    if formulation is None:
        return None, None
    is_own = criterion is incumbent.criterion
    known = incumbent.proven if is_own else quick_bound(criterion)
    schedule, bound = ModelRun(incumbent.state, incumbent.run_model).run(
        criterion, formulation, first, time_limit=time_limit, lower_bound=known
    )
    if bound == math.inf:
        if is_own or criterion.problem.rounding == "down":
            incumbent.exclude()
        return None, None
    return schedule, bound


def _run_itself(incumbent: Incumbent) -> None:
    """Solve the problem itself, from the best assignments."""
    schedule, bound = _solve(incumbent, incumbent.criterion, incumbent.best, incumbent.state.remaining)
    if schedule is not None:
        incumbent.take(assignments_of(incumbent.problem, schedule), METHOD.name)
    if bound is not None:
        incumbent.prove(bound, METHOD.name)
        if incumbent.state.stopped_by == "proof":
            incumbent.attain(bound)
    _heed_interrupt(incumbent)


def _run_in_slots(incumbent: Incumbent) -> None:
    """Solve in coarse slots, rounded up for a schedule that is then moved left, rounded down for a bound."""
    problem, state = incumbent.problem, incumbent.state
    slot = COARSE_SLOT * problem.instance.mean_base_time

    up, down = (
        Criterion(in_other_slots(problem, slot, rounding), incumbent.criterion.objective) for rounding in ROUNDINGS
    )
    if not problem.calendars:  # few of whose starts, or none, are on other slots
        first = start_in_order(up.problem, choices_of(up.problem, incumbent.best))
        schedule, _ = _solve(incumbent, up, first, state.remaining / 2)
        if schedule is not None:
            moved = start_in_order(problem, choices_of(problem, assignments_of(up.problem, schedule)))
            incumbent.take(moved, "model, left-shifted")
    _heed_interrupt(incumbent)
    if not incumbent.is_closed:
        _, bound = _solve(
            incumbent, down, best_list_schedule(down.problem, deadline=incumbent.deadline), state.remaining
        )
        if bound is not None:
            incumbent.prove(bound, "model, rounded down", down)
        _heed_interrupt(incumbent)


def _heed_interrupt(incumbent: Incumbent) -> None:
    """Raise KeyboardInterrupt where Ctrl-C has stopped the last model, now that what it found is taken."""
    if incumbent.state.stopped_by == "interrupt":
        raise KeyboardInterrupt


def _run(incumbent: Incumbent) -> None:
    """Solve the problem, in continuous time in coarse slots."""
    if incumbent.problem.slot is None:
        _run_in_slots(incumbent)
    else:
        _run_itself(incumbent)


def _accepts(incumbent: Incumbent) -> bool:
    if incumbent.problem.slot is None:
        return Trait.SCHEDULE in incumbent.traits and incumbent.criterion.objective.is_monotone
    return _fitting(incumbent, incumbent.criterion, incumbent.best) is not None


METHOD = Method(
    "model",
    _run,
    Trait.PROVABLE,
    _accepts,
    instead_of=(cpsat.NAME,),  # beside it a model adds nothing
    shares={Trait.NONE: (0.0, 0.0, 1.0, 0.0)},
    stage=None,
    proves=Trait.NONE,
)
