"""OAS: order and allocate jobs so that an objective is least.

A formulation that is asked for by name is run to its own proof, from a known schedule; ``auto`` is the portfolio
(:mod:`coalloc.solvers.portfolio`). A formulation of the user's own may forbid what the problem allows: it is solved
as *that* model, so that nothing that was found for the problem is an incumbent of it, nor bounds its horizon; what is
proved of the problem is proved of it as well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from coalloc.checker import check
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance
from coalloc.instance.constraints import Constraint, LatestEnd
from coalloc.instance.features.feature import Condition
from coalloc.instance.lags import Lag
from coalloc.models import Formulation, formulation_of
from coalloc.objectives import Criterion, Objective, objective_of
from coalloc.objectives.completion import Makespan
from coalloc.problem import Assignment, Problem, TimeSumRow, discretise
from coalloc.problem.declared import searched_part, ties
from coalloc.problem.fixed import Fixings
from coalloc.rules.earliest_starts import moved_left
from coalloc.rules.serial_sgs import assignments_of, choices_of, completions, start_in_order
from coalloc.rules.tuning import BRIEF, HALF, LEAST_TIME, SHORT
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.backends.cpsat import common_slot
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.bounds.simple import quick_bound
from coalloc.solvers.cancelling import noticed
from coalloc.solvers.early_starts import start_early
from coalloc.solvers.feasibility import why_crowded, why_infeasible
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.irreducible_sets import irreducible, is_beyond_one_job
from coalloc.solvers.list_schedules import first_schedule
from coalloc.solvers.model_run import ModelRun
from coalloc.solvers.named_bounds import cost_bound, default_method
from coalloc.solvers.portfolio import close, refuse_methods, refuse_unknown, tell_limit
from coalloc.solvers.result import Progress, RunModel, SolveOptions, SolveResult, SolveStatus
from coalloc.solvers.search.faults_alone import search_by_faults
from coalloc.solvers.slot_choice import missing_slot
from coalloc.solvers.solve_state import KNOWN, SolveState
from coalloc.solvers.time_shift import Shifted, shifted
from coalloc.system.garbage import no_collection

if TYPE_CHECKING:
    import pyomo.environ as pyo


RELAXATION, ASIDE = "relaxation without constraints", 20.0
"""Name in the trace of a solve without the constraints, and its seconds where there is no limit.

