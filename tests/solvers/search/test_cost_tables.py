"""Costs in the engine: those of the objective, and the least cost of work as a machine has it that goes by ticks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.solvers.bounds.mean_busy_time import HeldShare, MachineWork, least_cost
from tests.strategies import LAW


def by_the_machine(works: list[MachineWork], now: float, held: list[HeldShare]) -> float:
    """Return what work costs where each tick of time goes to the largest ratio that is there; all times are whole.

    Ratios are in descending order. A tick that does not hold all is shared by those that are next, one after another.
    """
    left, cost, at = [work.ticks for work in works], 0.0, now
    while any(ticks > 1e-12 for ticks in left):
        free, began = 1.0 - sum(share for end, share in held if end > at), at
        time = began
        for i, work in enumerate(works):
            if left[i] <= 1e-12 or work.release > at or free <= 0.0 or time >= at + 1.0:
                continue
            span = min(left[i] / free, at + 1.0 - time)
            cost += work.ratio * span * free * (time + span / 2.0)
            left[i] -= span * free
            time += span
        at += 1.0
    return cost


@LAW
@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(0.1, 5.0), st.integers(0, 6)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 8), st.floats(0.0, 0.25)), max_size=4),
)
def test_the_least_cost_is_that_of_the_machine(
    works: list[tuple[int, float, int]], held: list[tuple[int, float]]
) -> None:
    in_order = [
        MachineWork(float(ratio), ticks, float(release)) for ratio, ticks, release in sorted(works, reverse=True)
    ]
    holding = sorted(HeldShare(float(end), share) for end, share in held)
    assert least_cost(in_order, 0.0, holding) == pytest.approx(by_the_machine(in_order, 0.0, holding), rel=1e-9)


def test_the_larger_ratio_goes_first_even_where_it_arrives_later() -> None:
    # From 0 to 1 the second one, then the first from 1 to 3, then the rest of the second: 1/2 + 2 * 2 * 2 + 4 * 2.
    assert least_cost([MachineWork(2.0, 2.0, 1.0), MachineWork(1.0, 3.0)], 0.0) == 0.5 + 8.0 + 8.0


def test_what_is_no_number_is_refused() -> None:
    one, nothing = np.ones(1), np.zeros(0)
    with pytest.raises(InternalError, match="ratios of costs_of_works"):
        engine().costs_of_works(1, 0, 0.0, np.array([math.nan]), one, one, nothing, nothing, np.zeros(1))
