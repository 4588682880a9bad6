"""Schedules for the tests of the checker."""

from __future__ import annotations

import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.schedule import Placement, Schedule


@pytest.fixture
def mesd() -> tuple[Instance, Schedule]:
    """Thesis 3.3.4 as corrected in errata 15: N1, N2 of power 0.75, N3 0.5, N4 0.25, N5 0.15."""
    groups = (NodeGroup(2, 0.75), NodeGroup(1, 0.5), NodeGroup(1, 0.25), NodeGroup(1, 0.15))
    jobs = (Job("J1", 2, 100.0, 0.5), Job("J2", 3, 50.0, 0.7), Job("J3", 2, 75.0, 0.5), Job("J4", 2, 100.0, 0.7))
    first = 100.0 * (0.5 / 0.75 + 0.5)  # 116.667
    fourth = first + 100.0 * (0.7 / 0.75 + 0.3)  # 116.667 + 123.333 = 240
    placements = (
        Placement("J1", 0.0, first, ("N/0", "N/1")),
        Placement("J3", 0.0, 187.5, ("N/2", "N/3")),  # 75 * (0.5/0.25 + 0.5)
        Placement("J4", first, fourth, ("N/0", "N/1")),
        Placement("J2", 187.5, 187.5 + 50.0 * (0.7 / 0.15 + 0.3), ("N/2", "N/3", "N/4")),  # 435.833
    )
    return Instance(Platform((Cluster("N", groups, 0.0),)), jobs), Schedule(placements)


@pytest.fixture
def grid() -> tuple[Instance, Schedule]:
    """Two clusters with links of 15 MB/s; J1 and J2 are co-allocated, one after the other, at 13.33 MB/s each.

    Two of four tasks on each side: 2 * 10 * 2/3 = 13.33 MB/s. All nodes are reference nodes, C3 is slower and idle.
    """
    platform = Platform(
        (
            Cluster("C1", (NodeGroup(4, 1.0),), 15.0),
            Cluster("C2", (NodeGroup(4, 1.0),), 15.0),
            Cluster("C3", (NodeGroup(4, 0.5),), 15.0),
        )
    )
    jobs = (
        Job("J1", 4, 100.0, 0.7, 10.0),
        Job("J2", 4, 100.0, 0.7, 10.0, arrival=50.0),
        Job("J3", 2, 30.0, arrival=20.0),
    )
    placements = (
        Placement("J1", 0.0, 100.0, ("C1/0", "C1/1", "C2/0", "C2/1")),
        Placement("J2", 100.0, 200.0, ("C1/2", "C1/3", "C2/2", "C2/3")),
        Placement("J3", 20.0, 50.0, ("C1/2", "C1/3")),
    )
    return Instance(platform, jobs), Schedule(placements)
