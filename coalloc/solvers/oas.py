"""OAS: order and allocate jobs so that the last one ends first, or that they respond soonest.

In slots a formulation proves the optimum. In continuous time, as long as no method of its own
exists, the configuration model is solved twice on one grid: rounded up it gives a schedule, whose
starts are then moved left with real ends; rounded down it gives a bound (docs/mathematics.md,
"Slotting error").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from coalloc.allocation import allocation_of
from coalloc.checker import check
from coalloc.instance import CoallocError, Instance
from coalloc.instance.errors import InternalError
from coalloc.models import Formulation, formulation_of
from coalloc.models.registry import EstimatesSize, TakesStart
from coalloc.models.time_grid import OBJECTIVES
from coalloc.problem import MAX_CONFIGURATIONS, Assignment, Problem, discretise
from coalloc.rules.generation import best_list_schedule, fillings, start_in_order
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.bounds import earliest_ends, simple_bound
from coalloc.solvers.highs import Limits, solve_model
from coalloc.solvers.result import (
    ModelSolution,
    Progress,
    SolveOptions,
    SolveResult,
    SolveStatus,
    TracePoint,
)
from coalloc.solvers.search import Search

RunModel = Callable[..., ModelSolution]
"""Runs a Pyomo model: the signature of :func:`coalloc.solvers.highs.solve_model`."""

MAX_NONZEROS = 5_000_000
"""Nonzeros beyond which a model is not built."""
BUILT_PER_SECOND = 250_000
"""Nonzeros that are built and handed over in a second, on a slow machine."""
CONTINUOUS_GRID = 0.25
"""Slot of the grid that serves continuous time, as a share of the mean base time."""
BOUND_SHARE = 0.4
"""Share of the remaining time that the bound gets when time is continuous."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of :func:`solve_oas`: what to solve, how, and what is known."""

    search: Search
    formulation: Formulation
    start: Schedule | None
    run_model: RunModel

    @property
    def options(self) -> SolveOptions:
        return self.search.options

    @property
    def objective(self) -> str:
        return self.search.options.objective

    def problem(self, slot: float | None, rounding: Any = "up") -> Problem:
        return discretise(self.search.instance, slot, rounding, saturation=self.options.saturation)


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
    _refuse_unsupported(options, formulation)
    named = isinstance(formulation, str)
    search = Search(instance, options, progress)
    call = _Call(search, formulation_of("oas", formulation) if named else formulation, start, run_model)
    name = type(formulation).__name__ if not named else "configuration" if formulation == "auto" else formulation
    reasons = why_infeasible(call.problem(None))
    if reasons:
        search.message = "; ".join(reasons)
        return search.result(SolveStatus.INFEASIBLE, formulation=name)
    try:
        if not instance.jobs:
            search.offer(Schedule((), options.slot, instance.name), 0.0, "no jobs")
            search.raise_bound(0.0, "no jobs")
        elif options.slot is None:
            _solve_continuous(call)
        else:
            _solve_slotted(call, call.problem(options.slot))
    except KeyboardInterrupt:
        search.stopped_by = "interrupt"
    return search.result(formulation=name)


def build_oas(instance: Instance, options: SolveOptions, formulation: str = "auto") -> pyo.ConcreteModel:
    """Return the model of an instance in slots, with the horizon and the bound that ``solve_oas`` gives it."""
    if options.slot is None:
        raise CoallocError('a model needs a slot, such as slot="50%"')
    _refuse_unsupported(options, formulation)
    problem = discretise(instance, options.slot, saturation=options.saturation)
    reasons = why_infeasible(problem)
    if reasons:
        raise CoallocError("; ".join(reasons))
    call = _Call(Search(instance, options), formulation_of("oas", formulation), None, solve_model)
    return _build(call, problem, call.formulation, best_list_schedule(problem))


def _refuse_unsupported(options: SolveOptions, formulation: Any) -> None:
    if options.objective not in OBJECTIVES:
        known = ", ".join(OBJECTIVES)
        raise CoallocError(f"objective of model 'oas' must be one of {known}, got {options.objective!r}")
    if options.links != "strict":
        raise CoallocError(f"links of model 'oas' must be 'strict', got {options.links!r}")
    if isinstance(formulation, str):
        formulation_of("oas", formulation)
    if options.slot is None and formulation != "auto":
        raise CoallocError('a formulation needs a slot, such as slot="50%"; slot=None takes formulation="auto"')


def why_infeasible(problem: Problem) -> list[str]:
    """Return a sentence for each job that no allocation can hold without saturating a link."""
    return [_mildest_overload(problem, j) for j in range(len(problem.jobs)) if not _fits_alone(problem, j)]


def _fits_alone(problem: Problem, j: int) -> bool:
    job = problem.jobs[j]
    if any(True for _ in fillings(problem, job, problem.capacities, problem.bandwidths)):
        return True
    if problem.count_allocations(job) > MAX_CONFIGURATIONS:
        raise CoallocError(f"job {job.id!r}: no allocation that the links carry was found among the first tried")
    return any(problem.fits_links(problem.configuration(job, a)) for a in problem.allocations(job))


