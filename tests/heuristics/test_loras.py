"""LoRaS by hand, on shared nodes and on dedicated ones."""

from __future__ import annotations

import pytest
from hypothesis import given

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, Lag, LocalUser, NodeGroup, Platform, Sharing
from coalloc.heuristics.loras import MIXES
from tests.strategies import LAW, instances


def nodes(count, places=1, memory=None, **sharing):
    """Return a cluster of nodes that are shared."""
    group = NodeGroup(count, power=1.0, multiprogramming=places, memory=memory)
    return Platform([Cluster("C1", [group], link_bandwidth=5.0)], sharing=Sharing(**sharing))


QUEUE = [
    Job("J0", tasks=2, base_time=10.0),
    Job("J1", tasks=3, base_time=30.0, arrival=1.0),
    Job("J2", tasks=1, base_time=40.0, arrival=2.0),
    Job("J3", tasks=2, base_time=20.0, arrival=3.0),
]
"""On three nodes with one place each J0 leaves one free until 10."""


def starts(mix=None, instance=None, **options):
    """Return when each job starts."""
    options |= {} if mix is None else {"mix": mix}
    run = coalloc.simulate(instance or Instance(nodes(3), QUEUE), "loras", **options)
    return [placement.start for placement in run.schedule]


def test_just_first_by_time():
    # At 10: J3 (20 s), then J1 does not fit (one node free), J2 waits behind. At 30 J1; at 60 J2.
    assert starts("SJF-JFirst") == [0.0, 30.0, 60.0, 10.0]
    assert starts(queue_order="spt", selection="just-first") == [0.0, 30.0, 60.0, 10.0]


def test_first_fit_by_arrival():
    # J2 fits at 2. At 10 two nodes are free: not J1 but J3. At 30 only J2's node is held, to 42: then J1.
    assert starts("FCFS-FFit") == [0.0, 42.0, 2.0, 10.0] == starts()


def test_best_fit():
    # At 2 J2 alone fits. At 10 (two nodes) only J3. At 42 J1.
    assert starts("SNPF-BFit") == [0.0, 42.0, 2.0, 10.0]
    # Were all there at 10 with three nodes free, J1 would leave none unused: it goes before smaller ones.
    late = [QUEUE[0].replace(tasks=3), *QUEUE[1:]]
    assert starts("SNPF-BFit", Instance(nodes(3), late)) == [0.0, 10.0, 40.0, 40.0]
    assert starts("FCFS-FFit", Instance(nodes(3), late)) == [0.0, 10.0, 40.0, 40.0]
    assert starts(None, Instance(nodes(3), late), queue_order="sjf") == [0.0, 50.0, 10.0, 10.0]


def test_a_job_waits_for_a_lag():
    # B starts 5 s after the end of A at 10 s, C when A has started or later.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, lags=[Lag("A", min=5.0)]), Job("C", 1, 10.0, lags=[Lag("A", "start")])]
    platform = Platform([Cluster("C1", [NodeGroup(3, power=1.0)], link_bandwidth=5.0)])
    schedule = coalloc.simulate(Instance(platform, jobs), "loras").schedule
    assert {placement.job: placement.start for placement in schedule} == {"A": 0.0, "B": 15.0, "C": 0.0}


def test_nodes_are_shared_up_to_their_places():
    # Two places each: J0 on nodes 0 and 1 at 0, J1 on all at 1, J2 on node 2 at 2. J3 waits until J0, which has had
    # half of its nodes from 1 on, ends at 1 + 9/0.5 = 19.
    assert starts("FCFS-FFit", Instance(nodes(3, 2), QUEUE)) == [0.0, 1.0, 2.0, pytest.approx(19.0)]


def test_memory_that_is_promised_to_a_user_is_not_given():
    # A user on node 0 leaves half of 100 MB: J1 (60) takes node 1, J2 waits for the user to leave. By places alone J1
    # is launched there, and stands still until he does.
    jobs = [Job(name, tasks=1, base_time=50.0, memory=60.0) for name in ("J1", "J2")]
    instance = Instance(nodes(2, 1, memory=100.0), jobs, local_users=[LocalUser("C1/0", 0, 20)])
    for limit, start in (("both", 20.0), ("memory", 20.0), ("mpl", 0.0)):
        run = coalloc.simulate(instance, "loras", node_limit=limit)
        assert run.schedule["J2"].start == start
        assert max(placement.end for placement in run.schedule) == 70.0


