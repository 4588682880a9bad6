"""Both trees with windows, reservations, deadlines, precedences and waits: by hand, and equal to brute force."""

from __future__ import annotations

import math
from typing import Any

import pytest

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Window
from coalloc.instance.calendar import Calendar
from coalloc.instance.constraints import AllowedStarts, DifferentClusters, LatestEnd, NotTogether, TimeRow
from coalloc.instance.features import FEATURES
from coalloc.objectives.criterion import Criterion
from coalloc.objectives.registry import regular_objective
from coalloc.problem import Problem, discretise
from coalloc.problem.fixed import Fixed, fixings
from coalloc.schedule import schedule_of
from coalloc.solvers.backends import cpsat
from coalloc.solvers.search.ceilings import ceiling_below
from coalloc.solvers.search.coming_blocks import coming_blocks
from coalloc.solvers.search.cost_tree import CostTree
from coalloc.solvers.search.node_prices import NodePrices
from coalloc.solvers.search.set_tables import SetTables
from coalloc.solvers.search.set_tree import MAX_PRICES, SetTree, takes
from coalloc.testing import brute_force_oas, small_feature_instance
from coalloc.testing.features import small_mixed_instance

CLOSE = 1e-6


def two_nodes(*jobs: Job, windows: tuple[Window, ...] = (), **more: Any) -> Instance:
    """Return jobs on a cluster of two equal nodes."""
    return Instance(Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 1.0)], unavailable=windows), jobs, **more)


def searched(problem: Problem, objective: str = "makespan", below: float = math.inf) -> tuple[float, bool]:
    """Return the best value that a search finds below another (ticks), and whether it saw everything."""
    criterion = Criterion(problem, regular_objective(objective))
    return searched_in_engine(problem, below) if objective == "makespan" else searched_for_costs(criterion, below)


def searched_for_costs(criterion: Criterion, below: float) -> tuple[float, bool]:
    """Return the least cost below another that the tree of costs finds, and whether it saw everything."""
    best, tree, ended = below, CostTree(criterion, None, below), ""
    while ended not in ("everything", "stopped"):
        ended, _ = tree.run(100_000, math.inf)
        if ended == "better":
            assert check(criterion.problem.instance, schedule_of(criterion.problem, tree.assignments())) == []
            best = min(best, criterion.value(tree.assignments()))
            tree.lower(best)
    return criterion.reported(best), ended == "everything"


def searched_in_engine(problem: Problem, below: float) -> tuple[float, bool]:
    """Return the least latest end below another that the tree in the engine finds, and whether it saw everything."""
    best, latest = below, min(max(problem.latest_ends), problem.horizon_in_turn, ceiling_below(problem, below))
    tables = SetTables(problem, latest, MAX_PRICES)
    tree = SetTree(problem, tables, NodePrices(problem, tables, [0.0] * len(problem.jobs)), latest)
    while (ended := tree.run(10_000)[0]) == "better":
        found = tree.assignments()
        assert check(problem.instance, schedule_of(problem, found)) == []
        best = max(assignment.end for assignment in found)
        tree.lower(ceiling_below(problem, best))
    return Criterion(problem, regular_objective("makespan")).reported(best), ended == "everything"


def test_a_job_ends_before_a_window_or_starts_after_it() -> None:
    # A window of all from 100 to 150 s. 60 s and 50 s on both nodes: one before it, 150 + 50 s is less than 150 + 60 s.
    windows = (Window("C1", start=100.0, end=150.0),)
    instance = two_nodes(Job("J1", 2, 60.0), Job("J2", 2, 50.0), windows=windows)
    assert searched(discretise(instance, None)) == (200.0, True)
    # 60 + 40 s end when it begins.
    instance = two_nodes(Job("J1", 2, 60.0), Job("J2", 2, 40.0), windows=windows)
    assert searched(discretise(instance, None)) == (100.0, True)


def test_ends_that_are_sums_of_floats_meet_a_window() -> None:
    # 0.1 + 0.2 s is 0.30000000000000004 s: the same instant as 0.3 s, when the window begins.
    windows = (Window("C1", start=0.3, end=5.0),)
    instance = two_nodes(Job("J1", 2, 0.1), Job("J2", 2, 0.2), windows=windows)
    end, is_complete = searched(discretise(instance, None))
    assert (end, is_complete) == (pytest.approx(0.3), True)


