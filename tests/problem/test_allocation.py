"""Node classes and allocation vectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, CoallocError, NodeGroup, Platform
from coalloc.problem.allocation import allocation_of, is_coallocated, node_classes, tasks_per_cluster
from tests.strategies import LAW, platforms

FAST, SLOW = NodeGroup(2, 1.0), NodeGroup(1, 0.5, cores=2)
# Processors: C1 has 0, 1 (fast), 2, 3 (the cores of one slow node), 4, 5 (fast again); C2 has 6, 7 (fast).
PLATFORM = Platform((Cluster("C1", (FAST, SLOW, FAST), 1.0), Cluster("C2", (FAST,), 1.0)))


def test_equal_nodes_of_one_cluster_are_one_class_even_in_two_groups():
    classes = node_classes(PLATFORM)
    assert [(c.cluster, c.processors, c.capacity, c.effective_power) for c in classes] == [
        (0, (0, 1, 4, 5), 4, 1.0),
        (0, (2, 3), 2, 0.5),
        (1, (6, 7), 2, 1.0),
    ]
    assert node_classes(PLATFORM, "cluster") == classes


def test_nodes_of_equal_power_but_other_watts_are_two_classes():
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 1.0, idle_watts=9.0)), 1.0),))
    assert len(node_classes(platform)) == 2


def test_with_scope_node_every_node_is_a_class():
    assert [c.processors for c in node_classes(PLATFORM, "node")] == [(0,), (1,), (2, 3), (4,), (5,), (6,), (7,)]


def test_an_unknown_scope_is_refused():
    with pytest.raises(CoallocError, match="platform, cluster, node"):
        node_classes(PLATFORM, "rack")


def test_counting_tasks():
    classes = node_classes(PLATFORM)
    assert allocation_of((0, 5, 3, 7), classes) == (2, 1, 1)
    assert tasks_per_cluster((2, 1, 1), classes, 2) == (3, 1)


@pytest.mark.parametrize(("tasks", "expected"), [((0, 3), False), ((1, 2), True), ((0, 0), False), ((1, 0, 1), True)])
def test_coallocation_is_two_clusters_or_more(tasks, expected):
    assert is_coallocated(tasks) is expected


@LAW
@given(platforms(max_cores=3), st.sampled_from(("platform", "cluster", "node")))
def test_classes_partition_the_processors(platform, scope):
    classes = node_classes(platform, scope)
    assert sorted(p for c in classes for p in c.processors) == list(range(platform.num_processors))
    everything = allocation_of(range(platform.num_processors), classes)
    assert everything == tuple(c.capacity for c in classes)
    per_cluster = tasks_per_cluster(everything, classes, len(platform.clusters))
    assert per_cluster == tuple(cluster.num_processors for cluster in platform.clusters)


@pytest.mark.parametrize(
    ("task_memory", "expected"),
    # A node of 2 cores and 1000 MB has enough for two tasks of 500 MB; with more each node is alone, in any group.
    [(500.0, [(0, 1, 2, 3), (4, 5)]), (501.0, [(0, 1), (2, 3), (4, 5)]), (0.0, [(0, 1, 2, 3), (4, 5)])],
)
def test_nodes_of_several_cores_that_may_lack_memory_are_classes_of_their_own(task_memory, expected):
    groups = (NodeGroup(2, 1.0, cores=2, memory=1000.0), NodeGroup(2, 1.0, memory=100.0))
    classes = node_classes(Platform((Cluster("C1", groups, 1.0),)), task_memory=task_memory)
    assert [c.processors for c in classes] == expected


@pytest.mark.parametrize(
    ("cores", "memory", "asked", "expected"),
    # 12 processors: by the memory of one node, three tasks of 333 MB, one of 501 MB, none of 1001 MB.
    [
        (4, 1000.0, 250.0, 12),
        (4, 1000.0, 333.0, 9),
        (4, 1000.0, 501.0, 3),
        (4, 1000.0, 1001.0, 0),
        (1, 1000.0, 1000.0, 12),
        (1, 1000.0, 1001.0, 0),
        (4, None, 1e9, 12),
        (4, 0.0, 0.0, 12),
    ],
)
def test_a_class_has_room_for_as_many_tasks_as_its_memory(cores, memory, asked, expected):
    group = NodeGroup(12 // cores, 1.0, cores=cores, memory=memory)
    (node_class,) = node_classes(Platform((Cluster("C1", (group,), 1.0),)))
    assert node_class.room(asked) == expected
