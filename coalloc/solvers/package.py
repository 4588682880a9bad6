"""PAS, CBS and JPR: place all jobs of a package at once, at the instant at which the last of them arrives.

``formulation="auto"`` places the package without a MIP, mostly with a proof
(:mod:`coalloc.solvers.package_placing`); only what is left goes to a model, which starts from it. A formulation that
is asked for by name is run to its own proof. What is reported is recomputed from the schedule. Source: thesis
3.1.2, 3.1.3.1; errata 11.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from coalloc.instance import CoallocError, Instance
from coalloc.instance.features import refuse_unsupported
from coalloc.models.registry import PackageFormulation, StartsFromPackage, module_name, package_formulation_of
from coalloc.problem import MAX_MODES, Mode, Problem, discretise
from coalloc.rules.packages import package_schedule
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.call import Call
from coalloc.solvers.cancelling import noticed
from coalloc.solvers.feasibility import why_not_together, why_package_infeasible
from coalloc.solvers.package_placing import Placed, place_package
from coalloc.solvers.package_worth import (
    LEVELS,
    OBJECTIVES,
    Levels,
    modes_of,
    price_of,
    saturated_links,
    with_simulated_ends,
)
from coalloc.solvers.result import (
    PROOF_TOLERANCE,
    Progress,
    RunModel,
    SolveOptions,
    SolveResult,
    SolveStatus,
    relative_gap,
)
from coalloc.solvers.search.packages import Work, is_cheaper

if TYPE_CHECKING:
    import pyomo.environ as pyo

SUPPORTED = frozenset({"eligible", "requires"})
"""The features that packages support."""
MAX_PLACES = 200_000
"""Jobs times processors up to which the node formulation is built."""
BUILT_PER_SECOND = 10_000
"""Variables of a model that are built and handed over in a second, on a slow machine."""
SEARCH_WORK = 20_000
"""Allocations that are tried before a package is left to a model."""


@dataclass(slots=True)
class _PackageContext:
    """One call of :func:`solve_package`: what to solve, how, and the best package known."""

    call: Call
    problem: Problem
    run_model: RunModel
    static: Schedule | None = None
    levels: Levels = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """The relative gap of the first objective, None where something is unknown."""
        return relative_gap(next(iter(self.levels.values()), None), self.call.lower_bound)

    def take(self, static: Schedule, source: str) -> None:
        """Take a schedule (with SC = 1) where it is better than the best known."""
        levels = LEVELS[self.call.options.model](self.problem, modes_of(self.problem, static))
        if self.static is None or is_cheaper(price_of(levels), price_of(self.levels)):
            self.static, self.levels = static, levels
            self.call.record(source, incumbent=next(iter(levels.values())))


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
    _refuse_options(options)
    if isinstance(formulation, str):
        module_name(options.model, formulation)  # raises where there is none
    call = Call(instance, options, progress, "tasks" if options.model == "cbs" else "s")
    context = _PackageContext(call, package_problem(instance, options), run_model)
    status = _status(context, formulation)
    simulated = _offer_best(context)
    result = call.result(
        status,
        formulation=formulation if isinstance(formulation, str) else type(formulation).__name__,
        links="strict" if context.problem.links == "strict" else "shared",
        levels=context.levels if len(context.levels) > 1 else {},
        simulated_objective=simulated,
    )
    is_proven = status in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE)
    return result if is_proven else replace(result, stopped_by=call.stopped_by)


def build_package(
    instance: Instance, options: SolveOptions, formulation: str | PackageFormulation = "auto"
) -> pyo.ConcreteModel:
    """Return the model that :func:`solve_package` would solve; errors as there."""
    _refuse_options(options)
    used = package_formulation_of(options.model, formulation) if isinstance(formulation, str) else formulation
    problem = package_problem(instance, options)
    _refuse_large(problem, formulation)
    return used.build(problem)


def _refuse_large(problem: Problem, formulation: str | PackageFormulation) -> None:
    """Raise where the node model would be too large to build; that of modes refuses what has too many itself."""
    places = _num_places(problem)
    if formulation == "node" and places > MAX_PLACES:
        raise CoallocError(
            f"the model would have {places:,} pairs of job and processor, above the limit of {MAX_PLACES:,}; use fewer "
            "jobs, fewer nodes or formulation='mode'"
        )


def _num_places(problem: Problem) -> int:
    """Return on how many pairs of a job and a free processor the node model decides."""
    return len(problem.jobs) * sum(problem.package.processors)


def _refuse_options(options: SolveOptions) -> None:
    if options.model not in OBJECTIVES:
        raise CoallocError(f"a package model must be one of {', '.join(OBJECTIVES)}, got {options.model!r}")
    if options.objective != OBJECTIVES[options.model]:
        raise CoallocError(
            f"objective of model {options.model!r} must be {OBJECTIVES[options.model]!r}, got {options.objective!r}"
        )
    if options.slot is not None:
        raise CoallocError(f"model {options.model!r} does not support slot: all its jobs start together")
    if options.links not in ("strict", "shared"):
        raise CoallocError(f"links of model {options.model!r} must be 'strict' or 'shared', got {options.links!r}")
    if options.saturation and (options.model != "pas" or options.links != "strict"):
        raise CoallocError("saturation requires model='pas' and links='strict'")
    if options.scope != "platform" or options.makespan_limit is not None:
        raise CoallocError(f"scope and makespan_limit require model 'oas', got {options.model!r}")


def package_problem(instance: Instance, options: SolveOptions) -> Problem:
    """Return the problem that a package model sees: continuous time; CBS and JPR ignore the links' capacities."""
    refuse_unsupported(instance, f"model {options.model!r} (all jobs start together)", SUPPORTED)
    links = options.links if options.model == "pas" else "ignore"
    return discretise(instance, None, links=links, saturation=options.saturation)


