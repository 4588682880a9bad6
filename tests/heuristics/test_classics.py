"""List policies by hand: who starts when, on which nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.testing.small import small_instance

PLATFORM = Platform(
    [
        Cluster("slow", [NodeGroup(2, power=0.5)], link_bandwidth=100.0),
        Cluster("fast", [NodeGroup(2, power=1.0)], link_bandwidth=100.0),
    ]
)


def starts(policy, jobs, nodes=4, **options):
    """Return the start of each job on one cluster of reference nodes."""
    platform = Platform([Cluster("C1", [NodeGroup(nodes, power=1.0)], link_bandwidth=0.0)])
    run = coalloc.simulate(Instance(platform, jobs), policy, **options)
    return {placement.job: placement.start for placement in run.schedule}


JOBS = [
    Job("J1", tasks=3, base_time=10.0),
    Job("J2", tasks=2, base_time=30.0),
    Job("J3", tasks=1, base_time=20.0),
]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # J1 takes 3 of 4 nodes; J2 does not fit and blocks J3 until 10.
        ("fcfs", {"J1": 0, "J2": 10, "J3": 10}),
        # J3 passes J2.
        ("fpfs", {"J1": 0, "J2": 10, "J3": 0}),
        # J3 and J2 first; J1 waits for three nodes until J3 (20) and J2 (30) have ended: at 20 two are free.
        ("sjf", {"J1": 30, "J2": 0, "J3": 0}),
        ("bjf", {"J1": 0, "J2": 10, "J3": 10}),
        # By estimates: J1, J3 fill the nodes; J2 at 10.
        ("spt", {"J1": 0, "J2": 10, "J3": 0}),
        # J2, J3 first: J1 as with sjf.
        ("lpt", {"J1": 30, "J2": 0, "J3": 0}),
    ],
)
def test_the_orders_by_hand(policy, expected):
    assert starts(policy, JOBS) == expected


def test_skipping_is_an_option_of_every_order():
    # Big jobs first: J1, then J2 does not fit, J3 does.
    assert starts("bjf", JOBS, skip=True) == {"J1": 0, "J2": 10, "J3": 0}
    assert starts("fcfs", JOBS, skip=True) == starts("fpfs", JOBS)


def test_times_are_those_of_the_estimates():
    jobs = [Job("J1", tasks=4, base_time=9.0, estimate=1.0), Job("J2", tasks=4, base_time=1.0, estimate=9.0)]
    assert starts("spt", jobs) == {"J1": 0, "J2": 9}


def test_equals_keep_the_order_of_arrival():
    jobs = [Job(f"J{i}", tasks=4, base_time=1.0, arrival=a) for i, a in enumerate([0.5, 0.25, 0.0])]
    assert starts("sjf", jobs) == {"J2": 0, "J1": 1, "J0": 2}


@pytest.mark.parametrize(
    ("allocation", "nodes"),
    [
        ("fastest-first", ("slow/0", "fast/0", "fast/1")),
        ("first-fit", ("slow/0", "slow/1", "fast/0")),
    ],
)
def test_the_allocation_rule_is_an_option(allocation, nodes):
    run = coalloc.simulate(Instance(PLATFORM, [Job("J1", tasks=3, base_time=1.0)]), "fcfs", allocation=allocation)
    assert run.schedule["J1"].nodes == nodes


def test_the_default_is_fastest_first():
    run = coalloc.simulate(Instance(PLATFORM, [Job("J1", tasks=1, base_time=1.0)]), "fcfs")
    assert run.schedule["J1"].nodes == ("fast/0",)


def test_within_a_cluster_nobody_is_coallocated():
    # J1 takes the fast cluster, J2 the slow one: with platform scope J2 would wait for nothing either, but
    # J3 (two tasks) would be spread over one node of each once J4 has left a gap.
    jobs = [Job(f"J{i}", tasks=2, base_time=10.0) for i in (1, 2)] + [Job("J3", tasks=1, base_time=5.0)]
    run = coalloc.simulate(Instance(PLATFORM, jobs), "fcfs", scope="cluster")
    assert run.metrics["coallocated_share"] == 0.0
    assert {p.job: p.nodes for p in run.schedule} == {
        "J1": ("fast/0", "fast/1"),
        "J2": ("slow/0", "slow/1"),
        "J3": ("fast/0",),
    }


def test_a_job_that_no_cluster_holds_is_refused_at_once():
    with pytest.raises(CoallocError, match="'J1' has 3 tasks, but the largest cluster has 2 processors"):
        coalloc.simulate(Instance(PLATFORM, [Job("J1", tasks=3, base_time=1.0)]), "fcfs", scope="cluster")


@given(seed=st.integers(0, 10_000))
def test_fcfs_starts_in_order_of_arrival(seed):
    instance, _ = small_instance(seed)
    run = coalloc.simulate(instance, "fcfs")
    in_order = sorted(instance.jobs, key=lambda job: job.arrival)
    begun = [run.schedule[job.id].start for job in in_order]
    assert begun == sorted(begun)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "mesd", "oas"])
def test_what_a_cluster_has_of_a_resource_goes_to_its_fastest_nodes(policy):
    # 4 kW are enough for the four tasks, on the nodes of power 1: 100 s. On those listed first it would be 200 s.
    groups = [NodeGroup(4, power=0.5), NodeGroup(4, power=1.0)]
    platform = Platform([Cluster("C1", groups, link_bandwidth=125.0, resources={"kW": 4.0})])
    instance = Instance(platform, [Job("J1", 4, 100.0, task_resources={"kW": 1.0})])
    assert coalloc.simulate(instance, policy).schedule["J1"].end == 100.0


# A waits for P until 100 s, so that it arrives for the scheduler after B, whose own arrival is later than A's. H needs
# both nodes, and passes for neither: it waits until X ends.
LATE = [
    Job("P", 1, 100.0),
    Job("X", 1, 120.0),
    Job("A", 1, 9.0, after=["P"]),
    Job("B", 1, 10.0, arrival=50.0),
    Job("H", 2, 5.0, arrival=20.0),
]


@pytest.mark.parametrize(
    ("policy", "options", "first"),
    [
        ("fpfs", {}, "B"),
        ("pas", {"skip": True}, "B"),
        ("pas", {"selection": "fpfs"}, "B"),
        ("conservative", {"compression": "queue"}, "B"),
        ("easy", {}, "B"),
        ("easy", {"candidates": "fcfs"}, "B"),
        # By their estimates H is first, then A, then B: the head is H, and who passes it depends on the candidates.
        ("easy", {"queue_order": "spt"}, "A"),
        ("easy", {"queue_order": "spt", "candidates": "fcfs"}, "B"),
        # A and B have one task each: a tie, which the queue decides.
        ("easy", {"queue_order": "spt", "candidates": "sjf"}, "B"),
        ("node-list", {}, "B"),
    ],
)
def test_first_come_is_who_came_first_for_the_scheduler(policy, options, first):
    jobs = LATE[:-1] if policy == "node-list" else LATE  # H is too large for any node
    found = starts(policy, jobs, nodes=2, **options)
    assert min(("A", "B"), key=found.__getitem__) == first
    assert min(found["A"], found["B"]) == 100.0
