"""A small linear programme as a table: optima and prices by hand, also after limits and costs have changed."""

import numpy as np
import pytest

from coalloc.solvers.backends.dense_lp import DenseLp


def test_optima_and_prices_follow_what_changes():
    # min 2 x + 3 y with x <= 4, x + y = 10, y <= 8.
    rows, lower, upper = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([-np.inf, 10.0]), np.array([4.0, 10.0])
    lp = DenseLp(np.array([2.0, 3.0]), rows, lower, upper, np.array([np.inf, 8.0]))
    found = lp.solve()
    assert found.value == pytest.approx(26.0)
    assert found.columns == pytest.approx([4.0, 6.0])
    assert found.duals == pytest.approx([-1.0, 3.0]), "one more of x for one of y saves 1"
    lp.limit(np.array([12.0]))
    found = lp.solve()
    assert (found.value, found.duals[0]) == (pytest.approx(20.0), 0.0)
    lp.price(0, 5.0)
    assert lp.solve().columns == pytest.approx([2.0, 8.0])
    lp.limit(np.array([1.0]))
    assert lp.solve() is None, "y alone is at most 8"
    lp.limit(np.array([3.0]))
    assert lp.solve().value == pytest.approx(34.0), "and it goes on where there was none"
