"""The picture of an audit: what its windows are drawn from."""

from __future__ import annotations

import numpy as np
import pandas as pd

from coalloc.plot.audit import draw_audit, steps

WINDOWS = pd.DataFrame(
    {
        "begin": [0.0, 10.0, 30.0],
        "end": [10.0, 20.0, 40.0],
        "wait_bound": [1.0, 2.0, 3.0],
        "wait_best": [4.0, 5.0, 6.0],
        "wait_as_it_was": [7.0, 8.0, 900.0],
    }
)
"""No job came from 20 to 30 s."""


def test_where_there_is_no_window_nothing_is_drawn():
    instants, waits = steps(WINDOWS)
    assert instants == [0.0, 10.0, 20.0, 30.0, 40.0]
    nothing = np.nan
    assert np.array_equal(
        waits,
        [[1.0, 2.0, nothing, 3.0, 3.0], [4.0, 5.0, nothing, 6.0, 6.0], [7.0, 8.0, nothing, 900.0, 900.0]],
        equal_nan=True,
    )


def test_the_parts_of_the_mean_wait_are_drawn_in_order():
    shares = {f"order_{end}": 10.0 for end in ("low", "high")}
    whole = {"begin": 0.0, "end": 40.0, "wait_bound": 60.0, "wait_best": 120.0, "wait_as_it_was": 240.0, **shares}
    table = pd.concat([pd.DataFrame([whole]), WINDOWS], ignore_index=True)
    top, _, bottom = draw_audit(table, ["order"], None).axes
    # In minutes, for three of them make an axis: 0 to 1, to 2, to 4.
    assert [(bar.get_x(), bar.get_width()) for bar in top.patches] == [(0.0, 1.0), (1.0, 1.0), (2.0, 2.0)]
    assert bottom.get_yscale() == "symlog"  # 900 s is above 20 times the usual 8 s
