"""PAS, CBS and JPR: place all jobs of a package at once, at the instant at which the last of them arrives.

``formulation="auto"`` places the package without a MIP, mostly with a proof
(:mod:`coalloc.solvers.packages.placing`); only what is left goes to a model, which starts from it. A formulation that
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
from coalloc.rules.package_modes import package_schedule
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.cancelling import noticed
from coalloc.solvers.feasibility import why_not_together, why_package_infeasible
from coalloc.solvers.packages.placing import PlacedPackage, place_package
from coalloc.solvers.packages.search import WorkLeft, is_cheaper
from coalloc.solvers.packages.worth import (
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
from coalloc.solvers.solve_state import SolveState

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
class _PackageIncumbent:
    """One call of :func:`solve_package`: what to solve, how, and the best package known."""

    state: SolveState
    problem: Problem
    run_model: RunModel
    static: Schedule | None = None
    levels: Levels = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """The relative gap of the first objective, None where something is unknown."""
        return relative_gap(next(iter(self.levels.values()), None), self.state.lower_bound)

    def take(self, static: Schedule, source: str) -> None:
        """Take a schedule (with SC = 1) where it is better than the best known."""
        levels = LEVELS[self.state.options.model](self.problem, modes_of(self.problem, static))
        if self.static is None or is_cheaper(price_of(levels), price_of(self.levels)):
            self.static, self.levels = static, levels
            self.state.record(source, incumbent=next(iter(levels.values())))


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
    state = SolveState(instance, options, progress, "tasks" if options.model == "cbs" else "s")
    incumbent = _PackageIncumbent(state, package_problem(instance, options), run_model)
    status = _status(incumbent, formulation)
    simulated = _offer_best(incumbent)
    result = state.result(
        status,
        formulation=formulation if isinstance(formulation, str) else type(formulation).__name__,
        links="strict" if incumbent.problem.links == "strict" else "shared",
        levels=incumbent.levels if len(incumbent.levels) > 1 else {},
        simulated_objective=simulated,
    )
    is_proven = status in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE)
    return result if is_proven else replace(result, stopped_by=state.stopped_by)


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


def _status(incumbent: _PackageIncumbent, formulation: str | PackageFormulation) -> SolveStatus:
    """Solve the package, and return what is known of it."""
    state, problem = incumbent.state, incumbent.problem
    if not problem.jobs:
        incumbent.take(Schedule((), None, state.instance.name), "no jobs")
        state.raise_bound(0.0, "no jobs")
        return SolveStatus.OPTIMAL
    state.message = "; ".join(why_package_infeasible(problem))
    if state.message:
        return SolveStatus.INFEASIBLE
    try:
        status = _solved(incumbent, formulation)
    except KeyboardInterrupt:
        noticed()
        state.stopped_by = "interrupt"
        status = None
    if status is None:
        status = SolveStatus.UNKNOWN if incumbent.static is None else SolveStatus.FEASIBLE
    if status is SolveStatus.UNKNOWN:
        state.message = "no schedule was found within the limits"
    if status is SolveStatus.INFEASIBLE:
        state.message = why_not_together(problem)
    return status


def _solved(incumbent: _PackageIncumbent, formulation: str | PackageFormulation) -> SolveStatus | None:
    """Solve as the formulation says; return the status where it is proved."""
    model = incumbent.state.options.model
    if formulation != "auto":
        used = package_formulation_of(model, formulation) if isinstance(formulation, str) else formulation
        _refuse_large(incumbent.problem, formulation)
        return _by_model(incumbent, used)
    placed = _placed(incumbent)
    if placed.is_proven:
        return SolveStatus.INFEASIBLE if placed.modes is None else SolveStatus.OPTIMAL
    if len(incumbent.levels) == 1 and incumbent.gap is not None and incumbent.gap <= incumbent.state.options.gap:
        incumbent.state.stopped_by = "gap"
        return None
    name = _model_for_the_rest(incumbent)
    return _by_model(incumbent, package_formulation_of(model, name), placed.modes) if name else None


def _model_for_the_rest(incumbent: _PackageIncumbent) -> str:
    """Return the formulation for what the search left open; none where all are too large, or there is no time."""
    state, problem = incumbent.state, incumbent.problem
    modes = problem.allocations.number
    places = _num_places(problem)
    if modes <= MAX_MODES:
        name, variables = "mode", modes
    elif state.options.model == "pas" and places <= MAX_PLACES:
        name, variables = "node", places
    else:
        state.stopped_by = "work"
        return ""
    if variables / BUILT_PER_SECOND > state.remaining:
        state.stopped_by = "time"
        return ""
    return name


def _placed(incumbent: _PackageIncumbent) -> PlacedPackage:
    """Place the package without a model."""
    state, problem = incumbent.state, incumbent.problem

    def take(modes: Sequence[Mode]) -> None:
        incumbent.take(package_schedule(problem, dict(enumerate(modes))), "package search")

    with state.timed("solve"):
        work = WorkLeft(SEARCH_WORK, time.perf_counter() + state.remaining)
        placed = place_package(problem, state.options.model, work, take)
    if placed.modes is not None:
        take(placed.modes)
    if placed.modes is not None or not placed.is_proven:
        state.raise_bound(placed.lower_bound, "package search")
    return placed


def _by_model(
    incumbent: _PackageIncumbent, formulation: PackageFormulation, start: Sequence[Mode] | None = None
) -> SolveStatus | None:
    """Build and solve a model, from a package where one is known; return the status where it is proved."""
    from coalloc.solvers.packages.stages import solve_stages  # loads Pyomo

    state, has_start = incumbent.state, False
    with state.timed("build"):
        model = formulation.build(incumbent.problem)
        if start is not None and isinstance(formulation, StartsFromPackage):
            formulation.set_start(model, start)
            has_start = True
    with state.timed("solve"):
        solutions = solve_stages(state, incumbent.run_model, model, has_start=has_start)
    first, last = solutions[0], solutions[-1]
    state.size, state.stopped_by = first.size, last.stopped_by
    if first.status is SolveStatus.INFEASIBLE:
        return SolveStatus.INFEASIBLE
    state.raise_bound(first.lower_bound, state.options.solver)
    if first.objective is not None:
        incumbent.take(formulation.extract(model), state.options.solver)
    is_closed = incumbent.gap is not None and incumbent.gap <= PROOF_TOLERANCE
    if is_closed and (last.status is SolveStatus.OPTIMAL or len(incumbent.levels) == 1):
        return SolveStatus.OPTIMAL
    if last.status is SolveStatus.OPTIMAL:
        state.stopped_by = "gap"
    return None


def _offer_best(incumbent: _PackageIncumbent) -> float | None:
    """Give the result the best package; return the objective, s, with the ends that shared links cause."""
    state, problem = incumbent.state, incumbent.problem
    if incumbent.static is None:
        return None
    objective, source = next(iter(incumbent.levels.values())), state.trace[-1].source
    if problem.links == "strict":
        state.offer(incumbent.static, objective, source)
        return None
    modes = modes_of(problem, incumbent.static)
    schedule = with_simulated_ends(problem, incumbent.static, modes)
    state.message = saturated_links(problem, modes)
    state.offer(schedule, objective, source)
    return math.fsum(placement.end - placement.start for placement in schedule)
