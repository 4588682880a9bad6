"""Pumpkin: optima against brute force with one mode and with many, equal jobs, and what its limits do."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import coalloc
from coalloc.checker import check
from coalloc.extend import TimeRow
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import Assignment, Problem, discretise
from coalloc.schedule import schedule_of
from coalloc.solvers import portfolio
from coalloc.solvers.backends import cpsat, pumpkin, pumpkin_worker
from coalloc.solvers.bounds.simple import simple_bound
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.features import FEATURE_SIZE, with_features
from coalloc.testing.small import small_instance
from tests.small_instances import slotted_instances

FIRST = ("longest job and packing", "list schedule")
FEW = settings(max_examples=25, deadline=None)


def pool(nodes: int, *jobs: tuple[int, float], **changes: Any) -> Instance:
    """Return jobs of (tasks, s) on one cluster of equal nodes."""
    made = tuple(Job(f"J{i}", tasks, seconds) for i, (tasks, seconds) in enumerate(jobs))
    return Instance(Platform((Cluster("C1", (NodeGroup(nodes, 1.0),), 1.0),)), made, **changes)


def answered(problem: Problem, horizon: int) -> tuple[str, list[Assignment]]:
    """Return the status of the question for a schedule that ends by the horizon, and the last one found."""
    question = pumpkin.Question(problem, 0, horizon)
    if question.is_refuted:
        return "INFEASIBLE", []
    messages: list[dict[str, Any]] = []
    pumpkin_worker.solve(question.document(time_limit=60.0, seed=0), messages.append)
    schedules = [question.assignments_in(message) for message in messages if "starts" in message]
    return messages[-1]["status"], schedules[-1] if schedules else []


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave Pumpkin in the portfolio, beside what it starts from."""
    kept = tuple(m for m in portfolio.METHODS if m.name in (*FIRST, pumpkin.NAME))
    monkeypatch.setattr(portfolio, "METHODS", kept)
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)


@FEW
@given(slotted_instances())
def test_optima_on_several_clusters_with_links_arrivals_and_running_jobs(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    optimum = round((brute_force_oas(instance, slot).objective + instance.origin) / slot)
    status, best = answered(problem, optimum)
    assert (status, max((a.end for a in best), default=0)) == ("OPTIMAL", optimum)
    assert check(instance, schedule_of(problem, best)) == []
    assert answered(problem, optimum - 1) == ("INFEASIBLE", [])


def test_equal_jobs_start_in_their_order() -> None:
    # Six jobs of 2 of 3 nodes, one after another, and two of one node beside them.
    problem = discretise(pool(3, *[(2, 10.0)] * 6, (1, 30.0), (1, 30.0)), 10.0)
    status, best = answered(problem, 9)
    assert (status, max(a.end for a in best)) == ("OPTIMAL", 6)
    starts = [a.start for a in best]
    assert starts[:6] == sorted(starts[:6])
    assert starts[6:] == sorted(starts[6:])


def test_jobs_that_differ_in_their_arrival_alone_are_not_equal() -> None:
    # On one node: J0 arrives at 10 s, J1 at 0. In their order they would end at 30 s.
    instance = pool(1, (1, 10.0), (1, 10.0))
    late = instance.replace(jobs=(instance.jobs[0].replace(arrival=10.0), instance.jobs[1]))
    assert answered(discretise(late, 10.0), 2)[0] == "OPTIMAL"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("slot", [1.0, None])
@pytest.mark.usefixtures("alone")
def test_the_portfolio_proves_with_it_what_bounds_do_not(slot: float | None, threads: int) -> None:
    # Four nodes. Two jobs of 3 nodes (5 s), which exclude each other and leave one node for 10 s; three of 2 nodes
    # (4 s), which run two at a time beside neither. So 10 + 8 s, where the area is 54 / 4 = 13.5 s.
    instance = pool(4, *[(3, 5.0)] * 2, *[(2, 4.0)] * 3)
    problem = discretise(instance, 1.0)
    assert simple_bound(problem) < 18.0
    result = coalloc.solve(instance, slot=slot, threads=threads)
    assert (result.status, result.objective, result.lower_bound) == ("optimal", 18.0, 18.0)
    assert result.trace[-1].source == pumpkin.NAME


@pytest.mark.usefixtures("alone")
def test_a_better_schedule_is_found_with_modes_of_different_durations() -> None:
    # A fast node and one at half speed, so that each job has two durations.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    instance = Instance(platform, tuple(Job(f"J{i}", 1, s) for i, s in enumerate((20.0, 10.0, 10.0, 30.0, 40.0))))
    result = coalloc.solve(instance, slot=10.0)
    assert (result.status, result.objective) == ("optimal", brute_force_oas(instance, 10.0).objective)


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 7, 8])
@pytest.mark.usefixtures("alone")
def test_greatest_lags_are_kept_to_and_proven(seed: int) -> None:
    drawn, slot = small_instance(seed, FEATURE_SIZE)
    rng, names = np.random.default_rng(seed), ["lags", "deadline"] if seed % 2 else ["lags"]
    draws = (with_features(drawn, rng, names) for _ in range(100))
    instance = next(one for one in draws if not discretise(one, slot).declared.is_searched)
    for time in (slot, None):
        best, result = brute_force_oas(instance, time), coalloc.solve(instance, slot=time)
        if best.feasible:
            assert (result.status, result.objective) == ("optimal", pytest.approx(best.objective, rel=1e-6))
        else:
            assert result.status == "infeasible"


