"""The bound on the greatest cost: by hand, and against brute force."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.solvers.bounds.due_dates import due_dates_bound, is_for
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import SmallSize, small_instance, with_due_dates

LATENESS = "maximum-lateness"


def of_processors(number, *jobs):
    return Instance(Platform((Cluster("C1", (NodeGroup(number, 1.0),), 10.0),)), jobs)


def bound_of(instance, slot=None):
    return due_dates_bound(Criterion.of(discretise(instance, slot), LATENESS))


def test_jobs_that_are_due_early_end_one_after_another():
    # Two jobs of two tasks on three processors, due at 10: the second ends at 20. A third is due at 100. Alone each
    # ends on time, and the bound of all three is only 30 - 100.
    jobs = [Job(name, 2, 10.0, due_date=due) for name, due in zip("ABC", (10.0, 10.0, 100.0), strict=True)]
    assert bound_of(of_processors(3, *jobs)) == pytest.approx(10.0)


def test_work_that_comes_late_is_counted_from_its_release():
    # On two processors 40 processor seconds arrive at 50 and are due at 60: they end at 70.
    jobs = [Job(f"J{i}", 1, 10.0, arrival=50.0, due_date=60.0) for i in range(4)]
    assert bound_of(of_processors(2, Job("early", 2, 10.0, due_date=1000.0), *jobs)) == pytest.approx(10.0)


def test_jobs_that_come_after_others_count_without_them():
    # B waits for A, which has no due date and so is in no set that says anything: B and C take 20 s, 10 late.
    jobs = [
        Job("A", 1, 5.0),
        Job("B", 1, 10.0, due_date=10.0, after=("A",)),
        Job("C", 1, 10.0, due_date=10.0),
    ]
    assert 10.0 - 1e-6 <= bound_of(of_processors(1, *jobs)) <= 15.0


@pytest.mark.parametrize("seed", range(12))
def test_no_bound_is_above_the_optimum(seed):
    instance, slot = small_instance(seed, SmallSize(max_jobs=3, max_processors=6))
    instance, slot = with_due_dates(instance, seed), slot if seed % 2 else None
    if all(job.due_date is None for job in instance.jobs):
        instance = instance.replace(jobs=[instance.jobs[0].replace(due_date=1.0), *instance.jobs[1:]])
    best = brute_force_oas(instance, slot, LATENESS).objective
    assert bound_of(instance, slot) <= best + 1e-6 * abs(best) + 1e-9


def test_what_is_late_is_proven_for_many_jobs():
    # 60 jobs of two tasks on three processors, one after another; the k-th, of 10 s, is due at 10 k: all end on time in
    # this order, and one more, due at the same time as the last, makes one 10 s late.
    jobs = [Job(f"J{k}", 2, 10.0, due_date=10.0 * k) for k in range(1, 61)]
    instance = of_processors(3, *jobs, Job("more", 2, 10.0, due_date=600.0))
    assert coalloc.lower_bound(instance, LATENESS) == pytest.approx(10.0)
    result = coalloc.solve(instance, objective=LATENESS, time_limit=20.0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(10.0))


def test_a_latest_end_and_a_sum_are_not_for_it():
    problem = discretise(of_processors(1, Job("A", 1, 1.0, due_date=1.0), Job("B", 1, 1.0)), None)
    assert [is_for(Criterion.of(problem, name)) for name in ("makespan", "mean-wait", LATENESS)] == [False, False, True]
