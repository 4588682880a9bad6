"""The profile: a step function of free processors and bandwidth, against sums over the bookings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.problem import Problem, discretise
from coalloc.rules.profile import Profile, _take
from tests.strategies import LAW

PLATFORM = Platform((Cluster("C1", (NodeGroup(4, 1.0),), 10.0), Cluster("C2", (NodeGroup(2, 0.5),), 20.0)))
JOBS = (Job("J1", 2, 10.0, 1.0, 100.0),)
"""A job that could saturate both links: where none could, a profile does not keep their bandwidth."""
EMPTY = discretise(Instance(PLATFORM, JOBS), None)


def free(profile: Profile, start: float, end: float) -> tuple[list[float], list[float]]:
    """Return free processors and bandwidth (to 6 digits)."""
    processors, bandwidth = profile.free(start, end)
    return [float(p) for p in processors], [round(float(b), 6) for b in bandwidth]


def test_an_empty_platform_is_free_for_ever() -> None:
    profile = Profile(EMPTY)
    assert free(profile, -5.0, 1e9) == ([4, 2], [10, 20])
    assert profile.changes(3.0) == [3.0]


def test_a_booking_counts_inside_its_interval_only() -> None:
    profile = Profile(EMPTY)
    profile.occupy(10.0, 20.0, (3, 0), (4.0, 4.0))
    assert free(profile, 0.0, 10.0) == ([4, 2], [10, 20])  # [start, end)
    assert free(profile, 0.0, 10.5) == ([1, 2], [6, 16])
    assert free(profile, 19.0, 30.0) == ([1, 2], [6, 16])
    assert free(profile, 20.0, 30.0) == ([4, 2], [10, 20])


def test_free_is_the_least_over_the_interval_for_each_resource_apart() -> None:
    # (3, 0) and then (0, 2): at no instant both, and yet a job over both intervals has 1 and 0 only.
    profile = Profile(EMPTY)
    profile.occupy(0.0, 10.0, (3, 0), (0.0, 0.0))
    profile.occupy(10.0, 20.0, (0, 2), (0.0, 0.0))
    assert free(profile, 5.0, 15.0)[0] == [1, 0]
    assert profile.changes(5.0) == [5.0, 10.0, 20.0]


def test_a_booking_of_no_length_books_nothing() -> None:
    profile = Profile(EMPTY)
    profile.occupy(10.0, 10.0, (4, 2), (10.0, 20.0))
    assert free(profile, 0.0, 20.0) == ([4, 2], [10, 20])
    assert profile.changes(0.0) == [0.0]


def test_an_interval_of_no_length_meets_nobody() -> None:
    # A job of no slots occupies nothing, so it fits beside a full class.
    profile = Profile(EMPTY)
    profile.occupy(10.0, 20.0, (4, 0), (0.0, 0.0))
    assert free(profile, 10.0, 10.0)[0] == [4, 2]


def test_a_link_that_nothing_can_saturate_is_not_kept() -> None:
    profile = Profile(discretise(Instance(PLATFORM, (Job("J1", 2, 10.0, 1.0, 1.0),)), None))
    profile.occupy(10.0, 20.0, (1, 1), (1.0, 1.0))
    assert free(profile, 10.0, 20.0) == ([3, 1], [10, 20])


def test_a_set_of_classes_is_counted_the_same_whenever_it_is_first_asked_for() -> None:
    # Of 2 + 2 nodes 1 + 2 are held from 0 to 10 s: 3 are free together from 10 s on, 1 at once.
    problem = discretise(Instance(Platform((Cluster("C", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), 1.0),)), ()), None)
    first, late = Profile(problem), Profile(problem)
    before = list(first.windows(0.0, 5.0, (0, 1), 3))
    for profile in (first, late):
        profile.occupy(0.0, 10.0, (1, 2), ())
    assert [start for start, *_ in before] == [0.0]
    for tasks, start in ((3, 10.0), (1, 0.0)):
        assert next(first.windows(0.0, 5.0, (0, 1), tasks)) == next(late.windows(0.0, 5.0, (0, 1), tasks))
        assert next(late.copy().windows(0.0, 5.0, (0, 1), tasks))[0] == start


def test_running_jobs_are_booked_from_the_beginning() -> None:
    # R: one task in each cluster, 1 * 3 * 1/1 = 3 MB/s on both links until 7 s.
    running = (RunningJob(Job("R", 2, 50.0, 1.0, 3.0), ("C1/1", "C2/0"), 7.0),)
    profile = Profile(discretise(Instance(PLATFORM, JOBS, running), None))
    assert free(profile, 0.0, 1.0) == ([3, 1], [7, 17])
    assert profile.changes(0.0) == [0.0, 7.0]


def test_a_saturated_link_owes_nothing() -> None:
    # R puts 30 MB/s on links of 10 and 20. There is nothing left, and not less than that.
    running = (RunningJob(Job("R", 2, 50.0, 1.0, 30.0), ("C1/1", "C2/0"), 7.0),)
    profile = Profile(discretise(Instance(PLATFORM, JOBS, running), None))
    assert free(profile, 0.0, 1.0)[1] == [0, 0]


def test_loads_that_come_and_go_leave_no_noise() -> None:
    # 0.1 + 0.2 + 0.3 MB/s, ten times; the full link must still be there for a load of exactly 10 MB/s.
    profile = Profile(EMPTY)
    for start in range(10):
        for load in (0.1, 0.2, 0.3):
            profile.occupy(start, start + 1.0, (0, 0), (load, 0.0))
            profile.occupy(start, start + 1.0, (0, 0), (-load, 0.0))
    assert profile.free(0.0, 10.0)[1][0] >= 10.0


bookings = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(0, 2), st.integers(0, 1)), max_size=8)


@LAW
@given(bookings, st.integers(0, 15), st.integers(1, 10))
def test_free_is_what_the_bookings_leave_at_the_fullest_instant(
    booked: list[tuple[int, int, int, int]], start: int, length: int
) -> None:
    profile = Profile(EMPTY)
    for first, duration, a, b in booked:
        profile.occupy(first, first + duration, (a, b), (float(a), 0.0))
    used = [
        [sum(tasks[g] for s, d, *tasks in booked if s <= t < s + d) for g in range(2)]
        for t in range(start, start + length)
    ]
    expected = [min(capacity - u[g] for u in used) for g, capacity in enumerate((4, 2))]
    processors, bandwidth = profile.free(start, start + length)
    assert list(processors) == expected
    tolerance = 2 * 10.0 * RELATIVE_TOLERANCE  # a link may carry that share more
    assert bandwidth[0] == pytest.approx(max(0.0, 10.0 - max(u[0] for u in used)), abs=tolerance)


@LAW
@given(bookings, st.integers(0, 15), st.integers(1, 10), st.integers(1, 6), st.booleans())
def test_windows_are_the_starts_at_which_enough_is_free_at_every_step(
    booked: list[tuple[int, int, int, int]], release: int, length: int, tasks: int, only_fast: bool
) -> None:
    profile = Profile(EMPTY)
    for first, duration, a, b in booked:
        profile.occupy(first, first + duration, (a, b), (0.0, 0.0))
    classes = (0,) if only_fast else (0, 1)

    def room(t: float) -> int:
        held = [n[g] for s, d, *n in booked if s <= t < s + d for g in classes]
        return sum((4, 2)[g] for g in classes) - sum(held)

    expected = [
        start
        for start in profile.changes(release)
        if all(room(t) >= tasks for t in range(int(start), int(start) + length))
    ]
    assert [start for start, *_ in profile.windows(release, length, classes, tasks)] == expected


def test_a_copy_is_booked_on_its_own() -> None:
    profile = Profile(EMPTY)
    profile.copy().occupy(0.0, 10.0, (4, 2), (1.0, 1.0))
    assert free(profile, 0.0, 10.0) == ([4, 2], [10, 20])


def test_times_are_the_ticks_of_the_problem() -> None:
    problem: Problem = discretise(Instance(PLATFORM, (), (RunningJob(Job("R", 1, 50.0), ("C1/1",), 25.0),)), 10.0)
    assert Profile(problem).changes(0) == [0, 3]  # 25 s end in the third slot


def test_sets_of_classes_beyond_those_kept_are_counted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three nodes, held from 0 s on until 10, 20 and 30 s: one of the first k is free first at 10 s, all of them at
    # 10 k s. Of the seven sets two are kept at a time, and some are made from one that was kept.
    monkeypatch.setattr("coalloc.rules.profile.MOST_ROOMS", 2)
    groups = tuple(NodeGroup(1, power) for power in (1.0, 0.5, 0.25))
    problem = discretise(Instance(Platform((Cluster("C", groups, 1.0),)), ()), None)
    profile = Profile(problem)
    ends = (10.0, 20.0, 30.0)
    sets = [(0,), (0, 1), (0, 1, 2), (1,), (1, 2), (0, 2), (2,)]
    for g, end in enumerate(ends):
        profile.occupy(0.0, end, [int(g == i) for i in range(3)], ())
        for classes in sets:  # asked for between bookings: what is kept is booked as well
            held = [ends[i] if i <= g else 0.0 for i in classes]
            assert next(profile.windows(0.0, 5.0, classes, 1))[0] == min(held)
            assert next(profile.windows(0.0, 5.0, classes, len(classes)))[0] == max(held)


def test_a_booking_changes_no_more_sets_of_classes_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of four nodes all fifteen sets are asked for, and two are kept: six columns at most.
    monkeypatch.setattr("coalloc.rules.profile.MOST_ROOMS", 2)
    groups = tuple(NodeGroup(1, 0.5**g) for g in range(4))
    profile = Profile(discretise(Instance(Platform((Cluster("C", groups, 1.0),)), ()), None))
    for members in range(1, 16):
        next(profile.windows(0.0, 5.0, [g for g in range(4) if members >> g & 1], 1))
    take, changed = _take, list[int]()
    monkeypatch.setattr("coalloc.rules.profile._take", lambda *of: (changed.append(1), take(*of)))
    profile.occupy(0.0, 10.0, (1, 0, 0, 0), ())
    assert 4 <= len(changed) <= 6
