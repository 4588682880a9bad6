"""Prices of all jobs for what is left of each: no set is worth more than 1, and nothing is worth more at others."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc.problem import discretise, slot_seconds
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.bounds.link_sets import SetList
from coalloc.solvers.bounds.listed_prices import ListedPrices, shares_of_sets


def problem_of(seed, jobs=9):
    instance = coalloc.generate("thesis-oas", jobs=jobs, seed=seed)
    return discretise(instance, slot_seconds(instance, "15%"))


def of(problem):
    return shares_of_sets(problem, lambda sets: sets.greatest(float("inf")))


@pytest.mark.parametrize("seed", range(4))
def test_where_all_is_left_it_is_the_bound_of_the_feasible_sets(seed):
    problem = problem_of(seed)
    sets = FeasibleSets(problem)
    sets.bound()
    prices = ListedPrices(*of(problem)).best(np.ones(9))
    assert prices.sum() == pytest.approx(sum(sets.dual_prices), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_prices_from_the_last_basis_are_as_good_as_those_from_none(seed):
    problem, rng = problem_of(seed), np.random.default_rng(seed)
    shares, least = of(problem)
    kept = ListedPrices(shares, least)
    for _ in range(6):
        left = rng.random(9) * (rng.random(9) < 0.7)
        prices = kept.best(left)
        assert (shares @ (prices / least)).max() <= 1.0 + 1e-9
        assert left @ prices == pytest.approx(left @ ListedPrices(shares, least).best(left), rel=1e-6)


def test_sets_that_do_the_same_are_one():
    shares, _ = shares_of_sets(problem_of(3), lambda sets: SetList.of([*sets.listed(float("inf"))] * 2))
    assert len(np.unique(shares, axis=0)) == len(shares) == len(of(problem_of(3))[0])


def test_there_are_none_where_nothing_is_listed_or_time_is_up():
    problem = problem_of(0)
    assert len(shares_of_sets(problem, lambda _: None)[0]) == 0
    assert ListedPrices(*of(problem)).best(np.ones(9), deadline=0.0) is None
