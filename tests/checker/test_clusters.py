"""Where the tasks of a job may be: features of nodes, and spreads over clusters."""

from __future__ import annotations

import pytest

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, Switch
from coalloc.schedule import Placement, Schedule


def racks(*rows: str) -> Platform:
    """Return racks R1, R2, ... of four nodes, each below a switch: row A or B of hall H, or D, which is no row."""
    clusters = [Cluster(f"R{n}", [NodeGroup(4, 1.0)], 100.0, switch=row) for n, row in enumerate(rows, start=1)]
    levels = {"H": "hall", "A": "row", "B": "row", "D": None}
    parents = {"H": "root", "A": "H", "B": "H", "D": "root"}
    return Platform(clusters, [Switch(name, parents[name], 100.0, level=level) for name, level in levels.items()])


def faults(nodes: list[str], **fields: object) -> list[str]:
    """Return the violations of a job of four tasks with these fields on these nodes of racks."""
    instance = Instance(racks("A", "A", "B", "D"), [Job("J1", 4, 10.0, **fields)])
    return [str(violation) for violation in check(instance, Schedule([Placement("J1", 0.0, 10.0, nodes)]))]


@pytest.mark.parametrize(
    ("fields", "nodes", "sentence"),
    [
        ({"max_clusters": 1}, ["R1/0-2", "R2/0"], "uses 2 clusters, at most 1 are allowed"),
        ({"max_clusters": 1}, ["R1/0-3"], None),
        ({"max_clusters": 2}, ["R1/0-2", "R2/0"], None),
        ({"min_tasks_per_cluster": 2}, ["R1/0-2", "R2/0"], "has 1 tasks in a cluster, at least 2 are required"),
        ({"min_tasks_per_cluster": 2}, ["R1/0-1", "R2/0-1"], None),
        ({"slices": 2}, ["R1/0-2", "R2/0"], "has 3 + 1 tasks in 2 clusters, not 2 equal slices"),
        ({"slices": 2}, ["R1/0-3"], "has 4 tasks in 1 clusters, not 2 equal slices"),
        ({"slices": 2}, ["R1/0-1", "R2/2-3"], None),
        ({"level": {"name": "row"}}, ["R1/0-1", "R2/0-1"], None),
        ({"level": {"name": "row"}}, ["R2/0-1", "R3/0-1"], "is not under one switch of the level row"),
        ({"level": {"name": "row"}}, ["R1/0-1", "R4/0-1"], "is not under one switch of the level row"),
        ({"level": {"name": "row"}}, ["R4/0-3"], "is not under one switch of the level row"),
        ({"level": {"name": "hall"}}, ["R2/0-1", "R3/0-1"], None),
        ({"level": {"name": "row", "required": False}}, ["R1/0-1", "R4/0-1"], None),
    ],
)
def test_spreads(fields, nodes, sentence):
    assert faults(nodes, **fields) == ([] if sentence is None else [f"spread: job J1 {sentence}"])


def test_a_node_needs_all_features_that_a_job_requires():
    groups = [NodeGroup(2, 1.0, features=["gpu"]), NodeGroup(2, 1.0, features=["gpu", "ssd"])]
    instance = Instance(Platform([Cluster("C1", groups, 0.0)]), [Job("J1", 2, 10.0, requires=["gpu", "ssd"])])
    assert check(instance, Schedule([Placement("J1", 0.0, 10.0, ["C1/2-3"])])) == []
    (violation,) = check(instance, Schedule([Placement("J1", 0.0, 10.0, ["C1/1-2"])]))
    assert (violation.rule, violation.where, violation.amount) == ("eligibility", "C1/1", 1)
