"""``solve``, ``build_model`` and ``lower_bound``.

Everything here takes and returns values; nothing is printed but by ``progress=True`` and
``show_versions``.
"""

from __future__ import annotations

import math
import sys
import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from coalloc.checker import check
from coalloc.documents.arguments import Seed, picture_of, public
from coalloc.documents.errors import ArgumentError, Fault
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, RelaxedFeatureWarning, UnsupportedFeature
from coalloc.instance.constraints import AllowedSpreads, AllowedStarts, Budget, Constraint, MostTasks, name_of
from coalloc.measures.sharing import least_makespan, unhindered
from coalloc.models.registry import (
    ENERGY_FORMULATIONS,
    Formulation,
    PackageFormulation,
    formulation_of_model,
    module_name,
)
from coalloc.objectives import (
    OBJECTIVES,
    AllocationObjective,
    Criterion,
    Objective,
    RegularObjective,
    objective_of,
)
from coalloc.power.sites import Working
from coalloc.problem import Links, Problem, Slot, discretise, slot_seconds
from coalloc.problem.allocation import Scope, reserves_part_of_node
from coalloc.problem.fixed import Fixed, fixings
from coalloc.schedule import Placement, Schedule
from coalloc.solvers.backends.failing import noting
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.cancelling import cancellable
from coalloc.solvers.descent import Weighing
from coalloc.solvers.feasibility import why_without_place
from coalloc.solvers.irreducible_sets import without_running
from coalloc.solvers.lexicographic import solve_in_order, solve_one
from coalloc.solvers.named_bounds import cost_bound, default_method, methods_of
from coalloc.solvers.oas import build_oas
from coalloc.solvers.portfolio import refuse_methods
from coalloc.solvers.result import Model, News, Progress, RunModel, SolveOptions, SolveResult
from coalloc.solvers.time_shift import Shifted, shifted
from coalloc.system.versions import versions

if TYPE_CHECKING:
    import pyomo.environ as pyo

MAX_HORIZON = 1e15
"""Most slots, or seconds, that a model may be asked to span: beyond, floats do not hold every whole number."""

