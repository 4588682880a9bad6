"""What is free over time, by hand and against a list of bookings."""

from __future__ import annotations

import math
from array import array
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.documents.errors import InternalError
from coalloc.rules.timeline import Spans, Timeline
from tests.strategies import LAW


def steps(timeline: Timeline[int]) -> list[tuple[float, tuple[int, ...]]]:
    """Return the steps as pairs of time and vector."""
    return [(time, timeline.free(time)) for time in timeline.changes(-math.inf)]


def two_classes() -> Timeline[int]:
    """Return 1 and 0 free processors; at 5 s one more of the second class, at 7 s two of the first and one more."""
    return Timeline(0.0, (1, 0), [(5.0, (0, 1)), (7.0, (2, 0)), (7.0, (0, 1))])


def test_what_is_released_at_one_instant_is_one_step() -> None:
    assert steps(two_classes()) == [(0.0, (1, 0)), (5.0, (1, 1)), (7.0, (3, 2))]


def test_what_is_released_now_is_free_now() -> None:
    assert steps(Timeline(3.0, (1,), [(3.0, (2,)), (4.0, (1,))])) == [(3.0, (3,)), (4.0, (4,))]


def test_free_is_the_least_over_the_span_for_each_capacity_apart() -> None:
    # (3, 0) and then (0, 2) of (4, 2): at no instant both, and yet what lasts over both has 1 and 0 only.
    timeline = Timeline(0.0, (4, 2))
    timeline.take(0.0, 10.0, (3, 0))
    timeline.take(10.0, 20.0, (0, 2))
    assert timeline.free(5.0, 15.0) == (1, 0)
    assert timeline.free(5.0, 10.0) == timeline.free(5.0) == (1, 2)  # [start, end)
    assert timeline.free(10.0, 10.0) == timeline.free(19.0, 30.0) == (4, 0)
    assert timeline.free(20.0, 1e9) == (4, 2)


def test_a_window_is_a_start_that_leaves_the_room_for_long_enough() -> None:
    # Room is 1 until 5, 2 until 7, then 5; a booking takes 3 from 10 to 20 s.
    timeline = two_classes()
    timeline.take(10.0, 20.0, (3, 0))
    assert timeline.changes(0.0) == [0.0, 5.0, 7.0, 10.0, 20.0]
    assert next(timeline.windows(0.0, 100.0, 1)) == 0.0
    assert next(timeline.windows(0.0, 3.0, 3)) == 7.0  # [7, 10) is just long enough
    assert next(timeline.windows(0.0, 3.5, 3)) == 20.0
    assert list(timeline.windows(0.0, 100.0, 2)) == [5.0, 7.0, 10.0, 20.0]
    assert next(timeline.windows(6.0, 100.0, 2)) == 6.0  # a start need not be a change
    assert list(timeline.windows(0.0, 1.0, 6)) == []
    assert list(timeline.windows(6.0, 0.0, 6)) == [6.0]  # what takes no time is in nobody's way


def test_room_beyond_the_limit_of_a_window_is_not_asked_for() -> None:
    # A job of 3 tasks that is booked itself at 10 s: it may start at 7 s, for from 10 on it has its own place.
    timeline = two_classes()
    timeline.take(10.0, 20.0, (3, 0))
    assert list(timeline.windows(0.0, 8.0, 3, before=10.0)) == [7.0]
    assert list(timeline.windows(0.0, 8.0, 3, before=7.0)) == []


def test_the_first_start_of_a_vector_leaves_all_of_it_free() -> None:
    # (1, 1) needs the second class from 5 s on; (2, 0) the first, from 7 s on; nobody has a third of it.
    timeline = two_classes()
    timeline.take(10.0, 20.0, (3, 0))
    assert timeline.first_start(0.0, 4.0, (1, 1)) == 5.0
    assert timeline.first_start(0.0, 5.1, (1, 1)) == 20.0  # [5, 10) is too short
    assert timeline.first_start(0.0, 3.0, (2, 0)) == 7.0
    assert timeline.first_start(1.0, 0.0, (9, 9)) == 1.0
    assert timeline.first_start(0.0, 1.0, (0, 3)) == math.inf


def test_numbers_behind_the_classes_are_no_processors() -> None:
    # One class of 2 and 8 units of memory: 3 tasks find no window, whatever memory is left.
    timeline = Timeline(0.0, (2, 8), num_classes=1)
    timeline.take(0.0, 10.0, (1, 6))
    assert list(timeline.windows(0.0, 1.0, 2)) == [10.0]
    assert list(timeline.windows(0.0, 1.0, 3)) == []
    assert timeline.first_start(0.0, 1.0, (1, 3)) == 10.0


def test_what_is_given_back_leaves_no_step_behind() -> None:
    timeline = two_classes()
    timeline.take(1.0, 6.0, (1, 0))
    assert steps(timeline) == [(0.0, (1, 0)), (1.0, (0, 0)), (5.0, (0, 1)), (6.0, (1, 1)), (7.0, (3, 2))]
    timeline.give_back(1.0, 6.0, (1, 0))
    assert steps(timeline) == steps(two_classes())


