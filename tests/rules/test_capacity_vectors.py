"""Rooms: processors and memory as one vector, by hand."""

from __future__ import annotations

import math
from operator import sub

import pytest

from coalloc.instance import Cluster, Job, NodeGroup, Platform
from coalloc.problem.allocation import node_classes, stocks_of
from coalloc.rules.allocation_rules import allocator
from coalloc.rules.capacity_vectors import UNITS, CapacityVectors, capacity_vectors_of
from coalloc.rules.reservations import reservation

GROUPS = (NodeGroup(1, 1.0, cores=4, memory=1000.0), NodeGroup(2, 0.5, memory=300.0), NodeGroup(2, 0.25))
CLASSES = node_classes(Platform((Cluster("C", GROUPS, 1.0),)), task_memory=400.0)
VECTORS = capacity_vectors_of(CLASSES, 400.0)
"""A node of 4 cores and 1000 MB, whose tasks share that, two of one core and 300 MB, two without a limit."""


def job(tasks: int, memory: float | None) -> Job:
    return Job("J", tasks, 100.0, memory=memory)


def test_only_what_may_be_too_little_is_kept() -> None:
    assert VECTORS.shared == (0,)
    assert VECTORS.limits == pytest.approx((1000.0, 300.0, math.inf))
    assert not VECTORS.is_ample
    assert capacity_vectors_of(CLASSES, 250.0).is_ample
    assert capacity_vectors_of(CLASSES, 0.0) == CapacityVectors((math.inf,) * 3, ())


@pytest.mark.parametrize(
    ("memory", "expected"),
    # Of 4, 2 and 2 free processors: 1000 MB are for two tasks of 400 MB, three of 333 MB, four of 250 MB.
    [(400.0, (2, 0, 2)), (333.0, (3, 0, 2)), (300.0, (3, 2, 2)), (250.0, (4, 2, 2)), (None, (4, 2, 2))],
)
def test_how_many_tasks_fit(memory: float | None, expected: tuple[int, ...]) -> None:
    assert tuple(VECTORS.usable(job(1, memory), (4, 2, 2, UNITS))) == expected


def test_what_is_taken_can_be_taken_away_and_given_back() -> None:
    two = VECTORS.taken(job(2, 400.0), (2, 0, 0))
    left = tuple(a - b for a, b in zip((4, 2, 2, UNITS), two, strict=True))
    assert VECTORS.megabytes(left) == pytest.approx((200.0, 300.0, math.inf))
    assert tuple(VECTORS.usable(job(1, 201.0), left)) == (0, 2, 2)
    assert tuple(VECTORS.usable(job(1, 200.0), left)) == (1, 2, 2)
    assert VECTORS.taken(job(2, 400.0), (0, 0, 2)) == (0, 0, 2, 0)


def test_a_rule_chooses_where_there_is_memory() -> None:
    # The fastest node has memory for two of the three tasks; the small ones have too little.
    choose = allocator("fastest-first", CLASSES, vectors=VECTORS).choose
    taken = choose(job(3, 400.0), (4, 2, 2, UNITS))
    assert taken is not None
    assert taken[:3] == (2, 0, 1)
    assert taken[3] == pytest.approx(0.8 * UNITS)
    assert choose(job(5, 400.0), (4, 2, 2, UNITS)) is None


