"""Which jobs of a plan can start: the order on every node is kept, and links are not oversubscribed."""

from __future__ import annotations

from coalloc.heuristics.plans import Planned, due, without


def ids(plan: list[Planned], free: int, *bandwidths: float) -> list[str]:
    """Return the ids of the jobs that can start."""
    return [planned.job_id for planned in due(plan, free, bandwidths)]


def test_jobs_whose_processors_are_free_start() -> None:
    assert ids([Planned("a", 0b001, 1.0), Planned("b", 0b110, 1.0)], 0b110) == ["b"]


def test_a_processor_is_kept_for_the_first_job_planned_on_it() -> None:
    # a waits for processor 0; b would fit on processor 1, but a is planned there before it; c is not in their way.
    plan = [Planned("a", 0b011, 1.0), Planned("b", 0b010, 1.0), Planned("c", 0b100, 1.0)]
    assert ids(plan, 0b110) == ["c"]


def test_bandwidth_is_kept_for_a_job_that_waits() -> None:
    # a waits for processor 0. With it b would put 16 on a link that has 10 MB/s left; c needs only 2.
    plan = [Planned("a", 0b001, 1.0, (8.0,)), Planned("b", 0b010, 1.0, (8.0,)), Planned("c", 0b100, 1.0, (2.0,))]
    assert ids(plan[:2], 0b110, 10.0) == []
    assert ids([plan[0], plan[2]], 0b110, 10.0) == ["c"]


def test_a_job_that_loads_no_link_starts_beside_saturated_ones() -> None:
    assert ids([Planned("a", 1, 1.0, (0.0,))], 1, -5.0) == ["a"]


def test_what_has_started_leaves_the_plan() -> None:
    plan = [Planned("a", 0b01, 1.0), Planned("b", 0b10, 1.0)]
    assert without(plan, plan[:1]) == plan[1:]
