"""The objectives of responses and due dates: by hand, against the metrics of the same schedule, and by brute force."""

from __future__ import annotations

import math

import pytest

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.objectives import OBJECTIVES, RegularObjective
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import SmallSize, small_instance, with_due_dates

NAMES = (
    "total-weighted-response-time",
    "mean-wait",
    "mean-bounded-slowdown",
    "weighted-tardiness",
    "maximum-lateness",
)
METRIC = {"mean-wait": "wait_mean", "mean-bounded-slowdown": "bounded_slowdown_mean"}
THREE_JOBS = SmallSize(max_jobs=3, max_processors=5, max_slots=8)


def one_processor(*jobs):
    return Instance(Platform((Cluster("C1", (NodeGroup(1, 1.0),), 10.0),)), jobs)


def drawn(seed):
    instance, slot = small_instance(seed, THREE_JOBS)
    return with_due_dates(instance, seed), slot


def test_the_sum_weighs_each_response():
    # By Smith's rule A (4 s, weight 4) goes before B (2 s, weight 1): 4 * 4 + 6 = 22; the other way 2 + 4 * 6 = 26.
    instance = one_processor(Job("A", 1, 4.0, weight=4.0), Job("B", 1, 2.0))
    assert coalloc.solve(instance, objective="total-weighted-response-time", slot=1.0).objective == 22.0


def test_a_bounded_slowdown_counts_short_jobs_as_ten_seconds():
    # A of 20 s first: B waits 20 s and has 25 / 10, the mean is 1.75. B of 5 s first: A has 25 / 20, the mean is 1.125.
    instance = one_processor(Job("A", 1, 20.0), Job("B", 1, 5.0))
    assert coalloc.solve(instance, objective="mean-bounded-slowdown", slot=5.0).objective == pytest.approx(1.125)


def test_jobs_without_due_dates_are_never_late():
    # A is due at 3 and takes 4 s: late by 1 s at the least, if it goes first.
    instance = one_processor(Job("A", 1, 4.0, due_date=3.0), Job("B", 1, 2.0))
    assert coalloc.solve(instance, objective="maximum-lateness", slot=1.0).objective == 1.0
    assert coalloc.solve(instance, objective="weighted-tardiness", slot=1.0).objective == 1.0


def test_a_lateness_may_be_negative():
    # Both end by 6 in one order or the other: A 96 s or 94 s early, B 98 s or 94 s early.
    instance = one_processor(Job("A", 1, 4.0, due_date=100.0), Job("B", 1, 2.0, due_date=100.0))
    result = coalloc.solve(instance, objective="maximum-lateness", slot=2.0)
    assert result.status == "optimal"
    assert (result.objective, result.lower_bound) == pytest.approx((-94.0, -94.0))


@pytest.mark.parametrize("call", [coalloc.solve, coalloc.lower_bound, coalloc.build_model])
def test_a_lateness_without_due_dates_is_refused(call):
    with pytest.raises(CoallocError, match=r"^objective 'maximum-lateness' requires at least one job with a due_date$"):
        call(one_processor(Job("A", 1, 4.0)), objective="maximum-lateness", slot=1.0)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_schedule_costs_nothing(name):
    result = coalloc.solve(one_processor(), objective=name)
    assert (result.status, result.objective) == ("optimal", 0.0)


def test_brute_force_reads_costs_of_others_from_the_registry(monkeypatch):
    class LastStart(RegularObjective):
        aggregate = "max"

        def cost(self, job, start, end):
            return start

    monkeypatch.setitem(OBJECTIVES.builtin, "last-start", LastStart())
    # The job that is second starts at the end of the first, best the shorter one: at 2 s.
    instance = one_processor(Job("A", 1, 4.0), Job("B", 1, 2.0))
    assert brute_force_oas(instance, 1.0, "last-start").objective == 2.0
    with pytest.raises(CoallocError, match=r"must be one of makespan, total-response-time, .*, got 'joules'"):
        brute_force_oas(instance, 1.0, "joules")


@pytest.mark.extras
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_solve_finds_what_brute_force_finds(name, seed):
    instance, slot = drawn(seed)
    best = brute_force_oas(instance, slot, name).objective
    result = coalloc.solve(instance, objective=name, slot=slot, time_limit=600.0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert result.lower_bound <= best + 1e-6 * abs(best)
    assert coalloc.lower_bound(instance, name, "best", slot) <= best + 1e-6 * abs(best)
    found = coalloc.metrics(instance, result.schedule)[METRIC.get(name, name.replace("-", "_"))]
    assert found == pytest.approx(result.objective, rel=1e-9, abs=1e-9)


@pytest.mark.extras
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(10, 12))
def test_continuous_time_encloses_what_brute_force_finds(name, seed):
    instance, _ = drawn(seed)
    best = brute_force_oas(instance, None, name).objective
    result = coalloc.solve(instance, objective=name, time_limit=0.2)
    assert result.lower_bound <= best + 1e-6 * abs(best) + 1e-9
    assert result.objective >= best - 1e-6 * abs(best) - 1e-9
    assert coalloc.lower_bound(instance, name) <= best + 1e-6 * abs(best) + 1e-9


@pytest.mark.parametrize("name", [name for name in NAMES if OBJECTIVES[name].is_monotone])
@pytest.mark.parametrize("seed", range(20, 24))
def test_a_monotone_objective_is_bounded_by_the_instance_rounded_down(name, seed):
    instance, slot = drawn(seed)
    down = brute_force_oas(instance, slot, name, "down").objective
    exact = brute_force_oas(instance, None, name).objective
    assert down <= exact + 1e-6 * abs(exact) + 1e-9


def test_no_registered_cost_falls_with_the_end():
    job = Job("A", 1, 4.0, arrival=1.0, weight=2.0, due_date=9.0)
    for objective in OBJECTIVES.values():
        if isinstance(objective, RegularObjective):
            costs = [objective.cost(job, end - 4.0, end) for end in (5.0, 8.0, 9.0, 12.0, 30.0)]
            assert costs == sorted(costs)
            assert math.isfinite(costs[0])
