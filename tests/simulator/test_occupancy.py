"""No start is believed: what is impossible is refused with a reason, and what is possible is booked."""

from dataclasses import dataclass

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.problem.allocation import node_classes
from coalloc.simulator.decisions import Start
from coalloc.simulator.occupancy import (
    Occupancy,
    PoolOccupancy,
    largest_part,
    occupancy_of,
    refuse_too_large,
    vectors_on,
)

PLATFORM = Platform(
    [
        Cluster("C1", [NodeGroup(2, power=1.0), NodeGroup(1, power=0.5)], link_bandwidth=10.0),
        Cluster("C2", [NodeGroup(2, power=0.5, cores=2)], link_bandwidth=10.0),
    ]
)
"""Classes: C1/0 and C1/1; C1/2; and the four cores of C2/0 and C2/1."""


def occupancy(scope="platform"):
    """Return the empty platform."""
    classes = node_classes(PLATFORM, scope)
    return Occupancy(PLATFORM, classes, scope, vectors_on(PLATFORM, classes, scope))


def test_the_lowest_free_processors_are_taken_and_given_back():
    room = occupancy()
    assert room.counts == (2, 1, 4)
    first = room.take(Job("J1", tasks=3, base_time=1.0), Start("J1", (1, 0, 2)))
    assert first == ((1, 0, 2), 0b0011001, (1, 0, 2))  # what it takes of the room is processors alone
    assert room.counts == (1, 1, 2)
    assert room.take(Job("J2", tasks=2, base_time=1.0), Start("J2", (1, 0, 1)))[:2] == ((1, 0, 1), 0b0100010)
    room.release(first[2], first[1])
    assert room.counts == (1, 1, 3)
    assert room.free == 0b1011101


def test_named_nodes_are_taken_as_they_are():
    room = occupancy()
    taken = room.take(Job("J1", tasks=2, base_time=1.0), Start("J1", nodes=("C2/1.1", "C1/1")))
    assert taken[:2] == ((1, 0, 1), 0b1000010)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (Start("J1", (2, 0, 0)), "(2, 0, 0) processors per class, but it has 3 tasks"),
        (Start("J1", (4, -1, 0)), "(4, -1, 0) processors per class"),
        (Start("J1", (2, 1)), "2 counts, but there are 3 node classes"),
        (Start("J1"), "0 counts, but there are 3 node classes"),
        (Start("J1", (3, 0, 0)), "3 processors of node class 0, of which 2 are free"),
        (Start("J1", nodes=("C1/0", "C1/1", "C9/0")), "'C9/0', which is not a processor of the platform"),
        (Start("J1", nodes=("C1/0", "C1/0", "C1/1")), "2 processors, but it has 3 tasks"),
        (Start("J1", nodes=("C1/0", "C1/1")), "2 processors, but it has 3 tasks"),
        (Start("J1", nodes=("C1/2", "C2/0.0", "C2/0.1")), "processors that another job holds"),
    ],
)
def test_an_impossible_start_is_refused_and_books_nothing(start, reason):
    room = occupancy()
    room.take(Job("J0", tasks=1, base_time=1.0), Start("J0", (0, 1, 0)))
    with pytest.raises(CoallocError) as refusal:
        room.take(Job("J1", tasks=3, base_time=1.0), start)
    assert reason.replace("'", "") in str(refusal.value).replace("'", "").replace('"', "")
    assert room.counts == (2, 0, 4)


@pytest.mark.parametrize(
    ("scope", "fits", "does_not"),
    [
        ("cluster", (1, 1, 0), (1, 0, 1)),
        ("node", (0, 0, 0, 2, 0), (0, 0, 0, 1, 1)),
    ],
)
def test_a_job_stays_within_its_scope(scope, fits, does_not):
    job = Job("J1", tasks=2, base_time=1.0)
    room = occupancy(scope)
    with pytest.raises(CoallocError, match=f"outside its scope of one {scope}"):
        room.take(job, Start("J1", does_not))
    assert sum(room.counts) == 7
    assert room.take(job, Start("J1", fits))[0] == fits


