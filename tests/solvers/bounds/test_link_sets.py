"""Sets of jobs that links allow: by hand, and every listed set against all choices of modes."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import Problem, discretise
from coalloc.rules.tuning import ENTRIES
from coalloc.solvers.bounds import link_sets
from coalloc.solvers.bounds.feasible_set import FeasibleSets, feasible_set_bound
from coalloc.solvers.bounds.link_sets import LinkSets, SetList, may_check
from coalloc.solvers.bounds.pricing import ListedPricing, TablePricing
from coalloc.solvers.bounds.release_suffixes import Member, ReleaseSuffix, levelled_jobs, release_suffix_of
from tests.small_instances import slotted_instances
from tests.strategies import LAW


def two_clusters(bandwidth: float, *jobs: Job, running: tuple[RunningJob, ...] = ()) -> Problem:
    """Return a problem on two clusters of 2 nodes behind links of a bandwidth."""
    platform = Platform(tuple(Cluster(name, (NodeGroup(2, 1.0),), bandwidth) for name in ("A", "B")))
    return discretise(Instance(platform, jobs, running), None)


def first_suffix(problem: Problem, proven_end: float = math.inf) -> ReleaseSuffix:
    """Return all jobs of a problem."""
    return release_suffix_of(problem, levelled_jobs(problem, use_links=True), 0.0, proven_end)


def across(name: str) -> Job:
    """Return a job of 3 tasks: 1 in a cluster and 2 in the other load both links by 1 * 10 * 2/2 = 10 MB/s."""
    return Job(name, 3, 10.0, 0.5, 10.0)


def test_processors_would_hold_what_links_do_not() -> None:
    problem = two_clusters(5.0, across("J1"), Job("J2", 1, 10.0))
    # 10 MB/s on a link of 5: J1 fits nowhere, and no set has it.
    assert LinkSets(problem, first_suffix(problem)).listed(math.inf) == [((1, 0),)]
    problem = two_clusters(10.0, across("J1"), Job("J2", 1, 10.0))
    assert sorted(LinkSets(problem, first_suffix(problem)).listed(math.inf) or []) == [
        ((0, 0),),
        ((0, 0), (1, 0)),
        ((1, 0),),
    ]


def test_sets_that_are_too_many_are_seen_without_a_look_at_modes() -> None:
    problem = two_clusters(10.0, *(Job(f"J{i}", 1, 10.0 + i) for i in range(200)))
    suffix = first_suffix(problem)
    sets = LinkSets(problem, suffix)
    assert sets.are_many
    assert sets.listed(math.inf) is None
    assert "_choices" not in vars(sets)
    assert sets._count_by_tasks() < 2 * ENTRIES  # of some 66 million


def test_jobs_that_saturate_a_link_together_take_turns() -> None:
    platform = Platform(tuple(Cluster(name, (NodeGroup(3, 1.0),), 15.0) for name in ("A", "B", "C")))
    jobs = tuple(Job(f"J{i}", 4, 10.0, 0.5, 10.0) for i in range(2))
    problem = discretise(Instance(platform, jobs), None)
    # On clusters of 3 a job of 4 crosses. Its load is 3 * 10 * 1/3 = 10 where 3 tasks or 1 are inside, and
    # 2 * 10 * 2/3 = 13.3 where 2 are. Both jobs use two of the three clusters, so they meet on a link: 20 of 15 MB/s.
    assert LinkSets(problem, first_suffix(problem)).listed(math.inf) == [((0, 0),), ((1, 0),)]
    assert feasible_set_bound(problem) == pytest.approx(20.0)


def test_a_running_job_that_overloads_a_link_leaves_nothing_of_it() -> None:
    # R has a task in A and one in B and loads both links by 1 * 20 * 1/1 = 20 of 10 MB/s; J1 puts 1 MB/s on them.
    held = RunningJob(Job("R", 2, 99.0, 0.5, 20.0), ("A/0", "B/0"), 50.0)
    problem = two_clusters(10.0, Job("J1", 2, 10.0, 0.5, 1.0), Job("J2", 1, 10.0), running=(held,))
    suffix = first_suffix(problem)
    sets = LinkSets(problem, suffix)
    running = suffix.numbers.index(-1)
    assert sets.fits([(running, 0), (1, 0)])
    # A and B have one free node each: J1 would cross.
    assert not sets.fits([(running, 0), (0, 0)])
    assert sets.fits([(0, 0), (1, 0)])


def test_listing_stops_at_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_clusters(20.0, *(Job(f"J{i}", 1, 10.0) for i in range(4)), across("J4"), across("J5"))
    sets = LinkSets(problem, first_suffix(problem))
    listed = sets.listed(math.inf)
    assert listed is not None
    monkeypatch.setattr(link_sets, "LISTED", len(listed) - 1)
    assert sets.listed(math.inf) is None


def test_nothing_is_listed_where_processors_say_it_all() -> None:
    assert not may_check(two_clusters(1e9, across("J1"), across("J2")))
    assert may_check(two_clusters(10.0, across("J1"), across("J2")))


def fits_by_definition(problem: Problem, suffix: ReleaseSuffix, members: tuple[Member, ...]) -> bool:
    """Return whether one of all choices of modes overloads nothing (no running jobs)."""
    ways = [
        [c for c in problem.modes[suffix.numbers[j]] if c.duration <= suffix.jobs[j].durations[level]]
        for j, level in members
    ]
    return any(
        all(sum(c.allocation[g] for c in chosen) <= room for g, room in enumerate(problem.capacities))
        and all(
            sum(c.loads[k] for c in chosen) <= limit * (1 + 1e-11) for k, limit in enumerate(problem.allocations.limits)
        )
        for chosen in product(*ways)
    )


@LAW
@given(slotted_instances(), st.booleans())
def test_the_list_is_complete_and_nothing_else(drawn: tuple[Instance, float], continuous: bool) -> None:
    instance, slot = drawn
    problem = discretise(instance.replace(running=()), None if continuous else slot)
    suffix = first_suffix(problem)
    if not suffix.jobs:
        return
    every = [
        tuple(zip(chosen, levels, strict=True))
        for size in range(1, len(suffix.jobs) + 1)
        for chosen in combinations(range(len(suffix.jobs)), size)
        for levels in product(*(range(len(suffix.jobs[j].durations)) for j in chosen))
    ]
    listed = LinkSets(problem, suffix).listed(math.inf)
    assert listed is not None
    assert {tuple(sorted(members)) for members in listed} == {
        m for m in every if fits_by_definition(problem, suffix, m)
    }
    assert len(listed) == len({tuple(sorted(members)) for members in listed})


@LAW
@given(slotted_instances(), st.integers(0, 2**32 - 1))
def test_a_list_prices_as_the_table_does_where_links_do_not_matter(drawn: tuple[Instance, float], seed: int) -> None:
    instance, _ = drawn
    problem = discretise(instance.replace(running=()), None, links="ignore")
    suffix = release_suffix_of(problem, levelled_jobs(problem, use_links=False), 0.0, 0.0)
    if not suffix.jobs:
        return
    rng = np.random.default_rng(seed)
    prices = [sorted(rng.uniform(0.0, 1.0, len(job.durations)).tolist(), reverse=True) for job in suffix.jobs]
    sets = LinkSets(problem, suffix).listed(math.inf)
    assert sets is not None
    listed = ListedPricing(SetList.of(sets), suffix.jobs).price(prices, math.inf)
    assert listed.value == pytest.approx(TablePricing(suffix.capacities, suffix.jobs).price(prices, math.inf).value)
    best = listed.sets[0]
    assert sum(prices[j][level] for j, level in best) == pytest.approx(listed.value)


@LAW
@given(slotted_instances())
def test_links_only_raise_the_bound(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    strict = FeasibleSets(discretise(instance, slot)).bound()
    assert FeasibleSets(discretise(instance, slot, links="ignore")).bound() <= strict
