"""The profile: a step function of free processors and bandwidth, against sums over the bookings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.problem import Problem, discretise
from coalloc.rules.profile import Profile
from tests.strategies import LAW

PLATFORM = Platform((Cluster("C1", (NodeGroup(4, 1.0),), 10.0), Cluster("C2", (NodeGroup(2, 0.5),), 20.0)))
JOBS = (Job("J1", 2, 10.0, 1.0, 100.0),)
"""A job that could saturate both links: where none could, a profile does not keep their bandwidth."""
EMPTY = discretise(Instance(PLATFORM, JOBS), None)


def free(profile: Profile, start: float, end: float) -> tuple[list[float], list[float]]:
    """Return free processors and bandwidth (to 6 digits)."""
    amounts = profile.free(start, end)
    return list(amounts[:2]), [round(b, 6) for b in amounts[2:]]


def test_an_empty_platform_is_free_for_ever() -> None:
    profile = Profile(EMPTY)
    assert free(profile, -5.0, 1e9) == ([4, 2], [10, 20])
    assert profile.changes(3.0) == []


def test_a_booking_counts_inside_its_interval_only() -> None:
    profile = Profile(EMPTY)
    profile.take(10.0, 20.0, profile.vector((3, 0), (4.0, 4.0)))
    assert free(profile, 0.0, 10.0) == ([4, 2], [10, 20])  # [start, end)
    assert free(profile, 0.0, 10.5) == ([1, 2], [6, 16])
    assert free(profile, 19.0, 30.0) == ([1, 2], [6, 16])
    assert free(profile, 20.0, 30.0) == ([4, 2], [10, 20])


def test_a_link_that_nothing_can_saturate_is_not_kept() -> None:
    profile = Profile(discretise(Instance(PLATFORM, (Job("J1", 2, 10.0, 1.0, 1.0),)), None))
    profile.take(10.0, 20.0, profile.vector((1, 1), (1.0, 1.0)))
    assert profile.free(10.0, 20.0) == (3, 1)


def test_running_jobs_are_booked_from_the_beginning() -> None:
    # R: one task in each cluster, 1 * 3 * 1/1 = 3 MB/s on both links until 7 s.
    running = (RunningJob(Job("R", 2, 50.0, 1.0, 3.0), ("C1/1", "C2/0"), 7.0),)
    profile = Profile(discretise(Instance(PLATFORM, JOBS, running), None))
    assert free(profile, 0.0, 1.0) == ([3, 1], [7, 17])
    assert profile.changes(0.0) == [7.0]


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
            profile.take(start, start + 1.0, (0, 0, load, 0.0))
            profile.give_back(start, start + 1.0, (0, 0, load, 0.0))
    assert profile.free(0.0, 10.0)[2] >= 10.0


bookings = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(0, 2), st.integers(0, 1)), max_size=8)


@LAW
@given(bookings, st.integers(0, 15), st.integers(1, 10))
def test_free_is_what_the_bookings_leave_at_the_fullest_instant(
    booked: list[tuple[int, int, int, int]], start: int, length: int
) -> None:
    profile = Profile(EMPTY)
    for first, duration, a, b in booked:
        profile.take(first, first + duration, (a, b, float(a), 0.0))
    used = [
        [sum(tasks[g] for s, d, *tasks in booked if s <= t < s + d) for g in range(2)]
        for t in range(start, start + length)
    ]
    expected = [min(capacity - u[g] for u in used) for g, capacity in enumerate((4, 2))]
    *processors, bandwidth, _ = profile.free(start, start + length)
    assert processors == expected
    tolerance = 2 * 10.0 * RELATIVE_TOLERANCE  # a link may carry that share more
    assert bandwidth == pytest.approx(max(0.0, 10.0 - max(u[0] for u in used)), abs=tolerance)


def test_a_copy_is_booked_on_its_own() -> None:
    profile = Profile(EMPTY)
    profile.copy().take(0.0, 10.0, (4, 2, 1.0, 1.0))
    assert free(profile, 0.0, 10.0) == ([4, 2], [10, 20])


def test_times_are_the_ticks_of_the_problem() -> None:
    problem: Problem = discretise(Instance(PLATFORM, (), (RunningJob(Job("R", 1, 50.0), ("C1/1",), 25.0),)), 10.0)
    assert Profile(problem).changes(0) == [3]  # 25 s end in the third slot
