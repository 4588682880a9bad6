"""Parallel generation: what starts when, by hand; every schedule valid and repeatable as a law."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.parallel_sgs import ParallelGeneration, PartialSchedule, Plan
from coalloc.rules.serial_sgs import FILLING_RULES, Generation
from coalloc.schedule import schedule_of
from tests.small_instances import slotted_instances
from tests.strategies import LAW

PLAN = Plan(order=(0, 1), threshold=0.0, relaxed=math.inf, latest=math.inf, rule=1)


def two_speeds() -> Problem:
    """Return two jobs of one task, 4 s and 8 s, on a fast node and one at half speed (8 s and 16 s)."""
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    return discretise(Instance(platform, (Job("J0", 1, 4.0), Job("J1", 1, 8.0))), None)


def ends(assignments: list[Assignment] | None) -> dict[int, float]:
    """Return the end of each job, s."""
    assert assignments is not None
    return {a.job: a.end for a in assignments}


def test_each_job_takes_its_most_efficient_level() -> None:
    # J0 prefers the slow node (8 s), J1 the fast one (8 s).
    generation = ParallelGeneration(Generation(two_speeds()), [[0.5, 1.0], [1.0, 0.5]])
    assert ends(generation.schedule(PLAN)) == {0: 8.0, 1: 8.0}


def test_a_job_waits_for_a_level_above_the_threshold() -> None:
    generation = ParallelGeneration(Generation(two_speeds()), [[1.0, 0.5], [1.0, 0.5]])
    # Fast 0..4, then fast 4..12, instead of slow 0..16.
    assert ends(generation.schedule(replace(PLAN, threshold=0.9))) == {0: 4.0, 1: 12.0}
    assert ends(generation.schedule(PLAN)) == {0: 4.0, 1: 16.0}
    # No level but the fastest may end after 12 s; or any level will do from the beginning.
    assert ends(generation.schedule(replace(PLAN, latest=12.0))) == {0: 4.0, 1: 12.0}
    assert ends(generation.schedule(replace(PLAN, threshold=0.9, relaxed=0.0))) == {0: 4.0, 1: 16.0}


def test_a_threshold_that_no_level_reaches_gives_way() -> None:
    generation = ParallelGeneration(Generation(two_speeds()), [[0.5, 0.4], [0.5, 0.4]])
    assert ends(generation.schedule(replace(PLAN, threshold=0.9))) == {0: 4.0, 1: 16.0}


def test_a_schedule_that_is_no_better_is_given_up() -> None:
    generation = ParallelGeneration(Generation(two_speeds()), [[0.5, 1.0], [1.0, 0.5]])
    assert generation.schedule(PLAN, before=8.0) is None
    assert generation.schedule(PLAN, before=8.1) is not None


def test_a_schedule_goes_on_by_another_plan_and_its_copy_does_not() -> None:
    # Up to 4 s only the fast node is used, by J0, 0..4; then by J1, 4..12. The copy shares
    # no state with what it was made of.
    problem = two_speeds()
    generation = ParallelGeneration(Generation(problem), [[1.0, 0.5], [1.0, 0.5]])
    partial = PartialSchedule(problem)
    assert generation.extend(partial, replace(PLAN, threshold=0.9), until=4.0)
    assert (partial.now, partial.waiting, ends(partial.assignments)) == (4.0, [1], {0: 4.0})
    twin = partial.copy()
    assert generation.extend(twin, PLAN)
    assert ends(twin.assignments) == {0: 4.0, 1: 12.0}
    assert (partial.waiting, ends(partial.assignments), partial.free) == ([1], {0: 4.0}, [1, 1])
    assert not generation.extend(partial, PLAN, before=12.0)


@LAW
@given(slotted_instances(), st.integers(0, 2**32 - 1), st.booleans())
def test_every_schedule_is_valid(drawn: tuple[Instance, float], seed: int, continuous: bool) -> None:
    instance, slot = drawn
    problem = discretise(instance, None if continuous else slot)
    rng = np.random.default_rng(seed)
    efficiencies = [rng.uniform(0.2, 1.0, len(levels)).tolist() for levels in problem.levels]
    plan = Plan(
        order=tuple(rng.permutation(len(problem.jobs)).tolist()),
        threshold=float(rng.uniform(0.0, 1.0)),
        relaxed=float(rng.uniform(0.0, 10.0)) * slot,
        latest=float(rng.uniform(0.0, 10.0)) * slot,
        rule=int(rng.integers(len(FILLING_RULES))),
    )
    found = ParallelGeneration(Generation(problem), efficiencies).schedule(plan)
    if found is not None:
        assert sorted(a.job for a in found) == list(range(len(problem.jobs)))
        assert check(instance, schedule_of(problem, found)) == []
