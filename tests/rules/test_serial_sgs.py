"""Serial schedule generation: fillings that respect links, earliest ends, scopes, and validity as a law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.checker import check
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import (
    Generation,
    best_list_schedule,
    book,
    earliest_end,
    fillings,
    list_schedule,
    start_in_order,
)
from coalloc.schedule import schedule_of
from tests.small_instances import slotted_instances
from tests.strategies import LAW


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, p),), b) for i, (n, p, b) in enumerate(clusters, 1)))


def problem_of(platform: Platform, *jobs: Job, slot: float | None = None, **options: Any) -> Problem:
    """Return a problem of these jobs."""
    return discretise(Instance(platform, jobs), slot, **options)


def found(problem: Problem, free: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the fillings of the first job on free processors, with all the bandwidth there is."""
    return [c.allocation for c in fillings(problem, problem.jobs[0], free, problem.allocations.limits)]


def test_one_filling_takes_the_fastest_nodes_and_one_the_most_room() -> None:
    problem = problem_of(star((2, 1.0, 9e9), (4, 0.5, 9e9), (1, 0.8, 9e9)), Job("J1", 3, 10.0, 1.0, 10.0))
    assert found(problem, (2, 4, 1)) == [(2, 0, 1), (0, 3, 0)]
    assert found(problem, (1, 1, 1)) == [(1, 1, 1), (1, 1, 1)]
    assert found(problem, (1, 1, 0)) == []


def test_a_filling_leaves_no_link_overloaded() -> None:
    # Two fast nodes in C1, two in C2. A job of 2 tasks loads both links with 10 MB/s if split; 1 free in each: with 9
    # MB/s there is none, with 10 there is.
    job = Job("J1", 2, 10.0, 1.0, 10.0)
    assert found(problem_of(star((2, 1.0, 10.0), (2, 1.0, 10.0)), job), (1, 1)) == [(1, 1)]
    assert found(problem_of(star((2, 1.0, 9.0), (2, 1.0, 9.0)), job), (1, 1)) == []


def test_a_filling_backs_off_from_the_fastest_nodes_where_links_bind() -> None:
    # 3 tasks: one fast node in C1 and two in C2 load links with 1 * 10 * 2/2 = 10. With 9 MB/s only C2 alone will do.
    problem = problem_of(star((1, 1.0, 9.0), (3, 0.5, 9.0)), Job("J1", 3, 10.0, 1.0, 10.0))
    assert found(problem, (1, 3)) == [(0, 3), (0, 3)]


def test_the_bandwidth_given_counts_not_that_of_the_platform() -> None:
    problem = problem_of(star((1, 1.0, 10.0), (1, 1.0, 10.0)), Job("J1", 2, 10.0, 1.0, 10.0))
    assert list(fillings(problem, problem.jobs[0], (1, 1), (9.0, 10.0))) == []


def test_scope_cluster_stays_in_a_cluster() -> None:
    problem = problem_of(star((2, 1.0, 9e9), (3, 0.5, 9e9)), Job("J1", 3, 10.0), scope="cluster")
    assert found(problem, (2, 3)) == [(0, 3)]
    assert found(problem, (2, 2)) == []


def test_scope_node_stays_on_a_node() -> None:
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0, cores=2), NodeGroup(1, 0.5, cores=4)), 1.0),))
    problem = problem_of(platform, Job("J1", 2, 10.0), scope="node")
    assert found(problem, (2, 2, 4)) == [(2, 0, 0), (0, 2, 0), (0, 0, 2)]
    assert found(problem, (1, 1, 1)) == []


def placed(problem: Problem, *before: Assignment) -> Assignment:
    """Return where the last job goes when the others are booked."""
    profile = Profile(problem)
    for assignment in before:
        book(profile, assignment)
    return earliest_end(problem, profile, len(problem.jobs) - 1)


def test_the_earliest_end_may_be_a_later_start_on_faster_nodes() -> None:
    # The fast node is busy until 10 s. J2: 10 + 20 = 30 s there, 20 / 0.5 = 40 s on the slow one at once.
    problem = problem_of(star((1, 1.0, 1.0), (1, 0.5, 1.0)), Job("J1", 1, 10.0), Job("J2", 1, 20.0))
    first = Assignment(0, 0.0, problem.allocations.mode(problem.jobs[0], (1, 0)))
    second = placed(problem, first)
    assert (second.start, second.end, second.mode.allocation) == (10.0, 30.0, (1, 0))


