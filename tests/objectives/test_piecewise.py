"""Costs in pieces: their values, the ramps below them, and random step functions against brute force."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.extend import PiecewiseLinear, RegularObjective
from coalloc.objectives.piecewise import as_ramp, ramp_below
from coalloc.solvers.named_bounds import methods_of
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import SmallSize, small_instance

THREE_JOBS = SmallSize(max_jobs=3, max_processors=5, max_slots=8)


@st.composite
def functions(draw):
    """Return a function of whole ends and costs, some of them steps."""
    ends = sorted(draw(st.lists(st.integers(0, 20), min_size=1, max_size=6)))
    costs = sorted(draw(st.lists(st.integers(-5, 30), min_size=len(ends), max_size=len(ends))))
    slope = draw(st.sampled_from([0.0, 0.5, 3.0]))
    return PiecewiseLinear([(float(end), float(cost)) for end, cost in zip(ends, costs, strict=True)], slope)


def test_a_step_costs_no_more_until_its_end_is_past():
    cost = PiecewiseLinear([(10.0, 1.0), (20.0, 3.0), (20.0, 5.0)], slope_after=2.0)
    # Constant to 10 s, 0.2 a second to 20 s, then 2 more, and 2 a second.
    ends = (0.0, 10.0, 15.0, 20.0, math.nextafter(20.0, 30.0), 21.0)
    assert [cost.at(end) for end in ends] == pytest.approx([1.0, 1.0, 2.0, 3.0, 5.0, 7.0])


@pytest.mark.parametrize(
    ("points", "slope", "line"),
    [
        ([], 0.0, "must have at least one point"),
        ([(0.0, 0.0), (1.0, math.inf)], 0.0, "must be finite"),
        ([(1.0, 0.0), (0.0, 1.0)], 0.0, "neither ends nor costs"),
        ([(0.0, 1.0), (1.0, 0.0)], 0.0, "neither ends nor costs"),
        ([(0.0, 0.0)], -1.0, "neither ends nor costs"),
    ],
)
def test_what_is_no_such_function(points, slope, line):
    with pytest.raises(CoallocError, match=line):
        PiecewiseLinear(points, slope)


@given(functions(), st.integers(0, 25), st.integers(0, 25))
def test_ramps_are_equal_or_below(cost, first, more):
    last = float(first + more)
    ends = np.linspace(first, last + 0.0, 101)
    exact, below = as_ramp(cost, float(first)), ramp_below(cost, float(first), last)
    for end in ends.tolist():
        assert below.at(end) <= cost.at(end) + 1e-9
        if exact is not None:
            assert exact.at(end) == pytest.approx(cost.at(end), abs=1e-9)
    if exact is not None:
        assert exact.at(last + 100.0) == pytest.approx(cost.at(last + 100.0), abs=1e-9)
        assert below == exact
    assert below.at(float(first)) == pytest.approx(cost.at(float(first)), abs=1e-9)


def test_the_ramp_below_a_step_reaches_it_at_the_horizon():
    # From 10 s, where nothing is late, to 30 s, where it costs 4: 0.2 a second.
    late = PiecewiseLinear([(10.0, 0.0), (10.0, 4.0)])
    assert as_ramp(late, 5.0) is None
    assert ramp_below(late, 5.0, 30.0) == pytest.approx((0.0, 0.2, -2.0))
    assert ramp_below(late, 11.0, 30.0) == as_ramp(late, 11.0) == (4.0, 0.0, 4.0)


class Steps(RegularObjective):
    """Each job costs what its own function says, in pieces or not."""

    name = "steps"
    unit = "-"
    is_monotone = True

    def __init__(self, functions, aggregate="sum", in_pieces=True):
        self.functions, self.aggregate, self.in_pieces = functions, aggregate, in_pieces

    def cost(self, job, start, end):
        return self.functions[job.id].at(end)

    def pieces(self, job, duration):
        return self.functions[job.id] if self.in_pieces else None


def stepped(seed):
    """Return an instance, a slot, and a random step function for each job: to three steps, sometimes with slopes."""
    instance, slot = small_instance(seed, THREE_JOBS)
    rng = np.random.default_rng([seed, 7])
    found = {}
    for job in instance.jobs:
        ends = np.sort(job.arrival + job.base_time * rng.uniform(0.3, 4.0, int(rng.integers(1, 4)))).tolist()
        heights = [0.0, *np.cumsum(rng.integers(1, 6, len(ends))).tolist()]
        points = [
            point
            for end, pair in zip(ends, pairwise(heights), strict=True)
            for point in ((end, pair[0]), (end, pair[1]))
        ]
        found[job.id] = PiecewiseLinear(points, float(rng.choice([0.0, 0.01])))
    return instance, slot, found


@pytest.mark.parametrize("aggregate", ["sum", "max"])
@pytest.mark.parametrize("in_pieces", [True, False])
@pytest.mark.parametrize("slotted", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_steps_are_minimised(seed, slotted, in_pieces, aggregate):
    instance, slot, functions = stepped(seed)
    objective, asked = Steps(functions, aggregate, in_pieces), slot if slotted else None
    best = brute_force_oas(instance, asked, objective).objective
    result = coalloc.solve(instance, objective=objective, slot=asked, time_limit=600.0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    for method in methods_of(objective):
        assert coalloc.lower_bound(instance, objective, method, asked) <= best * (1.0 + 1e-6) + 1e-9


def queue():
    """Return three jobs of 10 s for one processor."""
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 10.0)])
    return Instance(platform, [Job(name, 1, 10.0) for name in ("J1", "J2", "J3")])


def test_steps_raise_the_bound_by_prices():
    # All are late after 10 s, at a cost of 1: two of the three. The horizon is 30 s: ramps are of 1 / 20 a second, and
    # ends at 10, 20 and 30 s cost 0, 0.5 and 1 by these. Each job alone costs nothing.
    late = dict.fromkeys(("J1", "J2", "J3"), PiecewiseLinear([(10.0, 0.0), (10.0, 1.0)]))
    assert coalloc.solve(queue(), objective=Steps(late)).objective == 2.0
    assert coalloc.lower_bound(queue(), Steps(late, in_pieces=False)) == 0.0
    assert 1.0 < coalloc.lower_bound(queue(), Steps(late)) <= 1.5


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_costs_alone_are_proved_in_continuous_time(aggregate):
    # Eight jobs, squared response times: neither slots nor pieces.
    class Squares(RegularObjective):
        name = "squares"

        def cost(self, job, start, end):
            return (end - job.arrival) ** 2

    objective = Squares()
    objective.aggregate = aggregate
    result = coalloc.solve(coalloc.generate("thesis-oas", seed=0, jobs=8), objective=objective, time_limit=600.0)
    assert (result.status, result.options.threads) == ("optimal", 1)


@pytest.mark.parametrize("call", [coalloc.solve, coalloc.lower_bound])
def test_pieces_that_are_not_the_cost(call):
    class Wrong(Steps):
        def cost(self, job, start, end):
            return 0.0 if end <= 15.0 else 1.0

    late = Wrong(dict.fromkeys(("J1", "J2", "J3"), PiecewiseLinear([(20.0, 0.0), (20.0, 1.0)])))
    line = r"^objective 'steps': job 'J1' costs 1 with end 1[5-9](\.\d+)? s, but its pieces say 0$"
    with pytest.raises(CoallocError, match=line):
        call(queue(), objective=late)
