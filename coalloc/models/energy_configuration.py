"""OAS for energy, configuration formulation: time-indexed starts, real ends, nodes with or without a busy core.

``x[j, p, t] = 1`` when job ``j`` starts at slot ``t`` in configuration ``p``. Processors and links are held for
whole slots, joules are counted to the real end of each job: the energy is that of the replayed schedule
(errata 5). ``y[g, t]`` is the share of slot ``t`` in which node ``g`` has a busy core. All jobs that run in a slot
run from its beginning, or end in it, so the busy part of a slot is its longest share. Equations: (J1) to (J8) of
docs/mathematics.md. Source: the meter of PCBE, section 2.2, with errata 20 to 23.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyomo.environ as pyo

from coalloc.instance.rounding import time_tolerance
from coalloc.models.energy_costs import Costs, costs_of, equal_pairs, no_costs
from coalloc.models.time_grid import Grid, Term, add_capacity_rows, add_link_rows, by_slot, chosen
from coalloc.problem import Assignment, Configuration, Problem
from coalloc.schedule import Schedule, schedule_of

Start = tuple[int, int, int]
"""Job, configuration, slot."""


def build(
    problem: Problem, *, horizon: int, objective: str = "energy", makespan_limit: float | None = None
) -> pyo.ConcreteModel:
    """Return the model, for ``"energy"`` (J) or ``"makespan"`` (s).

    The problem is one of :func:`coalloc.problem.discretise_for_energy`; ``makespan_limit`` is in s.
    """
    grid = Grid(problem, horizon)
    model = pyo.ConcreteModel("OAS energy configuration")
    model.problem = problem
    latest = math.inf if makespan_limit is None else problem.instance.origin + makespan_limit
    model.x = pyo.Var(list(_starts(grid, latest)), domain=pyo.Binary)
    model.makespan = pyo.Var(domain=pyo.NonNegativeReals)
    costs = costs_of(problem) if objective == "energy" else no_costs(problem)
    _add_busy_shares(model, costs)
    _add_objective(model, costs, objective)
    _add_makespan_rows(model)
    _add_capacities(model, grid)
    _add_order_of_equals(model)
    return model


def _starts(grid: Grid, latest: float) -> Iterator[Start]:
    """Yield the starts that exist: the job fits, and really ends by ``latest`` (s)."""
    problem = grid.problem
    for j, configurations in enumerate(problem.configurations):
        for p, configuration in enumerate(configurations):
            last = latest + time_tolerance(latest) - configuration.execution_time
            for t in grid.starts(j, int(configuration.duration), configuration.allocation, configuration.loads):
                if problem.seconds(t) <= last:
                    yield j, p, t


def shares(problem: Problem, configuration: Configuration) -> list[float]:
    """Return for each slot of a configuration the share of it in which the job runs: 1, but for the last."""
    whole = int(configuration.duration) - 1
    return [1.0] * whole + [min(1.0, configuration.execution_time / problem.seconds(1) - whole)]


def _add_busy_shares(model: pyo.ConcreteModel, costs: Costs) -> None:
    """Add ``y`` of every switched class and slot with (J3), (J4) and (J8)."""
    problem: Problem = model.problem
    of_job: dict[tuple[int, int, int], list[Term]] = defaultdict(list)
    of_cores: dict[tuple[int, int], list[Term]] = defaultdict(list)
    for (j, p, t), x in model.x.items():
        configuration = problem.configurations[j][p]
        used = [(g, tasks) for g, tasks in enumerate(configuration.allocation) if tasks and g in costs.extra_watts]
        for slot, share in enumerate(shares(problem, configuration), start=t) if used else ():
            for g, tasks in used:
                of_job[j, g, slot].append((share, x))
                of_cores[g, slot].append((tasks * share, x))
    model.y = pyo.Var(list(of_cores), bounds=(0.0, 1.0))
    model.busy_if_used = pyo.Constraint(
        list(of_job), rule=lambda m, j, g, t: pyo.quicksum(a * x for a, x in of_job[j, g, t]) <= m.y[g, t]
    )
    model.busy_by_cores = pyo.Constraint(
        list(of_cores),
        rule=lambda m, g, t: pyo.quicksum(a * x for a, x in of_cores[g, t]) <= problem.capacities[g] * m.y[g, t],
    )
    busy: dict[int, list[pyo.Var]] = defaultdict(list)
    for (g, _), y in model.y.items():
        busy[g].append(y)
    model.busy_within_makespan = pyo.Constraint(
        list(busy), rule=lambda m, g: problem.seconds(1) * pyo.quicksum(busy[g]) <= m.makespan
    )


def _add_objective(model: pyo.ConcreteModel, costs: Costs, objective: str) -> None:
    """Add (J1), or the makespan."""
    if objective == "makespan":
        model.objective = pyo.Objective(expr=1.0 * model.makespan)
        return
    problem: Problem = model.problem
    own = pyo.quicksum(costs.joules(problem.configurations[j][p]) * x for (j, p, _), x in model.x.items())
    busy = problem.seconds(1) * pyo.quicksum(costs.extra_watts[g] * y for (g, _), y in model.y.items())
    model.objective = pyo.Objective(expr=own + busy + costs.idle * model.makespan)


def _add_makespan_rows(model: pyo.ConcreteModel) -> None:
    """Add (C1), (J5) and (J6): each job starts once and ends within the makespan, and so do all core-seconds."""
    problem: Problem = model.problem
    of_job: dict[int, list[tuple[Configuration, int, pyo.Var]]] = {j: [] for j in range(len(problem.jobs))}
    of_class: dict[int, list[Term]] = defaultdict(list)
    for (j, p, t), x in model.x.items():
        configuration = problem.configurations[j][p]
        of_job[j].append((configuration, t, x))
        for g, tasks in enumerate(configuration.allocation):
            if tasks:
                of_class[g].append((tasks * configuration.execution_time, x))
    origin = problem.instance.origin

    def ends(m: pyo.ConcreteModel, j: int) -> object:
        return pyo.quicksum((problem.seconds(t) + c.execution_time - origin) * x for c, t, x in of_job[j]) <= m.makespan

    jobs = [j for j in of_job if of_job[j]]
    model.start_once = pyo.Constraint(jobs, rule=lambda _, j: pyo.quicksum(x for *_, x in of_job[j]) == 1)
    model.end_within = pyo.Constraint(jobs, rule=ends)
    model.area = pyo.Constraint(
        list(of_class),
        rule=lambda m, g: pyo.quicksum(a * x for a, x in of_class[g]) <= problem.capacities[g] * m.makespan,
    )


def _add_capacities(model: pyo.ConcreteModel, grid: Grid) -> None:
    """Add (C2) and (C3), whole slots."""
    tasks: list[tuple[range, int, Term]] = []
    loads: list[tuple[range, int, Term]] = []
    problem: Problem = model.problem
    for (j, p, t), x in model.x.items():
        configuration = problem.configurations[j][p]
        slots = range(t, t + int(configuration.duration))
        tasks += [(slots, g, (count, x)) for g, count in enumerate(configuration.allocation) if count]
        loads += [
            (slots, k, (configuration.loads[k], x)) for k in problem.contended_links if configuration.loads[k] > 0.0
        ]
    add_capacity_rows(model, "processors", by_slot(tasks), grid.processors)
    add_link_rows(model, by_slot(loads), grid.bandwidth)


def _add_order_of_equals(model: pyo.ConcreteModel) -> None:
    """Add (J7): of equal nodes, the one that is used by the earliest job of the list comes first."""
    problem: Problem = model.problem
    users: dict[tuple[int, int], list[pyo.Var]] = defaultdict(list)
    for (j, p, _), x in model.x.items():
        for g, tasks in enumerate(problem.configurations[j][p].allocation):
            if tasks:
                users[j, g].append(x)
    rows = [(before, g, j) for before, g in equal_pairs(problem) for j in range(len(problem.jobs)) if users[j, g]]
    model.equals_in_order = pyo.Constraint(
        rows,
        rule=lambda _, before, g, j: (
            pyo.quicksum(users[j, g]) <= pyo.quicksum(x for i in range(j + 1) for x in users[i, before])
        ),
    )


def has_starts(model: pyo.ConcreteModel) -> bool:
    """Return whether every job has a start within the horizon and the limit; if not there is no schedule."""
    return len({j for j, _, _ in model.x}) == len(model.problem.jobs)


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``x``, with real ends."""
    problem: Problem = model.problem
    return replayed(problem, [Assignment(j, t, problem.configurations[j][p]) for j, p, t in chosen(model.x)])


