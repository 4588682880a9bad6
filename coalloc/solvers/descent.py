"""Objectives of allocations by descent: schedules of at most so much, until less is proved infeasible.

The sum of the least weights of all jobs is a lower bound, and the first limit that is tried: fields of the jobs state
it, which every method knows. Further limits are budgets, which halve what lies between the bound and the best schedule.
A limit that is proved infeasible raises the bound, one that is kept lowers the incumbent. Each is a solve for the
makespan that ends with its first schedule. Proof: docs/mathematics/searches.md, "Objectives of allocations".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from coalloc.instance import CoallocError, Instance
from coalloc.instance.constraints import Constraint
from coalloc.objectives import OBJECTIVES, AllocationObjective
from coalloc.objectives.completion import Makespan
from coalloc.problem import MAX_MODES, Problem, discretise
from coalloc.problem.budgets import in_clusters
from coalloc.rules.tuning import HALF, LEAST_TIME
from coalloc.schedule import Schedule
from coalloc.solvers.cancelling import noticed
from coalloc.solvers.limits import AllocationsAtMost
from coalloc.solvers.oas import solve_oas
from coalloc.solvers.result import Progress, RunModel, SolveOptions, SolveResult, SolveStatus, summed
from coalloc.solvers.solve_state import SolveState

FIRST_SCHEDULE = 1.0
"""Relative gap that every schedule keeps."""


@dataclass(frozen=True)
class Weighing:
    """An objective of allocations for a problem."""

    problem: Problem
    objective: AllocationObjective

    @classmethod
    def of(
        cls, instance: Instance, options: SolveOptions, objective: AllocationObjective, kept: Sequence[Constraint]
    ) -> Weighing:
        """Return the objective for the problem of a solve."""
        saturation, scope = options.saturation, options.scope
        return cls(discretise(instance, options.slot, saturation=saturation, scope=scope, constraints=kept), objective)

    @property
    def has_budgets(self) -> bool:
        """Whether there are few enough allocations for budgets."""
        return self.problem.allocations.number <= MAX_MODES

    @cached_property
    def least(self) -> tuple[int, ...]:
        """Least amount that each job counts, shape ``(num_jobs,)``; links aside where there are many allocations."""
        of_job = self._least_of_modes if self.has_budgets else self._least_of_spreads
        return tuple(map(of_job, range(len(self.problem.jobs))))

    def _least_of_modes(self, j: int) -> int:
        problem, platform = self.problem, self.problem.instance.platform
        spreads = {in_clusters(problem.allocations, mode.allocation) for mode in problem.modes[j]}
        shape_of, job = problem.allocations.shape_of, problem.jobs[j]
        return min(
            (self.objective.weight(platform, shape_of(job, sum(s)), s) for s in spreads),
            default=self.objective.least_weight,
        )

    def _least_of_spreads(self, j: int) -> int:
        problem, job = self.problem, self.problem.jobs[j]
        for weight in range(self.objective.least_weight, len(problem.instance.platform.clusters) + 1):
            shapes = problem.allocations.shapes(self.objective.restricted(job, weight))
            if any(problem.allocations.holds(shape, problem.allocations.rooms(shape)) for shape in shapes):
                return weight
        return self.objective.least_weight

    @property
    def bound(self) -> int:
        """A lower bound on the objective."""
        return sum(self.least)

    def at_most(self, value: float, instance: Instance) -> tuple[Instance, tuple[Constraint, ...]]:
        """Return an instance, with the jobs of this, and constraints that keep the objective to a value.

        Where that is the lower bound, each job counts its least, which fields of the jobs say.
        """
        objective = self.objective
        if value <= self.bound:
            jobs = map(objective.restricted, instance.jobs, self.least)
            return instance.replace(jobs=tuple(jobs)), ()
        if not self.has_budgets:
            raise CoallocError(
                f"objective {objective.name!r} cannot be kept at {value:g} {objective.unit}: the jobs have more than "
                f"{MAX_MODES:,} allocations"
            )
        return instance, (AllocationsAtMost(instance.platform, objective, value),)


def descend(
    instance: Instance,
    options: SolveOptions,
    *,
    objective: AllocationObjective,
    constraints: Sequence[Constraint] = (),
    formulation: Any = "auto",
    start: Schedule | None = None,
    progress: Progress | None = None,
    run_model: RunModel,
) -> SolveResult:
    """Solve OAS by an objective of allocations; see :func:`coalloc.solvers.oas.solve_oas`."""
    objective.refuse(instance)
    state = SolveState(instance, options, progress, objective.unit, constraints=tuple(constraints), step=1.0)
    weighing = Weighing.of(instance, options, objective, constraints)
    solved = partial(_solved, state, formulation=formulation, run_model=run_model)
    first = solved(instance, constraints, 1.0, start=start, explains=True)
    state.message, state.stopped_by = first.message, first.stopped_by
    name = first.options.formulation
    if first.status is SolveStatus.INFEASIBLE:
        return state.result(first.status, formulation=name)
    try:
        state.raise_bound(float(weighing.bound), "least weight of each job")
        if first.schedule is not None:
            _offer(state, weighing, first.schedule)
            _halve(state, weighing, solved)
    except KeyboardInterrupt:
        noticed()
        state.stopped_by = "interrupt"
    return state.result(formulation=name)


def _halve(state: SolveState, weighing: Weighing, solved: Callable[..., SolveResult]) -> None:
    """Try limits from the lower bound to below the incumbent, until none is left or the time is over."""
    limit = tried = weighing.bound
    while state.objective is not None and tried < state.objective and not state.is_closed:
        if state.stopped_by == "interrupt" or state.remaining <= 0.0:
            return
        if limit > weighing.bound and not weighing.has_budgets:
            state.stopped_by = "work"
            state.add_to_message(f"only the lower bound was tried: the jobs have more than {MAX_MODES:,} allocations")
            return
        changed, kept = weighing.at_most(limit, state.instance)
        found = solved(changed, (*state.constraints, *kept), HALF)
        if found.schedule is not None:
            _offer(state, weighing, found.schedule)
        else:
            tried = limit + 1
        if found.status is SolveStatus.INFEASIBLE:
            state.raise_bound(float(tried), f"no schedule of {limit} {weighing.objective.unit}")
        elif found.schedule is None or found.stopped_by == "interrupt":
            state.stopped_by = found.stopped_by
        limit = (tried + int(state.objective) - 1) // 2


def _offer(state: SolveState, weighing: Weighing, schedule: Schedule) -> None:
    """Take a schedule where it is better than the best known."""
    value = weighing.objective.of_schedule(state.instance, schedule)
    state.offer(schedule, value, f"schedule of {value:g} {weighing.objective.unit}")


def _solved(
    state: SolveState,
    instance: Instance,
    kept: Sequence[Constraint],
    share: float,
    *,
    formulation: Any,
    run_model: RunModel,
    start: Schedule | None = None,
    explains: bool = False,
) -> SolveResult:
    """Return the first schedule that keeps the constraints, found in a share of the time that is left, or that none is.

    Its timings are counted.
    """
    limit = None if state.options.time_limit is None else max(share * state.remaining, LEAST_TIME)
    result = solve_oas(
        instance,
        replace(state.options, gap=FIRST_SCHEDULE, time_limit=limit),
        objective=OBJECTIVES[Makespan.name],
        constraints=kept,
        formulation=formulation,
        start=start,
        run_model=run_model,
        explains=explains,
    )
    for stage, spent in result.timings.items():
        if stage not in ("other", "total"):
            state.timings[stage] = state.timings.get(stage, 0.0) + spent
    state.methods = summed([*state.methods, *result.methods])
    state.size = result.model_size or state.size
    return result
