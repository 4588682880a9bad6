"""The order of simultaneous events."""

import pytest

from coalloc.simulator.events import EventQueue


def instants(queue):
    """Return all instants as lists of (time, what): r0 is the arrival of job 0, e1 the end of job 1."""
    found = []
    while queue:
        found.append([(time, f"{'e' if is_end else 'r'}{job}") for time, is_end, job in queue.instant()])
    return found


@pytest.mark.parametrize(
    ("passes", "expected"),
    [
        ("batch", [[(0, "r1")], [(5, "e0"), (5, "e2"), (5, "r0"), (5, "r2")], [(7, "r3")]]),
        ("per-event", [[(0, "r1")], [(5, "r0")], [(5, "r2")], [(5, "e0")], [(5, "e2")], [(7, "r3")]]),
    ],
)
def test_terminations_before_arrivals_in_a_batch_and_after_them_one_by_one(passes, expected):
    queue = EventQueue([5, 0, 5, 7], passes)
    queue.expect_end(2, 5)
    queue.expect_end(0, 5)
    assert instants(queue) == expected


def test_times_that_differ_by_rounding_are_one_instant():
    queue = EventQueue([0.3], "batch")
    queue.expect_end(9, 0.1 + 0.2)  # 0.30000000000000004
    assert instants(queue) == [[(0.3, "r0"), (0.1 + 0.2, "e9")]]


def test_an_event_that_comes_up_within_an_instant_belongs_to_it():
    queue = EventQueue([1.0, 1.0], "batch")
    instant = queue.instant()
    assert next(instant) == (1.0, False, 0)
    queue.expect_end(0, 1.0)
    assert list(instant) == [(1.0, True, 0), (1.0, False, 1)]


def test_nothing_is_an_empty_queue():
    assert not EventQueue([], "batch")
