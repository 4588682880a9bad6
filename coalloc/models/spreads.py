"""Spreads of jobs over clusters in models that count tasks: (D1) to (D5) in docs/mathematics/feature-rows.md.

What a job asks of its tasks in each cluster are linear rows over whether it uses a cluster. What a custom constraint
says is a choice between the spreads that it allows, each listed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from coalloc.instance import Job
from coalloc.instance.spread import Spread, Tasks
from coalloc.problem import Problem


@dataclass(frozen=True, slots=True)
class CountedJob:
    """A job in one shape, as a model counts it: its tasks in each cluster, and 1 where it runs so."""

    job: Job
    tasks: Sequence[Any]
    runs: Any


def add_spread_rows(model: pyo.ConcreteModel, runs: Mapping[Hashable, CountedJob]) -> None:
    """Add what jobs ask of their tasks in each cluster; keys are what the model calls a job in a shape."""
    problem: Problem = model.problem
    spreads = {key: spread for key, run in runs.items() if (spread := problem.allocations.spread(run.job)) is not None}
    if not spreads:
        return
    model.spread_runs = {key: runs[key] for key in spreads}
    listed = {key: list(_listed(problem, runs[key].job)) for key, s in spreads.items() if s.allows is not None}
    ruled = {key: spread for key, spread in spreads.items() if key not in listed}
    clusters = range(len(problem.instance.platform.clusters))
    names = {key: number for number, key in enumerate(spreads)}
    model.spread_names = names
    model.uses = pyo.Var(
        [(names[key], c) for key in ruled for c in clusters],
        domain=pyo.Binary,
        doc="1 where a job has tasks in cluster c",
    )
    model.under = pyo.Var(
        [(names[key], p) for key, spread in ruled.items() for p in range(len(spread.parts or ()))],
        domain=pyo.Binary,
        doc="1 where all tasks of a job are under switch p of its level",
    )
    model.spread = pyo.Var(
        [(names[key], i) for key, found in listed.items() for i in range(len(found))],
        domain=pyo.Binary,
        doc="1 where the tasks of a job in each cluster are those of its i-th spread",
    )
    model.listed_spreads = {names[key]: found for key, found in listed.items()}
    model.spread_rows = pyo.ConstraintList(doc="(D1) to (D5), ours: how jobs may be spread over clusters")
    for key, spread in ruled.items():
        _add_rules(model, names[key], runs[key], spread)
    for key, found in listed.items():
        _add_choice(model, names[key], runs[key], found)


def _listed(problem: Problem, job: Job) -> Sequence[Tasks]:
    return list(problem.allocations.spreads(job, problem.allocations.rooms(job)))


def _add_rules(model: pyo.ConcreteModel, name: int, run: CountedJob, spread: Spread) -> None:
    """Add the rows of a job that states how it is to be spread."""
    rows, clusters = model.spread_rows, range(len(run.tasks))
    size = run.job.tasks if spread.slices is None else run.job.tasks // spread.slices
    least = spread.min_tasks if spread.slices is None else size
    for c in clusters:  # (D1), or with slices (D3)
        rows.add(run.tasks[c] - size * model.uses[name, c] <= 0)
        rows.add(run.tasks[c] - least * model.uses[name, c] >= 0)
    used = pyo.quicksum(model.uses[name, c] for c in clusters)
    if spread.max_clusters is not None:  # (D2)
        rows.add(used - spread.max_clusters * run.runs <= 0)
    if spread.slices is not None:  # (D3)
        rows.add(used - spread.slices * run.runs == 0)
    if spread.parts is not None:  # (D4)
        rows.add(pyo.quicksum(model.under[name, p] for p in range(len(spread.parts))) - run.runs == 0)
        for c in clusters:
            above = pyo.quicksum(model.under[name, p] for p, part in enumerate(spread.parts) if c in part)
            rows.add(model.uses[name, c] - above <= 0)


def _add_choice(model: pyo.ConcreteModel, name: int, run: CountedJob, spreads: Sequence[Tasks]) -> None:
    """Add that a job has one of some spreads."""
    chosen = [model.spread[name, i] for i in range(len(spreads))]
    _add(model, pyo.quicksum(chosen) - run.runs == 0)
    for c, tasks in enumerate(run.tasks):
        inside = pyo.quicksum(spread[c] * x for spread, x in zip(spreads, chosen, strict=True) if spread[c])
        _add(model, tasks - inside == 0)


def _add(model: pyo.ConcreteModel, row: Any) -> None:
    """Add a row, which is a truth value where it has no variable: in a cluster that a job may not use."""
    if isinstance(row, bool):
        row = pyo.Constraint.Feasible if row else pyo.Constraint.Infeasible
    model.spread_rows.add(row)


def set_spreads(model: pyo.ConcreteModel) -> None:
    """Set the variables of spreads to what the counts of tasks, whose values are set, say."""
    for key, run in getattr(model, "spread_runs", {}).items():
        name = model.spread_names[key]
        tasks = tuple(round(pyo.value(count)) for count in run.tasks)
        spread = model.problem.allocations.spread(run.job)
        for i, found in enumerate(model.listed_spreads.get(name, ())):
            model.spread[name, i].set_value(int(found == tasks))
        if name in model.listed_spreads:
            continue
        used = {c for c, count in enumerate(tasks) if count}
        for c in range(len(tasks)):
            model.uses[name, c].set_value(int(c in used))
        for p, part in enumerate(spread.parts or ()):
            model.under[name, p].set_value(int(bool(used) and used <= part))