They are also those at most of an explanation why there is no schedule, beyond the search itself.
"""
EXACT, EXACT_SLOTS = "exact time slots", 1e6
"""Name in the trace of slots that divide all times of the instance, and their greatest number."""


def solve_oas(
    instance: Instance,
    options: SolveOptions,
    *,
    objective: Objective | None = None,
    constraints: Sequence[Constraint] = (),
    formulation: Any = "auto",
    start: Schedule | None = None,
    progress: Progress | None = None,
    run_model: RunModel = solve_model,
    explains: bool = True,
) -> SolveResult:
    """Solve OAS; see :func:`coalloc.solve`. ``formulation`` is a name or an object of the user's own.

    ``objective`` is that of the options, unless it is an object of the user's own or stands for one of allocations
    (:mod:`coalloc.solvers.descent`). ``explains``: whether the message of
    an instance without a schedule names an irreducible set of reasons.
    """
    objective = objective or objective_of(options.objective)
    _refuse_constraints(constraints, objective)
    objective.refuse(instance)
    began = time.perf_counter()
    if objective.needs_watts:
        from coalloc.solvers.energy.solving import solve_energy

        refuse_methods(options, f"objective {objective.name!r}")
        return solve_energy(
            instance, options, formulation=formulation, start=start, progress=progress, run_model=run_model
        )
    _refuse_options(options, formulation)
    kept = _kept(instance, options, constraints)
    given = shifted(instance, options.slot, objective, kept)
    if not isinstance(formulation, str):  # a user's formulation sees the user's times
        given = Shifted(instance, kept, instance.time_base)
    with no_collection():  # it visits all jobs again and again
        problem = _problem(given, options)
        reasons = why_infeasible(problem)
    state = SolveState(instance, options, progress, objective.unit, constraints=kept, began=began)
    name = formulation if isinstance(formulation, str) else type(formulation).__name__

    def explained() -> str:
        return (
            _explained(state, problem, replace(options, formulation="auto"), objective, constraints) if explains else ""
        )

    if reasons:
        told = explained() if is_beyond_one_job(problem) else ""
        if told and constraints:
            told = f"no schedule satisfies {_asked(options, constraints)}; {told}"
        state.message = told or "; ".join(reasons)
        return state.result(SolveStatus.INFEASIBLE, formulation=name)
    incumbent = Incumbent(state, problem, Criterion.of(problem, objective), run_model)
    state.step = incumbent.criterion.step
    status = None
    try:
        if not instance.jobs:
            state.offer(Schedule((), options.slot, instance.name), 0.0, "no jobs")
            state.raise_bound(0.0, "no jobs")
        elif formulation == "auto":
            _take_start(incumbent, start)
            _relax(incumbent, options, objective, constraints)
            _take_exact_slots(incumbent, options, objective, constraints)
            close(incumbent)
            _search_by_faults(incumbent)
            start_early(incumbent)
        elif isinstance(formulation, str):
            _take_start(incumbent, start)
            _run_named(incumbent, formulation_of("oas", formulation))
            _search_by_faults(incumbent)
        else:
            status = _run_own(incumbent, formulation, start)
    except KeyboardInterrupt:
        noticed()
        state.stopped_by = "interrupt"
    try:
        return _concluded(incumbent, name, status, constraints, explained)
    except KeyboardInterrupt:  # all that is left is to say what is known
        noticed()
        return _concluded(incumbent, name, status, constraints, str)


def _concluded(
    incumbent: Incumbent,
    formulation: str,
    status: SolveStatus | None,
    constraints: Sequence[Constraint],
    explained: Callable[[], str],
) -> SolveResult:
    """Return the result, once no more is looked for; with an explanation where there is no schedule."""
    state = incumbent.state
    _tell_refusing(incumbent)
    status = status or _too_tight(state, constraints)
    if state.is_infeasible:
        is_stated = not constraints and state.options.makespan_limit is None
        told = explained()
        state.message = told if told and is_stated else "; ".join(filter(None, (state.message, told)))
    return state.result(status, formulation=formulation)


def _explained(
    state: SolveState, problem: Problem, options: SolveOptions, objective: Objective, constraints: Sequence[Constraint]
) -> str:
    """Return an irreducible set of reasons why a problem that has no schedule has none; nothing if no time is left."""
    deadline = state.elapsed + min(ASIDE, state.remaining)

    def has_schedule(changed: Instance) -> bool | None:
        left = deadline - state.elapsed
        if left <= 0.0:
            return None
        asked = replace(options, time_limit=max(LEAST_TIME, SHORT * left), gap=1.0)
        result = solve_oas(changed, asked, objective=objective, constraints=constraints, explains=False)
        _heed_interrupt(result)
        return None if result.status is SolveStatus.UNKNOWN else result.status is not SolveStatus.INFEASIBLE

    keeps_running = any(ties(c, state.instance) and not isinstance(c, KNOWN) for c in constraints)
    reasons, is_proven = list[Condition](), False
    if state.remaining > LEAST_TIME:
        reasons, is_proven = irreducible(state.instance, has_schedule, keeps_running=keeps_running)
    if not reasons:
        return ""
    crowded = why_crowded(problem)
    needed = "irreducible" if is_proven else "possibly reducible"
    listed = "; ".join(reason.sentence for reason in reasons)
    return f"no schedule satisfies this {needed} set of conditions: {listed}{f' ({crowded})' if crowded else ''}"


def _kept(instance: Instance, options: SolveOptions, constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Return the constraints; a limit on the makespan that is to be least forbids nothing before it is."""
    if options.makespan_limit is None or options.objective == Makespan.name:
        return tuple(constraints)
    return (*constraints, LatestEnd(instance.origin + options.makespan_limit))


def _problem(given: Shifted, options: SolveOptions) -> Problem:
    return discretise(
        given.instance,
        options.slot,
        saturation=options.saturation,
        scope=options.scope,
        constraints=given.constraints,
        base=given.base,
    )


def _too_tight(state: SolveState, own: Sequence[Constraint]) -> SolveStatus | None:
    """Return the status where no schedule keeps the user's own constraints or the limit, or none is known to."""
    limit = state.options.makespan_limit
    if state.is_infeasible:
        state.message = f"a complete method proves that no schedule satisfies {_asked(state.options, own)}"
        return SolveStatus.INFEASIBLE
    if limit is None or state.options.objective != Makespan.name:
        return None
    if state.is_too_tight:
        state.schedule = state.objective = None
        least = state.lower_bound
        state.message = f"no schedule ends within makespan_limit={limit:g} s: the minimum is at least {least:g} s"
        return SolveStatus.INFEASIBLE
    if state.objective is not None and not state.is_within(state.objective, limit):
        state.message = (
            f"no known schedule ends within makespan_limit={limit:g} s; "
            f"the best makespan found is {state.objective:g} s"
        )
        state.schedule = state.objective = None
        return SolveStatus.UNKNOWN
    return None


