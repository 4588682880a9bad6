import pytest

from coalloc.bench.comparison import compare
from tests.bench.rows import row

INSTANCES = ("i", "j", "k", "l", "m")
BEFORE = [row("A", name, "optimal", 1.0, objective=100.0, lower_bound=100.0) for name in INSTANCES]


def changed(factor, **of_first):
    """Return the rows with times multiplied, and other fields in the first."""
    rows = [one | {"time": one["time"] * factor} for one in BEFORE]
    return [rows[0] | of_first, *rows[1:]]


def test_a_store_against_itself_shows_nothing():
    comparison = compare(BEFORE, BEFORE)
    assert comparison.table.lines == (("A", 5, 5, 5, 1.0, 1.0, 1.0, "no difference"),)
    assert comparison.regressions == []


@pytest.mark.parametrize(("factor", "verdict"), [(2.0, "slower"), (0.5, "faster"), (1.03, "no difference")])
def test_times_are_compared_pair_by_pair(factor, verdict):
    (line,) = compare(BEFORE, changed(factor)).table.lines
    ratio = (factor + 0.01) / 1.01  # a hundredth of a second is added to both
    assert line[4:7] == pytest.approx((ratio, ratio, ratio))
    assert line[-1] == verdict


def test_a_slower_method_is_named():
    assert compare(BEFORE, changed(2.0)).regressions == ["A: slower, time ratio 1.990"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"status": "feasible"}, "i, A, seed 0: optimal before, feasible now"),
        ({"status": "crashed", "message": "gone"}, "i, A, seed 0: optimal before, crashed now: gone"),
        ({"objective": 101.0}, "i, A, seed 0: objective 100 before, 101 now"),
        ({"lower_bound": 99.0}, "i, A, seed 0: bound 100 before, 99 now"),
    ],
)
def test_a_sample_that_has_become_worse_is_named(change, sentence):
    assert sentence in compare(BEFORE, changed(1.0, **change)).regressions


def test_a_failure_counts_its_limit_and_is_never_left_out():
    (line,) = compare(BEFORE, changed(1.0, status="timeout", time=30.0)).table.lines
    # One of five pairs is (30 + 0.01)/(1 + 0.01) = 29.71 times slower: the geometric mean is 29.71 ** 0.2 = 1.970.
    assert line[1:4] == (5, 5, 4)
    assert line[4] == pytest.approx(1.970, abs=1e-3)


def test_few_pairs_have_no_interval_and_no_verdict():
    comparison = compare(BEFORE[1:], changed(2.0)[1:])
    assert comparison.table.lines == (("A", 4, 4, 4, pytest.approx(2.01 / 1.01), None, None, "too few pairs"),)
    assert comparison.regressions == []
    assert comparison.warnings == ["95 % intervals require at least 5 pairs"]


def test_samples_without_a_partner_are_counted():
    other = row("B", "i", "optimal", 1.0)
    comparison = compare([*BEFORE, row("A", "z", "not run")], [*BEFORE[1:], other])
    assert (len(comparison.pairs), comparison.only_a, comparison.only_b) == (4, 1, 1)
    assert comparison.warnings[0] == "samples only in A: 1, only in B: 1"


def test_times_of_two_machines_do_not_compare():
    elsewhere = [one | {"host": "node2"} for one in BEFORE]
    assert compare(BEFORE, BEFORE).warnings == []
    assert compare([one | {"host": "node1"} for one in BEFORE], elsewhere).warnings == [
        "A ran on node1, B on node2; their times are not comparable"
    ]
