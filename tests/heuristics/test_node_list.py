"""The baselines of PCBE: jobs in order, each on the first node with room."""

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform

SMALL = NodeGroup(1, power=1.0, cores=2, idle_watts=1.0, static_watts=30.0, core_watts=5.0)
LARGE = NodeGroup(1, power=1.5, cores=4, idle_watts=1.0, static_watts=10.0, core_watts=5.0)
FAST = NodeGroup(1, power=2.0, cores=1, idle_watts=1.0, static_watts=20.0, core_watts=25.0)
"""With all cores busy they draw 40, 30 and 45 W."""


def started(groups, jobs, **options):
    """Return the node on which each job runs, and its start, by id."""
    instance = Instance(Platform((Cluster("C1", groups, 0.0),)), jobs)
    run = coalloc.simulate(instance, "node-list", **options)
    return {p.job: (p.nodes[0].partition(".")[0], p.start) for p in run.schedule}


@pytest.mark.parametrize(
    ("order", "node"), [("first", "C1/0"), ("high-flops", "C1/2"), ("low-power", "C1/1"), ("high-power", "C1/2")]
)
def test_the_order_of_nodes_decides(order, node):
    assert started((SMALL, LARGE, FAST), (Job("A", 1, 1.0),), node_order=order) == {"A": (node, 0.0)}


@pytest.mark.parametrize(("order", "node"), [("high-flops", "C1/1"), ("high-power", "C1/0"), ("low-power", "C1/1")])
def test_the_next_node_with_room_is_taken(order, node):
    # FAST has one core: two tasks go to the second fastest, second most or again least power.
    assert started((SMALL, LARGE, FAST), (Job("A", 2, 1.0),), node_order=order) == {"A": (node, 0.0)}


def test_the_first_node_is_that_of_the_first_name_as_a_text():
    group = NodeGroup(12, power=1.0)
    nodes = [node for node, _ in started((group,), tuple(Job(f"J{i}", 1, 1.0) for i in range(4))).values()]
    assert nodes == ["C1/0", "C1/1", "C1/10", "C1/11"]
    by_speed = started((group,), tuple(Job(f"J{i}", 1, 1.0) for i in range(4)), node_order="high-flops")
    assert [node for node, _ in by_speed.values()] == ["C1/0", "C1/1", "C1/2", "C1/3"]  # equal ones as listed


JOBS = (
    Job("A", 1, 10.0),
    Job("B", 2, 5.0, arrival=1.0),
    Job("C", 1, 3.0, arrival=2.0, estimate=6.0),
    Job("D", 1, 2.0, arrival=2.0),
)
"""On one node of two cores B never fits beside A; by their estimates D is shortest, then B, then C."""


def test_the_first_job_that_does_not_fit_blocks_the_others():
    starts = {job: start for job, (_, start) in started((SMALL,), JOBS).items()}
    assert starts == {"A": 0.0, "B": 10.0, "C": 15.0, "D": 15.0}


def test_shortest_is_by_the_estimates_and_blocks_too():
    # At 2 s D is first and starts; B is next and blocks C until A ends.
    starts = {job: start for job, (_, start) in started((SMALL,), JOBS, job_order="shortest").items()}
    assert starts == {"A": 0.0, "B": 10.0, "C": 15.0, "D": 2.0}


def test_orders_by_power_need_watts():
    group = NodeGroup(2, power=1.0)
    assert started((group,), (Job("A", 1, 1.0),), node_order="high-flops") == {"A": ("C1/0", 0.0)}
    with pytest.raises(CoallocError, match="has no idle_watts, static_watts, core_watts"):
        started((group,), (Job("A", 1, 1.0),), node_order="low-power")


def test_orders_are_those_of_lists():
    with pytest.raises(CoallocError) as error:
        started((SMALL,), JOBS, job_order="low-first", node_order="second")
    assert str(error.value).splitlines() == [
        "job_order of policy 'node-list' must be one of first, shortest, got 'low-first' (did you mean 'first'?)",
        "node_order of policy 'node-list' must be one of first, high-flops, low-power, high-power, got 'second'",
    ]
