"""The bound by mean busy times: by hand, below brute force as a law, and what a machine does at the least cost."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import Criterion, RegularObjective
from coalloc.problem import discretise
from coalloc.solvers.bounds.mean_busy_time import BusyTimes, HeldShare, MachineWork, busy_times_of, least_cost
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import equal_instances, slotted_instances
from tests.strategies import LAW

OBJECTIVES: tuple[str, ...] = (
    "total-response-time",
    "total-weighted-response-time",
    "mean-wait",
    "mean-bounded-slowdown",
)


def on_one_node(*jobs: Job, objective: str = "total-response-time") -> Criterion:
    """Return the criterion of jobs on one node in continuous time."""
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),))
    return Criterion.of(discretise(Instance(platform, jobs), None), objective)


def bound_of(criterion: Criterion) -> BusyTimes:
    """Return the bound once its LP is solved."""
    times = busy_times_of(criterion)
    assert times is not None
    for _ in times.improve([], math.inf):
        pass
    return times


def test_on_one_node_the_bound_is_the_optimum() -> None:
    # No two jobs fit together, so each is worth its duration; the shortest first: 2 + 5 + 9 = 16 s.
    times = bound_of(on_one_node(Job("J1", 1, 4.0), Job("J2", 1, 2.0), Job("J3", 1, 3.0)))
    assert times.bound == pytest.approx(16.0)
    assert times.values == pytest.approx([4.0, 2.0, 3.0])


def test_weights_change_the_order() -> None:
    # 4 s of weight 4 before 2 s of weight 1: 4 * 4 + 1 * 6 = 22; the other way round 2 + 4 * 6 = 26.
    jobs = (Job("J1", 1, 4.0, weight=4.0), Job("J2", 1, 2.0))
    assert bound_of(on_one_node(*jobs, objective="total-weighted-response-time")).bound == pytest.approx(22.0)


def test_a_release_is_waited_for() -> None:
    # J1 of 10 s is interrupted from 2 s on for J2 of 1 s: mean busy times of 5 + 9/11 of a second and 2.5 s.
    # J1: 2 s about 1 s and 8 s about 7 s: 5.8 s. So ends of 10.8 and 3 s at least; in truth 11 and 2 + 1 or 10 + 11.
    times = bound_of(on_one_node(Job("J1", 1, 10.0), Job("J2", 1, 1.0, arrival=2.0)))
    assert times.bound == pytest.approx(10.8 + 3.0)


def test_the_dearest_work_goes_first_on_what_is_free() -> None:
    # Half the machine is held until 4: 2 ticks of ratio 3 take until 4 (mean 2), 3 ticks of ratio 1 until 7 (mean 5.5).
    works = (MachineWork(3.0, 2.0), MachineWork(1.0, 3.0))
    assert least_cost(works, 0.0, [HeldShare(4.0, 0.5)]) == pytest.approx(3 * 2 * 2.0 + 1 * 3 * 5.5)
    # All of it is held until 1, and the dear work is there at 2 only: the cheap one first, 1..2 and 4..6.
    works = (MachineWork(3.0, 2.0, 2.0), MachineWork(1.0, 3.0))
    assert least_cost(works, 0.0, [HeldShare(1.0, 1.0)]) == pytest.approx(3 * 2 * 3.0 + 1 * (1.5 + 2 * 5.0))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=4))
def test_no_order_without_interruption_costs_less(jobs: list[tuple[int, int]]) -> None:
    works = sorted((MachineWork(float(ratio), float(ticks)) for ratio, ticks in jobs), key=lambda work: -work.ratio)

    def cost(order: tuple[MachineWork, ...]) -> float:
        ends = [sum(work.ticks for work in order[: i + 1]) for i in range(len(order))]
        return sum(work.ratio * work.ticks * (end - work.ticks / 2) for work, end in zip(order, ends, strict=True))

    assert least_cost(works, 0.0, ()) == pytest.approx(min(map(cost, permutations(works))))


def test_there_is_none_where_costs_are_no_ramps_or_do_not_rise() -> None:
    class Squares(RegularObjective):
        name = "squares"

        def cost(self, job: Job, start: float, end: float) -> float:
            return end * end

    criterion = on_one_node(Job("J1", 1, 4.0))
    assert busy_times_of(Criterion(criterion.problem, Squares())) is None
    assert busy_times_of(on_one_node(Job("J1", 1, 4.0), objective="weighted-tardiness")) is None  # no due date


@LAW
@given(slotted_instances() | equal_instances(), st.sampled_from(OBJECTIVES), st.booleans())
def test_it_is_a_bound(drawn: tuple[Instance, float], objective: str, is_slotted: bool) -> None:
    instance, slot = drawn[0], drawn[1] if is_slotted else None
    optimum = brute_force_oas(instance, slot, objective).objective
    criterion = Criterion.of(discretise(instance, slot), objective)
    assert criterion.reported(bound_of(criterion).bound) <= optimum * (1 + 1e-9) + 1e-9
