"""Instances far from 0: moved by whole slots, solved as near 0, and their schedules back where they belong."""

from __future__ import annotations

from typing import Any

import pytest

import coalloc
from coalloc.checker import check
from coalloc.constraint import LatestEnd
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Window
from coalloc.solvers.call import Call
from coalloc.solvers.moved_in_time import move_of, moved
from coalloc.solvers.result import SolveOptions

UNIX = 1.7e9 + 3.0
"""An instant in Unix time, s, that is no whole number of slots of 10 s."""


def two_nodes(since: float, **changes: Any) -> Instance:
    """Return five jobs on two nodes that arrive from ``since`` on: 3 and 3 slots on one, 2, 2 and 2 on the other."""
    jobs = (Job(f"J{i}", 1, 10.0 * slots, arrival=since) for i, slots in enumerate((3, 3, 2, 2, 2)))
    return Instance(Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),)), tuple(jobs), **changes)


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_unix_time_changes_no_makespan_by_more_than_where_slots_begin(formulation: str) -> None:
    # The jobs arrive 3 s after a slot begins, so 7 s before they can start: 60 s and 7 s.
    result = coalloc.solve(two_nodes(UNIX), slot=10.0, formulation=formulation)
    assert (result.status, result.objective) == ("optimal", pytest.approx(67.0))
    assert result.schedule is not None
    assert min(p.start for p in result.schedule) == pytest.approx(UNIX + 7.0)
    assert check(two_nodes(UNIX), result.schedule) == []


def test_models_alone_have_no_slots_before_the_first_arrival() -> None:
    for formulation in ("mode", "count"):
        model = coalloc.build_model(two_nodes(1.7e9), slot=10.0, formulation=formulation)
        variables = model.x if formulation == "mode" else model.w
        assert {key[-1] for key in variables} == set(range(170_000_000, 170_000_011))  # 12 slots in turn


def test_continuous_time_and_sums_are_moved_as_well() -> None:
    assert coalloc.solve(two_nodes(UNIX)).objective == pytest.approx(60.0, abs=1e-9)
    # Shortest first: 20, 20, 40 and then 30 s from 20 and 40 s on: 50 and 70 s.
    total = coalloc.solve(two_nodes(UNIX), objective="total-response-time")
    assert total.objective == pytest.approx(20.0 + 20.0 + 40.0 + 50.0 + 70.0, abs=1e-9)


def test_a_start_is_moved_too() -> None:
    first = coalloc.solve(two_nodes(UNIX), slot=10.0).schedule
    again = coalloc.solve(two_nodes(UNIX), slot=10.0, start=first)
    assert again.trace[0].source == "start"
    assert again.schedule == first


def test_what_says_instants_besides_arrivals_is_moved_with_them_or_not_at_all() -> None:
    late = two_nodes(UNIX)
    assert move_of(late, 10.0) == 1.7e9
    assert move_of(late, None) == UNIX
    assert move_of(two_nodes(100.0), 10.0) == 0.0  # less time before the first arrival than in it
    due = late.replace(jobs=(late.jobs[0].replace(due_date=UNIX + 50.0), *late.jobs[1:]))
    assert moved(due, move_of(due, None)).jobs[0].due_date == 50.0
    over = late.replace(jobs=(late.jobs[0].replace(due_date=UNIX - 50.0), *late.jobs[1:]))
    assert move_of(over, None) == 0.0
    running = late.replace(running=(RunningJob(Job("R", 1, 5.0), ("C1/0",), 5.0),))
    assert move_of(running, 10.0) == 0.0


def test_constraints_of_the_users_own_keep_their_clock() -> None:
    limit = LatestEnd(UNIX + 60.0 + 7.0)
    result = coalloc.solve(two_nodes(UNIX), slot=10.0, constraints=[limit])
    assert (result.status, result.objective) == ("optimal", pytest.approx(67.0))


def test_optimal_in_slots_is_the_least_number_of_them() -> None:
    # A slot is less than 1e-6 of 2,000,001: within the tolerance of a proof in seconds, and none in slots.
    call = Call(two_nodes(0.0), SolveOptions(slot=1.0), step=1.0, objective=2_000_001.0, lower_bound=2_000_000.0)
    assert not call.is_closed
    call.raise_bound(2_000_001.0, "a proof")
    assert call.is_closed
    assert Call(two_nodes(0.0), SolveOptions(), objective=2_000_001.0, lower_bound=2_000_000.0).is_closed
    slack = SolveOptions(slot=1.0, gap=1e-6)
    assert Call(two_nodes(0.0), slack, step=1.0, objective=2_000_001.0, lower_bound=2_000_000.0).is_closed


def test_what_windows_keep_from_being_moved_is_proven_in_unix_time() -> None:
    # 12 slots of 10 s on two nodes: 60 s, before the window. A share of the clock's 1.7e9 s would pass for a proof.
    later = two_nodes(UNIX)
    window = Window("C1", UNIX + 200.0, UNIX + 300.0)
    kept = later.replace(platform=later.platform.replace(unavailable=[window]))
    assert move_of(kept, None) == 0.0
    result = coalloc.solve(kept)
    assert (result.status, result.objective) == ("optimal", pytest.approx(60.0))
