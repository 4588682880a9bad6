"""Sampling in stages: what survives a stage by hand, and never worse than its start, valid, repeatable as laws."""

from __future__ import annotations

import pytest
from hypothesis import given

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.generation import list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.feasible_set import FeasibleSets
from coalloc.solvers.staged_sampling import sample_in_stages
from tests.small_instances import slotted_instances
from tests.strategies import LAW


def last_end(assignments: list[Assignment]) -> float:
    """Return the latest end, ticks."""
    return max((a.end for a in assignments), default=0.0)


def perfect_pairs() -> Problem:
    """Return eight jobs that fill five nodes without a gap, 40 s long, if 4 and 1 or 3 and 2 tasks go together."""
    platform = Platform((Cluster("C1", (NodeGroup(5, 1.0),), 1000.0),))
    return discretise(Instance(platform, tuple(Job(f"J{i}", 1 + i % 4, 10.0) for i in range(8))), None)


def test_worths_of_the_bound_add_up_to_it() -> None:
    # No tick is worth more than 1, and together the jobs are worth the bound: 2 * (1 + 2 + 3 + 4) * 10 s / 5 nodes.
    sets = FeasibleSets(perfect_pairs())
    assert sets.worths == [0.0] * 8
    assert sets.bound() == pytest.approx(40.0)
    assert sum(sets.worths) == pytest.approx(40.0)
    assert all(worth <= 10.0 + 1e-6 for worth in sets.worths)  # alone, a job runs 10 s


def test_pairs_that_waste_nothing_survive() -> None:
    problem = perfect_pairs()
    first = list_schedule(problem, range(8))  # 1 + 2, 3, 4 + 1, 2 + 3, 4: five times 10 s
    assert last_end(first) == 50.0
    sets = FeasibleSets(problem)
    bound = sets.bound()
    found = sample_in_stages(problem, first, lower_bound=bound, worths=sets.worths, rounds=3, seed=0)
    assert last_end(found) == 40.0


def test_nothing_to_schedule_and_nothing_to_gain() -> None:
    empty = discretise(Instance(perfect_pairs().instance.platform, ()), None)
    assert sample_in_stages(empty, [], lower_bound=0.0, worths=[], rounds=3, seed=0) == []
    problem = perfect_pairs()
    first = list_schedule(problem, range(8))
    known = {"lower_bound": 40.0, "worths": [0.0] * 8, "seed": 0}
    assert sample_in_stages(problem, first, rounds=0, **known) == first  # type: ignore[arg-type]
    assert sample_in_stages(problem, first, rounds=3, target=50.0, **known) == first  # type: ignore[arg-type]


@LAW
@given(slotted_instances())
def test_it_is_valid_no_worse_and_repeats(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    first = list_schedule(problem, range(len(problem.jobs)))
    sets = FeasibleSets(problem)
    bound = sets.bound()
    told: list[list[Assignment]] = []

    def again(heard: list[list[Assignment]]) -> list[Assignment]:
        return sample_in_stages(
            problem, first, lower_bound=bound, worths=sets.worths, rounds=2, seed=3, on_schedule=heard.append
        )

    found = again(told)
    assert bound <= last_end(found) <= last_end(first)
    assert check(instance, schedule_of(problem, found)) == []
    assert [last_end(a) for a in told] == sorted({last_end(a) for a in told}, reverse=True)
    assert again([]) == found
