"""Preemption: by hand, against a simulator that looks at every second, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob, UnsupportedFeature, Window
from coalloc.extend import Preempt, Start, policy_named
from coalloc.grid import Partition
from coalloc.results import Failure, InterruptedRun
from tests.simulator.seconds import EverySecond
from tests.simulator.test_failing import found_by_simulation, pool, random_case


def random_weights(seed):
    """Return a random case whose jobs have one of three weights."""
    instance, failures, options = random_case(seed)
    rng = np.random.default_rng([seed, 12])
    jobs = [job.replace(weight=float(rng.integers(1, 4))) for job in instance.jobs]
    return instance.replace(jobs=jobs), failures if rng.random() < 0.5 else [], options


@pytest.mark.parametrize("preempt", ["requeue", "suspend"])
@pytest.mark.parametrize("seed", [*range(30), 636])
def test_runs_are_those_of_a_simulator_that_looks_at_every_second(seed, preempt):
    instance, failures, options = random_weights(seed)
    failures = failures if preempt == "requeue" else []
    slow = EverySecond(instance, preempt, failures, **options).simulate()
    done, interrupted = found_by_simulation(instance, "easy", failures, preempt=preempt, **options)
    assert done == slow.done
    assert sorted(interrupted) == sorted(slow.interrupted)


def test_a_job_of_larger_weight_stops_the_one_that_started_last_and_takes_no_more_than_it_needs():
    # Three nodes. At 10 s C needs two: one is free. Of A and B, both of weight 1, B started last, and makes room.
    jobs = [
        Job("A", 1, 100.0),
        Job("B", 1, 50.0, arrival=5.0),
        Job("C", 2, 10.0, arrival=10.0, weight=2.0),
    ]
    run = coalloc.simulate(Instance(pool(3), jobs), "easy", preempt="requeue")
    assert {p.job: (p.start, p.end) for p in run.schedule} == {"A": (0.0, 100.0), "B": (20.0, 70.0), "C": (10.0, 20.0)}
    assert run.schedule.interrupted == (InterruptedRun("B", 5.0, 10.0, ["C1/1"], "preemption"),)
    assert run.metrics["lost_processor_seconds"] == 5.0


def test_nobody_stops_for_a_job_that_does_not_fit_even_so_or_has_no_larger_weight():
    jobs = [Job("A", 1, 10.0, weight=2.0), Job("B", 1, 20.0), Job("C", 2, 5.0, arrival=1.0, weight=2.0)]
    run = coalloc.simulate(Instance(pool(2), jobs), "easy", preempt="requeue")
    # C would need the node of A, which has its weight: at 10 s A ends, and C stops B.
    assert run.schedule["C"].start == 10.0
    assert [(r.job, r.end) for r in run.schedule.interrupted] == [("B", 10.0)]


@pytest.mark.parametrize("preempt", ["requeue", "suspend"])
def test_with_equal_weights_nothing_differs(preempt):
    instance = coalloc.generate("lublin", seed=3, jobs=150, nodes=64)
    assert coalloc.simulate(instance, "easy", preempt=preempt).schedule == coalloc.simulate(instance, "easy").schedule


@pytest.mark.parametrize("preempt", ["requeue", "suspend"])
@pytest.mark.parametrize("passes", ["batch", "per-event"])
def test_branches_go_on_as_the_run_does(passes, preempt):
    instance = coalloc.generate("lublin", seed=4, jobs=80, nodes=64)
    jobs = [job.replace(weight=float(n % 4)) for n, job in enumerate(instance.jobs)]
    instance = instance.replace(jobs=jobs)
    whole = coalloc.simulate(instance, "easy", passes=passes, preempt=preempt, queue_order="wfp3")
    assert whole.metrics["interruptions"] > 5
    middle = float(np.median([job.arrival for job in jobs]))
    simulation = coalloc.Simulation(instance, "easy", passes=passes, preempt=preempt, queue_order="wfp3")
    simulation.run(until=middle)
    branch = simulation.branch()
    for one in (branch, simulation):
        one.run()
        assert one.result().schedule == whole.schedule


def test_a_caller_preempts_and_starts_in_one_decision():
    simulation = coalloc.Simulation(Instance(pool(1), [Job("A", 1, 100.0), Job("B", 1, 10.0, arrival=5.0)]))
    simulation.step("A")
    with pytest.raises(CoallocError, match="preempted job 'B', which is not running"):
        simulation.step(Preempt("B"))
    assert [job.id for job in simulation.step([Preempt("A"), "B"]).queue] == ["A"]
    with pytest.raises(CoallocError, match="which has started at this very time"):
        simulation.step(Preempt("B"))
    simulation.step()
    simulation.step("A")
    assert {p.job: p.start for p in simulation.result().schedule} == {"A": 15.0, "B": 5.0}


def test_a_policy_that_preempts_for_ever_is_stopped():
    # At 5 s B takes the node of A, which waits then: in the pass after that B would have to stop as it has started.
    class Swapping:
        scope = "platform"

        def decide(self, state):
            return [*(Preempt(run.job.id) for run in state.running), Start(state.queue[0].id, (1,))]

    with pytest.raises(CoallocError, match="which has started at this very time"):
        coalloc.simulate(Instance(pool(1), [Job("A", 1, 9.0), Job("B", 1, 9.0, arrival=5.0)]), Swapping())


def test_what_does_not_go_with_preemption_is_refused():
    jobs = [Job("A", 1, 9.0)]
    window = Instance(pool(1, unavailable=[Window("C1", 5.0, 9.0)]), jobs)
    with pytest.raises(UnsupportedFeature, match="preemption by policy 'easy' does not support 'unavailable'"):
        coalloc.simulate(window, "easy", preempt="requeue")
    simulation = coalloc.Simulation(Instance(pool(2), jobs, [RunningJob(Job("R", 1, 9.0), ["C1/0"], 9.0)]))
    with pytest.raises(CoallocError, match="preempted job 'R', which runs until its given end"):
        simulation.step(Preempt("R"))


def test_a_given_running_job_goes_on_whatever_the_weights():
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=125.0)])
    running = [RunningJob(Job("R", 1, 9.0, weight=0.0), ["C1/0"], 9.0)]
    instance = Instance(platform, [Job("A", 1, 9.0, arrival=1.0, weight=5.0)], running)
    assert coalloc.simulate(instance, "easy", preempt="requeue").schedule["A"].start == 9.0


def suspension(memory=None, **options):
    """Return two nodes, A on both from 0 s, and from 10 s B on one, of larger weight; A asks for 6 MB, B for 4 MB."""
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0, memory=memory)], link_bandwidth=125.0)])
    asked = {"A": 6.0, "B": 4.0} if memory else {"A": None, "B": None}
    jobs = [
        Job("A", 2, 100.0, memory=asked["A"], **options),
        Job("B", 1, 20.0, arrival=10.0, weight=2.0, memory=asked["B"]),
    ]
    return Instance(platform, jobs)


def test_a_suspended_job_resumes_on_its_nodes_and_ends_later_by_the_time_that_it_stood_still():
    # A stops at 10 s, and resumes at 30 s with 90 s to go. C has the weight of A, so C1/1 is not for C meanwhile.
    instance = suspension()
    instance = instance.replace(jobs=[*instance.jobs, Job("C", 1, 5.0, arrival=10.0)])
    run = coalloc.simulate(instance, "easy", preempt="suspend")
    assert {p.job: (p.start, p.end, list(p.nodes)) for p in run.schedule} == {
        "A": (30.0, 120.0, ["C1/0", "C1/1"]),
        "B": (10.0, 30.0, ["C1/0"]),
        "C": (120.0, 125.0, ["C1/0"]),
    }
    assert run.schedule.interrupted == (InterruptedRun("A", 0.0, 10.0, ["C1/0-1"], "suspension"),)
    # 2 * 100 + 20 + 5 processor seconds of 250; nothing is lost, and A executes for its 100 s.
    names = ("utilization", "interruptions", "lost_processor_seconds", "execution_slowdown", "wait_max")
    assert [run.metrics[name] for name in names] == [0.9, 1.0, 0.0, 0.0, 110.0]
    # C waits from 10 to 120 s. A, which is suspended, is not in the queue.
    assert run.metrics["queue_length_mean"] == 110.0 / 125.0
    assert run.series()["running_jobs"].tolist() == [1.0, 1.0, 1.0, 1.0]


def test_a_suspended_job_does_not_resume_on_processors_of_one_of_larger_weight():
    # B stops S2, for which S1 had stopped. At 5 s a node is free that both are to have: S2 could not stop S1 again.
    jobs = [
        Job("Q", 1, 5.0),
        Job("S1", 1, 1000.0),
        Job("S2", 2, 20.0, arrival=5.0, weight=2.0),
        Job("B", 1, 50.0, arrival=10.0, weight=3.0),
    ]
    run = coalloc.simulate(Instance(pool(2), jobs), "easy", preempt="suspend")
    assert {p.job: p.end for p in run.schedule} == {"Q": 5.0, "S1": 1070.0, "S2": 75.0, "B": 60.0}


def test_nobody_passes_a_job_for_ever_because_others_are_suspended():
    # H needs the node of S, which waits for B (to 40 s) and has 95 s left: it can start at 135 s at the latest. P0, of
    # 1,000 s, would be over behind that.
    jobs = [
        Job("Y", 1, 50.0, weight=3.0),
        Job("Z", 1, 20.0, weight=3.0),
        Job("S", 1, 100.0, weight=2.0),
        Job("B", 1, 35.0, arrival=5.0, weight=3.0),
        Job("H", 3, 10.0, arrival=6.0, weight=2.0),
        Job("P0", 1, 1000.0, arrival=7.0, weight=2.0),
    ]
    run = coalloc.simulate(Instance(pool(3), jobs), "easy", preempt="suspend")
    assert run.schedule["H"].start == 135.0
    assert run.schedule["P0"].start == 145.0


def test_the_time_limit_of_a_suspended_job_does_not_go_on():
    # A may run for 50 s: 10 s before its suspension, and 40 s after 30 s.
    run = coalloc.simulate(suspension(estimate=50.0), "easy", preempt="suspend", kill=True)
    assert (run.schedule["A"].end, run.schedule["A"].outcome) == (70.0, "killed")


@pytest.mark.parametrize(("memory", "start"), [(10.0, 10.0), (9.0, 100.0)])
def test_a_suspended_job_keeps_its_memory(memory, start):
    # Of the nodes, 6 MB stay with A: for the 4 MB of B there have to be 10 MB, or B waits until A has ended.
    instance = suspension(memory)
    run = coalloc.simulate(instance, "easy", preempt="suspend")
    assert run.schedule["B"].start == start
    assert coalloc.simulate(instance, "easy", preempt="requeue").schedule["B"].start == 10.0


def test_suspended_jobs_do_not_load_links():
    # Both clusters: each of A's two tasks sends 100 MB/s to the other over links of 50 MB/s: A takes 200 s, SC = 2.
    clusters = [Cluster(f"C{k}", [NodeGroup(1, power=1.0)], link_bandwidth=50.0) for k in (1, 2)]
    jobs = [
        Job("A", 2, 100.0, task_bandwidth=100.0, processing_share=0.0),
        Job("B", 1, 20.0, arrival=50.0, weight=2.0),
    ]
    run = coalloc.simulate(Instance(Platform(clusters), jobs), "easy", preempt="suspend")
    assert (run.schedule["A"].start, run.schedule["A"].end) == (70.0, 220.0)
    assert run.series()["load:C1"].tolist() == [100.0, 0.0, 100.0]


@pytest.mark.parametrize("seed", range(20))
def test_suspensions_go_with_memory_links_and_branches(seed):
    # What is simulated passes the checker, the same in a branch from the middle.
    rng = np.random.default_rng([seed, 13])
    groups = [[NodeGroup(int(rng.integers(1, 4)), float(rng.choice([1.0, 2.0])), cores=2, memory=8.0)] for _ in "12"]
    clusters = [Cluster(f"C{k}", group, link_bandwidth=60.0) for k, group in enumerate(groups)]
    platform = Platform(clusters)
    jobs = [
        Job(
            f"J{j}",
            int(rng.integers(1, platform.num_processors + 1)),
            float(rng.integers(1, 50)),
            arrival=float(rng.integers(0, 60)),
            weight=float(rng.integers(1, 4)),
            memory=float(rng.integers(0, 3)) or None,
            task_bandwidth=float(rng.integers(0, 80)),
            processing_share=0.5,
        )
        for j in range(12)
    ]
    instance = Instance(platform, jobs)
    for options in ({}, {"passes": "per-event", "kill": True, "candidates": "spt"}):
        whole = coalloc.simulate(instance, "easy", preempt="suspend", **options)
        simulation = coalloc.Simulation(instance, "easy", preempt="suspend", **options)
        simulation.run(until=float(rng.uniform(0, 120)))
        branch = simulation.branch()
        for one in (branch, simulation):
            one.run()
            assert one.result().schedule == whole.schedule


def test_a_job_met_saturation_in_whichever_run():
    # A and D saturate the links until 5 s; A resumes alone, and B takes no link: two of three jobs met saturation.
    clusters = [Cluster(f"C{k}", [NodeGroup(2, power=1.0)], link_bandwidth=50.0) for k in (1, 2)]
    jobs = [
        Job("A", 2, 100.0, task_bandwidth=40.0, processing_share=0.5),
        Job("D", 2, 5.0, task_bandwidth=40.0, processing_share=0.5),
        Job("B", 1, 20.0, arrival=5.0),
    ]
    simulation = coalloc.Simulation(Instance(Platform(clusters), jobs))
    simulation.step([Start("A", nodes=("C1/0", "C2/0")), Start("D", nodes=("C1/1", "C2/1"))])
    simulation.step([Preempt("A", suspend=True), Start("B", nodes=("C1/0",))])
    while len(simulation.state.running):
        simulation.step([])
    simulation.step([Start("A")])
    assert simulation.result().metrics["saturated_share"] == pytest.approx(2 / 3)


def test_a_caller_suspends_and_resumes():
    simulation = coalloc.Simulation(Instance(pool(1), [Job("A", 1, 100.0), Job("B", 1, 10.0, arrival=5.0)]))
    simulation.step("A")
    simulation.step([Preempt("A", suspend=True), "B"])
    # B has ended at 15 s. A has run for 5 s; to wait for ever is an error, and so are other nodes.
    assert (simulation.now, [run.job.id for run in simulation.state.suspended]) == (15.0, ["A"])
    with pytest.raises(CoallocError, match="never resumes the suspended job 'A', and nothing else will happen"):
        simulation.step()
    with pytest.raises(CoallocError, match="gave job 'A' processors, but it resumes on its own"):
        simulation.step(Start("A", (1,)))
    with pytest.raises(CoallocError, match="cannot be changed or cancelled while it waits to start again"):
        simulation.cancel("A")
    with pytest.raises(CoallocError, match="job 'A' is suspended, which a snapshot does not support"):
        simulation.snapshot()
    simulation.step("A")
    assert {p.job: (p.start, p.end) for p in simulation.result().schedule} == {"A": (15.0, 110.0), "B": (5.0, 15.0)}


def test_a_job_does_not_resume_on_processors_of_others():
    jobs = [Job("A", 1, 100.0), Job("B", 1, 10.0, arrival=5.0), Job("C", 1, 10.0, arrival=7.0)]
    simulation = coalloc.Simulation(Instance(pool(1), jobs))
    simulation.step("A")
    simulation.step([Preempt("A", suspend=True), "B"])
    with pytest.raises(CoallocError, match="the policy resumed job 'A', whose processors another job holds"):
        simulation.step("A")


@pytest.mark.parametrize("name", ["conservative", "mesd", "fcfs"])
def test_policies_that_do_not_know_suspension_do_not_meet_it(name):
    jobs = [Job("A", 1, 10.0), Job("C", 2, 5.0, arrival=6.0)]
    instance = Instance(pool(2), jobs)
    simulation = coalloc.Simulation(instance, name)
    simulation.step()
    with pytest.raises(CoallocError, match="must list 'suspension' in its supported_features"):
        simulation.step([Preempt("A", suspend=True)])
    by_hand = coalloc.Simulation(instance)
    by_hand.step("A")
    by_hand.step([Preempt("A", suspend=True), "C"])
    with pytest.raises(UnsupportedFeature, match=rf"branch to policy '{name}'.*suspension"):
        by_hand.branch(name)


def test_what_does_not_go_with_preemption_is_refused_of_a_part_of_a_broker():
    class One:
        scope = "cluster"
        supported_features = frozenset({"unavailable"})

        def partitions(self, platform):
            return [Partition(policy_named("easy", {"preempt": "suspend"}), ("C1",), "C1")]

        def route(self, sites, job):
            return sites[0]

    windows = [Window("C1", 500.0, 600.0, group=0, processors=1)]
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=125.0)], unavailable=windows)
    with pytest.raises(UnsupportedFeature, match=r"preemption by policy 'C1'.*unavailable"):
        coalloc.simulate(Instance(platform, [Job("A", 1, 10.0)]), One())


def test_what_does_not_go_with_suspension_is_refused():
    failures = [Failure(["C1/0"], 500.0, 600.0)]
    with pytest.raises(UnsupportedFeature, match="suspension by policy 'easy' does not support 'failures'"):
        coalloc.simulate(suspension(), "easy", preempt="suspend", failures=failures)
    simulation = coalloc.Simulation(suspension(), failures=failures)
    simulation.step("A")
    with pytest.raises(CoallocError, match="reservations and power states do not support suspension"):
        simulation.step(Preempt("A", suspend=True))
    simulation = coalloc.Simulation(suspension(10.0))
    simulation.step("A")
    with pytest.raises(CoallocError, match="must have suspends = True where jobs require memory"):
        simulation.step(Preempt("A", suspend=True))
