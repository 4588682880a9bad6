"""``solve``, ``build_model`` and ``lower_bound``.

Everything here takes and returns values; nothing is printed but by ``progress=True`` and
``show_versions``.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from coalloc.allocation import Scope
from coalloc.checker import check
from coalloc.constraint import Constraint
from coalloc.documents.arguments import Seed, picture_of, public
from coalloc.documents.errors import ArgumentError, Fault
from coalloc.fixed import Fixed, fixings
from coalloc.instance import CoallocError, Instance
from coalloc.models.registry import (
    ENERGY_FORMULATIONS,
    Formulation,
    PackageFormulation,
    formulation_of_model,
    module_name,
)
from coalloc.objectives import OBJECTIVES, Criterion, Objective, RegularObjective, objective_of
from coalloc.problem import Links, Slot, discretise, slot_seconds
from coalloc.result_files import instance_hash
from coalloc.schedule import Placement, Schedule
from coalloc.site_meter import Working
from coalloc.solvers.backends.failing import noting
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.bounds.methods import cost_bound, default_method, methods_of
from coalloc.solvers.cancelling import cancellable
from coalloc.solvers.feasibility import why_without_place
from coalloc.solvers.lexicographic import solve_in_order
from coalloc.solvers.oas import build_oas, solve_oas
from coalloc.solvers.result import Model, News, Progress, RunModel, SolveOptions, SolveResult
from coalloc.solvers.time_shift import shifted
from coalloc.versions import versions

if TYPE_CHECKING:
    import pyomo.environ as pyo

MAX_HORIZON = 1e15
"""Most slots, or seconds, that a model may be asked to span: beyond, floats do not hold every whole number."""

DEFAULT_OBJECTIVES = {"oas": "makespan", "pas": "total-execution-time", "cbs": "chunks", "jpr": "total-execution-time"}
"""Objective of each model where none is asked for."""


@public
def solve(
    instance: Instance,
    *,
    model: Model = "oas",
    formulation: str | Formulation | PackageFormulation = "auto",
    objective: str | Objective | tuple[str | Objective, ...] | None = None,
    slot: Slot = None,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    makespan_limit: float | None = None,
    constraints: Sequence[Constraint] = (),
    fixed: Sequence[Fixed | Placement] = (),
    time_limit: float | None = 60.0,
    work_limit: int | None = None,
    gap: float = 0.0,
    solver: str = "highs",
    threads: int = 1,
    seed: Seed = 0,
    start: Schedule | None = None,
    progress: bool | Progress = False,
    cancel: threading.Event | None = None,
) -> SolveResult:
    """Solve one instance; return the best schedule and bound known, never raise because time ran out.

    Parameters
    ----------
    model
        ``"oas"`` orders and allocates; ``"pas"``, ``"cbs"`` and ``"jpr"`` allocate all jobs as one package.
    formulation
        ``"auto"``, or by model: oas ``"node"``, ``"count"``, ``"mode"``; pas ``"node"``,
        ``"mode"``; or an object of your own with ``build`` and ``extract``.
    objective
        oas ``"makespan"`` (default), ``"total-response-time"``, ``"total-weighted-response-time"``, ``"mean-wait"``,
        ``"mean-bounded-slowdown"``, ``"weighted-tardiness"``, ``"maximum-lateness"``, any regular objective of your own
        (a :class:`coalloc.objectives.RegularObjective`), ``"energy"`` (J, as :func:`coalloc.energy` meters
        the schedule that is returned) or ``"edp"`` (J s, proven by a scan over makespans); pas
        ``"total-execution-time"``. oas: a tuple of regular ones in order of priority, ``("makespan",
        "total-response-time")``: all but the last must be makespan or ``"maximum-lateness"``, and each is least among
        the schedules that keep what was found of those before it (``result.solved_levels``).
    slot
        Seconds, or ``"50%"`` of the mean base time; ``None`` is continuous time.
    links
        ``"strict"``: links may not saturate; ``"shared"``: they may, and slow jobs down (pas).
    saturation
        Share above its bandwidth that a link may carry and still not count as saturated.
    scope
        Where the tasks of a job may be: ``"platform"``, one ``"cluster"``, one ``"node"`` (oas).
    makespan_limit
        Seconds within which the schedule must end (oas); it may make an instance infeasible.
    constraints
        What else restricts a schedule (oas, regular objectives): :class:`coalloc.constraint.Constraint` objects.
    fixed
        What is decided of some jobs already (oas, regular objectives), a :class:`Fixed` each: when they start, where
        they are, in which shape, any part of that; or placements, which are kept as they are.
    time_limit, work_limit, gap
        Stop after these seconds (building included; ``None`` or ``math.inf``: no limit), these
        branch-and-bound nodes, or at this relative gap.
    solver
        ``"highs"``, or the name of any MIP solver that Pyomo finds (``"cbc"``, ``"glpk"``, ...). One that fails, for
        want of a licence say, is noted in the message of the result, which has what is known without it.
    threads, seed
        Cores of all that runs, and what is drawn; the same seed gives the same answer where no time limit struck.
        On more than one core ``formulation="auto"`` may return another schedule that is optimal just as well.
    start
        A valid schedule to start from. Where it has only some of the jobs the others are placed by a list, and message
        and trace say so.
    progress
        ``True`` prints a line per new incumbent or bound on standard error; a function gets each
        :class:`TracePoint`. An exception that it raises ends the solve, and is raised.
    cancel
        An event that another thread sets to stop the solve, wherever it is: what is known is returned, as at Ctrl-C
        (``result.stopped_by`` is ``"interrupt"``).

    Raises
    ------
    CoallocError
        An option is unknown or not supported with the others, a model would be too large, or the solve was cancelled
        before anything was known.
    """
    options = SolveOptions(
        model=model,
        formulation=_name_of(formulation),
        objective=_name_of_objective(model, objective),
        slot=slot_seconds(instance, slot),
        links=links,
        saturation=saturation,
        scope=scope,
        makespan_limit=makespan_limit,
        time_limit=None if time_limit == math.inf else time_limit,
        work_limit=work_limit,
        gap=gap,
        solver=solver,
        threads=threads,
        seed=seed,
    )
    constraints = (*constraints, *_kept(instance, fixed, options.slot, scope, constraints))
    run_model: RunModel = solve_model
    if solver != "highs":
        from coalloc.solvers.backends.pyomo_solver import solver_named

        run_model = solver_named(solver, work_limit=options.work_limit)
    failures: list[str] = []
    run_model = noting(run_model, failures.append)
    reporter = progress if callable(progress) else News(partial(print, file=sys.stderr)) if progress else None
    chosen: Any = formulation  # which of the two it must be depends on the model

    def solved() -> SolveResult:
        if isinstance(objective, tuple):
            if options.model != "oas":
                raise CoallocError(f"several objectives are for model 'oas', not for {model!r}")
            return solve_in_order(
                instance,
                options,
                [objective_of(one) for one in objective],
                constraints=constraints,
                formulation=chosen,
                start=start,
                progress=reporter,
                run_model=run_model,
            )
        if options.model == "oas":
            return solve_oas(
                instance,
                options,
                objective=objective_of(objective or options.objective),
                constraints=constraints,
                formulation=chosen,
                start=start,
                progress=reporter,
                run_model=run_model,
            )
        if start is not None or constraints:
            what = "start is" if start is not None else "fixed is" if fixed else "constraints are"
            raise CoallocError(f"{what} for model 'oas', not for {model!r}")
        from coalloc.solvers.package import solve_package

        return solve_package(instance, options, formulation=chosen, progress=reporter, run_model=run_model)

    result = cancellable(cancel, solved)
    message = "; ".join(dict.fromkeys(filter(None, (result.message, *failures))))
    return replace(
        result, message=message, instance=instance, instance_sha256=instance_hash(instance), versions=versions()
    )


@public
def build_model(
    instance: Instance,
    *,
    model: Model = "oas",
    formulation: str = "auto",
    objective: str | Objective | None = None,
    slot: Slot = None,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    makespan_limit: float | None = None,
    constraints: Sequence[Constraint] = (),
    fixed: Sequence[Fixed | Placement] = (),
    horizon: float | None = None,
) -> pyo.ConcreteModel:
    """Return the Pyomo model of an instance, to extend, to export or to solve.

    Parameters
    ----------
    model, objective, slot, links, saturation, scope, makespan_limit, constraints, fixed
        As for :func:`solve`; models of oas need a slot, but for energy within nodes.
    formulation
        As for :func:`solve`, by name; ``"auto"`` is the mode model.
    horizon
        Slots (energy in continuous time: s) within which every job must end. Without it every order of the jobs
        fits, so that a row that you add (a precedence, a latest end) forbids nothing but what it says. One that is
        too short makes the model infeasible; one in which a job cannot end at all is refused.

    Returns
    -------
    pyomo.environ.ConcreteModel
        Its objective is in slots (oas), in s for packages, in tasks (cbs) or in J (energy); :func:`schedule_of_model`
        leads back from it once it is solved.

    Raises
    ------
    CoallocError
        An option is not supported with the others, a job fits nowhere, or the model would be too large: that is
        estimated before anything is built, and what is built takes a minute or so at most.
    """
    options = SolveOptions(
        model=model,
        formulation=formulation,
        objective=_name_of_objective(model, objective),
        slot=slot_seconds(instance, slot),
        links=links,
        saturation=saturation,
        scope=scope,
        makespan_limit=makespan_limit,
    )
    if horizon is not None and not 0.0 <= horizon <= MAX_HORIZON:
        raise CoallocError(f"horizon: must be 0 to {MAX_HORIZON:g}, got {picture_of(horizon)}")
    constraints = (*constraints, *_kept(instance, fixed, options.slot, scope, constraints))
    if options.model == "oas":
        asked = objective_of(objective or options.objective)
        built = build_oas(instance, options, formulation, objective=asked, constraints=constraints, horizon=horizon)
    elif horizon is not None or constraints:
        raise CoallocError(f"horizon, constraints and fixed are for model 'oas', not for {model!r}")
    else:
        from coalloc.solvers.package import build_package

        built = build_package(instance, options, formulation)
    built.formulation = _module_of(options, formulation)
    return built


@public
def schedule_of_model(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of a model of :func:`build_model` that a solver has given values.

    Rows may have been added to it, and any solver may have solved it.

    Raises
    ------
    CoallocError
        If the model is not one of :func:`build_model`, or has no solution yet, or the schedule of its values is not
        valid: the checker's sentence says why.
    """
    formulation = formulation_of_model(model)
    if formulation is None:
        raise ArgumentError([Fault("model", f"must be one of coalloc.build_model, got {picture_of(model)}")])
    import pyomo.environ as pyo

    from coalloc.solvers.backends.pyomo_solver import WHOLE

    variables = list(model.component_data_objects(pyo.Var))
    if not any(variable.value is not None for variable in variables):
        raise CoallocError("the model has no solution yet: its variables have no values")
    for variable in variables:
        value = 0.0 if variable.is_continuous() or variable.value is None else variable.value
        if abs(value - round(value)) > WHOLE:
            raise CoallocError(
                f"the values of the model are no solution: {variable.name} is {value:g}, and must be whole"
            )
    try:
        schedule, problem = formulation.extract(model), model.problem
    except ValueError as error:
        raise CoallocError(f"the values of the model are no solution: {error}") from error
    broken = check(problem.instance, schedule, problem.links, problem.saturation, problem.scope)
    if broken:
        raise CoallocError(f"the values of the model are no valid schedule: {broken[0].sentence}")
    return schedule