def test_a_window_that_begins_once_all_jobs_have_ended_delays_nothing() -> None:
    # Node 1 is not there from the beginning to 500 s, and neither is node 0 from 200 s on: the job ends at 100 s.
    windows = (Window("C1", start=0.0, end=500.0, nodes=["C1/1"]), Window("C1", start=200.0, end=300.0, nodes=["C1/0"]))
    instance = two_nodes(Job("J1", 1, 100.0), windows=windows)
    assert searched(discretise(instance, None), below=150.0) == (100.0, True)


def test_which_nodes_a_job_has_is_decided_with_a_window_in_view() -> None:
    # Node 1 is not there from 50 s to 500 s: the long job has to be on node 0, the short one ends in time on node 1.
    windows = (Window("C1", start=50.0, end=500.0, nodes=["C1/1"]),)
    instance = two_nodes(Job("short", 1, 50.0), Job("long", 1, 300.0), windows=windows)
    assert searched(discretise(instance, None)) == (300.0, True)


def test_a_window_takes_a_number_of_processors() -> None:
    # One of the two, whichever, from 10 to 100 s: only one of the jobs of 30 s may run then, so the other ends at 60 s.
    windows = (Window("C1", start=10.0, end=100.0, group=0, processors=1),)
    instance = two_nodes(Job("J1", 1, 30.0), Job("J2", 1, 30.0), windows=windows)
    assert searched(discretise(instance, None)) == (60.0, True)


def test_what_runs_already_and_a_window_take_no_more_than_there_is() -> None:
    # R1 holds one until 20 s, a window takes two until 30 s: the job has the nodes from 30 s on.
    windows = (Window("C1", start=0.0, end=30.0, group=0, processors=2),)
    running = [RunningJob(Job("R1", 1, 20.0), ["C1/0"], end=20.0)]
    problem = discretise(two_nodes(Job("J1", 2, 10.0), windows=windows, running=running), None)
    assert searched(problem) == (40.0, True)
    # 2 less what R1 holds, then 2.
    assert [(b.start, b.end, max(b.loads)) for b in coming_blocks(problem)] == [
        (0.0, 20.0, pytest.approx(1.0)),
        (20.0, 30.0, pytest.approx(2.0)),
    ]


def test_a_reservation_is_a_window_that_loads_its_links() -> None:
    # The reservation holds both nodes from 50 to 80 s.
    later = RunningJob(Job("later", 2, 30.0), ["C1/0", "C1/1"], end=80.0, start=50.0)
    assert searched(discretise(two_nodes(Job("J1", 1, 60.0), running=[later]), None)) == (140.0, True)


def test_deadlines_and_precedences_are_kept() -> None:
    # By their order alone A (2 tasks, 60 s), then B: 60, 90 s. B must end by 40 s: B 0..30, A 30..90 s.
    jobs = [Job("A", 2, 60.0), Job("B", 2, 30.0, deadline=40.0)]
    assert searched(discretise(two_nodes(*jobs), None), "total-response-time") == (120.0, True)
    # B comes after A, so it cannot.
    jobs[1] = jobs[1].replace(after=["A"])
    assert searched(discretise(two_nodes(*jobs), None)) == (math.inf, True)
    # A (10 s) before B (30 s), beside C (40 s): both nodes are at work until 40 s.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 30.0, after=["A"]), Job("C", 1, 40.0)]
    assert searched(discretise(two_nodes(*jobs), None)) == (40.0, True)
    # C as well after A, and B after C: in a chain, 80 s.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 30.0, after=["C"]), Job("C", 1, 40.0, after=["A"])]
    assert searched(discretise(two_nodes(*jobs), None)) == (80.0, True)


def test_what_is_fixed_is_kept() -> None:
    # J1 is to start at 5 s on both nodes: J2, 10 s, does not fit before it.
    instance = two_nodes(Job("J1", 2, 20.0), Job("J2", 1, 10.0))
    kept = fixings(instance, [Fixed("J1", start=5.0)])
    assert searched(discretise(instance, None, constraints=kept)) == (35.0, True)


def test_it_knows_no_constraint_of_another_kind() -> None:
    instance = two_nodes(Job("J1", 1, 20.0), Job("J2", 1, 10.0))
    assert takes(discretise(instance, None, constraints=[LatestEnd(30.0)]))
    assert takes(discretise(instance, None, constraints=[NotTogether(("J1", "J2"))]))
    assert not takes(discretise(instance, None, constraints=[DifferentClusters(("J1", "J2"))]))


