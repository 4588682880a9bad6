"""Models for tests of solvers: one to solve by hand, and one that no solver finishes."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo


def cover(weights: tuple[int, ...] = (4, 3, 2), need: int = 5) -> pyo.ConcreteModel:
    """Return: the fewest of some weights that add up to ``need``; 2 by default (4 + 2, 4 + 3 or 3 + 2)."""
    model = pyo.ConcreteModel("cover")
    model.x = pyo.Var(range(len(weights)), domain=pyo.Binary)
    model.need = pyo.Constraint(expr=pyo.quicksum(w * model.x[i] for i, w in enumerate(weights)) >= need)
    model.objective = pyo.Objective(expr=pyo.quicksum(model.x.values()))
    return model


def market_split(rows: int = 6, slack: bool = True) -> pyo.ConcreteModel:
    """Return a market split problem: half of every row, exactly (or with slack, to be minimised).

    Of this size branch and bound takes hours, and without slack finds no solution for long. Source: G. Cornuejols,
    M. Dawande, "A class of hard small 0-1 programs", INFORMS Journal on Computing 11 (1999).
    """
    rng = np.random.default_rng(0)
    columns = 10 * (rows - 1)
    coefficients = rng.integers(0, 100, (rows, columns))
    model = pyo.ConcreteModel("market split")
    model.x = pyo.Var(range(columns), domain=pyo.Binary)
    model.slack = pyo.Var(range(rows), ("over", "under"), domain=pyo.NonNegativeReals)
    if not slack:
        model.slack.fix(0.0)

    def half(m: pyo.ConcreteModel, i: int) -> pyo.Expression:
        total = pyo.quicksum(int(a) * m.x[j] for j, a in enumerate(coefficients[i]))
        return total + m.slack[i, "over"] - m.slack[i, "under"] == int(coefficients[i].sum()) // 2

    model.half = pyo.Constraint(range(rows), rule=half)
    model.objective = pyo.Objective(expr=pyo.quicksum(model.slack.values()) + 1)
    return model
