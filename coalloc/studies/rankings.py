"""Rankings of strategies: degradation, non-dominated fronts over weeks, set coverage, and the tables made of them.

Pure functions of numbers. Source: the two-level grid study, section 6.2, equations (12) and (13), Tables 10 and 11;
errata 31 and 32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Goal = Literal["least", "greatest"]


def degradation(values: ArrayLike, goal: Goal = "least") -> Floats:
    """Return by how many percent each value is worse than the best.

    Where the least is best it is 100 (value/best - 1), equation (12). That is never above 0 where the greatest is best;
    the values of Table 11 are 100 (1 - value/best) instead. Where the best is 0 it is 0 for a value of 0, and else
    undefined: nan. Values are not negative, shape ``(num_strategies,)``.
    """
    given = np.asarray(values, dtype=np.float64)
    best = given.min() if goal == "least" else given.max()
    if best == 0.0:
        return np.where(given == 0.0, 0.0, np.nan)
    shares = given / best - 1.0 if goal == "least" else 1.0 - given / best
    return np.asarray(100.0 * shares, dtype=np.float64)


def non_dominated(points: ArrayLike) -> Floats:
    """Return the points that no other dominates: none is as good in all columns and better in one.

    Least is best in every column, shape ``(num_points, num_metrics)``. Points that are equal dominate each other not.
    """
    given = np.asarray(points, dtype=np.float64)
    return given[[not any(_dominates(other, point) for other in given) for point in given]]


def _dominates(one: Floats, other: Floats) -> bool:
    return bool((one <= other).all() and (one < other).any())


def set_coverage(a: ArrayLike, b: ArrayLike) -> float:
    """Return SC(A, B): the share of the points of B that a point of A dominates or equals. Source: equation (13)."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return float((first[:, None, :] <= second[None, :, :]).all(axis=2).any(axis=0).mean())


def mean_coverage(fronts: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Return for each front B the mean of SC(A, B) over all fronts A, B itself among them: the SC of Table 10.

    The less of a front the others cover, the better it is; the least there can be is 1/number of fronts.
    """
    return {name: float(np.mean([set_coverage(a, b) for a in fronts.values()])) for name, b in fronts.items()}


def ranks(values: Sequence[float]) -> Ints:
    """Return the rank of each value from 1, the least first; of equal ones the first in order, nan last."""
    order = np.argsort(np.asarray(values, dtype=np.float64), kind="stable")
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.arange(1, len(order) + 1)
    return found


def ranking(values: pd.DataFrame) -> pd.DataFrame:
    """Return the ranks of strategies (rows) on grids (columns), and by their mean over the grids, as Table 10 has them.

    Of coverages (:func:`mean_coverage`) the columns are those of Table 10; of degradations of EnEff ``mean`` and
    ``rank`` are what Table 11 ranks by. Columns: for each grid the value and ``rank_<grid>``; ``mean``, ``rank``.
    """
    import pandas as pd

    mean = values.mean(axis=1, skipna=False)
    columns: dict[str, object] = {}
    for grid in values:
        columns |= {str(grid): values[grid], f"rank_{grid}": ranks(values[grid].tolist())}
    return pd.DataFrame(columns | {"mean": mean, "rank": ranks(mean.tolist())}, index=values.index)
