"""Where one job goes: each rule by hand."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc import Cluster, Job, NodeGroup, Platform
from coalloc.allocation import node_classes
from coalloc.rules.allocation_rules import ALLOCATION_RULES, RuleName, allocation_rule, allocator, filled

PLATFORM = Platform(
    [
        Cluster("A", [NodeGroup(3, power=0.5), NodeGroup(2, power=1.0)], link_bandwidth=1.0),
        Cluster("B", [NodeGroup(4, power=1.0)], link_bandwidth=1.0),
        Cluster("C", [NodeGroup(6, power=0.75)], link_bandwidth=1.0),
    ]
)
CLASSES = node_classes(PLATFORM)
"""A slow (3 at 0.5), A fast (2 at 1.0), B (4 at 1.0), C (6 at 0.75)."""


def of(tasks):
    return Job("J", tasks, 1.0)


def test_the_names_of_the_rules_are_their_type():
    assert tuple(ALLOCATION_RULES) == get_args(RuleName)


@pytest.mark.parametrize(
    ("rule", "tasks", "free", "expected"),
    [
        ("first-fit", 4, (3, 2, 4, 6), (3, 1, 0, 0)),
        ("fastest-first", 4, (3, 2, 4, 6), (0, 2, 2, 0)),
        ("fastest-first", 8, (3, 2, 4, 6), (0, 2, 4, 2)),
        # The two fast classes are equal: B has more free than A.
        ("best-processing", 4, (3, 2, 4, 6), (0, 0, 4, 0)),
        ("best-processing", 4, (3, 2, 1, 6), (0, 2, 1, 1)),
        # C has most free (6), then A (5), whose fast nodes come first.
        ("fewest-clusters", 6, (3, 2, 4, 6), (0, 0, 0, 6)),
        ("fewest-clusters", 9, (3, 2, 4, 6), (1, 2, 0, 6)),
        ("first-fit", 16, (3, 2, 4, 6), None),
        ("fastest-first", 3, (0, 1, 1, 0), None),
    ],
)
def test_the_rules_by_hand(rule, tasks, free, expected):
    assert allocation_rule(rule, CLASSES)(of(tasks), free) == expected


@pytest.mark.parametrize(
    ("rule", "tasks", "free", "expected"),
    [
        # Within one cluster: B is fastest where it holds the job; else C (0.75) beats A (0.5).
        ("fastest-first", 4, (3, 2, 4, 6), (0, 0, 4, 0)),
        ("fastest-first", 5, (3, 2, 4, 6), (0, 0, 0, 5)),
        ("fastest-first", 2, (3, 2, 1, 6), (0, 2, 0, 0)),
        ("fastest-first", 7, (3, 2, 4, 6), None),
    ],
)
def test_a_rule_within_one_cluster(rule, tasks, free, expected):
    assert allocation_rule(rule, CLASSES, "cluster")(of(tasks), free) == expected


def test_a_rule_within_one_node():
    platform = Platform([Cluster("A", [NodeGroup(2, power=0.5, cores=4), NodeGroup(1, power=1.0, cores=2)], 1.0)])
    choose = allocation_rule("fastest-first", node_classes(platform, "node"), "node")
    assert choose(of(2), (4, 4, 2)) == (0, 0, 2)
    assert choose(of(3), (2, 4, 2)) == (0, 3, 0)
    assert choose(of(3), (2, 2, 2)) is None


@given(
    rule=st.sampled_from(sorted(ALLOCATION_RULES)),
    scope=st.sampled_from(["platform", "cluster"]),
    tasks=st.integers(1, 15),
    free=st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4), st.integers(0, 6)),
)
def test_every_rule_finds_an_allocation_exactly_where_there_is_one(rule, scope, tasks, free):
    counts = allocation_rule(rule, CLASSES, scope)(of(tasks), free)
    room = sum(free) if scope == "platform" else max(free[0] + free[1], free[2], free[3])
    if counts is None:
        assert room < tasks
        return
    assert sum(counts) == tasks
    assert all(0 <= count <= limit for count, limit in zip(counts, free, strict=True))
    if scope == "cluster":
        assert sum([counts[0] + counts[1] > 0, counts[2] > 0, counts[3] > 0]) == 1


def test_an_order_that_is_too_short_does_not_fit():
    assert filled(3, (2, 2), [0]) is None
    assert filled(3, (2, 2), [1, 0]) == (1, 2)


def test_expected_times_are_those_of_the_slowest_node():
    # SP = 2 on A's slow nodes: 100 (0.6 * 2 + 0.4) = 160 s; on the fastest 100 s.
    rule = allocator("first-fit", CLASSES)
    job = Job("J1", tasks=4, base_time=100.0, processing_share=0.6)
    assert rule.time(job, (3, 1, 0, 0)) == pytest.approx(160.0)
    assert rule.time(job, (0, 2, 2, 0)) == rule.least_time(job) == 100.0
