"""PAS, CBS and JPR: place all jobs of a package at once, at the instant at which the last of them arrives.

The objectives of a model are minimised in order of priority, each level kept while the next is
solved. What is reported is recomputed from the schedule. Where links may saturate, a model's slowdown
is static, as if the package overlapped throughout; the ends in the schedule, and the simulated
objective, are those that the links really cause. Source: thesis 3.1.2, 3.1.3.1; errata 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.numvalue import is_potentially_variable
from pyomo.repn import generate_standard_repn

from coalloc.allocation import allocation_of
from coalloc.documents.text import quoted
from coalloc.execution import Load, communication_slowdown, processing_slowdown, shared_link_ends
from coalloc.instance import CoallocError, Instance
from coalloc.instance.rounding import capacity_limit
from coalloc.models.cbs import chunk_shortfall, total_link_load
from coalloc.models.jpr import effective_power
from coalloc.models.package import Stage, fits_processors, package_limits
from coalloc.models.registry import PackageFormulation, package_formulation_of
from coalloc.problem import MAX_MODES, Mode, Problem, discretise
from coalloc.rules.serial_generation import room_for
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.call import Search
from coalloc.solvers.result import (
    PROOF_TOLERANCE,
    ModelSolution,
    Progress,
    SolveOptions,
    SolveResult,
    SolveStatus,
    TracePoint,
    relative_gap,
)

RunModel = Callable[..., ModelSolution]
"""Runs a Pyomo model: the signature of :func:`coalloc.solvers.backends.highs.solve_model`."""

LEVEL_TOLERANCE = 1e-9
"""Share by which a proven level may be exceeded later, so that rounding errors do not forbid it."""
LARGEST_COST = 100.0
"""Size to which the largest term of an objective is scaled before it is solved.

A MIP solver prunes what improves by less than about 1e-6: here 1e-8 of the largest term. In seconds that
would be below the rounding errors of a large objective, and far too coarse for a small one.
"""

Levels = Mapping[str, float]
"""Values of a model's objectives by name, the most important first."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of :func:`solve_package`: what to solve, how, and what is known."""

    search: Search
    problem: Problem
    formulation: PackageFormulation
    run_model: RunModel


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a call ended; the schedule, objective and bound are in its :class:`Search`."""

    status: SolveStatus
    levels: Levels = field(default_factory=dict)
    simulated_objective: float | None = None


def solve_package(
    instance: Instance,
    options: SolveOptions,
    *,
    formulation: str | PackageFormulation = "auto",
    progress: Progress | None = None,
    run_model: RunModel = solve_model,
) -> SolveResult:
    """Solve PAS, CBS or JPR, named by ``options.model``; see :func:`coalloc.solve`.

    Parameters
    ----------
    formulation
        A name, or an object of the user's own.
    progress
        Called at every news about the first level.
    run_model
        Runs one model, of which it must leave the best solution in the variables.

    Returns
    -------
    SolveResult
        Objective and bound are those of the first level: seconds, for CBS tasks.

    Raises
    ------
    CoallocError
        If options are not supported together, or there are too many modes.
    """
    _refuse_unsupported(options)
    search = Search(instance, options, progress)
    used = package_formulation_of(options.model, formulation) if isinstance(formulation, str) else formulation
    problem = package_problem(instance, options)
    outcome = _solved(_Call(search, problem, used, run_model))
    result = search.result(
        outcome.status,
        formulation=_name_of(formulation),
        links="strict" if problem.links == "strict" else "shared",
        levels=outcome.levels,
        simulated_objective=outcome.simulated_objective,
    )
    return replace(result, stopped_by=search.stopped_by)


def _name_of(formulation: str | PackageFormulation) -> str:
    """Return the name of the formulation that is used."""
    if not isinstance(formulation, str):
        return type(formulation).__name__
    return "mode" if formulation == "auto" else formulation


def build_package(
    instance: Instance, options: SolveOptions, formulation: str | PackageFormulation = "auto"
) -> pyo.ConcreteModel:
    """Return the model that :func:`solve_package` would solve; errors as there."""
    _refuse_unsupported(options)
    used = package_formulation_of(options.model, formulation) if isinstance(formulation, str) else formulation
    return used.build(package_problem(instance, options))


def _refuse_unsupported(options: SolveOptions) -> None:
    if options.model not in OBJECTIVES:
        raise CoallocError(f"a package model is one of {', '.join(OBJECTIVES)}, got {options.model!r}")
    if options.objective != OBJECTIVES[options.model]:
        raise CoallocError(
            f"objective of model {options.model!r} must be {OBJECTIVES[options.model]!r}, got {options.objective!r}"
        )
    if options.slot is not None:
        raise CoallocError(f"model {options.model!r} has no slots: its jobs start together; leave slot out")
    if options.links not in ("strict", "shared"):
        raise CoallocError(f"links of model {options.model!r} must be 'strict' or 'shared', got {options.links!r}")
    if options.saturation and (options.model != "pas" or options.links != "strict"):
        raise CoallocError("a saturation tolerance needs model='pas' and links='strict'")
    if options.scope != "platform" or options.makespan_limit is not None:
        raise CoallocError(f"scope and makespan_limit are for model 'oas', not for {options.model!r}")


def package_problem(instance: Instance, options: SolveOptions) -> Problem:
    """Return the problem that a package model sees: continuous time; CBS and JPR ignore the links' capacities."""
    links = options.links if options.model == "pas" else "ignore"
    return discretise(instance, None, links=links, saturation=options.saturation)


