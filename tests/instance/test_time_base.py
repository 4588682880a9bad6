"""The tick and the tolerance of times: powers of two, exact sums, and what they cover."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, LocalUser, NodeGroup, Platform, RunningJob, Window
from coalloc.instance.time_base import NEVER, TimeBase, latest_power

NODE = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),))


def base_of(arrival: float, number: int = 1, seconds: float = 100.0) -> TimeBase:
    """Return the time base of some jobs that arrive at once and take so many seconds each."""
    return Instance(NODE, tuple(Job(f"J{i}", 1, seconds, arrival=arrival) for i in range(number))).time_base


@pytest.mark.parametrize(
    ("arrival", "seconds", "tick"),
    [
        (0.0, 100.0, 2.0**-30),  # floats below 128 s are 2^-46 s apart, and the finest tick is 2^-30 s
        (1.76e9, 100.0, 2.0**-20),  # floats between 2^30 and 2^31 s are 2^-22 s apart, and a tick is four times that
        (2.0**31 - 50.0, 100.0, 2.0**-19),  # the job may end after 2^31 s, where floats are twice as far apart
        (0.0, 2.0**22, 2.0**-28),  # a horizon of 2^22 s in 2^50 ticks, which is what floats at 2^22 s give: 4 * 2^-30
    ],
)
def test_the_tick_is_the_smallest_power_of_two_that_times_are_exact_in(
    arrival: float, seconds: float, tick: float
) -> None:
    assert base_of(arrival, seconds=seconds).tick == tick


def test_the_tolerance_is_a_tick_for_each_job_and_one_more_up_to_a_microsecond() -> None:
    assert base_of(0.0, 4).tolerance == 5.0 * 2.0**-30
    assert base_of(1.76e9, 4).tolerance == 5.0 * 2.0**-20
    assert base_of(0.0, 2_000, 1.0).tolerance == 1e-6  # 2,001 ticks of 2^-30 s are 1.9e-6 s
    assert base_of(1.76e9, 2_000, 1.0).tolerance == pytest.approx(1.76e-3, rel=1e-5)  # 1e-12 of the latest time
    busy = Instance(NODE, (Job("J1", 1, 10.0),), (RunningJob(Job("R", 1, 5.0), ("C1/0",), 5.0),))
    assert busy.time_base.tolerance == 3.0 * 2.0**-30
    watched = Instance(NODE, (Job("J1", 1, 10.0),), local_users=(LocalUser("C1/1", 0.0, 5.0),))
    assert watched.time_base.tolerance == 3.0 * 2.0**-30
    assert base_of(0.0).tolerance_at(1e6) == 1e-6  # after what the instance can take, a share of the time


def test_an_outage_that_never_ends_makes_no_tick_coarser() -> None:
    def with_outage(end: float) -> Instance:
        return Instance(NODE.replace(unavailable=(Window("C1", 50.0, end, nodes=("C1/1",)),)), (Job("J1", 1, 100.0),))

    assert with_outage(1e15).time_base.tick == 2.0**-30
    assert with_outage(1e15).time_span == 150.0  # the outage begins, and then the job runs
    assert with_outage(NEVER).time_base.tick > 2.0**-30


def test_deadlines_and_due_dates_far_away_make_no_tick_coarser() -> None:
    instance = Instance(NODE, (Job("J1", 1, 100.0, deadline=1e15, due_date=1e15),))
    assert instance.time_base.tick == 2.0**-30


@given(st.floats(1e-300, 1e300))
def test_a_power_of_two_is_the_smallest_that_is_not_below(seconds: float) -> None:
    power = latest_power(seconds)
    assert math.frexp(power)[0] == 0.5
    assert power >= seconds > power / 2.0


@given(st.floats(0.0, 1e4), st.floats(0.0, 1e4), st.sampled_from([0.0, 1e6, 1e7, 1e8, 1.76e9]))
def test_sums_of_whole_ticks_are_exact_and_rounding_is_to_the_nearest(one: float, other: float, since: float) -> None:
    base = base_of(since, seconds=1e4)
    start, length = base.nearest(since + one), base.nearest(other)
    assert abs(length - other) <= base.tick / 2.0
    assert 0.0 <= other + base.tolerance - base.latest_within(other) < base.tick * (1.0 + 1e-6)
    assert (start + length) - start == length
    assert (start + length) / base.tick == round((start + length) / base.tick)