@pytest.mark.parametrize("objective", ["makespan", "total-response-time"])
@pytest.mark.parametrize("seed", range(100, 112))
def test_the_search_equals_brute_force(seed: int, objective: Any) -> None:
    instance, slot = small_feature_instance(seed, features=[name for name in FEATURES if name != "lags"])
    length = None if seed % 3 else slot
    problem = discretise(instance, length)
    assert takes(problem)
    best = brute_force_oas(instance, length, objective).objective
    found, is_complete = searched(problem, objective)
    assert is_complete
    assert found == pytest.approx(best, rel=CLOSE)


def test_a_window_in_continuous_time_is_proven_without_cp_sat(monkeypatch: pytest.MonkeyPatch) -> None:
    # b takes the fast node, 120 s, and a, named 90 s on the slow one, ends there before the window of 100..200 s. With
    # a on the fast node, 80 s, b ends at 200 s.
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    groups = [NodeGroup(1, power=1.0, features=["new"]), NodeGroup(1, power=0.5, features=["old"])]
    window = Window("C1", start=100.0, end=200.0, nodes=["C1/1"])
    platform = Platform([Cluster("C1", groups, 1.0)], unavailable=[window])
    jobs = [Job("a", 1, 80.0, times={"new": 80.0, "old": 90.0}), Job("b", 1, 120.0)]
    result = coalloc.solve(Instance(platform, jobs), time_limit=600.0)
    assert (result.status, result.objective) == ("optimal", 120.0)


def test_a_job_starts_where_a_lag_is_over() -> None:
    # J2 starts 15 s after J1 starts, or later, while J1 and J3 run: 15 + 30 s.
    after = TimeRow(((1, "start", "J2"), (-1, "start", "J1")), 15.0)
    instance = two_nodes(Job("J1", 1, 20.0), Job("J2", 1, 30.0), Job("J3", 1, 15.0))
    assert searched(discretise(instance, None, constraints=[after])) == (45.0, True)


def test_time_goes_on_where_nothing_ends_until_a_calendar_lets_a_job_start() -> None:
    # J1 may start at 1, 8, 15, 22 s, J2 at 2, 7, 12, 17, 22 s: together at 22 s.
    calendars = AllowedStarts("J1", Calendar(7.0, offset=1.0)), AllowedStarts("J2", Calendar(5.0, offset=2.0))
    together = [TimeRow(((sign, "start", "J1"), (-sign, "start", "J2")), 0.0) for sign in (1, -1)]
    instance = two_nodes(Job("J1", 1, 2.0), Job("J2", 1, 1.0))
    assert searched(discretise(instance, None, constraints=[*calendars, *together])) == (24.0, True)


def test_jobs_that_are_not_together_wait_for_each_other() -> None:
    # Two nodes, but one after the other: 20 + 10 s.
    instance = two_nodes(Job("J1", 1, 20.0), Job("J2", 1, 10.0))
    assert searched(discretise(instance, None, constraints=[NotTogether(("J1", "J2"))])) == (30.0, True)


@pytest.mark.parametrize("objective", ["makespan", "total-response-time"])
@pytest.mark.parametrize("seed", [301, 303, 305, 307, 308, 309, 310, 312, 313, 318, 319, 327])
def test_the_search_with_waits_equals_brute_force(seed: int, objective: Any) -> None:
    instance, slot, _, declared = small_mixed_instance(seed)
    for length in (slot, None):
        problem = discretise(instance, length, constraints=declared)
        assert takes(problem)
        assert problem.rows or problem.calendars
        best = brute_force_oas(instance, length, objective, constraints=declared).objective
        found, is_complete = searched(problem, objective)
        assert (is_complete, found) == (True, pytest.approx(math.inf if best is None else best, rel=CLOSE))


def fast_and_slow(*jobs: Job, **more: Any) -> Instance:
    """Return jobs on a fast node and one at half speed."""
    return Instance(Platform([Cluster("C1", [NodeGroup(1, 1.0), NodeGroup(1, 0.5)], 1.0)]), jobs, **more)


def test_the_slow_node_takes_the_short_job() -> None:
    # Both fast 30 + 20 = 50 s; the short one slow: max(30, 40) = 40 s.
    assert searched(discretise(fast_and_slow(Job("J1", 1, 30.0), Job("J2", 1, 20.0)), None)) == (40.0, True)


def test_a_job_waits_for_one_that_has_not_arrived() -> None:
    # J1 of 2 tasks takes both nodes 20 s (half speed), J2 arrives at 1 s: first J2 fast 1..2 s, then J1: 22 s at best
    # with J1 second; J1 first ends at 20, J2 at 21 s.
    jobs = [Job("J1", 2, 10.0), Job("J2", 1, 1.0, arrival=1.0)]
    assert searched(discretise(fast_and_slow(*jobs), None)) == (21.0, True)
    # A long J2 has to start at once: 1 + 30 s, J1 afterwards 51 s; J1 first: 20 + 30 = 50 s.
    jobs[1] = jobs[1].replace(base_time=30.0)
    assert searched(discretise(fast_and_slow(*jobs), None)) == (50.0, True)


