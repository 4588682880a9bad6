"""Prices of all jobs for what is left of each: no set is worth more than 1, and nothing is worth more at others."""

from __future__ import annotations

import math

import numpy as np
import pytest

import coalloc
from coalloc.problem import discretise, in_other_slots, slot_seconds
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.bounds.link_pricing import LinkPricing
from coalloc.solvers.bounds.link_sets import LinkSets, SetList
from coalloc.solvers.bounds.pricing import ListedPricing
from coalloc.solvers.bounds.remainder_prices import RemainderPrices, jobs_that_last


def problem_of(seed, jobs=9):
    instance = coalloc.generate("thesis-oas", jobs=jobs, seed=seed)
    return discretise(instance, slot_seconds(instance, "15%"))


def listed(problem):
    jobs = jobs_that_last(problem)
    return ListedPricing(SetList.of(LinkSets(problem, jobs).listed(math.inf)), jobs.jobs)


def prices_by(pricing, problem):
    return RemainderPrices(problem, jobs_that_last(problem), pricing)


def greatest(problem, prices):
    """The greatest worth of a set at prices of jobs, ticks."""
    by_level = [[prices[j] / d for d in job.durations] for j, job in enumerate(jobs_that_last(problem).jobs)]
    return listed(problem).price(by_level, math.inf).value


@pytest.mark.parametrize("seed", range(4))
def test_where_all_is_left_it_is_the_bound_of_the_feasible_sets(seed):
    problem = problem_of(seed)
    sets = FeasibleSets(problem)
    sets.bound()
    prices = prices_by(listed(problem), problem).best(np.ones(9))
    assert prices.sum() == pytest.approx(sum(sets.dual_prices), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_prices_from_the_last_basis_are_as_good_as_those_from_none(seed):
    problem, rng = problem_of(seed), np.random.default_rng(seed)
    kept = prices_by(listed(problem), problem)
    for _ in range(6):
        left = rng.random(9) * (rng.random(9) < 0.7)
        prices = kept.best(left)
        assert greatest(problem, prices) <= 1.0 + 1e-9
        assert left @ prices == pytest.approx(left @ prices_by(listed(problem), problem).best(left), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_sets_that_are_searched_for_give_the_same_as_those_of_a_list(seed):
    problem, rng = problem_of(seed), np.random.default_rng(seed)
    searched = prices_by(LinkPricing(problem, jobs_that_last(problem)), problem)
    for _ in range(6):
        left = np.maximum(1e-3, rng.random(9) * (rng.random(9) < 0.7))
        prices = searched.best(left)
        assert greatest(problem, prices) <= 1.0 + 1e-9
        assert left @ prices == pytest.approx(left @ prices_by(listed(problem), problem).best(left), rel=1e-6)


def test_jobs_without_duration_are_worth_nothing():
    instance = coalloc.generate("thesis-oas", jobs=4, seed=0)
    short = instance.replace(jobs=(*instance.jobs[:3], instance.jobs[3].replace(base_time=1.0)))
    problem = in_other_slots(discretise(short, None), 1e3, "down")
    assert jobs_that_last(problem).numbers == (0, 1, 2)
    assert prices_by(listed(problem), problem).best(np.ones(4))[3] == 0.0


def test_there_are_none_where_time_is_up():
    problem = problem_of(0)
    assert prices_by(listed(problem), problem).best(np.ones(9), deadline=0.0) is None