def test_nodes_without_a_user_come_first():
    jobs = [Job("J1", tasks=1, base_time=50.0)]
    instance = Instance(nodes(2), jobs, local_users=[LocalUser("C1/0", 0, 20)])
    assert coalloc.simulate(instance, "loras", node_order="users").schedule["J1"].nodes == ("C1/1",)
    assert coalloc.simulate(instance, "loras").schedule["J1"].nodes == ("C1/0",)


def test_stopped_tasks_keep_their_claim():
    # J1 and J2 (60 MB each) by places on one node of 100 MB: J2 is stopped (ties: later in the queue), and its claim
    # leaves no room for J3 (10 MB) until J1 has ended at 50; then J2 has the node, and J3 joins it.
    jobs = [Job(f"J{i}", tasks=1, base_time=50.0, memory=60.0) for i in (1, 2)]
    jobs.append(Job("J3", tasks=1, base_time=50.0, memory=10.0, arrival=1.0))
    instance = Instance(nodes(1, 3, memory=100.0), jobs)
    assert starts(None, instance, node_limit="mpl") == [0.0, 0.0, 1.0]

    class ByMemoryFromOneOn:
        scope = "platform"
        shares_nodes = True

        def decide(self, state):
            (load,) = state.node_loads
            for job in state.queue:
                if state.now < 1.0 or load.memory >= job.memory:
                    yield coalloc.extend.Start(job.id, nodes=[load.name])

    run = coalloc.simulate(instance, ByMemoryFromOneOn())
    assert [p.start for p in run.schedule] == [0.0, 0.0, 50.0]


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(CoallocError) as report:
        starts("SJF-JFirst", queue_order="spt", selection="best-fit")
    expected = "mix 'SJF-JFirst' of policy 'loras' sets queue_order and selection; give one or the other"
    assert str(report.value) == expected


def test_memory_that_is_asked_for_must_be_known():
    jobs = [Job("J1", tasks=1, base_time=1.0, memory=1.0), Job("J2", tasks=1, base_time=1.0)]
    for options in ({"node_limit": "memory"}, {"node_order": "memory"}):
        with pytest.raises(CoallocError) as report:
            coalloc.simulate(Instance(nodes(1), jobs), "loras", **options)
        asked = f"{next(iter(options))}='memory' of policy 'loras'"
        assert str(report.value).splitlines() == [
            f"group 0 of cluster 'C1' has no memory, but {asked} requires it",
            f"job 'J2' has no memory, but {asked} requires it",
        ]


@LAW
@given(instances(max_jobs=6, max_tasks=4, max_cores=2))
def test_on_dedicated_nodes_the_head_of_the_queue_starts_as_under_fcfs(instance):
    # Processors are taken in the order of the platform by both, and a job waits for processors alone.
    if any(not link.bandwidth for link in instance.platform.links):
        instance = instance.replace(jobs=[job.replace(task_bandwidth=0.0) for job in instance.jobs])
    expected = coalloc.simulate(instance, "fcfs", allocation="first-fit").schedule
    assert coalloc.simulate(instance, "loras", queue_order="fcfs", selection="just-first").schedule == expected


@LAW
@given(instances(max_jobs=6, max_tasks=4))
def test_one_place_without_users_is_a_dedicated_node_under_every_mix(instance):
    if any(not link.bandwidth for link in instance.platform.links):
        instance = instance.replace(jobs=[job.replace(task_bandwidth=0.0) for job in instance.jobs])
    shared = instance.replace(platform=instance.platform.replace(sharing=Sharing()))
    for mix in MIXES:
        expected = coalloc.simulate(instance, "loras", mix=mix).schedule
        assert coalloc.simulate(shared, "loras", mix=mix).schedule == expected