def _solved(call: _Call) -> _Outcome:
    search, problem = call.search, call.problem
    if not problem.jobs:
        search.offer(Schedule((), None, search.instance.name), 0.0, "no jobs")
        search.raise_bound(0.0, "no jobs")
        return _Outcome(SolveStatus.OPTIMAL)
    search.message = "; ".join(why_infeasible(problem))
    if search.message:
        return _Outcome(SolveStatus.INFEASIBLE)
    try:
        return _run(call)
    except KeyboardInterrupt:
        search.stopped_by = "interrupt"
        return _Outcome(SolveStatus.UNKNOWN)


def _run(call: _Call) -> _Outcome:
    """Build and solve the model, then take what its schedule is worth."""
    search = call.search
    with search.timed("build"):
        model = call.formulation.build(call.problem)
    with search.timed("solve"):
        solutions = _solve_stages(call, model)
    first, last = solutions[0], solutions[-1]
    search.size, search.stopped_by = first.size, last.stopped_by
    if first.status is SolveStatus.INFEASIBLE:
        search.message = _why_not_together(call.problem)
        return _Outcome(SolveStatus.INFEASIBLE)
    search.raise_bound(first.lower_bound, search.options.solver)
    if first.objective is None:
        search.message = "no schedule was found before the limit"
        return _Outcome(SolveStatus.UNKNOWN)
    outcome = _taken(call, call.formulation.extract(model))
    gap = relative_gap(search.objective, search.lower_bound)
    if last.status is SolveStatus.OPTIMAL and gap is not None and gap <= PROOF_TOLERANCE:
        return outcome
    if last.status is SolveStatus.OPTIMAL:
        search.stopped_by = "gap"
    return replace(outcome, status=SolveStatus.FEASIBLE)


def _why_not_together(problem: Problem) -> str:
    """Return what jobs that fit one by one lack together."""
    lacking = {"links": "every link within its bandwidth"} if problem.links == "strict" else {}
    lacking |= {"memory": "every node within its memory"} if problem.is_restricted else {}
    return (
        f"the package fits by count, but not by {' and '.join(lacking)}: no assignment that starts all "
        f"{len(problem.jobs)} jobs at {problem.package.start:g} s keeps {' and '.join(lacking.values())}"
    )


def why_infeasible(problem: Problem) -> list[str]:
    """Return why the package cannot start: too few free processors, or each job that no allocation can hold."""
    package = problem.package
    tasks, free = sum(job.tasks for job in problem.jobs), sum(package.processors)
    if tasks > free:
        return [f"the package needs {tasks} processors, {free} are free at {package.start:g} s"]
    found = (_lack_of_memory(problem, j) or _mildest_overload(problem, j) for j in range(len(problem.jobs)))
    return [sentence for sentence in found if sentence]


def _lack_of_memory(problem: Problem, j: int) -> str:
    """Return why job ``j`` finds too little memory beside what runs, nothing where there is enough."""
    job, package = problem.jobs[j], problem.package
    room = sum(room_for(problem, job, package.processors, package.limits))
    if not job.memory or room >= job.tasks:
        return ""
    return (
        f"job {quoted(job.id)} cannot start at {package.start:g} s: it asks for {job.memory:g} MB of memory per task, "
        f"and the free nodes have that for {room:g} of its {job.tasks} tasks"
    )


def _mildest_overload(problem: Problem, j: int) -> str:
    """Return which link job ``j`` overloads even at best, nothing where it fits (or cannot be judged quickly)."""
    job, limits, num_links = problem.jobs[j], package_limits(problem, j), problem.num_links
    mildest = (math.inf, 0, 0.0)
    for tried, allocation in enumerate(problem.allocations(job)):
        if tried == MAX_MODES:
            return ""
        if not fits_processors(problem, allocation):
            continue
        loads = problem.loads(job, allocation)
        if any(loads[k] > limits[k] for k in range(num_links, len(limits))):
            continue
        worst = max((loads[k] - limits[k], k, loads[k]) for k in range(num_links))
        if worst[0] <= 0.0:
            return ""
        mildest = min(mildest, worst)
    _, k, load = mildest
    link = problem.instance.platform.links[k]
    return (
        f"job {quoted(job.id)} cannot start at {problem.package.start:g} s: at best it puts {load:g} MB/s "
        f"on the link of {quoted(link.name)}, where {limits[k]:g} MB/s are free"
    )


