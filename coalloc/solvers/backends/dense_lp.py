"""A small linear programme on HiGHS, given as a table, whose limits change; solved from its last basis each time."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray

from coalloc.solvers.backends.growing_lp import LpSolution, quiet_highs, solved
from coalloc.solvers.backends.highs import checked

Floats = NDArray[np.float64]


class DenseLp:
    """min ``costs x`` with ``lower <= rows x <= upper`` and ``0 <= x <= most``."""

    def __init__(self, costs: Floats, rows: Floats, lower: Floats, upper: Floats, most: Floats) -> None:
        self._highs = quiet_highs(presolve="off")
        entries = rows != 0.0
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = rows.shape
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, np.zeros(len(costs)), most
        lp.row_lower_, lp.row_upper_ = lower, upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.append(0, np.cumsum(entries.sum(axis=1))).astype(np.int32)
        lp.a_matrix_.index_ = np.nonzero(entries)[1].astype(np.int32)
        lp.a_matrix_.value_ = rows[entries]
        checked(self._highs.passModel(lp), "passing the model")

    def price(self, column: int, cost: float) -> None:
        """Change the cost of a column."""
        checked(self._highs.changeColCost(column, cost), "changing a cost")

    def limit(self, uppers: Floats) -> None:
        """Change the upper limits of the first rows, which have no lower ones."""
        for row, upper in enumerate(uppers.tolist()):
            checked(self._highs.changeRowBounds(row, -np.inf, upper), "changing a row")

    def solve(self) -> LpSolution | None:
        """Return an optimum; None where there is none."""
        return solved(self._highs)