def _asked(options: SolveOptions, own: Sequence[Constraint]) -> str:
    """Return what a schedule has to keep beside the instance, in words."""
    limit, fixed = options.makespan_limit, [isinstance(constraint, Fixings) for constraint in own]
    asked = [
        *([] if all(fixed) else ["the constraints"]),
        *(["the fixed assignments"] if any(fixed) else []),
        *([] if limit is None else [f"makespan_limit={limit:g} s"]),
    ]
    return " and ".join(asked) or "the constraints of the instance"


def build_oas(
    instance: Instance,
    options: SolveOptions,
    formulation: str = "auto",
    *,
    objective: Objective | None = None,
    constraints: Sequence[Constraint] = (),
    horizon: float | None = None,
) -> pyo.ConcreteModel:
    """Return the model of an instance; without a horizon (ticks) every order of the jobs fits into it."""
    objective = objective or objective_of(options.objective)
    _refuse_constraints(constraints, objective)
    objective.refuse(instance)
    if objective.needs_watts:
        from coalloc.solvers.energy.solving import build_energy

        return build_energy(instance, options, formulation, horizon=horizon)
    _refuse_unknown(options, formulation)
    limit = () if options.makespan_limit is None else (LatestEnd(instance.origin + options.makespan_limit),)
    kept = _kept(instance, options, (*constraints, *limit))
    problem = _problem(Shifted(instance, kept, instance.time_base), options)
    reasons = why_infeasible(problem)
    if reasons:
        raise CoallocError("; ".join(reasons))
    criterion, run = Criterion.of(problem, objective), ModelRun(SolveState(instance, options), solve_model)
    asked = formulation_of("oas", formulation)
    if options.slot is None:
        raise CoallocError(missing_slot(run, criterion, asked, "mode" if formulation == "auto" else formulation))
    slots = int(criterion.horizon() if horizon is None else horizon)
    _refuse_horizon(problem, slots)
    return run.build(criterion, asked, slots, min(quick_bound(criterion), slots))


def _refuse_horizon(problem: Problem, horizon: int) -> None:
    """Raise where a job cannot end by the horizon (slots) and its own latest end: a model would have no row for it."""
    for j, job in enumerate(problem.jobs):
        least = problem.releases[j] + min(level.duration for level in problem.levels[j])
        last = min(horizon, problem.latest_ends[j])
        if least > last:
            raise CoallocError(
                f"no model: job {quoted(job.id)} cannot end before {least:g} slots, but must end within {last:g}"
            )


def _refuse_options(options: SolveOptions, formulation: Any) -> None:
    _refuse_unknown(options, formulation)
    if formulation == "auto":
        refuse_unknown(options)
    else:
        refuse_methods(options, "another formulation")
    if options.slot is None and formulation != "auto":
        raise CoallocError(
            'a formulation requires a time slot, such as slot="50%"; in continuous time use formulation="auto"'
        )


def _refuse_unknown(options: SolveOptions, formulation: Any) -> None:
    if options.links != "strict":
        raise CoallocError(f"links of model 'oas' must be 'strict', got {options.links!r}")
    if isinstance(formulation, str):
        if formulation != "auto":
            formulation_of("oas", formulation)
    elif not _is_formulation(formulation):
        raise CoallocError(
            f"formulation must be a name or an object with build(problem, *, horizon, objective, lower_bound) and "
            f"extract(model), got {formulation!r}"
        )


def _refuse_constraints(constraints: Sequence[Constraint], objective: Objective) -> None:
    if constraints and objective.needs_watts:
        raise CoallocError(f"constraints and fixed require a regular objective, got {objective.name!r}")


def _is_formulation(formulation: Any) -> TypeGuard[Formulation]:
    return all(callable(getattr(formulation, name, None)) for name in ("build", "extract"))


def _take_start(incumbent: Incumbent, start: Schedule | None) -> None:
    """Take the user's start, moved left on the clock of the problem."""
    if start is None:
        return
    problem, given = incumbent.problem, _given(incumbent, start)
    moved = moved_left(problem, given)
    broken = incumbent.state.faults(schedule_of(problem, moved))[:1] if moved else ["it violates the constraints"]
    if not broken:
        incumbent.take(moved, "warm start" if len(start) == len(problem.jobs) else "warm start, completed")
    elif given:
        incumbent.state.message = f"start was ignored: {broken[0]}"