# --- levels ---------------------------------------------------------------------------------------


def _solve_stages(call: _Call, model: pyo.ConcreteModel) -> list[ModelSolution]:
    """Minimise the objectives of a model in order; stop after one that is not proven.

    Objectives and bounds of the solutions are in the model's own units, their status ``optimal`` where proven.
    """
    solutions: list[ModelSolution] = []
    for stage in _stages(model):
        with _scaled(model, stage) as factor:
            options = call.search.options
            solution = call.run_model(
                model,
                SolverLimits(call.search.remaining, options.work_limit, options.gap, options.threads, options.seed),
                integral=stage.is_integral,
                start=bool(solutions),
                progress=None if solutions else _reporter(call.search, factor),
            )
        solutions.append(_in_own_units(solution, factor))
        if solutions[-1].status is not SolveStatus.OPTIMAL or solution.objective is None:
            break
        _keep_level(model, stage, factor, solution.objective)
    return solutions


def _stages(model: pyo.ConcreteModel) -> list[Stage]:
    """Return the objectives of a model; one of the user's own has a single active objective."""
    if hasattr(model, "stages"):
        return list(model.stages)
    active = list(model.component_data_objects(pyo.Objective, active=True))
    if len(active) != 1 or active[0].sense != pyo.minimize:
        raise CoallocError(
            f"a model needs one active objective, to be minimised, or model.stages; this has {len(active)} objectives"
        )
    return [Stage(active[0].name, active[0])]


@contextmanager
def _scaled(model: pyo.ConcreteModel, stage: Stage) -> Iterator[float]:
    """Make a stage the active objective, scaled, and yield the factor."""
    for objective in model.component_data_objects(pyo.Objective, active=True):
        objective.deactivate()
    factor = 1.0 if stage.is_integral else _factor(stage.objective.expr)
    name = unique_component_name(model, "scaled_objective")
    model.add_component(name, pyo.Objective(expr=factor * stage.objective.expr))
    try:
        yield factor
    finally:
        model.del_component(name)
        stage.objective.activate()


def _factor(expression: Any) -> float:
    """Return what scales the largest term of a linear expression to ``LARGEST_COST``."""
    terms = generate_standard_repn(expression)
    largest = max(abs(term) for term in (terms.constant, *terms.linear_coefs))
    return LARGEST_COST / largest if largest > 0.0 else 1.0


def _in_own_units(solution: ModelSolution, factor: float) -> ModelSolution:
    """Return a solution unscaled, its status judged by its bound; a solver that stopped short by a gap is said to."""
    if solution.objective is None:
        return replace(solution, lower_bound=solution.lower_bound / factor)
    is_proven = solution.objective - solution.lower_bound <= PROOF_TOLERANCE * max(1.0, abs(solution.objective))
    unproven = "gap" if solution.status is SolveStatus.OPTIMAL else solution.stopped_by
    return replace(
        solution,
        status=SolveStatus.OPTIMAL if is_proven else SolveStatus.FEASIBLE,
        stopped_by="proof" if is_proven else unproven,
        objective=solution.objective / factor,
        lower_bound=solution.lower_bound / factor,
    )


def _keep_level(model: pyo.ConcreteModel, stage: Stage, factor: float, value: float) -> None:
    """Forbid solutions that are worse by this objective than ``value`` (scaled)."""
    if is_potentially_variable(stage.objective.expr):
        limit = value + LEVEL_TOLERANCE * max(1.0, abs(value))
        name = unique_component_name(model, f"level_{stage.name}")
        model.add_component(name, pyo.Constraint(expr=factor * stage.objective.expr <= limit))


def _reporter(search: Search, factor: float) -> Progress:
    """Return what puts a solver's news about the first level into the trace."""

    def report(point: TracePoint) -> None:
        incumbent, bound = (None if value is None else value / factor for value in (point.incumbent, point.lower_bound))
        search.record(point.source, incumbent, bound)

    return report


# --- what a schedule is worth ---------------------------------------------------------------------


