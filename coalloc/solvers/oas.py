"""OAS: order and allocate jobs so that the last one ends first, or that they respond soonest.

A formulation that is asked for by name is run to its own proof; ``auto`` is the portfolio
(:mod:`coalloc.solvers.portfolio`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from coalloc.checker import check
from coalloc.instance import CoallocError, Instance
from coalloc.models import Formulation, formulation_of
from coalloc.models.registry import OBJECTIVES
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.serial_generation import best_list_schedule, start_in_order
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.call import Search
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.model_run import ModelRun, RunModel
from coalloc.solvers.objectives import ENERGY_OBJECTIVES, in_seconds, objective_of, quick_bound, ticks_of
from coalloc.solvers.portfolio import Portfolio, assignments_of, on_grid
from coalloc.solvers.result import Progress, SolveOptions, SolveResult, SolveStatus

if TYPE_CHECKING:
    import pyomo.environ as pyo


def solve_oas(
    instance: Instance,
    options: SolveOptions,
    *,
    formulation: Any = "auto",
    start: Schedule | None = None,
    progress: Progress | None = None,
    run_model: RunModel = solve_model,
) -> SolveResult:
    """Solve OAS; see :func:`coalloc.solve`. ``formulation`` is a name or an object of the user's own."""
    if asks_for_energy_models(options):
        from coalloc.solvers.energy import solve_energy

        return solve_energy(
            instance, options, formulation=formulation, start=start, progress=progress, run_model=run_model
        )
    _refuse_unsupported(options, formulation)
    search = Search(instance, options, progress)
    problem = discretise(instance, options.slot, saturation=options.saturation)
    name = formulation if isinstance(formulation, str) else type(formulation).__name__
    reasons = why_infeasible(problem)
    if reasons:
        search.message = "; ".join(reasons)
        return search.result(SolveStatus.INFEASIBLE, formulation=name)
    runner = ModelRun(search, run_model)
    try:
        if not instance.jobs:
            search.offer(Schedule((), options.slot, instance.name), 0.0, "no jobs")
            search.raise_bound(0.0, "no jobs")
        elif formulation == "auto":
            quick = quick_bound(problem, options.objective)
            Portfolio(search, problem, runner).solve(_first(search, problem, start, quick), quick)
        else:
            chosen = formulation_of("oas", formulation) if isinstance(formulation, str) else formulation
            _solve_by_formulation(runner, problem, chosen, _first(search, problem, start))
    except KeyboardInterrupt:
        search.stopped_by = "interrupt"
    return search.result(formulation=name)


def build_oas(instance: Instance, options: SolveOptions, formulation: str = "auto") -> pyo.ConcreteModel:
    """Return the model of an instance in slots, with the horizon and the bound that ``solve_oas`` gives it."""
    if asks_for_energy_models(options):
        from coalloc.solvers.energy import build_energy

        return build_energy(instance, options, formulation)
    if options.slot is None:
        raise CoallocError('a model needs a slot, such as slot="50%"')
    _refuse_unsupported(options, formulation)
    problem = discretise(instance, options.slot, saturation=options.saturation)
    reasons = why_infeasible(problem)
    if reasons:
        raise CoallocError("; ".join(reasons))
    runner = ModelRun(Search(instance, options), solve_model)
    return runner.build(problem, formulation_of("oas", formulation), best_list_schedule(problem))


def asks_for_energy_models(options: SolveOptions) -> bool:
    """Return whether the models of :mod:`coalloc.solvers.energy` are the ones for it."""
    is_scoped = options.scope != "platform" or options.makespan_limit is not None
    return options.objective in ENERGY_OBJECTIVES or (options.objective == "makespan" and is_scoped)


def _refuse_unsupported(options: SolveOptions, formulation: Any) -> None:
    if options.scope != "platform" or options.makespan_limit is not None:
        raise CoallocError(f"scope and makespan_limit are not for objective {options.objective!r}: it is not bounded")
    if options.objective not in OBJECTIVES:
        known = ", ".join((*OBJECTIVES, *ENERGY_OBJECTIVES))
        raise CoallocError(f"objective of model 'oas' must be one of {known}, got {options.objective!r}")
    if options.links != "strict":
        raise CoallocError(f"links of model 'oas' must be 'strict', got {options.links!r}")
    if isinstance(formulation, str) and formulation != "auto":
        formulation_of("oas", formulation)
    if options.slot is None and formulation != "auto":
        raise CoallocError('a formulation needs a slot, such as slot="50%"; slot=None takes formulation="auto"')


def _first(search: Search, problem: Problem, start: Schedule | None, quick: float = -math.inf) -> list[Assignment]:
    """Offer a list schedule, the best unless an earlier one meets the quick bound (ticks), and the user's start.

    Return the better of the two.
    """
    objective = search.options.objective
    target = quick if objective == "makespan" else -math.inf
    candidates = [(best_list_schedule(problem, target), "list schedule")]
    if start is not None:
        broken = check(search.instance, start, saturation=search.options.saturation)
        if broken:
            raise CoallocError(f"start is not a valid schedule of the instance: {broken[0].sentence}")
        candidates.append((start_in_order(problem, on_grid(problem, assignments_of(problem, start))), "start"))
    for assignments, source in candidates:
        schedule = schedule_of(problem, assignments)
        search.offer(schedule, objective_of(search.instance, schedule, objective), source)
    return min((assignments for assignments, _ in candidates), key=lambda a: ticks_of(a, objective))


def _solve_by_formulation(
    runner: ModelRun, problem: Problem, formulation: Formulation, first: list[Assignment]
) -> None:
    """Run one formulation from a known schedule, to its own proof, whatever cheaper bounds know."""
    search = runner.search
    quick = in_seconds(problem, quick_bound(problem, search.options.objective), search.options.objective)
    search.raise_bound(quick, "longest job and packing")
    schedule, bound = runner.run(problem, formulation, first, time_limit=search.remaining)
    if schedule is not None:
        search.offer(schedule, objective_of(search.instance, schedule, search.options.objective), "model")
    if bound is not None:
        search.raise_bound(in_seconds(problem, bound, search.options.objective), "model")
