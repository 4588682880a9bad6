"""OAS for energy, for EDP, and for the makespan within clusters or nodes: proven by the energy models.

Slotted problems go to the configuration model; continuous time, with jobs within nodes, to the model of
blocks. Energy counts idle watts until the makespan, as the meter does with ``idle="always"``. EDP is certified by
a scan over makespans (:func:`least_edp`). Derivations: docs/mathematics.md, "Energy".
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyomo.environ as pyo

from coalloc.checker import check
from coalloc.instance import CoallocError, Instance
from coalloc.instance.rounding import slots_up, time_tolerance
from coalloc.meter import energy
from coalloc.models import energy_blocks, energy_configuration
from coalloc.models.energy_costs import Costs, costs_of, no_costs
from coalloc.problem import Assignment, Configuration, Problem, discretise_for_energy
from coalloc.rules.generation import (
    FEW_CONFIGURATIONS,
    best_list_schedule,
    book,
    earliest_start,
    named_orders,
    start_in_order,
)
from coalloc.rules.profile import Profile
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.energy_bound import relaxed_energy
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.highs import Limits, solve_model
from coalloc.solvers.model_run import BUILT_PER_SECOND, MAX_NONZEROS, RunModel
from coalloc.solvers.portfolio import assignments_of, on_grid
from coalloc.solvers.result import (
    PROOF_TOLERANCE,
    ModelSolution,
    Progress,
    SolveOptions,
    SolveResult,
    SolveStatus,
    StoppedBy,
    TracePoint,
)
from coalloc.solvers.search import Search

ENERGY_OBJECTIVES = ("energy", "edp")
"""Objectives that need watts."""

ROUNDING_GAP = 0.1 * PROOF_TOLERANCE
"""Relative gap that is left to the rounding errors of a model."""


def solve_energy(
    instance: Instance,
    options: SolveOptions,
    *,
    formulation: Any = "auto",
    start: Schedule | None = None,
    progress: Progress | None = None,
    run_model: RunModel = solve_model,
) -> SolveResult:
    """Solve for energy, EDP or makespan within ``options.scope``; see :func:`coalloc.solve`."""
    problem = energy_problem(instance, options, formulation)
    search = Search(instance, options, progress)
    name = "configuration" if problem.slot is not None else "blocks"
    reasons = _why_impossible(problem)
    if reasons:
        search.message = "; ".join(reasons)
        return search.result(SolveStatus.INFEASIBLE, formulation=name)
    runner = EnergyRun(search, problem, run_model)
    try:
        runner.offer_start(start)
        status = _solve(runner)
    except KeyboardInterrupt:
        search.stopped_by, status = "interrupt", None
    return search.result(status, formulation=name)


def build_energy(instance: Instance, options: SolveOptions, formulation: str = "auto") -> pyo.ConcreteModel:
    """Return the model of an instance for energy (or makespan), as ``solve_energy`` first builds it."""
    if options.objective == "edp":
        raise CoallocError("EDP has no model of its own: it is scanned by models of objective 'energy'")
    problem = energy_problem(instance, options, formulation)
    reasons = _why_impossible(problem)
    if reasons:
        raise CoallocError("; ".join(reasons))
    return EnergyRun(Search(instance, options), problem, solve_model).build(options.objective, options.makespan_limit)


def energy_problem(instance: Instance, options: SolveOptions, formulation: Any) -> Problem:
    """Return the problem that options ask for; raises :class:`CoallocError` where they are not supported."""
    if options.links != "strict":
        raise CoallocError(f"links of objective {options.objective!r} must be 'strict', got {options.links!r}")
    fitting = "configuration" if options.slot is not None else "blocks"
    if formulation not in ("auto", fitting):
        where = "with a slot" if options.slot is not None else "in continuous time"
        raise CoallocError(
            f"formulation of objective {options.objective!r}, scope {options.scope!r}, must be auto or {fitting} "
            f"{where}, got {formulation!r}"
        )
    if options.slot is None and options.scope != "node":
        raise CoallocError(
            f'objective {options.objective!r} in continuous time is for scope="node"; scope={options.scope!r} needs a '
            'slot, such as slot="10%"'
        )
    problem = discretise_for_energy(instance, options.slot, saturation=options.saturation, scope=options.scope)
    if options.objective in ENERGY_OBJECTIVES:
        costs_of(problem)
    return problem


def _why_impossible(problem: Problem) -> list[str]:
    """Return a sentence for each job that fits nowhere within the scope."""
    nowhere = [
        f"job {job.id!r} fits on no {problem.scope}: it has {job.tasks} tasks"
        for job in problem.jobs
        if next(problem.allocations(job), None) is None
    ]
    return nowhere or why_infeasible(problem)


def _solve(runner: EnergyRun) -> SolveStatus | None:
    """Run what the objective asks for; return the status where it is not that of the gap."""
    search, options = runner.search, runner.search.options
    if not search.instance.jobs:
        search.offer(Schedule((), None, search.instance.name), 0.0, "no jobs")
        search.raise_bound(0.0, "no jobs")
        return None
    if options.objective in ENERGY_OBJECTIVES:
        joules, makespan = relaxed_energy(search.instance, options.makespan_limit, search.remaining)
        if math.isinf(joules):
            return _too_tight(search)
        search.raise_bound(joules if options.objective == "energy" else joules * makespan, "linear programme")
    if options.objective == "edp":
        is_empty = not least_edp(runner)
    else:
        found = runner.least(options.objective, options.makespan_limit)
        search.stopped_by = found.stopped_by
        search.raise_bound(found.bound, "model")
        is_empty = found.bound == math.inf
    return _too_tight(search) if is_empty else None


def _too_tight(search: Search) -> SolveStatus:
    """Say that no schedule ends within the limit."""
    limit = search.options.makespan_limit
    times = "in continuous time" if search.options.slot is None else f"in slots of {search.options.slot:g} s"
    search.message = f"no schedule {times} ends within makespan_limit={limit:g} s"
    return SolveStatus.INFEASIBLE


# ------------------------------------------------------------------------------ one model


@dataclass(frozen=True, slots=True)
class Least:
    """The least of an objective within a makespan limit: a schedule (None: none found), its value, and a proven bound.

    ``makespan`` is that of the schedule, s. A bound of infinity says that there is no schedule.
    """

    schedule: Schedule | None
    value: float
    makespan: float
    bound: float
    stopped_by: StoppedBy


class EnergyRun:
    """How to run the energy models within one call; the best by the call's objective goes to ``search``."""

    def __init__(self, search: Search, problem: Problem, run_model: RunModel) -> None:
        self.search = search
        self.problem = problem
        self.run_model = run_model
        needs_watts = search.options.objective in ENERGY_OBJECTIVES
        self.costs = costs_of(problem) if needs_watts else no_costs(problem)
        self.known: list[Schedule] = []
        if problem.jobs:
            self._know(self._schedule(best_list_schedule(problem)), "list schedule")
            self._know_frugal(search.options.makespan_limit)

    def offer_start(self, start: Schedule | None) -> None:
        """Take the user's start; with slots it is moved onto them, in the order of its starts, unless it is on them."""
        if start is None:
            return
        search, options = self.search, self.search.options
        broken = check(search.instance, start, saturation=options.saturation, scope=options.scope)
        if broken:
            raise CoallocError(f"start is not a valid schedule of the instance: {broken[0].sentence}")
        schedule = start if self.problem.slot is None else self._on_slots(start)
        self._know(schedule, "start")
        if not _within(makespan_of(search.instance, schedule), options.makespan_limit):
            moved = "" if self.problem.slot is None else ", moved onto slots,"
            search.message = f"the start{moved} does not end within makespan_limit={options.makespan_limit:g} s"

    def _on_slots(self, start: Schedule) -> Schedule:
        """Return a schedule with the nodes of ``start`` in whole slots: its own starts where they are such, and fit."""
        problem = self.problem
        found = assignments_of(problem, start)
        starts = {p.job: p.start for p in start}
        is_aligned = all(
            abs(problem.seconds(a.start) - starts[problem.jobs[a.job].id]) <= time_tolerance(problem.seconds(a.start))
            for a in found
        )
        if not (is_aligned and fits(problem, found)):
            found = start_in_order(problem, on_grid(problem, found))
        return self._schedule(found)

    def _know_frugal(self, makespan_limit: float | None) -> None:
        """Keep list schedules in which jobs take few joules, as far as they end within a limit."""
        latest = math.inf if makespan_limit is None else self.search.instance.origin + makespan_limit
        for order in named_orders(self.problem):
            self._know(self._schedule(frugal_list_schedule(self.problem, self.costs, order, latest)), "list schedule")

    def value_of(self, schedule: Schedule, objective: str) -> float:
        """Return an objective of a schedule: J, J s or s, by the meter."""
        if objective == "makespan":
            return makespan_of(self.search.instance, schedule)
        metered = energy(self.search.instance, schedule)
        return metered.total if objective == "energy" else metered.edp

    def least(self, objective: str, makespan_limit: float | None, share: float = 1.0) -> Least:
        """Return the least of ``"energy"`` or ``"makespan"`` within a limit (s), in a share of the time left."""
        search = self.search
        if self._too_slow(objective, makespan_limit):
            return self._known_within(objective, makespan_limit, -math.inf, "time")
        if makespan_limit != search.options.makespan_limit:
            self._know_frugal(makespan_limit)
        with search.timed("build"):
            model = self.build(objective, makespan_limit)
        if self.problem.slot is not None and not energy_configuration.has_starts(model):
            return self._known_within(objective, makespan_limit, math.inf, "proof")
        if search.remaining <= 0.0:
            return self._known_within(objective, makespan_limit, -math.inf, "time")
        solution = self._run(model, objective, makespan_limit, share)
        if solution.status is SolveStatus.INFEASIBLE:
            return self._known_within(objective, makespan_limit, math.inf, "proof")
        if solution.objective is not None:
            self._know(self._formulation.extract(model), "model")
        return self._known_within(objective, makespan_limit, solution.lower_bound, solution.stopped_by)

    def _run(
        self, model: pyo.ConcreteModel, objective: str, makespan_limit: float | None, share: float
    ) -> ModelSolution:
        """Run a model, from the best known schedule where it is in slots."""
        search, options = self.search, self.search.options
        gap = max(options.gap if options.objective != "edp" else 0.0, ROUNDING_GAP)
        limits = Limits(share * search.remaining, options.work_limit, gap, options.threads, options.seed)
        first = self._known_within(objective, makespan_limit, -math.inf, "proof").schedule
        starts = self.problem.slot is not None and first is not None
        if starts and first is not None:
            energy_configuration.set_start(model, assignments_of(self.problem, first))
        with search.timed("solve"):
            solution = self.run_model(
                model,
                limits,
                integral=False,
                start=starts,
                progress=self._report if options.objective != "edp" else None,
            )
        search.size = solution.size
        return solution

    def _report(self, point: TracePoint) -> None:
        self.search.record(point.source, point.incumbent, point.lower_bound)

    def build(self, objective: str, makespan_limit: float | None) -> pyo.ConcreteModel:
        """Return the model."""
        horizon: Any = self._horizon(objective, makespan_limit)
        size = self._size(horizon)
        if size > MAX_NONZEROS:
            raise CoallocError(
                f"the model would have about {size:.2g} nonzeros in {horizon:,} slots, more than {MAX_NONZEROS:,}: "
                "take a coarser slot, a makespan_limit, or fewer jobs"
            )
        return self._formulation.build(
            self.problem, horizon=horizon, objective=objective, makespan_limit=makespan_limit
        )

    @property
    def _formulation(self) -> Any:
        return energy_configuration if self.problem.slot is not None else energy_blocks

    def _size(self, horizon: float) -> int:
        if self.problem.slot is None:
            return 0
        return energy_configuration.estimate_nonzeros(self.problem, int(horizon))

    def _too_slow(self, objective: str, makespan_limit: float | None) -> bool:
        """Return whether building alone takes longer than the time that is left, and say so."""
        size = self._size(self._horizon(objective, makespan_limit))
        if size > MAX_NONZEROS or size / BUILT_PER_SECOND <= self.search.remaining:
            return False
        self.search.message = f"the model, of about {size:,} nonzeros, takes longer to build than the time limit"
        return True

    def _horizon(self, objective: str, makespan_limit: float | None) -> float:
        """Return ticks within which an optimal schedule ends: see "Horizon" of docs/mathematics.md."""
        problem, origin = self.problem, self.search.instance.origin
        longest = (max(c.duration for c in configurations) for configurations in problem.configurations)
        horizon = max([*problem.releases, *(busy.end for busy in problem.busy)]) + sum(longest)
        latest = math.inf if makespan_limit is None else origin + makespan_limit
        if objective == "energy" and self.costs.idle > 0.0:
            known = self._known_within(objective, makespan_limit, -math.inf, "proof").value
            latest = min(latest, origin + (known - least_joules(problem, self.costs)) / self.costs.idle)
        if objective == "makespan":
            latest = min(latest, origin + self._known_within(objective, None, -math.inf, "proof").value)
        if math.isinf(latest):
            return horizon
        # starts are whole slots and processors are held for whole slots: real ends are within the last one
        margin = PROOF_TOLERANCE * max(1.0, latest)
        return min(horizon, latest + margin if problem.slot is None else slots_up(latest + margin, problem.slot))

    def _schedule(self, assignments: Sequence[Assignment]) -> Schedule:
        if self.problem.slot is None:
            return schedule_of(self.problem, assignments)
        return energy_configuration.replayed(self.problem, assignments)

    def _know(self, schedule: Schedule, source: str) -> None:
        """Keep a schedule; where the call's own limit allows it, it is an incumbent."""
        self.known.append(schedule)
        options = self.search.options
        if _within(makespan_of(self.search.instance, schedule), options.makespan_limit):
            self.search.offer(schedule, self.value_of(schedule, options.objective), source)

    def _known_within(self, objective: str, makespan_limit: float | None, bound: float, stopped_by: StoppedBy) -> Least:
        """Return the best schedule that is known within a limit, with a bound."""
        best = Least(None, math.inf, math.inf, bound, stopped_by)
        for schedule in self.known:
            makespan = makespan_of(self.search.instance, schedule)
            if _within(makespan, makespan_limit) and self.value_of(schedule, objective) < best.value:
                best = Least(schedule, self.value_of(schedule, objective), makespan, bound, stopped_by)
        return replace(best, bound=min(best.bound, best.value))


