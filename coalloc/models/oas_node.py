"""OAS, node formulation: the model of the paper, in its own variables, with the errata corrected.

It is the reference that the others are measured against, so nothing else is improved. Jobs, processors and links have
their names, as in ``X["J1", "C1/0", 3]``; slots are ``t = 1 .. theta`` as in the paper: ``s`` is an instant, ``f`` the
last slot (both in slots). A job that has several shapes is a job for each of them here, of which one runs. Each
component says what it is (``doc``), so that ``model.pprint()`` reads like Figure 3.13 of the thesis; where there are
two numbers, the first is the paper's.
Source: paper section 3.2, equations (9) to (23); thesis Figure 3.13, (3.9) to (3.23); errata 1 to 4.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyomo.environ as pyo

from coalloc.instance import CoallocError, Job
from coalloc.models.budgets import add_budget_rows, set_choices
from coalloc.models.cluster_rows import add_cluster_rows, set_given
from coalloc.models.names import add_job_parameters, add_platform_parameters, job_names, processors_by_name, unique
from coalloc.models.spreads import CountedJob, add_spread_rows, set_spreads
from coalloc.models.time_slots import TimeSlots, add_scope_rows, chosen, set_parts
from coalloc.objectives import Criterion, Objective, RegularObjective
from coalloc.problem import Assignment, NotTogetherRow, Problem
from coalloc.problem.execution import link_load
from coalloc.schedule import Occupation, Schedule, assign_nodes, schedule_of

LARGEST_BANDWIDTH = 100.0
"""Number to which the largest load of a link is scaled. With 1e4, as in the other models, HiGHS cut off an optimum."""


def build(
    problem: Problem,
    *,
    horizon: int,
    objective: str | Objective = "makespan",
    lower_bound: int = 0,  # noqa: ARG001 - one signature for all
) -> pyo.ConcreteModel:
    """Return the model; the objective is in slots. The lower bound is not used: the paper has none."""
    if problem.slot is None or problem.rounding == "down":
        raise CoallocError("the node formulation requires a time slot and durations rounded up; use formulation='mode'")
    model = pyo.ConcreteModel("OAS node")
    model.problem = problem
    model.criterion = Criterion.of(problem, objective)
    _add_sets_and_variables(model, horizon)
    _add_shapes(model)
    _add_placement(model)
    _add_durations(model)
    _add_links(model, horizon)
    _add_memories(model, horizon)
    _add_pools(model, horizon)
    of_job = dict(zip(job_names(problem), model.runs_of, strict=True))
    add_scope_rows(
        model,
        lambda j, part: pyo.quicksum(
            model.Z[run, r] for run in of_job[j] for r in model.R if model.class_of[r] in part
        ),
        list(of_job),
    )
    _add_spreads(model)
    _add_calendars(model)
    _add_ties_of_allocations(model)
    _add_constraints(model)
    _add_exact_ends(model)
    _add_objective(model, model.criterion.objective)
    return model


def _add_sets_and_variables(model: pyo.ConcreteModel, theta: int) -> None:
    problem: Problem = model.problem
    model.class_of = processors_by_name(problem)
    model.rigid, model.runs_of = _runs(problem)
    add_platform_parameters(model)
    add_job_parameters(model, model.rigid)
    model.T = pyo.RangeSet(1, theta, doc="slots")
    model.theta = pyo.Param(initialize=theta, doc="number of slots: by then every job has ended")
    model.eta = pyo.Param(initialize=problem.slot, doc="length of a slot, s")
    releases = {run: release for runs, release in zip(model.runs_of, problem.releases, strict=True) for run in runs}
    free_from = dict.fromkeys(model.R, 0)
    started = (run for run in problem.instance.running if run.start <= 0.0)
    for run, busy in zip(started, problem.busy, strict=True):
        free_from |= {name: int(busy.end) for name in run.nodes}
    closed = {
        (g, t)
        for block in problem.blocks
        for g, held in enumerate(block.allocation)
        if held
        for t in range(int(block.start) + 1, int(block.end) + 1)
    }
    rooms = {j: problem.allocations.rooms(job) for j, job in model.rigid.items()}
    model.X = pyo.Var(
        [
            (j, r, t)
            for j in model.J
            for r in model.R
            if rooms[j][model.class_of[r]]
            for t in range(max(int(releases[j]), free_from[r]) + 1, theta + 1)
            if (model.class_of[r], t) not in closed
        ],
        domain=pyo.Binary,
        doc="(23), thesis (3.22): 1 where job j is on processor r in slot t",
    )
    model.Z = pyo.Var(
        model.J, model.R, domain=pyo.Binary, doc="(23), thesis (3.22): 1 where job j is given processor r"
    )
    model.Y = pyo.Var(model.J, model.T, domain=pyo.Binary, doc="(23), thesis (3.22): 1 where job j starts in slot t")
    model.s = pyo.Var(model.J, domain=pyo.NonNegativeReals, doc="(23), thesis (3.22): start of job j, in slots from 0")
    model.f = pyo.Var(
        model.J, domain=pyo.NonNegativeReals, bounds=(0, theta), doc="(23), thesis (3.22): the last slot of job j"
    )
    model.SP = pyo.Var(model.J, domain=pyo.NonNegativeReals, doc="processing slowdown of job j")
    model.ct = pyo.Var(
        model.J, domain=pyo.NonNegativeReals, doc="(23), thesis (3.22): execution time of job j over its base time"
    )
    model.in_slot = defaultdict(list)
    for (j, r, t), x in model.X.items():
        model.in_slot[j, t].append((r, x))


def _runs(problem: Problem) -> tuple[dict[str, Job], list[list[str]]]:
    """Return the rigid jobs by their names, and for each job the names of those that it may run as.

    A job of one shape goes by its id, the shapes of another by that and their tasks.
    """
    pairs = [(problem.allocations.shapes(job), job.id) for job in problem.jobs]
    shapes = [shape for of_job, _ in pairs for shape in of_job]
    wanted = (f"{job} ({s.tasks})" if len(of_job) > 1 else job for of_job, job in pairs for s in of_job)
    names = list(unique(wanted))
    left = iter(names)
    return dict(zip(names, shapes, strict=True)), [[next(left) for _ in of_job] for of_job, _ in pairs]


def _add_shapes(model: pyo.ConcreteModel) -> None:
    """Add ``shape``, 1 where a job runs in a shape, for jobs that have several."""
    moldable = [runs for runs in model.runs_of if len(runs) > 1]
    if not moldable:
        return
    names = [run for runs in moldable for run in runs]
    model.shape = pyo.Var(names, domain=pyo.Binary, doc="1 where a job of several shapes has this one")
    model.one_shape = pyo.ConstraintList(doc="(T17), ours: a job has one of its shapes")
    for runs in moldable:
        model.one_shape.add(pyo.quicksum(model.shape[run] for run in runs) == 1)


def _add_calendars(model: pyo.ConcreteModel) -> None:
    """Fix to 0 the starts that calendars exclude."""
    problem: Problem = model.problem
    for j in problem.calendars:
        for run, t in ((run, t) for run in model.runs_of[j] for t in model.T):
            if problem.allowed_from(j, t - 1) != t - 1:
                model.Y[run, t].fix(0)


def _add_ties_of_allocations(model: pyo.ConcreteModel) -> None:
    """Add (G1) to (G3), and (F1) to (F3)."""
    problem: Problem = model.problem
    inside = [[r for r, g in model.class_of.items() if problem.classes[g].cluster == c] for c in _clusters(problem)]
    add_budget_rows(model, lambda j, c: pyo.quicksum(model.Z[run, r] for run in model.runs_of[j] for r in inside[c]))
    add_cluster_rows(
        model,
        lambda j, c: pyo.quicksum(model.Z[run, r] / model.tau[run] for run in model.runs_of[j] for r in inside[c]),
    )


def _clusters(problem: Problem) -> range:
    return range(len(problem.instance.platform.clusters))


def _add_spreads(model: pyo.ConcreteModel) -> None:
    """Add (D1) to (D5) for each job in each of its shapes."""
    problem: Problem = model.problem
    inside: list[list[str]] = [[] for _ in problem.instance.platform.clusters]
    for r, g in model.class_of.items():
        inside[problem.classes[g].cluster].append(r)

    def tasks(run: str) -> list[Any]:
        return [pyo.quicksum(model.Z[run, r] for r in processors) for processors in inside]

    spread = {run: job for run, job in model.rigid.items() if problem.allocations.spread(job) is not None}
    add_spread_rows(model, {run: CountedJob(job, tasks(run), _runs_as(model, run)) for run, job in spread.items()})


def _runs_as(model: pyo.ConcreteModel, j: str) -> Any:
    """Return 1 where a job runs as this one: always, unless it has several shapes."""
    shape = model.component("shape")
    return 1 if shape is None or j not in shape else shape[j]


def _add_fixed_counts(model: pyo.ConcreteModel) -> None:
    """Add that no more tasks of a job are on a class than are fixed there, where less than the class holds are."""
    problem: Problem = model.problem
    fixed = {
        (j, g): most
        for j, job in model.rigid.items()
        for g, node_class in enumerate(problem.classes)
        if (most := problem.declared.of(job.id).most_on(problem.allocations.first_nodes[g])) < node_class.capacity
    }
    members = {g: [r for r in model.R if model.class_of[r] == g] for _, g in fixed}
    if fixed:
        model.fixed_counts = pyo.Constraint(
            list(fixed),
            rule=lambda m, j, g: pyo.quicksum(m.Z[j, r] for r in members[g]) <= fixed[j, g],
            doc="(T18), ours: no more tasks of a job on a class than are fixed there",
        )


def _add_placement(model: pyo.ConcreteModel) -> None:
    at = defaultdict(list)
    of = defaultdict(list)
    for (j, r, t), x in model.X.items():
        at[r, t].append(x)
        of[j, r].append(x)
    placed = model.X.index_set()
    model.eq10 = pyo.Constraint(
        list(at),
        rule=lambda _, r, t: pyo.quicksum(at[r, t]) <= 1,
        doc="(10), thesis (3.9): one job on a processor at a time",
    )
    model.eq11_from_below = pyo.Constraint(
        placed,
        rule=lambda m, j, r, t: m.Z[j, r] >= m.X[j, r, t],
        doc="(11), thesis (3.10): Z is the greatest X of all slots, from below",
    )
    model.eq11_from_above = pyo.Constraint(
        model.J,
        model.R,
        rule=lambda m, j, r: m.Z[j, r] <= pyo.quicksum(of[j, r]) if (j, r) in of else m.Z[j, r] == 0,
        doc="(11), thesis (3.10): Z is the greatest X of all slots, from above",
    )
    model.eq12 = pyo.Constraint(
        model.J,
        rule=lambda m, j: pyo.quicksum(m.Z[j, r] for r in m.R) == m.tau[j] * _runs_as(m, j),
        doc="(12), thesis (3.11): every task of a job is placed",
    )
    _add_fixed_counts(model)
    model.eq13 = pyo.Constraint(
        placed,
        rule=lambda m, j, r, t: pyo.quicksum(x for _, x in m.in_slot[j, t]) >= m.tau[j] * m.X[j, r, t],
        doc="(13), thesis (3.12): all tasks of a job run at the same time",
    )
    model.eq14 = pyo.Constraint(
        [(j, r, t, later) for j, r, t in model.X for later in range(t + 1, model.T.last() + 1)],
        rule=lambda m, j, r, t, later: m.X[j, r, t] <= 1 - m.Y[j, later],
        doc="(14), thesis (3.13): nothing of a job runs before the slot in which it starts",
    )
    model.eq15 = pyo.Constraint(
        model.J,
        rule=lambda m, j: pyo.quicksum(m.Y[j, t] for t in m.T) == _runs_as(m, j),
        doc="(15), thesis (3.14): every job starts once",
    )
    model.eq16 = pyo.Constraint(
        model.J,
        rule=lambda m, j: m.s[j] == pyo.quicksum(t * m.Y[j, t] for t in m.T) - _runs_as(m, j),
        doc="(16), thesis (3.15): s is the instant at which the slot of the start begins",
    )
    # f is at least each slot that is used here; (19) keeps it from being later
    model.eq17 = pyo.Constraint(
        placed,
        rule=lambda m, j, r, t: m.f[j] >= t * m.X[j, r, t],
        doc="(17), thesis (3.16): f is the last slot that a job uses",
    )


def _add_durations(model: pyo.ConcreteModel) -> None:
    problem: Problem = model.problem
    base_slots = {j: model.Tb[j] / problem.clock.seconds(1) for j in model.J}
    jobs: dict[str, Job] = model.rigid
    used = defaultdict(list)
    for (j, _, _), x in model.X.items():
        used[j].append(x)
    model.slowest = pyo.Constraint(
        model.J,
        model.R,
        rule=lambda m, j, r: m.SP[j] >= m.Z[j, r] * _slowness(problem, jobs[j], m.class_of[r]),
        doc="(3), thesis (2.5): the slowest processor of a job slows it down (missing in the sources' list: erratum 4)",
    )
    # Of a job that names times SP is all of its slowdown.
    share = {j: 1.0 if job.times else model.sigma[j] for j, job in jobs.items()}
    model.eq18 = pyo.Constraint(
        model.J,
        rule=lambda m, j: m.ct[j] == share[j] * m.SP[j] + (1 - share[j]) * _runs_as(m, j),
        doc="(18), thesis (3.17): ct from the processing slowdown alone, for links do not saturate",
    )
    room = {j: _rounding_room(problem, job) for j, job in jobs.items()}
    model.eq19 = pyo.Constraint(
        model.J,
        rule=lambda m, j: m.f[j] - m.s[j] <= base_slots[j] * m.ct[j] + room[j] * _runs_as(m, j),
        doc="(19), thesis (3.18): from start to last slot a job takes what it runs, rounded up (erratum 1)",
    )
    model.eq20 = pyo.Constraint(
        model.J,
        rule=lambda m, j: pyo.quicksum(used[j]) >= base_slots[j] * m.tau[j] * m.ct[j],
        doc="(20), thesis (3.19): all tasks of a job get the slots that it needs",
    )


def _slowness(problem: Problem, job: Job, g: int) -> float:
    """Return what SP is at least where a job has a task on class ``g``."""
    return (
        problem.allocations.class_times(job)[g] / job.base_time
        if job.times
        else 1.0 / problem.classes[g].effective_power
    )


def _rounding_room(problem: Problem, job: Job) -> float:
    """Return the share of a slot that rounding up may add to the slots of a job in (19).

    Anything from the largest rounding of the job up to, but without, 1 is right. Halfway between keeps
    away from both by more than a solver's feasibility tolerance (errata 1 has 1 - 1e-6, which does not).
    """
    seconds = problem.allocations.class_times(job)
    largest = max(problem.clock.ticks(time) - time / problem.clock.seconds(1) for time in seconds)
    return (1.0 + largest) / 2.0


def _add_links(model: pyo.ConcreteModel, theta: int) -> None:
    """Add BW, linked to X by the number of tasks below each link (errata 2), (21) and (22).

    The unit of BW and ABW is such that the largest load of a link is ``LARGEST_BANDWIDTH``.
    """
    problem: Problem = model.problem
    free = TimeSlots(problem, theta, first=0).left
    index = {name: k for k, name in enumerate(model.K)}
    jobs: dict[str, Job] = model.rigid
    units = {name: LARGEST_BANDWIDTH / (max(_loads(problem, k)) or LARGEST_BANDWIDTH) for name, k in index.items()}
    loads = {
        (j, k): [units[k] * link_load(i, job) for i in range(job.tasks + 1)] for j, job in jobs.items() for k in model.K
    }
    below = {name: problem.resources[k].classes for name, k in index.items()}
    model.BW = pyo.Var(
        model.J,
        model.K,
        model.T,
        domain=pyo.NonNegativeReals,
        doc=f"load of job j on link k in slot t, in units in which the largest of the link is {LARGEST_BANDWIDTH:g}",
    )
    model.ABW = pyo.Var(
        model.K,
        model.T,
        domain=pyo.NonNegativeReals,
        doc="(22), thesis (3.21): what is left of link k in slot t, in the same units: no link saturates",
    )
    keys = [(j, k, t) for j, t in model.in_slot for k in model.K]
    model.tasks_below = pyo.Var(
        [(j, k, t, i) for j, k, t in keys for i in range(jobs[j].tasks + 1)],
        domain=pyo.Binary,
        doc="1 where job j has i tasks below link k in slot t (ours: erratum 2)",
    )

    def numbered(j: str, k: str, t: int) -> list[tuple[int, pyo.Var]]:
        return [(i, model.tasks_below[j, k, t, i]) for i in range(jobs[j].tasks + 1)]

    def count(_: pyo.ConcreteModel, j: str, k: str, t: int) -> pyo.Expression:
        here = pyo.quicksum(x for r, x in model.in_slot[j, t] if model.class_of[r] in below[k])
        return pyo.quicksum(i * v for i, v in numbered(j, k, t)) - here == 0

    def load(m: pyo.ConcreteModel, j: str, k: str, t: int) -> pyo.Expression:
        if (j, t) not in m.in_slot:
            return m.BW[j, k, t] == 0
        return m.BW[j, k, t] == pyo.quicksum(loads[j, k][i] * v for i, v in numbered(j, k, t))

    model.one_number = pyo.Constraint(
        keys,
        rule=lambda _, j, k, t: pyo.quicksum(v for _, v in numbered(j, k, t)) == 1,
        doc="(4a), ours: one number of tasks below a link",
    )
    model.number_below = pyo.Constraint(
        keys, rule=count, doc="(4b), ours: which is that of the tasks on processors below it"
    )
    model.eq4 = pyo.Constraint(
        model.J,
        model.K,
        model.T,
        rule=load,
        doc="(4), thesis (2.6): the load of a job on a link, a table of it at each number of tasks below",
    )
    model.eq21 = pyo.Constraint(
        model.K,
        model.T,
        rule=lambda m, k, t: (
            m.ABW[k, t] == units[k] * float(free[t - 1, index[k]]) - pyo.quicksum(m.BW[j, k, t] for j in m.J)
        ),
        doc="(21), thesis (3.20): what the jobs leave of a link, one row per link and slot (erratum 3)",
    )


def _add_memories(model: pyo.ConcreteModel, theta: int) -> None:
    """Add (M3): the tasks on a node of several cores ask for no more than its memory, in units of that."""
    problem: Problem = model.problem
    free = TimeSlots(problem, theta, first=0).left
    memories = {problem.resources[k].name: k for k in problem.contended_memories}
    memory = {j: job.memory or 0.0 for j, job in model.rigid.items()}
    on_node: dict[tuple[str, int], list[tuple[float, pyo.Var]]] = defaultdict(list)
    for (j, t), placed in model.in_slot.items():
        for node, k in memories.items() if memory[j] else ():
            terms = [x for r, x in placed if (model.class_of[r],) == problem.resources[k].classes]
            on_node[node, t] += [(memory[j] / problem.allocations.limits[k], x) for x in terms]
    model.memory = pyo.Constraint(
        [key for key, terms in on_node.items() if terms],
        rule=lambda _, node, t: (
            pyo.quicksum(share * x for share, x in on_node[node, t])
            <= float(free[t - 1, memories[node]]) / problem.allocations.limits[memories[node]]
        ),
        doc="(M3), ours: tasks on a node ask for no more than its memory",
    )


def _add_pools(model: pyo.ConcreteModel, theta: int) -> None:
    """Add (W3): what jobs take of a pool, or of a stock, is no more than is left of it, as a share of all there is."""
    problem: Problem = model.problem
    free = TimeSlots(problem, theta, first=0).left
    pools = {pool.name: (k, pool) for k, pool in problem.countables}
    unit = {name: problem.allocations.limits[k] or 1.0 for name, (k, _) in pools.items()}
    parts = {(j, name): pool.parts(job) for j, job in model.rigid.items() for name, (_, pool) in pools.items()}
    inside = {
        (j, name, t): [x for r, x in placed if model.class_of[r] in pool.classes]
        for (j, t), placed in (model.in_slot.items() if pools else ())
        for name, (_, pool) in pools.items()
        if any(parts[j, name])
    }
    model.in_place = pyo.Var(
        [(j, name, t) for (j, name, t), of_key in inside.items() if of_key and parts[j, name][0]],
        bounds=(0, 1),
        doc="1 where job j has tasks in the place of a stock in slot t",
    )
    model.present = pyo.Constraint(
        [(*key, i) for key in model.in_place for i in range(len(inside[key]))],
        rule=lambda m, j, name, t, i: m.in_place[j, name, t] >= inside[j, name, t][i],
        doc="(R2), ours: a place in which it has a task is one",
    )
    taken: dict[tuple[str, int], list[pyo.Expression]] = defaultdict(list)
    for (j, name, t), of_key in inside.items():
        whole, per_task = parts[j, name]
        taken[name, t] += [per_task / unit[name] * x for x in of_key if per_task]
        if (j, name, t) in model.in_place:
            taken[name, t].append(whole / unit[name] * model.in_place[j, name, t])
    model.pools = pyo.Constraint(
        [key for key, terms in taken.items() if terms],
        rule=lambda _, name, t: pyo.quicksum(taken[name, t]) <= float(free[t - 1, pools[name][0]]) / unit[name],
        doc="(W3), ours: jobs take no more units of a pool, or a stock, than are left of it",
    )


def _add_constraints(model: pyo.ConcreteModel) -> None:
    """Add what the constraints of the problem ask for, as (T8) and (T9); a job runs where all its tasks are."""
    problem: Problem = model.problem
    if not problem.rows and all(map(math.isinf, problem.latest_ends)):
        return
    runs_of: list[list[str]] = model.runs_of
    model.times = pyo.ConstraintList(doc="(T8), ours: latest ends, and least differences between times of jobs")
    model.not_together = pyo.ConstraintList(doc="(T9), ours: jobs that do not run at the same time")
    for runs, latest in zip(runs_of, problem.latest_ends, strict=True):
        if math.isfinite(latest):
            for j in runs:
                model.times.add(model.f[j] <= latest)
    for row in problem.rows:
        if isinstance(row, NotTogetherRow):
            for t in model.T:
                running = [run for j in row.jobs for run in runs_of[j]]
                shares = [x / model.tau[j] for j in running for _, x in model.in_slot[j, t]]
                if shares:
                    model.not_together.add(pyo.quicksum(shares) <= 1)
        else:
            times = (
                (f, (model.s if which == "start" else model.f)[i]) for f, which, j in row.terms for i in runs_of[j]
            )
            model.times.add(pyo.quicksum(f * instant for f, instant in times) >= row.least)


def _add_exact_ends(model: pyo.ConcreteModel) -> None:
    """Make SP exact, and f the last slot used, where a row asks for a late end.

    Everywhere else a larger one is of no use to any row, nor to a regular objective.
    """
    problem: Problem = model.problem
    if not problem.end_lags:
        return
    jobs: dict[str, Job] = model.rigid
    held = [run for j in problem.end_lags for run in model.runs_of[j]]
    slowest = {
        (run, level): problem.speeds.slowest_classes(j, level)
        for j in problem.end_lags
        for run in model.runs_of[j]
        for level, of_shape in enumerate(problem.levels[j])
        if of_shape.tasks == jobs[run].tasks
    }
    slowness = {key: max(_slowness(problem, jobs[key[0]], g) for g in of_key) for key, of_key in slowest.items()}
    used = {j: [x for (i, _, _), x in model.X.items() if i == j] for j in held}

    def on_slowest(m: pyo.ConcreteModel, j: str, level: int) -> pyo.Expression:
        return pyo.quicksum(m.Z[j, r] for r in m.R if m.class_of[r] in slowest[j, level])

    def of_job(m: pyo.ConcreteModel, j: str) -> list[tuple[float, pyo.Var]]:
        return [(slowness[i, level], m.level[i, level]) for i, level in slowest if i == j]

    model.level = pyo.Var(list(slowest), domain=pyo.Binary, doc="1 where job j runs at this speed level, fastest first")
    model.one_level = pyo.Constraint(
        held,
        rule=lambda m, j: pyo.quicksum(chosen for _, chosen in of_job(m, j)) == _runs_as(m, j),
        doc="(T12), ours: one speed level",
    )
    model.exact_level = pyo.Constraint(
        list(slowest),
        rule=lambda m, j, level: m.level[j, level] <= on_slowest(m, j, level),
        doc="(T13), ours: on which a processor makes it one",
    )
    model.exact_power = pyo.Constraint(
        held,
        rule=lambda m, j: m.SP[j] <= pyo.quicksum(slow * chosen for slow, chosen in of_job(m, j)),
        doc="(T14), ours: and which is the slowest that SP may be",
    )
    model.exact_end = pyo.Constraint(
        held,
        rule=lambda m, j: m.f[j] <= m.s[j] + pyo.quicksum(used[j]) / m.tau[j],
        doc="(T15), ours: f is the last slot used",
    )


def _loads(problem: Problem, link: int) -> Iterator[float]:
    """Yield every load that a job may put on a link, MB/s."""
    for shape in (shape for job in problem.jobs for shape in problem.allocations.shapes(job)):
        for number in problem.allocations.tasks_within(shape, link):
            yield link_load(number, shape)


def _add_objective(model: pyo.ConcreteModel, objective: RegularObjective) -> None:
    if not objective.counts_ends:
        raise CoallocError(
            f"the node formulation does not support objective {objective.name!r}; use formulation='mode'"
        )
    if objective.aggregate == "sum":
        model.objective = pyo.Objective(expr=pyo.quicksum(model.f.values()), doc="minimise the sum of the last slots")
    else:
        model.last = pyo.Var(domain=pyo.NonNegativeReals, doc="the last slot of all jobs")
        model.eq9 = pyo.Constraint(
            model.J,
            rule=lambda m, j: m.last >= m.f[j],
            doc="(9), thesis (3.23): the makespan is the greatest last slot of the jobs",
        )
        model.objective = pyo.Objective(expr=model.last, doc="(9), thesis (3.23): minimise the makespan, in slots")


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``Y`` and ``Z``; nodes of a class are named afresh by colouring."""
    problem: Problem = model.problem
    start = {j: t - 1 for j, t in chosen(model.Y)}
    counts = {j: [0] * len(problem.classes) for j in model.J}
    for j, r in chosen(model.Z):
        counts[j][model.class_of[r]] += 1
    number = {run: j for j, runs in enumerate(model.runs_of) for run in runs}
    return schedule_of(
        problem,
        [
            Assignment(number[name], begin, problem.allocations.mode(problem.jobs[number[name]], counts[name]))
            for name, begin in start.items()
        ],
    )