def _mildest_overload(problem: Problem, j: int) -> str:
    job = problem.jobs[j]

    def worst(loads: Sequence[float]) -> tuple[float, int]:
        shares = (load / max(limit, 1e-12) for load, limit in zip(loads, problem.bandwidths, strict=True))
        return max((share, k) for k, share in enumerate(shares))

    mildest = min((problem.loads(job, allocation) for allocation in problem.allocations(job)), key=worst)
    k = worst(mildest)[1]
    link = problem.instance.platform.links[k]
    return (
        f"job {job.id!r} saturates a link wherever it runs: at best it puts {mildest[k]:g} MB/s "
        f"on the link of {link.name!r}, which carries {link.bandwidth:g} MB/s"
    )


def objective_of(instance: Instance, schedule: Schedule, objective: str) -> float:
    """Return the objective of a schedule, s."""
    if objective == "makespan":
        return max((p.end for p in schedule), default=instance.origin) - instance.origin
    return sum(p.end - instance.job_by_id[p.job].arrival for p in schedule)


def in_seconds(problem: Problem, ticks: float, objective: str) -> float:
    """Return what a model's objective or bound, in ticks, is worth in seconds as reported."""
    if objective == "makespan":
        return max(0.0, problem.seconds(ticks) - problem.instance.origin)
    return problem.seconds(ticks) - sum(job.arrival for job in problem.jobs)


def _solve_slotted(call: _Call, problem: Problem) -> None:
    """Prove the slotted optimum with one formulation, from a list schedule."""
    search = call.search
    first = _first(call, problem)
    if search.is_closed:
        return
    model, solution = _run(call, problem, call.formulation, first, search.remaining)
    if solution is None:
        return
    if solution.objective is not None:
        schedule = call.formulation.extract(model)
        search.offer(schedule, objective_of(search.instance, schedule, call.objective), "HiGHS")
    search.raise_bound(in_seconds(problem, solution.lower_bound, call.objective), "HiGHS")


def _solve_continuous(call: _Call) -> None:
    """Find a schedule on a grid and move it left; bound it on the same grid, rounded down."""
    search = call.search
    continuous = call.problem(None)
    first = _first(call, continuous)
    slot = CONTINUOUS_GRID * search.instance.mean_base_time
    search.message = f"continuous time, by a grid of {slot:g} s"
    formulation = formulation_of("oas", "configuration")
    if search.is_closed:
        return
    up = call.problem(slot)
    rounded = start_in_order(up, _choices(up, first))
    model, solution = _run(call, up, formulation, rounded, (1.0 - BOUND_SHARE) * search.remaining)
    if solution is not None and solution.objective is not None:
        moved = start_in_order(continuous, _choices(continuous, _read(up, formulation.extract(model))))
        _offer(call, continuous, moved, "HiGHS on the grid, moved left")
    if search.is_closed or search.stopped_by == "interrupt":
        return
    down = call.problem(slot, "down")
    _, solution = _run(call, down, formulation, best_list_schedule(down), search.remaining)
    if solution is not None:
        search.raise_bound(in_seconds(down, solution.lower_bound, call.objective), "HiGHS, rounded down")
    if search.stopped_by == "proof":
        search.stopped_by = "work"  # both models are solved: the grid has no more to give


def _first(call: _Call, problem: Problem) -> list[Assignment]:
    """Offer the list schedule and the user's start; return the better, and raise the simple bound."""
    candidates = [(best_list_schedule(problem), "list schedule")]
    if call.start is not None:
        broken = check(call.search.instance, call.start, saturation=call.options.saturation)
        if broken:
            raise CoallocError(f"start is not a valid schedule of the instance: {broken[0].sentence}")
        candidates.append((start_in_order(problem, _choices(problem, _read(problem, call.start))), "start"))
    for assignments, source in candidates:
        _offer(call, problem, assignments, source)
    bound = in_seconds(problem, _simple_bound(problem, call.objective), call.objective)
    call.search.raise_bound(bound, "longest job and packing" if call.objective == "makespan" else "jobs alone")
    return min((assignments for assignments, _ in candidates), key=lambda a: _ticks(a, call.objective))


def _simple_bound(problem: Problem, objective: str) -> float:
    """Return a bound on a model's objective, in ticks, without a model."""
    return simple_bound(problem) if objective == "makespan" else sum(earliest_ends(problem))


def _offer(call: _Call, problem: Problem, assignments: Sequence[Assignment], source: str) -> None:
    schedule = schedule_of(problem, assignments)
    call.search.offer(schedule, objective_of(call.search.instance, schedule, call.objective), source)


def _ticks(assignments: Sequence[Assignment], objective: str) -> float:
    ends = [a.end for a in assignments]
    return max(ends, default=0) if objective == "makespan" else sum(ends)


