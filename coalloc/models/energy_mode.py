"""OAS for energy, mode formulation: time-indexed starts, nodes with or without a busy core.

``x[j, p, t] = 1`` when job ``j`` starts at slot ``t`` in mode ``p``. Processors, links and watts are held for
whole slots, as the schedule says. ``y[g, t]`` is the share of slot ``t`` in which node ``g`` has a busy core: 0 or
1, but for the slot in which the last job that runs already really ends. Equations: (J1) to (J8) of
docs/mathematics/energy.md. Source: the meter of PCBE, section 2.2, with errata 20 to 23.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyomo.environ as pyo

from coalloc.instance.rounding import slots_down, time_tolerance
from coalloc.models.energy_costs import ClassWatts, costs_of, equal_pairs
from coalloc.models.energy_running import (
    add_running,
    busy_by_running,
    cores_by_running,
    last_end,
    least_makespan,
    running_watts,
)
from coalloc.models.energy_sets import add_sets
from coalloc.models.energy_sets import estimate_nonzeros as estimate_nonzeros_of_sets
from coalloc.models.time_slots import Term, TimeSlots, add_capacity_rows, add_resource_rows, by_slot, chosen
from coalloc.problem import Assignment, Mode, Problem
from coalloc.schedule import Schedule, schedule_of

StartKey = tuple[int, int, int]
"""Job, mode, slot."""


def build(problem: Problem, *, horizon: int, makespan_limit: float | None = None) -> pyo.ConcreteModel:
    """Return the model, J; jobs end by ``horizon``, in slots.

    The problem is one of :func:`coalloc.problem.discretise_for_energy`; ``makespan_limit`` is in s. Times of the model
    are in slots (``model.unit`` s), so that its numbers are of one size.
    """
    time_slots = TimeSlots(problem, horizon)
    model = pyo.ConcreteModel("OAS energy mode")
    model.problem = problem
    model.unit = problem.clock.seconds(1)
    origin = problem.instance.origin
    most = problem.clock.seconds(horizon) - origin if makespan_limit is None else makespan_limit
    model.x = pyo.Var(list(_starts(time_slots, origin + most)), domain=pyo.Binary)
    least = least_makespan(problem) / model.unit
    model.makespan = pyo.Var(bounds=(least, None))
    costs = costs_of(problem)
    add_running(model, least, most / model.unit)
    busy_after = _add_busy_shares(model, costs)
    _add_objective(model, costs, busy_after)
    _add_makespan_rows(model)
    _add_capacities(model, time_slots)
    _add_order_of_equals(model)
    add_sets(model, _held(model), busy_after, most)
    return model


def _starts(time_slots: TimeSlots, latest: float) -> Iterator[StartKey]:
    """Yield the starts that exist: the job fits, and ends by ``latest`` (s)."""
    problem, last = time_slots.problem, latest + time_tolerance(latest)
    for j, modes in enumerate(problem.modes):
        for p, mode in enumerate(modes):
            for t in time_slots.starts(j, int(mode.duration), mode.allocation, mode.loads):
                if problem.clock.seconds(t + mode.duration) <= last:
                    yield j, p, t


def _add_busy_shares(model: pyo.ConcreteModel, costs: ClassWatts) -> dict[int, Any]:
    """Add ``y`` of every switched class and slot with (J3), (J4) and (J8).

    Return for how many slots each switched class is busy after its running jobs. In the slot in which the last of these
    ends they are busy from its beginning, as all that runs there is; before it the class is busy anyway.
    """
    problem: Problem = model.problem
    slot, last = problem.clock.seconds(1), {g: last_end(problem, g) for g in costs.extra_watts}
    first = {g: slots_down(end, slot) for g, end in last.items()}
    of_job: dict[tuple[int, int, int], list[pyo.Var]] = defaultdict(list)
    of_cores: dict[tuple[int, int], list[Term]] = defaultdict(list)
    for (j, p, t), x in model.x.items():
        mode = problem.modes[j][p]
        used = [(g, tasks) for g, tasks in enumerate(mode.allocation) if tasks and g in costs.extra_watts]
        for g, tasks in used:
            for at in range(max(t, first[g]), t + int(mode.duration)):
                of_job[j, g, at].append(x)
                of_cores[g, at].append((tasks, x))
    by_running = {(g, t): last[g] / slot - t for g, t in first.items()}
    model.y = pyo.Var(list(of_cores), bounds=lambda _, g, t: (max(0.0, by_running.get((g, t), 0.0)), 1.0))
    model.busy_if_used = pyo.Constraint(
        list(of_job), rule=lambda m, j, g, t: pyo.quicksum(of_job[j, g, t]) <= m.y[g, t]
    )
    model.busy_by_cores = pyo.Constraint(
        list(of_cores),
        rule=lambda m, g, t: pyo.quicksum(a * x for a, x in of_cores[g, t]) <= problem.capacities[g] * m.y[g, t],
    )
    after: dict[int, Any] = {}
    for g, t in model.y:
        after[g] = after.get(g, 0.0) + model.y[g, t] - model.y[g, t].lb
    model.busy_within_makespan = pyo.Constraint(
        list(after), rule=lambda m, g: busy_by_running(m, g) + after[g] <= m.makespan
    )
    return after


def _add_objective(model: pyo.ConcreteModel, costs: ClassWatts, busy_after: Mapping[int, Any]) -> None:
    """Add (J1)."""
    problem: Problem = model.problem
    own = pyo.quicksum(costs.joules(problem.modes[j][p]) * x for (j, p, _), x in model.x.items())
    busy = pyo.quicksum(
        watts * (busy_by_running(model, g) + busy_after.get(g, 0.0)) for g, watts in costs.extra_watts.items()
    )
    drawn = busy + running_watts(model, costs) + costs.idle * model.makespan
    model.objective = pyo.Objective(expr=own + model.unit * drawn)


def _add_makespan_rows(model: pyo.ConcreteModel) -> None:
    """Add (C1), (J5) and (J6): each job starts once and ends within the makespan, and so do all core-seconds."""
    problem: Problem = model.problem
    of_job: dict[int, list[tuple[Mode, int, pyo.Var]]] = {j: [] for j in range(len(problem.jobs))}
    of_class: dict[int, list[Term]] = defaultdict(list)
    origin = problem.instance.origin / model.unit
    for (j, p, t), x in model.x.items():
        mode = problem.modes[j][p]
        of_job[j].append((mode, t, x))
        for g, tasks in enumerate(mode.allocation):
            if tasks:
                of_class[g].append((tasks * mode.duration, x))

    def ends(m: pyo.ConcreteModel, j: int) -> object:
        return pyo.quicksum((t + c.duration - origin) * x for c, t, x in of_job[j]) <= m.makespan

    jobs = [j for j in of_job if of_job[j]]
    model.start_once = pyo.Constraint(jobs, rule=lambda _, j: pyo.quicksum(x for *_, x in of_job[j]) == 1)
    model.end_within = pyo.Constraint(jobs, rule=ends)
    model.area = pyo.Constraint(
        list(of_class),
        rule=lambda m, g: (
            cores_by_running(m, g) + pyo.quicksum(a * x for a, x in of_class[g]) <= problem.capacities[g] * m.makespan
        ),
    )


def _add_capacities(model: pyo.ConcreteModel, time_slots: TimeSlots) -> None:
    """Add (C2), (C3) and (M1), whole slots."""
    tasks: list[tuple[range, int, Term]] = []
    loads: list[tuple[range, int, Term]] = []
    memory: list[tuple[range, int, Term]] = []
    problem: Problem = model.problem
    for (j, p, t), x in model.x.items():
        mode = problem.modes[j][p]
        slots = range(t, t + int(mode.duration))
        tasks += [(slots, g, (count, x)) for g, count in enumerate(mode.allocation) if count]
        loads += [(slots, k, (mode.loads[k], x)) for k in problem.contended_links if mode.loads[k] > 0.0]
        memory += [(slots, k, (mode.loads[k], x)) for k in problem.contended_memories if mode.loads[k] > 0.0]
    of_class = "(C2): no more tasks on class g in slot t than processors are free"
    add_capacity_rows(model, "processors", by_slot(tasks), time_slots.processors, of_class)
    add_resource_rows(model, "bandwidth", by_slot(loads), time_slots.left, "(C3): no link k saturates in slot t")
    of_node = "(M1): tasks on a node in slot t ask for no more than is free of its memory"
    add_resource_rows(model, "memory", by_slot(memory), time_slots.left, of_node)


def _users(model: pyo.ConcreteModel) -> dict[tuple[int, int], list[pyo.Var]]:
    """Return the starts of each job on each class."""
    users: dict[tuple[int, int], list[pyo.Var]] = defaultdict(list)
    for (j, p, _), x in model.x.items():
        for g, tasks in enumerate(model.problem.modes[j][p].allocation):
            if tasks:
                users[j, g].append(x)
    return users


def _held(model: pyo.ConcreteModel) -> dict[tuple[int, int], Any]:
    """Return whether each job is on each class, with scope ``node``."""
    return {key: pyo.quicksum(starts) for key, starts in _users(model).items()}


def _add_order_of_equals(model: pyo.ConcreteModel) -> None:
    """Add (J7): of equal nodes, the one that is used by the earliest job of the list comes first."""
    problem: Problem = model.problem
    users = _users(model)
    rows = [(before, g, j) for before, g in equal_pairs(problem) for j in range(len(problem.jobs)) if (j, g) in users]
    model.equals_in_order = pyo.Constraint(
        rows,
        rule=lambda _, before, g, j: (
            pyo.quicksum(users[j, g]) <= pyo.quicksum(x for i in range(j + 1) for x in users.get((i, before), ()))
        ),
    )


def has_starts(model: pyo.ConcreteModel) -> bool:
    """Return whether every job has a start within the horizon and the limit; if not there is no schedule."""
    return len({j for j, _, _ in model.x}) == len(model.problem.jobs)


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of ``x``."""
    problem: Problem = model.problem
    return schedule_of(problem, [Assignment(j, t, problem.modes[j][p]) for j, p, t in chosen(model.x)])