@pytest.mark.parametrize(
    ("terms", "least", "end"),
    [
        (((1, "start", "J1"), (-1, "end", "J0")), 3.0, 12.0),
        (((-1, "start", "J1"), (1, "end", "J0")), 3.0, 9.0),
        (((1, "end", "J1"), (-1, "end", "J0")), 7.0, 11.0),
        (((-1, "end", "J1"), (1, "start", "J0")), -4.0, 9.0),
        (((1, "end", "J1"),), 13.0, 13.0),
    ],
)
@pytest.mark.usefixtures("alone")
def test_each_kind_of_row(terms: Any, least: float, end: float) -> None:
    # J0 of 4 s and J1 of 5 s fill the pool, so they run in turn; the row says which is first, or how much later.
    result = coalloc.solve(pool(2, (2, 4.0), (2, 5.0)), slot=1.0, constraints=[TimeRow(terms, least)])
    assert (result.status, result.objective) == ("optimal", end)


@pytest.mark.usefixtures("alone")
def test_a_process_that_dies_leaves_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    result = coalloc.solve(pool(4, *[(3, 5.0)] * 2, *[(2, 4.0)] * 3), slot=1.0, time_limit=2.0)
    assert (result.status, result.objective) == ("feasible", 18.0)


@pytest.mark.usefixtures("alone")
def test_what_it_has_no_words_for_it_leaves_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(_: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(pumpkin, "start_worker", started)
    instance = pool(4, *[(3, 5.0)] * 2, *[(2, 4.0)] * 3)
    for options in ({"work_limit": 10}, {"objective": "total-response-time"}, {"slot": None, "time_limit": 0.3}):
        coalloc.solve(instance, **({"slot": 1.0, "time_limit": 1.0} | options))
    odd = pool(4, *[(3, 5.0)] * 2, *[(2, 3.14159265)] * 3)
    coalloc.solve(odd, time_limit=0.6)


def test_running_jobs_hold_their_nodes() -> None:
    # Four times 3 s beside a node that is held until 6 s: three of them on the other one, until 9 s.
    instance = pool(2, *[(1, 3.0)] * 4, running=(RunningJob(Job("R", 1, 6.0), ("C1/0",), 6.0),))
    assert answered(discretise(instance, 1.0), 9)[0] == "OPTIMAL"
    assert answered(discretise(instance, 1.0), 8)[0] == "INFEASIBLE"


def test_a_proof_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    # As above: 18 s is the least, and at 17 s every step of the proof is needed.
    result = coalloc.solve(pool(4, *[(3, 5.0)] * 2, *[(2, 4.0)] * 3), slot=1.0)
    coalloc.write_proof(result, tmp_path / "proof.drcp")
    assert_proof(tmp_path / "proof.drcp")
    with pytest.raises(CoallocError, match="a schedule with a smaller makespan exists"):
        coalloc.write_proof(replace(result, objective=19.0), tmp_path / "wrong.drcp")
    with pytest.raises(CoallocError, match="no proof is written"):
        coalloc.write_proof(replace(result, objective=5.0), tmp_path / "trivial.drcp")
    with pytest.raises(CoallocError, match="and time slots"):
        coalloc.write_proof(coalloc.solve(pool(1, (1, 5.0))), tmp_path / "continuous.drcp")
    with pytest.raises(CoallocError, match=r"must not end in \.fzn, the ending of the model file"):
        coalloc.write_proof(result, tmp_path / "proof.fzn")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["proof.drcp", "proof.fzn"]


def assert_proof(proof: Path) -> None:
    """Assert that the last deduction alone is empty, and that a proof names only what its model has."""
    model = proof.with_suffix(".fzn").read_text(encoding="utf-8")
    variables = re.findall(r"^var [^:]+: (\w+);$", model, re.MULTILINE)
    assert len(set(variables)) == len(variables) == len(re.findall(r"^var ", model, re.MULTILINE))
    tags = re.findall(r":: constraint_tag\((\d+)\);$", model, re.MULTILINE)
    assert tags == [str(number) for number in range(1, 1 + len(re.findall(r"^constraint ", model, re.MULTILINE)))]
    *steps, last = proof.read_text(encoding="utf-8").splitlines()
    assert last == "c UNSAT"
    atoms = [step for step in steps if step.startswith("a ")]
    assert {re.fullmatch(r"a \d+ \[(\w+) [<>=!]+ -?\d+\]", atom)[1] for atom in atoms} <= set(variables)
    deduced = [step.split() for step in steps if step.startswith("n ")]
    assert [step[1] for step in deduced if step[2] == "0"] == [deduced[-1][1]]
    named = {step[1] for step in deduced}
    assert set(re.findall(r" c:(\d+)", "\n".join(steps))) <= {*tags, *named}


@pytest.mark.parametrize("seed", range(5))
def test_a_proof_of_jobs_of_several_modes_names_what_its_model_has(seed: int, tmp_path: Path) -> None:
    # A fast node and one at half speed: each of six jobs has two modes, of two durations.
    seconds = [10.0 * (1 + (seed + 3 * j * j) % 5) for j in range(6)]
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    running = (RunningJob(Job("R", 1, 10.0), ("C1/0",), 10.0),) if seed % 2 else ()
    instance = Instance(platform, tuple(Job(f"J{j}", 1, s) for j, s in enumerate(seconds)), running)
    result = coalloc.solve(instance, slot=10.0)
    assert result.status == "optimal"
    coalloc.write_proof(result, tmp_path / "proof.drcp")
    assert_proof(tmp_path / "proof.drcp")


def test_the_model_beside_a_proof_says_what_is_refuted() -> None:
    # Within 4 slots J0 takes all of them on the slow node, or 2 on the fast one.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    question = pumpkin.Question(discretise(Instance(platform, (Job("J0", 1, 20.0),)), 10.0), 0, 4)
    lines = pumpkin_worker.PumpkinModel(question.document(time_limit=1.0, seed=0)).text.splitlines()
    assert lines[1:8] == [
        "var 0..4: makespan;",
        "var 0..2: start0;",
        "var bool: mode0_0;",
        "var 0..4: task0;",
        "var bool: late0;",
        "var bool: parked0;",
        "var bool: mode0_1;",
    ]
    # A task of 4 slots is late, and so parked, from slot 1 on; if its mode is picked it is at the start of the job.
    tagged = dict(line.removeprefix("constraint ").split(" :: ") for line in lines if line.startswith("constraint"))
    assert list(tagged)[:6] == [
        "int_le_reif(1, task0, late0)",
        "int_le_reif(4, task0, parked0)",
        "int_eq_imp(task0, start0, mode0_0)",
        "bool_clause([mode0_0, parked0], [])",
        "bool_clause([], [mode0_0, late0])",
        "bool_clause([parked0], [late0])",
    ]
    assert {
        "bool_clause([mode0_0, mode0_1], [])",
        "bool_clause([], [mode0_0, mode0_1])",
        "int_lin_le_imp([1, -1], [start0, makespan], -4, mode0_0)",
        "int_lin_le_imp([1, -1], [start0, makespan], -2, mode0_1)",
        "pumpkin_cumulative([task0], [4], [1], 1)",
    } <= tagged.keys()
    assert lines[-1] == "solve minimize makespan;"