def order_equal_jobs(model: pyo.ConcreteModel, pairs: Sequence[tuple[int, int]]) -> None:
    """Add that of each pair of equal jobs the first starts no later, (T16)."""
    starts = [pyo.quicksum(model.s[run] for run in runs) for runs in model.runs_of]
    model.equal_jobs = pyo.ConstraintList(doc="(T16): equal jobs start in their order")
    for one, other in pairs:
        model.equal_jobs.add(starts[one] <= starts[other])


def set_start(model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
    """Set X, Y, Z and the numbers of tasks below links to their values in a known schedule."""
    problem: Problem = model.problem
    intervals = [
        Occupation(
            problem.jobs[a.job].id,
            problem.clock.seconds_of(a.start),
            problem.clock.seconds_of(a.end),
            a.mode.allocation,
        )
        for a in assignments
    ]
    nodes = assign_nodes(problem.instance, problem.classes, intervals)
    tasks = {(j, model.tau[run]): run for j, runs in enumerate(model.runs_of) for run in runs}
    runs = [tasks[a.job, sum(a.mode.allocation)] for a in assignments]
    held = {run: (a, set(given)) for run, a, given in zip(runs, assignments, nodes, strict=True)}
    for (j, r, t), x in model.X.items():
        x.set_value(int(j in held and r in held[j][1] and held[j][0].start < t <= held[j][0].end))
    for (j, r), z in model.Z.items():
        z.set_value(int(j in held and r in held[j][1]))
    for (j, t), y in model.Y.items():
        y.set_value(int(j in held and t == held[j][0].start + 1))
    for j, shape in model.shape.items() if model.component("shape") is not None else ():
        shape.set_value(int(j in held))
    set_parts(model, assignments, job_names(problem))
    set_spreads(model)
    set_choices(model)
    set_given(model)
    for (j, level), picked in model.level.items() if problem.end_lags else ():
        picked.set_value(int(j in held and problem.speeds.level_of(held[j][0].job, held[j][0].mode) == level))
    pools = {problem.resources[k].name: problem.resources[k].classes for k in problem.contended_pools}
    for (j, name, t), present in model.in_place.items():
        present.set_value(
            max(model.X[j, r, t].value for r, _ in model.in_slot[j, t] if model.class_of[r] in pools[name])
        )
    below = {name: resource.classes for name, resource in zip(model.K, problem.resources, strict=False)}
    for (j, k, t, i), number in model.tasks_below.items():
        here = sum(model.X[j, r, t].value for r, _ in model.in_slot[j, t] if model.class_of[r] in below[k])
        number.set_value(int(i == here))


def estimate_nonzeros(problem: Problem, horizon: int) -> int:
    """Return roughly how many nonzeros the model will have; (13) and (14) weigh most."""
    shapes = [shape for job in problem.jobs for shape in problem.allocations.shapes(job)]
    resources, jobs = sum(problem.capacities), len(shapes)
    tasks = sum(shape.tasks for shape in shapes)
    return jobs * resources * horizon * (resources + horizon + 8) + 4 * tasks * horizon * problem.allocations.num_links