def test_a_reservation_waits_for_memory() -> None:
    # Two cores are free, with 200 MB; at 5 s a core comes without memory, at 7 s one with 400 MB.
    choose = allocator("fastest-first", CLASSES, vectors=VECTORS).choose
    released = [(5.0, (1, 0, 0, 0)), (7.0, VECTORS.taken(job(1, 400.0), (1, 0, 0)))]
    kept = reservation(job(1, 300.0), (2, 0, 0, UNITS // 5), released, choose)
    assert (kept.start, kept.extra[:3]) == (7.0, (3, 0, 0))


def test_a_pool_cuts_what_its_classes_have_together() -> None:
    # The second and third class are of one group: 3 processors of theirs are left. A job within a node sees each alone.
    pooled = capacity_vectors_of(CLASSES, 0.0, pools=[(1, 2)])
    assert pooled.full == (4,)
    assert tuple(pooled.usable(job(1, None), (4, 2, 2, 3))) == (4, 2, 1)
    assert tuple(pooled.usable(job(1, None), (4, 2, 2, -1))) == (4, 0, 0)
    assert pooled.taken(job(4, None), (1, 2, 1)) == (1, 2, 1, 3)
    alone = capacity_vectors_of(CLASSES, 0.0, pools=[(1, 2)], is_within_node=True)
    assert tuple(alone.usable(job(1, None), (4, 2, 2, 1))) == (4, 1, 1)


def test_memory_counts_before_a_pool() -> None:
    # The nodes of the second class have 300 MB: the last processor of the pool is one of the third class.
    pooled = capacity_vectors_of(CLASSES, 400.0, pools=[(1, 2)])
    assert pooled.full == (UNITS, 4)
    assert tuple(pooled.usable(job(1, 400.0), (4, 2, 2, UNITS, 1))) == (2, 0, 1)
    assert pooled.taken(job(1, 400.0), (0, 0, 1)) == (0, 0, 1, 0, 1)


def test_stocks_cut_what_is_free_and_are_units_of_the_room():
    # C1 has 4 licences for its two classes; the node of two cores has one GPU, that of one core has none.
    groups = [NodeGroup(3, 1.0), NodeGroup(1, 1.0, cores=2, resources={"gpus": 1.0})]
    platform = Platform([Cluster("C1", groups, 1.0, resources={"licences": 4.0})], resources={"watts": 10.0})
    classes = node_classes(platform, reserved=[{3}])
    stocks = stocks_of(platform, classes, ("gpus", "licences", "watts"), [3])
    vectors = capacity_vectors_of(classes, 0.0, stocks=stocks, resources=("gpus",))
    room = (3, 2, *vectors.full)
    # With 1 as a whole and 1 for each task there is enough for 3: those of the first class.
    taker = Job("J1", 2, 1.0, resources={"licences": 1.0}, task_resources={"licences": 1.0})
    assert vectors.usable(taker, room) == [3, 0]
    left = tuple(map(sub, room, vectors.taken(taker, (2, 0))))
    assert left[:2] == (1, 2)
    assert vectors.usable(taker, left) == [0, 0]
    assert vectors.usable(taker.replace(resources={}), left) == [1, 0]
    assert vectors.usable(Job("J2", 2, 1.0, task_resources={"gpus": 1.0}), room) == [0, 1]
    # Where tasks take nothing of it a stock cuts nothing, so that a job may be on the classes that it prefers.
    assert vectors.usable(Job("J5", 2, 1.0, resources={"licences": 1.0}), room) == [3, 2]
    # Of what the platform has there is enough for all tasks, or for none.
    assert vectors.usable(Job("J3", 2, 1.0, task_resources={"watts": 5.0}), room) == [3, 2]
    assert vectors.usable(Job("J4", 3, 1.0, task_resources={"watts": 5.0}), room) == [0, 0]


def test_what_nodes_and_groups_leave_is_cut_before_what_clusters_do():
    # Of the three nodes the first has no watts, and a window leaves one processor of the second group; the cluster has
    # licences for two tasks: there is room for two, whatever the names of the resources.
    first = NodeGroup(1, 1.0, cores=2, resources={"watts": 0.0})
    groups = [first, NodeGroup(2, 1.0, resources={"watts": 1.0}), NodeGroup(1, 0.5, resources={"watts": 1.0})]
    platform = Platform([Cluster("C1", groups, 1.0, resources={"licences": 2.0})])
    classes = node_classes(platform, reserved=[{0}])
    stocks = list(stocks_of(platform, classes, ("licences", "watts"), [0]))
    assert [stock.name for stock in stocks] == ["watts of C1/0", "licences of C1"]
    vectors = capacity_vectors_of(classes, 0.0, pools=[(1,)], stocks=stocks, resources=("watts",))
    taker = Job("J1", 2, 1.0, task_resources={"licences": 1.0, "watts": 1.0})
    assert vectors.usable(taker, (2, 2, 1, *vectors.full[:-1], 1)) == [0, 1, 1]
