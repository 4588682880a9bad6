"""``solve``, ``build_model`` and ``lower_bound``.

Everything here takes and returns values; nothing is printed but by ``progress=True`` and
``show_versions``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from coalloc.allocation import Scope
from coalloc.documents.arguments import Seed, public
from coalloc.instance import CoallocError, Instance
from coalloc.models.registry import OBJECTIVES, Formulation, PackageFormulation
from coalloc.problem import Links, Slot, discretise, slot_seconds
from coalloc.result_files import instance_hash
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.bounds.methods import METHODS, latest_end_bound, sum_of_ends_bound
from coalloc.solvers.model_run import RunModel
from coalloc.solvers.oas import build_oas, solve_oas
from coalloc.solvers.objectives import ENERGY_OBJECTIVES, in_seconds
from coalloc.solvers.result import Model, Progress, SolveOptions, SolveResult, TracePoint
from coalloc.versions import versions

if TYPE_CHECKING:
    import pyomo.environ as pyo

DEFAULT_OBJECTIVES = {"oas": "makespan", "pas": "total-execution-time", "cbs": "chunks", "jpr": "total-execution-time"}
"""Objective of each model where none is asked for."""


@public
def solve(
    instance: Instance,
    *,
    model: Model = "oas",
    formulation: str | Formulation | PackageFormulation = "auto",
    objective: str | None = None,
    slot: Slot = None,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    makespan_limit: float | None = None,
    time_limit: float | None = 60.0,
    work_limit: int | None = None,
    gap: float = 0.0,
    solver: str = "highs",
    threads: int = 1,
    seed: Seed = 0,
    start: Schedule | None = None,
    progress: bool | Progress = False,
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
        oas ``"makespan"`` (default), ``"total-response-time"``, ``"energy"`` (J, as :func:`coalloc.energy` meters
        the schedule that is returned) or ``"edp"`` (J s, proven by a scan over makespans); pas
        ``"total-execution-time"``.
    slot
        Seconds, or ``"50%"`` of the mean base time; ``None`` is continuous time.
    links
        ``"strict"``: links may not saturate; ``"shared"``: they may, and slow jobs down (pas).
    saturation
        Share above its bandwidth that a link may carry and still not count as saturated.
    scope
        Where the tasks of a job may be: ``"platform"``, one ``"cluster"``, one ``"node"`` (oas; energy, edp, makespan).
        Continuous time takes ``"node"`` for energy and edp. With these objectives or scopes starts are whole
        slots, which hold processors to their ends, and jobs end when they really do: the schedule has no slot.
    makespan_limit
        Seconds within which the schedule must end (oas; energy, edp, makespan); it may make an instance infeasible.
    time_limit, work_limit, gap
        Stop after these seconds (building included; ``None`` or ``math.inf``: no limit), these
        branch-and-bound nodes, or at this relative gap.
    solver
        ``"highs"``, or the name of any MIP solver that Pyomo finds (``"cbc"``, ``"glpk"``, ...).
    threads, seed
        Cores of all that runs, and what is drawn; the same seed gives the same answer where no time limit struck.
        On more than one core ``formulation="auto"`` may return another schedule that is optimal just as well.
    start
        A valid schedule to start from.
    progress
        ``True`` prints a line per new incumbent or bound on standard error; a function gets each
        :class:`TracePoint`.

    Raises
    ------
    CoallocError
        An option is unknown or not supported with the others, or a model would be too large.
    """
    options = SolveOptions(
        model=model,
        formulation=_name_of(formulation),
        objective=objective or DEFAULT_OBJECTIVES.get(model, "makespan"),
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
    run_model: RunModel = solve_model
    if solver != "highs":
        from coalloc.solvers.backends.pyomo_solver import solver_named

        run_model = solver_named(solver, work_limit=options.work_limit)
    reporter = progress if callable(progress) else _print_point if progress else None
    chosen: Any = formulation  # which of the two it must be depends on the model
    if options.model == "oas":
        result = solve_oas(instance, options, formulation=chosen, start=start, progress=reporter, run_model=run_model)
    elif start is not None:
        raise CoallocError(f"start is for model 'oas', not for {model!r}")
    else:
        from coalloc.solvers.package import solve_package

        result = solve_package(instance, options, formulation=chosen, progress=reporter, run_model=run_model)
    return replace(result, instance=instance, instance_sha256=instance_hash(instance), versions=versions())


@public
def build_model(
    instance: Instance,
    *,
    model: Model = "oas",
    formulation: str = "auto",
    objective: str | None = None,
    slot: Slot = None,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    makespan_limit: float | None = None,
) -> pyo.ConcreteModel:
    """Return the Pyomo model that ``solve`` would solve, to extend or to export.

    Parameters
    ----------
    model, objective, slot, links, saturation, scope, makespan_limit
        As for :func:`solve`; models of oas need a slot.
    formulation
        As for :func:`solve`, by name; ``"auto"`` is the mode model.

    Returns
    -------
    pyomo.environ.ConcreteModel
        Its objective is in slots (oas), in s with a scope or a limit on the makespan and for packages, in tasks (cbs)
        or in J (energy). Its horizon is that of a list schedule.

    Raises
    ------
    CoallocError
        An option is not supported with the others, a job fits nowhere, or the model would be too large.
    """
    options = SolveOptions(
        model=model,
        formulation=formulation,
        objective=objective or DEFAULT_OBJECTIVES.get(model, "makespan"),
        slot=slot_seconds(instance, slot),
        links=links,
        saturation=saturation,
        scope=scope,
        makespan_limit=makespan_limit,
    )
    if options.model == "oas":
        return build_oas(instance, options, formulation)
    from coalloc.solvers.package import build_package

    return build_package(instance, options, formulation)


@public
def lower_bound(
    instance: Instance,
    objective: str = "makespan",
    method: str | None = None,
    slot: Slot = None,
    *,
    time_limit: float | None = 60.0,
    saturation: float = 0.0,
    makespan_limit: float | None = None,
) -> float:
    """Return a proven lower bound on what ``solve`` with model oas can reach, in the unit that it reports.

    Parameters
    ----------
    objective
        ``"makespan"`` or ``"total-response-time"`` (each job alone; but for ``"longest-job"`` the
        squashed area as well); ``"energy"`` (J) or ``"edp"`` (J s), for schedules of any scope and makespan,
        in slots or not.
    method
        ``"longest-job"``, ``"area"``, ``"packing"``, ``"feasible-set"`` (default), or ``"best"`` of them all;
        energy and EDP have ``"lp"`` alone.
    slot
        Seconds, or ``"50%"`` of the mean base time: a bound on schedules in whole slots; ``None``: on all.
    time_limit
        Seconds after which the best bound so far is returned; ``None`` or ``math.inf``: no limit.
    saturation
        Share above its bandwidth that a link may carry.
    makespan_limit
        For energy and EDP: seconds within which the schedules end.

    Raises
    ------
    CoallocError
        An argument is unknown; the message lists those that there are.
    """
    needs_watts = objective in ENERGY_OBJECTIVES
    methods = ("lp",) if needs_watts else METHODS
    method = method or ("lp" if needs_watts else "feasible-set")
    for name, value, known in (
        ("objective", objective, (*OBJECTIVES, *ENERGY_OBJECTIVES)),
        ("method", method, methods),
    ):
        if value not in known:
            raise CoallocError(f"{name} of lower_bound must be one of {', '.join(known)}, got {value!r}")
    limit = None if time_limit == math.inf else time_limit
    options = SolveOptions(
        objective=objective, slot=slot_seconds(instance, slot), saturation=saturation, time_limit=limit
    )
    if needs_watts:
        from coalloc.solvers.bounds.energy import energy_bound

        return energy_bound(instance, objective, makespan_limit, options.seconds)
    if makespan_limit is not None:
        raise CoallocError(f"makespan_limit is for objectives {' and '.join(ENERGY_OBJECTIVES)}, not {objective!r}")
    problem = discretise(instance, options.slot, saturation=options.saturation)
    if objective == "makespan":
        return in_seconds(problem, latest_end_bound(problem, method, options.seconds), objective)
    return in_seconds(problem, sum_of_ends_bound(problem, method), objective)


def _name_of(formulation: Any) -> str:
    """Return the name of a formulation: its own, or its type's where it is an object of the user's."""
    return formulation if isinstance(formulation, str) else type(formulation).__name__


def _print_point(point: TracePoint) -> None:
    """Print a point of the trace as one line on standard error."""
    incumbent = "-" if point.incumbent is None else f"{point.incumbent:.6g}"
    bound = "-" if point.lower_bound is None else f"{point.lower_bound:.6g}"
    print(f"{point.time:8.2f} s  incumbent {incumbent:>12}  bound {bound:>12}  {point.source}", file=sys.stderr)