def _given(incumbent: Incumbent, start: Schedule) -> list[Assignment]:
    """Return the user's start as assignments, completed where it has only some of the jobs.

    Raises :class:`CoallocError` where it is not valid; nothing is returned where no list completes it.
    """
    state, num_jobs = incumbent.state, len(incumbent.problem.jobs)
    found = check(state.instance, start, saturation=state.options.saturation, scope=state.options.scope)
    broken = [violation for violation in found if violation.rule != "missing-job"]
    if broken:
        raise CoallocError(f"start must be a valid schedule of the instance: {broken[0].sentence}")
    placed = assignments_of(incumbent.problem, start)
    if not placed and num_jobs:
        raise CoallocError("start must be a valid schedule of the instance: it contains no job")
    if len(placed) == num_jobs:
        return placed
    completed = _completed(incumbent, placed)
    how = "a list schedule added the others" if completed else "no list schedule could add the others; it was ignored"
    state.message = f"start has {len(placed)} of {num_jobs} jobs; {how}"
    return completed


def _completed(incumbent: Incumbent, placed: Sequence[Assignment]) -> list[Assignment]:
    """Return the best completion of a start that is valid; nothing where there is none."""
    problem, criterion = incumbent.problem, incumbent.criterion
    found = completions(problem, placed, incumbent.instant(1.0))
    valid = [completion for completion in found if start_in_order(problem, choices_of(problem, completion))]
    return min(valid, key=criterion.value, default=[])


def _relax(
    incumbent: Incumbent, options: SolveOptions, objective: Objective, constraints: Sequence[Constraint]
) -> None:
    """Solve without the constraints that the exact search does not know: that bounds, and may keep them by chance."""
    state, problem = incumbent.state, incumbent.problem
    if problem.declared.is_searched:
        return
    known, free = searched_part(constraints, state.instance), _without_greatest_lags(state.instance)
    if (known == [*constraints] and free is state.instance) or state.remaining <= 0.0:
        return
    with state.recorded(RELAXATION):
        with state.timed("bound"):
            asked = replace(options, time_limit=_share_of(state, SHORT))
            relaxed = _solved_otherwise(incumbent, asked, objective, known, free)
        if relaxed.status is SolveStatus.INFEASIBLE:
            incumbent.exclude()
        if relaxed.lower_bound is not None:
            state.raise_bound(relaxed.lower_bound, RELAXATION)
        if relaxed.schedule is not None:
            incumbent.take_if_valid(moved_left(problem, assignments_of(problem, relaxed.schedule)), RELAXATION)
    _heed_interrupt(relaxed)


def _without_greatest_lags(instance: Instance) -> Instance:
    """Return an instance with those lags alone that let a job wait, or start with another."""
    if "lags" not in instance.features:
        return instance
    begun = {run.job.id for run in instance.running}
    jobs = [job.replace(lags=[*_waits(job.lags, begun)]) if job.lags else job for job in instance.jobs]
    return instance if jobs == [*instance.jobs] else instance.replace(jobs=jobs)


def _waits(lags: Iterable[Lag], begun: Container[str]) -> Iterator[Lag]:
    """Yield lags without their greatest values, but of jobs that run already, and of those that start together."""
    for lag in lags:
        if lag.after in begun or lag.is_same_start:
            yield lag
        elif lag.min >= 0.0:
            yield replace(lag, max=None)


def _share_of(state: SolveState, share: float) -> float:
    """Return a share of the time that is left, s, or a limit where there is none."""
    return share * state.remaining if state.options.time_limit is not None else ASIDE


def _solved_otherwise(
    incumbent: Incumbent,
    options: SolveOptions,
    objective: Objective,
    constraints: Sequence[Constraint],
    instance: Instance | None = None,
) -> SolveResult:
    """Return the result for the instance of an incumbent, or another, with other options or constraints."""
    return solve_oas(
        instance or incumbent.state.instance,
        options,
        objective=objective,
        constraints=constraints,
        run_model=incumbent.run_model,
        explains=False,
    )


def _heed_interrupt(result: SolveResult) -> None:
    """Raise KeyboardInterrupt where Ctrl-C has stopped a solve within this one, now that what it found is taken."""
    if result.stopped_by == "interrupt":
        raise KeyboardInterrupt


