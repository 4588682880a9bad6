"""OAS, mode formulation: time-indexed starts over allocation vectors.

``x[j, p, t] = 1`` when job ``j`` starts at slot ``t`` in mode ``p``. Duration, link loads and
tasks per class of a mode are constants, so nothing is left to linearise. Equations: (C1) to
(C3), and (T1) to (T6) of :mod:`coalloc.models.time_slots`, in docs/mathematics/formulations.md; the problem is that of
thesis 3.2.1 (3.9) to (3.23) with errata 1 to 5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyomo.environ as pyo

from coalloc.models.budgets import add_budgets
from coalloc.models.cluster_rows import add_cluster_rows, set_given
from coalloc.models.time_slots import (
    Term,
    TimeSlots,
    add_capacity_rows,
    add_constraint_rows,
    add_objective,
    add_order_rows,
    add_packing_rows,
    add_resource_rows,
    by_slot,
    chosen,
    refuse_without_start,
    set_profile,
)
from coalloc.objectives import Criterion, Objective
from coalloc.problem import Assignment, Problem
from coalloc.problem.budgets import in_clusters
from coalloc.schedule import Schedule, schedule_of


def build(
    problem: Problem, *, horizon: int, objective: str | Objective = "makespan", lower_bound: int = 0
) -> pyo.ConcreteModel:
    """Return the model; its objective is the cost of the criterion: slots, where jobs cost their ends."""
    time_slots = TimeSlots(problem, horizon)
    model = pyo.ConcreteModel("OAS mode")
    model.problem = problem
    model.criterion = criterion = Criterion.of(problem, objective)
    model.x = pyo.Var(list(_starts(time_slots)), domain=pyo.Binary, doc="1 where job j starts at slot t in mode p")

    starts: dict[int, list[tuple[int, int, pyo.Var]]] = {j: [] for j in range(len(problem.jobs))}
    for (j, p, t), x in model.x.items():
        starts[j].append((t, t + int(problem.modes[j][p].duration), x))
    refuse_without_start(starts, problem, horizon)
    add_objective(model, starts, criterion, horizon=horizon, lower_bound=lower_bound)
    add_constraint_rows(model, starts, problem, horizon)

    model.start_once = pyo.Constraint(
        list(starts),
        rule=lambda _, j: pyo.quicksum(x for *_, x in starts[j]) == 1,
        doc="(C1): every job starts once, in one mode",
    )
    per_slot = "no more tasks on class g in slot t than processors are free"
    add_capacity_rows(model, "processors", by_slot(_task_terms(model)), time_slots.processors, f"(C2): {per_slot}")
    loads, on_link = by_slot(_load_terms(model, problem.contended_links)), "no link k saturates in slot t"
    add_resource_rows(model, "bandwidth", loads, time_slots.left, f"(C3), thesis (3.20), (3.21): {on_link}")
    asked = by_slot(_load_terms(model, problem.contended_memories))
    per_node = "tasks on a node in slot t ask for no more than is free of its memory"
    add_resource_rows(model, "memory", asked, time_slots.left, f"(M1): {per_node}")
    taken, of_pool = by_slot(_load_terms(model, problem.contended_pools)), "tasks take no more units of a pool"
    add_resource_rows(model, "pools", taken, time_slots.left, f"(W1): {of_pool} than are left of it in slot t")
    _add_ties_of_allocations(model)
    active = ((j, range(t, t + int(problem.modes[j][p].duration)), x) for (j, p, t), x in model.x.items())
    add_packing_rows(model, active, time_slots)
    return model


def _add_ties_of_allocations(model: pyo.ConcreteModel) -> None:
    """Add (G3), and (F1) to (F3)."""
    problem: Problem = model.problem
    if not (problem.budgets or problem.cluster_rows.rows):
        return
    tasks = [[in_clusters(problem.allocations, mode.allocation) for mode in modes] for modes in problem.modes]
    if problem.budgets:
        add_budgets(model, ((j, tasks[j][p], x) for (j, p, _), x in model.x.items()))
    inside: dict[tuple[int, int], list[pyo.Var]] = defaultdict(list)
    for (j, p, _), x in model.x.items():
        for c, count in enumerate(tasks[j][p]):
            if count:
                inside[j, c].append(x)
    add_cluster_rows(model, lambda j, c: pyo.quicksum(inside[j, c]))


def _starts(time_slots: TimeSlots) -> Iterator[tuple[int, int, int]]:
    for j, modes in enumerate(time_slots.problem.modes):
        for p, mode in enumerate(modes):
            for t in time_slots.starts(j, int(mode.duration), mode.allocation, mode.loads):
                yield j, p, t


def _task_terms(model: pyo.ConcreteModel) -> Iterator[tuple[range, int, Term]]:
    for (j, p, t), x in model.x.items():
        mode = model.problem.modes[j][p]
        slots = range(t, t + int(mode.duration))
        for g, tasks in enumerate(mode.allocation):
            if tasks:
                yield slots, g, (tasks, x)


def _load_terms(model: pyo.ConcreteModel, resources: Sequence[int]) -> Iterator[tuple[range, int, Term]]:
    for (j, p, t), x in model.x.items():
        mode = model.problem.modes[j][p]
        slots = range(t, t + int(mode.duration))
        for k in resources:
            if mode.loads[k] > 0.0:
                yield slots, k, (mode.loads[k], x)


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``x``."""
    problem: Problem = model.problem
    return schedule_of(problem, [Assignment(j, t, problem.modes[j][p]) for j, p, t in chosen(model.x)])


def order_equal_jobs(model: pyo.ConcreteModel, pairs: Sequence[tuple[int, int]]) -> None:
    """Add that of each pair of equal jobs the first starts no later."""
    add_order_rows(model, ((j, t, x) for (j, _, t), x in model.x.items()), pairs)


def set_start(model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
    """Set every variable to its value in a known schedule."""
    problem: Problem = model.problem
    number = [{c.allocation: p for p, c in enumerate(modes)} for modes in problem.modes]
    active = {(a.job, number[a.job].get(a.mode.allocation, -1), a.start) for a in assignments}
    for key, x in model.x.items():
        x.set_value(int(key in active))
    set_given(model)
    set_profile(model, assignments)


def estimate_nonzeros(problem: Problem, horizon: int) -> int:
    """Return roughly how many nonzeros the model will have."""
    total = 0
    for j, modes in enumerate(problem.modes):
        for mode in modes:
            starts = max(0, horizon - mode.duration - problem.releases[j] + 1)
            resources = sum(1 for tasks in mode.allocation if tasks) * 2
            total += int(starts * (1 + mode.duration * resources))
    return total
