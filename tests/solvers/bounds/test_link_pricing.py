"""The set that links allow and that is worth most, by search: beside all sets, and where it stops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Problem, discretise
from coalloc.solvers.bounds import link_pricing
from coalloc.solvers.bounds.feasible_set import FeasibleSets, set_pricing
from coalloc.solvers.bounds.link_pricing import LinkPricing, may_price
from coalloc.solvers.bounds.link_sets import LinkSets, SetList
from coalloc.solvers.bounds.pricing import JobPrices, ListedPricing, TablePricing
from coalloc.solvers.bounds.release_suffixes import LevelledJob, ReleaseSuffix
from tests.small_instances import slotted_instances
from tests.solvers.bounds.test_link_sets import across, first_suffix, fits_by_definition, two_clusters
from tests.strategies import LAW


def prices_of(jobs: tuple[LevelledJob, ...], rng: np.random.Generator) -> JobPrices:
    """Return prices as duals have them: less at slower levels, of some jobs nothing."""
    worths = rng.uniform(0.0, 1.0, len(jobs)) * (rng.random(len(jobs)) < 0.9)
    return [[worth / d for d in job.durations] for worth, job in zip(worths.tolist(), jobs, strict=True)]


def listed(problem: Problem, suffix: ReleaseSuffix) -> ListedPricing:
    """Return the pricing that knows all sets."""
    sets = LinkSets(problem, suffix).listed(math.inf)
    assert sets is not None
    return ListedPricing(SetList.of(sets), suffix.jobs)


@LAW
@given(slotted_instances(), st.booleans(), st.sampled_from([1, 7, 524_287]), st.integers(0, 2**32 - 1))
def test_it_finds_what_the_list_of_all_sets_has(
    drawn: tuple[Instance, float], continuous: bool, memory: int, seed: int
) -> None:
    instance, slot = drawn
    problem = discretise(instance, None if continuous else slot)
    suffix, rng = first_suffix(problem), np.random.default_rng(seed)
    if not suffix.jobs:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_pricing, "REMEMBERED", memory)
        search, every = LinkPricing(problem, suffix), listed(problem, suffix)
    for _ in range(4):  # from the second on sets are remembered
        prices = prices_of(suffix.jobs, rng)
        found, known = search.price(prices, math.inf), every.price(prices, math.inf)
        assert found.value == pytest.approx(max(known.value, 0.0), rel=1e-12)
        worths = [sum(prices[j][level] for j, level in members) for members in found.sets]
        assert worths == sorted(worths, reverse=True)
        assert not worths or worths[0] == pytest.approx(found.value)
        if not instance.running:
            assert all(fits_by_definition(problem, suffix, members) for members in found.sets)


def family(jobs: int = 20, seed: int = 5) -> tuple[Problem, ReleaseSuffix]:
    """Return a problem whose links bind, and which has millions of sets."""
    instance = coalloc.generate("thesis-oas", jobs=jobs, seed=seed, max_tasks=6, bsbw_low=0.1, link_bandwidth=100.0)
    problem = discretise(instance, 67_000.0)
    return problem, first_suffix(problem, 0.0)


def test_where_sets_are_too_many_to_list_links_still_count() -> None:
    problem, suffix = family()
    assert LinkSets(problem, suffix).are_many
    assert isinstance(set_pricing(problem, suffix, math.inf), LinkPricing)
    without = discretise(problem.instance, 67_000.0, links="ignore")
    assert FeasibleSets(problem).bound() > 1.05 * FeasibleSets(without).bound()


def test_a_search_that_is_too_long_is_bounded_by_what_there_is_without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    # Clusters of 3 hold two jobs of 4, but each crosses, and they meet on a link that holds one.
    platform = Platform(tuple(Cluster(name, (NodeGroup(3, 1.0),), 15.0) for name in ("A", "B", "C")))
    problem = discretise(Instance(platform, tuple(Job(f"J{i}", 4, 10.0, 0.5, 10.0) for i in range(6))), None)
    suffix, prices = first_suffix(problem), [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    assert LinkPricing(problem, suffix).price(prices, math.inf).value == 6.0
    monkeypatch.setattr(link_pricing, "ENTRIES", 2)
    stopped = LinkPricing(problem, suffix).price(prices, math.inf)
    assert stopped.value == TablePricing(suffix.capacities, suffix.jobs).price(prices, math.inf).value == 11.0
    assert stopped.sets


def test_nothing_is_proven_where_time_is_up() -> None:
    problem, suffix = family()
    prices = prices_of(suffix.jobs, np.random.default_rng(0))
    assert math.isinf(LinkPricing(problem, suffix).price(prices, -math.inf).value)


def test_where_no_job_is_worth_anything_no_set_is() -> None:
    problem, suffix = family()
    priced = LinkPricing(problem, suffix).price([[0.0] * len(job.durations) for job in suffix.jobs], math.inf)
    assert (priced.value, priced.sets) == (0.0, ())


def test_more_jobs_than_a_word_has_bits_are_left_to_others() -> None:
    assert may_price(*family(64))
    assert not may_price(*family(65))


def test_tables_too_large_to_make_at_every_pricing_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, suffix = family()
    # What the table holds: of every job, at as many levels as any has, in every state.
    states, levels = math.prod(c + 1 for c in suffix.capacities), max(len(job.durations) for job in suffix.jobs)
    assert min(len(job.durations) for job in suffix.jobs) < levels
    monkeypatch.setattr(link_pricing, "ENTRIES", states * levels * len(suffix.jobs))
    assert may_price(problem, suffix)
    monkeypatch.setattr(link_pricing, "ENTRIES", states * levels * len(suffix.jobs) - 1)
    assert not may_price(problem, suffix)


def test_by_hand() -> None:
    problem = two_clusters(10.0, across("J1"), across("J2"), Job("J3", 1, 10.0))
    # J1 and J2 would put 20 MB/s on links of 10.
    found = LinkPricing(problem, first_suffix(problem)).price([[1.0], [0.9], [0.5]], math.inf)
    assert found.value == pytest.approx(1.5)
    assert sorted(found.sets[0]) == [(0, 0), (2, 0)]


def test_what_a_search_could_not_follow_is_a_fault() -> None:
    # Two jobs of one choice each in two states and one that does not exist: a room beyond these, and one job twice.
    one, none, jobs = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64), np.array([0, 1])
    spans, no_loads = np.array([0, 1, 1, 2]), np.zeros(0)
    handle = engine().link_pricing_new(
        *(2, 1, 1, 0, 2, 10, 7), one, no_loads, spans, none.astype(np.uint8), one[:1], no_loads
    )
    rooms, without_links = np.full(6, 2), np.zeros(9)
    given = (one, one, none, np.ones(2), np.ones(2))
    with pytest.raises(InternalError, match="rooms of link_pricing_begin is out of range"):
        engine().link_pricing_begin(handle, 2, 1, 3, 1, jobs, *given, rooms + 1, without_links)
    with pytest.raises(InternalError, match="order of link_pricing_begin is out of order"):
        engine().link_pricing_begin(handle, 2, 1, 3, 1, none, *given, rooms, without_links)
    with pytest.raises(InternalError, match="spans of link_pricing_new is out of range"):
        engine().link_pricing_new(
            *(2, 1, 1, 0, 2, 10, 7), one, no_loads, spans + 1, none.astype(np.uint8), one[:1], no_loads
        )
