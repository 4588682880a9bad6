"""The judge of the speed table: failures count, targets are missed by name, and no contradiction is overlooked."""

from __future__ import annotations

import math

import pytest
from exact_report import (
    Comparison,
    Line,
    MostTime,
    Target,
    contradictions,
    counted_time,
    gap_of,
    measures,
    open_table,
    pairs,
    ratio_table,
    verdict,
)


def row(**known):
    """Return a proved sample of 100 s that took 1 s, but for what is given."""
    usual = {"instance": "a", "instance_sha256": "a", "slot": 50, "method": "portfolio", "work": "slots"}
    solved = {"status": "optimal", "time": 1.0, "limit": 60.0, "objective": 100.0, "lower_bound": 100.0, "memory": 50.0}
    return usual | solved | known


def open_row(**known):
    return row(status="feasible", time=60.5, lower_bound=98.0) | known


KILLED = {
    "status": "timeout",
    "time": None,
    "objective": None,
    "lower_bound": None,
    "memory": None,
}


def test_what_is_not_proven_counts_with_its_limit_at_least():
    assert counted_time(row()) == 1.0
    assert counted_time(open_row()) == 60.5
    assert counted_time(open_row(time=0.4)) == 60.0  # it gave up
    assert counted_time(row(**KILLED)) == 60.0


def test_gaps_are_relative_to_the_objective_and_infinite_where_something_is_unknown():
    assert gap_of(open_row()) == pytest.approx(0.02)
    assert gap_of(row(lower_bound=100.0 + 1e-9)) == 0.0
    assert gap_of(row(**KILLED)) == math.inf


def test_a_killed_sample_makes_every_figure_worse_but_memory():
    found = measures([row(), row(time=3.0), row(**KILLED)])
    assert (found.ran, found.proven, found.median, found.percentile95) == (3, 2, 3.0, 60.0)
    assert (found.worst_gap, found.worst_overrun, found.memory) == (math.inf, math.inf, 50.0)


def test_a_target_says_what_is_missed_and_by_how_much():
    target = Target(share_proven=1.0, median=0.5, percentile95=5.0, worst_gap=0.01, overrun=1.0)
    # Three of four are proved; the median is the second of 1, 1, 1 and 60.5 s.
    misses = target.misses(measures([row(), row(), row(), open_row(memory=2500.0)]))
    assert misses == [
        "75 % proved, not 100 %",
        "median 1 s, not 0.5 s",
        "95th percentile 60.5 s, not 5 s",
        "worst gap 2 %, not 1 %",
        "memory 2500 MB, not 2000 MB",
    ]
    assert target.misses(measures([row(time=0.5)])) == []


def test_a_time_limit_that_does_not_hold_is_missed():
    assert Target(overrun=6.0).misses(measures([open_row(time=66.5)])) == ["time over the limit 6.5 s, not 6 s"]
    assert Target(overrun=6.0).misses(measures([row(**KILLED)])) == ["time over the limit killed, not 6 s"]


def test_nothing_is_reached_before_all_has_run():
    assert verdict([], ran=4, planned=4) == "reached"
    assert verdict([], ran=3, planned=4).startswith("open: 3 of 4")
    assert verdict([], ran=0, planned=4).startswith("open")
    assert verdict(["median 1 s, not 0.5 s"], ran=3, planned=4) == "**missed**: median 1 s, not 0.5 s"


def test_a_ratio_counts_what_the_other_did_not_prove_with_its_limit_or_not_at_all():
    rows = [row(), row(method="peer", time=4.0), row(slot=5), open_row(slot=5, method="peer", time=64.0)]
    found = pairs(rows, "portfolio", "peer")
    assert [pair.ratio for pair in found] == [4.0, 64.0]
    # sqrt(4 * 64) = 16.
    assert Comparison("peer", 16.0, never_weaker=True).misses(found) == []
    assert Comparison("peer", 16.0, where_proven=True).misses(found) == ["4 times, not 16"]
    assert "| all | 2 | 2 | 1 |" in ratio_table(found)