def _status(context: _PackageContext, formulation: str | PackageFormulation) -> SolveStatus:
    """Solve the package, and return what is known of it."""
    call, problem = context.call, context.problem
    if not problem.jobs:
        context.take(Schedule((), None, call.instance.name), "no jobs")
        call.raise_bound(0.0, "no jobs")
        return SolveStatus.OPTIMAL
    call.message = "; ".join(why_package_infeasible(problem))
    if call.message:
        return SolveStatus.INFEASIBLE
    try:
        status = _solved(context, formulation)
    except KeyboardInterrupt:
        noticed()
        call.stopped_by = "interrupt"
        status = None
    if status is None:
        status = SolveStatus.UNKNOWN if context.static is None else SolveStatus.FEASIBLE
    if status is SolveStatus.UNKNOWN:
        call.message = "no schedule was found within the limits"
    if status is SolveStatus.INFEASIBLE:
        call.message = why_not_together(problem)
    return status


def _solved(context: _PackageContext, formulation: str | PackageFormulation) -> SolveStatus | None:
    """Solve as the formulation says; return the status where it is proven."""
    model = context.call.options.model
    if formulation != "auto":
        used = package_formulation_of(model, formulation) if isinstance(formulation, str) else formulation
        _refuse_large(context.problem, formulation)
        return _by_model(context, used)
    placed = _placed(context)
    if placed.is_proven:
        return SolveStatus.INFEASIBLE if placed.modes is None else SolveStatus.OPTIMAL
    if len(context.levels) == 1 and context.gap is not None and context.gap <= context.call.options.gap:
        context.call.stopped_by = "gap"
        return None
    name = _model_for_the_rest(context)
    return _by_model(context, package_formulation_of(model, name), placed.modes) if name else None


def _model_for_the_rest(context: _PackageContext) -> str:
    """Return the formulation for what the search left open; none where all are too large, or there is no time."""
    call, problem = context.call, context.problem
    modes = problem.num_allocations
    places = _num_places(problem)
    if modes <= MAX_MODES:
        name, variables = "mode", modes
    elif call.options.model == "pas" and places <= MAX_PLACES:
        name, variables = "node", places
    else:
        call.stopped_by = "work"
        return ""
    if variables / BUILT_PER_SECOND > call.remaining:
        call.stopped_by = "time"
        return ""
    return name


def _placed(context: _PackageContext) -> Placed:
    """Place the package without a model."""
    call, problem = context.call, context.problem

    def take(modes: Sequence[Mode]) -> None:
        context.take(package_schedule(problem, dict(enumerate(modes))), "package search")

    with call.timed("solve"):
        work = Work(SEARCH_WORK, time.perf_counter() + call.remaining)
        placed = place_package(problem, call.options.model, work, take)
    if placed.modes is not None:
        take(placed.modes)
    if placed.modes is not None or not placed.is_proven:
        call.raise_bound(placed.lower_bound, "package search")
    return placed


def _by_model(
    context: _PackageContext, formulation: PackageFormulation, start: Sequence[Mode] | None = None
) -> SolveStatus | None:
    """Build and solve a model, from a package where one is known; return the status where it is proven."""
    from coalloc.solvers.package_stages import solve_stages  # loads Pyomo

    call, has_start = context.call, False
    with call.timed("build"):
        model = formulation.build(context.problem)
        if start is not None and isinstance(formulation, StartsFromPackage):
            formulation.set_start(model, start)
            has_start = True
    with call.timed("solve"):
        solutions = solve_stages(call, context.run_model, model, has_start=has_start)
    first, last = solutions[0], solutions[-1]
    call.size, call.stopped_by = first.size, last.stopped_by
    if first.status is SolveStatus.INFEASIBLE:
        return SolveStatus.INFEASIBLE
    call.raise_bound(first.lower_bound, call.options.solver)
    if first.objective is not None:
        context.take(formulation.extract(model), call.options.solver)
    is_closed = context.gap is not None and context.gap <= PROOF_TOLERANCE
    if is_closed and (last.status is SolveStatus.OPTIMAL or len(context.levels) == 1):
        return SolveStatus.OPTIMAL
    if last.status is SolveStatus.OPTIMAL:
        call.stopped_by = "gap"
    return None


def _offer_best(context: _PackageContext) -> float | None:
    """Give the result the best package; return the objective, s, with the ends that shared links cause."""
    call, problem = context.call, context.problem
    if context.static is None:
        return None
    objective, source = next(iter(context.levels.values())), call.trace[-1].source
    if problem.links == "strict":
        call.offer(context.static, objective, source)
        return None
    modes = modes_of(problem, context.static)
    schedule = with_simulated_ends(problem, context.static, modes)
    call.message = saturated_links(problem, modes)
    call.offer(schedule, objective, source)
    return math.fsum(placement.end - placement.start for placement in schedule)