POOL = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=0.0)])


@pytest.mark.parametrize(
    "start",
    [
        Start("J1", (2,)),
        Start("J1", [2]),
        Start("J1", np.array([2])),
        Start("J1", nodes=("C1/3", "C1/1")),
        Start("J1", (2,), nodes=["C1/2", "C1/1"]),
        Start("J1", (3,)),
        Start("J1", (2.0,)),
        Start("J1", (1, 1)),
        Start("J1", nodes=("C1/0", "C1/1")),
        Start("J1"),
    ],
)
def test_a_pool_takes_and_refuses_what_any_platform_does(start):
    of_pool = POOL, node_classes(POOL), "platform"
    pool, other = occupancy_of(*of_pool, vectors_on(*of_pool)), Occupancy(*of_pool, vectors_on(*of_pool))
    assert isinstance(pool, PoolOccupancy)
    answers = []
    for room in (pool, other):
        room.take(Job("J0", tasks=1, base_time=1.0), Start("J0", (1,)))
        try:
            answers.append((room.take(Job("J1", tasks=2, base_time=1.0), start), room.room, room.free))
        except CoallocError as refusal:
            answers.append((str(refusal), room.room, room.free))
    assert answers[0] == answers[1]
    with pytest.raises(CoallocError, match="4 processors of node class 0, of which"):
        pool.take(Job("J2", tasks=4, base_time=1.0), Start("J2", (4,)))


def test_a_pool_takes_preferred_processors_and_has_them_again():
    of_pool = POOL, node_classes(POOL), "platform"
    room = occupancy_of(*of_pool, vectors_on(*of_pool))
    counts, processors, taken = room.take(Job("J1", tasks=2, base_time=1.0), Start("J1", (2,)), preferred=0b1010)
    assert (counts, processors, room.room) == ((2,), 0b1010, (2,))
    room.release(taken, processors)
    assert (room.room, room.free) == ((4,), 0b1111)


def with_memory(*jobs, running=()):
    """Return jobs on a node of 2 cores and 1000 MB, and two of one core and 400 MB."""
    groups = [NodeGroup(1, power=1.0, cores=2, memory=1000.0), NodeGroup(2, power=1.0, memory=400.0)]
    return Instance(Platform([Cluster("C1", groups, link_bandwidth=10.0)]), jobs, running)


@dataclass
class Given:
    """Starts jobs at their arrival with given counts or nodes."""

    starts: dict
    scope = "platform"

    def decide(self, state):
        return [Start(job.id, **self.starts[job.id]) for job in state.queue]


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            (0, 2),
            "gave job 'J2' 2 processors of node class 1, whose nodes have 400 MB of free memory; its tasks require "
            "500 MB each",
        ),
        ((2, 0), "gave job 'J2' 2 processors of node class 0, of which 1 are free"),
    ],
)
def test_no_start_exceeds_the_memory_of_a_node(counts, sentence):
    instance = with_memory(Job("J1", 1, 10.0, memory=600.0), Job("J2", 2, 10.0, memory=500.0))
    with pytest.raises(CoallocError, match=sentence):
        coalloc.simulate(instance, Given({"J1": {"counts": (1, 0)}, "J2": {"counts": counts}}))


def test_no_start_exceeds_what_others_leave_of_the_memory():
    jobs = [Job(f"J{n}", 1, 10.0, memory=600.0) for n in (1, 2)]
    by_name = Given({"J1": {"nodes": ("C1/0.0",)}, "J2": {"nodes": ("C1/0.1",)}})
    with pytest.raises(CoallocError, match="have 400 MB of free memory; its tasks require 600 MB each"):
        coalloc.simulate(with_memory(*jobs), by_name)
    later = with_memory(jobs[0], jobs[1].replace(arrival=10.0))
    assert [p.start for p in coalloc.simulate(later, by_name).schedule] == [0.0, 10.0]


