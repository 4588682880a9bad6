"""Preemption: by hand, against a simulator that looks at every second, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob, UnsupportedFeature, Window
from coalloc.extend import Preempt, Start
from coalloc.results import InterruptedRun
from tests.simulator.seconds import EverySecond
from tests.simulator.test_failing import found_by_simulation, pool, random_case


def random_weights(seed):
    """Return a random case whose jobs have one of three weights."""
    instance, failures, options = random_case(seed)
    rng = np.random.default_rng([seed, 12])
    jobs = [job.replace(weight=float(rng.integers(1, 4))) for job in instance.jobs]
    return instance.replace(jobs=jobs), failures if rng.random() < 0.5 else [], options


@pytest.mark.parametrize("seed", range(30))
def test_runs_are_those_of_a_simulator_that_looks_at_every_second(seed):
    instance, failures, options = random_weights(seed)
    slow = EverySecond(instance, "preempt", failures, **options).simulate()
    done, interrupted = found_by_simulation(instance, "easy", failures, preempt="requeue", **options)
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


def test_with_equal_weights_nothing_differs():
    instance = coalloc.generate("lublin", seed=3, jobs=150, nodes=64)
    assert coalloc.simulate(instance, "easy", preempt="requeue").schedule == coalloc.simulate(instance, "easy").schedule


@pytest.mark.parametrize("passes", ["batch", "per-event"])
def test_branches_go_on_as_the_run_does(passes):
    instance = coalloc.generate("lublin", seed=4, jobs=80, nodes=64)
    jobs = [job.replace(weight=float(n % 4)) for n, job in enumerate(instance.jobs)]
    instance = instance.replace(jobs=jobs)
    whole = coalloc.simulate(instance, "easy", passes=passes, preempt="requeue", queue_order="wfp3")
    assert whole.metrics["interruptions"] > 5
    middle = float(np.median([job.arrival for job in jobs]))
    simulation = coalloc.Simulation(instance, "easy", passes=passes, preempt="requeue", queue_order="wfp3")
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