def fits(problem: Problem, assignments: Sequence[Assignment]) -> bool:
    """Return whether slotted assignments are a schedule when processors and links are held for whole slots."""
    try:
        schedule = schedule_of(problem, assignments)
    except ValueError:  # a class is overbooked
        return False
    return not check(problem.instance, schedule, saturation=problem.saturation, scope=problem.scope)


def makespan_of(instance: Instance, schedule: Schedule) -> float:
    """Return the makespan of a schedule, s."""
    return max((p.end for p in schedule), default=instance.origin) - instance.origin


def _within(makespan: float, limit: float | None) -> bool:
    return limit is None or makespan <= limit + time_tolerance(limit)


def least_joules(problem: Problem, costs: Costs) -> float:
    """Return what all jobs take at least beyond idle watts, J: each in its cheapest configuration."""
    own = sum(min(_shared_joules(problem, costs, c) for c in found) for found in problem.configurations)
    runs = zip(problem.instance.running, problem.busy, strict=True)
    return own + sum(min(0.0, run.end * costs.watts(busy.allocation)) for run, busy in runs)


def _shared_joules(problem: Problem, costs: Costs, configuration: Configuration) -> float:
    """Return the joules of a configuration on nodes whose other cores are busy as well."""
    pairs = enumerate(configuration.allocation)
    extra = sum(n * costs.extra_watts.get(g, 0.0) / problem.capacities[g] for g, n in pairs if n)
    return costs.joules(configuration) + configuration.execution_time * extra


