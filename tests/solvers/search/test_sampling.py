"""Sampling: never worse than its start, valid, repeatable, and better than any named order on an example."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Assignment, discretise
from coalloc.rules.serial_sgs import best_list_schedule, list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.bounds.area import area, efficiencies_at, level_costs
from coalloc.solvers.effort import Effort
from coalloc.solvers.search.growth import Growth
from coalloc.solvers.search.sampling import sample
from tests.small_instances import slotted_instances
from tests.strategies import LAW


def last_end(assignments: list[Assignment]) -> float:
    """Return the latest end, ticks."""
    return max((a.end for a in assignments), default=0.0)


def test_efficiency_is_the_least_cost_over_the_cost() -> None:
    # One fast node, one at half speed: the area LP prices a fast second at twice a slow one, so a job that only
    # computes is done as cheaply on either.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    jobs = tuple(Job(f"J{i}", 1, 10.0, processing_share=1.0) for i in range(6))
    problem = discretise(Instance(platform, jobs), None)
    assert efficiencies_at(level_costs(problem)) == [pytest.approx([1.0, 1.0], rel=1e-3) for _ in jobs]


def test_fast_nodes_are_left_to_those_that_gain_by_them() -> None:
    # J0 and J1 take 8 s fast; slow, J0 takes 8 / 0.5 = 16 s and J1, which hardly computes, 8.08 s: J0 fast, J1 slow.
    # The other way round it takes 16 s.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    jobs = (Job("J0", 1, 8.0, processing_share=1.0), Job("J1", 1, 8.0, processing_share=0.01))
    problem = discretise(Instance(platform, jobs), None)
    bad = [Assignment(j, 0.0, problem.allocations.mode(jobs[j], counts)) for j, counts in ((1, (1, 0)), (0, (0, 1)))]
    assert last_end(bad) == 16.0
    assert last_end(sample(Growth.priced(problem), bad, Effort(iterations=50, seed=0), lower_bound=area(problem))) < 9.0


@LAW
@given(slotted_instances())
def test_it_is_valid_no_worse_and_repeats(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    first = list_schedule(problem, range(len(problem.jobs)))
    bound = area(problem)
    told: list[list[Assignment]] = []
    growth = Growth.priced(problem)
    effort = Effort(iterations=20, seed=3, on_schedule=told.append)
    found = sample(growth, first, effort, lower_bound=bound)
    assert bound <= last_end(found) <= last_end(first)
    assert check(instance, schedule_of(problem, found)) == []
    assert [last_end(a) for a in told] == sorted({last_end(a) for a in told}, reverse=True)
    assert sample(growth, first, Effort(iterations=20, seed=3), lower_bound=bound) == found


def test_it_stops_at_the_target_and_the_deadline() -> None:
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),))
    jobs = tuple(Job(f"J{i}", 1, seconds) for i, seconds in enumerate((3.0, 3.0, 2.0, 2.0, 2.0)))
    problem = discretise(Instance(platform, jobs), None)
    first, growth = best_list_schedule(problem), Growth.priced(problem)
    for ended in (Effort(iterations=10**9, seed=0, target=7.0), Effort(iterations=10**9, seed=0, deadline=-math.inf)):
        assert sample(growth, first, ended, lower_bound=6.0) == first
    # 3 + 3 s on one node and 2 + 2 + 2 s on the other: once the blur puts a 3 behind two of the 2s.
    found = sample(growth, first, Effort(iterations=10**9, seed=0, target=6.0), lower_bound=6.0)
    assert last_end(found) == 6.0