FRAMES = 4
"""Frames from a warning of :func:`lower_bound` to who calls it."""

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
    methods: Sequence[str] = (),
    without: Sequence[str] = (),
    start: Schedule | None = None,
    progress: bool | Progress = False,
    cancel: threading.Event | None = None,
) -> SolveResult:
    """Solve one instance to optimality, or return the best schedule and lower bound found within the limits.

    The default is a portfolio of bounds, heuristics and exact searches (MILP, branch and bound, constraint
    programming). A limit that is reached is not an error: the result then holds the incumbent and its optimality gap.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    model : {"oas", "pas", "cbs", "jpr"}, default "oas"
        ``"oas"`` chooses start times and allocations. The package models allocate all jobs at once, with one common
        start: ``"pas"`` (minimal total execution time), ``"cbs"`` (few chunks) and ``"jpr"``.
    formulation : str or Formulation or PackageFormulation, default "auto"
        ``"auto"`` is the portfolio. ``"node"``, ``"count"`` or ``"mode"`` (model oas) and ``"node"`` or ``"mode"``
        (model pas) solve that MILP alone; a formulation of model oas needs a ``slot``. A custom formulation is an
        object with ``build`` and ``extract``.
    objective : str or Objective or tuple of them or None, default None
        What is minimized. Model oas: ``"makespan"`` (the default, s), ``"total-response-time"`` (s),
        ``"total-weighted-response-time"`` (s), ``"mean-wait"`` (s), ``"mean-bounded-slowdown"``,
        ``"weighted-tardiness"`` (s), ``"maximum-lateness"`` (s), ``"co-allocated-jobs"``, ``"used-clusters"``,
        ``"unmet-levels"``, ``"energy"`` (J), ``"edp"`` (J s), or a custom ``coalloc.extend.RegularObjective``. A tuple
        is lexicographic: all but the last must be a maximum (``"makespan"``, ``"maximum-lateness"``) or one of
        allocations (``"co-allocated-jobs"``, ``"used-clusters"``, ``"unmet-levels"``). The package models have one
        objective each.
    slot : float or str or None, default None
        Length of a time slot in seconds, or a percentage of the mean reference run time such as ``"50%"``. None is
        continuous time.
    links : {"strict", "shared"}, default "strict"
        ``"strict"``: links are capacity-constrained and never saturate. ``"shared"`` (package models): links may
        saturate, and jobs on them slow down.
    saturation : float, default 0.0
        Share of its bandwidth by which the load of a link may exceed the bandwidth without slowing jobs down.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run: on several clusters (co-allocation), within one cluster, or on one node
        (model oas).
    makespan_limit : float or None, default None
        Latest makespan in seconds (model oas). It may make the instance infeasible.
    constraints : sequence of Constraint, default ()
        Custom constraints (model oas, regular objectives): ``coalloc.extend.Constraint`` objects.
    fixed : sequence of Fixed or Placement, default ()
        Parts of the schedule that are fixed (model oas, regular objectives): start, nodes or shape of a job as a
        ``coalloc.Fixed``, or a whole ``coalloc.Placement``.
    time_limit : float or None, default 60.0
        Wall-clock limit in seconds, model building included. None or ``math.inf``: no limit.
    work_limit : int or None, default None
        Limit on branch-and-bound nodes (``solver="highs"``). Runs that stop here repeat on any machine. None: no limit.
    gap : float, default 0.0
        Relative optimality gap at which the solve stops, from 0 to 1.
    solver : str, default "highs"
        MIP solver: ``"highs"``, or any solver that Pyomo finds (``"cbc"``, ``"scip"``, ``"gurobi"``). If it fails, for
        example without a license, ``result.message`` says so and the result holds the bounds and schedules of the other
        methods. It also names options that the solver does not take.
    threads : int, default 1
        Number of CPU cores. With several, branch and bound over running sets uses as many threads, and further
        searches and CP-SAT run in processes of their own. Another optimal schedule may be returned than with one.
    seed : int, default 0
        Random seed, at least 0. With one thread, the same seed gives the same result unless the time limit is
        reached.
    methods : sequence of str, default ()
        Methods of the portfolio that may run (model oas, ``formulation="auto"``), by the names of
        ``result.methods``; empty: all. Simple bounds and the first list schedule always run.
    without : sequence of str, default ()
        Methods of the portfolio that are left out.
    start : Schedule or None, default None
        Warm start: a valid schedule (model oas). If it places only some jobs, a list heuristic places the others.
    progress : bool or callable, default False
        True prints a line to standard error for each new incumbent or bound. A function receives each
        ``coalloc.results.TracePoint``; an exception that it raises ends the solve.
    cancel : threading.Event or None, default None
        An event that stops the solve when another thread sets it, with the best known result (``stopped_by`` is
        ``"interrupt"``, as for Ctrl-C).

    Returns
    -------
    SolveResult
        Status, objective, lower bound, gap, schedule, trace and timings. The schedule has passed ``coalloc.check``.

    Raises
    ------
    CoallocError
        An option is unknown or not supported in this combination, a model would be too large, or the solve was
        cancelled before anything was known.

    See Also
    --------
    coalloc.lower_bound : Compute a lower bound without a schedule.
    coalloc.build_model : Build the Pyomo model to extend, export or solve it.
    coalloc.simulate : Run an instance under a scheduling policy.

    Notes
    -----
    Formulations and bounds are derived in docs/mathematics/. OAS is section 3.2 of the thesis, PAS, CBS and JPR are
    section 3.1.

    Examples
    --------
    Three jobs on two clusters, one of them co-allocated:

    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> result = coalloc.solve(instance)
    >>> print(result.status, result.objective, result.unit)
    optimal 455.0 s
    >>> sorted({node.partition("/")[0] for node in result.schedule["J2"].nodes})
    ['C1', 'C2']

    Time slots of 50 s and a lexicographic objective:

    >>> goals = ("makespan", "total-response-time")
    >>> slotted = coalloc.solve(instance, slot=50.0, objective=goals)
    >>> [(level.objective, level.value) for level in slotted.solved_levels]
    [('makespan', 500.0), ('total-response-time', 900.0)]
    """
    if solver != "highs":  # what knows the others loads Pyomo
        from coalloc.solvers.backends.adapters import solver_called

        solver = solver_called(solver)
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
        methods=tuple(methods),
        without=tuple(without),
    )
    constraints = (*constraints, *_kept(instance, fixed, options.slot, scope, constraints))
    run_model: RunModel = solve_model
    notes: list[str] = []
    if solver != "highs":
        from coalloc.solvers.backends.pyomo_solver import solver_named

        run_model = solver_named(solver, notes.append, work_limit=options.work_limit)
    run_model = noting(run_model, notes.append)
    reporter = progress if callable(progress) else News(partial(print, file=sys.stderr)) if progress else None
    chosen: Any = formulation  # which of the two it must be depends on the model

    def solved() -> SolveResult:
        if isinstance(objective, tuple):
            if options.model != "oas":
                raise CoallocError(f"several objectives require model 'oas', got {model!r}")
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
            return solve_one(
                instance,
                options,
                objective_of(objective or options.objective),
                constraints=constraints,
                formulation=chosen,
                start=start,
                progress=reporter,
                run_model=run_model,
            )
        if start is not None or constraints:
            what = "start requires" if start is not None else "fixed requires" if fixed else "constraints require"
            raise CoallocError(f"{what} model 'oas', got {model!r}")
        refuse_methods(options, f"model {model!r}")
        from coalloc.solvers.packages.solving import solve_package

        return solve_package(instance, options, formulation=chosen, progress=reporter, run_model=run_model)

    result = cancellable(cancel, solved)
    message = "; ".join(dict.fromkeys(filter(None, (result.message, *notes))))
    return replace(result, message=message, instance=instance, versions=versions())


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
    """Build the Pyomo model of an instance, to extend, export or solve it.

    The size of the model is estimated first, so that a model that is too large raises before anything is built.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    model : {"oas", "pas", "cbs", "jpr"}, default "oas"
        As for ``coalloc.solve``.
    formulation : {"auto", "node", "count", "mode"}, default "auto"
        The MILP formulation; ``"auto"`` is ``"mode"``. Package models have ``"node"`` (pas only) and ``"mode"``.
    objective : str or Objective or None, default None
        As for ``coalloc.solve``, one objective; EDP and objectives of allocations have no model.
    slot : float or str or None, default None
        Length of a time slot in seconds, or a percentage of the mean reference run time. Models of oas need a slot,
        except energy with ``scope="node"``.
    links : {"strict", "shared"}, default "strict"
        As for ``coalloc.solve``.
    saturation : float, default 0.0
        Tolerated share of the load of a link above its bandwidth.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run.
    makespan_limit : float or None, default None
        Latest makespan in seconds.
    constraints : sequence of Constraint, default ()
        Custom constraints, as for ``coalloc.solve``.
    fixed : sequence of Fixed or Placement, default ()
        Parts of the schedule that are fixed, as for ``coalloc.solve``.
    horizon : float or None, default None
        Latest end of all jobs, in slots (energy in continuous time: seconds). None: every order of the jobs fits, so
        that a constraint that you add cuts off only the schedules that violate it. A short horizon may make the model
        infeasible.

    Returns
    -------
    pyomo.environ.ConcreteModel
        The model. Its objective is in slots (oas), seconds (pas, jpr), chunks (cbs) or joules (energy).

    Raises
    ------
    CoallocError
        An option is not supported in this combination, a job fits nowhere, a job cannot end within the horizon, or the
        model would be too large.

    See Also
    --------
    coalloc.schedule_of_model : Read the schedule of a solved model.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> model = coalloc.build_model(instance, formulation="mode", slot=50.0)
    >>> model.name
    'OAS mode'
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
        raise CoallocError(f"horizon: must be from 0 to {MAX_HORIZON:g}, got {picture_of(horizon)}")
    constraints = (*constraints, *_kept(instance, fixed, options.slot, scope, constraints))
    if options.model == "oas":
        asked = objective_of(objective or options.objective)
        built = build_oas(instance, options, formulation, objective=asked, constraints=constraints, horizon=horizon)
    elif horizon is not None or constraints:
        raise CoallocError(f"horizon, constraints and fixed require model 'oas', got {model!r}")
    else:
        from coalloc.solvers.packages.solving import build_package

        built = build_package(instance, options, formulation)
    built.formulation = _module_of(options, formulation)
    return built


@public
def schedule_of_model(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of a solved model of ``coalloc.build_model``.

    You may have added constraints to the model, and any solver may have solved it.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        A model of ``coalloc.build_model`` whose variables have values.

    Returns
    -------
    Schedule
        The schedule, which has passed ``coalloc.check``.

    Raises
    ------
    CoallocError
        The model is not one of ``coalloc.build_model``, has no solution, or its values are not a valid schedule.

    See Also
    --------
    coalloc.build_model : Build the Pyomo model of an instance.

    Examples
    --------
    >>> import coalloc
    >>> import pyomo.environ as pyo
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> model = coalloc.build_model(instance, formulation="mode", slot=100.0)
    >>> _ = pyo.SolverFactory("appsi_highs").solve(model)
    >>> max(placement.end for placement in coalloc.schedule_of_model(model))
    500.0
    """
    formulation = formulation_of_model(model)
    if formulation is None:
        raise ArgumentError([Fault("model", f"must be a model of coalloc.build_model, got {picture_of(model)}")])
    import pyomo.environ as pyo

    from coalloc.solvers.backends.pyomo_solver import WHOLE

    variables = list(model.component_data_objects(pyo.Var))
    if not any(variable.value is not None for variable in variables):
        raise CoallocError("the model has no solution yet: its variables have no values")
    for variable in variables:
        value = 0.0 if variable.is_continuous() or variable.value is None else variable.value
        if abs(value - round(value)) > WHOLE:
            raise CoallocError(
                f"the values of the model are not a solution: {variable.name} must be an integer, got {value:g}"
            )
    try:
        schedule, problem = formulation.extract(model), model.problem
    except ValueError as error:
        raise CoallocError(f"the values of the model are not a solution: {error}") from error
    broken = check(problem.instance, schedule, problem.links, problem.saturation, problem.scope)
    if broken:
        raise CoallocError(f"the values of the model are not a valid schedule: {broken[0].sentence}")
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
    constraints: Sequence[Constraint] = (),
    power_management: bool | None = None,
    working: Working = "total",
) -> float:
    """Return a proved lower bound on the objective of every schedule of an instance in which no link saturates.

    Simulated policies may saturate links, and then end earlier: ``coalloc.compare`` bounds such runs, and so does this
    function for jobs without ``task_bandwidth``. A bound on energy holds for ``coalloc.energy`` of every valid
    schedule, in time slots or in continuous time.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    objective : str or Objective, default "makespan"
        An objective, as for ``coalloc.solve``.
    method : str or None, default None
        Makespan: ``"longest-job"``, ``"work"``, ``"area"``, ``"packing"``, ``"feasible-set"`` (the default: column
        generation over the configuration LP) or ``"best"`` of all. Sums: ``"prices"`` (the default: dual prices of
        processors over time), ``"job-prices"`` (also dual prices of jobs, slower), ``"mean-busy-time"`` (up to 24
        jobs), ``"set-prices"`` (dual prices of jobs by level, of few jobs in slots), ``"best"`` of all, or the methods
        of the makespan. Maxima: ``"prices"`` (the default),
        ``"feasible-set"`` or ``"best"``. Objectives of allocations: ``"least-weights"``. Energy and EDP: ``"lp"``.
    slot : float or str or None, default None
        Bound schedules in whole time slots of this length (s, or a percentage of the mean reference run time). None:
        bound all schedules.
    time_limit : float or None, default 60.0
        Seconds after which the best bound so far is returned. None or ``math.inf``: no limit.
    saturation : float, default 0.0
        Tolerated share of the load of a link above its bandwidth.
    makespan_limit : float or None, default None
        For energy and EDP: bound schedules with at most this makespan, s.
    scope : {"platform", "cluster", "node"}, default "platform"
        Bound schedules within this scope, as for ``coalloc.solve``.
    fixed : sequence of Fixed or Placement, default ()
        Bound schedules with these fixed parts, as for ``coalloc.solve``.
    constraints : sequence of Constraint, default ()
        Custom constraints, as for ``coalloc.solve``. What no bound knows is relaxed.
    power_management : bool or None, default None
        For energy and EDP of clusters with power states, as for ``coalloc.energy``. None: the bound holds with and
        without power management.
    working : {"total", "extra"}, default "total"
        For energy and EDP of clusters with power states, as for ``coalloc.energy``.

    Returns
    -------
    float
        The bound, in the unit of the objective.

    Raises
    ------
    CoallocError
        An argument is unknown (the message lists the known values), an option does not apply to the objective or the
        platform, or the instance has no schedule: a job fits nowhere, or the minimum exceeds the makespan limit.

    Warns
    -----
    RelaxedFeatureWarning
        A bound on energy or EDP leaves out features, a constraint would have to be asked of too many allocations, or a
        reservation has a part of a node, or nodes are time-shared: each job is then bounded as if it were alone, and
        the makespan by the processing work as well. The bound is valid: it also holds without what the warning names.

    See Also
    --------
    coalloc.solve : Find a schedule and improve the bound by search.

    Notes
    -----
    The methods are derived in docs/mathematics/bounds.md.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> round(coalloc.lower_bound(instance), 3)
    455.0
    >>> coalloc.lower_bound(instance, method="longest-job")
    255.0
    >>> round(coalloc.lower_bound(instance, "mean-wait"), 3)
    33.278
    """
    asked = _asked(objective)
    asked.refuse(instance)
    methods = methods_of(asked)
    method = default_method(asked) if method is None else method
    if method not in methods:
        raise CoallocError(f"method of lower_bound must be one of {', '.join(methods)}, got {method!r}")
    limit = None if time_limit == math.inf else time_limit
    options = SolveOptions(
        objective=asked.name, slot=slot_seconds(instance, slot), saturation=saturation, time_limit=limit
    )
    least = -math.inf
    is_shared = instance.shares_nodes and isinstance(asked, RegularObjective)
    if is_shared:  # each job as if it were alone
        least = least_makespan(instance) if asked.name == "makespan" else least
        instance, method = unhindered(instance), "longest-job"
    whole, kept, parts = _without_parts(instance, constraints)
    kept = (*kept, *_kept(whole, fixed, options.slot, scope, kept))
    problem, given, relaxed = _bounded(shifted(whole, options.slot, asked, kept), options, scope)
    relaxed = (*(["time-shared nodes"] if is_shared else []), *parts, *relaxed)
    nowhere = why_without_place(problem)
    if nowhere:
        raise CoallocError("\n".join(f"the instance has no schedule: {sentence}" for sentence in nowhere))
    if asked.needs_watts:
        from coalloc.solvers.energy import bounds

        _warn_of_relaxed(asked, (*bounds.relaxed(instance, given.constraints), *relaxed))
        return bounds.energy_bound(
            given.instance,
            asked.name,
            makespan_limit,
            options.seconds,
            scope=scope,
            constraints=given.constraints,
            base=given.base,
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
            watts = " or ".join(name for name, known in OBJECTIVES.items() if known.needs_watts)
            raise CoallocError(f"{option} requires objective {watts}, got {asked.name!r}")
    _warn_of_relaxed(asked, relaxed)
    if isinstance(asked, AllocationObjective):
        return float(Weighing(problem, asked).bound)
    criterion = Criterion.of(problem, asked)
    value = criterion.reported(cost_bound(criterion, method, options.seconds))
    # The makespan of an instance without the last of its running jobs counts from the first arrival, not from 0.
    if isinstance(asked, RegularObjective):
        value += asked.offset(whole) - asked.offset(instance)
    return max(value, least)


def _without_parts(
    instance: Instance, constraints: Sequence[Constraint]
) -> tuple[Instance, tuple[Constraint, ...], tuple[str, ...]]:
    """Return an instance without reservations of parts of nodes, the constraints that name none, and what is relaxed.

    Counts of tasks do not say which processors of a node are free. Without a reservation no schedule is lost.
    """
    parts = [run for run in instance.running if reserves_part_of_node(instance.platform, run)]
    ids = {run.job.id for run in parts}
    naming = [c for c in constraints if parts and any(ids & {*one.jobs} for one in c.declare(instance))]
    whole = reduce(lambda left, run: without_running(run, left), parts, instance)
    names = [f"reservation {quoted(run.job.id)} (a part of a node)" for run in parts]
    names += [f"constraint {name_of(constraint)}" for constraint in naming]
    return whole, tuple(c for c in constraints if not any(c is one for one in naming)), tuple(names)


def _bounded(given: Shifted, options: SolveOptions, scope: Scope) -> tuple[Problem, Shifted, tuple[str, ...]]:
    """Return the problem of a bound and what it is made of, and the names of constraints left out as not supported."""
    try:
        return _problem(given, options, scope), given, ()
    except UnsupportedFeature:
        refusable = AllowedSpreads, AllowedStarts, Budget, MostTasks
        listed = [c for c in given.constraints if any(isinstance(d, refusable) for d in c.declare(given.instance))]
        given = replace(given, constraints=tuple(c for c in given.constraints if not any(c is one for one in listed)))
        names = tuple(f"constraint {name_of(constraint)}" for constraint in listed)
        return _problem(given, options, scope), given, names


def _problem(given: Shifted, options: SolveOptions, scope: Scope) -> Problem:
    return discretise(
        given.instance,
        options.slot,
        saturation=options.saturation,
        scope=scope,
        constraints=given.constraints,
        base=given.base,
    )


def _warn_of_relaxed(objective: Objective, relaxed: Sequence[str]) -> None:
    """Warn of features and constraints that a bound leaves out, where there are any."""
    if relaxed:
        text = f"lower_bound with objective {objective.name!r} relaxes {', '.join(relaxed)}; it also holds without"
        warnings.warn(text, RelaxedFeatureWarning, stacklevel=FRAMES)


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