def test_steps_of_equal_room_in_other_classes_stay_apart() -> None:
    # From 5 to 7 s a processor of the first class is taken, and one of the second is free: the room stays 1.
    timeline = two_classes()
    timeline.take(5.0, 7.0, (1, 0))
    timeline.give_back(5.0, 7.0, (0, 0))
    assert steps(timeline) == [(0.0, (1, 0)), (5.0, (0, 1)), (7.0, (3, 2))]


def test_a_booking_of_no_length_books_nothing() -> None:
    timeline = two_classes()
    timeline.take(6.0, 6.0, (1, 1))
    assert steps(timeline) == steps(two_classes())


def test_what_has_passed_is_forgotten() -> None:
    timeline = two_classes()
    timeline.forget(6.0)
    assert steps(timeline) == [(6.0, (1, 1)), (7.0, (3, 2))]
    timeline.forget(7.0)
    assert steps(timeline) == [(7.0, (3, 2))]


def test_before_the_beginning_nothing_is_taken() -> None:
    timeline = two_classes()
    timeline.take(-9.0, 1.0, (1, 0))
    assert steps(timeline)[:2] == [(0.0, (0, 0)), (1.0, (1, 0))]
    timeline.give_back(-9.0, 1.0, (1, 0))
    timeline.take(-9.0, -5.0, (1, 0))
    assert steps(timeline) == steps(two_classes())


def test_a_copy_is_booked_on_its_own() -> None:
    timeline = two_classes()
    timeline.copy().take(0.0, 10.0, (1, 0))
    assert steps(timeline) == steps(two_classes())


def test_a_set_of_classes_is_counted_the_same_whenever_it_is_first_asked_for() -> None:
    # Of 2 + 2 nodes 1 + 2 are held from 0 to 10 s: 3 are free together from 10 s on, 1 at once.
    first, late = Timeline(0.0, (2, 2)), Timeline(0.0, (2, 2))
    before = list(first.windows(0.0, 5.0, 3))
    for timeline in (first, late):
        timeline.take(0.0, 10.0, (1, 2))
    assert before == [0.0]
    for tasks, start in ((3, 10.0), (1, 0.0)):
        assert next(first.windows(0.0, 5.0, tasks)) == next(late.windows(0.0, 5.0, tasks))
        assert next(late.copy().windows(0.0, 5.0, tasks)) == start


def test_sets_of_classes_are_counted_between_bookings() -> None:
    # Three nodes, held from 0 s on until 10, 20 and 30 s: one of the first k is free first at 10 s, all of them at
    # 10 k s.
    timeline = Timeline(0.0, (1, 1, 1))
    ends = (10.0, 20.0, 30.0)
    sets = [(0,), (0, 1), (0, 1, 2), (1,), (1, 2), (0, 2), (2,)]
    for g, end in enumerate(ends):
        timeline.take(0.0, end, [int(g == i) for i in range(3)])
        for classes in sets:
            held = [ends[i] if i <= g else 0.0 for i in classes]
            assert next(timeline.windows(0.0, 5.0, 1, classes)) == min(held)
            assert next(timeline.windows(0.0, 5.0, len(classes), classes)) == max(held)


bookings = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 3), st.integers(0, 3)), max_size=6)
CAPACITY = (30, 30)


@LAW
@given(bookings, st.data())
def test_it_is_the_sum_of_its_bookings(booked: list[tuple[int, int, int, int]], data: st.DataObject) -> None:
    # After takings, a move to an earlier start and a giving back: the capacity less all that overlaps each instant.
    timeline = Timeline(0.0, CAPACITY)
    for start, length, *counts in booked:
        timeline.take(start, start + length, counts)
    places = [list(booking) for booking in booked]
    if places:
        start, length, *counts = places[0]
        places[0][0] = earlier = data.draw(st.integers(0, start))
        timeline.give_back(start, start + length, counts)
        timeline.take(earlier, earlier + length, counts)
        start, length, *counts = places.pop(data.draw(st.integers(0, len(places) - 1)))
        timeline.give_back(start, start + length, counts)

    def left(instant: float, g: int) -> int:
        return CAPACITY[g] - sum(place[2 + g] for place in places if place[0] <= instant < place[0] + place[1])

    for instant in range(20):
        expected = left(instant, 0), left(instant, 1)
        assert timeline.free(instant + 0.5) == timeline.free(instant + 0.5, instant + 0.75) == expected
    first, length = data.draw(st.integers(0, 15)), data.draw(st.integers(1, 10))
    for g, least in enumerate(timeline.free(first, first + length)):
        assert least == min(left(instant, g) for instant in range(first, first + length))
    assert list(timeline.windows(0.0, 1.0, 61)) == []
    assert next(timeline.windows(0.0, math.inf, 60)) <= 20


