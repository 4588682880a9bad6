"""Processor patterns: what one processor can serve in turn, by hand, and never above the optimum."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, Shape
from coalloc.problem import Problem, discretise
from coalloc.solvers.bounds.area import area
from coalloc.solvers.bounds.processor_patterns import excluding, is_excluded, may_ask
from coalloc.solvers.named_bounds import BOUNDS
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import TINY, slotted_instances
from tests.strategies import LAW


def jobs_on(groups: tuple[NodeGroup, ...], *base_times: float, tasks: int = 1, share: float = 1.0) -> Problem:
    """Return jobs of so many tasks on one cluster, in slots of a second."""
    jobs = tuple(Job(f"J{i}", tasks, seconds, share) for i, seconds in enumerate(base_times))
    return discretise(Instance(Platform((Cluster("C", groups, 1.0),)), jobs), 1.0)


def last_bound(problem: Problem, known: float) -> float:
    """Return the bound that patterns raise a known one to."""
    return max([known, *excluding(problem, known, 1e6)])


def test_a_processor_serves_whole_jobs() -> None:
    # Three jobs of 3 s on two nodes: 4.5 s of work for each, and yet one of them has two: 6 s.
    problem = jobs_on((NodeGroup(2, 1.0),), 3.0, 3.0, 3.0)
    assert area(problem) == 5.0
    assert last_bound(problem, 5.0) == 6.0


def test_a_long_job_counts_for_more_than_its_time() -> None:
    # Five of 4 s and one of 2 s on three nodes: 22 / 3 s of work. In 7 s a node serves one job of 4 s and no more than
    # 2 s besides: three of the five. In 8 s it serves two.
    problem = jobs_on((NodeGroup(3, 1.0),), 4.0, 4.0, 4.0, 4.0, 4.0, 2.0)
    assert is_excluded(problem, 7)
    assert not is_excluded(problem, 8)


def test_slow_processors_serve_who_has_the_time() -> None:
    # Two jobs of 3 s, 6 s on the slow node: within 5 s both need the fast one, in turn. By 6 s each may have a node.
    problem = jobs_on((NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 3.0, 3.0)
    assert is_excluded(problem, 5)
    assert not is_excluded(problem, 6)
    # Three of them: within 6 s the fast node serves two and the slow one one. 5 s or less are one job fewer.
    assert last_bound(jobs_on((NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 3.0, 3.0, 3.0), 4.0) == 6.0


def test_every_task_needs_a_processor_of_its_own() -> None:
    # Two tasks each: of three nodes no two serve more than three jobs of 3 s in 5 s, where six tasks ask.
    assert is_excluded(jobs_on((NodeGroup(3, 1.0),), 3.0, 3.0, 3.0, tasks=2), 5)
    assert not is_excluded(jobs_on((NodeGroup(3, 1.0),), 3.0, 3.0, 3.0, tasks=2), 6)


def test_a_moldable_job_asks_for_the_least_of_its_shapes() -> None:
    # On two nodes within 5 s: two of 3 s take one node each, a third none. As one task of 2 s it fits behind one.
    jobs = (Job("J0", 1, 3.0), Job("J1", 1, 3.0), Job("J2", 2, 3.0))
    platform = Platform((Cluster("C", (NodeGroup(2, 1.0),), 1.0),))
    assert is_excluded(discretise(Instance(platform, jobs), 1.0), 5)
    shaped = jobs[2].replace(shapes=(Shape(1, 2.0),))
    assert not is_excluded(discretise(Instance(platform, (*jobs[:2], shaped)), 1.0), 5)


def test_arrivals_leave_no_time_before_the_first() -> None:
    # All arrive at 10 s: 10 + 6 s, as above. One that arrives at 14 s and takes 3 s ends at 17 s at the earliest.
    platform = Platform((Cluster("C", (NodeGroup(2, 1.0),), 1.0),))
    late = tuple(Job(f"J{i}", 1, 3.0, arrival=10.0) for i in range(3))
    assert last_bound(discretise(Instance(platform, late), 1.0), 13.0) == 16.0
    later = (*late, Job("J3", 1, 3.0, arrival=14.0))
    assert last_bound(discretise(Instance(platform, later), 1.0), 16.0) == 17.0


@LAW
@given(slotted_instances(TINY))
def test_no_bound_is_above_the_optimum(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    last_end = round((brute_force_oas(instance, slot).objective + instance.origin) / slot)
    assert last_bound(problem, 0.0) <= last_end
    assert BOUNDS["best"].of_ends(problem, math.inf) <= last_end


@pytest.mark.parametrize(("seed", "least"), [(2, 63), (5, 68)])
def test_narrow_jobs_are_proven(seed: int, least: int) -> None:
    # By area 61 and 65; there are schedules of 63 and 68 slots, which the portfolio finds.
    instance = coalloc.generate("thesis-oas", seed=seed, jobs=20, max_tasks=2)
    slot = 0.05 * instance.mean_base_time
    problem = discretise(instance, slot)
    assert last_bound(problem, area(problem)) == least


def test_it_asks_in_slots_alone_and_stops_at_the_target_and_the_deadline() -> None:
    problem = jobs_on((NodeGroup(2, 1.0),), 3.0, 3.0, 3.0)
    assert not may_ask(discretise(problem.instance, None), 9.0)
    assert may_ask(problem, 9.0)
    assert not may_ask(problem, 1e7)
    assert list(excluding(problem, 5.0, 5.0)) == []
    assert list(excluding(problem, 5.0, 9.0, time.perf_counter())) == []