def replayed(problem: Problem, assignments: Sequence[Assignment]) -> Schedule:
    """Return the schedule of slotted assignments with their starts and real ends: what ``replay`` makes of it."""
    real = replace(problem, slot=None)
    return schedule_of(
        real,
        [
            Assignment(
                a.job, problem.seconds(a.start), replace(a.configuration, duration=a.configuration.execution_time)
            )
            for a in assignments
        ],
    )


def set_start(model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
    """Set ``x`` to a known schedule; with equal nodes it may have to be renamed, which the solver does or drops."""
    problem: Problem = model.problem
    number = [{c.allocation: p for p, c in enumerate(configurations)} for configurations in problem.configurations]
    active = {(a.job, number[a.job][a.configuration.allocation], a.start) for a in assignments}
    for key, x in model.x.items():
        x.set_value(int(key in active))


def estimate_nonzeros(problem: Problem, horizon: int) -> int:
    """Return roughly how many nonzeros the model will have."""
    total = 0
    for j, configurations in enumerate(problem.configurations):
        for configuration in configurations:
            starts = max(0, horizon - configuration.duration - problem.releases[j] + 1)
            nodes = sum(1 for tasks in configuration.allocation if tasks)
            total += int(starts * (3 + nodes * (1 + 3 * configuration.duration)))
    return total