@public
def lower_bound(
    instance: Instance,
    objective: str | Objective = "makespan",
    method: str | None = None,
    slot: Slot = None,
    *,
    time_limit: float | None = 60.0,
    saturation: float = 0.0,
    makespan_limit: float | None = None,
    scope: Scope = "platform",
    fixed: Sequence[Fixed | Placement] = (),
    power_management: bool | None = None,
    working: Working = "total",
) -> float:
    """Return a proven lower bound on what ``solve`` with model oas can reach, in the unit that it reports.

    That of energy is one on :func:`coalloc.energy` of every valid schedule, of clusters with power states as well.

    Parameters
    ----------
    objective
        ``"makespan"``, another regular objective by its name, or one of your own; ``"energy"`` (J) or ``"edp"`` (J s),
        for schedules of any makespan, in slots or not.
    method
        Makespan: ``"longest-job"``, ``"work"``, ``"area"``, ``"packing"``, ``"feasible-set"`` (default), or ``"best"``
        of them all. Sums: ``"prices"`` (default), prices of processors over time at which each job takes its cheapest
        start, where costs are ramps (:meth:`coalloc.objectives.RegularObjective.ramp`); ``"best"`` goes on with prices
        of jobs, which takes longer; ``"longest-job"`` is each job alone; the others are that and, for a sum of ends,
        the squashed area. Maxima: ``"prices"`` (default), ``"feasible-set"`` and ``"best"`` are the latest ends of jobs
        that are due early, less their due dates. Energy and EDP: ``"lp"`` alone.
    slot
        Seconds, or ``"50%"`` of the mean base time: a bound on schedules in whole slots; ``None``: on all.
    time_limit
        Seconds after which the best bound so far is returned; ``None`` or ``math.inf``: no limit.
    saturation
        Share above its bandwidth that a link may carry.
    makespan_limit
        For energy and EDP: seconds within which the schedules end.
    scope
        Where the tasks of a job may be, as for :func:`solve`: a bound on schedules within it.
    fixed
        What is decided of some jobs already, as for :func:`solve`: a bound on schedules that keep it (regular
        objectives).
    power_management, working
        For energy and EDP of clusters with power states, as for :func:`coalloc.energy`; by default the bound holds
        with power management and without.

    Raises
    ------
    CoallocError
        An argument is unknown, and the message lists those that there are; an option is for another objective or
        platform; a job fits nowhere within the scope, or saturates a link wherever it does; no schedule keeps the
        limit.
    """
    asked = _asked(objective)
    asked.refuse(instance)
    methods = methods_of(asked) if isinstance(asked, RegularObjective) else ("lp",)
    if method is None:
        method = default_method(asked) if isinstance(asked, RegularObjective) else "lp"
    if method not in methods:
        raise CoallocError(f"method of lower_bound must be one of {', '.join(methods)}, got {method!r}")
    limit = None if time_limit == math.inf else time_limit
    options = SolveOptions(
        objective=asked.name, slot=slot_seconds(instance, slot), saturation=saturation, time_limit=limit
    )
    if fixed and not isinstance(asked, RegularObjective):
        raise CoallocError(f"fixed is for regular objectives, not for {asked.name!r}")
    kept = _kept(instance, fixed, options.slot, scope)
    given = shifted(instance, options.slot, asked, kept)
    problem = discretise(
        given.instance,
        options.slot,
        saturation=options.saturation,
        scope=scope,
        constraints=given.constraints,
        base=given.base,
    )
    nowhere = why_without_place(problem)
    if nowhere:
        raise CoallocError("\n".join(nowhere))
    if not isinstance(asked, RegularObjective):
        from coalloc.solvers.bounds.energy import energy_bound

        return energy_bound(
            given.instance,
            asked.name,
            makespan_limit,
            options.seconds,
            scope=scope,
            power_management=power_management,
            working=working,
        )
    metering = {
        "makespan_limit": makespan_limit is not None,
        "power_management": power_management is not None,
        "working": working != "total",
    }
    for option, is_given in metering.items():
        if is_given:
            watts = " and ".join(name for name, known in OBJECTIVES.items() if known.needs_watts)
            raise CoallocError(f"{option} is for objectives {watts}, not {asked.name!r}")
    criterion = Criterion(problem, asked)
    return criterion.reported(cost_bound(criterion, method, options.seconds))


