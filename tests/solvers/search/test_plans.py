"""Plans: what is efficient, by hand; those drawn at random leave fast nodes to the jobs that gain by them."""

from __future__ import annotations

import numpy as np
import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import discretise
from coalloc.solvers.bounds.area import area, efficiencies_at, level_costs
from coalloc.solvers.search.growth import Growth
from coalloc.solvers.search.plans import Planner


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
    growth, rng = Growth.priced(problem), np.random.default_rng(0)
    planner = Planner(problem, area(problem))
    begun = growth.begun(planner.begun(rng))
    parents = np.zeros(50, np.int64)
    plans, traits = planner.ways(begun.traits[:, parents], np.zeros(2), rng)
    assert growth.grown(begun, parents, plans, traits).ends.max(axis=1).min() < 9.0
