"""Branching on levels: by hand, between the LP and the optimum as a law, and within its limits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Problem, Rounding, discretise
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import TINY, slotted_instances
from tests.strategies import LAW


def fast_and_slow(*seconds: float, slot: float | None = None) -> Problem:
    """Return jobs of one task on a fast node and one at half speed."""
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    jobs = tuple(Job(f"J{i}", 1, time) for i, time in enumerate(seconds))
    return discretise(Instance(platform, jobs), slot)


def test_a_job_does_not_run_at_two_speeds() -> None:
    # LP: {J0 fast, J1 slow} for 80/3 s and {J0 slow, J1 fast} for 20/3 s do 30 s and 20 s of work: 100/3 s. With one
    # level each: both fast 50; J0 slow 60; J1 slow max(30, 40) = 40.
    sets = FeasibleSets(fast_and_slow(30.0, 20.0))
    assert sets.bound() == pytest.approx(100.0 / 3.0)
    assert sets.branch(max_nodes=100) == pytest.approx(40.0)


def test_every_better_bound_is_told_and_the_target_ends_it() -> None:
    sets, told = FeasibleSets(fast_and_slow(30.0, 20.0, slot=1.0)), list[float]()
    assert sets.bound(on_bound=told.append) == 34.0
    assert sets.branch(max_nodes=100, target=36.0, on_bound=told.append) >= 36.0
    assert told == sorted(set(told))


@pytest.mark.parametrize("limits", [{"max_nodes": 1}, {"max_nodes": 100, "time_limit": 0.0}])
def test_without_nodes_or_time_the_bound_stays(limits: dict[str, float]) -> None:
    sets = FeasibleSets(fast_and_slow(30.0, 20.0))
    assert sets.branch(max_nodes=100) == sets.best  # before the LPs there is nothing to branch on
    lp = sets.bound()
    assert sets.branch(**limits) == lp  # type: ignore[arg-type]


@LAW
@given(slotted_instances(TINY), st.sampled_from(["up", "down"]))
def test_the_bound_is_between_the_lp_and_the_slotted_optimum(drawn: tuple[Instance, float], rounding: Rounding) -> None:
    instance, slot = drawn
    last_end = round((brute_force_oas(instance, slot, rounding=rounding).objective + instance.origin) / slot)
    sets = FeasibleSets(discretise(instance, slot, rounding))
    lp = sets.bound()
    assert lp <= sets.branch(max_nodes=50) <= last_end


@LAW
@given(slotted_instances(TINY))
def test_the_bound_is_at_most_the_continuous_optimum(drawn: tuple[Instance, float]) -> None:
    instance, _ = drawn
    last_end = brute_force_oas(instance, None).objective + instance.origin
    sets = FeasibleSets(discretise(instance, None))
    lp = sets.bound()
    assert lp <= sets.branch(max_nodes=50) <= last_end * (1 + 1e-9)


@LAW
@given(slotted_instances())
def test_it_repeats(drawn: tuple[Instance, float]) -> None:
    instance, _ = drawn

    def found() -> list[float]:
        sets, told = FeasibleSets(discretise(instance, None)), list[float]()
        sets.bound(on_bound=told.append)
        sets.branch(max_nodes=20, target=math.inf, on_bound=told.append)
        return told

    assert found() == found()
