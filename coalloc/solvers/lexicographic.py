"""Several objectives in order of priority: each is solved among the schedules that are as good by those before it.

What is found of an objective, proved or not, limits it from then on; so all but the last must be maxima, which a latest
end of each job keeps, or objectives of allocations, which a budget keeps (:mod:`coalloc.solvers.limits`). Each level
starts from the schedule of the one before.
Source: M. Ehrgott, "Multicriteria Optimization", section 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from coalloc.instance import CoallocError, Instance
from coalloc.instance.constraints import Constraint
from coalloc.objectives import OBJECTIVES, AllocationObjective, Objective, RegularObjective
from coalloc.rules.tuning import HALF
from coalloc.schedule import Schedule
from coalloc.solvers.descent import Weighing, descend
from coalloc.solvers.limits import AtMost
from coalloc.solvers.oas import solve_oas
from coalloc.solvers.result import (
    MethodRun,
    Progress,
    RunModel,
    SolvedLevel,
    SolveOptions,
    SolveResult,
    SolveStatus,
    StoppedBy,
    summed,
)

INTERRUPTED = 1e-3
"""Seconds that a level gets once one before it was interrupted: its start is the schedule of that one."""


def solve_in_order(
    instance: Instance,
    options: SolveOptions,
    objectives: Sequence[Objective],
    *,
    constraints: Sequence[Constraint] = (),
    formulation: Any = "auto",
    start: Schedule | None = None,
    progress: Progress | None = None,
    run_model: RunModel,
) -> SolveResult:
    """Solve OAS by the first objective, then by the next among the schedules that keep its value, and so on."""
    _refuse(objectives)
    kept, levels, seconds = list(constraints), list[SolvedLevel](), options.seconds
    stops, timings, methods = list[StoppedBy](), dict[str, float](), tuple[MethodRun, ...]()
    result: SolveResult | None = None
    for number, objective in enumerate(objectives):
        is_last = number == len(objectives) - 1
        share = 1.0 if is_last else HALF
        is_interrupted = "interrupt" in stops  # then the levels that are left are worth what is known
        limit = INTERRUPTED if is_interrupted else _limit(options, share * seconds)
        result = solve_one(
            instance,
            replace(options, objective=objective.name, time_limit=limit),
            objective,
            constraints=kept,
            formulation=formulation,
            start=start if result is None else result.schedule,
            progress=progress,
            run_model=run_model,
        )
        seconds -= result.timings["total"]
        levels.append(SolvedLevel(objective.name, result.status, result.objective, result.lower_bound, result.unit))
        for stage, spent in result.timings.items():
            timings[stage] = timings.get(stage, 0.0) + spent
        methods = summed([*methods, *result.methods])
        stops.append("interrupt" if is_interrupted else result.stopped_by)
        if result.objective is None or is_last:
            break
        if isinstance(objective, AllocationObjective):
            weighing = Weighing.of(instance, options, objective, kept)
            instance, budgets = weighing.at_most(result.objective, instance)
            kept.extend(budgets)
        elif isinstance(objective, RegularObjective):
            kept.append(AtMost(instance, objective, result.objective))
    assert result is not None
    status, stopped_by = result.status, result.stopped_by
    unproven = [at for level, at in zip(levels, stops, strict=True) if level.status is not SolveStatus.OPTIMAL]
    if status is SolveStatus.OPTIMAL and unproven:
        status, stopped_by = SolveStatus.FEASIBLE, unproven[0]
    if "interrupt" in stops and status is not SolveStatus.OPTIMAL:
        stopped_by = "interrupt"
    return replace(
        result,
        status=status,
        stopped_by=stopped_by,
        options=replace(options, formulation=result.options.formulation),
        timings=timings,
        methods=methods,
        levels={level.objective: level.value for level in levels if level.value is not None},
        solved_levels=tuple(levels),
    )


def solve_one(instance: Instance, options: SolveOptions, objective: Objective, **given: Any) -> SolveResult:
    """Solve OAS by one objective, whichever it is."""
    if isinstance(objective, AllocationObjective):
        return descend(instance, options, objective=objective, **given)
    return solve_oas(instance, options, objective=objective, **given)


def _refuse(objectives: Sequence[Objective]) -> None:
    """Raise where an objective cannot be where it is."""
    if not objectives or any(objective.needs_watts for objective in objectives):
        given = ", ".join(objective.name for objective in objectives) or "none"
        raise CoallocError(
            f"lexicographic optimization requires one or more objectives but energy and edp, got {given}"
        )
    for objective in objectives[:-1]:
        if not _may_precede(objective):
            known = ", ".join(name for name, one in OBJECTIVES.items() if _may_precede(one))
            raise CoallocError(
                f"in lexicographic optimization all objectives but the last must be {known}, got {objective.name!r}"
            )
    if len({objective.name for objective in objectives}) < len(objectives):
        raise CoallocError("lexicographic optimization requires distinct objectives")


def _may_precede(objective: Objective) -> bool:
    """Return whether others may follow: a constraint keeps what is found of it."""
    is_maximum = isinstance(objective, RegularObjective) and objective.has_latest_ends
    return is_maximum or isinstance(objective, AllocationObjective)


def _limit(options: SolveOptions, seconds: float) -> float | None:
    """Return the time limit of a level, s; None where there is none."""
    return None if options.time_limit is None else max(seconds, options.seconds * 1e-3)
