"""What shared nodes promise, in every state that a series of events leads to."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Job, LocalUser, NodeGroup, Platform, Sharing
from coalloc.instance.rounding import capacity_limit
from coalloc.problem.fair_shares import fair_shares
from coalloc.problem.shared_nodes import SharedNodes
from tests.strategies import LAW

MEMORY = 100.0
PLATFORM = Platform([Cluster("C1", [NodeGroup(3, power=1.0, memory=MEMORY, multiprogramming=3)], 5.0)])


@st.composite
def states(draw, **fixed):
    """Draw shared nodes after a few instants: jobs that came and went, users who did."""
    sharing = Sharing(
        **{
            "contract": draw(st.sampled_from((None, 0.1, 0.5, 1.0))),
            "paging": draw(st.sampled_from((0.0, 0.2))),
            "cooperation": draw(st.booleans()),
            **fixed,
        }
    )
    nodes, running = SharedNodes(PLATFORM, sharing), []
    for instant in range(draw(st.integers(1, 6))):
        for index in draw(st.sets(st.sampled_from(running))) if running else ():
            running.remove(index)
            nodes.leave(index)
        for node in draw(st.sets(st.integers(0, 2))):
            if nodes.nodes[node].user is None:
                nodes.come(node, LocalUser("C1/0", 0, 1, cpu=draw(st.sampled_from((0.2, 0.9))), memory=45.0))
            else:
                nodes.go(node)
        for number in range(draw(st.integers(0, 2))):
            on = [n for n in sorted(draw(st.sets(st.integers(0, 2), min_size=1))) if len(nodes.nodes[n].tasks) < 3]
            if on:
                index = 10 * instant + number
                memory = draw(st.sampled_from((0.0, 20.0, 45.0, 60.0, 90.0)))
                nodes.enter(index, Job("J", tasks=len(on), base_time=1.0, memory=memory), on)
                running.append(index)
        nodes.settle()
    return nodes


def shares_on(nodes, number):
    """Return the CPU share of each task on a node that is not stopped, nor its job where nodes cooperate."""
    node = nodes.nodes[number]
    if nodes.sharing.cooperation:
        return {index: nodes.jobs[index].share for index in node.tasks if not nodes.jobs[index].is_stopped}
    return {index: node.cpu / node.runnable for index in node.tasks if index not in node.stopped}


def held(nodes, node):
    """Return what tasks that are not stopped hold of a node, MB."""
    return math.fsum(nodes._uses[index].memory for index in node.tasks if index not in node.stopped)


@LAW
@given(states())
def test_users_keep_what_they_are_promised(nodes):
    sharing = nodes.sharing
    for number, node in enumerate(nodes.nodes):
        used = math.fsum(shares_on(nodes, number).values())
        if node.user is None:
            assert used <= 1.0 + 1e-12
            assert held(nodes, node) <= capacity_limit(MEMORY * (1.0 + sharing.paging))
        elif sharing.contract is not None:
            assert 1.0 - used >= 1.0 - sharing.contract - 1e-12
            kept = max(0.0, 1.0 - sharing.contract * (1.0 + sharing.paging))
            assert max(0.0, MEMORY - held(nodes, node)) >= kept * MEMORY - 1e-6
        else:
            assert used <= max(1.0 - node.user.cpu, 1.0 / (1 + node.runnable)) + 1e-12
            assert held(nodes, node) <= capacity_limit((MEMORY - node.user.memory) * (1.0 + sharing.paging))


@LAW
@given(states())
def test_a_node_pages_exactly_while_more_is_held_than_is_for_tasks(nodes):
    for node in nodes.nodes:
        contract = nodes.sharing.contract
        left = MEMORY if node.user is None else MEMORY - 45.0 if contract is None else contract * MEMORY
        assert node.is_paging == (held(nodes, node) > left * (1 + 1e-9))


@LAW
@given(states(cooperation=True))
def test_work_is_conserved_and_shares_are_fair_where_nodes_cooperate(nodes):
    # Every job that makes progress has a node that is full, on which nobody has more: no share can rise but at the cost
    # of one that is no larger.
    for index, job in nodes.jobs.items():
        if job.is_stopped:
            assert job.slowdowns[0] == math.inf
            continue
        full = [n for n in job.nodes if math.fsum(shares_on(nodes, n).values()) >= nodes.nodes[n].cpu - 1e-12]
        assert any(job.share >= max(shares_on(nodes, n).values()) - 1e-12 for n in full), index


@LAW
@given(states(cooperation=False))
def test_work_is_conserved_on_each_node_where_they_do_not(nodes):
    for number, node in enumerate(nodes.nodes):
        shares = shares_on(nodes, number)
        assert node.runnable == len(shares)
        assert not shares or abs(math.fsum(shares.values()) - node.cpu) <= 1e-12


@LAW
@given(states(cooperation=False))
def test_cooperation_never_lowers_the_smallest_share(nodes):
    # In the same state, with the same tasks resident: those that make no progress no longer take CPU.
    going = {index: job.nodes for index, job in nodes.jobs.items() if not job.is_stopped}
    if going:
        capacities = {number: node.cpu for number, node in enumerate(nodes.nodes)}
        fair = fair_shares(capacities, going)
        assert min(fair.values()) >= min(nodes.jobs[index].share for index in going) - 1e-12


@LAW
@given(states())
def test_stopped_tasks_return_as_soon_as_they_fit(nodes):
    for number, node in enumerate(nodes.nodes):
        for index in node.stopped:
            assert held(nodes, node) + nodes._uses[index].memory > nodes.most_memory(number)
            assert nodes.jobs[index].is_stopped
