"""Positions of jobs of one task: the optimum by hand and by brute force, and what they are not for."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.solvers.bounds.position_assignment import positions
from coalloc.testing.brute_force import brute_force_oas

TWO_SPEEDS = Platform((Cluster("C1", (NodeGroup(2, 1.0), NodeGroup(1, 0.5)), 10.0),))


def found(jobs, objective="total-response-time", slot=None):
    return positions(Criterion.of(discretise(Instance(TWO_SPEEDS, jobs), slot), objective))


def test_the_longest_job_has_the_cheapest_position():
    # Positions cost 1 1 2 2 3 3 .. a second on the fast processors, 2 4 6 .. on the slow one: 1 1 2 2 2 3 against
    # 9 8 5 4 2 1: 9 + 8 + 2 * (5 + 4 + 2) + 3 * 1 = 42.
    jobs = [Job(f"J{d:g}", 1, d) for d in (1.0, 2.0, 4.0, 5.0, 8.0, 9.0)]
    assert found(jobs).cost == pytest.approx(42.0)
    result = coalloc.solve(Instance(TWO_SPEEDS, jobs), objective="total-response-time")
    assert (result.status, result.objective) == ("optimal", pytest.approx(42.0))


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("slot", [None, 2.0])
@pytest.mark.parametrize("name", ["total-response-time", "mean-wait"])
def test_positions_are_the_optimum(name, slot, share):
    # With a share of its own for one job durations are in no proportion.
    rng = np.random.default_rng(1)
    jobs = [Job(f"J{i}", 1, float(rng.integers(2, 12)), share if i == 1 else 1.0, arrival=4.0) for i in range(4)]
    instance = Instance(TWO_SPEEDS, jobs)
    best = brute_force_oas(instance, slot, name).objective
    result = coalloc.solve(instance, objective=name, slot=slot, time_limit=600.0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(best, abs=1e-9))
    assert coalloc.lower_bound(instance, name, slot=slot) == pytest.approx(best)


@pytest.mark.parametrize(
    ("changes", "objective"),
    [
        ({"tasks": 2}, "total-response-time"),
        ({"arrival": 1.0}, "total-response-time"),
        ({"weight": 2.0}, "total-weighted-response-time"),
        ({}, "mean-bounded-slowdown"),
    ],
)
def test_what_positions_are_not_for(changes, objective):
    jobs = [Job("A", 1, 3.0), Job("B", 1, 4.0).replace(**changes)]
    assert found(jobs, objective) is None
