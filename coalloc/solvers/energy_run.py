"""Running the models of energy: from what horizon and start, and what is known afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyomo.environ as pyo

from coalloc.checker import check
from coalloc.documents.errors import InternalError
from coalloc.instance import CoallocError, Instance
from coalloc.instance.rounding import slots_up
from coalloc.meter import energy
from coalloc.models import energy_blocks, energy_mode
from coalloc.models.energy_costs import costs_of, no_costs
from coalloc.problem import Assignment, Problem
from coalloc.rules.serial_generation import assignments_of, best_list_schedule, named_orders
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.call import Search, is_within
from coalloc.solvers.energy_starts import frugal_list_schedule, least_joules, on_slots
from coalloc.solvers.model_run import BUILT_PER_SECOND, MAX_NONZEROS, ROUNDING_GAP, grid_cells
from coalloc.solvers.result import PROOF_TOLERANCE, ModelSolution, RunModel, SolveStatus, StoppedBy, TracePoint

ENERGY_OBJECTIVES = ("energy", "edp")
"""Objectives that need watts."""


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
        """Take the user's start; with slots it is moved onto them."""
        if start is None:
            return
        search, options = self.search, self.search.options
        broken = check(search.instance, start, saturation=options.saturation, scope=options.scope)
        if broken:
            raise CoallocError(f"start is not a valid schedule of the instance: {broken[0].sentence}")
        schedule = start if self.problem.slot is None else self._schedule(on_slots(self.problem, start))
        self._know(schedule, "start")
        if not is_within(makespan_of(search.instance, schedule), options.makespan_limit):
            moved = "" if self.problem.slot is None else ", moved onto slots,"
            search.message = f"the start{moved} does not end within makespan_limit={options.makespan_limit:g} s"

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
        if self.problem.slot is not None and not energy_mode.has_starts(model):
            return self._none_within(objective, makespan_limit)
        if search.remaining <= 0.0:
            return self._known_within(objective, makespan_limit, -math.inf, "time")
        solution = self._run(model, objective, makespan_limit, share)
        if solution.status is SolveStatus.INFEASIBLE:
            return self._none_within(objective, makespan_limit)
        if solution.objective is not None:
            self._know(self._formulation.extract(model), "model")
        return self._known_within(objective, makespan_limit, solution.lower_bound, solution.stopped_by)

    def _none_within(self, objective: str, makespan_limit: float | None) -> Least:
        """Return that there is no schedule within a limit; that one is known would be our fault."""
        known = self._known_within(objective, makespan_limit, math.inf, "proof")
        if known.schedule is not None:
            raise InternalError("the model has no solution, though a schedule is known that is one")
        return known

    def _run(
        self, model: pyo.ConcreteModel, objective: str, makespan_limit: float | None, share: float
    ) -> ModelSolution:
        """Run a model, from the best known schedule where it is in slots."""
        search, options = self.search, self.search.options
        gap = max(options.gap if options.objective != "edp" else 0.0, ROUNDING_GAP)
        limits = SolverLimits(share * search.remaining, options.work_limit, gap, options.threads, options.seed)
        first = self._known_within(objective, makespan_limit, -math.inf, "proof").schedule
        starts = self.problem.slot is not None and first is not None
        if starts and first is not None:
            energy_mode.set_start(model, assignments_of(self.problem, first))
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
        return energy_mode if self.problem.slot is not None else energy_blocks

    def _size(self, horizon: float) -> int:
        if self.problem.slot is None:
            return 0
        slots = int(horizon)
        return max(energy_mode.estimate_nonzeros(self.problem, slots), grid_cells(self.problem, slots))

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
        longest = (max(c.duration for c in modes) for modes in problem.modes)
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
        return energy_mode.replayed(self.problem, assignments)

    def _know(self, schedule: Schedule, source: str) -> None:
        """Keep a schedule; where the call's own limit allows it, it is an incumbent."""
        self.known.append(schedule)
        options = self.search.options
        if is_within(makespan_of(self.search.instance, schedule), options.makespan_limit):
            self.search.offer(schedule, self.value_of(schedule, options.objective), source)

    def _known_within(self, objective: str, makespan_limit: float | None, bound: float, stopped_by: StoppedBy) -> Least:
        """Return the best schedule that is known within a limit, with a bound."""
        best = Least(None, math.inf, math.inf, bound, stopped_by)
        for schedule in self.known:
            makespan = makespan_of(self.search.instance, schedule)
            if is_within(makespan, makespan_limit) and self.value_of(schedule, objective) < best.value:
                best = Least(schedule, self.value_of(schedule, objective), makespan, bound, stopped_by)
        return replace(best, bound=min(best.bound, best.value))


def makespan_of(instance: Instance, schedule: Schedule) -> float:
    """Return the makespan of a schedule, s."""
    return max((p.end for p in schedule), default=instance.origin) - instance.origin
