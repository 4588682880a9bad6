"""OAS, count formulation: start slots at a speed level, and tasks per class; no node is named.

``w[j, l, t] = 1`` when job ``j`` starts at slot ``t`` at speed level ``l``: the slowest class that the level
allows fixes the duration (errata 4). ``n[j, l, t, g]`` tasks are on class ``g`` then. The bandwidth (2.6)
is concave in the tasks below a link, so ``q[j, l, t, k, i] = 1`` names their number ``i`` (errata 2): exact,
no relaxation. Equations: (K1) to (K7), and (T1) to (T6) of :mod:`coalloc.models.time_slots`, in
docs/mathematics/formulations.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyomo.environ as pyo

from coalloc.models.budgets import add_budget_rows, set_choices
from coalloc.models.cluster_rows import add_cluster_rows, set_given
from coalloc.models.spreads import CountedJob, add_spread_rows, set_spreads
from coalloc.models.time_slots import (
    Term,
    TimeSlots,
    add_capacity_rows,
    add_constraint_rows,
    add_objective,
    add_order_rows,
    add_packing_rows,
    add_resource_rows,
    add_scope_rows,
    by_slot,
    chosen,
    refuse_without_start,
    set_parts,
    set_profile,
)
from coalloc.objectives import Criterion, Objective
from coalloc.problem import Assignment, Problem
from coalloc.problem.allocation import Stock
from coalloc.problem.execution import link_load
from coalloc.schedule import Schedule, schedule_of


def build(
    problem: Problem, *, horizon: int, objective: str | Objective = "makespan", lower_bound: int = 0
) -> pyo.ConcreteModel:
    """Return the model; its objective is the cost of the criterion: slots, where jobs cost their ends."""
    time_slots = TimeSlots(problem, horizon)
    model = pyo.ConcreteModel("OAS count")
    model.problem = problem
    model.criterion = criterion = Criterion.of(problem, objective)
    model.w = pyo.Var(
        list(_starts(time_slots)),
        domain=pyo.Binary,
        doc="1 where job j starts at slot t at speed level l, fastest first",
    )
    model.n = pyo.Var(
        list(_counts(model)), domain=pyo.NonNegativeIntegers, doc="tasks of job j on class g if it starts so"
    )
    rooms = [problem.allocations.rooms(job) for job in problem.jobs]
    for (j, level, _, g), n in model.n.items():
        n.setub(min(problem.levels[j][level].tasks, rooms[j][g]))

    starts: dict[int, list[tuple[int, int, pyo.Var]]] = {j: [] for j in range(len(problem.jobs))}
    for (j, level, t), w in model.w.items():
        starts[j].append((t, t + _duration(problem, j, level), w))
    refuse_without_start(starts, problem, horizon)
    add_objective(model, starts, criterion, horizon=horizon, lower_bound=lower_bound)
    add_constraint_rows(model, starts, problem, horizon)

    model.start_once = pyo.Constraint(
        list(starts),
        rule=lambda _, j: pyo.quicksum(w for *_, w in starts[j]) == 1,
        doc="(K1): every job starts once, at one level",
    )
    model.gang = pyo.Constraint(
        list(model.w), rule=_gang, doc="(K2), thesis (3.11): a job that starts places all its tasks, on its level"
    )
    model.room = pyo.Constraint(list(model.n), rule=_room, doc="(K3): no more on a class than it has")
    if criterion.end_lags:
        slow = [start for start in model.w if start[0] in criterion.end_lags and start[1]]
        model.exact_level = pyo.Constraint(
            slow, rule=_exact_level, doc="(K8): no level slower than the job is, where a late end is of use"
        )
    _add_scope(model)
    _add_spreads(model)
    _add_ties_of_allocations(model)
    per_slot = "no more tasks on class g in slot t than processors are free"
    add_capacity_rows(model, "processors", by_slot(_task_terms(model)), time_slots.processors, f"(K4): {per_slot}")
    _add_links(model, time_slots)
    per_node = "tasks on a node in slot t ask for no more than is free of its memory"
    add_resource_rows(model, "memory", by_slot(_memory_terms(model)), time_slots.left, f"(M2): {per_node}")
    _add_presence(model)
    of_pool = "tasks take no more units of a pool, or a stock, in slot t than are left of it"
    add_resource_rows(model, "pools", by_slot(_pool_terms(model)), time_slots.left, f"(W2): {of_pool}")
    active = ((j, range(t, t + _duration(problem, j, level)), w) for (j, level, t), w in model.w.items())
    add_packing_rows(model, active, time_slots)
    return model


def _duration(problem: Problem, j: int, level: int) -> int:
    return int(problem.levels[j][level].duration)


def _starts(time_slots: TimeSlots) -> Iterator[tuple[int, int, int]]:
    nothing = [0] * len(time_slots.problem.classes), [0.0] * len(time_slots.problem.resources)
    for j, levels in enumerate(time_slots.problem.levels):
        for level in range(len(levels)):
            for t in time_slots.starts(j, _duration(time_slots.problem, j, level), *nothing):
                yield j, level, t


def _counts(model: pyo.ConcreteModel) -> Iterator[tuple[int, int, int, int]]:
    for j, level, t in model.w:
        for g in model.problem.levels[j][level].classes:
            yield j, level, t, g


def _gang(model: pyo.ConcreteModel, j: int, level: int, t: int) -> pyo.Expression:
    problem: Problem = model.problem
    chosen = problem.levels[j][level]
    return pyo.quicksum(model.n[j, level, t, g] for g in chosen.classes) == chosen.tasks * model.w[j, level, t]


def _room(model: pyo.ConcreteModel, j: int, level: int, t: int, g: int) -> pyo.Expression:
    n = model.n[j, level, t, g]
    return n <= n.ub * model.w[j, level, t]


def _exact_level(model: pyo.ConcreteModel, j: int, level: int, t: int) -> pyo.Expression:
    slowest = model.problem.speeds.slowest_classes(j, level)
    return pyo.quicksum(model.n[j, level, t, g] for g in slowest) >= model.w[j, level, t]


def _add_scope(model: pyo.ConcreteModel) -> None:
    tasks: dict[tuple[int, int], list[pyo.Var]] = defaultdict(list)
    for (j, _, _, g), n in model.n.items():
        tasks[j, g].append(n)
    jobs = range(len(model.problem.jobs))
    add_scope_rows(model, lambda j, part: pyo.quicksum(n for g in part for n in tasks[j, g]), jobs)


def _add_ties_of_allocations(model: pyo.ConcreteModel) -> None:
    """Add (G1) to (G3), and (F1) to (F3)."""
    problem: Problem = model.problem
    counts: dict[tuple[int, int], list[tuple[pyo.Var, int]]] = defaultdict(list)
    for (j, level, _, g), n in model.n.items() if problem.budgets or problem.cluster_rows.rows else ():
        counts[j, problem.classes[g].cluster].append((n, problem.levels[j][level].tasks))
    add_budget_rows(model, lambda j, c: pyo.quicksum(n for n, _ in counts[j, c]))
    add_cluster_rows(model, lambda j, c: pyo.quicksum(n / tasks for n, tasks in counts[j, c]))


def _add_spreads(model: pyo.ConcreteModel) -> None:
    """Add (D1) to (D5) for each job in each of its shapes."""
    problem: Problem = model.problem
    counts: dict[tuple[int, int, int], list[pyo.Var]] = defaultdict(list)
    for (j, level, _, g), n in model.n.items() if problem.allocations.restricts_spreads else ():
        counts[j, problem.levels[j][level].tasks, problem.classes[g].cluster].append(n)
    starts: dict[tuple[int, int], list[pyo.Var]] = defaultdict(list)
    for (j, level, _), w in model.w.items():
        starts[j, problem.levels[j][level].tasks].append(w)
    clusters = range(len(problem.instance.platform.clusters))
    add_spread_rows(
        model,
        {
            (j, tasks): CountedJob(
                problem.allocations.shape_of(problem.jobs[j], tasks),
                [pyo.quicksum(counts[j, tasks, c]) for c in clusters],
                pyo.quicksum(of_shape),
            )
            for (j, tasks), of_shape in starts.items()
        },
    )


def _task_terms(model: pyo.ConcreteModel) -> Iterator[tuple[range, int, Term]]:
    for (j, level, t, g), n in model.n.items():
        yield range(t, t + _duration(model.problem, j, level)), g, (1, n)


def _memory_terms(model: pyo.ConcreteModel) -> Iterator[tuple[range, int, Term]]:
    problem: Problem = model.problem
    memory_of = {problem.resources[k].classes: k for k in problem.contended_memories}
    for (j, level, t, g), n in model.n.items() if memory_of else ():
        if (g,) in memory_of and problem.jobs[j].memory:
            yield range(t, t + _duration(problem, j, level)), memory_of[g,], (problem.jobs[j].memory, n)


def _add_presence(model: pyo.ConcreteModel) -> None:
    """Add (R1): whether a job that starts so has tasks in the place of a stock of which it takes something by that."""
    problem: Problem = model.problem
    stocks = [(k, stock) for k, stock in problem.allocations.stocks if k in problem.contended_stocks]
    local = {(j, k): stock for k, stock in stocks for j in range(len(problem.jobs)) if _is_local(problem, j, stock)}
    model.u = pyo.Var(
        [(j, level, t, k) for j, level, t in model.w for k, _ in stocks if (j, k) in local],
        domain=pyo.Binary,
        doc="1 where job j, if it starts so, has tasks in the place of stock k",
    )

    def present(m: pyo.ConcreteModel, j: int, level: int, t: int, k: int) -> pyo.Expression:
        inside = [m.n[j, level, t, g] for g in local[j, k].classes if (j, level, t, g) in m.n]
        most = min(problem.levels[j][level].tasks, sum(n.ub for n in inside))
        return pyo.quicksum(inside) - most * m.u[j, level, t, k] <= 0

    model.present = pyo.Constraint(list(model.u), rule=present, doc="(R1): a place in which it has tasks is one")


def _is_local(problem: Problem, j: int, stock: Stock) -> bool:
    """Return whether a job takes something by being in the place of a stock, and may be elsewhere."""
    return stock.level != "platform" and stock.parts(problem.jobs[j])[0] > 0.0


def _pool_terms(model: pyo.ConcreteModel) -> Iterator[tuple[range, int, Term]]:
    problem: Problem = model.problem
    pools = problem.countables
    for (j, level, t, g), n in model.n.items() if pools else ():
        for k, pool in pools:
            units = pool.parts(problem.jobs[j])[1] if g in pool.classes else 0.0
            if units:
                yield range(t, t + _duration(problem, j, level)), k, (units, n)
    whole = {(j, k): s.parts(job)[0] for k, s in problem.allocations.stocks for j, job in enumerate(problem.jobs)}
    for (j, level, t, k), u in model.u.items():
        yield range(t, t + _duration(problem, j, level)), k, (whole[j, k], u)
    everywhere = [k for k, s in problem.allocations.stocks if s.level == "platform" and k in problem.contended_stocks]
    for (j, level, t), w in model.w.items() if everywhere else ():
        for k in everywhere:
            if whole[j, k]:
                yield range(t, t + _duration(problem, j, level)), k, (whole[j, k], w)


def _add_links(model: pyo.ConcreteModel, time_slots: TimeSlots) -> None:
    """Add (K5) one number of tasks below each contended link, (K6) its tie to n, (K7) the load per slot."""
    problem = time_slots.problem
    below = {k: problem.resources[k].classes for k in problem.contended_links}
    shapes = {
        (j, lv): problem.allocations.shape_of(job, level.tasks)
        for j, (job, levels) in enumerate(zip(problem.jobs, problem.levels, strict=True))
        for lv, level in enumerate(levels)
    }
    loading = [(j, lv, t) for j, lv, t in model.w if shapes[j, lv].task_bandwidth and shapes[j, lv].tasks > 1]
    keys = [(*start, k) for start in loading for k in problem.contended_links]
    numbers = {(j, lv, k): problem.allocations.tasks_within(shapes[j, lv], k) for j, lv, _, k in keys}
    model.q = pyo.Var(
        [
            (j, lv, t, k, i)
            for j, lv, t, k in keys
            for i in numbers[j, lv, k]
            if link_load(i, shapes[j, lv]) <= problem.allocations.limits[k]
        ],
        domain=pyo.Binary,
        doc="1 where job j, if it starts so, has i tasks below link k",
    )

    def choices(j: int, lv: int, t: int, k: int) -> list[tuple[int, pyo.Var]]:
        return [(i, model.q[j, lv, t, k, i]) for i in numbers[j, lv, k] if (j, lv, t, k, i) in model.q]

    def tie(m: pyo.ConcreteModel, j: int, lv: int, t: int, k: int) -> pyo.Expression:
        tasks = pyo.quicksum(m.n[j, lv, t, g] for g in below[k] if (j, lv, t, g) in m.n)
        return pyo.quicksum(i * q for i, q in choices(j, lv, t, k)) - tasks == 0

    model.one_number = pyo.Constraint(
        keys,
        rule=lambda m, j, lv, t, k: pyo.quicksum(q for _, q in choices(j, lv, t, k)) == m.w[j, lv, t],
        doc="(K5): one number of tasks below a link",
    )
    model.number_below = pyo.Constraint(keys, rule=tie, doc="(K6): which is that of the tasks on classes below it")
    terms = (
        (range(t, t + _duration(problem, j, lv)), k, (link_load(i, shapes[j, lv]), q))
        for (j, lv, t, k, i), q in model.q.items()
        if 0 < i < shapes[j, lv].tasks
    )
    add_resource_rows(model, "bandwidth", by_slot(terms), time_slots.left, "(K7): no link k saturates in slot t")


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``w`` and ``n``, with the exact duration of what was placed."""
    problem: Problem = model.problem
    assignments = []
    for j, level, t in chosen(model.w):
        counts = [0] * len(problem.classes)
        for g in problem.levels[j][level].classes:
            counts[g] = round(model.n[j, level, t, g].value or 0)
        assignments.append(Assignment(j, t, problem.allocations.mode(problem.jobs[j], counts)))
    return schedule_of(problem, assignments)


