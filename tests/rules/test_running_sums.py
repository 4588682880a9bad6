"""Sums that do not drift."""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from coalloc.rules.running_sums import RunningSums


def test_what_is_left_of_a_large_term_is_nothing():
    # As floats 1e17 + 1 - 1e17 is 0.
    sums = RunningSums(2)
    sums.add(0, 1e17)
    sums.add(0, 1.0)
    sums.add(1, 3.0)
    sums.take_away(0, 1e17)
    assert sums.totals == [1.0, 3.0]


def test_the_rest_is_exactly_zero_where_only_zeros_are_left():
    sums = RunningSums(1)
    for term in (0.1, 0.0, 0.7):
        sums.add(0, term)
    for term in (0.7, 0.1):
        sums.take_away(0, term)
    assert sums.totals == [0.0]


@example([(1.0, False), (1.0, False), (562949953421310.06, False), (0.0125, True)])
@given(st.lists(st.tuples(st.floats(1e-3, 1e15), st.booleans()), min_size=1))
def test_a_total_is_right_in_twice_the_precision(terms):
    sums = RunningSums(1)
    for term, _ in terms:
        sums.add(0, term)
    for term, is_kept in terms:
        if not is_kept:
            sums.take_away(0, term)
    exact = sum((Fraction(term) for term, is_kept in terms if is_kept), Fraction())
    lost = 2 * len(terms) * sum(Fraction(term) for term, _ in terms) / 2**104  # by at most two changes per term
    assert abs(Fraction(sums.totals[0]) - exact) <= exact / 2**52 + lost
