"""Failures of nodes: by hand, against a simulator that looks at every second, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import (
    Cluster,
    CoallocError,
    Instance,
    InstanceError,
    Job,
    NodeGroup,
    Placement,
    Platform,
    UnsupportedFeature,
    Window,
)
from coalloc.results import Failure, InterruptedRun
from tests.simulator import random_windows
from tests.simulator.seconds import EverySecond


def pool(nodes=2, **options):
    return Platform([Cluster("C1", [NodeGroup(nodes, power=1.0)], link_bandwidth=125.0)], **options)


def random_case(seed):
    """Return an instance of whole seconds, failures of its nodes, and whether jobs are requeued, and killed."""
    rng = np.random.default_rng([seed, 11])

    def one(*values):
        return values[int(rng.integers(len(values)))]

    clusters = [
        Cluster(
            f"C{c}",
            [NodeGroup(int(rng.integers(1, 4)), power=one(1.0, 2.0, 0.5), cores=one(1, 1, 2))],
            link_bandwidth=125.0,
        )
        for c in range(1, int(rng.integers(2, 4)))
    ]
    platform = Platform(clusters)
    jobs = []
    for j in range(int(rng.integers(3, 12))):
        base = 4.0 * float(rng.integers(1, 12))
        tasks = int(rng.integers(1, platform.num_processors + 1))
        jobs.append(
            Job(f"J{j}", tasks, base, arrival=float(rng.integers(0, 40)), estimate=base * one(0.5, 1.0, 1.0, 2.0))
        )
    failures = []
    for _ in range(int(rng.integers(0, 8))):
        nodes = [node.name for node in platform.nodes if rng.random() < 0.4] or [platform.nodes[0].name]
        start = float(rng.integers(0, 90))
        failures.append(Failure(nodes, start, start + float(rng.integers(1, 30))))
    return Instance(platform, jobs), failures, {"requeue": rng.random() < 0.8, "kill": rng.random() < 0.3}


def found_by_simulation(instance, policy, failures, **options):
    schedule = coalloc.simulate(instance, policy, failures=failures, **options).schedule
    done = {p.job: (p.start, p.end, list(p.nodes), p.outcome) for p in schedule}
    return done, [(run.job, run.start, run.end, list(run.nodes)) for run in schedule.interrupted]


@pytest.mark.parametrize("policy", ["fcfs", "fpfs", "easy"])
@pytest.mark.parametrize("seed", range(10))
def test_runs_are_those_of_a_simulator_that_looks_at_every_second(seed, policy):
    instance, failures, options = random_case(seed)
    slow = EverySecond(instance, policy, failures, **options).simulate()
    done, interrupted = found_by_simulation(instance, policy, failures, **options)
    assert done == slow.done
    assert sorted(interrupted) == sorted(slow.interrupted)


@pytest.mark.parametrize("policy", ["fcfs", "fpfs", "easy", "slurm"])
@pytest.mark.parametrize("seed", range(15))
def test_failures_go_with_windows_links_and_branches(seed, policy):
    # What is simulated passes the checker, whatever else is there, the same in a branch from the middle.
    instance, kill = random_windows.random_instance(seed)
    rng = np.random.default_rng(seed)
    free = [node.name for node in instance.platform.nodes]
    held = {name.split(".")[0] for run in instance.running for name in run.nodes}
    failures = [
        Failure([name], start := float(rng.uniform(0, 100)), start + float(rng.uniform(1, 40)))
        for name in free
        if name not in held and rng.random() < 0.7
    ]
    for passes in ("batch", "per-event"):
        options = {"failures": failures, "passes": passes, "kill": kill}
        whole = coalloc.simulate(instance, policy, **options)
        simulation = coalloc.Simulation(instance, policy, **options)
        simulation.run(until=float(rng.uniform(0, 120)))
        branch = simulation.branch()
        for one in (branch, simulation):
            one.run()
            assert one.result().schedule == whole.schedule


def test_a_job_starts_anew_behind_the_others():
    # One node. A is interrupted at 40 s and waits behind B: B runs from 60 to 70 s, then A, all of its 100 s.
    instance = Instance(pool(1), [Job("A", 1, 100.0), Job("B", 1, 10.0, arrival=5.0)])
    run = coalloc.simulate(instance, "fcfs", failures=[Failure(["C1/0"], 40.0, 60.0)])
    assert {p.job: (p.start, p.end) for p in run.schedule} == {"A": (70.0, 170.0), "B": (60.0, 70.0)}
    assert run.schedule.interrupted == (InterruptedRun("A", 0.0, 40.0, ["C1/0"], "failure"),)
    # A waits until its first start at 0 s, B for 55 s; 40 processor seconds are lost, and 20 of 170 s idle.
    assert [run.metrics[name] for name in ("wait_max", "interruptions", "lost_processor_seconds")] == [55.0, 1.0, 40.0]
    assert run.metrics["utilization"] == pytest.approx(150.0 / 170.0)
    assert run.metrics["queue_length_mean"] == pytest.approx((55.0 + 30.0) / 170.0)
    frame = run.series()
    assert frame["queue_length"].tolist() == [0.0, 1.0, 2.0, 1.0, 0.0]
    assert frame["busy_processors"].tolist() == [1.0, 1.0, 0.0, 1.0, 1.0]


def test_a_job_is_killed_where_it_may_not_start_anew():
    instance = Instance(pool(2), [Job("A", 1, 100.0)])
    run = coalloc.simulate(instance, "fcfs", failures=[Failure(["C1/0"], 40.0, 60.0)], requeue=False)
    assert run.schedule.placements == (Placement("A", 0.0, 40.0, ["C1/0"], "killed"),)


def test_a_job_that_ends_as_its_node_fails_has_ended():
    instance = Instance(pool(1), [Job("A", 1, 40.0)])
    run = coalloc.simulate(instance, "fcfs", failures=[Failure(["C1/0"], 40.0, 60.0)])
    assert (run.schedule["A"].end, run.schedule.interrupted) == (40.0, ())


def test_a_failure_takes_all_cores_of_a_node_and_ends_with_the_last_of_several():
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2)], link_bandwidth=125.0)])
    failures = [Failure(["C1/0"], 10.0, 20.0), Failure(["C1/0"], 15.0, 30.0)]
    run = coalloc.simulate(Instance(platform, [Job("A", 1, 15.0), Job("B", 1, 5.0)]), "easy", failures=failures)
    assert {p.job: p.start for p in run.schedule} == {"A": 30.0, "B": 0.0}


def test_a_node_that_fails_in_a_window_is_there_when_both_are_over():
    # The window is from 10 to 30 s, the failure from 20 to 40 s: nothing runs between 10 and 40 s.
    platform = pool(1, unavailable=[Window("C1", 10.0, 30.0)])
    instance = Instance(platform, [Job("A", 1, 10.0), Job("B", 1, 5.0)])
    run = coalloc.simulate(instance, "fcfs", failures=[Failure(["C1/0"], 20.0, 40.0)])
    assert {p.job: p.start for p in run.schedule} == {"A": 0.0, "B": 40.0}


@pytest.mark.parametrize("passes", ["batch", "per-event"])
@pytest.mark.parametrize("seconds", [1e-12, 1e-9, 1e-7])
def test_a_node_comes_back_from_the_shortest_failure(seconds, passes):
    # The repair is within the time tolerance of the failure, or just behind it; it was handled first, and the job that
    # starts anew waited for ever.
    instance = Instance(pool(2), [Job("A", 2, 100.0)])
    run = coalloc.simulate(instance, "easy", failures=[Failure(["C1/0"], 1.0, 1.0 + seconds)], passes=passes)
    assert run.schedule["A"].end == pytest.approx(101.0)
    assert run.schedule.interrupted == (InterruptedRun("A", 0.0, 1.0, ["C1/0-1"], "failure"),)


def test_others_pass_a_job_that_needs_failed_nodes():
    # A needs both nodes, one of which is repaired nobody knows when: B passes, and A starts after it.
    instance = Instance(pool(2), [Job("A", 2, 10.0, arrival=5.0), Job("B", 1, 50.0, arrival=6.0)])
    starts = {p.job: p.start for p in coalloc.simulate(instance, "easy", failures=[Failure(["C1/1"], 0, 10)]).schedule}
    assert starts == {"A": 56.0, "B": 6.0}


def test_what_is_seen_at_a_decision_point():
    failures = [Failure(["C1/1"], 5.0, 50.0)]
    simulation = coalloc.Simulation(Instance(pool(2), [Job("A", 1, 10.0, arrival=20.0)]), failures=failures)
    state = simulation.state
    assert (state.now, state.free, state.failed_nodes, state.num_failures) == (20.0, (1,), ("C1/1",), 1)
    assert [(run.nodes[0], run.end) for run in simulation.snapshot().running] == [("C1/1", 1.0)]
    simulation.start("A")
    simulation.step()
    assert simulation.result().schedule["A"].nodes == ("C1/0",)


def test_a_snapshot_names_the_job_on_failed_nodes_like_no_other():
    jobs = [Job("failed nodes", 1, 10.0), Job("failed nodes 2", 1, 10.0)]
    simulation = coalloc.Simulation(Instance(pool(3), jobs), failures=[Failure(["C1/1"], 0.0, 50.0)])
    simulation.start("failed nodes 2")
    assert [run.job.id for run in simulation.snapshot().running] == ["failed nodes 2", "failed nodes 3"]


def test_an_interrupted_job_is_neither_changed_nor_cancelled_while_it_waits():
    simulation = coalloc.Simulation(Instance(pool(1), [Job("A", 1, 9.0)]), failures=[Failure(["C1/0"], 5.0, 50.0)])
    simulation.step("A")
    for call in (lambda: simulation.change("A", tasks=1), lambda: simulation.cancel("A")):
        with pytest.raises(CoallocError, match="while it waits to start again"):
            call()
    simulation.step()
    simulation.step("A")
    assert simulation.result().schedule["A"].start == 50.0


def test_a_policy_that_does_not_list_failures_is_refused_before_work_begins():
    instance, failures = Instance(pool(1), [Job("A", 1, 9.0)]), [Failure(["C1/0"], 5.0, 50.0)]
    for policy in ("conservative", "mesd", "pas", "oas", "grid"):
        with pytest.raises(UnsupportedFeature, match="does not support 'failures', which this run uses"):
            coalloc.simulate(instance, policy, failures=failures)


def test_failures_that_cannot_be_are_refused_with_a_line_for_each():
    running = [coalloc.RunningJob(Job("R", 1, 9.0), ["C1/0"], 9.0)]
    with pytest.raises(CoallocError, match="'C1/0' must not fail at 5 s, it holds running job 'R' from 0 s to 9 s"):
        coalloc.simulate(Instance(pool(2), [], running), "fcfs", failures=[Failure(["C1/0"], 5.0, 50.0)])
    unknown = [Failure([name], 0.0, 1.0) for name in ("C1/1", "C1/2", "C2/0")]
    with pytest.raises(CoallocError) as refused:
        coalloc.simulate(Instance(pool(2), []), "fcfs", failures=unknown)
    assert str(refused.value).splitlines() == [
        "failures[1].nodes: must be nodes of the platform, such as 'C1/0', got 'C1/2'",
        "failures[2].nodes: must be nodes of the platform, such as 'C1/0', got 'C2/0'",
    ]
    with pytest.raises(InstanceError, match="end: must be after its start, 5, got 5"):
        Failure(["C1/0"], 5.0, 5.0)
