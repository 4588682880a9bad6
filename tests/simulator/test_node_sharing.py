"""Shared nodes by hand: tasks of several jobs on one node, local users, memory; and what is refused there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, LocalUser, NodeGroup, Platform, Sharing
from coalloc.extend import Start
from coalloc.simulator.engine import Engine
from coalloc.simulator.site import Partition
from tests.problem.shared_instances import outcome, shared_instances
from tests.simulator.named import FirstFree, Named
from tests.strategies import LAW, instances


def nodes(count, places=2, memory=None, power=1.0, **sharing):
    """Return a cluster of nodes with so many places for tasks each, which are shared as ``sharing`` says."""
    group = NodeGroup(count, power=power, multiprogramming=places, memory=memory)
    return Platform([Cluster("C1", [group], link_bandwidth=5.0)], sharing=Sharing(**sharing))


def job(id, tasks=1, **changes):
    """Return a job of 100 s."""
    return Job(id, **({"tasks": tasks, "base_time": 100.0} | changes))


def spans(platform, jobs, users=()):
    """Return start and end of each job, (job, nodes...) as given; the checker accepts the run."""
    instance = Instance(platform, [job for job, *_ in jobs], local_users=users)
    run = coalloc.simulate(instance, Named({job.id: tuple(f"C1/{n}" for n in on) for job, *on in jobs}))
    return {placement.job: (placement.start, pytest.approx(placement.end)) for placement in run.schedule}


# ------------------------------------------------------------------------------ tasks on one node


def test_two_jobs_on_one_node():
    # J1 alone does half of its work until 50. From then on each has half of the node: J1 needs 50/0.5 = 100 s, to 150.
    # By then J2 has done half; alone, it needs 50 s more.
    found = spans(nodes(1), [(job("J1"), 0), (job("J2", arrival=50.0), 0)])
    assert found == {"J1": (0.0, 150.0), "J2": (50.0, 200.0)}


def test_a_slow_node_takes_longer():
    # Gamma 0.5, two jobs: SP 1/(0.5 * 0.5) = 4.
    assert spans(nodes(1, power=0.5), [(job("J1"), 0), (job("J2"), 0)]) == {"J1": (0.0, 400.0), "J2": (0.0, 400.0)}


OVERLAP = [(job("J1", tasks=2), 0, 1), (job("J2"), 0), (job("J3"), 0), (job("J4"), 1)]
"""J1 shares node 0 with J2 and J3, node 1 with J4."""


def test_nodes_that_cooperate_give_away_what_a_job_cannot_use():
    # Node 0 is full when all rise to 1/3. J1 has no more on node 1 either, so J4 has 2/3 of that: 150 s.
    assert spans(nodes(2, 3), OVERLAP) == dict.fromkeys(("J1", "J2", "J3"), (0.0, 300.0)) | {"J4": (0.0, 150.0)}


def test_without_cooperation_it_is_lost():
    # Half of node 1 each: J4 takes 200 s, and what J1 has there beyond 1/3 nobody uses.
    found = spans(nodes(2, 3, cooperation=False), OVERLAP)
    assert found == dict.fromkeys(("J1", "J2", "J3"), (0.0, 300.0)) | {"J4": (0.0, 200.0)}


def test_messages_wait_for_others_where_tasks_are_not_scheduled_together():
    # N = 2: SP 2, K = 1 + omega (2 - 1). With omega 1 Te = 100 (0.6 * 2 + 0.4 * 2), with 0.5 100 (1.2 + 0.4 * 1.5).
    pair = [(job("J1", processing_share=0.6), 0), (job("J2", processing_share=0.6), 0)]
    assert spans(nodes(1), pair)["J1"] == (0.0, 160.0)
    assert spans(nodes(1, coscheduling=False), pair)["J1"] == (0.0, 200.0)
    assert spans(nodes(1, coscheduling=False, wait_factor=0.5), pair)["J1"] == (0.0, 180.0)


def test_a_user_is_one_more_for_messages_to_wait_for():
    # L 0.5: SP 2; K = 1 + (1 - 1 + 1) = 2.
    alone = [(job("J1", processing_share=0.6), 0)]
    assert spans(nodes(1, coscheduling=False), alone, [LocalUser("C1/0", 0, 900)])["J1"] == (0.0, 200.0)


def test_waits_for_links_and_for_quanta_multiply():
    # A task in each cluster: 1 * 10 * (2 - 1)/1 = 10 MB/s on links of 5, SC 2. With J2 on C1/0 K is 2 and SP 2:
    # Te = 100 (0.5 * 2 + 0.5 * 2 * 2) = 300. J2 talks to nobody: 100 (0.5 * 2 + 0.5 * 2) = 200. Until then J1 has done
    # 200/300; alone it takes 100 (0.5 + 0.5 * 2) = 150, a third of it 50: it ends at 250.
    clusters = [Cluster(name, [NodeGroup(1, power=1.0, multiprogramming=2)], 5.0) for name in ("C1", "C2")]
    platform = Platform(clusters, sharing=Sharing(coscheduling=False))
    wide = job("J1", tasks=2, processing_share=0.5, task_bandwidth=10.0)
    instance = Instance(platform, [wide, job("J2", processing_share=0.5)])
    run = coalloc.simulate(instance, Named({"J1": ("C1/0", "C2/0"), "J2": ("C1/0",)}))
    assert [p.end for p in run.schedule] == pytest.approx([250.0, 200.0])


# ------------------------------------------------------------------------------ local users


def test_a_user_who_comes_in_the_middle():
    # L 0.5: 20 s of [40, 60) count half, so 10 s are lost. With L 0.8 4 s are.
    user = [LocalUser("C1/0", 40, 60)]
    assert spans(nodes(1), [(job("J1"), 0)], user)["J1"] == (0.0, 110.0)
    assert spans(nodes(1, contract=0.8), [(job("J1"), 0)], user)["J1"] == (0.0, 104.0)


def test_a_user_at_one_node_slows_all_of_a_job_down_and_others_gain():
    # J1 has L = 0.5 on node 0, and so everywhere; J2 gets the other half of node 1, as without the user.
    # J1 with L 0.2: J2 gets 0.8 of node 1 and ends at 125, then nothing changes for J1: 500.
    user = [LocalUser("C1/0", 0, 900)]
    pair = [(job("J1", tasks=2), 0, 1), (job("J2"), 1)]
    assert spans(nodes(2), pair, user) == {"J1": (0.0, 200.0), "J2": (0.0, 200.0)}
    assert spans(nodes(2, contract=0.2), pair, user) == {"J1": (0.0, 500.0), "J2": (0.0, 125.0)}


def test_without_a_contract_tasks_get_what_a_user_leaves_or_their_turn():
    # cpu 0.25 leaves 0.75. cpu 0.9 leaves 0.1, but a turn of 1/2 for one task, of 1/3 for two together.
    for cpu, end in ((0.25, 400 / 3), (0.9, 200.0)):
        user = [LocalUser("C1/0", 0, 9000, cpu=cpu)]
        assert spans(nodes(1, contract=None), [(job("J1"), 0)], user)["J1"] == (0.0, pytest.approx(end))
    pair = [(job("J1"), 0), (job("J2"), 0)]
    assert spans(nodes(1, contract=None), pair, user)["J1"] == (0.0, 600.0)


def test_users_may_follow_each_other_at_once():
    # Somebody is there from 10 to 50: 20 s are lost.
    users = [LocalUser("C1/0", 30, 50), LocalUser("C1/0", 10, 30)]
    assert spans(nodes(1), [(job("J1"), 0)], users)["J1"] == (0.0, 120.0)


def test_who_comes_and_goes_opens_a_pass_that_sees_it():
    # The queue is asked at 0 (J1 has the only place), when the user comes, when he leaves, and at the end.
    seen = []

    class Watching(Named):
        def decide(self, state):
            seen.append((state.now, state.node_loads[0].has_user))
            return super().decide(state)

    instance = Instance(nodes(1, 1), [job("J1"), job("J2")], local_users=[LocalUser("C1/0", 40, 60)])
    coalloc.simulate(instance, Watching({"J1": ("C1/0",), "J2": ("C1/0",)}))
    assert seen == [(0.0, False), (40.0, True), (60.0, False), (110.0, False)]


def test_users_who_come_after_the_last_end_are_no_matter():
    assert spans(nodes(1), [(job("J1"), 0)], [LocalUser("C1/0", 100, 1e9)])["J1"] == (0.0, 100.0)


# ------------------------------------------------------------------------------ memory


def test_memory_overflows_and_the_largest_is_stopped_until_there_is_room():
    # 60 + 50 MB of 100 from 50 on: J1, which asks for more, stands still until J2 ends at 150, with half its work done.
    found = spans(nodes(1, memory=100.0), [(job("J1", memory=60.0), 0), (job("J2", memory=50.0, arrival=50.0), 0)])
    assert found == {"J1": (0.0, 200.0), "J2": (50.0, 150.0)}


STOPPED = [
    (job("J1", tasks=2, memory=60.0), 0, 1),
    (job("J2", memory=50.0, arrival=50.0), 0),
    (job("J3", memory=10.0, arrival=50.0), 1),
]
"""From 50 on node 0 has 110 of 100 MB: J1 (120 in all) is stopped there, half done, until J2 ends at 150."""


def test_a_stopped_job_leaves_its_cpu_to_others_where_nodes_cooperate():
    # J3 has node 1 to itself: both end at 150, and J1 50 s later.
    found = spans(nodes(2, memory=100.0), STOPPED)
    assert found == {"J1": (0.0, 200.0), "J2": (50.0, 150.0), "J3": (50.0, 150.0)}


def test_a_stopped_job_wastes_cpu_where_they_do_not():
    # J1's task on node 1 stays runnable: J3 has half, is half done at 150, and goes on beside J1: 100 s more for both.
    found = spans(nodes(2, memory=100.0, cooperation=False), STOPPED)
    assert found == {"J1": (0.0, 250.0), "J2": (50.0, 150.0), "J3": (50.0, 250.0)}


def test_a_suspended_task_keeps_its_memory():
    # J1, stopped on node 0, holds 60 MB of node 1 all the same. J4 comes there at 60 with 50 MB: it does not fit beside
    # J1, which asks for more and is stopped on node 1 too. J2 ends at 150, J4 (200 s) at 260; then J1 needs 50 s.
    jobs = [*STOPPED[:2], (job("J4", memory=50.0, arrival=60.0, base_time=200.0), 1)]
    assert spans(nodes(2, memory=100.0), jobs)["J1"] == (0.0, 310.0)
    # J4 as a job of 130 MB in all, on nodes 1 and 2, asks for more than J1: it is stopped itself from 60 on, until J1
    # has gone on at 150 and ended at 200.
    jobs[2] = (job("J4", tasks=2, memory=65.0, arrival=60.0), 1, 2)
    assert spans(nodes(3, memory=100.0), jobs) == {"J1": (0.0, 200.0), "J2": (50.0, 150.0), "J4": (60.0, 300.0)}


def test_a_user_takes_memory_too():
    # L 0.5 of 100 MB: J1 (60) is stopped from 40 to 60; J2 (40), which had half the node, has L of it, the same.
    # At 60 both have done 20 + 0 and 20 + 10 s; half each, J2 ends at 60 + 140 = 200; J1 then has done 20 + 70.
    pair = [(job("J1", memory=60.0), 0), (job("J2", memory=40.0), 0)]
    assert spans(nodes(1, memory=100.0), pair, [LocalUser("C1/0", 40, 60)]) == {"J1": (0.0, 210.0), "J2": (0.0, 200.0)}


def test_without_a_contract_tasks_have_the_memory_that_the_user_leaves():
    # A user of 55 MB leaves 45 from 40 to 60: J1 (60) is stopped, J2 (40) has 0.5 of the CPU. One of no memory stops
    # nobody: each has 0.25, 5 s of work until 60, and 75 s are left for both.
    pair = [(job("J1", memory=60.0), 0), (job("J2", memory=40.0), 0)]
    for memory, ends in ((55.0, (210.0, 200.0)), (0.0, (210.0, 210.0))):
        user = [LocalUser("C1/0", 40, 60, cpu=0.5, memory=memory)]
        found = spans(nodes(1, memory=100.0, contract=None), pair, user)
        assert (found["J1"][1], found["J2"][1]) == ends


def test_a_paging_node_slows_its_jobs_down():
    # 110 MB are within 1.2 * 100 and above 100: the node pages, Te = 100 * 2 * 1.5.
    pair = [(job("J1", memory=60.0), 0), (job("J2", memory=50.0), 0)]
    found = spans(nodes(1, memory=100.0, paging=0.2, paging_slowdown=1.5), pair)
    assert found == {"J1": (0.0, 300.0), "J2": (0.0, 300.0)}


def test_a_job_pages_with_one_of_its_nodes():
    # As before on node 0; J1 has a task on node 1 too, J2 is alone on node 0 once J1, of 50 s, has ended at 150: half
    # of its 100 s are done then, and the rest takes 50.
    jobs = [(job("J1", tasks=2, memory=60.0, base_time=50.0), 0, 1), (job("J2", memory=50.0), 0)]
    found = spans(nodes(2, memory=100.0, paging=0.2, paging_slowdown=1.5), jobs)
    assert found == {"J1": (0.0, 150.0), "J2": (0.0, 200.0)}


def test_tasks_that_block_each_other_for_ever_are_reported():
    # Both nodes have 110 of 100 MB: J1, which asks for more, is stopped on both, and J2 goes on. From 10 to 20 the user
    # leaves 40 MB of node 0: J2 is stopped there too. When room comes back at 20, J1 was stopped first: it returns to
    # node 0, where J2 no longer fits, and remains stopped on node 1, where J2 waits.
    instance = Instance(
        nodes(2, memory=100.0),
        [job("J1", tasks=2, memory=60.0), job("J2", tasks=2, memory=50.0)],
        local_users=[LocalUser("C1/0", 10, 20)],
    )
    platform = instance.platform.replace(sharing=Sharing(contract=0.4))
    with pytest.raises(CoallocError, match="job 'J1' runs without progress and never ends"):
        coalloc.simulate(instance.replace(platform=platform), Named({"J1": ("C1/0", "C1/1"), "J2": ("C1/0", "C1/1")}))


# ------------------------------------------------------------------------------ places


def test_tasks_get_the_lowest_free_places_of_their_nodes():
    # J1 and J2 from 0; J1 ends first and gives place 0 to J3. J3 asks for a place by name, J4 waits for any.
    jobs = [job("J1", base_time=10.0), job("J2"), job("J3", arrival=30.0), job("J4", arrival=30.0)]
    instance = Instance(nodes(1), jobs)
    run = coalloc.simulate(instance, Named(dict.fromkeys(("J1", "J2", "J3", "J4"), ("C1/0",))))
    assert [run.schedule[job.id].nodes for job in jobs] == [("C1/0.0",), ("C1/0.1",), ("C1/0.0",), ("C1/0.1",)]


class Once:
    """Gives what it is told, whatever is free."""

    scope = "platform"
    shares_nodes = True

    def __init__(self, *starts):
        self.starts = starts

    def decide(self, _):
        return self.starts


@pytest.mark.parametrize(
    ("starts", "sentence"),
    [
        ([Start("J1", (2,))], "the policy gave job 'J1' counts; with time-shared nodes a start must name nodes"),
        ([Start("J1", nodes=("C1/0", "C1/2"))], "the policy gave job 'J1' 'C1/2', which is not a node of the platform"),
        ([Start("J1", nodes=("C1/0", "C1/0.1"))], "the policy gave job 'J1' node 'C1/0' twice"),
        ([Start("J1", nodes=("C1/0",))], "the policy gave job 'J1' 1 processors, but it has 2 tasks"),
        (
            [Start("J2", nodes=("C1/0",)), Start("J3", nodes=("C1/0",))],
            "the policy gave job 'J3' node 'C1/0', which is full",
        ),
        (
            [Start("J2", nodes=("C1/0.0",)), Start("J3", nodes=("C1/0.0",))],
            "the policy gave job 'J3' processors that another job holds",
        ),
        ([Start("J4", nodes=("C1/0",))], "the policy gave job 'J4' node 'C1/0', which never has 70 MB"),
    ],
)
def test_starts_that_are_not_possible_are_refused(starts, sentence):
    groups = [NodeGroup(1, power=1.0, memory=memory) for memory in (60.0, 80.0)]
    platform = Platform([Cluster("C1", groups, 5.0)], sharing=Sharing(paging=0.1))
    if "0.0" in str(starts) or "0.1" in str(starts):
        platform = nodes(2, memory=60.0)
    jobs = [job("J1", tasks=2, memory=1.0), job("J2", memory=1.0), job("J3", memory=1.0)]
    jobs += [job("J4", memory=70.0)] if platform.num_processors == 2 else []
    with pytest.raises(CoallocError) as report:
        coalloc.simulate(Instance(platform, jobs), Once(*starts))
    assert str(report.value).startswith(sentence)


# ------------------------------------------------------------------------------ what knows nothing of it

SHARED = Instance(nodes(2), [job("J1", tasks=2)])
UNKNOWN = (
    "time-shared nodes (multiprogramming, local_users or sharing) are not supported by {}; "
    "use a policy with shares_nodes, such as loras"
)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "mesd", "pas", "oas", "pcbe", "node-list", "grid"])
@pytest.mark.parametrize(
    "instance",
    [
        SHARED,
        SHARED.replace(platform=nodes(2, 1)),
        Instance(nodes(2, 1).replace(sharing=None), [job("J1")], local_users=[LocalUser("C1/0", 0, 1)]),
    ],
    ids=["places", "sharing", "users"],
)
def test_policies_that_know_nothing_of_shared_nodes_are_refused(policy, instance):
    with pytest.raises(CoallocError) as report:
        coalloc.simulate(instance, policy)
    assert str(report.value) == UNKNOWN.format(f"policy {policy!r}")


def test_exact_methods_the_meter_and_replay_are_refused():
    schedule = coalloc.simulate(SHARED, FirstFree()).schedule
    calls = {
        "exact methods, bounds and replay": [
            lambda: coalloc.solve(SHARED),
            lambda: coalloc.solve(SHARED, model="pas"),
            lambda: coalloc.build_model(SHARED, slot="100%"),
            lambda: coalloc.lower_bound(SHARED, "energy"),
            lambda: coalloc.slot_study([SHARED]),
        ],
        "the energy model": [lambda: coalloc.energy(SHARED, schedule)],
        "replay": [lambda: coalloc.replay(SHARED, schedule)],
    }
    for what, callables in calls.items():
        for call in callables:
            with pytest.raises(CoallocError) as report:
                call()
            assert str(report.value) == UNKNOWN.format(what)


def test_what_has_no_meaning_is_refused():
    with pytest.raises(CoallocError, match=r"^kill: is not supported with time-shared nodes$"):
        coalloc.simulate(SHARED, FirstFree(), kill=True)
    with pytest.raises(CoallocError, match=r"^passes: must be 'batch' with time-shared nodes$"):
        coalloc.simulate(SHARED, FirstFree(), passes="per-event")
    with pytest.raises(CoallocError, match=r"^a simulation with several sites does not support time-shared nodes$"):
        Engine(SHARED, [Partition(FirstFree()), Partition(FirstFree())], router=object())  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ laws


@LAW
@given(instances(max_jobs=8, max_tasks=4), st.booleans(), st.booleans())
def test_one_place_without_users_is_a_dedicated_node(instance, cooperation, coscheduling):
    sharing = Sharing(cooperation=cooperation, coscheduling=coscheduling, contract=0.1, wait_factor=9.0)
    shared = instance.replace(platform=instance.platform.replace(sharing=sharing))
    assert outcome(shared) == outcome(instance)


@LAW
@given(shared_instances())
def test_the_checker_accepts_every_run_and_the_same_run_comes_again(instance):
    # simulate() checks each run; one whose tasks block each other for ever has none.
    first = outcome(instance)
    assert outcome(instance) == first
    if isinstance(first, str):
        assert "stands still for ever" in first or "loads a link of no bandwidth" in first
    else:
        assert coalloc.check(instance, first, links="shared") == []