def order_equal_jobs(model: pyo.ConcreteModel, pairs: Sequence[tuple[int, int]]) -> None:
    """Add that of each pair of equal jobs the first starts no later."""
    add_order_rows(model, ((j, t, w) for (j, _, t), w in model.w.items()), pairs)


def set_start(model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
    """Set every variable to its value in a known schedule."""
    problem: Problem = model.problem
    counts: dict[tuple[int, int, int], Sequence[int]] = {}
    for a in assignments:
        level = problem.speeds.level_of(a.job, a.mode)
        counts[a.job, level, int(a.start)] = a.mode.allocation
    for key, w in model.w.items():
        w.set_value(int(key in counts))
    for (j, level, t, g), n in model.n.items():
        n.set_value(counts[j, level, t][g] if (j, level, t) in counts else 0)
    for (j, level, t, k, i), q in model.q.items():
        allocation = counts.get((j, level, t))
        inside = -1 if allocation is None else sum(allocation[g] for g in problem.resources[k].classes)
        q.set_value(int(i == inside))
    for (j, level, t, k), u in model.u.items():
        u.set_value(
            int(any(counts.get((j, level, t), ())[g] for g in problem.resources[k].classes if (j, level, t) in counts))
        )
    set_parts(model, assignments, range(len(problem.jobs)))
    set_spreads(model)
    set_choices(model)
    set_given(model)
    set_profile(model, assignments)


def estimate_nonzeros(problem: Problem, horizon: int) -> int:
    """Return roughly how many nonzeros the model will have."""
    total = 0.0
    for job, release, levels in zip(problem.jobs, problem.releases, problem.levels, strict=True):
        for level in levels:
            shape = problem.allocations.shape_of(job, level.tasks)
            loading = shape.task_bandwidth > 0.0 and shape.tasks > 1
            numbers = (
                sum(len(problem.allocations.tasks_within(shape, k)) for k in problem.contended_links) if loading else 0
            )
            starts = max(0.0, horizon - level.duration - release + 1)
            total += starts * (
                level.duration + len(level.classes) * (level.duration + 3) + numbers * (level.duration + 2)
            )
    return int(total)
