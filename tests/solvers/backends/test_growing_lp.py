"""A linear programme that grows: by hand, without an optimum, and where HiGHS refuses."""

from __future__ import annotations

import math
from threading import Thread

import pytest

from coalloc.instance import CoallocError
from coalloc.solvers.backends.growing_lp import GrowingLp, quiet_highs


def test_rows_and_columns_come_one_after_the_other() -> None:
    lp = GrowingLp()
    lp.add_row(4.0, math.inf)
    lp.add_columns([3.0, 1.0], [[(0, 2.0)], [(0, 0.5)]])  # 4 / 2 * 3 = 6, or 4 / 0.5 * 1 = 8
    first = lp.solve()
    assert first is not None
    assert (first.value, first.columns.tolist(), first.duals.tolist()) == (6.0, [2.0, 0.0], [1.5])
    lp.add_columns([1.0], [[(0, 1.0)]])  # 4
    lp.add_row(-math.inf, 3.0, [2], [1.0])  # only 3 of it: 3, and 1 / 2 * 3 = 1.5 for the rest
    second = lp.solve()
    assert second is not None
    assert (second.value, second.columns.tolist()) == (4.5, [0.5, 0.0, 3.0])


def test_what_has_no_optimum_has_no_solution() -> None:
    lp = GrowingLp()
    lp.add_columns([-1.0], [[]])
    assert lp.solve() is None  # unbounded
    lp.add_row(1.0, 2.0, [0], [0.0])
    assert lp.solve() is None  # infeasible


def test_what_highs_refuses_is_an_error() -> None:
    lp = GrowingLp()
    with pytest.raises(CoallocError, match="HiGHS failed while adding a row"):
        lp.add_row(0.0, 1.0, [3], [1.0])
    with pytest.raises(CoallocError, match="HiGHS failed while setting threads"):
        quiet_highs(threads="many")


def test_other_code_may_have_run_highs_with_more_threads_before() -> None:
    # HiGHS has one pool of workers for each thread of the process, with the number of the first run there; with
    # another number it fails. In a thread of its own the test does not depend on what ran before it.
    found: list[float | None] = []

    def both() -> None:
        other = quiet_highs(threads=2)
        other.addVar(1.0, 2.0)
        other.run()
        lp = GrowingLp()
        lp.add_row(4.0, math.inf)
        lp.add_columns([3.0], [[(0, 2.0)]])  # 4 / 2 * 3
        solution = lp.solve()
        found.append(None if solution is None else solution.value)

    thread = Thread(target=both)
    thread.start()
    thread.join()
    assert found == [6.0]