def _read(problem: Problem, schedule: Schedule) -> list[Assignment]:
    """Return a schedule as assignments in the order of their starts; starts are kept in seconds."""
    processors = problem.instance.platform.processor_index
    number = {job.id: j for j, job in enumerate(problem.jobs)}
    assignments = []
    for placement in sorted(schedule, key=lambda p: p.start):
        j = number[placement.job]
        allocation = allocation_of((processors[name] for name in placement.nodes), problem.classes)
        assignments.append(Assignment(j, placement.start, problem.configuration(problem.jobs[j], allocation)))
    return assignments


def _choices(problem: Problem, assignments: Sequence[Assignment]) -> list[tuple[int, Any]]:
    """Return (job, configuration on this problem's grid) in the order of starts."""
    in_order = sorted(assignments, key=lambda a: a.start)
    return [(a.job, problem.configuration(problem.jobs[a.job], a.configuration.allocation)) for a in in_order]


def safe_horizon(problem: Problem, first: Sequence[Assignment], objective: str) -> int:
    """Return a number of slots within which an optimal schedule ends.

    For the makespan that of any schedule will do. For the sum of responses no job of an optimal
    schedule ends later than the best known sum less the earliest ends of the others.
    """
    if objective == "makespan":
        return int(_ticks(first, objective))
    earliest = earliest_ends(problem)
    return int(max(_ticks(first, objective) - (sum(earliest) - end) for end in earliest))


def _run(
    call: _Call, problem: Problem, formulation: Formulation, first: Sequence[Assignment], time_limit: float
) -> tuple[pyo.ConcreteModel | None, ModelSolution | None]:
    """Build a model, start it from ``first`` and run it; nothing where time is up before."""
    search = call.search
    if isinstance(formulation, EstimatesSize):
        nonzeros = formulation.estimate_nonzeros(problem, safe_horizon(problem, first, call.objective))
        if nonzeros <= MAX_NONZEROS and nonzeros / BUILT_PER_SECOND > time_limit:
            search.stopped_by = "time"
            search.message = f"the model, of about {nonzeros:,} nonzeros, takes longer to build than the time limit"
            return None, None
    with search.timed("build"):
        model = _build(call, problem, formulation, first)
    limits = Limits(
        time=max(0.0, time_limit - search.timings["build"]),
        work=call.options.work_limit,
        gap=call.options.gap * _gap_scale(problem, _simple_bound(problem, call.objective), call.objective),
        threads=call.options.threads,
        seed=call.options.seed,
    )
    with search.timed("solve"):
        solution = call.run_model(
            model,
            limits,
            integral=True,
            start=isinstance(formulation, TakesStart),
            progress=_reporter(call, problem),
        )
    search.size, search.stopped_by = solution.size, solution.stopped_by
    if solution.status is SolveStatus.INFEASIBLE:
        raise InternalError("the model has no solution, though a list schedule is one")
    return model, solution


def _build(call: _Call, problem: Problem, formulation: Formulation, first: Sequence[Assignment]) -> pyo.ConcreteModel:
    """Build a model that ``first`` is a solution of, and set it to it."""
    horizon = safe_horizon(problem, first, call.objective)
    if isinstance(formulation, EstimatesSize):
        _refuse_large(call, formulation.estimate_nonzeros(problem, horizon), horizon)
    bound = int(_simple_bound(problem, call.objective)) if call.objective == "makespan" else 0
    model = formulation.build(problem, horizon=horizon, objective=call.objective, lower_bound=bound)
    if isinstance(formulation, TakesStart):
        formulation.set_start(model, first)
    return model


def _refuse_large(call: _Call, nonzeros: int, horizon: int) -> None:
    if nonzeros <= MAX_NONZEROS:
        return
    slot = call.options.slot
    seconds = f"slot={slot:g} means {slot:g} s; " if slot is not None else ""
    raise CoallocError(
        f"the model would have about {nonzeros:.2g} nonzeros in {horizon:,} slots, more than {MAX_NONZEROS:,}: "
        f'{seconds}take a coarser slot (did you mean slot="50%"?) or fewer jobs'
    )


def _gap_scale(problem: Problem, bound: float, objective: str) -> float:
    """Return by what a relative gap shrinks on a model's objective, which counts from time 0.

    (C - L)/(C - origin) <= gap wherever (C - L)/C <= gap * (L - origin)/L, for C >= L.
    """
    return in_seconds(problem, bound, objective) / problem.seconds(bound) if bound else 0.0


def _reporter(call: _Call, problem: Problem) -> Progress:
    """Return what turns a solver's news, in ticks, into points of the trace.

    The news of a grid is the truth on that grid; in continuous time it is an incumbent where rounded up, a bound
    where rounded down.
    """
    takes_incumbents = problem.rounding == "up"
    takes_bounds = call.options.slot is not None or problem.rounding == "down"

    def report(point: TracePoint) -> None:
        incumbent, bound = (
            None if ticks is None or not takes else in_seconds(problem, ticks, call.objective)
            for ticks, takes in ((point.incumbent, takes_incumbents), (point.lower_bound, takes_bounds))
        )
        call.search.record(point.source, incumbent, bound)

    return report
