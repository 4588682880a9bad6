"""Which pairs are kept: all where they form no cycle, else the first of them."""

from __future__ import annotations

import pytest

from coalloc.problem.ordering import acyclic


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        ([], []),
        ([(1, 0), (2, 1), (2, 0)], [(1, 0), (2, 1), (2, 0)]),
        ([(1, 0), (0, 1)], [(1, 0)]),  # a least and a greatest lag
        ([(1, 0), (2, 1), (0, 2), (3, 0)], [(1, 0), (2, 1), (3, 0)]),
    ],
)
def test_a_pair_that_closes_a_cycle_is_left_out(pairs: list[tuple[int, int]], kept: list[tuple[int, int]]) -> None:
    assert sorted(acyclic(pairs)) == sorted(kept)


def test_long_chains_and_many_paths_are_no_matter() -> None:
    chain = [(k + 1, k) for k in range(10_000)]
    layers = [(4 * a + b, 4 * a - 4 + c) for a in range(1, 50) for b in range(4) for c in range(4)]
    assert acyclic(chain) == chain
    assert acyclic(layers) == layers
    assert acyclic([*layers, (0, 199)]) == layers