def test_a_crash_is_in_no_pair_and_a_weaker_bound_is_counted():
    crashed = {"status": "crashed", "method": "peer"}
    assert pairs([row(), row(**crashed)], "portfolio", "peer") == []
    (pair,) = pairs([open_row(), row(method="peer", lower_bound=99.0)], "portfolio", "peer")
    assert pair.is_weaker
    missed = Comparison("peer", never_weaker=True).misses([pair])
    assert missed == ["a weaker bound in 1 of 1"]


def test_fewer_proofs_than_those_of_the_other_are_missed_however_fast_they_were():
    rows = [row(), row(method="peer"), open_row(slot=5), row(slot=5, method="peer", time=50.0, lower_bound=98.0)]
    comparison = Comparison("peer", never_weaker=True, never_fewer=True)
    assert comparison.sentence == "compared with peer: never a weaker bound, as many proved"
    assert comparison.misses(pairs(rows, "portfolio", "peer")) == ["1 proved, not 2"]
    assert comparison.misses(pairs(rows[:2], "portfolio", "peer")) == []


def test_each_instance_that_takes_longer_than_the_other_allows_is_missed():
    rows = [row(time=2.5), row(method="peer", time=1.0), row(slot=5, time=2.6), row(slot=5, method="peer", time=1.0)]
    comparison = Comparison("peer", never_slower=MostTime(2.0, 0.5))
    assert comparison.sentence == "compared with peer: never slower than 2 times and 0.5 s"
    assert comparison.misses(pairs(rows, "portfolio", "peer")) == ["slower than that on 1 of 2"]
    assert comparison.misses(pairs(rows[:2], "portfolio", "peer")) == []


def test_a_row_may_have_a_target_of_its_own_beside_that_of_a_comparison():
    found = pairs([row(), row(method="peer")], "portfolio", "peer")
    line = Line("work", "portfolio", 1, [row()], Target(share_proven=1.0), Comparison("peer", never_fewer=True), found)
    assert line.cells()[2] == "100 % proved; compared with peer: as many proved"
    assert line.cells()[-1] == "reached"


def test_a_comparison_without_a_pair_is_open():
    comparison = Comparison("peer", 10.0, never_weaker=True)
    assert str(Line("work", "portfolio", 1, [row()], Target(), comparison).cells()[-1]).startswith("open")


def test_a_bound_above_an_objective_of_another_method_is_a_contradiction():
    assert contradictions([row(), open_row(method="peer", objective=101.0, lower_bound=100.0)]) == []
    (sentence,) = contradictions([row(), open_row(method="peer", objective=None, lower_bound=100.5)])
    assert sentence == "a, 50 %: peer says 100.5 s at least, 100 s is reached"


def test_a_bound_in_continuous_time_is_below_what_any_slot_reaches():
    continuous = row(slot=None, objective=99.0, lower_bound=99.0)
    assert contradictions([row(), continuous]) == []
    assert contradictions([row(), row(slot=5, objective=90.0, lower_bound=90.0)]) == []  # other slots, other optima
    assert len(contradictions([row(objective=98.0, lower_bound=98.0), continuous])) == 1
    assert contradictions([row(objective=98.0, lower_bound=98.0), continuous | {"instance_sha256": "b"}]) == []


def test_values_of_different_objectives_do_not_contradict_each_other():
    sums = {"criterion": "total-response-time", "objective": 400.0, "lower_bound": 400.0}
    assert contradictions([row(criterion="makespan"), row(**sums)]) == []
    assert (
        len(contradictions([row(**sums, method="peer"), row(**sums | {"objective": 390.0, "lower_bound": 0.0})])) == 1
    )


def test_what_is_open_is_listed_worst_first():
    table = open_table([row(), open_row(), row(**KILLED)]).splitlines()
    assert len(table) == 4
    assert "timeout" in table[2]
    assert open_table([row()]) == "None."
