"""Branch and bound of sums: by hand, equal to brute force as a law for every sum, and with a proof for few jobs."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.api.solving import solve
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.bounds.mean_busy_time import busy_times_of
from coalloc.solvers.search import branch_and_bound_of_sums as module
from coalloc.solvers.search.branch_and_bound_of_sums import BranchAndBoundOfSums, may_search_sum
from coalloc.solvers.search.extension_search import Node
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import equal_instances, slotted_instances
from tests.strategies import LAW

SUMS: tuple[str, ...] = (
    "total-response-time",
    "total-weighted-response-time",
    "mean-wait",
    "mean-bounded-slowdown",
    "weighted-tardiness",
)


class Found:
    """The best schedule that a search finds, and whether it saw everything."""

    def __init__(
        self, criterion: Criterion, best: float = math.inf, *, is_priced: bool = True, max_nodes: int = 100_000
    ) -> None:
        self.schedules: list[list[Assignment]] = []
        first = best_list_schedule(criterion.problem)
        times = busy_times_of(criterion) if is_priced else None
        for _ in times.improve([first], math.inf) if times is not None else ():
            pass
        above = criterion.value(first) + 1 + abs(criterion.value(first))
        self.search = BranchAndBoundOfSums(
            criterion,
            times,
            best=min(best, above),
            target=-math.inf,
            on_schedule=lambda found: self.schedules.append(found) is None,
        )
        self.is_complete = self.search.run(max_nodes)


def on_two_nodes(*jobs: Job, objective: str = "total-response-time", slot: float | None = None) -> Criterion:
    """Return the criterion of jobs on two equal nodes."""
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),))
    return Criterion.of(discretise(Instance(platform, jobs), slot), objective)


def test_the_wide_job_goes_last() -> None:
    # J1 takes both nodes 4 s, J2 and J3 one each for 3 s: 4 + 7 + 7 with J1 first, 3 + 3 + 7 = 13 s with J1 last.
    found = Found(on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0), Job("J3", 1, 3.0)))
    assert found.is_complete
    assert found.search.best == 13.0
    assert 13.0 * (1 - 1e-6) <= found.search.proven <= 13.0


def test_a_job_waits_for_one_that_arrives() -> None:
    # J1 of both nodes takes 10 s, J2 arrives at 1 s and takes 1 s: J1 first ends at 10, J2 at 11 s: responses 10 + 10.
    # J1 after J2 runs from 2 to 12 s: 12 + 1 = 13 s.
    found = Found(on_two_nodes(Job("J1", 2, 10.0), Job("J2", 1, 1.0, arrival=1.0), slot=1.0))
    assert found.is_complete
    assert found.search.best == 12 + 2


def test_only_better_schedules_are_looked_for() -> None:
    found = Found(on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0), Job("J3", 1, 3.0), slot=1.0), best=13)
    assert (found.is_complete, found.schedules, found.search.proven) == (True, [], 13)


def test_it_ends_without_a_proof_at_its_nodes_and_where_a_schedule_is_refused() -> None:
    criterion = on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0), Job("J3", 1, 3.0))
    assert not Found(criterion, max_nodes=1).is_complete
    search = BranchAndBoundOfSums(criterion, None, best=100.0, target=0.0, on_schedule=lambda _: False)
    assert not search.run(1000)
    assert search.best == 100.0


def test_a_node_is_known_where_one_was_searched_of_which_nothing_runs_any_more() -> None:
    # J1 and J2 at 0 end at 3 and 5 s, 8 s in all: from 5 s on nothing runs, and J3 waits for both nodes.
    criterion = on_two_nodes(Job("J1", 1, 3.0), Job("J2", 1, 5.0), Job("J3", 2, 4.0))
    search = Found(criterion).search
    sets = search._running_sets
    first, _, wide = map(sets.counts.one, range(3))
    only_first = next(s.running for s in sets.starts(sets.nobody, sets.counts.everything) if s.jobs == first)
    # J2 from 0 to 5 s and J1 from 4 to 7 s: 12 s.
    assert search._is_known(Node(5.0, only_first, (7.0,), wide, -math.inf, 12.0))
    assert not search._is_known(Node(4.0, only_first, (7.0,), wide, -math.inf, 12.0))  # J2 ran at 4 s
    assert not search._is_known(Node(5.0, only_first, (7.0,), wide, -math.inf, 7.0))  # that would be cheaper


def test_it_gives_up_where_there_are_too_many_pairs_of_a_choice_and_a_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    criterion = on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0), Job("J3", 1, 3.0))
    monkeypatch.setattr(module, "MAX_PAIRS", 2)
    assert not Found(criterion).is_complete
    monkeypatch.setattr(module, "MAX_PAIRS", 100)
    assert Found(criterion).is_complete


def test_jobs_of_no_slot_are_left_to_others() -> None:
    # Rounded down to 10 s, 9 s are no slot: such a job starts at its arrival, whatever runs.
    problem = on_two_nodes(Job("J1", 2, 9.0, arrival=5.0), Job("J2", 2, 20.0)).problem
    assert not may_search_sum(Criterion.of(discretise(problem.instance, 10.0, "down"), "total-response-time"))
    assert may_search_sum(Criterion.of(discretise(problem.instance, 10.0), "total-response-time"))


def test_what_runs_already_is_waited_for() -> None:
    # R holds a node until 5 s. J1 takes both, from 5 to 7 s, J2 the other one from 0 to 2 s: 7 + 2 s.
    criterion = on_two_nodes(Job("J1", 2, 2.0), Job("J2", 1, 2.0))
    running = (RunningJob(Job("R", 1, 30.0), ("C1/0",), 5.0),)
    held = Criterion.of(discretise(criterion.problem.instance.replace(running=running), None), "total-response-time")
    found = Found(held)
    assert (found.is_complete, found.search.best) == (True, 9.0)


@LAW
@given(slotted_instances() | equal_instances(), st.sampled_from(SUMS), st.booleans(), st.booleans())
def test_it_finds_the_optimum(drawn: tuple[Instance, float], objective: str, is_slotted: bool, is_priced: bool) -> None:
    instance, slot = drawn[0], drawn[1] if is_slotted else None
    optimum = brute_force_oas(instance, slot, objective).objective
    criterion = Criterion.of(discretise(instance, slot), objective)
    found = Found(criterion, is_priced=is_priced)
    assert found.is_complete
    assert criterion.reported(found.search.best) == pytest.approx(optimum, rel=1e-6, abs=1e-9)
    assert criterion.reported(found.search.proven) <= optimum * (1 + 1e-9) + 1e-9
    assert check(instance, schedule_of(criterion.problem, found.schedules[-1])) == []


@pytest.mark.parametrize("objective", SUMS)
def test_a_sum_over_three_jobs_is_proven_without_extras(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a cluster of two nodes and one of half the power: in continuous time no model that is solved has a proof.
    monkeypatch.setitem(sys.modules, "ortools", None)
    platform = Platform(
        (Cluster("A", (NodeGroup(2, 1.0),), 10.0), Cluster("B", (NodeGroup(2, 0.5),), 10.0)),
    )
    jobs = (Job("J1", 3, 7.3, 0.5, 3.0, due_date=9.0), Job("J2", 2, 5.1, due_date=6.0), Job("J3", 1, 3.7, due_date=4.0))
    result = solve(Instance(platform, jobs), objective=objective, slot=None, time_limit=20.0)
    assert result.status == "optimal"
