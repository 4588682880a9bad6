"""Jobs that run already, in the models of energy: they draw until they end, or until the schedule does.

A schedule is metered to the last end of its own jobs (:mod:`coalloc.power.meter`), so a running job counts for
the lesser of its end and the makespan: (Q1) to (Q3) of docs/mathematics/energy.md. ``model.unit`` is the unit of
time, s.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from coalloc.models.energy_costs import ClassWatts
from coalloc.problem import Busy, Problem


def cores_until(problem: Problem, g: int) -> tuple[float, ...]:
    """Return for each processor of a class when a running job has left it, s (with slots: whole ones), else 0."""
    ends = [problem.clock.seconds(busy.end) for busy in problem.busy for _ in range(busy.allocation[g])]
    return (*ends, *(0.0 for _ in range(problem.capacities[g] - len(ends))))


def last_end(problem: Problem, g: int) -> float:
    """Return when the last running job of a class really ends, s; 0 where it has none."""
    return max((end for end, busy in _ends(problem) if busy.allocation[g]), default=0.0)


def _ends(problem: Problem) -> list[tuple[float, Busy]]:
    """Return the running jobs with their real ends, s."""
    return [(run.end, busy) for run, busy in zip(problem.instance.running, problem.busy, strict=True)]


def least_makespan(problem: Problem) -> float:
    """Return what the job that ends last takes at least, s from the origin."""
    pairs = zip(problem.releases, problem.modes, strict=True)
    ends = (release + min(c.duration for c in found) for release, found in pairs if found)
    return max(0.0, problem.clock.seconds(max(ends, default=0.0)) - problem.instance.origin)


def add_running(model: pyo.ConcreteModel, least: float, most: float) -> None:
    """Add ``until`` and ``outlasts`` of each running job with (Q1) to (Q3).

    The makespan is from ``least`` to ``most``; times in units of the model.
    """
    ends = [run.end / model.unit for run in model.problem.instance.running]
    unsure = [r for r, end in enumerate(ends) if end > least]
    model.until = pyo.Var(range(len(ends)), bounds=lambda _, r: (min(ends[r], least), ends[r]))
    model.outlasts = pyo.Var(unsure, domain=pyo.Binary)
    model.until_makespan = pyo.Constraint(unsure, rule=lambda m, r: m.until[r] <= m.makespan)  # (Q1)
    model.until_end = pyo.Constraint(  # (Q2)
        unsure, rule=lambda m, r: m.until[r] >= least + (ends[r] - least) * m.outlasts[r]
    )
    model.until_either = pyo.Constraint(  # (Q3)
        unsure, rule=lambda m, r: m.until[r] >= m.makespan - max(0.0, most - ends[r]) * m.outlasts[r]
    )


def running_watts(model: pyo.ConcreteModel, costs: ClassWatts) -> Any:
    """Return what the running jobs draw beyond idle watts, W times units, but for static watts of switched classes."""
    problem: Problem = model.problem
    return pyo.quicksum(costs.watts(busy.allocation) * model.until[r] for r, busy in enumerate(problem.busy))


def busy_by_running(model: pyo.ConcreteModel, g: int) -> Any:
    """Return for how long running jobs keep a class busy, in units of the model."""
    ends = [(end, r) for r, (end, busy) in enumerate(_ends(model.problem)) if busy.allocation[g]]
    return model.until[max(ends)[1]] if ends else 0.0


def cores_by_running(model: pyo.ConcreteModel, g: int) -> Any:
    """Return for how long running jobs keep cores of a class busy, in units of the model."""
    pairs = ((busy.allocation[g], model.until[r]) for r, busy in enumerate(model.problem.busy))
    return pyo.quicksum(tasks * until for tasks, until in pairs if tasks)