def _taken(call: _Call, static: Schedule) -> _Outcome:
    """Take the schedule of a model: its levels recomputed, and its ends simulated where links may saturate."""
    search, problem = call.search, call.problem
    modes = _modes(problem, static)
    levels = LEVELS[search.options.model](problem, modes)
    objective = next(iter(levels.values()))
    simulated = None
    schedule = static
    if problem.links != "strict":
        schedule = _with_simulated_ends(problem, static, modes)
        simulated = math.fsum(placement.end - placement.start for placement in schedule)
        search.message = _saturated_links(problem, modes)
    search.offer(schedule, objective, search.options.solver)
    return _Outcome(SolveStatus.OPTIMAL, levels if len(levels) > 1 else {}, simulated)


def _modes(problem: Problem, schedule: Schedule) -> list[Mode]:
    """Return the mode of each job, in the order of the jobs."""
    index = problem.instance.platform.processor_index
    return [
        problem.mode(job, allocation_of((index[n] for n in schedule[job.id].nodes), problem.classes))
        for job in problem.jobs
    ]


def _loads(problem: Problem, modes: Sequence[Mode]) -> list[float]:
    """Return the load of each link when the package starts, MB/s, with what runs already."""
    busy = problem.package.busy_loads
    return [math.fsum([busy[k], *(c.loads[k] for c in modes)]) for k in range(problem.num_links)]


def total_execution_time(problem: Problem, modes: Sequence[Mode]) -> float:
    """Return the sum of the execution times, s; with shared links as if all jobs overlapped throughout."""
    times = [mode.execution_time for mode in modes]
    if problem.links == "shared":
        loads = _loads(problem, modes)
        bandwidths = [link.bandwidth for link in problem.instance.platform.links]
        for job, mode in zip(problem.jobs, modes, strict=True):
            if job.processing_share < 1.0:
                slowdown = communication_slowdown(mode.loads[: problem.num_links], loads, bandwidths)
                times.append(job.base_time * (1.0 - job.processing_share) * (slowdown - 1.0))
    return math.fsum(times)


def _pas_levels(problem: Problem, modes: Sequence[Mode]) -> Levels:
    return {"total-execution-time": total_execution_time(problem, modes)}


def _cbs_levels(problem: Problem, modes: Sequence[Mode]) -> Levels:
    pairs = list(zip(problem.jobs, modes, strict=True))
    shortfall = sum(chunk_shortfall(problem, job, mode) for job, mode in pairs)
    load = math.fsum(total_link_load(problem, mode) for mode in modes)
    return {"chunk-shortfall": float(shortfall), "link-load": load}


def _jpr_levels(problem: Problem, modes: Sequence[Mode]) -> Levels:
    power = math.fsum(effective_power(problem, mode) for mode in modes)
    return {"total-execution-time": total_execution_time(problem, modes), "effective-power": power}


OBJECTIVES: Mapping[str, str] = {
    "pas": "total-execution-time",
    "cbs": "chunks",
    "jpr": "total-execution-time",
}
"""Name of the objective, which is the first level, of each package model."""

LEVELS: Mapping[str, Callable[[Problem, Sequence[Mode]], Levels]] = {
    "pas": _pas_levels,
    "cbs": _cbs_levels,
    "jpr": _jpr_levels,
}


def _with_simulated_ends(problem: Problem, schedule: Schedule, modes: Sequence[Mode]) -> Schedule:
    """Return the schedule with the ends that links cause which the jobs share; starts and nodes are kept."""
    start = problem.package.start
    loads: dict[str, Load] = {}
    for run in problem.package.running:
        busy = next(b for b in problem.busy if b.job == run.job.id)
        loads[run.job.id] = Load(run.job, start, busy.loads[: problem.num_links], 1.0, run.end)
    for job, mode in zip(problem.jobs, modes, strict=True):
        pairs = zip(problem.classes, mode.allocation, strict=True)
        processing = processing_slowdown(c.effective_power for c, count in pairs if count)
        loads[job.id] = Load(job, start, mode.loads[: problem.num_links], processing)
    ends = shared_link_ends(loads, [link.bandwidth for link in problem.instance.platform.links])
    return schedule.replace(placements=tuple(p.replace(end=ends[p.job]) for p in schedule))


def _saturated_links(problem: Problem, modes: Sequence[Mode]) -> str:
    """Return which links saturate when the package starts, and by how much."""
    loaded = [any(c.loads[k] for c in modes) for k in range(problem.num_links)]
    links = problem.instance.platform.links
    saturated = [
        f"{quoted(link.name)} ({load:g} of {link.bandwidth:g} MB/s)"
        for link, load, is_loaded in zip(links, _loads(problem, modes), loaded, strict=True)
        if is_loaded and load > capacity_limit(link.bandwidth)
    ]
    return f"links saturate at {problem.package.start:g} s: {', '.join(saturated)}" if saturated else ""
