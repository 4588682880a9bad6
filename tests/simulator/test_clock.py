"""The order of what happens at one instant, and that what is no longer expected never happens."""

import math
from dataclasses import dataclass
from functools import partial
from itertools import count, islice

import pytest

from coalloc.simulator.clock import Clock


@dataclass(frozen=True)
class User:
    """A user who comes to a node, or leaves it."""

    time: float
    is_leaving: bool = False
    processors: int = 1


SHORT = {"end": "e", "arrival": "r", "wake": "w", "leaving": "leaving", "coming": "coming"}


def instants(clock, also=None):
    """Yield the instants as lists of (time, what): r0 is the arrival of job 0, e1 the end of job 1.

    ``also`` says, by the name of what happens, what is done then besides.
    """
    found = []

    def note(kind, what):
        name = SHORT[kind] if kind in ("leaving", "coming") else f"{SHORT[kind]}{what}"
        found.append((clock.now, name))
        (also or {}).get(name, lambda: None)()

    handle = clock.handlers({kind: partial(note, kind) for kind in SHORT})
    while clock.advance(handle):
        yield found.copy()
        found.clear()


def names(clock, also=None):
    """Return what happens at each instant."""
    return [[name for _, name in instant] for instant in instants(clock, also)]


@pytest.mark.parametrize(
    ("passes", "expected"),
    [
        ("batch", [[(0, "r1")], [(5, "e0"), (5, "e2"), (5, "r0"), (5, "r2")], [(7, "r3")]]),
        ("per-event", [[(0, "r1")], [(5, "r0")], [(5, "r2")], [(5, "e0")], [(5, "e2")], [(7, "r3")]]),
    ],
)
def test_terminations_before_arrivals_in_a_batch_and_after_them_one_by_one(passes, expected):
    clock = Clock([5, 0, 5, 7], passes)
    clock.expect_end(2, 5, 1.0, 0.0)
    clock.expect_end(0, 5, 0.0, 0.0)
    assert list(instants(clock)) == expected


def test_ends_users_arrivals_wake_ups():
    clock = Clock([5.0], changes=[User(5.0), User(5.0, is_leaving=True)])
    clock.wake(0, 5.0)
    clock.expect_end(7, 5.0, 0.0, 0.0)
    assert names(clock) == [["e7", "leaving", "coming", "r0", "w0"]]


def test_simultaneous_ends_come_by_start_then_by_arrival():
    # Jobs 0, 1 and 2 end at 9. Job 2 started first; 0 and 1 both at 4, 1 arrived first.
    clock = Clock([], "per-event")
    clock.expect_end(0, 9.0, 4.0, 3.0)
    clock.expect_end(1, 9.0, 4.0, 2.0)
    clock.expect_end(2, 9.0, 1.0, 1.0)
    assert names(clock) == [["e2"], ["e1"], ["e0"]]


def test_times_that_differ_by_rounding_are_one_instant_in_the_order_of_kinds():
    clock = Clock([0.3])
    clock.expect_end(9, 0.1 + 0.2, 0.0, 0.0)  # 0.30000000000000004, after the arrival by rounding alone
    assert names(clock) == [["e9", "r0"]]
    assert clock.now == 0.1 + 0.2


def test_an_event_that_comes_up_within_an_instant_belongs_to_it():
    clock = Clock([1.0, 1.0, 1.0])
    expect = {"r0": lambda: clock.expect_end(0, 1.0, 1.0, 1.0)}
    assert names(clock, expect) == [["r0", "e0", "r1", "r2"]]
    # Also one that comes up when all the others have happened.
    clock = Clock([1.0])
    assert names(clock, expect) == [["r0", "e0"]]


def test_an_end_that_is_expected_anew_happens_once():
    clock = Clock([])
    for end in (4.0, 6.0, 5.0, 6.0):
        clock.expect_end(0, end, 0.0, 0.0)
    assert list(instants(clock)) == [[(6.0, "e0")]]


def test_an_end_that_is_not_expected_any_more_makes_no_instant():
    clock = Clock([8.0])
    clock.expect_end(0, 4.0, 0.0, 0.0)
    clock.expect_end(0, math.inf, 0.0, 0.0)
    assert list(instants(clock)) == [[(8.0, "r0")]]


def test_an_end_that_moves_within_its_instant_happens_when_it_is_expected():
    # Both end at 5; that of job 0 puts off that of job 1.
    clock = Clock([])
    clock.expect_end(0, 5.0, 0.0, 0.0)
    clock.expect_end(1, 5.0, 0.0, 1.0)
    assert names(clock, {"e0": lambda: clock.expect_end(1, 6.0, 0.0, 1.0)}) == [["e0"], ["e1"]]


def test_an_obsolete_end_does_not_say_how_far_an_instant_reaches():
    # Ends at 1 and at 1 + 1.5e-9 are two instants. A former end in between, 1e-9 from both, joins them not.
    clock = Clock([1.0])
    clock.expect_end(0, 1.0 + 0.8e-9, 0.0, 0.0)
    clock.expect_end(0, 1.0 + 1.5e-9, 0.0, 0.0)
    assert names(clock) == [["r0"], ["e0"]]


def test_a_site_is_woken_up_once_however_often_it_asks():
    clock = Clock([])
    for site, time in ((1, 3.0), (0, 3.0), (1, 3.0), (1, 2.0)):
        clock.wake(site, time)
    assert names(clock) == [["w1"], ["w0", "w1"]]
    clock.wake(1, 5.0)
    assert names(clock) == [["w1"]]


def test_changes_may_be_endless():
    clock = Clock([], changes=(User(float(second)) for second in count(1)))
    assert list(islice(instants(clock), 3)) == [[(second, "coming")] for second in (1.0, 2.0, 3.0)]


def test_nothing_is_a_clock_that_has_run_down():
    assert list(instants(Clock([]))) == []
