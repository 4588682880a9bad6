"""Arc flow: arcs and packings by hand, and equal to all ways of packing as a law."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.models import arc_flow
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.result import SolveStatus
from tests.strategies import LAW


def packed(sizes: list[int], copies: list[int], capacity: int, bins: int) -> list[list[int]] | None:
    """Return the sizes in each bin; None where they do not fit."""
    model = arc_flow.build(arc_flow.arcs_of(sizes, copies, capacity), copies, bins)
    solution = solve_model(model, SolverLimits(60.0), integral=True)
    if solution.objective is None:
        assert solution.status is SolveStatus.INFEASIBLE
        return None
    return [[sizes[i] for i in of_bin] for of_bin in arc_flow.extract(model)]


def test_arcs_begin_where_larger_items_may_end() -> None:
    # Of 5, twice 2 and capacity 7: 5 begins at 0; a 2 at 0 or after 5, the second after the first. Losses lead from
    # each of 0, 2, 4, 5 and 7 to the next.
    assert arc_flow.arcs_of([5, 2], [1, 2], 7) == [
        (0, 2, arc_flow.LOSS),
        (0, 2, 1),
        (0, 5, 0),
        (2, 4, arc_flow.LOSS),
        (2, 4, 1),
        (4, 5, arc_flow.LOSS),
        (5, 7, arc_flow.LOSS),
        (5, 7, 1),
    ]


def test_a_perfect_packing_is_found() -> None:
    # 10 = 6 + 4 = 5 + 3 + 2 = 4 + 4 + 2: every other choice leaves something over.
    found = packed([6, 5, 4, 3, 2], [1, 1, 3, 1, 2], 10, 3)
    assert found is not None
    assert [sum(of_bin) for of_bin in found] == [10, 10, 10]
    assert sorted(size for of_bin in found for size in of_bin) == [2, 2, 3, 4, 4, 4, 5, 6]


@pytest.mark.parametrize(("bins", "fits"), [(2, False), (3, True)])
def test_what_fits_by_area_need_not_fit(bins: int, fits: bool) -> None:
    # Three items of 6 take 18 of 20, but no two of them fit into a bin of 10.
    assert (packed([6], [3], 10, bins) is not None) == fits


@LAW
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(6, 9), st.integers(1, 3))
def test_it_packs_what_can_be_packed(items: list[int], capacity: int, bins: int) -> None:
    ways = product(range(bins), repeat=len(items))
    fits = any(
        all(sum(size for size, b in zip(items, way, strict=True) if b == bin_) <= capacity for bin_ in range(bins))
        for way in ways
    )
    sizes = sorted(set(items), reverse=True)
    found = packed(sizes, [items.count(size) for size in sizes], capacity, bins)
    assert (found is not None) == fits
    if found is not None:
        assert all(sum(of_bin) <= capacity for of_bin in found)
        assert sorted(size for of_bin in found for size in of_bin) == sorted(items)
