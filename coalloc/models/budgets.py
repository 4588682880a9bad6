"""Budgets in models that count tasks: (G1) and (G2) choose the tasks of a job in each cluster, (G3) is the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyomo.environ as pyo

from coalloc.problem import Problem


def add_budget_rows(model: pyo.ConcreteModel, tasks_in: Callable[[int, int], Any]) -> None:
    """Add the budgets; ``tasks_in(j, c)`` are the tasks of a job in a cluster, both by index, that are variables."""
    problem: Problem = model.problem
    if not problem.budgets:
        return
    asked = [j for j in range(len(problem.jobs)) if any(any(row.excess[j].values()) for row in problem.budgets)]
    clusters = range(len(problem.instance.platform.clusters))
    model.choices = choices = {j: [*problem.budgets[0].excess[j]] for j in asked}
    model.tasks_of = {j: [tasks_in(j, c) for c in clusters] for j in asked}
    model.choice = pyo.Var(
        [(j, i) for j in asked for i in range(len(choices[j]))],
        domain=pyo.Binary,
        doc="1 where the tasks of job j in each cluster are its i-th choice",
    )
    model.one_choice = pyo.Constraint(
        asked,
        rule=lambda m, j: pyo.quicksum(m.choice[j, i] for i in range(len(choices[j]))) == 1,
        doc="(G1), ours: one choice",
    )

    def chosen(m: pyo.ConcreteModel, j: int, c: int) -> pyo.Expression:
        inside = [tasks[c] * m.choice[j, i] for i, tasks in enumerate(choices[j]) if tasks[c]]
        return m.tasks_of[j][c] - pyo.quicksum(inside) == 0

    model.as_chosen = pyo.Constraint(
        [(j, c) for j in asked for c in clusters], rule=chosen, doc="(G2), ours: which is that of the tasks"
    )
    add_budgets(model, ((j, tasks, model.choice[j, i]) for j in asked for i, tasks in enumerate(choices[j])))


def add_budgets(model: pyo.ConcreteModel, terms: Iterable[tuple[int, tuple[int, ...], Any]]) -> None:
    """Add (G3) over terms (job, tasks in each cluster, variable that is 1 where it has them)."""
    known = list(terms)
    model.budgets = pyo.ConstraintList(doc="(G3), ours: all jobs together keep the budgets")
    for row in model.problem.budgets:
        unit = row.largest or 1.0
        taken = [row.excess[j][tasks] / unit * x for j, tasks, x in known if row.excess[j][tasks]]
        if taken:
            model.budgets.add(pyo.quicksum(taken) <= row.room / unit)


def set_choices(model: pyo.ConcreteModel) -> None:
    """Set the choices to what the counts of tasks, whose values are set, say."""
    for j, choices in getattr(model, "choices", {}).items():
        tasks = tuple(round(pyo.value(count)) for count in model.tasks_of[j])
        for i, choice in enumerate(choices):
            model.choice[j, i].set_value(int(choice == tasks))