def test_nodes_are_chosen_with_what_comes_later_in_view() -> None:
    # Clusters of 2 behind links of 10 MB/s. J1 (1 task) takes 20 s, J2 (2 tasks) and J3 (3 tasks) take 10 s each, one
    # after the other beside J1. J3 crosses with 10 MB/s, and J2, which would put 20 MB/s on both links, must not cross:
    # it takes the cluster without J1. All is done after 20 s, as early as J1.
    platform = Platform([Cluster(name, [NodeGroup(2, 1.0)], 10.0) for name in ("A", "B")])
    jobs = [Job("J1", 1, 20.0), Job("J2", 2, 10.0, 0.5, 20.0), Job("J3", 3, 10.0, 0.5, 10.0)]
    assert searched(discretise(Instance(platform, jobs), None)) == (20.0, True)


def test_what_runs_already_keeps_its_nodes_until_it_ends() -> None:
    # R holds the fast node until 30 s. J1 takes 20 s there, from 30 s on, or 40 s on the slow one: 40 s.
    running = [RunningJob(Job("R", 1, 30.0), ["C1/0"], 30.0)]
    assert searched(discretise(fast_and_slow(Job("J1", 1, 20.0), running=running), None)) == (40.0, True)
    # With J2 as well, one of them waits for R: 30 + 20 = 50 s, the other on the slow node.
    jobs = Job("J1", 1, 20.0), Job("J2", 1, 20.0)
    assert searched(discretise(fast_and_slow(*jobs, running=running), None)) == (50.0, True)


def test_what_runs_already_may_overload_a_link() -> None:
    # R0 and R1 put 10 MB/s each on links of 15 MB/s until 5 and 8 s. J asks for a node in each cluster and 6 MB/s: at
    # 5 s one node is free in each, but only 5 MB/s, so it starts at 8 s.
    platform = Platform([Cluster(name, [NodeGroup(2, 1.0)], 15.0) for name in ("A", "B")])
    running = [
        RunningJob(Job(f"R{i}", 2, 10.0, 0.5, 10.0), [f"A/{i}", f"B/{i}"], end) for i, end in enumerate((5.0, 8.0))
    ]
    problem = discretise(Instance(platform, [Job("J", 2, 10.0, 0.5, 6.0)], running), None)
    assert searched(problem) == (18.0, True)


@pytest.mark.parametrize("slot", [None, 5.0])
def test_a_schedule_that_ends_when_every_job_has_to_is_found(slot: float | None) -> None:
    # On one node 10 + 20 + 30 s.
    platform = Platform([Cluster("C1", [NodeGroup(1, 1.0)], 1.0)])
    jobs = [Job(f"J{k}", 1, 10.0 * k, deadline=60.0) for k in (1, 2, 3)]
    assert searched(discretise(Instance(platform, jobs), slot)) == (pytest.approx(60.0), True)
    late = [job.replace(deadline=55.0) for job in jobs]
    assert searched(discretise(Instance(platform, late), slot)) == (math.inf, True)


def test_equal_jobs_are_not_searched_in_every_order() -> None:
    # Twelve jobs of 7 s and twelve of 10 s on three processors, one after the other: 12 * 17 / 3 = 68 s of work each.
    # In any order there would be 24!/(8!)^3 ways; of two kinds the nodes are so few that the search ends.
    platform = Platform([Cluster("C1", [NodeGroup(3, 1.0)], 1.0)])
    jobs = [Job(f"J{i}", 1, 7.0 if i % 2 else 10.0) for i in range(24)]
    assert searched(discretise(Instance(platform, jobs), 1.0)) == (68.0, True)


def test_jobs_of_no_slot_are_left_to_others_beside_what_holds_all() -> None:
    # R holds both nodes until 10 s. Rounded down J is no slot and occupies nothing: it need not wait, but would here.
    running = [RunningJob(Job("R", 2, 30.0), ["C1/0", "C1/1"], 10.0)]
    jobs = Job("J1", 1, 4.0), Job("J2", 1, 12.0)
    assert not takes(discretise(fast_and_slow(*jobs, running=running), 5.0, "down"))
    assert takes(discretise(fast_and_slow(*jobs), 5.0, "down"))