@LAW
@given(bookings, st.integers(0, 15), st.integers(1, 10), st.integers(40, 60), st.booleans())
def test_windows_are_the_starts_at_which_enough_is_free_at_every_step(
    booked: list[tuple[int, int, int, int]], release: int, length: int, tasks: int, only_first: bool
) -> None:
    timeline = Timeline(0.0, CAPACITY)
    for first, duration, *counts in booked:
        timeline.take(first, first + duration, counts)
    classes, least = ((0,), tasks - 30) if only_first else ((0, 1), tasks)

    def room(t: float) -> int:
        return 30 * len(classes) - sum(n[g] for s, d, *n in booked if s <= t < s + d for g in classes)

    starts = sorted({release, *timeline.changes(release)})
    expected = [s for s in starts if all(room(t) >= least for t in range(int(s), int(s) + length))]
    assert list(timeline.windows(release, length, least, classes)) == expected


@LAW
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=12), st.randoms(), st.booleans())
def test_spans_advance_as_one_search_after_another_says(
    demands: list[tuple[int, int]], random: Random, is_by_start: bool
) -> None:
    # Jobs on four processors, each as early as the others before it leave, after which a third of them is gone.
    timeline, spans = Timeline(0.0, (4,)), Spans()
    gone = set(random.sample(range(len(demands)), len(demands) // 3))
    placed = []
    for seconds, tasks in demands:
        start = timeline.window(0.0, seconds, tasks)
        timeline.take(start, start + seconds, (tasks,))
        placed.append((start, seconds, tasks))
    for k, (start, seconds, tasks) in enumerate(placed):
        if k in gone:
            timeline.give_back(start, start + seconds, (tasks,))
            continue
        spans.kinds.append(len(spans.starts))
        spans.starts.append(start)
        spans.least_times.append(seconds)
        spans.tasks.append(tasks)
        spans.searched.append(-math.inf)
    turn = list(range(len(spans.starts)))
    random.shuffle(turn)
    if is_by_start:
        turn.sort(key=spans.starts.__getitem__)
    plain, starts = timeline.copy(), spans.starts[:]
    for k in turn:
        tasks, seconds = spans.tasks[k], spans.least_times[k]
        window = plain.window(-math.inf, seconds, tasks, starts[k])
        if window < starts[k]:
            plain.give_back(starts[k], starts[k] + seconds, (tasks,))
            plain.take(window, window + seconds, (tasks,))
            starts[k] = window
    assert timeline.advance(0, array("q", turn), spans, is_by_start=is_by_start) == (len(turn), math.inf)
    assert spans.starts == starts
    assert [timeline.free(t) for t in timeline.changes(0.0)] == [plain.free(t) for t in plain.changes(0.0)]


@pytest.mark.parametrize("seed", range(12))
def test_spans_of_a_pool_move_forward_as_one_search_after_another_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    timeline, placed = Timeline(0.0, (40,)), []
    unit, most = float(rng.choice([1.0, 0.1, 1e9 / 3])), int(rng.choice([4, 40]))
    for number in range(int(rng.choice([10, 150, 400]))):
        tasks, seconds = int(rng.integers(1, most + 1)), unit * float(rng.integers(1, rng.choice([3, 60])))
        start = timeline.window(0.0, seconds, tasks)
        timeline.take(start, start + seconds, (tasks,))
        placed.append((start, number, seconds, tasks))
    gains = []
    for k in sorted(rng.choice(len(placed), len(placed) // 8, replace=False).tolist(), reverse=True):
        start, _, seconds, tasks = placed.pop(k)
        timeline.give_back(start, start + seconds, (tasks,))
        gains.append((start, start + seconds))
    placed.sort()
    plain, expected = timeline.copy(), []
    for start, number, seconds, tasks in placed:
        found = min(start, plain.window(-math.inf, seconds, tasks, start))
        plain.give_back(start, start + seconds, (tasks,))
        plain.take(found, found + seconds, (tasks,))
        expected.append((found, number))
    spans = Spans()
    for start, _, seconds, tasks in placed:
        spans.starts.append(start)
        spans.least_times.append(seconds)
        spans.tasks.append(tasks)
    order = timeline.compress(gains, spans, array("q", [number for _, number, *_ in placed]))
    assert [*spans.starts] == [start for start, _ in expected]
    assert [expected[k] for k in order] == sorted(expected)
    for t in {*timeline.changes(0.0), *plain.changes(0.0)}:
        assert timeline.free(t) == plain.free(t)


def test_only_spans_of_a_pool_are_compressed() -> None:
    spans = Spans()
    with pytest.raises(InternalError, match="of timeline_compress is out of range"):
        Timeline(0.0, (4, 4)).compress([], spans, array("q"))
    spans.starts, spans.least_times, spans.tasks = array("d", [0.0]), array("d", [1.0]), array("q", [0])
    with pytest.raises(InternalError, match="tasks of timeline_compress is out of range"):
        Timeline(0.0, (4,)).compress([], spans, array("q", [0]))