def frugal_list_schedule(problem: Problem, costs: Costs, order: Sequence[int], latest: float) -> list[Assignment]:
    """Place jobs in this order, each in its cheapest configuration that ends by ``latest`` (s).

    Where none does, in the one that ends first.
    """
    profile = Profile(problem)
    placed = []
    for j in order:
        found = sorted(problem.configurations[j], key=lambda c: _shared_joules(problem, costs, c))
        tried = []
        for c in found[:FEW_CONFIGURATIONS]:
            tried.append(Assignment(j, earliest_start(profile, problem.releases[j], c), c))
            if _real_end(problem, tried[-1]) <= latest + time_tolerance(latest):
                break
        else:
            tried.sort(key=lambda a: _real_end(problem, a), reverse=True)
        book(profile, tried[-1])
        placed.append(tried[-1])
    return placed


def _real_end(problem: Problem, assignment: Assignment) -> float:
    """Return when a job really ends, s."""
    return problem.seconds(assignment.start) + assignment.configuration.execution_time


# ------------------------------------------------------------------------------ EDP


MAKESPAN_SHARE = 0.3
"""Share of the time after which the search for the least makespan stops, before the scan."""
NARROW = 0.02
"""Share of its end below which a span is cut just below that end, no longer at its middle."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Makespans in ``[low, high)`` (s) of which no schedule has an EDP below ``bound``, J s.

    None takes less than ``energy`` J. ``cut`` is where it is to be cut next, None where it is not.
    """

    bound: float
    low: float
    high: float
    energy: float
    cut: float | None