def test_the_earliest_end_may_be_on_slow_nodes_at_once() -> None:
    # As above with 0.8 instead of 0.5: 25 s at once.
    problem = problem_of(star((1, 1.0, 1.0), (1, 0.8, 1.0)), Job("J1", 1, 10.0), Job("J2", 1, 20.0))
    second = placed(problem, Assignment(0, 0.0, problem.allocations.mode(problem.jobs[0], (1, 0))))
    assert (second.start, second.end, second.mode.allocation) == (0.0, 25.0, (0, 1))


def test_a_hole_too_short_is_left() -> None:
    # One node, held during [5, 10). J2 of 6 s does not fit before: 10..16. Of 5 s: 0..5.
    def start(seconds: float) -> float:
        problem = problem_of(star((1, 1.0, 1.0)), Job("J1", 1, 5.0, arrival=5.0), Job("J2", 1, seconds))
        return placed(problem, Assignment(0, 5.0, problem.allocations.mode(problem.jobs[0], (1,)))).start

    assert (start(5.0), start(6.0)) == (0.0, 10.0)


def test_a_job_starts_at_its_release_and_not_before() -> None:
    problem = problem_of(star((1, 1.0, 1.0)), Job("J1", 1, 5.0, arrival=7.5))
    assert list_schedule(problem, [0])[0].start == 7.5


def test_a_job_that_fits_nowhere_is_named() -> None:
    problem = problem_of(star((1, 1.0, 1.0), (1, 1.0, 1.0)), Job("J1", 2, 5.0, 1.0, 10.0))
    with pytest.raises(CoallocError, match="'J1' does not fit on the platform"):
        list_schedule(problem, [0])


def test_lists_are_placed_in_their_order_and_holes_are_filled() -> None:
    # Two nodes: J0 (2 tasks, 10 s) after R's node is free at 5 s, J1 (1 task, 5 s) fills the hole before it.
    running = (RunningJob(Job("R", 1, 5.0), ("C1/0",), 5.0),)
    problem = discretise(Instance(star((2, 1.0, 1.0)), (Job("J0", 2, 10.0), Job("J1", 1, 5.0)), running), None)
    assert [(a.job, a.start) for a in list_schedule(problem, [0, 1])] == [(0, 5.0), (1, 0.0)]


def test_the_best_of_the_orders() -> None:
    # Two nodes, jobs of 2, 2, 4 s on one node each: shortest first ends at 6 s, longest first at 4 s.
    problem = problem_of(star((2, 1.0, 1.0)), Job("a", 1, 2.0), Job("b", 1, 2.0), Job("c", 1, 4.0))
    assert max(a.end for a in best_list_schedule(problem)) == 4.0
    assert best_list_schedule(problem_of(star((2, 1.0, 1.0)))) == []


def test_given_modes_start_as_early_as_they_fit() -> None:
    problem = problem_of(star((2, 1.0, 1.0)), Job("a", 1, 2.0), Job("b", 2, 2.0), Job("c", 1, 2.0))
    one, two = problem.allocations.mode(problem.jobs[0], (1,)), problem.allocations.mode(problem.jobs[1], (2,))
    starts = {a.job: a.start for a in start_in_order(problem, [(0, one), (1, two), (2, one)])}
    assert starts == {0: 0.0, 1: 2.0, 2: 0.0}


@LAW
@given(slotted_instances(), st.booleans())
def test_every_list_gives_a_valid_schedule(drawn: tuple[Instance, float], in_slots: bool) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot if in_slots else None)
    for order in (range(len(instance.jobs)), reversed(range(len(instance.jobs)))):
        schedule = schedule_of(problem, list_schedule(problem, list(order)))
        assert check(instance, schedule) == []


