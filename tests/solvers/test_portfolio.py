"""The loop that runs the methods of a solve."""

from __future__ import annotations

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.solvers import portfolio


def test_it_ends_where_no_method_has_anything_left_to_do(monkeypatch):
    monkeypatch.setattr(portfolio, "METHODS", ())
    instance = Instance(Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 100.0)]), [Job("J1", 1, 10.0)])
    assert coalloc.solve(instance, time_limit=30.0).stopped_by == "work"  # not all of its time