def _take_exact_slots(
    incumbent: Incumbent, options: SolveOptions, objective: Objective, constraints: Sequence[Constraint]
) -> None:
    """Solve continuous time in slots where all its times are whole slots: there complete methods know the rows.

    What precedes what, by processors, links and rows, bounds differences of starts by whole slots. So the earliest
    starts that keep to it are whole slots as well, and no others cost less (docs/mathematics/execution-model.md,
    "Slotting error").
    """
    state, problem = incumbent.state, incumbent.problem
    is_searched = problem.declared.is_searched
    if problem.slot is not None or incumbent.is_closed or is_searched or state.remaining <= 0.0:
        return
    leasts = [row.least for row in problem.rows if isinstance(row, TimeSumRow)]
    leasts += [time for calendar in problem.calendars.values() for time in calendar.changes]
    slot = common_slot(problem, problem.horizon_in_turn / EXACT_SLOTS, leasts)
    if slot is None:
        return
    with state.recorded(EXACT):
        with state.timed("solve"):
            asked = replace(options, time_limit=_share_of(state, HALF), slot=slot)
            found = _solved_otherwise(incumbent, asked, objective, constraints)
        if found.status is SolveStatus.INFEASIBLE:
            incumbent.exclude()
        if found.lower_bound is not None:
            state.raise_bound(found.lower_bound, EXACT)
        if found.schedule is not None:
            incumbent.take_if_valid(assignments_of(problem, found.schedule), EXACT)
    _heed_interrupt(found)


def _search_by_faults(incumbent: Incumbent) -> None:
    """Look for a schedule that constraints accept, in all the time that is left."""
    with incumbent.state.timed("search"), incumbent.within(1.0):
        search_by_faults(incumbent)
    if incumbent.refusing and not incumbent.state.is_closed:
        tell_limit(incumbent)


def _tell_refusing(incumbent: Incumbent) -> None:
    """Say in the message which constraints refused schedules that methods took for valid, unless all is proved."""
    state = incumbent.state
    if incumbent.refusing and not state.is_closed:
        names, are, its = " and ".join(sorted(incumbent.refusing)), "is", "its"
        if len(incumbent.refusing) > 1:
            are, its = "are", "their"
        told = f"{names} {are} violated by schedules that {its} declarations accept"
        state.add_to_message(f"{told}; the lower bound ignores these violations")


def _run_named(incumbent: Incumbent, formulation: Formulation) -> None:
    """Run one formulation from the best known schedule, to its own proof, whatever cheaper bounds know.

    Where time ends it, what was kept of that is for the bound that :func:`coalloc.lower_bound` gives.
    """
    state, criterion = incumbent.state, incumbent.criterion
    quick = quick_bound(criterion)
    incumbent.take(first_schedule(incumbent, incumbent.instant(1.0)), "list schedule")
    incumbent.prove(quick, "longest job and packing")
    schedule, bound = ModelRun(state, incumbent.run_model).run(
        criterion, formulation, incumbent.best, time_limit=(1.0 - BRIEF) * state.remaining, lower_bound=quick
    )
    if bound == math.inf:
        incumbent.exclude()
        return
    _hear(incumbent, schedule, bound)
    if not incumbent.is_closed and state.stopped_by in ("time", "failure"):
        method = default_method(criterion.objective)
        with state.timed("bound"):
            incumbent.prove(cost_bound(criterion, method, state.remaining), method)


def _run_own(incumbent: Incumbent, formulation: Formulation, start: Schedule | None) -> SolveStatus | None:
    """Run a formulation of the user's own; return the status where it is not that of the gap."""
    state, criterion = incumbent.state, incumbent.criterion
    quick = quick_bound(criterion)
    incumbent.prove(quick, "longest job and packing")
    first = first_schedule(incumbent, incumbent.instant(1.0)) if start is None else _given(incumbent, start)
    horizon = int(max([criterion.horizon(), *(a.end for a in first)]))
    schedule, bound = ModelRun(state, incumbent.run_model).run(
        criterion, formulation, first, time_limit=state.remaining, lower_bound=quick, horizon=horizon
    )
    if bound == math.inf:
        state.message = (
            f"the model of formulation {type(formulation).__name__} has no solution within {horizon:,} slots, "
            "which are enough for every order of the jobs"
        )
        return SolveStatus.INFEASIBLE
    _hear(incumbent, schedule, bound)
    return None


def _hear(incumbent: Incumbent, schedule: Schedule | None, bound: float | None) -> None:
    """Take what the run of a formulation has found, as it is."""
    if schedule is not None:
        incumbent.take_schedule(schedule, "model")
    if bound is not None:
        incumbent.prove(bound, "model")
