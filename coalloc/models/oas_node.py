"""OAS, node formulation: the model of the paper, in its own variables, with the errata corrected.

It is the reference that the others are measured against, so nothing else is improved. Variables
``X[j, r, t]``, ``Z[j, r]``, ``Y[j, t]``, ``s``, ``f``, ``SP``, ``ct``, ``BW[j, k, t]``, ``ABW[k, t]``; slots
``t = 1 .. theta`` as in the paper: ``s`` is an instant, ``f`` the last slot (both in slots).
Source: paper section 3.2, equations (9) to (23); thesis (3.9) to (3.23); errata 1 to 4.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyomo.environ as pyo

from coalloc.execution import link_load
from coalloc.instance import CoallocError
from coalloc.models.time_grid import Grid, add_scope_rows, chosen, set_parts
from coalloc.objectives import Criterion, Objective, RegularObjective
from coalloc.problem import Assignment, NotTogetherRow, Problem
from coalloc.schedule import Occupation, Schedule, assign_nodes, schedule_of

LARGEST_BANDWIDTH = 100.0
"""What the largest load of a link is scaled to. With 1e4, as in the other models, HiGHS cut off an optimum."""


def build(
    problem: Problem,
    *,
    horizon: int,
    objective: str | Objective = "makespan",
    lower_bound: int = 0,  # noqa: ARG001 - one signature for all
) -> pyo.ConcreteModel:
    """Return the model; the objective is in slots. The lower bound is not used: the paper has none."""
    if problem.slot is None or problem.rounding == "down":
        raise CoallocError("the node formulation needs a slot and durations rounded up; use formulation='mode'")
    model = pyo.ConcreteModel("OAS node")
    model.problem = problem
    model.criterion = Criterion.of(problem, objective)
    _add_sets_and_variables(model, horizon)
    _add_placement(model)
    _add_durations(model)
    _add_links(model, horizon)
    _add_memories(model, horizon)
    _add_pools(model, horizon)
    add_scope_rows(model, lambda j, part: pyo.quicksum(model.Z[j, r] for r in model.R if model.class_of[r] in part))
    _add_constraints(model)
    _add_exact_ends(model)
    _add_objective(model, model.criterion.objective)
    return model


def _add_sets_and_variables(model: pyo.ConcreteModel, theta: int) -> None:
    problem: Problem = model.problem
    model.class_of = {p: g for g, c in enumerate(problem.classes) for p in c.processors}
    model.J = pyo.RangeSet(0, len(problem.jobs) - 1)
    model.R = pyo.Set(initialize=sorted(model.class_of))
    model.K = pyo.RangeSet(0, problem.num_links - 1)
    model.T = pyo.RangeSet(1, theta)
    index = problem.instance.platform.processor_index
    free_from = dict.fromkeys(model.R, 0)
    started = (run for run in problem.instance.running if run.start <= 0.0)
    for run, busy in zip(started, problem.busy, strict=True):
        free_from |= {index[name]: int(busy.end) for name in run.nodes}
    closed = {
        (g, t)
        for block in problem.blocks
        for g, held in enumerate(block.allocation)
        if held
        for t in range(int(block.start) + 1, int(block.end) + 1)
    }
    first = {(j, r): max(int(problem.releases[j]), free_from[r]) + 1 for j in model.J for r in model.R}
    rooms = [problem.rooms(job) for job in problem.jobs]
    usable = [(j, r) for j in model.J for r in model.R if rooms[j][model.class_of[r]]]
    slots = ((j, r, t) for j, r in usable for t in range(first[j, r], theta + 1))
    model.X = pyo.Var([(j, r, t) for j, r, t in slots if (model.class_of[r], t) not in closed], domain=pyo.Binary)
    model.Z = pyo.Var(model.J, model.R, domain=pyo.Binary)
    model.Y = pyo.Var(model.J, model.T, domain=pyo.Binary)
    model.s = pyo.Var(model.J, domain=pyo.NonNegativeReals)
    model.f = pyo.Var(model.J, domain=pyo.NonNegativeReals, bounds=(0, theta))
    model.SP = pyo.Var(model.J, domain=pyo.NonNegativeReals)
    model.ct = pyo.Var(model.J, domain=pyo.NonNegativeReals)
    model.in_slot = defaultdict(list)
    for (j, r, t), x in model.X.items():
        model.in_slot[j, t].append((r, x))


def _add_placement(model: pyo.ConcreteModel) -> None:
    problem: Problem = model.problem
    tau = [job.tasks for job in problem.jobs]
    at = defaultdict(list)
    of = defaultdict(list)
    for (j, r, t), x in model.X.items():
        at[r, t].append(x)
        of[j, r].append(x)
    # (10) one job on a resource at a time
    model.eq10 = pyo.Constraint(list(at), rule=lambda _, r, t: pyo.quicksum(at[r, t]) <= 1)
    # (11) Z = max over t of X, from both sides
    model.eq11_from_below = pyo.Constraint(list(model.X), rule=lambda m, j, r, t: m.Z[j, r] >= m.X[j, r, t])
    model.eq11_from_above = pyo.Constraint(
        model.J, model.R, rule=lambda m, j, r: m.Z[j, r] <= pyo.quicksum(of[j, r]) if (j, r) in of else m.Z[j, r] == 0
    )
    # (12) every task is placed
    model.eq12 = pyo.Constraint(model.J, rule=lambda m, j: pyo.quicksum(m.Z[j, r] for r in m.R) == tau[j])
    # (13) all tasks at the same time
    model.eq13 = pyo.Constraint(
        list(model.X), rule=lambda m, j, r, t: pyo.quicksum(x for _, x in m.in_slot[j, t]) >= tau[j] * m.X[j, r, t]
    )
    # (14) nothing before the start
    model.eq14 = pyo.ConstraintList()
    for j, r, t in model.X:
        for later in range(t + 1, model.T.last() + 1):
            model.eq14.add(model.X[j, r, t] <= 1 - model.Y[j, later])
    # (15), (16) one start; s is the instant at which slot t begins
    model.eq15 = pyo.Constraint(model.J, rule=lambda m, j: pyo.quicksum(m.Y[j, t] for t in m.T) == 1)
    model.eq16 = pyo.Constraint(model.J, rule=lambda m, j: m.s[j] == pyo.quicksum(t * m.Y[j, t] for t in m.T) - 1)
    # (17) f is the last slot used: at least each of them here; (19) keeps it from being later
    model.eq17 = pyo.Constraint(list(model.X), rule=lambda m, j, r, t: m.f[j] >= t * m.X[j, r, t])


def _add_durations(model: pyo.ConcreteModel) -> None:
    problem: Problem = model.problem
    jobs = problem.jobs
    base_slots = [job.base_time / problem.seconds(1) for job in jobs]
    used = defaultdict(list)
    for (j, _, _), x in model.X.items():
        used[j].append(x)
    # (3), missing from the list of the paper (errata 4): the slowest resource used
    model.slowest = pyo.Constraint(
        model.J, model.R, rule=lambda m, j, r: m.SP[j] >= m.Z[j, r] * _slowness(problem, j, m.class_of[r])
    )
    # (18); of a job that names times SP is all of its slowdown
    share = [1.0 if job.times else job.processing_share for job in jobs]
    model.eq18 = pyo.Constraint(model.J, rule=lambda m, j: m.ct[j] == share[j] * m.SP[j] + (1 - share[j]))
    # (19), with the rounding that errata 1 puts in
    room = [_rounding_room(problem, j) for j in model.J]
    model.eq19 = pyo.Constraint(model.J, rule=lambda m, j: m.f[j] - m.s[j] <= base_slots[j] * m.ct[j] + room[j])
    # (20)
    model.eq20 = pyo.Constraint(
        model.J, rule=lambda m, j: pyo.quicksum(used[j]) >= base_slots[j] * jobs[j].tasks * m.ct[j]
    )


def _slowness(problem: Problem, j: int, g: int) -> float:
    """Return what SP is at least where job ``j`` has a task on class ``g``."""
    job = problem.jobs[j]
    return problem.class_times(job)[g] / job.base_time if job.times else 1.0 / problem.classes[g].effective_power


def _rounding_room(problem: Problem, j: int) -> float:
    """Return the share of a slot that rounding up may add to the slots of a job in (19).

    Anything from the largest rounding of the job up to, but without, 1 is right. Halfway between keeps
    away from both by more than a solver's feasibility tolerance (errata 1 has 1 - 1e-6, which does not).
    """
    seconds = problem.class_times(problem.jobs[j])
    largest = max(problem.ticks(time) - time / problem.seconds(1) for time in seconds)
    return (1.0 + largest) / 2.0


def _add_links(model: pyo.ConcreteModel, theta: int) -> None:
    """Add BW, linked to X by the number of tasks below each link (errata 2), (21) and (22).

    The unit of BW and ABW is such that the largest load of a link is ``LARGEST_BANDWIDTH``.
    """
    problem: Problem = model.problem
    free = Grid(problem, theta).left
    units = [LARGEST_BANDWIDTH / (max(_loads(problem, k)) or LARGEST_BANDWIDTH) for k in model.K]
    loads = {
        (j, k): [units[k] * link_load(i, job) for i in range(job.tasks + 1)]
        for j, job in enumerate(problem.jobs)
        for k in model.K
    }
    below = [resource.classes for resource in problem.resources]
    model.BW = pyo.Var(model.J, model.K, model.T, domain=pyo.NonNegativeReals)
    model.ABW = pyo.Var(model.K, model.T, domain=pyo.NonNegativeReals)  # (22)
    keys = [(j, k, t) for j, t in model.in_slot for k in model.K]
    model.tasks_below = pyo.Var(
        [(j, k, t, i) for j, k, t in keys for i in range(problem.jobs[j].tasks + 1)], domain=pyo.Binary
    )

    def numbered(j: int, k: int, t: int) -> list[tuple[int, pyo.Var]]:
        return [(i, model.tasks_below[j, k, t, i]) for i in range(problem.jobs[j].tasks + 1)]

    def count(_: pyo.ConcreteModel, j: int, k: int, t: int) -> pyo.Expression:
        here = pyo.quicksum(x for r, x in model.in_slot[j, t] if model.class_of[r] in below[k])
        return pyo.quicksum(i * v for i, v in numbered(j, k, t)) - here == 0

    def load(m: pyo.ConcreteModel, j: int, k: int, t: int) -> pyo.Expression:
        if (j, t) not in m.in_slot:
            return m.BW[j, k, t] == 0
        return m.BW[j, k, t] == pyo.quicksum(loads[j, k][i] * v for i, v in numbered(j, k, t))

    model.one_number = pyo.Constraint(keys, rule=lambda _, j, k, t: pyo.quicksum(v for _, v in numbered(j, k, t)) == 1)
    model.number_below = pyo.Constraint(keys, rule=count)
    # (4) as a table of the load at each number of tasks; one_number and number_below are (4a) and (4b)
    model.eq4 = pyo.Constraint(model.J, model.K, model.T, rule=load)
    # (21)
    model.eq21 = pyo.Constraint(
        model.K,
        model.T,
        rule=lambda m, k, t: m.ABW[k, t] == units[k] * float(free[t - 1, k]) - pyo.quicksum(m.BW[j, k, t] for j in m.J),
    )


def _add_memories(model: pyo.ConcreteModel, theta: int) -> None:
    """Add (M3): the tasks on a node of several cores ask for no more than its memory, in units of that."""
    problem: Problem = model.problem
    free = Grid(problem, theta).left
    on_node: dict[tuple[int, int], list[tuple[float, pyo.Var]]] = defaultdict(list)
    for (j, t), placed in model.in_slot.items():
        for k in problem.contended_memories if problem.jobs[j].memory else ():
            terms = [x for r, x in placed if (model.class_of[r],) == problem.resources[k].classes]
            on_node[k, t] += [(problem.jobs[j].memory / problem.limits[k], x) for x in terms]
    model.memory = pyo.Constraint(
        [key for key, terms in on_node.items() if terms],
        rule=lambda _, k, t: (
            pyo.quicksum(share * x for share, x in on_node[k, t]) <= float(free[t - 1, k]) / problem.limits[k]
        ),
    )


def _add_pools(model: pyo.ConcreteModel, theta: int) -> None:
    """Add (W3): the tasks on the classes of a pool take no more units than are left of it."""
    problem: Problem = model.problem
    free = Grid(problem, theta).left
    pools = [(k, problem.resources[k]) for k in problem.contended_pools]
    taken: dict[tuple[int, int], list[tuple[float, pyo.Var]]] = defaultdict(list)
    for (j, t), placed in model.in_slot.items() if pools else ():
        for k, pool in pools:
            units = pool.load(1, problem.jobs[j])
            taken[k, t] += [(units, x) for r, x in placed if units and model.class_of[r] in pool.classes]
    model.pools = pyo.Constraint(
        [key for key, terms in taken.items() if terms],
        rule=lambda _, k, t: pyo.quicksum(units * x for units, x in taken[k, t]) <= float(free[t - 1, k]),
    )


def _add_constraints(model: pyo.ConcreteModel) -> None:
    """Add what the constraints of the problem ask for, as (T8) and (T9); a job runs where all its tasks are."""
    problem: Problem = model.problem
    if not problem.rows and all(map(math.isinf, problem.latest_ends)):
        return
    model.times = pyo.ConstraintList()
    model.not_together = pyo.ConstraintList()
    for j, latest in enumerate(problem.latest_ends):
        if math.isfinite(latest):
            model.times.add(model.f[j] <= latest)
    for row in problem.rows:
        if isinstance(row, NotTogetherRow):
            for t in model.T:
                shares = [x / problem.jobs[j].tasks for j in row.jobs for _, x in model.in_slot[j, t]]
                if shares:
                    model.not_together.add(pyo.quicksum(shares) <= 1)
        else:
            times = ((f, (model.s if which == "start" else model.f)[j]) for f, which, j in row.terms)
            model.times.add(pyo.quicksum(f * instant for f, instant in times) >= row.least)


def _add_exact_ends(model: pyo.ConcreteModel) -> None:
    """Make SP exact, and f the last slot used, where a row asks for a late end.

    Everywhere else a larger one is of no use to any row, nor to a regular objective.
    """
    problem: Problem = model.problem
    if not problem.held_exactly:
        return
    levels = [(j, level) for j in problem.held_exactly for level in range(len(problem.levels[j]))]
    slowest = {(j, level): problem.slowest_classes(j, level) for j, level in levels}
    slowness = {key: max(_slowness(problem, key[0], g) for g in classes) for key, classes in slowest.items()}
    used = {j: [x for (i, _, _), x in model.X.items() if i == j] for j in problem.held_exactly}

    def on_slowest(m: pyo.ConcreteModel, j: int, level: int) -> pyo.Expression:
        return pyo.quicksum(m.Z[j, r] for r in m.R if m.class_of[r] in slowest[j, level])

    def of_job(m: pyo.ConcreteModel, j: int) -> list[tuple[float, pyo.Var]]:
        return [(slowness[i, level], m.level[i, level]) for i, level in levels if i == j]

    model.level = pyo.Var(levels, domain=pyo.Binary)
    # (T12) one level
    model.one_level = pyo.Constraint(
        problem.held_exactly, rule=lambda m, j: pyo.quicksum(chosen for _, chosen in of_job(m, j)) == 1
    )
    # (T13) that has a task on a class that makes it one
    model.exact_level = pyo.Constraint(levels, rule=lambda m, j, level: m.level[j, level] <= on_slowest(m, j, level))
    # (T14) and is the slowest that SP may be
    model.exact_power = pyo.Constraint(
        problem.held_exactly, rule=lambda m, j: m.SP[j] <= pyo.quicksum(slow * chosen for slow, chosen in of_job(m, j))
    )
    # (T15) f is the last slot used
    model.exact_end = pyo.Constraint(
        problem.held_exactly, rule=lambda m, j: m.f[j] <= m.s[j] + pyo.quicksum(used[j]) / problem.jobs[j].tasks
    )


def _loads(problem: Problem, link: int) -> Iterator[float]:
    """Yield every load that a job may put on a link, MB/s."""
    for job in problem.jobs:
        for number in problem.tasks_within(job, link):
            yield link_load(number, job)


def _add_objective(model: pyo.ConcreteModel, objective: RegularObjective) -> None:
    if not objective.counts_ends:
        raise CoallocError(
            f"the node formulation knows objectives of ends alone, not {objective.name!r}; use formulation='mode'"
        )
    if objective.aggregate == "sum":
        model.objective = pyo.Objective(expr=pyo.quicksum(model.f.values()))
    else:
        model.last = pyo.Var(domain=pyo.NonNegativeReals)
        model.eq9 = pyo.Constraint(model.J, rule=lambda m, j: m.last >= m.f[j])
        model.objective = pyo.Objective(expr=model.last)


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``Y`` and ``Z``; nodes of a class are named afresh by colouring."""
    problem: Problem = model.problem
    start = {j: t - 1 for j, t in chosen(model.Y)}
    counts = {j: [0] * len(problem.classes) for j in start}
    for j, r in chosen(model.Z):
        counts[j][model.class_of[r]] += 1
    return schedule_of(problem, [Assignment(j, start[j], problem.mode(problem.jobs[j], counts[j])) for j in start])