def least_edp(runner: EnergyRun) -> bool:
    """Certify the least EDP by a scan over makespans; what is found goes to the search of the runner.

    All schedules with a makespan in ``[low, high)`` take at least the least energy E within ``high``, so their
    EDP is at least ``low * E``. The span of the smallest bound is cut, until that bound meets the best EDP known.
    Return whether there is a schedule within the limit of the call.
    """
    search, limit = runner.search, runner.search.options.makespan_limit
    shortest = runner.least("makespan", limit, MAKESPAN_SHARE)
    if math.isinf(shortest.bound):
        return False
    least = max(0.0, shortest.bound * (1.0 - 0.1 * PROOF_TOLERANCE))
    high = math.inf if limit is None else limit
    spans = [Span(0.0, least, high, 0.0, high)]
    search.stopped_by = "interrupt" if shortest.stopped_by == "interrupt" else "proof"
    while spans and search.stopped_by == "proof":
        span = spans[0]
        if search.objective is not None:
            search.raise_bound(min(span.bound, search.objective), "scan")
        if span.cut is None or search.is_closed:
            return True
        heapq.heappop(spans)
        found = runner.least("energy", None if math.isinf(span.cut) else span.cut)
        search.stopped_by = found.stopped_by
        for part in _parts(span, span.cut, found):
            heapq.heappush(spans, part)
    if spans and search.objective is not None:
        search.raise_bound(min(spans[0].bound, search.objective), "scan")
    return bool(spans) or search.objective is not None


def _parts(span: Span, cut: float, found: Least) -> Iterator[Span]:
    """Yield a span in parts: below the makespan of the best schedule within ``cut``, up to the cut, and above it."""
    if cut < span.high:
        above = 0.5 * (cut + span.high) if span.high - cut > PROOF_TOLERANCE * span.high else None
        yield Span(cut * span.energy, cut, span.high, span.energy, above)
    if found.bound == math.inf:
        return
    least = max(span.energy, found.bound)
    attained = min(found.makespan, cut)
    if found.schedule is not None:
        yield Span(attained * least, attained, cut, least, None)
    if attained > span.low:
        yield Span(span.low * least, span.low, attained, least, _next_cut(span.low, attained))


def _next_cut(low: float, high: float) -> float | None:
    """Return where to cut a span whose end is a makespan that some schedule of least energy has."""
    below = high * (1.0 - 0.5 * PROOF_TOLERANCE)
    if below <= low:
        return None
    return below if high - low <= NARROW * high else 0.5 * (low + high)
