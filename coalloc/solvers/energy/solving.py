"""OAS for energy and for EDP: proved by the energy models.

Slotted problems go to the mode model; continuous time, with jobs within nodes, to the model of
blocks. Energy counts idle watts until the makespan, as the meter does with ``idle="always"``. EDP is certified by
a scan over makespans (:mod:`coalloc.solvers.energy.scan`). Derivations: docs/mathematics/energy.md.
"""

from __future__ import annotations

import math
from typing import Any

import pyomo.environ as pyo

from coalloc.instance import CoallocError, Instance
from coalloc.instance.features import refuse_unsupported
from coalloc.instance.time_base import TimeBase
from coalloc.models import energy_blocks
from coalloc.models.energy_costs import costs_of
from coalloc.objectives import OBJECTIVES
from coalloc.problem import Problem, discretise_for_energy
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.cancelling import noticed
from coalloc.solvers.energy.bounds import SUPPORTED, WHY_UNSUPPORTED, relaxed_energy
from coalloc.solvers.energy.run import ITERATIONS, SEARCH_SHARE, EnergyRun, Point, build, has_model, horizon_within
from coalloc.solvers.energy.scan import least_edp
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.portfolio import TIME_LEFT
from coalloc.solvers.result import Progress, RunModel, SolveOptions, SolveResult, SolveStatus
from coalloc.solvers.solve_state import SolveState, fail_on
from coalloc.solvers.time_shift import shifted


def solve_energy(
    instance: Instance,
    options: SolveOptions,
    *,
    formulation: Any = "auto",
    start: Schedule | None = None,
    progress: Progress | None = None,
    run_model: RunModel = solve_model,
) -> SolveResult:
    """Solve for energy or EDP within ``options.scope``; see :func:`coalloc.solve`."""
    objective = OBJECTIVES[options.objective]
    given = shifted(instance, options.slot, objective)
    problem = energy_problem(given.instance, options, formulation, given.base)
    state = SolveState(instance, options, progress, objective.unit)
    name = ("mode" if problem.slot is not None else "blocks") if has_model(problem) else "auto"
    reasons = why_infeasible(problem)
    if reasons:
        state.message = "; ".join(reasons)
        return state.result(SolveStatus.INFEASIBLE, formulation=name)
    runner = EnergyRun(state, problem, run_model)
    try:
        runner.offer_start(start)
        status = _solve(runner)
    except KeyboardInterrupt:
        noticed()
        state.stopped_by, status = "interrupt", None
    return state.result(status, formulation=name)


def shortest_of(
    instance: Instance,
    options: SolveOptions,
    start: Schedule,
    *,
    run_model: RunModel = solve_model,
) -> tuple[Schedule, float]:
    """Return the shortest schedule found that takes no more joules than a start does, and a bound on its makespan, s.

    ``options`` are those of a solve for energy.
    """
    given = shifted(instance, options.slot, OBJECTIVES[options.objective])
    problem = energy_problem(given.instance, options, "auto", given.base)
    state = SolveState(instance, options)
    known = Point.of(instance, start)
    found, bound = EnergyRun(state, problem, run_model, [known]).shortest(known.joules, known.makespan)
    if found is None or found.makespan >= known.makespan:
        return start, bound
    fail_on(state.faults(found.schedule))
    return found.schedule, bound


def build_energy(
    instance: Instance, options: SolveOptions, formulation: str = "auto", *, horizon: float | None = None
) -> pyo.ConcreteModel:
    """Return the model of an instance for energy; without a horizon (ticks) every order of the jobs fits into it.

    Rows may be added to it: so it has as many blocks as there are jobs, which these rows may keep apart, and does not
    say which of equal nodes comes first.
    """
    if options.objective == "edp":
        raise CoallocError(
            "objective 'edp' has no model; it is minimised by a series of models with objective 'energy'"
        )
    problem = energy_problem(instance, options, formulation)
    if not has_model(problem):
        raise CoallocError(
            f'objective {options.objective!r} in continuous time requires scope="node"; '
            f'scope={options.scope!r} requires a time slot, such as slot="10%"'
        )
    reasons = why_infeasible(problem)
    if reasons:
        raise CoallocError("; ".join(reasons))
    ticks = horizon_within(problem, options.makespan_limit) if horizon is None else horizon
    blocks = None if problem.slot is not None else energy_blocks.most_blocks(problem)
    model = build(problem, ticks, options.makespan_limit, blocks)
    model.equals_in_order.deactivate()
    return model


def energy_problem(
    instance: Instance, options: SolveOptions, formulation: Any, base: TimeBase | None = None
) -> Problem:
    """Return the problem that options ask for; raises :class:`CoallocError` where they are not supported."""
    refuse_unsupported(instance, f"objective {options.objective!r}", SUPPORTED, WHY_UNSUPPORTED)
    if options.links != "strict":
        raise CoallocError(f"links of objective {options.objective!r} must be 'strict', got {options.links!r}")
    fitting = "mode" if options.slot is not None else "blocks" if options.scope == "node" else "auto"
    if formulation not in ("auto", fitting):
        where = "with time slots" if options.slot is not None else "in continuous time"
        raise CoallocError(
            f"formulation of objective {options.objective!r} with scope {options.scope!r} must be "
            f"{' or '.join(dict.fromkeys(('auto', fitting)))} {where}, got {formulation!r}"
        )
    problem = discretise_for_energy(
        instance, options.slot, saturation=options.saturation, scope=options.scope, base=base
    )
    costs_of(problem)
    return problem


def _solve(runner: EnergyRun) -> SolveStatus | None:
    """Run what the objective asks for; return the status where it is not that of the gap."""
    state, options = runner.state, runner.state.options
    if not state.instance.jobs:
        state.offer(Schedule((), None, state.instance.name), 0.0, "no jobs")
        state.raise_bound(0.0, "no jobs")
        return None
    joules, makespan = relaxed_energy(runner.problem.instance, options.makespan_limit, state.remaining)
    if math.isinf(joules):
        return _too_tight(state)
    state.raise_bound(joules * makespan**runner.objective.delay, "LP relaxation")
    runner.search(_limited(state, ITERATIONS * len(state.instance.jobs)), SEARCH_SHARE)
    is_empty = not least_edp(runner) if options.objective == "edp" else not _least_energy(runner)
    if not is_empty and not state.is_closed and state.stopped_by != "interrupt":
        if options.work_limit is None:
            runner.search(None)
        state.stopped_by = "work" if options.work_limit is not None and state.remaining > TIME_LEFT else "time"
    return _too_tight(state) if is_empty else None


def _limited(state: SolveState, steps: int) -> int:
    """Return a number of steps, no more than the work limit allows."""
    work = state.options.work_limit
    return steps if work is None else min(work, steps)


def _least_energy(runner: EnergyRun) -> bool:
    """Prove the least energy as far as time allows; return whether there is a schedule within the limit."""
    state = runner.state
    if runner.relax(0.0) is None and state.objective is None:
        return False
    if state.is_closed:
        return True
    found = runner.least(state.options.makespan_limit)
    state.stopped_by = found.stopped_by
    state.raise_bound(found.bound, "model")
    return found.bound < math.inf


def _too_tight(state: SolveState) -> SolveStatus:
    """Say that no schedule ends within the limit."""
    limit = state.options.makespan_limit
    times = "in continuous time" if state.options.slot is None else f"with time slots of {state.options.slot:g} s"
    state.message = f"no schedule {times} ends within makespan_limit={limit:g} s"
    return SolveStatus.INFEASIBLE
