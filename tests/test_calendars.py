"""Calendars of custom constraints: when jobs may start, in methods, models and the checker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, RunningJob, Schedule
from coalloc.extend import AllowedStarts, Calendar, Constraint, TimeRow
from coalloc.instance.time_base import TimeBase
from coalloc.problem.allowed_slots import AllowedSlots
from coalloc.testing import SmallSize, small_instance
from tests.test_agreement import BOTH, Case, assert_solved

PLATFORM = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=10.0)])
CLOSE = 1e-6


class On(Constraint):
    """Some jobs, or all, start as a calendar says."""

    def __init__(self, calendar: Calendar, *jobs: str) -> None:
        self._calendar, self._jobs = calendar, jobs

    def declare(self, instance):
        jobs = self._jobs or [job.id for job in instance.jobs]
        return [AllowedStarts(job, self._calendar) for job in jobs if job in instance.job_by_id]


# ------------------------------------------------------------------------------ calendars by hand


@pytest.mark.parametrize(
    ("calendar", "seconds", "first"),
    [
        (Calendar(3600.0), 0.0, 0.0),
        (Calendar(3600.0), 1.0, 3600.0),
        (Calendar(3600.0, offset=60.0), 0.0, 60.0),
        (Calendar(3600.0, offset=60.0), 61.0, 3660.0),
        (Calendar(100.0, ((10.0, 20.0), (50.0, 60.0))), 15.0, 15.0),
        (Calendar(100.0, ((10.0, 20.0), (50.0, 60.0))), 20.5, 50.0),
        (Calendar(100.0, ((10.0, 20.0), (50.0, 60.0))), 61.0, 110.0),
        (Calendar(3600.0), 1.7e9 + 1.0, 1.7e9 + 2800.0),
        (Calendar(100.0, ((50.0, 60.0), (10.0, 70.0))), 65.0, 65.0),
        (Calendar(100.0, ((50.0, 100.0),)), 200.0, 200.0),
        (Calendar(100.0, ((50.0, 100.0),)), 200.5, 250.0),
    ],
)
def test_the_first_start_from_a_time_on(calendar, seconds, first):
    # 1.7e9 s are 472,222 hours and 800 s: the next full hour is 2,800 s later.
    assert calendar.first_start(seconds) == pytest.approx(first, abs=1e-6)
    assert calendar.allows(first, 1e-6)


def test_the_longest_wait_is_the_widest_gap():
    assert Calendar(3600.0).longest_wait == 3600.0
    assert Calendar(100.0, ((10.0, 20.0), (50.0, 60.0))).longest_wait == 50.0  # from 60 to 110
    assert Calendar(100.0, ((0.0, 100.0),)).longest_wait == 0.0


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Calendar(20.0), Calendar(30.0), Calendar(60.0, ((0.0, 0.0), (60.0, 60.0)))),
        # 0.1, 0.3, 0.5, ... and 0.2, 0.5, 0.8, ...: 0.5 and each 0.6 later; 0.1 is where the period begins.
        (Calendar(0.2, offset=0.1), Calendar(0.3, offset=0.2), Calendar(0.6, ((0.4, 0.4),), offset=0.1)),
        (
            Calendar(100.0, ((0.0, 40.0), (30.0, 60.0), (90.0, 100.0))),
            Calendar(50.0, ((10.0, 20.0),), offset=40.0),
            # 0 to 10, which begins 10 s before the period, 50 to 60, and 100, at which the next one begins.
            Calendar(100.0, ((0.0, 10.0), (50.0, 60.0), (100.0, 100.0))),
        ),
        (Calendar(20.0), Calendar(20.0, offset=5.0), None),
    ],
)
def test_two_calendars_are_one(one, other, both):
    assert one.both(other, 10) == both


@given(st.integers(0, 2**32 - 1))
def test_one_calendar_of_two_allows_what_both_do(seed):
    rng = np.random.default_rng(seed)

    def drawn() -> Calendar:
        period = int(rng.integers(2, 9))
        pairs = np.sort(rng.integers(0, period + 1, size=(int(rng.integers(1, 3)), 2)))
        return Calendar(0.1 * period, tuple((0.1 * a, 0.1 * b) for a, b in pairs), offset=0.1 * int(rng.integers(9)))

    one, other = drawn(), drawn()
    both = one.both(other, 100)
    for half_tenths in range(300):
        time = 0.05 * half_tenths
        expected = one.allows(time, CLOSE) and other.allows(time, CLOSE)
        assert (both is not None and both.allows(time, CLOSE)) == expected


def test_slots_of_a_calendar_repeat():
    # Slots of 40 s and a period of 100 s repeat after 5 slots: 0, 40, 80, 20, 60 of the period; 0 to 40 are allowed.
    slots = AllowedSlots.of(Calendar(100.0, ((0.0, 40.0),)), 40.0, TimeBase(1e-6, 1e-6, 1e3), "'J1'")
    assert [slots.first_from(t) for t in range(7)] == [0, 1, 3, 3, 5, 5, 6]
    assert list(slots.spans(0, 12)) == [(0, 1), (3, 3), (5, 6), (8, 8), (10, 11)]
    assert slots.longest_wait == 1


def test_a_period_of_slots_that_are_no_fraction():
    # Four slots of 670,000.1234567 s; rounded to fractions of a millionth each, their ratio would not be 4.
    slot = 670_000.1234567
    slots = AllowedSlots.of(Calendar(4.0 * slot), slot, TimeBase(1e-6, 1e-6, 1e3), "'J1'")
    assert [slots.first_from(t) for t in range(6)] == [0, 4, 4, 4, 4, 8]


@pytest.mark.parametrize("arguments", [(0.0,), (10.0, ()), (10.0, ((5.0, 4.0),)), (10.0, ((5.0, 11.0),))])
def test_a_calendar_is_within_its_period(arguments):
    with pytest.raises(CoallocError, match="Calendar"):
        Calendar(*arguments)


# ------------------------------------------------------------------------------ methods


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_jobs_start_on_the_hour(formulation):
    # J1 and J2 take a node each from 0 on, J3 the first that is free at 1 h: it ends at 5,400 s, not at 4,500 s.
    jobs = [Job(f"J{n}", 1, 1800.0 + 900.0 * (n < 3)) for n in (1, 2, 3)]
    instance = Instance(PLATFORM, jobs)
    assert coalloc.solve(instance, slot=900.0, formulation=formulation).objective == 4500.0
    result = coalloc.solve(instance, slot=900.0, formulation=formulation, constraints=[On(Calendar(3600.0))])
    assert (result.status, result.objective) == ("optimal", 5400.0)
    assert {placement.start % 3600.0 for placement in result.schedule} == {0.0}


def test_continuous_time_has_the_exact_start():
    # R1 leaves a node at 10.5 s; J1 starts at the next 7 s, 14 s.
    running = [RunningJob(Job("R1", 2, 10.5), ["C1/0", "C1/1"], 10.5)]
    instance = Instance(PLATFORM, [Job("J1", 1, 10.0)], running)
    result = coalloc.solve(instance, constraints=[On(Calendar(7.0))])
    assert (result.status, result.objective) == ("optimal", 24.0)
    assert coalloc.lower_bound(instance, constraints=[On(Calendar(7.0))]) <= 24.0


def test_the_checker_asks_for_the_calendar():
    instance = Instance(PLATFORM, [Job("J1", 1, 10.0)])
    hourly = [On(Calendar(3600.0))]
    assert coalloc.check(instance, Schedule([Placement("J1", 3600.0, 3610.0, ["C1/0"])]), constraints=hourly) == []
    (violation,) = coalloc.check(instance, Schedule([Placement("J1", 3601.0, 3611.0, ["C1/0"])]), constraints=hourly)
    assert "job 'J1' starts at 3601 s, which its calendar excludes" in str(violation)


def test_slots_must_fit_the_calendar():
    instance = Instance(PLATFORM, [Job("J1", 1, 10.0)])
    with pytest.raises(CoallocError, match=r"calendar of job 'J1' allows no start of a slot of 20 s"):
        coalloc.solve(instance, slot=20.0, constraints=[On(Calendar(20.0, offset=5.0))])
    with pytest.raises(CoallocError, match=r"repeats every 3.14159 s, which slots of 1 s do not fit"):
        coalloc.solve(instance, slot=1.0, constraints=[On(Calendar(np.pi))])


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_a_job_starts_when_all_its_calendars_allow(formulation):
    # From 18 s on: every 20 s (20, 40, 60) and every 30 s (30, 60): at 60 s. Of 60, 120, 180, 240 and 300 s only the
    # last is within 9 s after a multiple of 50 s.
    instance = Instance(PLATFORM, [Job("J1", 1, 10.0, arrival=18.0)])
    both = [On(Calendar(20.0)), On(Calendar(30.0))]
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=both)
    assert (result.status, result.schedule["J1"].start) == ("optimal", 60.0)
    three = [*both, On(Calendar(50.0, ((0.0, 9.0),)))]
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=three)
    assert (result.status, result.schedule["J1"].start) == ("optimal", 300.0)
    assert coalloc.solve(instance, constraints=three).schedule["J1"].start == 300.0
    assert coalloc.lower_bound(instance, constraints=three) == pytest.approx(292.0)


def test_calendars_without_a_common_start_or_period():
    instance = Instance(PLATFORM, [Job("J1", 1, 10.0)])
    odd = [On(Calendar(20.0)), On(Calendar(20.0, offset=5.0))]
    with pytest.raises(CoallocError, match=r"no schedule: no start of job 'J1' is allowed by all of its calendars$"):
        coalloc.solve(instance, constraints=odd)
    with pytest.raises(coalloc.UnsupportedFeature, match=r"AllowedStarts of job 'J1'.*the periods, 3.14159 s and 2 s,"):
        coalloc.solve(instance, constraints=[On(Calendar(np.pi)), On(Calendar(2.0))])


def test_a_model_has_only_allowed_starts():
    instance = Instance(PLATFORM, [Job("J1", 1, 10.0), Job("J2", 2, 10.0)])
    constraints = [On(Calendar(15.0), "J2")]
    model = coalloc.build_model(instance, formulation="mode", slot=5.0, constraints=constraints)
    assert {t % 3 for j, _, t in model.x if j == 1} == {0}
    assert {t % 3 for j, _, t in model.x if j == 0} == {0, 1, 2}


class SameStart(Constraint):
    """J1 and J2 start together, each by a calendar of its own."""

    def __init__(self, one: Calendar, other: Calendar) -> None:
        self._calendars = {"J1": one, "J2": other}

    def declare(self, instance):
        yield from (AllowedStarts(job, calendar) for job, calendar in self._calendars.items())
        for sign in (1, -1):
            yield TimeRow(((sign, "start", "J1"), (-sign, "start", "J2")), 0.0)


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("formulation", ["auto", "mode", "count"])
def test_tied_jobs_wait_for_both_calendars(formulation):
    # J1 may start at 1, 8, 15, 22, ... s and J2 at 2, 7, 12, 17, 22, ... s: 22 s is the first that both allow, far
    # beyond the waits of each.
    instance = Instance(PLATFORM, [Job("J1", 1, 2.0), Job("J2", 1, 1.0)])
    tied = SameStart(Calendar(7.0, offset=1.0), Calendar(5.0, offset=2.0))
    result = coalloc.solve(instance, slot=1.0, formulation=formulation, constraints=[tied])
    assert (result.status, result.objective) == ("optimal", 24.0)


@pytest.mark.usefixtures("cpsat_or_not")
def test_continuous_time_tries_no_grid_without_allowed_starts():
    # J1 runs from 1 to 8.3 s, J2 from 12 to 23.9 s; in the other order J1 would end at 28.3 s.
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 100.0)])
    instance = Instance(platform, [Job("J1", 1, 7.3), Job("J2", 1, 11.9)])
    tenth = [On(Calendar(10.0, offset=1.0), "J1"), On(Calendar(10.0, offset=2.0), "J2")]
    result = coalloc.solve(instance, constraints=tenth, time_limit=1.0)
    assert result.objective == pytest.approx(23.9)
    assert result.lower_bound <= 23.9 + CLOSE


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize(("seed", "objective"), [*enumerate((*BOTH[::-1], *BOTH[::-1]), 1)])
def test_the_optimum_is_that_of_brute_force(seed, objective):
    instance, slot = small_instance(seed, SmallSize(max_jobs=3, max_slots=8))
    rng = np.random.default_rng(seed)
    period = int(rng.integers(2, 5))
    first = int(rng.integers(period))
    last = int(rng.integers(first, period))
    calendar = Calendar(period * slot, ((first * slot, last * slot),), offset=float(rng.integers(2)) * slot)
    constraints = [On(calendar, *(job.id for job in instance.jobs if rng.random() < 0.7), "none")]
    case = Case(instance, slot, tuple(constraints), horizon=20)
    best = case.optimum(objective)
    for formulation in ("auto", "mode", "count"):
        assert_solved(formulation, case, objective, best)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6])
def test_the_optimum_of_two_calendars_is_that_of_brute_force(seed):
    instance, slot = small_instance(seed, SmallSize(max_jobs=3, max_slots=8))
    rng = np.random.default_rng(seed)
    constraints = []
    for _ in range(2):
        period, first = int(rng.integers(2, 5)), int(rng.integers(2))
        window = first * slot, int(rng.integers(first, period)) * slot
        jobs = [job.id for job in instance.jobs if rng.random() < 0.8]
        constraints.append(On(Calendar(period * slot, (window,), offset=float(rng.integers(3)) * slot), *jobs, "none"))
    case = Case(instance, slot, tuple(constraints))
    best = case.optimum("makespan")
    for formulation in ("auto", "mode", "count"):
        assert_solved(formulation, case, "makespan", best)
