"""PCBE on platforms of one and two nodes, where every estimate can be written down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.heuristics.node_list import NodeList
from coalloc.heuristics.pcbe import Pcbe
from tests.strategies import LAW

SLOW = NodeGroup(1, power=1.0, cores=2, idle_watts=1.0, static_watts=10.0, core_watts=5.0)
FAST = NodeGroup(1, power=2.0, cores=2, idle_watts=1.0, static_watts=20.0, core_watts=20.0)


def platform(*groups):
    return Platform((Cluster("C1", groups, 0.0),))


def started(groups, jobs, **options):
    """Return the node on which each job runs, and its start, by id."""
    run = coalloc.simulate(Instance(platform(*groups), jobs), "pcbe", **options)
    return {p.job: (p.nodes[0].partition(".")[0], p.start) for p in run.schedule}


@pytest.mark.parametrize(
    ("criterion", "node_order", "node"),
    [
        # Slow: 10 s * (2 * 5 + 10) W = 200 J, 2000 J s. Fast: 5 s * (2 * 20 + 20) W = 300 J, 1500 J s.
        ("energy", "low-first", "C1/0"),
        ("energy", "high-first", "C1/1"),
        ("edp", "low-first", "C1/1"),
        ("edp", "high-first", "C1/0"),
    ],
)
def test_a_job_takes_the_node_of_least_or_most_consumption(criterion, node_order, node):
    options = {"criterion": criterion, "node_order": node_order}
    assert started((SLOW, FAST), (Job("A", 2, 10.0),), **options) == {"A": (node, 0.0)}


def test_estimates_decide_not_run_times():
    # EDP of A by its estimate of 10 s as above; its base time plays no part.
    assert started((SLOW, FAST), (Job("A", 2, 1.0, estimate=10.0),), criterion="edp") == {"A": ("C1/1", 0.0)}


@pytest.mark.parametrize(("static_watts", "node"), [(20.0, "C1/0"), (19.9, "C1/1")])
def test_static_watts_are_shared_with_the_jobs_that_run_there(static_watts, node):
    # A (6 joules expected) is first, and the slow node too small for it. Then B, of one task, slow:
    # 10 s * (5 + 10) W = 150 J. Fast, with A there: 5 s * (20 + 20/2) W = 150 J too, and the first node wins.
    slow, fast = SLOW.replace(cores=1), FAST.replace(cores=3, static_watts=static_watts)
    jobs = (Job("A", 2, 10.0, energy_estimate=3.0), Job("B", 1, 10.0, energy_estimate=9.0))
    assert started((slow, fast), jobs)["B"] == (node, 0.0)


def test_equal_nodes_are_taken_in_the_order_of_the_platform():
    # Energy times delay is the same at twice the clock if watts follow its square: 0.7 and 1.4 are not exact in binary.
    slow = SLOW.replace(power=0.7, static_watts=0.1, core_watts=0.3)
    fast = SLOW.replace(power=1.4, static_watts=0.4, core_watts=1.2)
    for groups in ((slow, fast), (fast, slow)):
        assert started(groups, (Job("A", 2, 10.0),), criterion="edp") == {"A": ("C1/0", 0.0)}


WAITING = (
    Job("A", 2, 10.0),
    Job("B", 2, 4.0, arrival=1.0, energy_estimate=5.0),
    Job("C", 1, 8.0, arrival=8.0, energy_estimate=9.0),
)
"""On one node of two cores B and C wait for A; B is expected to take 10 J and 40 J s, C 9 J and 72 J s."""


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, "C"),
        ({"job_order": "high-first"}, "B"),
        ({"criterion": "edp"}, "B"),
        ({"criterion": "edp", "job_order": "high-first"}, "C"),
        ({"starvation": 9.0}, "B"),  # at 10 s B has waited for 9 s, C for 2 s
        ({"starvation": 9.1}, "C"),
        ({"starvation": 1.0}, "C"),  # both starve: by expected consumption again
    ],
)
def test_the_queue_is_ordered_by_what_users_expect(options, first):
    starts = {job: start for job, (_, start) in started((SLOW,), WAITING, **options).items()}
    assert (starts["A"], starts[first]) == (0.0, 10.0)
    assert sorted(starts.values())[2] == 10.0 + {"B": 4.0, "C": 8.0}[first]


def test_no_job_blocks_those_behind_it():
    jobs = (Job("A", 1, 10.0), Job("B", 2, 1.0, arrival=1.0, energy_estimate=1.0), Job("C", 1, 1.0, arrival=1.0))
    # B is expected to take 2 J, C 5 J; B does not fit beside A, C does.
    assert started((SLOW,), jobs) == {"A": ("C1/0", 0.0), "B": ("C1/0", 10.0), "C": ("C1/0", 1.0)}


def test_who_gives_no_figure_expects_the_watts_of_the_most_frugal_core():
    # Two of two tasks, 5 W at most: A expects 2 * 3 s * 5 W = 30 J, B gives 2 * 14 J or 2 * 16 J.
    running = Job("R", 2, 10.0)
    for joules, first in ((14.0, "B"), (16.0, "A")):
        waiting = (Job("A", 2, 3.0, arrival=1.0), Job("B", 2, 3.0, arrival=1.0, energy_estimate=joules))
        assert started((SLOW,), (running, *waiting))[first] == ("C1/0", 10.0)


@pytest.mark.parametrize("policy", [Pcbe(), NodeList(node_order="low-power")])
def test_a_policy_can_be_used_on_another_platform(policy):
    for groups in ((SLOW, FAST), (FAST.replace(cores=3), FAST, SLOW)):
        run = coalloc.simulate(Instance(platform(*groups), (Job("A", 2, 10.0),)), policy)
        assert run.schedule["A"].nodes[0] == f"C1/{groups.index(SLOW)}.0"


def test_without_watts_there_is_no_estimate():
    with pytest.raises(CoallocError, match=r"clusters\[0\].nodes\[0\] \(cluster 'C1'\) has no idle_watts"):
        started((NodeGroup(1, 1.0, cores=2),), (Job("A", 2, 1.0),))


@pytest.mark.parametrize("starvation", [-1.0, "60", True, float("nan")])
def test_starvation_is_a_number_of_seconds(starvation):
    with pytest.raises(CoallocError, match=r"^starvation of policy 'pcbe' must be a"):
        coalloc.simulate(Instance(platform(SLOW), (Job("A", 1, 1.0),)), "pcbe", starvation=starvation)


def test_orders_are_those_of_energy():
    with pytest.raises(
        CoallocError, match="job_order of policy 'pcbe' must be one of low-first, high-first, got 'first'"
    ):
        coalloc.simulate(Instance(platform(SLOW), (Job("A", 1, 1.0),)), "pcbe", job_order="first")


@LAW
@given(st.integers(0, 2**32 - 1), st.sampled_from(("energy", "edp")), st.sampled_from(("low-first", "high-first")))
def test_a_job_waits_only_while_no_node_has_room(seed, criterion, order):
    instance = coalloc.generate("pcbe", seed=seed, jobs=9)
    run = coalloc.simulate(instance, "pcbe", criterion=criterion, job_order=order, node_order=order)
    for waiting in run.schedule:
        arrival, tasks = instance.job_by_id[waiting.job].arrival, len(waiting.nodes)
        for instant in {arrival, *(p.end for p in run.schedule if arrival <= p.end)}:
            if instant < waiting.start - 1e-9:
                # What started by this instant holds its cores, what ended by then does not.
                held = [n for p in run.schedule if p.start <= instant + 1e-9 < p.end - 1e-9 for n in p.nodes]
                assert all(4 - sum(n.startswith(node) for n in held) < tasks for node in ("C1/0", "C1/1"))
