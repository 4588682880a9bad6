"""Where one job goes: each rule by hand."""

import random
from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc import Cluster, Job, NodeGroup, Platform
from coalloc.problem.allocation import node_classes, stocks_of
from coalloc.rules.allocation_rules import ALLOCATION_RULES, RuleName, allocation_rule, allocator, filled, filling_order
from coalloc.rules.capacity_vectors import capacity_vectors_of
from coalloc.rules.mesd import mesd_allocation, where_usable

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


# ------------------------------------------------------------------------------ too little of a cluster's resource


def scarce(rng):
    """Return clusters that share kW among classes of different power, a job that takes kW, and what is free.

    All powers of all classes differ, so that every rule ranks them in one way.
    """
    powers = rng.sample([0.125 * k for k in range(1, 9)], 6)
    sizes = [rng.choice(((2, 2), (1, 3), (3, 1, 2))) for _ in range(2)]
    clusters = []
    for name, counts in zip("AB", sizes, strict=True):
        groups = [NodeGroup(count, power=powers.pop()) for count in counts]
        clusters.append(Cluster(name, groups, 1.0, resources={"kW": float(rng.randint(1, 6))}))
    job = Job("J", rng.randint(1, 5), 1.0, resources={"kW": rng.choice((0.0, 1.0))}, task_resources={"kW": 1.0})
    free = [rng.randint(0, count) for counts in sizes for count in counts]
    return Platform(clusters), job, free


def ways(platform, classes, job, free):
    """Return how many of a job's tasks may be on each class, in all ways in which no cluster gives more than it has."""
    limits = [cluster.resources["kW"] for cluster in platform.clusters]
    whole = job.resources.get("kW", 0.0)
    found = []
    for counts in product(*(range(number + 1) for number in free)):
        inside = in_clusters(counts, classes)
        if all(whole * (tasks > 0) + tasks <= limit for tasks, limit in zip(inside, limits, strict=True)):
            found.append(counts)
    return found


def in_clusters(counts, classes):
    """Return the tasks in each of two clusters."""
    return [sum(n for n, c in zip(counts, classes, strict=True) if c.cluster == k) for k in range(2)]


def by_definition(rule, scope, platform, job, free):
    """Return where a rule puts a job: each class in its order is filled as far as any way to place the job allows."""
    classes = node_classes(platform)
    allowed = ways(platform, classes, job, free)
    most = [max(inside) for inside in zip(*(in_clusters(way, classes) for way in allowed), strict=True)]

    def rank(g):
        power, cluster = classes[g].effective_power, classes[g].cluster
        return {"first-fit": (g,), "fewest-clusters": (-most[cluster], cluster, -power)}.get(rule, (-power,))

    order = sorted(range(len(classes)), key=rank)
    whole = [way for way in allowed if sum(way) == job.tasks]
    parts = [whole]
    if scope == "cluster":
        parts = [[way for way in whole if in_clusters(way, classes)[k] == job.tasks] for k in range(2)]
    filled_first = [max(part, key=lambda way: [way[g] for g in order]) for part in parts if part]
    powers = [min(c.effective_power for n, c in zip(way, classes, strict=True) if n) for way in filled_first]
    return filled_first[powers.index(max(powers))] if powers else None


@pytest.mark.parametrize("rule", ALLOCATION_RULES)
@pytest.mark.parametrize("scope", ["platform", "cluster"])
def test_what_a_cluster_has_goes_to_the_classes_that_the_rule_fills_first(rule, scope):
    rng, num_scarce = random.Random(1), 0
    for _ in range(200):
        platform, job, free = scarce(rng)
        classes = node_classes(platform)
        vectors = capacity_vectors_of(classes, 0.0, stocks=stocks_of(platform, classes, ("kW",), []), resources=())
        found = allocator(rule, classes, scope, vectors).choose(job, (*free, *vectors.full))
        expected = by_definition(rule, scope, platform, job, free)
        assert (found and found[: len(classes)]) == expected
        num_scarce += expected is not None and expected != allocation_rule(rule, classes, scope)(job, free)
    assert num_scarce > 5


def test_mesd_gives_the_resource_of_a_cluster_to_its_fastest_nodes():
    # A has kW for two tasks: for its two nodes of power 0.5, not for those that the platform lists first. Step 2 moves
    # tasks of B, which is faster, to A only as far as A has kW.
    groups = [NodeGroup(2, power=0.25), NodeGroup(2, power=0.5)]
    clusters = [
        Cluster("A", groups, 1.0, resources={"kW": 2.0}),
        Cluster("B", [NodeGroup(3, power=1.0)], 1.0, resources={"kW": 9.0}),
    ]
    platform = Platform(clusters)
    classes = node_classes(platform)
    vectors = capacity_vectors_of(classes, 0.0, stocks=stocks_of(platform, classes, ("kW",), []), resources=())
    choose = where_usable(mesd_allocation(classes), vectors.usable, filling_order("fastest-first", classes))
    expected = {2: (0, 0, 2), 4: (0, 2, 2), 5: (0, 2, 3), 6: None}
    room = (2, 2, 3, *vectors.full)
    assert {tasks: choose(Job("J", tasks, 1.0, task_resources={"kW": 1.0}), room) for tasks in expected} == expected
