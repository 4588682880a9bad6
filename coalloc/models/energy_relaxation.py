"""A linear programme below the energy of every schedule, for any number of jobs, any scope and any links.

Tasks are spread freely over node groups; a task on a group takes at least as long as its job would there, and
its share of the static watts is at least that on a node all of whose cores are busy. Equations: (L1) to (L5) of
docs/mathematics.md.
"""

from __future__ import annotations

import pyomo.environ as pyo

from coalloc.allocation import NodeClass
from coalloc.execution import execution_time
from coalloc.instance.power import known_watts, require_watts
from coalloc.models.energy_costs import unit_of
from coalloc.problem import Problem


def build(problem: Problem, *, least_makespan: float, makespan_limit: float | None = None) -> pyo.ConcreteModel:
    """Return the model, J, of a problem in continuous time; no schedule has a makespan below ``least_makespan`` s.

    Times of the model are in ``model.unit`` s.
    """
    require_watts(problem.instance.platform)
    jobs, classes = problem.jobs, problem.classes
    unit = unit_of(least_makespan)
    durations = {
        (j, g): execution_time(job, 1.0 / c.effective_power) / unit
        for j, job in enumerate(jobs)
        for g, c in enumerate(classes)
    }
    model = pyo.ConcreteModel("energy relaxation")
    rooms = [problem.rooms(job) for job in jobs]
    model.tasks = pyo.Var(list(durations), bounds=lambda _, j, g: (0, min(jobs[j].tasks, rooms[j][g])))
    model.unit = unit
    most = None if makespan_limit is None else makespan_limit / unit
    model.makespan = pyo.Var(bounds=(least_makespan / unit, most))
    model.placed = pyo.Constraint(  # (L2)
        range(len(jobs)),
        rule=lambda m, j: pyo.quicksum(m.tasks[j, g] for g in range(len(classes))) == jobs[j].tasks,
    )
    model.area = pyo.Constraint(  # (L3)
        range(len(classes)),
        rule=lambda m, g: (
            pyo.quicksum(durations[j, g] * m.tasks[j, g] for j in range(len(jobs))) <= classes[g].capacity * m.makespan
        ),
    )
    idle = sum(c.capacity // c.group.cores * idle_watts(c) for c in classes)
    own = pyo.quicksum(durations[j, g] * task_watts(classes[g]) * m for (j, g), m in model.tasks.items())
    model.objective = pyo.Objective(expr=unit * (own + idle * model.makespan))  # (L1)
    return model


def idle_watts(node_class: NodeClass) -> float:
    """Return (L5): what a node draws at least, W."""
    idle, static, core = known_watts(node_class.group)
    return min(idle, static + core)


def task_watts(node_class: NodeClass) -> float:
    """Return (L4): what a busy core adds at least to a node's least draw, W."""
    _, static, core = known_watts(node_class.group)
    extra = static - idle_watts(node_class)
    return core + (extra / node_class.group.cores if extra >= 0.0 else extra)
