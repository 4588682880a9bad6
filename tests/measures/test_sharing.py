"""What jobs and users got on shared nodes, and the bound on the makespan, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, LocalUser, NodeGroup, Platform, Sharing
from coalloc.measures.observed_sharing import observe_sharing
from coalloc.measures.sharing import SHARING_METRICS, dedicated, least_makespan
from coalloc.results import RelaxedFeatureWarning
from tests.problem.shared_instances import outcome, shared_instances
from tests.simulator.named import Named
from tests.strategies import LAW


def nodes(count, places=2, **sharing):
    """Return a cluster of nodes of 100 MB that are shared."""
    group = NodeGroup(count, power=1.0, multiprogramming=places, memory=100.0)
    return Platform([Cluster("C1", [group], link_bandwidth=5.0)], sharing=Sharing(**sharing))


def job(id, tasks=1, **changes):
    """Return a job of 100 s."""
    return Job(id, **({"tasks": tasks, "base_time": 100.0} | changes))


PAIR = Instance(
    nodes(1),
    [job("J1", memory=60.0), job("J2", memory=40.0)],
    local_users=[LocalUser("C1/0", 40, 60, profile="shell"), LocalUser("C1/0", 500, 600, profile="late")],
)
"""J1 is stopped while the user is there, and J2 has L = 0.5: they end at 210 and 200 (tests of the simulator)."""
ON_ONE = Named({"J1": ("C1/0",), "J2": ("C1/0",)})


def test_what_two_jobs_and_a_user_got():
    schedule = coalloc.simulate(PAIR, ON_ONE).schedule
    found = coalloc.results.sharing_metrics(PAIR, schedule)
    assert found == {
        "turnaround_mean": pytest.approx(205.0),
        "turnaround_deviation": pytest.approx(5.0),
        "dedicated_slowdown_mean": pytest.approx(2.05),
        "dedicated_slowdown_deviation": pytest.approx(0.05),
        "stopped_time": pytest.approx(20.0),
        "stopped_share": 0.5,
        "stops": 1.0,
        **dict.fromkeys(("messages_local", "messages_no_local", "messages_stop", "messages_resume"), 0.0),
        "user_time": pytest.approx(20.0),
        "user_cpu_mean": pytest.approx(0.5),
        "user_cpu_least": 0.5,
        "user_memory_mean": pytest.approx(0.6),
        "user_memory_least": pytest.approx(0.6),
        "latency_mean_shell": pytest.approx(14.0 + 18.0 * 0.5),
        "latency_max_shell": 23.0,
    }
    assert set(SHARING_METRICS) <= set(found)
    assert coalloc.results.sharing_metrics(PAIR, schedule, kappa=36.0)["latency_max_shell"] == 32.0
    with pytest.raises(CoallocError, match=r"^kappa: must be finite and at least 0, got -1.0$"):
        coalloc.results.sharing_metrics(PAIR, schedule, kappa=-1.0)


def test_shares_of_a_job_over_time():
    # J2: half of the node until 200, with the user too: 100 s. J1: half in [0, 40) and [60, 200), then all: 100 s.
    use = observe_sharing(PAIR, coalloc.simulate(PAIR, ON_ONE).schedule)
    assert [j.share_seconds for j in use.jobs] == pytest.approx([100.0, 100.0])


def test_tables_of_a_run_show_stops_shares_and_users():
    run = coalloc.simulate(PAIR, ON_ONE)
    frame = run.to_frame()
    assert frame["stopped"].tolist() == pytest.approx([20.0, 0.0])
    assert frame["mean_share"].tolist() == pytest.approx([100.0 / 210.0, 0.5])
    assert run.nodes["user_time"].tolist() == pytest.approx([20.0])
    plain = coalloc.simulate(dedicated(PAIR), "fcfs")
    assert "stopped" not in plain.to_frame()
    assert "user_time" not in plain.nodes


def test_nodes_tell_the_others_of_a_job():
    # J1 has three nodes: when a user comes to one of them, the other two are told, and so when he leaves. J2 comes to
    # node 1 at 50: J1 (60 MB a task, 180 in all) is stopped there, and resumed at 150: two messages each.
    jobs = [job("J1", tasks=3, memory=60.0), job("J2", memory=50.0, arrival=50.0)]
    for cooperation, number in ((True, 2.0), (False, 0.0)):
        instance = Instance(
            nodes(3, contract=1.0, cooperation=cooperation), jobs, local_users=[LocalUser("C1/0", 10, 20)]
        )
        run = coalloc.simulate(instance, Named({"J1": ("C1/0", "C1/1", "C1/2"), "J2": ("C1/1",)}))
        found = coalloc.results.sharing_metrics(instance, run.schedule)
        assert [found[f"messages_{kind}"] for kind in ("local", "no_local", "stop", "resume")] == [number] * 4
        assert (found["stops"], found["stopped_time"]) == (1.0, pytest.approx(100.0))


def test_tasks_that_wait_for_a_stopped_one_take_cpu_where_nodes_do_not_cooperate():
    # J1 is stopped on node 0 from 50 to 150; a user is at node 1 from 60 to 100, beside J1's other task: it holds 60 MB
    # all the time, but uses CPU (L 0.8) only without cooperation.
    jobs = [job("J1", tasks=2, memory=60.0), job("J2", memory=50.0, arrival=50.0)]
    for cooperation, taken in ((True, 0.0), (False, 0.8)):
        instance = Instance(
            nodes(2, contract=0.8, cooperation=cooperation), jobs, local_users=[LocalUser("C1/1", 60, 100)]
        )
        run = coalloc.simulate(instance, Named({"J1": ("C1/0", "C1/1"), "J2": ("C1/0",)}))
        found = coalloc.results.sharing_metrics(instance, run.schedule)
        assert found["user_cpu_mean"] == pytest.approx(1.0 - taken)
        assert found["user_memory_least"] == pytest.approx(0.4)


def test_tasks_with_more_memory_than_the_node_has_leave_a_user_nothing_and_not_less():
    # The contract and paging let tasks ask for 0.8 * 1.5 * 100 = 120 MB of a node of 100: J1 and J2 do, so that the
    # user is left no memory for as long as they run, which is to the end.
    jobs = [job("J1", memory=60.0), job("J2", memory=60.0)]
    instance = Instance(nodes(1, contract=0.8, paging=0.5), jobs, local_users=[LocalUser("C1/0", 0, 1000)])
    run = coalloc.simulate(instance, Named({"J1": ("C1/0",), "J2": ("C1/0",)}))
    assert {placement.start for placement in run.schedule} == {0.0}
    assert len({placement.end for placement in run.schedule}) == 1
    found = coalloc.results.sharing_metrics(instance, run.schedule)
    assert (found["user_memory_mean"], found["user_memory_least"]) == (0.0, 0.0)


def test_dedicated_nodes_have_no_users_to_keep_anything():
    instance = dedicated(PAIR)
    assert not instance.shares_nodes
    assert instance.platform.processor_names == ("C1/0",)
    found = coalloc.results.sharing_metrics(instance, coalloc.simulate(instance, "fcfs").schedule)
    assert (found["dedicated_slowdown_mean"], found["user_time"], found["user_cpu_least"]) == (1.0, 0.0, 1.0)
    assert found["turnaround_mean"] == pytest.approx(150.0)


# ------------------------------------------------------------------------------ the bound


def test_the_bound_counts_what_is_for_parallel_tasks():
    # 200 s of work on one node: 40 s until the user comes, 10 while he is there, 150 after: 210, as the run above.
    assert least_makespan(PAIR) == pytest.approx(210.0)
    # From an earliest arrival at 50 on the user is there for 10 s: 5 s are lost.
    later = PAIR.replace(jobs=[job.replace(arrival=50.0) for job in PAIR.jobs])
    assert least_makespan(later) == pytest.approx(205.0)
    # Without a contract a task has 1/2 at best beside a user who asks for more than that, else what he leaves.
    for cpu, lost in ((0.9, 10.0), (0.25, 5.0)):
        users = [LocalUser("C1/0", 40, 60, cpu=cpu)]
        free = PAIR.replace(platform=nodes(1, contract=None), local_users=users)
        assert least_makespan(free) == pytest.approx(200.0 + lost)


def test_the_bound_counts_the_longest_job():
    # Two nodes, one of power 0.5: J1 takes 0.5 * 100/0.5 + 50 = 150 s on both, J2 30 s from 140 on, on the fast one.
    groups = [NodeGroup(1, power=power, memory=100.0) for power in (0.5, 1.0)]
    platform = Platform([Cluster("C1", groups, 5.0)], sharing=Sharing())
    jobs = [job("J1", tasks=2, processing_share=0.5), job("J2", base_time=30.0, arrival=140.0)]
    assert least_makespan(Instance(platform, jobs)) == pytest.approx(170.0)
    assert least_makespan(Instance(platform, jobs[:1])) == pytest.approx(150.0)
    assert least_makespan(Instance(platform, [])) == 0.0


@LAW
@given(shared_instances())
def test_no_run_beats_the_bound_and_promises_are_kept(instance):
    schedule = outcome(instance)
    if isinstance(schedule, str):
        return
    found = coalloc.results.sharing_metrics(instance, schedule)
    makespan = coalloc.metrics(instance, schedule)["makespan"]
    assert least_makespan(instance) <= makespan * (1 + 1e-9)
    values = {"makespan": makespan, "total-response-time": found["turnaround_mean"] * len(instance.jobs)}
    with pytest.warns(RelaxedFeatureWarning, match="time-shared nodes"):
        bounds = {name: coalloc.lower_bound(instance, name) for name in values}
    assert all(bounds[name] <= value * (1 + 1e-9) for name, value in values.items())
    contract = instance.sharing.contract
    if contract is not None:
        assert found["user_cpu_least"] >= 1.0 - contract - 1e-9
        kept = 1.0 - contract * (1.0 + instance.sharing.paging)
        assert found["user_memory_least"] >= kept - 1e-6
    assert found["dedicated_slowdown_mean"] >= 1.0 - 1e-9
    assert all(math.isfinite(value) for value in found.values())


def test_lower_bound_relaxes_the_sharing():
    # J1 and J2 take 100 s each alone; of the node 10 s are lost to the user.
    users = pytest.warns(RelaxedFeatureWarning, match=r"relaxes time-shared nodes; it also holds without$")
    with users:
        assert coalloc.lower_bound(PAIR) == pytest.approx(210.0)
    with users:
        assert coalloc.lower_bound(PAIR, "total-response-time", "prices") == pytest.approx(200.0)


def test_policies_are_compared_with_the_bound():
    table = coalloc.compare([PAIR], ["loras"], exact=False)
    assert table["lower_bound"].tolist() == pytest.approx([210.0])
    assert (table["gap"] >= -1e-9).all()
