"""Which jobs of a plan can start: the order on every node is kept, and links are not oversubscribed."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from coalloc.heuristics.plans import Planned, Turns, due, without


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


@given(st.lists(st.integers(1, 31), max_size=7), st.integers(0, 31), st.randoms(use_true_random=False))
def test_taking_turns_is_the_same_for_jobs_that_load_nothing(sets: list[int], free: int, random: Random) -> None:
    # Five processors, of which some are free; those that run, and those that the plan starts, end in any order.
    plan = [Planned(f"J{place}", processors, 1.0) for place, processors in enumerate(sets)]
    turns, running = Turns(plan), [31 & ~free] if free < 31 else []
    while plan or running:
        started = list(due(plan, free))
        assert turns.due(free) == started
        plan = without(plan, started)
        assert bool(turns) == bool(plan)
        for planned in started:
            free &= ~planned.processors
            running.append(planned.processors)
        if running:
            free |= running.pop(random.randrange(len(running)))


def test_processors_that_are_lost_are_waited_for_again() -> None:
    # a needs 0 and 1: 0 was free, and is no more when 1 is.
    turns = Turns([Planned("a", 0b11, 1.0)])
    assert turns.due(0b01) == []
    assert turns.due(0b10) == []
    assert [planned.job_id for planned in turns.due(0b11)] == ["a"]


def test_a_job_that_may_not_start_yet_keeps_its_turn() -> None:
    # a is kept back though its processors are free; b waits behind it, c is on others.
    plan = [Planned("a", 0b01, 1.0), Planned("b", 0b01, 1.0), Planned("c", 0b10, 1.0)]
    turns = Turns(plan)
    assert [p.job_id for p in turns.due(0b11, lambda planned: planned.job_id != "a")] == ["c"]
    assert turns.due(0b01, lambda _: False) == []
    assert [p.job_id for p in turns.due(0b01)] == ["a"]
    assert [p.job_id for p in due(plan, 0b11, (), lambda planned: planned.job_id != "a")] == ["c"]
