"""Instances far from 0: shifted by whole slots or ticks, solved as near 0, with results in the user's times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Window
from coalloc.instance.constraints import Constraint, LatestEnd
from coalloc.objectives import OBJECTIVES
from coalloc.problem.fixed import fixings
from coalloc.solvers import oas
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.result import SolveOptions
from coalloc.solvers.slotting_bound import rounded_down_makespan
from coalloc.solvers.solve_state import SolveState
from coalloc.solvers.time_shift import shifted
from tests.explanations.test_infeasible import many_ends_by

MAKESPAN = OBJECTIVES["makespan"]
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
    assert again.trace[0].source == "warm start"
    assert again.schedule == first


def shift(instance: Instance, slot: float | None = None, constraints: Sequence[Constraint] = ()) -> float:
    """Return the seconds by which an instance is shifted where its makespan is to be least."""
    return shifted(instance, slot, MAKESPAN, constraints).base.shift


def test_what_says_instants_besides_arrivals_is_moved_with_them_or_not_at_all() -> None:
    late = two_nodes(UNIX)
    assert shift(late, 10.0) == 1.7e9
    assert shift(late) == UNIX
    assert shift(two_nodes(100.0), 10.0) == 0.0  # less time before the first arrival than in it
    due = late.replace(jobs=(late.jobs[0].replace(due_date=UNIX + 50.0), *late.jobs[1:]))
    assert shifted(due, None, MAKESPAN).instance.jobs[0].due_date == 50.0
    over = late.replace(jobs=(late.jobs[0].replace(due_date=UNIX - 50.0), *late.jobs[1:]))
    assert shift(over) == UNIX - 50.0  # no instant is below 0
    running = late.replace(running=(RunningJob(Job("R", 1, 5.0), ("C1/0",), 5.0),))
    assert shift(running, 10.0) == 0.0
    placed = fixings(late, [coalloc.Fixed("J0", start=UNIX + 40.0)])
    assert shift(late, constraints=placed) == UNIX
    assert shift(late, constraints=[Constraint()]) == 0.0


def test_windows_are_moved_and_those_that_are_over_are_left_out() -> None:
    windows = [
        Window("C1", UNIX - since, UNIX + until) for since, until in ((90.0, -60.0), (30.0, 20.0), (-40.0, 80.0))
    ]
    late = two_nodes(UNIX)
    kept = late.replace(platform=late.platform.replace(unavailable=windows))
    assert [(w.start, w.end) for w in shifted(kept, None, MAKESPAN).instance.platform.unavailable] == [
        (0.0, 20.0),
        (40.0, 80.0),
    ]


def test_what_is_fixed_is_moved_with_the_instance() -> None:
    # J0 of 3 slots starts 40 s after the first arrival: 70 s, and all else fits beside it until then.
    fixed = [coalloc.Fixed("J0", start=UNIX + 40.0)]
    result = coalloc.solve(two_nodes(UNIX), fixed=fixed)
    assert (result.status, result.objective) == ("optimal", pytest.approx(70.0, abs=1e-9))
    assert result.schedule is not None
    assert result.schedule["J0"].start == UNIX + 40.0
    assert coalloc.lower_bound(two_nodes(UNIX), fixed=fixed) == pytest.approx(70.0, abs=1e-5)


def test_constraints_of_the_users_own_keep_their_clock() -> None:
    limit = LatestEnd(UNIX + 60.0 + 7.0)
    result = coalloc.solve(two_nodes(UNIX), slot=10.0, constraints=[limit])
    assert (result.status, result.objective) == ("optimal", pytest.approx(67.0))


def test_optimal_in_slots_is_the_least_number_of_them() -> None:
    # A slot is less than 1e-6 of 2,000,001: within the tolerance of a proof in seconds, and none in slots.
    state = SolveState(two_nodes(0.0), SolveOptions(slot=1.0), step=1.0, objective=2_000_001.0, lower_bound=2_000_000.0)
    assert not state.is_closed
    state.raise_bound(2_000_001.0, "a proof")
    assert state.is_closed
    assert SolveState(two_nodes(0.0), SolveOptions(), objective=2_000_001.0, lower_bound=2_000_000.0).is_closed
    slack = SolveOptions(slot=1.0, gap=1e-6)
    assert SolveState(two_nodes(0.0), slack, step=1.0, objective=2_000_001.0, lower_bound=2_000_000.0).is_closed


def test_a_window_in_unix_time_is_moved_with_its_jobs() -> None:
    # 12 slots of 10 s on two nodes, none of which is there from 20 to 50 s: 2 and 2 slots before, 3, 3 and 2 after.
    later = two_nodes(UNIX)
    window = Window("C1", UNIX + 20.0, UNIX + 50.0)
    result = coalloc.solve(later.replace(platform=later.platform.replace(unavailable=[window])))
    assert (result.status, result.objective) == ("optimal", pytest.approx(100.0))


@pytest.mark.parametrize("method", ["work", "area", "packing", "feasible-set", "best"])
def test_bounds_in_unix_time_lose_no_second(method: str) -> None:
    # 120 s of one processor on two: 60 s. A billionth of the clock's 1.7e9 s is 1.7 s.
    assert coalloc.lower_bound(two_nodes(UNIX), method=method) == pytest.approx(60.0, abs=1e-5)


@pytest.mark.parametrize("objective", ["total-response-time", "mean-wait", "weighted-tardiness", "maximum-lateness"])
def test_bounds_on_sums_and_maxima_are_those_near_0(objective: str) -> None:
    near, late = (
        instance.replace(jobs=[job.replace(due_date=job.arrival + 30.0) for job in instance.jobs])
        for instance in (two_nodes(0.0), two_nodes(UNIX))
    )
    for method in ("feasible-set", "prices"):
        bound = coalloc.lower_bound(near, objective, method)
        assert coalloc.lower_bound(late, objective, method) == pytest.approx(bound, abs=1e-5)


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_bounds_on_energy_are_those_near_0(objective: str) -> None:
    watts = {"off_watts": 1.0, "idle_watts": 50.0, "static_watts": 70.0, "core_watts": 30.0}
    near, late = (
        instance.replace(platform=Platform((Cluster("C1", (NodeGroup(2, 1.0, **watts),), 1.0),)))
        for instance in (two_nodes(0.0), two_nodes(UNIX))
    )
    assert coalloc.lower_bound(late, objective) == pytest.approx(coalloc.lower_bound(near, objective), rel=1e-9)
    slotted = coalloc.solve(late, objective=objective, slot=10.0)
    # From the slot that begins at 1.7e9 + 10 s on both nodes are busy for 60 s, and before idle for 7 s.
    joules = 2 * 60.0 * 100.0 + 2 * 7.0 * 50.0
    assert slotted.objective == pytest.approx(joules if objective == "energy" else 67.0 * joules)


def test_a_slot_of_a_second_in_unix_time_is_rounded_down_as_near_0() -> None:
    # 1.7e9 slots of 1 s: a billionth of them is more than one.
    assert rounded_down_makespan(two_nodes(1.7e9), 1.0).lower_bound == pytest.approx(60.0)


def test_a_proof_is_written_in_unix_time(tmp_path: Path) -> None:
    # Two jobs of 3 tasks and 5 s and three of 2 tasks and 4 s on 4 nodes, from 1.7e9 s on: 18 s is the least.
    shapes = [(3, 5.0)] * 2 + [(2, 4.0)] * 3
    jobs = [Job(f"J{j}", tasks, seconds, arrival=1.7e9) for j, (tasks, seconds) in enumerate(shapes)]
    result = coalloc.solve(Instance(Platform((Cluster("C1", (NodeGroup(4, 1.0),), 1.0),)), jobs), slot=1.0)
    assert result.objective == 18.0
    coalloc.write_proof(result, tmp_path / "proof.drcp")
    assert (tmp_path / "proof.drcp").read_text(encoding="utf-8").rstrip().endswith("c UNSAT")


def test_explanations_have_the_bounds_of_near_0_and_the_instants_of_the_instance() -> None:
    # 120 s of one processor on two: 60 s; on three 50 s, for no jobs of 30 and 20 s take 40 s on each of the three.
    found = coalloc.explain(two_nodes(UNIX))
    (area,) = found.of("bound")
    assert (area.kind, area.amount) == ("area", pytest.approx(120.0, abs=1e-5))
    assert "after 1700000003 s" in area.sentence
    (node,) = found.of("optimum")
    assert (node.amount, node.limit) == (pytest.approx(50.0, abs=1e-5), pytest.approx(60.0, abs=1e-5))
    schedule = coalloc.simulate(two_nodes(UNIX), "fcfs").schedule
    waits = coalloc.explain(two_nodes(UNIX), schedule, jobs=["J2"]).of("wait")
    assert waits[0].sentence.startswith("job 'J2' waits from 1700000003 s to 1700000033 s: ")
    late = two_nodes(UNIX).replace(jobs=[job.replace(deadline=UNIX + 25.0) for job in two_nodes(UNIX).jobs])
    assert "must end by 1700000028 s, but cannot end before 1700000033 s" in str(coalloc.explain(late))


def test_reasons_are_sought_on_the_shifted_clock_and_told_on_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    # The least makespan is 2733.3 s, which no simple bound says: it is searched for, and so is each set of reasons.
    origins: list[float] = []
    close = oas.close

    def counted(incumbent: Incumbent) -> None:
        origins.append(incumbent.problem.instance.origin)
        close(incumbent)

    monkeypatch.setattr(oas, "close", counted)
    jobs = [job.replace(arrival=UNIX, deadline=UNIX + 2700.0) for job in many_ends_by(2700.0).jobs]
    result = coalloc.solve(many_ends_by(2700.0).replace(jobs=jobs), slot=100.0)
    assert result.status == "infeasible"
    assert "job 'J0' must end by 1700002703 s" in result.message
    assert set(origins) == {3.0}  # shifted by 17,000,000 slots: the jobs arrive 3 s later
