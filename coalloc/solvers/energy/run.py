"""Running the models of energy: from what horizon and start, and what is known afterwards."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyomo.environ as pyo

from coalloc.checker import check
from coalloc.documents.errors import InternalError
from coalloc.instance import CoallocError, Instance
from coalloc.instance.rounding import slots_down
from coalloc.models import energy_blocks, energy_mode
from coalloc.models.energy_costs import costs_of
from coalloc.models.energy_sets import estimate_nonzeros as estimate_nonzeros_of_sets
from coalloc.models.energy_sets import has_sets
from coalloc.objectives.metered import metered_objective
from coalloc.power.meter import energy
from coalloc.problem import MAX_MODES, Problem, discretise_for_energy
from coalloc.rules.node_sets import MAX_JOBS
from coalloc.rules.serial_sgs import assignments_of, best_list_schedule, list_schedule, named_orders
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.energy.annealing import Lists, anneal
from coalloc.solvers.energy.bound_by_makespan import (
    MAX_PLACES,
    NARROW,
    SAFE,
    EnergyByMakespan,
    MakespanSpan,
    SpanBound,
    span_bound,
    spans,
)
from coalloc.solvers.energy.bound_by_patterns import EnergyByPatterns
from coalloc.solvers.energy.bound_by_sets import EnergyBySets
from coalloc.solvers.energy.starts import frugal_list_schedule, least_joules, on_slots
from coalloc.solvers.model_run import BUILT_PER_SECOND, MAX_NONZEROS, ROUNDING_GAP, slot_cells
from coalloc.solvers.result import PROOF_TOLERANCE, ModelSolution, RunModel, SolveStatus, StoppedBy, TracePoint
from coalloc.solvers.solve_state import SolveState

SAME_ENERGY = 0.5 * PROOF_TOLERANCE
"""Share up to which two energies are one: so much less than a proof leaves open that both are proved."""


@dataclass(frozen=True, slots=True)
class Point:
    """A schedule, its makespan, s, and its energy, J."""

    makespan: float
    joules: float
    schedule: Schedule

    @classmethod
    def of(cls, instance: Instance, schedule: Schedule) -> Point:
        """Return the point of a schedule, as it is metered."""
        metered = energy(instance, schedule)
        return cls(metered.makespan, metered.total, schedule)


@dataclass(frozen=True, slots=True)
class Least:
    """The least energy within a makespan limit: the best point known (None: none), and a proved bound, J.

    A bound of infinity says that there is no schedule.
    """

    point: Point | None
    bound: float
    stopped_by: StoppedBy


def horizon_within(problem: Problem, makespan_limit: float | None) -> float:
    """Return ticks into which every order of the jobs fits, as far as it keeps a limit (s)."""
    if makespan_limit is None:
        return problem.horizon_in_turn
    latest = problem.instance.origin + makespan_limit
    latest += PROOF_TOLERANCE * max(1.0, latest)
    return min(problem.horizon_in_turn, latest if problem.slot is None else slots_down(latest, problem.slot))


def has_model(problem: Problem) -> bool:
    """Return whether there is a model of a problem: of jobs over several nodes in slots alone."""
    return problem.slot is not None or problem.scope == "node"


def formulation_for(problem: Problem) -> Any:
    """Return the module that models a problem."""
    return energy_mode if problem.slot is not None else energy_blocks


def nonzeros(problem: Problem, horizon: float, most: float, blocks: int | None = None) -> int:
    """Return roughly how many nonzeros the model of a problem will have, at least where that is more than ``most``."""
    if problem.slot is None:
        return energy_blocks.estimate_nonzeros(problem, most, blocks)
    return max(energy_mode.estimate_nonzeros(problem, int(horizon)), slot_cells(problem, int(horizon)))


def build(
    problem: Problem, horizon: float, makespan_limit: float | None, blocks: int | None = None
) -> pyo.ConcreteModel:
    """Return the model whose jobs end by a horizon, in ticks; ``blocks`` of each node are for continuous time."""
    size = nonzeros(problem, horizon, MAX_NONZEROS, blocks)
    if size > MAX_NONZEROS:
        raise CoallocError(f"{_too_large(problem, horizon, size)}; use {_remedy(problem)}")
    if problem.slot is not None:
        return energy_mode.build(problem, horizon=int(horizon), makespan_limit=makespan_limit)
    return energy_blocks.build(problem, horizon=horizon, makespan_limit=makespan_limit, blocks=blocks)


def _too_large(problem: Problem, horizon: float, size: int) -> str:
    where = "in continuous time" if problem.slot is None else f"in {horizon:,.0f} slots"
    return f"the model would have at least {size:.2g} nonzeros {where}, above the limit of {MAX_NONZEROS:,}"


def _remedy(problem: Problem) -> str:
    return "a time slot or fewer jobs" if problem.slot is None else "a coarser slot, a makespan_limit or fewer jobs"


def _minimise_makespan(model: pyo.ConcreteModel, joules: float) -> None:
    """Make a model of energy one of the least makespan, in units, of schedules that take no more joules.

    The row is in hundredths of these, so that a solver's tolerance of 1e-6 is 1e-8 of them.
    """
    scale = 100.0 / joules if joules > 0.0 else 1.0
    most = joules + 0.5 * SAME_ENERGY * abs(joules)
    model.objective.deactivate()
    model.within_joules = pyo.Constraint(expr=scale * model.objective.expr <= scale * most)
    model.shortest = pyo.Objective(expr=model.makespan)


LEFT = "the result is the best schedule of the searches with the bound of the relaxations"
"""Message where no model is built."""

ITERATIONS = 500
"""Lists that annealing tries before any model, per job."""
SEARCH_SHARE = 0.5
"""Share of the time that is left after which it stops then."""
MODEL_SHARE = 0.4
"""Share of the time that is left that a model gets whose bounds are hardly better than those of the relaxations."""
ENOUGH = 0.5 * PROOF_TOLERANCE
"""Share of the best known that a bound may be below it and still rule out what it bounds."""
BOUND_SHARE = 0.3
"""Share of the time that is left after which the relaxations stop."""
MAX_PATTERNS = 40_000
"""Patterns of a node, times parts of jobs of equal size, beyond which these are in fewer parts, or nothing is said."""
PATTERNS_PER_SECOND = 10_000
"""Patterns of a node that are found in a second, roughly."""
PARTS = (1, 2, 4)
"""Parts into which jobs of equal size are split for patterns, one after another."""
NARROW_FOR_FEW_PARTS = 3e-4
"""Share of its end below which a span of makespans is not halved any more, before jobs are in more parts."""
LAST = 0.1
"""Seconds of the time limit that the last search leaves."""


class EnergyRun:
    """Runs of the energy models within one call; the best by the call's objective goes to ``state``."""

    def __init__(self, state: SolveState, problem: Problem, run_model: RunModel, known: Sequence[Point] = ()) -> None:
        self.state = state
        self.problem = problem
        self.run_model = run_model
        self.costs = costs_of(problem)
        self.objective = metered_objective(state.options.objective)
        self.known = list(known)
        self._patterns_are_few = True
        self._searches = 0
        if problem.jobs and not known:
            self.know(schedule_of(problem, best_list_schedule(problem)), "list schedule")
        if problem.jobs:
            self._know_frugal(state.options.makespan_limit)

    def offer_start(self, start: Schedule | None) -> None:
        """Take the user's start; with slots it is moved onto them."""
        if start is None:
            return
        state, options = self.state, self.state.options
        broken = check(state.instance, start, saturation=options.saturation, scope=options.scope)
        if broken:
            raise CoallocError(f"start must be a valid schedule of the instance: {broken[0].sentence}")
        schedule = start if self.problem.slot is None else schedule_of(self.problem, on_slots(self.problem, start))
        self.know(schedule, "warm start")
        if not self.state.is_within(self.known[-1].makespan, options.makespan_limit):
            moved = "" if self.problem.slot is None else ", rounded to time slots,"
            state.message = f"the warm start{moved} does not end within makespan_limit={options.makespan_limit:g} s"

    def search(self, iterations: int | None, share: float = 1.0) -> None:
        """Anneal from the best known for so many iterations, or until a share of the time left is over.

        Where all jobs fit on nodes, one half of both is for schedules within nodes, of which there are far fewer.
        """
        problems = [problem for problem in (self.within_nodes, self.problem) if problem is not None]
        until = time.perf_counter() + share * (self.state.remaining - LAST)
        for number, problem in enumerate(problems):
            left = len(problems) - number
            seconds = (until - time.perf_counter()) / left
            if seconds > 0.0 and self.known and not self.state.is_closed:
                self._anneal(problem, None if iterations is None else iterations // len(problems), seconds)
        self._searches += 1

    @cached_property
    def within_nodes(self) -> Problem | None:
        """The problem with each job within a node, where that is another one and all jobs fit."""
        given = self.problem
        if given.scope == "node":
            return None
        narrow = discretise_for_energy(
            given.instance, given.slot, saturation=given.saturation, scope="node", base=given.base
        )
        is_possible = all(max(narrow.allocations.rooms(job)) >= job.tasks for job in narrow.jobs)
        return narrow if is_possible and len(narrow.jobs) * len(narrow.classes) <= MAX_PLACES else None

    def _anneal(self, problem: Problem, iterations: int | None, seconds: float) -> None:
        """Anneal schedules of a problem, from the best known where that is one of them."""
        state, options, costs = self.state, self.state.options, costs_of(problem)
        first = assignments_of(problem, self.best_known.schedule)
        if problem.scope == "node" and any(max(a.mode.allocation) < problem.jobs[a.job].tasks for a in first):
            first = list_schedule(problem, [a.job for a in first])
        with state.timed("search"):
            anneal(
                problem,
                costs,
                first,
                worth=self.objective.worth,
                makespan_limit=options.makespan_limit,
                iterations=iterations,
                seed=options.seed + self._searches,
                target=-math.inf if state.lower_bound is None else state.lower_bound * (1.0 + PROOF_TOLERANCE),
                deadline=time.perf_counter() + seconds,
                on_schedule=lambda found: self.know(schedule_of(problem, found), "simulated annealing"),
            )

    @property
    def best_known(self) -> Point:
        """The best point by the objective among those that keep the limit, else the shortest."""
        limit = self.state.options.makespan_limit
        within = [point for point in self.known if self.state.is_within(point.makespan, limit)]
        if within:
            return min(within, key=lambda point: self.objective.worth(point.joules, point.makespan))
        return min(self.known, key=lambda point: point.makespan)

    def relax(self, least_makespan: float) -> tuple[float, float] | None:
        """Raise the bound by relaxations; return between which makespans, s, what is better can be, None: nowhere.

        No schedule is shorter than ``least_makespan``, s.
        """
        state, problem = self.state, self.problem
        if len(problem.jobs) * len(problem.classes) > MAX_PLACES:
            return least_makespan, self._latest_makespan()
        with state.timed("bound"):
            relaxation = EnergyByMakespan(problem)
            bounds = [span_bound(relaxation, self.objective.delay)]
            window = max(relaxation.least, least_makespan), self._latest_makespan()
            deadline = time.perf_counter() + BOUND_SHARE * state.remaining
            if self.has_sets:
                sets = EnergyBySets(problem, self.costs, window[1])
                return self._narrowed(window, [*bounds, self._beside_idle(relaxation, sets.joules)], deadline)
            left = self._narrowed(window, bounds, deadline)
            return left if left is None or not self._has_patterns else self._by_patterns(relaxation, left, deadline)

    @property
    def _has_patterns(self) -> bool:
        """Whether it is worth a try to list what each node can hold."""
        problem = self.problem
        is_small = len(problem.jobs) * len(problem.classes) ** 2 <= MAX_PLACES
        return problem.scope == "node" and is_small and self._patterns_are_few

    def _by_patterns(
        self, relaxation: EnergyByMakespan, window: tuple[float, float], deadline: float
    ) -> tuple[float, float] | None:
        """Raise the bound by what nodes can hold, in ever more kinds of jobs; return what is left of a window."""

        def most() -> int:
            return int(min(MAX_PATTERNS, PATTERNS_PER_SECOND * max(0.0, deadline - time.perf_counter())))

        patterns = EnergyByPatterns(self.problem, self.costs, most)
        left: tuple[float, float] | None = self._short_enough(relaxation, window)
        for parts in PARTS:
            if left is not None and not patterns.are_too_many:
                bound = self._beside_idle(relaxation, partial(patterns.joules, parts=parts))
                narrow = NARROW if parts == PARTS[-1] else NARROW_FOR_FEW_PARTS
                left = self._narrowed(left, [bound], deadline, outside=self._enough, narrow=narrow)
        self._patterns_are_few = not patterns.are_too_many
        return left

    def _short_enough(self, relaxation: EnergyByMakespan, window: tuple[float, float]) -> tuple[float, float]:
        """Return a window of makespans, s, without those so long that their least energy proves the best known."""
        low, high = window
        joules = span_bound(relaxation, 0)(low, high)[0]
        if self.objective.delay and joules > 0.0:
            high = max(low, min(high, self._enough / joules))
        return low, high

    def _narrowed(
        self,
        window: tuple[float, float],
        bounds: Sequence[SpanBound],
        deadline: float,
        *,
        outside: float = math.inf,
        narrow: float = NARROW,
    ) -> tuple[float, float] | None:
        """Raise the bound by that of a window of makespans, s; return what is left of the window, None: nothing.

        No schedule outside of the window is worth less than ``outside``.
        """
        open_ = spans(bounds, MakespanSpan(-math.inf, *window), deadline, self._is_enough, narrow)
        self.state.raise_bound(min(outside, open_[0].bound) if open_ else outside, "relaxation")
        left = [span for span in open_ if not self._is_enough(span.bound)]
        return (min(span.low for span in left), max(span.high for span in left)) if left else None

    @property
    def has_sets(self) -> bool:
        """Whether the sets of jobs that nodes can hold are enumerated, in the time that is left."""
        affordable = BUILT_PER_SECOND * self.state.remaining
        return has_sets(self.problem) and estimate_nonzeros_of_sets(self.problem) <= affordable

    @property
    def may_be_proven(self) -> bool:
        """Whether jobs are so few that a model is worth all the time that is left."""
        return has_model(self.problem) and len(self.problem.jobs) <= MAX_JOBS

    def _is_enough(self, bound: float) -> bool:
        """Return whether a bound proves the best that is known."""
        return bound >= self._enough

    @property
    def _enough(self) -> float:
        """A bound that proves the best that is known."""
        known = self.state.objective
        return math.inf if known is None else known - ENOUGH * abs(known)

    def _latest_makespan(self) -> float:
        """Return a makespan, s, of which an optimal schedule has no more."""
        problem, limit = self.problem, self.state.options.makespan_limit
        return max(0.0, problem.clock.seconds(horizon_within(problem, limit)) - problem.instance.origin)

    def _beside_idle(self, relaxation: EnergyByMakespan, joules_within: Callable[[float], float]) -> SpanBound:
        """Return the bound by what jobs take within a makespan, with idle watts and what runs already draws."""
        lists = Lists(self.problem, self.costs)

        def bound(low: float, high: float) -> tuple[float, float]:
            low, high = relaxation.within(low, high)
            joules = joules_within(high) + lists.joules_between(low, high)
            return (self.objective.worth(joules * (1.0 - SAFE), low) if low <= high else math.inf), low

        return bound

    def _know_frugal(self, makespan_limit: float | None) -> None:
        """Keep list schedules in which jobs take few joules, as far as they end within a limit."""
        latest = math.inf if makespan_limit is None else self.problem.instance.origin + makespan_limit
        for order in named_orders(self.problem):
            if not self._has_modes or self.state.remaining <= 0.0:
                return
            found = frugal_list_schedule(self.problem, self.costs, order, latest)
            self.know(schedule_of(self.problem, found), "list schedule")

    def least(self, makespan_limit: float | None) -> Least:
        """Return the least energy within a limit (s), in the time left."""
        state = self.state
        unfit = self._unfit(makespan_limit)
        if unfit is not None:
            return self._known_within(makespan_limit, -math.inf, unfit)
        if makespan_limit != state.options.makespan_limit:
            self._know_frugal(makespan_limit)
        with state.timed("build"):
            model = build(self.problem, self._horizon(makespan_limit), makespan_limit)
        if self.problem.slot is not None and not energy_mode.has_starts(model):
            return self._none_within(makespan_limit)
        if state.remaining <= 0.0:
            return self._known_within(makespan_limit, -math.inf, "time")
        solution = self._run(model, makespan_limit)
        if solution.status is SolveStatus.INFEASIBLE:
            return self._none_within(makespan_limit)
        if solution.objective is not None:
            self.know(formulation_for(self.problem).extract(model), "model")
        return self._known_within(makespan_limit, solution.lower_bound, solution.stopped_by)

    def _none_within(self, makespan_limit: float | None) -> Least:
        """Return that there is no schedule within a limit; that one is known would be our fault."""
        known = self._known_within(makespan_limit, math.inf, "proof")
        if known.point is not None:
            raise InternalError("the model has no solution, though a schedule is known that is one")
        return known

    def shortest(self, joules: float, makespan_limit: float) -> tuple[Point | None, float]:
        """Return the shortest schedule of those that take no more joules and end within a limit (s), if one is known.

        No shorter one ends before the second value, s.
        """
        if self._unfit(makespan_limit) is not None:
            return self._shortest_known(joules), 0.0
        with self.state.timed("build"):
            model = build(self.problem, self._horizon(makespan_limit), makespan_limit)
            _minimise_makespan(model, joules)
        solution = self._run(model, makespan_limit)
        if solution.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if solution.objective is not None:
            self.know(formulation_for(self.problem).extract(model), "model")
        is_bound = math.isfinite(solution.lower_bound)
        return self._shortest_known(joules), solution.lower_bound * model.unit if is_bound else 0.0

    def _shortest_known(self, joules: float) -> Point | None:
        most = joules + SAME_ENERGY * abs(joules)
        within = (point for point in self.known if point.joules <= most)
        return min(within, key=lambda point: point.makespan, default=None)

    def _run(self, model: pyo.ConcreteModel, makespan_limit: float | None) -> ModelSolution:
        """Run a model, from the best known schedule where it is in slots."""
        state, options = self.state, self.state.options
        gap = max(options.gap if options.objective != "edp" else 0.0, ROUNDING_GAP)
        share = 1.0 if self.may_be_proven else MODEL_SHARE
        limits = SolverLimits(share * state.remaining, options.work_limit, gap, options.threads, options.seed)
        first = self.best_within(makespan_limit)
        starts = self.problem.slot is not None and first is not None
        if starts and first is not None:
            energy_mode.set_start(model, assignments_of(self.problem, first.schedule))
        with state.timed("solve"):
            solution = self.run_model(
                model,
                limits,
                integral=False,
                start=starts,
                progress=self._report if options.objective != "edp" else None,
            )
        state.size = solution.size
        return solution

    def _report(self, point: TracePoint) -> None:
        self.state.record(point.source, point.incumbent, point.lower_bound)

    @property
    def _has_modes(self) -> bool:
        """Whether there are so few allocation vectors that they are enumerated."""
        return self.problem.allocations.number <= MAX_MODES

    def _unfit(self, makespan_limit: float | None) -> StoppedBy | None:
        """Return why no model is built, and say so: it is too large, or takes longer to build than the time left."""
        state, problem = self.state, self.problem
        if not has_model(problem):
            state.message = f"jobs on several nodes have no model in continuous time; {LEFT}"
            return "work"
        if not self._has_modes:
            state.message = f"the jobs have more than {MAX_MODES:,} allocation vectors; {LEFT}"
            return "work"
        affordable = BUILT_PER_SECOND * state.remaining
        horizon = self._horizon(makespan_limit)
        size = nonzeros(problem, horizon, min(MAX_NONZEROS, affordable))
        if size > affordable:
            state.message = f"the time limit is too short to build the model of at least {size:,} nonzeros"
            return "time"
        if size > MAX_NONZEROS:
            state.message = f"{_too_large(problem, horizon, size)}; {LEFT}"
            return "work"
        return None

    def _horizon(self, makespan_limit: float | None) -> float:
        """Return ticks within which an optimal schedule ends.

        Proof: docs/mathematics/energy.md, "Horizon of energy models".
        """
        known, longest = self.best_within(makespan_limit), makespan_limit
        if self.costs.idle > 0.0 and known is not None:
            worth = (known.joules - least_joules(self.problem, self.costs)) / self.costs.idle
            longest = worth if longest is None else min(longest, worth)
        return horizon_within(self.problem, longest)

    def know(self, schedule: Schedule, source: str) -> None:
        """Keep a schedule; where the call's own limit allows it, it is an incumbent."""
        point = Point.of(self.state.instance, schedule)
        self.known.append(point)
        options = self.state.options
        if self.state.is_within(point.makespan, options.makespan_limit):
            self.state.offer(schedule, self.objective.worth(point.joules, point.makespan), source)

    def best_within(self, makespan_limit: float | None) -> Point | None:
        """Return the point of least energy that is known within a limit, s."""
        within = (point for point in self.known if self.state.is_within(point.makespan, makespan_limit))
        return min(within, key=lambda point: point.joules, default=None)

    def _known_within(self, makespan_limit: float | None, bound: float, stopped_by: StoppedBy) -> Least:
        """Return the best that is known within a limit, with a bound."""
        best = self.best_within(makespan_limit)
        return Least(best, bound if best is None else min(bound, best.joules), stopped_by)
