import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.documents.wording import (
    amount_text,
    duration_text,
    instant_text,
    plural,
    quantity_text,
    share_text,
    shortened,
    unit_for,
)


@pytest.mark.parametrize(
    ("seconds", "symbol"), [(0, "s"), (179, "s"), (180, "min"), (10799, "min"), (10800, "h"), (259200, "d")]
)
def test_the_unit_is_the_largest_that_fits_three_times(seconds, symbol):
    assert unit_for(seconds).symbol == symbol


def test_durations_are_worded_in_their_unit():
    assert duration_text(670000.0) == "7.755 d"
    assert duration_text(90.0) == "90 s"
    assert duration_text(-7200.0) == "-120 min"


def test_instants_in_unix_time_keep_their_seconds():
    assert instant_text(123.456789) == "123.457 s"
    assert instant_text(1_700_000_017.5) == "1700000017.5 s"
    assert instant_text(math.inf) == "inf s"


@pytest.mark.parametrize(
    ("amount", "text"), [(0.0, "0 J"), (9200.0, "9200 J"), (10e3, "10 kJ"), (-2.5e7, "-25 MJ"), (1.9115e12, "1912 GJ")]
)
def test_amounts_have_the_largest_prefix_of_which_they_hold_ten(amount, text):
    assert amount_text(amount, "J") == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.834, "83 %"), (1.0, "100 %"), (1.004, "100.4 %"), (0.996, "99.6 %"), (1.5, "150 %"), (math.inf, "∞")],
)
def test_a_share_near_capacity_never_looks_like_exactly_capacity(share, text):
    assert share_text(share) == text


def test_plural():
    assert [plural(n, "node") for n in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


def test_long_ids_lose_their_middle_and_unprintable_characters_are_escaped():
    assert shortened("job-" + "x" * 50 + "-0042", 12) == "job-x…x-0042"
    assert shortened("a\n\x1b[31m", 24) == "a\\n\\x1b[31m"


@given(st.text(min_size=1), st.integers(3, 40))
def test_shortened_is_printable_and_short(text, limit):
    short = shortened(text, limit)
    assert short.isprintable()
    assert len(short) <= limit


def test_seconds_that_are_hard_to_read_are_hours():
    assert quantity_text(99_999.5, "s") == "99999.5 s"
    assert quantity_text(-360_000.0, "s") == "-100 h"
    assert quantity_text(8_710_000.0, "J") == "8710000 J"
    assert quantity_text(1_557_769.87, "J") == "1557769.9 J"
    assert quantity_text(1.25, "-") == "1.25"
