"""Every function of the engine under wrong arrays: a wrong number anywhere is an error of Python, or harmless."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import coalloc
from coalloc.engine import engine
from coalloc.engine.library import Function
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.solvers.bounds.job_prices import job_prices_bound
from coalloc.solvers.bounds.large_table import LargeTablePricing
from coalloc.solvers.bounds.prices import sum_bound
from coalloc.solvers.bounds.release_suffixes import LevelledJob
from coalloc.solvers.bounds.set_prices import SetPrices
from coalloc.solvers.bounds.wide_jobs import WidePairs
from coalloc.solvers.search.cost_tree import CostTree
from tests.rules.test_timeline_engine import Case
from tests.solvers.bounds import test_wide_jobs
from tests.solvers.search import test_knapsack_growth, test_pool_tree
from tests.solvers.search.test_growth import assert_equal
from tests.solvers.search.test_list_annealing import annealing_of, pool, restricted

TRIALS = 25
"""Calls of each work that get a wrong number, or an array of another length."""
WRONG = {
    "int64_t": (-(2**63), -1, 0, 1, 64, 2**31, 2**62, 2**63 - 1),
    "int32_t": (-(2**31), -1, 0, 1, 64, 2**31 - 1),
    "uint64_t": (0, 1, 2**63, 2**64 - 1),
    "uint8_t": (0, 1, 2, 255),
    "double": (math.nan, -math.inf, math.inf, -1e308, 1e308, -1.0, 0.0, 5e-324, 0.5),
}


def small(jobs: int = 8, **parameters: Any) -> coalloc.Instance:
    return coalloc.generate("thesis-oas", seed=2, jobs=jobs, **({"nodes": 2} | parameters))


def lists(seed: int) -> None:
    for problem in restricted(seed):
        annealing = annealing_of(problem, "total-response-time")
        annealing.consider(range(len(problem.jobs)), [0] * len(problem.jobs))
        annealing.round(50)
        if annealing.is_movable:
            annealing.best()


def solved(instance: coalloc.Instance, **options: Any) -> Callable[[], object]:
    return lambda: coalloc.solve(instance, **({"time_limit": 0.3} | options))


def priced() -> None:
    criterion = Criterion.of(discretise(pool(12, 1), None), "total-response-time")
    sum_bound(criterion, 0.05)
    job_prices_bound(criterion, 0.05)


def priced_by_sets() -> None:
    criterion = Criterion.of(discretise(small(5), 500_000.0), "total-response-time")
    prices = SetPrices.of(criterion)
    assert prices is not None
    for _ in prices.improve(time.perf_counter() + 0.1):
        pass
    CostTree(criterion, None, math.inf, prices=prices).run(100, time.perf_counter() + 0.1)


def packed() -> None:
    problem = discretise(test_knapsack_growth.random_pool(12, 1), None)
    test_knapsack_growth.packed(problem, [1.0] * 12, 4, math.inf)


def pooled() -> None:
    jobs = [(3, 4), (2, 5), (1, 1), (2, 3), (3, 2)]
    test_pool_tree.least_end(test_pool_tree.PoolTree(test_pool_tree.pool(jobs, 4), 30))


def tabulated() -> None:
    jobs = [LevelledJob((1.0, 2.0), ((1, 2), (1, 1)), is_rigid=False) for _ in range(4)]
    LargeTablePricing((2, 3), jobs).price([[0.5, 0.25]] * 4, math.inf)


def wide() -> None:
    problem = test_wide_jobs.three_of_four_tasks(20.0)
    pairs = WidePairs(problem)
    pairs.sets(pairs.suffix(test_wide_jobs.first_suffix(problem)), math.inf)


WORKS: dict[str, Callable[[], object]] = {
    "lists": lambda: lists(28),
    "spreads": lambda: lists(8),
    "budgets": lambda: lists(20),
    "modes": lambda: lists(45),
    "plans": lambda: assert_equal(discretise(small(12), None), before=math.inf),
    "knapsacks": packed,
    "timeline": Case(4).run,
    "tree": solved(small(), slot="5%"),
    "tree of a sum": solved(small(6), objective="total-response-time"),
    "links": solved(small(max_tasks=6, bsbw_low=0.1, link_bandwidth=100.0), objective="total-response-time"),
    "one cluster": solved(pool(12, 1), objective="total-weighted-response-time"),
    "tree of one cluster": pooled,
    "prices": priced,
    "prices of sets": priced_by_sets,
    "large table": tabulated,
    "wide jobs": wide,
    "conservative": lambda: coalloc.simulate(pool(12, 1), "conservative"),
}
"""What calls nearly all functions, by name."""


class Corrupting:
    """Stands for the call of every function: counts them, and changes an array of one call."""

    def __init__(self, name: str = "", number: int = 0, seed: int = 0) -> None:
        self.calls: Counter[str] = Counter()
        self._target, self._rng = (name, number), np.random.default_rng(seed)
        self._call = Function.__call__

    def patched(self, patch: pytest.MonkeyPatch) -> Corrupting:
        patch.setattr(Function, "__call__", lambda function, *given: self.called(function, given))
        return self

    def called(self, function: Function, given: Sequence[Any]) -> Any:
        self.calls[function.name] += 1
        is_target = self._target == (function.name, self.calls[function.name])
        return self._call(function, *(self._corrupted(function, given) if is_target else given))

    def _corrupted(self, function: Function, given: Sequence[Any]) -> list[Any]:
        parameters, found = [p for p in function.parameters if p.name != "made"], list(given)
        places = [i for i, p in enumerate(parameters) if p.size is not None and found[i].size]
        if not places:
            return found
        place = self._rng.choice(places)
        if self._rng.random() < 0.1:
            found[place] = found[place].ravel()[:-1].copy()
            return found
        found[place] = found[place].copy() if not parameters[place].is_written else found[place]
        array = found[place].reshape(-1)
        array[self._rng.integers(array.size)] = self._rng.choice(np.array(WRONG[parameters[place].kind], array.dtype))
        return found


@pytest.mark.parametrize("work", WORKS)
def test_a_wrong_number_never_ends_the_process(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        calls = Corrupting().patched(patch).calls
        WORKS[work]()
    names = [name for name in calls if any(p.size for p in getattr(engine(), name).parameters)]
    rng = np.random.default_rng(0)
    for seed in range(TRIALS):
        name = names[seed % len(names)]
        with monkeypatch.context() as patch:
            Corrupting(name, int(rng.integers(1, min(calls[name], 50) + 1)), seed).patched(patch)
            try:
                WORKS[work]()
            except Exception:
                continue