@LAW
@given(slotted_instances())
def test_starting_again_in_order_delays_nothing(drawn: tuple[Instance, float]) -> None:
    instance, _ = drawn
    problem = discretise(instance, None)
    first = best_list_schedule(problem)
    in_order = sorted(first, key=lambda a: a.start)
    again = start_in_order(problem, [(a.job, a.mode) for a in in_order])
    starts = {a.job: a.start for a in first}
    assert all(a.start <= starts[a.job] for a in again)
    assert check(instance, schedule_of(problem, again)) == []


def test_class_orders_are_made_for_the_levels_that_are_filled_only(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of three jobs is fastest on a node of its own, where it starts at once and ends at 1 s: its other two levels
    # end no sooner, so that of the seven sets of classes the three single ones are filled, by one of three rules.
    names = ("a", "b", "c")
    groups = tuple(NodeGroup(1, 1.0, features=(name,)) for name in names)
    times = [{name: 1.0 + (i - j) % 3 for i, name in enumerate(names)} for j in range(3)]
    jobs = [Job(f"J{j}", 1, 3.0, times=of_job) for j, of_job in enumerate(times)]
    problem = problem_of(Platform((Cluster("C", groups, 1.0),)), *jobs)
    class_orders, made = Generation._class_orders, list[Sequence[int]]()

    def counted(self: Generation, allowed: Sequence[int], rule: str) -> list[list[int]]:
        made.append(allowed)
        return class_orders(self, allowed, rule)

    monkeypatch.setattr(Generation, "_class_orders", counted)
    generation, profile = Generation(problem), Profile(problem)
    for j in range(3):
        found = generation.earliest_end(profile, j)
        assert found is not None
        assert (found.start, found.end) == (0.0, 1.0)
        book(profile, found)
    assert len(problem.speeds.class_sets) == 7
    assert made == [(0,), (1,), (2,)]


def test_a_list_ends_at_the_first_job_that_finds_no_place_by_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    # J1 is on the one node until 10 s, so J2 cannot end by 10 s, whatever comes after it: J3 is not looked at.
    looked_at = []
    jobs = Job("J1", 1, 10.0), Job("J2", 1, 10.0, deadline=10.0), Job("J3", 1, 10.0)
    problem = problem_of(star((1, 1.0, 1.0)), *jobs)
    earliest_end = Generation.earliest_end

    def counted(self: Generation, profile: Profile, j: int, *rest: Any, **named: Any) -> Assignment | None:
        looked_at.append(j)
        return earliest_end(self, profile, j, *rest, **named)

    monkeypatch.setattr(Generation, "earliest_end", counted)
    assert list_schedule(problem, [0, 1, 2]) == []
    assert looked_at == [0, 1]


def test_past_the_deadline_no_job_fills_a_gap_before_the_last() -> None:
    # Two nodes; J0 has 1 task and 10 s, J1 2 tasks and 10 s, J2 1 task and 5 s: it could run beside J0, at 0 s.
    problem = problem_of(star((2, 1.0, 1.0)), Job("J0", 1, 10.0), Job("J1", 2, 10.0), Job("J2", 1, 5.0))
    assert [a.start for a in list_schedule(problem, [0, 1, 2])] == [0.0, 10.0, 0.0]
    assert [a.start for a in list_schedule(problem, [0, 1, 2], deadline=-math.inf)] == [0.0, 10.0, 20.0]


@LAW
@given(slotted_instances())
def test_past_the_deadline_the_schedule_is_valid_all_the_same(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    late = best_list_schedule(problem, deadline=-math.inf)
    assert len(late) == len(instance.jobs)
    assert check(instance, schedule_of(problem, late)) == []


def test_a_list_without_a_place_ends_even_where_modes_are_too_many_to_try():
    # Of 2,100 processors each job takes 1,100, in some 370,000 ways: one after the other, and B has to be the first.
    platform = Platform(tuple(Cluster(f"C{i}", (NodeGroup(700, 1.0 - 0.1 * i),), 1.0) for i in range(3)))
    instance = Instance(platform, [Job("A", 1100, 10.0), Job("B", 1100, 10.0, deadline=20.0)])
    problem = discretise(instance, None)
    assert problem.allocations.number > 700_000
    assert list_schedule(problem, [0, 1]) == []
    assert [a.job for a in list_schedule(problem, [1, 0])] == [1, 0]
