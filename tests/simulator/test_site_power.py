"""The power of a site, event by event, against timelines drawn by hand.

Start-ups take 20 s, a core stays on for 5 s after a job, the site for 10 s more.
"""

import math

import pytest

from coalloc.simulator.site_power import SitePower
from tests.power.test_sites import STATES


def events(power, *happening):
    """Let jobs be assigned (+) and end (-) at instants; return when each that is assigned can start."""
    ready = []
    for sign, now in happening:
        if sign == "+":
            ready.append(power.assigned(now))
        else:
            power.ended(0b1, now)
    return ready


def test_the_first_job_starts_the_site_up():
    power = SitePower(STATES)
    assert power.is_off(0.0)
    assert power.earliest_start(7.0) == 27.0
    assert power.assigned(7.0) == 27.0
    assert [power.is_up(now) for now in (7.0, 26.9, 27.0, 99.0)] == [False, False, True, True]
    assert not power.is_off(8.0)


def test_two_jobs_during_a_start_up_wait_for_the_same():
    assert events(SitePower(STATES), ("+", 0.0), ("+", 12.0), ("+", 20.0), ("+", 33.0)) == [20.0, 20.0, 20.0, 33.0]


@pytest.mark.parametrize(
    ("arrival", "ready"),
    [
        (30.0, 30.0),  # at the end of the job
        (34.0, 34.0),  # in the grace of its core
        (40.0, 40.0),  # in the grace of the site
        (44.9, 44.9),
        (45.0, 65.0),  # when the site goes off
        (60.0, 80.0),
    ],
)
def test_a_job_after_the_last_one(arrival, ready):
    assert events(SitePower(STATES), ("+", 0.0), ("-", 30.0), ("+", arrival)) == [20.0, ready]


def test_grace_begins_again_with_every_end():
    # Off at 45 without the job at 40; with it, which ends at 50, at 65.
    power = SitePower(STATES)
    events(power, ("+", 0.0), ("-", 30.0), ("+", 40.0), ("-", 50.0))
    assert [power.is_off(now) for now in (50.0, 64.9, 65.0)] == [False, False, True]


def test_a_site_stays_on_while_a_job_waits():
    power = SitePower(STATES.replace(core_grace=0.0, site_grace=0.0))
    events(power, ("+", 0.0), ("+", 5.0), ("-", 30.0))
    assert not power.is_off(30.0)
    power.ended(0b1, 40.0)
    assert power.is_off(40.0)


def test_without_a_start_up_time_jobs_start_at_once():
    assert events(SitePower(STATES.replace(startup_time=0.0)), ("+", 3.0), ("-", 9.0), ("+", 99.0)) == [3.0, 99.0]


def test_a_site_at_which_jobs_run_already_is_on():
    power = SitePower(STATES)
    power.runs()
    assert events(power, ("+", 4.0), ("-", 9.0), ("-", 10.0)) == [4.0]
    assert [power.is_off(now) for now in (24.9, 25.0)] == [False, True]


def test_cores_stay_on_for_their_grace():
    power = SitePower(STATES)
    events(power, ("+", 0.0), ("+", 0.0), ("+", 0.0))
    power.ended(0b0011, 30.0)
    power.ended(0b1100, 33.0)
    assert [power.cores_on(now) for now in (33.0, 34.9, 35.0, 37.9, 38.0)] == [0b1111, 0b1111, 0b1100, 0b1100, 0]
    # Taken again in the meantime, and free again: its last end counts.
    power.ended(0b0011, 40.0)
    assert power.cores_on(44.9) == 0b0011
    assert power.cores_on(math.inf) == 0