def _kept(
    instance: Instance,
    fixed: Sequence[Fixed | Placement],
    slot: float | None,
    scope: Scope,
    constraints: Sequence[Constraint] = (),
) -> tuple[Constraint, ...]:
    """Return the constraint that keeps to what is fixed, beside others; none where nothing is."""
    return fixings(instance, [as_fixed(one) for one in fixed], slot, scope, constraints)


def as_fixed(one: Fixed | Placement) -> Fixed:
    """Return what is fixed where a placement is."""
    return one if isinstance(one, Fixed) else Fixed(one.job, one.start, nodes=one.nodes, shape=one.shape)


def _asked(objective: str | Objective) -> Objective:
    """Return the objective of a lower bound by its name, or as it is."""
    if isinstance(objective, str) and objective not in OBJECTIVES:
        raise CoallocError(f"objective of lower_bound must be one of {', '.join(OBJECTIVES)}, got {objective!r}")
    return objective_of(objective)


def _module_of(options: SolveOptions, formulation: str) -> str:
    """Return the module that builds what the options ask for."""
    objective = OBJECTIVES.get(options.objective)
    if options.model == "oas" and objective is not None and objective.needs_watts:
        return ENERGY_FORMULATIONS["blocks" if options.slot is None else "mode"]
    return module_name(options.model, formulation)


def _name_of_objective(model: Model, objective: str | Objective | tuple[str | Objective, ...] | None) -> str:
    """Return the name of the objective that is asked for, or is the model's own; of several, all names."""
    if isinstance(objective, tuple):
        return ", ".join(_name_of_objective(model, one) for one in objective) or "none"
    if isinstance(objective, Objective):
        return objective.name
    return DEFAULT_OBJECTIVES.get(model, "makespan") if objective is None else objective


def _name_of(formulation: Any) -> str:
    """Return the name of a formulation: its own, or its type's where it is an object of the user's."""
    return formulation if isinstance(formulation, str) else type(formulation).__name__
