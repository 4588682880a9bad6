"""What is free over time, by hand and against a list of bookings."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Job, NodeGroup, Platform
from coalloc.problem.allocation import node_classes
from coalloc.rules.allocation_rules import allocator
from coalloc.rules.availability import Availability, Span, earliest, fitting


def steps(available: Availability) -> list[tuple[float, tuple[int, ...]]]:
    """Return the steps as pairs of time and free processors."""
    return [(time, available.free(step)) for step, time in enumerate(available.times)]


def two_classes() -> Availability:
    """Return 1 and 0 free processors; at 5 s one more of the second class, at 7 s two of the first and one more."""
    return Availability(0.0, (1, 0), [(5.0, (0, 1)), (7.0, (2, 0)), (7.0, (0, 1))])


def test_what_is_released_at_one_instant_is_one_step() -> None:
    assert steps(two_classes()) == [(0.0, (1, 0)), (5.0, (1, 1)), (7.0, (3, 2))]
    assert two_classes().room == [1, 2, 5]


def test_what_is_released_now_is_free_now() -> None:
    assert steps(Availability(3.0, (1,), [(3.0, (2,)), (4.0, (1,))])) == [(3.0, (3,)), (4.0, (4,))]


def test_a_window_is_the_first_start_that_leaves_the_room_for_long_enough() -> None:
    # Room is 1 until 5, 2 until 7, then 5; a booking takes 3 from 10 to 20 s.
    available = two_classes()
    available.take(10.0, 20.0, (3, 0))
    assert available.times == [0.0, 5.0, 7.0, 10.0, 20.0]
    assert available.window(1, 100.0) == 0
    assert available.window(3, 3.0) == 2  # [7, 10) is just long enough
    assert available.window(3, 3.5) == 4
    assert available.window(2, 100.0) == 1
    assert available.window(2, 100.0, first=2) == 2
    assert available.window(6, 1.0) is None


def test_room_beyond_the_limit_of_a_window_is_not_asked_for() -> None:
    # A job of 3 tasks that is booked itself at 10 s: it may start at 7 s, for from 10 on it has its own place.
    available = two_classes()
    available.take(10.0, 20.0, (3, 0))
    assert available.window(3, 8.0, before=10.0) == 2
    assert available.window(3, 8.0, before=7.0) is None


def test_what_is_given_back_leaves_no_step_behind() -> None:
    available = two_classes()
    available.take(1.0, 6.0, (1, 0))
    assert steps(available) == [(0.0, (1, 0)), (1.0, (0, 0)), (5.0, (0, 1)), (6.0, (1, 1)), (7.0, (3, 2))]
    available.give_back(1.0, 6.0, (1, 0))
    assert steps(available) == steps(two_classes())


def test_steps_of_equal_room_in_other_classes_stay_apart() -> None:
    # From 5 to 7 s a processor of the first class is taken, and one of the second is free: the room stays 1.
    available = two_classes()
    available.take(5.0, 7.0, (1, 0))
    available.give_back(5.0, 5.0, (0, 0))
    assert steps(available) == [(0.0, (1, 0)), (5.0, (0, 1)), (7.0, (3, 2))]


def test_what_has_passed_is_forgotten() -> None:
    available = two_classes()
    available.forget(6.0)
    assert steps(available) == [(6.0, (1, 1)), (7.0, (3, 2))]
    available.forget(7.0)
    assert steps(available) == [(7.0, (3, 2))]


bookings = st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 3), st.integers(0, 3))


@given(st.lists(bookings, max_size=6), st.data())
def test_it_is_the_sum_of_its_bookings(booked: list[tuple[int, int, int, int]], data: st.DataObject) -> None:
    # After takings, a shift to an earlier start and a giving back: the capacity less all that overlaps each instant.
    capacity = (30, 30)
    available = Availability(0.0, capacity, [])
    for start, length, *counts in booked:
        available.take(start, start + length, counts)
    places = [list(booking) for booking in booked]
    if places:
        start, length, *counts = places[0]
        places[0][0] = earlier = data.draw(st.integers(0, start))
        if earlier < start:
            available.shift(start, earlier, length, counts)
        start, length, *counts = places.pop(data.draw(st.integers(0, len(places) - 1)))
        available.give_back(start, start + length, counts)
    for instant in range(20):
        step = available.step(instant + 0.5) - 1
        expected = tuple(
            capacity[g] - sum(place[2 + g] for place in places if place[0] <= instant < place[0] + place[1])
            for g in (0, 1)
        )
        assert available.free(step) == expected
        assert available.least_free(step, instant + 0.75) == expected
    assert available.room == [sum(free) for _, free in steps(available)]
    assert available.window(61, 1.0) is None
    assert available.times[available.window(60, math.inf) or 0] <= 20


def test_a_rule_is_asked_again_on_what_is_free_to_the_end() -> None:
    # The fast class is away from 8 s on: the job, 10 s there, takes the slow one, 20 s; a shorter one does not.
    platform = Platform([Cluster("C1", [NodeGroup(1, 2.0), NodeGroup(1, 1.0)], 1.0)])
    allocator_of = allocator("fastest-first", node_classes(platform))
    available = Availability(0.0, (1, 1), [])
    available.take(8.0, 30.0, (1, 0))
    assert fitting(available, Job("A", 1, 20.0), 0, allocator_of) == Span(0.0, 20.0, (0, 1))
    assert fitting(available, Job("B", 1, 16.0), 0, allocator_of) == Span(0.0, 8.0, (1, 0))
    both = Job("C", 2, 10.0)
    assert fitting(available, both, 0, allocator_of) is None
    assert earliest(available, both, allocator_of.least_time(both), allocator_of) == Span(30.0, 10.0, (1, 1))
