"""Queue orders on jobs that every order arranges differently, and formulas by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest

from coalloc.instance import CoallocError, Job
from coalloc.rules.orders import FIXED_ORDERS, TIMED_ORDERS, Keys, Order, OrderName, is_fixed, ordered
from coalloc.rules.queues import waiting_jobs


class Moment(NamedTuple):
    """A decision."""

    now: float
    queue: Sequence[Job] = ()


def key_at(order: Order, now: float) -> Callable[[Job], Any]:
    """Return the sort key of an order at a time, s."""
    return Keys(order).at(Moment(now))


JOBS = (
    Job("a", 2, 100.0, arrival=5.0),
    Job("b", 4, 30.0, arrival=9.0),
    Job("c", 3, 60.0, estimate=120.0, arrival=1.0),
)
"""Areas by estimate: 200, 120, 360."""


@pytest.mark.parametrize(
    ("order", "expected"),
    [("fcfs", "abc"), ("sjf", "acb"), ("bjf", "bca"), ("spt", "bac"), ("lpt", "cab"), ("largest-area", "cab")],
)
def test_each_order(order: OrderName, expected: str) -> None:
    # fcfs keeps the queue as it is. lpt goes by estimates: c (120), though it runs for 60 s only, before a (100).
    assert "".join(job.id for job in ordered(JOBS, key_at(order, 10.0))) == expected


@pytest.mark.parametrize("order", get_args(OrderName))
def test_ties_keep_the_order_given(order: OrderName) -> None:
    equal = [Job(name, 2, 10.0) for name in "dacb"]
    assert [job.id for job in ordered(equal, key_at(order, 5.0))] == list("dacb")


def test_the_names_are_those_of_the_orders() -> None:
    assert {*FIXED_ORDERS, *TIMED_ORDERS} == set(get_args(OrderName))


# 100 s on 4 processors, here since 1000 s.
JOB = Job("a", 4, 60.0, estimate=100.0, arrival=1000.0)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("wfp3", -8.0 * 4),  # waiting for 200 s: (200/100)**3 * 4
        ("unicef", -200.0 / (2.0 * 100.0)),  # log2(4) = 2
        ("f1", 2.0 * 4 + 870.0 * 3),  # log10(100) = 2, log10(1000) = 3
        ("f2", 10.0 * 4 + 25_600.0 * 3),
        ("f3", 100.0 * 4 + 6_860_000.0 * 3),
        ("f4", 100.0 * 2 + 530_000.0 * 3),
    ],
)
def test_the_formulas(order: OrderName, expected: float) -> None:
    assert key_at(order, 1200.0)(JOB) == pytest.approx(expected)


def test_formulas_hold_for_one_task_and_for_the_first_second() -> None:
    # log2(1) and log10(0) would be no numbers to divide by or to add: one task counts as two, 0 s as 1 s.
    job = Job("a", 1, 100.0)
    assert key_at("unicef", 50.0)(job) == -0.5
    assert key_at("f1", 50.0)(job) == math.log10(100.0)


def test_an_order_of_ones_own_sees_the_clock() -> None:
    assert key_at(lambda job, now: now - job.arrival, 1200.0)(JOB) == 200.0
    assert not is_fixed(lambda job, now: job.tasks)


class Turning:
    """An order whose keys are the time at which they were made."""

    def __init__(self, changes_every: float) -> None:
        self.changes_every = changes_every

    def key(self, state: Moment) -> Callable[[Job], float]:
        return lambda _: state.now


@pytest.mark.parametrize(
    ("period", "made"),
    [
        (0.0, [5.0, 9.0, 10.0, 31.0, 40.0, 40.0]),
        (10.0, [5.0, 5.0, 10.0, 31.0, 40.0, 40.0]),  # the first decision at or after 10, 30 and 40 s
        (math.inf, [5.0] * 6),
    ],
)
def test_keys_change_at_the_first_decision_of_a_period(period: float, made: list[float]) -> None:
    keys = Keys(Turning(period))
    assert [keys.at(Moment(now))(JOBS[0]) for now in (5.0, 9.0, 10.0, 31.0, 40.0, 40.0)] == made
    assert is_fixed(Turning(period)) == (period == math.inf)


@pytest.mark.parametrize("wrong", [math.nan, np.float64("nan"), "1", None, 1j, np.zeros(2)])
def test_keys_that_do_not_compare_are_an_error(wrong: object) -> None:
    def key(job: Job) -> Any:
        return wrong if job.id == "c" else 1.0

    with pytest.raises(CoallocError, match="the keys of an order must be comparable with each other"):
        ordered(JOBS, key)
    order = Turning(10.0)
    order.key = lambda _: key  # type: ignore[method-assign]
    waiting = waiting_jobs(order, lambda job: job.estimate)
    waiting.update(Moment(0.0, JOBS[:2]))
    with pytest.raises(CoallocError, match="the keys of an order must be comparable with each other"):
        waiting.update(Moment(5.0, JOBS[:3]))
