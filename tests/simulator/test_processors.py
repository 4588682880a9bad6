"""Sets of processors as bits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.simulator.processors import indices_of, lowest_of, preferred_of, processors_of

INDICES = st.sets(st.integers(0, 300), min_size=1)


@given(INDICES)
def test_a_set_gives_back_its_indices_in_order(indices):
    assert list(indices_of(processors_of(indices))) == sorted(indices)


@given(st.data(), INDICES)
def test_the_lowest_are_the_first_in_order(data, indices):
    count = data.draw(st.integers(1, len(indices)))
    assert list(indices_of(lowest_of(processors_of(indices), count))) == sorted(indices)[:count]


@pytest.mark.parametrize(("processors", "count", "lowest"), [(0b1011, 2, 0b11), (0b1011, 3, 0b1011), (0b1010, 1, 0b10)])
def test_the_lowest_by_hand(processors, count, lowest):
    assert lowest_of(processors, count) == lowest


@given(st.data(), INDICES, st.sets(st.integers(0, 300)))
def test_the_preferred_come_first(data, indices, preferred):
    count = data.draw(st.integers(1, len(indices)))
    in_order = sorted(indices, key=lambda index: (index not in preferred, index))
    chosen = preferred_of(processors_of(indices), count, processors_of(preferred))
    assert list(indices_of(chosen)) == sorted(in_order[:count])