def set_start(model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
    """Set X, Y, Z and the numbers of tasks below links to their values in a known schedule."""
    problem: Problem = model.problem
    intervals = [
        Occupation(problem.jobs[a.job].id, problem.seconds(a.start), problem.seconds(a.end), a.mode.allocation)
        for a in assignments
    ]
    index = problem.instance.platform.processor_index
    nodes = assign_nodes(problem.instance, problem.classes, intervals)
    held = {a.job: (a, {index[name] for name in names}) for a, names in zip(assignments, nodes, strict=True)}
    for (j, r, t), x in model.X.items():
        assignment, processors = held[j]
        x.set_value(int(r in processors and assignment.start < t <= assignment.end))
    for (j, r), z in model.Z.items():
        z.set_value(int(r in held[j][1]))
    for (j, t), y in model.Y.items():
        y.set_value(int(t == held[j][0].start + 1))
    set_parts(model, assignments)
    for (j, level), picked in model.level.items() if problem.held_exactly else ():
        picked.set_value(int(problem.levels[j][level].duration == held[j][0].mode.duration))
    for (j, k, t, i), number in model.tasks_below.items():
        here = sum(
            model.X[j, r, t].value for r, _ in model.in_slot[j, t] if model.class_of[r] in problem.resources[k].classes
        )
        number.set_value(int(i == here))


def estimate_nonzeros(problem: Problem, horizon: int) -> int:
    """Return roughly how many nonzeros the model will have; (13) and (14) weigh most."""
    resources, jobs = sum(problem.capacities), len(problem.jobs)
    tasks = sum(job.tasks for job in problem.jobs)
    return jobs * resources * horizon * (resources + horizon + 8) + 4 * tasks * horizon * problem.num_links