def set_start(model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
    """Set ``x`` to a known schedule, with equal nodes renamed as (J7) wants them; the solver finds the rest."""
    problem: Problem = model.problem
    number = [{c.allocation: p for p, c in enumerate(modes)} for modes in problem.modes]
    names = _renamed(problem, assignments)
    active = set()
    for a in assignments:
        allocation = tuple(a.mode.allocation[names[g]] for g in range(len(names)))
        active.add((a.job, number[a.job][allocation], a.start))
    for key, x in model.x.items():
        x.set_value(int(key in active))


def _renamed(problem: Problem, assignments: Sequence[Assignment]) -> list[int]:
    """Return for each class the one whose tasks it takes: equal nodes in the order of their first jobs."""
    first: dict[int, int] = {}
    for a in sorted(assignments, key=lambda a: a.job):
        for g, tasks in enumerate(a.mode.allocation):
            if tasks:
                first.setdefault(g, a.job)
    chains: dict[int, list[int]] = {}
    for before, g in equal_pairs(problem):
        chain = chains.setdefault(before, [before])
        chain.append(g)
        chains[g] = chain
    names = list(range(len(problem.classes)))
    for chain in {id(chain): chain for chain in chains.values()}.values():
        taken = sorted(chain, key=lambda g: (first.get(g, len(problem.jobs)), g))
        for g, other in zip(chain, taken, strict=True):
            names[g] = other
    return names


def estimate_nonzeros(problem: Problem, horizon: int) -> int:
    """Return roughly how many nonzeros the model will have."""
    total = estimate_nonzeros_of_sets(problem)
    for j, modes in enumerate(problem.modes):
        for mode in modes:
            starts = max(0, horizon - mode.duration - problem.releases[j] + 1)
            nodes = sum(1 for tasks in mode.allocation if tasks)
            total += int(starts * (3 + nodes * (1 + 3 * mode.duration)))
    return total
