"""Parts that the time-indexed models share: slots with their free capacities, and the makespan.

The makespan is modelled by its own profile, ``z_t = 1`` when some job still runs in slot ``t`` or
later: ``C_max = L + sum_{t >= L} z_t`` with ``L`` a lower bound. Against ``C_max >= end_j`` this is
stronger by the area bound, for every capacity row holds with ``z_t`` on its right-hand side.
Equations: (T1) to (T6) of docs/mathematics/formulations.md; see "Makespan by a profile" there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from coalloc.documents.text import quoted
from coalloc.models.names import part_names
from coalloc.models.registry import InfeasibleModelError
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, NotTogetherRow, Problem, TimeSumRow, least_tasks
from coalloc.rules.dual_feasible import weightings

LARGEST_LOAD = 1e4
"""Number to which the largest load in a row of a link, or of a memory, is scaled.

Solvers keep rows to an absolute 1e-6; whether a link saturates is a matter of 1e-9 of its bandwidth.
"""

ROW_COSTS = 1.0, 1e6
"""Between which the largest cost in the rows of a maximum stays as it is; else it is scaled to about ``ROW_COST``.

HiGHS proved too much where it was 1e9.
"""
ROW_COST = 1e3
"""The largest cost in rows that are scaled."""

Term = tuple[float, Any]
"""A coefficient and a variable."""


def refuse_without_start(starts: Mapping[int, Sequence[object]], problem: Problem, horizon: int) -> None:
    """Raise :class:`InfeasibleModelError` where a job has no start variable."""
    for j, terms in starts.items():
        if not terms:
            found = f"job {quoted(problem.jobs[j].id)} has no start with an end by its deadline"
            raise InfeasibleModelError(f"{found} and within {horizon:,} slots")


class TimeSlots:
    """Slots ``first .. horizon - 1`` of a problem, with what running jobs leave free; the first is that of the problem.

    ``processors`` has shape ``(num_slots, num_classes)``, ``left`` (of each resource) ``(num_slots, num_resources)``.
    """

    def __init__(self, problem: Problem, horizon: int, first: int | None = None) -> None:
        self.problem = problem
        self.horizon = horizon
        self.first = problem.first_slot if first is None else first
        num_slots = max(0, horizon - self.first)
        self.processors: NDArray[np.float64] = np.tile(np.array(problem.capacities, dtype=float), (num_slots, 1))
        self.left: NDArray[np.float64] = np.tile(np.array(problem.allocations.limits), (num_slots, 1))
        for busy in problem.busy:
            until = max(0, min(horizon, int(busy.end)) - self.first)
            self.processors[:until] -= busy.allocation
            self.left[:until] -= busy.loads
        for block in problem.blocks:
            since, until = (max(0, min(horizon, int(t)) - self.first) for t in (block.start, block.end))
            self.processors[since:until] -= block.allocation
            self.left[since:until] -= block.loads
        self.left = np.maximum(self.left, 0.0)  # what runs may exceed a limit; nothing is added to it

    def starts(self, j: int, duration: int, allocation: Sequence[int], loads: Sequence[float]) -> list[int]:
        """Return the slots at which job ``j`` may start so that it fits beside the running jobs."""
        fits = (self.processors >= allocation).all(axis=1) & (self.left >= loads).all(axis=1)
        clashes = np.concatenate(([0], np.cumsum(~fits)))
        first, last = int(self.problem.releases[j]), int(min(self.horizon, self.problem.latest_ends[j])) - duration
        begun = range(first - self.first, last + 1 - self.first)
        found = [t + self.first for t in begun if clashes[t + duration] == clashes[t]]
        return [t for t in found if self.problem.allowed_from(j, t) == t] if j in self.problem.calendars else found


def add_scope_rows(
    model: pyo.ConcreteModel, tasks_on: Callable[[Any, Sequence[int]], Any], jobs: Sequence[Any]
) -> None:
    """Add ``part[j, i]``, (T10) and (T11): all tasks of a job are in one part, where the scope asks for it.

    ``jobs`` are what the model calls its jobs, in their order, parts go by the names of their clusters or nodes;
    ``tasks_on(j, part)`` are the tasks of job ``j`` on the classes of a part.
    """
    problem: Problem = model.problem
    if not problem.allocations.parts:
        return
    classes_of = dict(zip(part_names(problem), problem.allocations.parts, strict=True))
    shapes = {j: problem.allocations.shapes(job) for j, job in zip(jobs, problem.jobs, strict=True)}
    rooms = {
        j: dict(zip(classes_of, problem.allocations.within_scope(problem.allocations.rooms(job)), strict=True))
        for j, job in zip(jobs, problem.jobs, strict=True)
    }
    model.part = pyo.Var(
        [(j, i) for j in jobs for i, room in rooms[j].items() if any(room >= shape.tasks for shape in shapes[j])],
        domain=pyo.Binary,
        doc="1 where all tasks of job j are in part i of the platform",
    )
    model.one_part = pyo.Constraint(
        list(jobs),
        rule=lambda m, j: pyo.quicksum(m.part[j, i] for i in classes_of if (j, i) in m.part) == 1,
        doc="(T10), ours: every job is in one part",
    )

    def within(m: pyo.ConcreteModel, j: Any, i: Any) -> pyo.Expression:
        if len(shapes[j]) == 1:
            return tasks_on(j, classes_of[i]) == shapes[j][0].tasks * m.part[j, i]
        return tasks_on(j, classes_of[i]) <= max(shape.tasks for shape in shapes[j]) * m.part[j, i]

    model.within_part = pyo.Constraint(
        model.part.index_set(),
        rule=within,
        doc="(T11), ours: with all its tasks; of a moldable job there are none elsewhere",
    )
    nowhere = [(j, i) for j in jobs for i in classes_of if len(shapes[j]) > 1 and (j, i) not in model.part]
    if nowhere:
        model.no_part = pyo.ConstraintList(doc="(T11), ours: parts too small for any shape of a job hold none of it")
        for j, i in nowhere:
            tasks = tasks_on(j, classes_of[i])
            if not isinstance(tasks, (int, float)):
                model.no_part.add(tasks == 0)


def set_parts(model: pyo.ConcreteModel, assignments: Sequence[Assignment], jobs: Sequence[Any]) -> None:
    """Set ``part`` to its values in a known schedule, where the scope asks for it; ``jobs`` as for the rows."""
    problem: Problem = model.problem
    if not problem.allocations.parts:
        return
    classes_of = dict(zip(part_names(problem), problem.allocations.parts, strict=True))
    allocation = {jobs[a.job]: a.mode.allocation for a in assignments}
    for (j, i), part in model.part.items():
        part.set_value(int(any(allocation[j][g] for g in classes_of[i])))


def add_constraint_rows(
    model: pyo.ConcreteModel, starts: Mapping[int, Sequence[tuple[int, int, Any]]], problem: Problem, horizon: int
) -> None:
    """Add what the constraints of the problem ask for: (T8) differences of times, (T9) jobs that may not overlap.

    ``starts[j]`` are (start slot, end slot, start variable) of job ``j``.
    """
    if not problem.rows:
        return
    covering = {j: _covering(terms) for j, terms in starts.items()}
    model.times = pyo.ConstraintList(doc="(T8): least differences between times of jobs")
    model.not_together = pyo.ConstraintList(doc="(T9): jobs that do not run at the same time")
    for row in problem.rows:
        if isinstance(row, NotTogetherRow):
            for t in range(problem.first_slot, horizon):
                running = [x for j in row.jobs for x in covering[j].get(t, ())]
                if running:
                    model.not_together.add(pyo.quicksum(running) <= 1)
            continue
        terms = _sum_of_times(row, starts)
        if terms:
            model.times.add(pyo.quicksum(factor * x for factor, x in terms) >= row.least)
        elif row.least > 0:
            raise InfeasibleModelError(
                f"no times within {horizon:,} slots satisfy the difference of {row.least:g} slots or more"
            )


def add_order_rows(
    model: pyo.ConcreteModel, starts: Iterable[tuple[int, int, Any]], pairs: Iterable[tuple[int, int]]
) -> None:
    """Add that of each pair of equal jobs the first starts no later, (T16); ``starts`` are (job, slot, variable)."""
    terms: dict[int, list[Term]] = defaultdict(list)
    for j, t, x in starts:
        terms[j].append((t, x))
    model.equal_jobs = pyo.ConstraintList(doc="(T16): equal jobs start in their order")
    for one, other in pairs:
        earlier, later = (pyo.quicksum(t * x for t, x in terms[j]) for j in (one, other))
        model.equal_jobs.add(earlier <= later)


def _sum_of_times(row: TimeSumRow, starts: Mapping[int, Sequence[tuple[int, int, Any]]]) -> list[Term]:
    """Return the terms of (T8) that are not 0, each start variable once."""
    factors: dict[int, float] = defaultdict(float)
    variables = {id(x): x for _, _, j in row.terms for *_, x in starts[j]}
    for f, which, j in row.terms:
        for start, end, x in starts[j]:
            factors[id(x)] += f * (start if which == "start" else end)
    return [(factors[key], x) for key, x in variables.items() if factors[key]]


def _covering(terms: Sequence[tuple[int, int, Any]]) -> dict[int, list[Any]]:
    """Return the start variables with which a job runs in each slot."""
    covering: dict[int, list[Any]] = defaultdict(list)
    for start, end, x in terms:
        for t in range(start, end):
            covering[t].append(x)
    return covering


def add_capacity_rows(
    model: pyo.ConcreteModel, name: str, usage: dict[tuple[int, int], list[Term]], free: NDArray[np.float64], doc: str
) -> None:
    """Add ``usage <= free * z_t`` for each (slot, resource); ``z_t`` is 1 below the lower bound, or without a profile.

    There is no row where the limit is infinite.
    """
    profile, first = model.component("z"), model.problem.first_slot
    constraints = pyo.Constraint(list(usage), doc=doc)
    model.add_component(name, constraints)
    for (t, resource), terms in usage.items():
        limit = float(free[t - first, resource])
        body = pyo.quicksum(coefficient * variable for coefficient, variable in terms)
        if profile is not None and t in profile and np.isfinite(limit):
            constraints[t, resource] = body <= limit * profile[t]
        elif np.isfinite(limit):
            constraints[t, resource] = body <= limit


def add_resource_rows(
    model: pyo.ConcreteModel, name: str, usage: dict[tuple[int, int], list[Term]], free: NDArray[np.float64], doc: str
) -> None:
    """Add rows of (slot, resource); the unit of each resource makes its largest load ``LARGEST_LOAD``."""
    largest: dict[int, float] = defaultdict(float)
    for (_, k), terms in usage.items():
        largest[k] = max(largest[k], *(load for load, _ in terms))
    units = np.array([LARGEST_LOAD / largest[k] if k in largest else 1.0 for k in range(free.shape[1])])
    scaled = {(t, k): [(load * units[k], variable) for load, variable in terms] for (t, k), terms in usage.items()}
    add_capacity_rows(model, name, scaled, free * units, doc)


def add_packing_rows(model: pyo.ConcreteModel, active: Iterable[tuple[int, range, Any]], time_slots: TimeSlots) -> None:
    """Add ``running[j, t]`` (T5), and per slot and dual feasible function that the weights running are at most 1 (T6).

    ``active`` are (job, slots, start variable). The rows cut off fractional solutions only; the first
    weighting, shares of all processors, is left out, for the rows of the classes imply it.
    """
    covering = by_slot((slots, j, (1, start)) for j, slots, start in active)
    model.running = pyo.Var([(j, t) for t, j in covering], bounds=(0, 1), doc="1 where job j runs in slot t")
    model.running_if_covered = pyo.Constraint(
        list(model.running),
        rule=lambda m, j, t: m.running[j, t] == pyo.quicksum(x for _, x in covering[t, j]),
        doc="(T5): a job runs in the slots from its start to its end",
    )
    problem = time_slots.problem
    tasks = [*map(least_tasks, problem.jobs), *(sum(busy.allocation) for busy in problem.busy)]
    functions = weightings(tasks, sum(problem.capacities))[1:]
    free = np.ones((len(time_slots.processors), len(functions)))
    for f, weights in enumerate(functions):
        for busy, weight in zip(problem.busy, weights[len(problem.jobs) :], strict=True):
            free[: max(0, int(busy.end) - time_slots.first), f] -= weight
    terms = (
        (range(t, t + 1), f, (weights[j], running))
        for (j, t), running in model.running.items()
        for f, weights in enumerate(functions)
        if weights[j] > 0.0
    )
    doc = "(T6): jobs that run together weigh at most 1 to a dual feasible function of their tasks"
    add_capacity_rows(model, "packing", by_slot(terms), np.maximum(free, 0.0), doc)


def set_profile(model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
    """Set ``z``, the greatest cost and ``running`` to their values in a known schedule."""
    makespan = max((a.end for a in assignments), default=0)
    for t, z in model.z.items():
        z.set_value(int(t < makespan))
    if model.component("greatest") is not None:
        model.greatest.set_value(model.criterion.value(assignments) / model.cost_unit)
    span = {a.job: (a.start, a.end) for a in assignments}
    for (j, t), running in model.running.items():
        start, end = span[j]
        running.set_value(int(start <= t < end))


def add_objective(
    model: pyo.ConcreteModel,
    starts: Mapping[int, Sequence[tuple[int, int, Any]]],
    criterion: Criterion,
    *,
    horizon: int,
    lower_bound: int,
) -> None:
    """Add ``z`` and the objective; ``starts[j]`` are (start slot, end slot, start variable) of job ``j``.

    The latest end is (T1) with (T3) and (T4), in slots; a sum is (T2), a sum of ends in slots; another maximum
    is (T7).
    """
    is_latest_end = criterion.objective.is_latest_end
    lower_bound = max(lower_bound, criterion.problem.first_slot)
    open_slots = list(range(lower_bound, horizon) if is_latest_end else range(0))
    model.z = pyo.Var(open_slots, domain=pyo.Binary, doc="1 where a job still runs in slot t or later")
    if is_latest_end:
        _add_latest_end(model, starts, horizon, lower_bound)
        return
    terms = {j: [(criterion.cost(j, s, e), x) for s, e, x in of_job] for j, of_job in starts.items()}
    if criterion.is_sum:
        total = pyo.quicksum(cost * x for of_job in terms.values() for cost, x in of_job)
        model.objective = pyo.Objective(expr=total, doc="(T2): minimise the sum of all costs")
        return
    model.cost_unit = unit = cost_unit([cost for of_job in terms.values() for cost, _ in of_job])
    least = max(criterion.alone, default=0.0)
    model.greatest = pyo.Var(bounds=(least / unit, None), doc="the greatest cost of a job, in cost units")
    model.no_greater = pyo.Constraint(
        list(terms),
        rule=lambda m, j: pyo.quicksum(cost / unit * x for cost, x in terms[j]) <= m.greatest,
        doc="(T7): no job costs more than the greatest cost",
    )
    model.objective = pyo.Objective(expr=unit * model.greatest, doc="(T7): minimise the greatest cost")


def cost_unit(costs: Iterable[float]) -> float:
    """Return what costs are counted in by rows: 1 but where they are far from that, for tolerances are absolute.

    A power of two, by which numbers are divided without a rounding.
    """
    largest = max((abs(cost) for cost in costs if cost), default=1.0)
    low, high = ROW_COSTS
    return 1.0 if low <= largest <= high else 2.0 ** round(math.log2(largest / ROW_COST))


def _add_latest_end(
    model: pyo.ConcreteModel, starts: Mapping[int, Sequence[tuple[int, int, Any]]], horizon: int, lower_bound: int
) -> None:
    model.objective = pyo.Objective(
        expr=lower_bound + pyo.quicksum(model.z.values()), doc="(T1): minimise the latest end, in slots"
    )
    open_slots = range(lower_bound, horizon)
    model.monotone = pyo.Constraint(
        [t for t in open_slots if t + 1 < horizon],
        rule=lambda m, t: m.z[t + 1] <= m.z[t],
        doc="(T3): a slot is open only if the one before it is",
    )
    model.still_running = pyo.Constraint(
        list(starts), list(open_slots), doc="(T4): a slot is open where a job has still to end"
    )
    for j, terms in starts.items():
        for t in open_slots:
            late = [x for _, end, x in terms if end > t]
            if late:
                model.still_running[j, t] = pyo.quicksum(late) <= model.z[t]


def by_slot(terms: Iterable[tuple[range, int, Term]]) -> dict[tuple[int, int], list[Term]]:
    """Collect (slots, resource, term) into the terms of each (slot, resource)."""
    usage: dict[tuple[int, int], list[Term]] = defaultdict(list)
    for slots, resource, term in terms:
        for t in slots:
            usage[t, resource].append(term)
    return dict(usage)


def chosen(variables: Any) -> list[Any]:
    """Return the keys of the binary variables that are 1."""
    return [key for key, variable in variables.items() if variable.value is not None and variable.value > 0.5]
