"""Dual feasible functions: the law that makes them bounds, and hand-computed weights."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.rules.dual_feasible import weightings
from tests.strategies import LAW


def weight(tasks: int, processors: int, k: int) -> float:
    """Return the k-th weight of a job by definition; k = 0 is its share of the processors."""
    scaled = tasks * (k + 1)
    if k == 0 or scaled % processors == 0:
        return tasks / processors
    return (scaled // processors) / k


@LAW
@given(st.integers(1, 60), st.integers(0, 60), st.data())
def test_tasks_that_fit_together_weigh_at_most_one(processors: int, k: int, data: st.DataObject) -> None:
    tasks: list[int] = []
    while sum(tasks) < processors:
        tasks.append(data.draw(st.integers(1, processors - sum(tasks))))
    assert sum(weight(count, processors, k) for count in tasks) <= 1.0 + 1e-12


@LAW
@given(st.integers(1, 12), st.integers(0, 12))
def test_no_partition_of_the_processors_weighs_more_than_one(processors: int, k: int) -> None:
    """Over all multisets of task counts that add up to at most ``processors``, by dynamic programming."""
    best = [0.0] * (processors + 1)
    for room in range(1, processors + 1):
        best[room] = max(best[room - count] + weight(count, processors, k) for count in range(1, room + 1))
    assert best[processors] <= 1.0 + 1e-12


@pytest.mark.parametrize(
    ("tasks", "k", "expected"),
    [
        (3, 0, 3 / 10),  # the share
        (6, 1, 1.0),  # more than half: alone. 6 * 2 / 10 = 1.2, down to 1, over k = 1
        (5, 1, 5 / 10),  # exactly half: 5 * 2 / 10 is whole, so the share
        (4, 1, 0.0),  # less than half: nothing
        (4, 2, 1 / 2),  # more than a third: two at a time. 4 * 3 / 10 = 1.2, down to 1, over 2
        (7, 2, 2 / 2),  # more than two thirds
    ],
)
def test_weights_by_hand(tasks: int, k: int, expected: float) -> None:
    assert weight(tasks, 10, k) == expected


def test_weightings_begin_with_the_shares_and_repeat_none() -> None:
    found = weightings([6, 4], 10)
    assert found[0] == [0.6, 0.4]
    assert [1.0, 0.0] in found
    assert len({tuple(weights) for weights in found}) == len(found)
    assert weightings([], 10) == [[]]


@LAW
@given(st.integers(1, 40), st.data())
def test_weightings_are_the_definition_without_repetition(processors: int, data: st.DataObject) -> None:
    tasks = data.draw(st.lists(st.integers(1, processors), min_size=1, max_size=6))
    defined = {tuple(weight(count, processors, k) for count in tasks): None for k in range(processors)}
    assert [tuple(weights) for weights in weightings(tasks, processors)] == list(defined)


def test_a_platform_of_a_million_processors_has_a_thousand_functions_at_most() -> None:
    # More than half of the processors run alone: k = 1 says so as it does on few. One function each of 10^6 values of
    # k would take minutes.
    found = weightings([600_000, *range(1, 2_000)], 1_000_000)
    assert len(found) <= 1_000
    assert 1.0 in {weights[0] for weights in found}
