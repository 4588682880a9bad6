import pytest

from coalloc.bench.summary import contradictions, counted_time, failures, summary, timing
from tests.bench.rows import row

ROWS = [
    row("A", "i", "optimal", 1.0, objective=100.0, lower_bound=100.0, gap=0.0, memory=90.0),
    row("B", "i", "feasible", 10.2, objective=110.0, lower_bound=88.0, gap=0.2, memory=100.0),
    row("A", "j", "optimal", 7.0, objective=50.0, lower_bound=50.0, gap=0.0, memory=80.0),
    row("B", "j", "timeout", 30.1, message="did not end", memory=120.0),
    row("A", "k", "not run"),
]


def test_a_line_per_method_with_nothing_dropped():
    a, b = summary(ROWS).lines
    # A solved what ran, in 1 and 7 s: sqrt(2 * 8) - 1 = 3 s.
    assert a == ("A", "2/2", "0", pytest.approx(3.0), 7.0, 0.0, pytest.approx(1.0), "2/2", 90.0)
    # B solved nothing: 10.2 s against a limit of 10 s, and 30.1 s: sqrt(11.2 * 31.1) - 1 = 17.66 s. 110/100 = 1.1.
    assert b == (
        *("B", "0/2", "1 timeout", pytest.approx(17.6635, abs=1e-3), 30.1),
        *(pytest.approx(20.0), pytest.approx(1.1), "0/1", 120.0),
    )


def test_proofs_that_were_certified_are_counted_where_any_were_to_be():
    # A has two proofs, one with a certificate; B has none, and what it was not asked is no failure of it.
    marked = [one | {"certified": k == 0} if one["label"] == "A" else one for k, one in enumerate(ROWS[:4])]
    assert "certified" not in summary(ROWS).heads
    assert summary(marked).heads[-1] == "certified"
    assert [line[-1] for line in summary(marked).lines] == ["1/2", None]


def test_what_was_not_solved_counts_its_limit_at_least():
    assert counted_time(row("A", "i", "optimal", 2.0)) == 2.0
    assert counted_time(row("A", "i", "crashed", 2.0)) == 10.0
    assert counted_time(row("A", "i", "crashed", None)) == 10.0
    assert counted_time(row("A", "i", "feasible", 2.0, options={})) == 60.0  # the default of solve
    assert counted_time(row("A", "i", "timeout", 30.0, method="simulate")) == 30.0


def test_objectives_are_compared_only_with_those_of_the_same_aim():
    coarse = row("C", "i", "optimal", 1.0, objective=120.0, options={"slot": "50%"})
    (_, b, c) = summary([*ROWS[:2], coarse]).lines
    assert (b[6], c[6]) == (pytest.approx(1.1), 1.0)


def test_failures_are_counted_by_kind():
    rows = [row("A", "i", status) for status in ("error", "error", "memory", "optimal", "not run", "unknown")]
    assert failures(rows) == "2 error, 1 memory"


def test_a_bound_above_an_objective_is_a_contradiction():
    wrong = row("bound", "i", "done", 1.0, lower_bound=101.0, method="lower_bound")
    assert list(contradictions([*ROWS, wrong])) == ["i, bound: the bound 101 exceeds the objective 100"]
    other = wrong | {"options": {"slot": "50%"}}
    simulated = row("easy", "i", "done", 1.0, objective=90.0, method="simulate")  # its links may saturate
    assert list(contradictions([*ROWS, other, simulated])) == []


def test_what_a_time_is():
    assert timing(row("a", "i", "optimal", 1.0)) == "one call per process, without warm-up"
    warm = row("a", "i", "optimal", 1.0, warmup=2, repeat=5)
    assert timing(warm) == "median of 5 calls per process, after 2 warm-up calls"
