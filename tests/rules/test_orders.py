"""Queue orders on jobs that every order arranges differently."""

from __future__ import annotations

import pytest

from coalloc.instance import Job
from coalloc.rules.orders import ORDERS, ordered

JOBS = (
    Job("a", 2, 100.0, arrival=5.0),
    Job("b", 4, 30.0, arrival=9.0),
    Job("c", 3, 60.0, estimate=120.0, arrival=1.0),
)
"""Areas by estimate: 200, 120, 360."""


@pytest.mark.parametrize(
    ("order", "expected"),
    [("fcfs", "cab"), ("sjf", "acb"), ("bjf", "bca"), ("spt", "bac"), ("lpt", "cab"), ("largest-area", "cab")],
)
def test_each_order(order: str, expected: str) -> None:
    # lpt goes by estimates: c (120), though it runs for 60 s only, before a (100).
    assert "".join(job.id for job in ordered(JOBS, order)) == expected


@pytest.mark.parametrize("order", ORDERS)
def test_ties_keep_the_order_given(order: str) -> None:
    equal = [Job(name, 2, 10.0) for name in "dacb"]
    assert [job.id for job in ordered(equal, order)] == list("dacb")
