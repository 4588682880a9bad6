"""The dynamic programme of large tables: beside that of small ones, and where it stops."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.problem import Problem, discretise
from coalloc.solvers.bounds import feasible_set, large_table, pricing
from coalloc.solvers.bounds.feasible_set import feasible_set_bound, processor_pricing
from coalloc.solvers.bounds.large_table import LargeTablePricing, may_tabulate
from coalloc.solvers.bounds.pricing import JobPrices, MipPricing, TablePricing
from coalloc.solvers.bounds.release_suffixes import LevelledJob, ReleaseSuffix, levelled_jobs, release_suffix_of
from tests.strategies import LAW


@st.composite
def priced_jobs(draw: st.DrawFn) -> tuple[tuple[int, ...], list[LevelledJob], JobPrices]:
    """Return capacities, fastest first, and jobs: rigid, moldable, and such as run already, on several speeds."""
    capacities = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    jobs, prices = [], []
    for _ in range(draw(st.integers(0, 6))):
        needs = draw(
            st.lists(
                st.lists(st.integers(0, 3), min_size=len(capacities), max_size=len(capacities)), max_size=3, min_size=1
            )
        )
        # Of every prefix as many as of those in it.
        of_levels = tuple(tuple(np.cumsum(of_level).tolist()) for of_level in needs)
        jobs.append(LevelledJob(tuple(float(d) for d in range(1, len(needs) + 1)), of_levels, is_rigid=False))
        prices.append(draw(st.lists(st.floats(0.0, 1.0), min_size=len(needs), max_size=len(needs))))
    return capacities, jobs, prices


def fits(capacities: tuple[int, ...], jobs: list[LevelledJob], members: tuple[tuple[int, int], ...]) -> bool:
    """Return whether all prefixes hold what members need of them (Hall)."""
    needs = sum((np.array(jobs[j].needs[level]) for j, level in members), np.zeros(len(capacities)))
    return bool((needs <= np.cumsum(capacities)).all())


@LAW
@given(priced_jobs())
def test_it_finds_what_small_tables_do(drawn: tuple[tuple[int, ...], list[LevelledJob], JobPrices]) -> None:
    capacities, jobs, prices = drawn
    large, small = LargeTablePricing(capacities, jobs), TablePricing(capacities, jobs)
    for _ in range(2):  # what it has written before is no matter
        found, known = large.price(prices, math.inf), small.price(prices, math.inf)
        assert found.value == known.value
        worths = [sum(prices[j][level] for j, level in members) for members in found.sets]
        assert worths == pytest.approx([sum(prices[j][level] for j, level in members) for members in known.sets])
        assert all(len(dict(members)) == len(members) and fits(capacities, jobs, members) for members in found.sets)


def three_clusters(jobs: int = 12) -> Problem:
    """Return jobs on three clusters of 6 processors."""
    return discretise(coalloc.generate("thesis-oas", jobs=jobs, nodes=6, seed=5), 67_000.0)


def suffix_of(problem: Problem) -> ReleaseSuffix:
    """Return all jobs of a problem."""
    return release_suffix_of(problem, levelled_jobs(problem, use_links=True), 0.0, 1.0)


def test_nothing_is_proven_where_time_is_up() -> None:
    suffix = suffix_of(three_clusters())
    prices = [[1.0] * len(job.durations) for job in suffix.jobs]
    priced = LargeTablePricing(suffix.capacities, suffix.jobs).price(prices, time.perf_counter())
    assert (priced.value, priced.sets) == (math.inf, ())


def test_the_table_is_as_large_as_time_and_memory_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = three_clusters()
    suffix = suffix_of(problem)
    states, levels = math.prod(c + 1 for c in suffix.capacities), [len(job.durations) for job in suffix.jobs]
    assert isinstance(processor_pricing(problem, suffix), TablePricing)
    monkeypatch.setattr(pricing, "MANY_ENTRIES", states * sum(levels) - 1)
    assert isinstance(processor_pricing(problem, suffix), LargeTablePricing)
    for limit, most in (("OPERATIONS", states * sum(levels)), ("MOST_BYTES", states * (len(levels) + 16))):
        with monkeypatch.context() as patch:
            patch.setattr(large_table, limit, most)
            assert may_tabulate(suffix.capacities, suffix.jobs)
            patch.setattr(large_table, limit, most - 1)
            assert isinstance(processor_pricing(problem, suffix), MipPricing)
    monkeypatch.setattr(large_table, "MOST_LEVELS", max(levels) - 1)
    assert isinstance(processor_pricing(problem, suffix), MipPricing)


def test_where_jobs_arrive_over_time_most_is_done_with_a_few_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = coalloc.generate("thesis-oas", jobs=12, nodes=6, seed=5, interarrival_mean=2e5)
    problem = discretise(instance, 67_000.0)
    monkeypatch.setattr(pricing, "MANY_ENTRIES", 0)
    assert isinstance(processor_pricing(problem, suffix_of(problem)), MipPricing)


def test_few_jobs_on_many_processors_are_left_to_the_mip() -> None:
    # 501 ** 3 states: two values of each would take 2 GB.
    assert not may_tabulate((500, 500, 500), [LevelledJob((10.0,), ((1, 1, 1),))])


def test_jobs_that_take_resources_are_left_to_the_mip() -> None:
    assert not may_tabulate((3,), [LevelledJob((10.0,), ((2,),), takes=((0.5,),))])


def test_the_bound_is_that_of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = three_clusters()
    monkeypatch.setattr(feasible_set, "MAX_AT_ONCE", 0)
    known = feasible_set_bound(problem)
    monkeypatch.setattr(pricing, "MANY_ENTRIES", 0)
    assert feasible_set_bound(problem) == known