def test_what_runs_already_holds_memory():
    running = (coalloc.RunningJob(Job("R", 1, 99.0, memory=700.0), ("C1/0.0",), 25.0),)
    instance = with_memory(Job("J1", 1, 10.0, memory=401.0), Job("J2", 1, 10.0, memory=300.0), running=running)
    starts = {p.job: p.start for p in coalloc.simulate(instance, "fpfs").schedule}
    assert starts == {"J1": 25.0, "J2": 0.0}  # J2 takes the last core of the large node, J1 waits for R


@pytest.mark.parametrize("policy", ["fpfs", "easy", "conservative"])
def test_jobs_that_run_already_may_ask_for_more_than_a_node_has(policy):
    # A node of four cores and 1000 MB. R, S and T hold 700, 700 and 400 MB until 5, 30 and 20: 300 MB are free from 20
    # on, all from 30 on. J1 asks for 300 MB and J2 for 301 MB, J3 for nothing.
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=4, memory=1000.0)], 0.0)])
    running = [
        coalloc.RunningJob(Job(name, 1, 99.0, memory=memory), [f"C1/0.{core}"], end)
        for core, (name, memory, end) in enumerate([("R", 700.0, 5.0), ("S", 700.0, 30.0), ("T", 400.0, 20.0)])
    ]
    jobs = [Job("J1", 1, 100.0, memory=300.0), Job("J2", 1, 10.0, memory=301.0), Job("J3", 1, 10.0)]
    instance = coalloc.Instance(platform, jobs, running)
    schedule = coalloc.simulate(instance, policy).schedule
    assert {p.job: p.start for p in schedule} == {"J1": 20.0, "J2": 30.0, "J3": 0.0}
    assert coalloc.check(instance, schedule) == []
    assert coalloc.solve(instance, time_limit=5.0).objective == 120.0  # J1 from 20 on, too


def test_what_runs_on_a_node_without_memory_is_no_matter():
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2, memory=0.0), NodeGroup(1, power=1.0)], 0.0)])
    running = [coalloc.RunningJob(Job("R", 1, 99.0, memory=1.0), ["C1/0.0"], 5.0)]
    instance = coalloc.Instance(platform, [Job("J1", 1, 10.0, memory=1.0), Job("J2", 1, 10.0)], running)
    starts = {p.job: p.nodes for p in coalloc.simulate(instance, "fcfs").schedule}
    assert starts == {"J1": ("C1/1",), "J2": ("C1/0.1",)}


def test_jobs_that_no_memory_holds_are_named_at_once():
    jobs = [Job("J1", tasks=3, base_time=1.0, memory=500.0), Job("J2", tasks=2, base_time=1.0, memory=500.0)]
    with pytest.raises(CoallocError) as refusal:
        coalloc.simulate(with_memory(*jobs), "fcfs")
    assert str(refusal.value) == (
        "job 'J1' requires 500 MB of memory per task: no platform suffices for more than 2 of its 3 tasks"
    )
    with pytest.raises(CoallocError, match="no node suffices for more than 0 of its 1 tasks"):
        coalloc.simulate(with_memory(Job("J1", 1, 1.0, memory=1001.0)), "node-list")


def room(scope):
    """Return the processors of the largest part of the platform."""
    return largest_part(node_classes(PLATFORM, scope), scope)


def test_jobs_that_no_cluster_holds_are_named_at_once():
    jobs = [Job("J1", tasks=4, base_time=1.0), Job("J2", tasks=5, base_time=1.0), Job("J3", tasks=7, base_time=1.0)]
    instance = Instance(PLATFORM, jobs)
    refuse_too_large(instance.jobs, room("platform"), "platform")
    with pytest.raises(CoallocError) as refusal:
        refuse_too_large(instance.jobs, room("cluster"), "cluster")
    assert str(refusal.value).splitlines() == [
        "job 'J2' has 5 tasks, but the largest cluster has 4 processors",
        "job 'J3' has 7 tasks, but the largest cluster has 4 processors",
    ]
    with pytest.raises(CoallocError, match="the largest node has 2 processors"):
        refuse_too_large(instance.jobs, room("node"), "node")
