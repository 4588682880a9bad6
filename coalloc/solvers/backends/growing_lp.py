"""A linear programme on HiGHS that grows by rows and by columns, and is solved from its last basis each time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from coalloc.solvers.backends.highs import SilentHighs, checked

Floats = NDArray[np.float64]


class LpSolution(NamedTuple):
    """An optimum: its value, that of each column, and the dual price of each row."""

    value: float
    columns: Floats
    duals: Floats


def quiet_highs(**options: Any) -> Any:
    """Return HiGHS on one thread, without a word, with these options."""
    highs: Any = SilentHighs()  # type: ignore[no-untyped-call]
    for name, setting in {"threads": 1, **options}.items():
        checked(highs.setOptionValue(name, setting), f"setting {name}")
    return highs


def run_quietly(highs: Any) -> Any:
    """Run HiGHS and return its status, also where other code has run HiGHS with more threads in this one.

    HiGHS starts its workers once per thread of the process and then fails for every other number but 0, which takes
    the workers that are there.
    """
    status = highs.run()
    if status == highspy.HighsStatus.kError:
        checked(highs.setOptionValue("threads", 0), "setting threads")
        status = highs.run()
    return status


def solved(highs: Any) -> LpSolution | None:
    """Run HiGHS and return an optimum; None where it finds none."""
    if run_quietly(highs) == highspy.HighsStatus.kError:
        return None
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = highs.getSolution()
    value = highs.getInfo().objective_function_value
    return LpSolution(value, np.array(solution.col_value), np.array(solution.row_dual))


class GrowingLp:
    """A linear programme to be minimised; it begins empty, and all its columns are at least 0."""

    def __init__(self) -> None:
        self._highs = quiet_highs()

    def add_row(
        self, lower: float, upper: float, columns: Sequence[int] = (), coefficients: Sequence[float] | Floats = ()
    ) -> None:
        """Add a row over columns that are there."""
        indices, factors = np.array(columns, dtype=np.int32), np.array(coefficients, dtype=float)
        checked(self._highs.addRow(lower, upper, len(indices), indices, factors), "adding a row")

    def ask(self, lower: Sequence[float]) -> None:
        """Let each row be at least so much; what was its upper limit is none any more."""
        for row, least in enumerate(lower):
            checked(self._highs.changeRowBounds(row, least, math.inf), "changing a row")

    def add_columns(self, costs: Sequence[float], columns: Sequence[Sequence[tuple[int, float]]]) -> None:
        """Add columns, each as its (row, coefficient) over rows that are there."""
        count = len(columns)
        starts = np.cumsum([0, *(len(column) for column in columns[:-1])]).astype(np.int32)
        rows = np.array([row for column in columns for row, _ in column], dtype=np.int32)
        coefficients = np.array([coefficient for column in columns for _, coefficient in column], dtype=float)
        zeros, most = np.zeros(count), np.full(count, math.inf)
        added = self._highs.addCols(
            count, np.array(costs, dtype=float), zeros, most, len(rows), starts, rows, coefficients
        )
        checked(added, "adding columns")

    def solve(self, deadline: float = math.inf) -> LpSolution | None:
        """Return an optimum; None where HiGHS finds none by the deadline, an instant of ``time.perf_counter()``, s."""
        left = max(0.0, deadline - time.perf_counter())
        checked(self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left), "setting time_limit")
        return solved(self._highs)
