"""Which jobs become a package."""

from __future__ import annotations

from coalloc.instance import Job
from coalloc.rules.selection import selected

QUEUE = tuple(Job(id, tasks, 1.0) for id, tasks in (("a", 2), ("b", 3), ("c", 1), ("d", 1)))


def test_selection_stops_at_the_first_job_that_does_not_fit() -> None:
    # errata 8. Four processors: a leaves two, b needs three.
    assert [job.id for job in selected(QUEUE, 4)] == ["a"]
    assert [job.id for job in selected(QUEUE, 6)] == ["a", "b", "c"]


def test_skipping_goes_on_behind_it() -> None:
    # Algorithm 1: a, not b, then c and d on the two that are left.
    assert [job.id for job in selected(QUEUE, 4, skip=True)] == ["a", "c", "d"]


def test_nothing_fits_nothing() -> None:
    assert selected(QUEUE, 0, skip=True) == []
