"""A linear programme below the energy of every schedule, for any number of jobs and any links.

Tasks are spread freely over node groups; a task on a group takes at least as long as its job would there, and draws at
least what :mod:`coalloc.models.energy_rates` says. Jobs of one size are one job. Equations: (L1) to (L3) of
docs/mathematics/energy-bounds.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pyomo.environ as pyo

from coalloc.instance.rounding import time_tolerance
from coalloc.models.energy_costs import unit_of
from coalloc.models.energy_rates import Rates
from coalloc.problem import Problem
from coalloc.problem.execution import dedicated_time


@dataclass(frozen=True, slots=True)
class JobGroup:
    """Jobs of so many ``tasks`` and one processing share that find the same ``rooms``, shape ``(num_classes,)``.

    ``durations``, s, shape ``(num_classes,)``: of all of them in turn. 0 where there is no room. A moldable job has the
    fewest tasks of its shapes, with the least core-seconds of any; a job that names times is a group of its own.
    """

    tasks: int
    rooms: tuple[int, ...]
    durations: tuple[float, ...]


def build(
    problem: Problem, rates: Rates, *, least_makespan: float, makespan_limit: float | None = None
) -> pyo.ConcreteModel:
    """Return the model, J, of a problem in continuous time; no schedule has a makespan below ``least_makespan`` s.

    Times of the model are in ``model.unit`` s.
    """
    groups, classes = grouped(problem, makespan_limit), problem.classes
    unit = unit_of(least_makespan)
    durations = {(k, g): group.durations[g] / unit for k, group in enumerate(groups) for g in range(len(classes))}
    model = pyo.ConcreteModel("energy relaxation")
    model.tasks = pyo.Var(list(durations), bounds=lambda _, k, g: (0, min(groups[k].tasks, groups[k].rooms[g])))
    model.unit = unit
    most = None if makespan_limit is None else makespan_limit / unit
    model.makespan = pyo.Var(bounds=(least_makespan / unit, most))
    model.placed = pyo.Constraint(  # (L2)
        range(len(groups)),
        rule=lambda m, k: pyo.quicksum(m.tasks[k, g] for g in range(len(classes))) == groups[k].tasks,
    )
    model.area = pyo.Constraint(  # (L3)
        range(len(classes)),
        rule=lambda m, g: (
            pyo.quicksum(durations[k, g] * m.tasks[k, g] for k in range(len(groups)))
            <= classes[g].capacity * m.makespan
        ),
    )
    own = pyo.quicksum(durations[k, g] * rates.task[g] * m for (k, g), m in model.tasks.items())
    model.objective = pyo.Objective(expr=unit * (own + rates.idle * model.makespan))  # (L1)
    return model


def grouped(problem: Problem, makespan_limit: float | None) -> list[JobGroup]:
    """Return the jobs of a problem in continuous time, in groups, by what room they have to end within a limit, s."""
    last = math.inf if makespan_limit is None else problem.instance.origin + makespan_limit
    together: dict[tuple[int, float, tuple[int, ...], int], list[float]] = {}
    for j, job in enumerate(problem.jobs):
        shapes = problem.allocations.shapes(job)
        tasks = min(shape.tasks for shape in shapes)
        of_shapes = [[dedicated_time(shape, c.group) for c in problem.classes] for shape in shapes]
        scaled = [[shape.tasks / tasks * d for d in times] for shape, times in zip(shapes, of_shapes, strict=True)]
        rest = last + time_tolerance(problem.releases[j]) - problem.releases[j]
        shortest = map(min, zip(*of_shapes, strict=True))
        rooms = tuple(
            n if d <= rest else 0 for n, d in zip(problem.allocations.rooms_in_scope(job), shortest, strict=True)
        )
        is_alone = bool(job.shapes or job.times)
        sums = together.setdefault((tasks, job.processing_share, rooms, j if is_alone else -1), [0.0] * len(rooms))
        for g, duration in enumerate(map(min, zip(*scaled, strict=True))):
            sums[g] += duration if rooms[g] else 0.0
    return [JobGroup(tasks, rooms, tuple(sums)) for (tasks, _, rooms, _), sums in together.items()]
