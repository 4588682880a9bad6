"""A simulation step by step: it is the run that ``simulate`` makes, whoever decides, and branches do not meet."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.extend import Start, Wake, policy_named
from coalloc.simulator.engine import Interrupted
from coalloc.testing.small import small_instance
from tests.simulator.test_simulation import QUICK, cases

FOUR = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)])


def placed(run):
    """Return what happened to each job of a result."""
    return [(p.job, p.start, p.end, tuple(p.nodes), p.outcome) for p in run.schedule]


def three(**changes):
    """Return jobs of 3, 2 and 1 tasks on four nodes, for 100, 50 and 30 s; with estimates twice as long."""
    jobs = [
        Job(f"J{n}", tasks=tasks, base_time=seconds, estimate=2 * seconds, **changes)
        for n, (tasks, seconds) in enumerate([(3, 100.0), (2, 50.0), (1, 30.0)], 1)
    ]
    return Instance(FOUR, jobs)


def later(instance, shift=0.0):
    """Return an instance whose jobs arrive one after the other, 7 s apart."""
    return instance.replace(jobs=[job.replace(arrival=7.0 * n + shift) for n, job in enumerate(instance.jobs)])


def on_small_nodes(seed):
    """Return a small instance that every policy runs: each job fits one node, which has watts."""
    rng = seed
    group = NodeGroup(2, power=2.0, cores=4, static_watts=30.0, idle_watts=50.0, core_watts=10.0)
    other = NodeGroup(2, power=1.0, cores=4, static_watts=9.0, idle_watts=20.0, core_watts=5.0)
    platform = Platform([Cluster("C1", [group], 100.0, efficiency=0.5), Cluster("C2", [other], 100.0, efficiency=0.7)])
    jobs = []
    for n in range(12):
        rng = (1103515245 * rng + 12345) % 2**31
        seconds = 10.0 + rng % 97
        estimate = seconds * (0.5, 1.0, 1.0, 3.0)[rng // 97 % 4]
        jobs.append(Job(f"J{n}", 1 + rng // 1000 % 4, seconds, arrival=float(9 * (n // 2)), estimate=estimate))
    return Instance(platform, jobs)


# ------------------------------------------------------------------------------ the same run


@pytest.mark.parametrize("policy", coalloc.policies())
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_steps_of_a_policy_and_of_its_branches_are_its_run(policy, seed):
    instance = on_small_nodes(seed)
    whole = placed(coalloc.simulate(instance, policy))
    simulation, branches = coalloc.Simulation(instance, policy), []
    while not simulation.finished:
        branches.append(simulation.branch())
        simulation.step()
    for branch in reversed(branches):
        branch.run()
    assert [placed(found.result()) for found in (simulation, *branches)] == [whole] * (len(branches) + 1)


@given(cases(), st.integers(0, 3))
def test_who_steps_by_hand_as_a_policy_decides_gets_its_run(case, num_wasted):
    instance, name, options = case
    shapes = {"shapes": "ends-first"} if name in ("easy", "mesd") else {}
    policy, simulation = policy_named(name, shapes), coalloc.Simulation(instance, **options)
    policy.begin(simulation.state)
    while not simulation.finished:
        decision = list(policy.decide(simulation.state))
        for _ in range(num_wasted):  # what happens in a branch happens there alone
            branch = simulation.branch()
            branch.step(decision)
            if branch.state.running:
                branch.step()
        simulation.step(decision)
    assert placed(simulation.result()) == placed(coalloc.simulate(instance, policy, **options))


@given(cases(), st.lists(st.floats(0.0, 400.0), max_size=5))
def test_a_run_in_parts_is_the_run(case, times):
    instance, policy, options = case
    simulation = coalloc.Simulation(instance, policy, **options)
    for time in sorted(times):
        simulation.run(until=time)
        assert simulation.finished or simulation.now >= time
    simulation.run()
    assert placed(simulation.result()) == placed(coalloc.simulate(instance, policy, **options))


@given(cases())
def test_a_policy_that_takes_over_a_fresh_run_makes_its_own(case):
    instance, policy, options = case
    simulation = coalloc.Simulation(instance, **options)
    branch = simulation.branch(policy)
    branch.run()
    assert placed(branch.result()) == placed(coalloc.simulate(instance, policy, **options))
    assert not simulation.finished
    simulation.reset()
    assert simulation.now == coalloc.Simulation(instance, **options).now


# ------------------------------------------------------------------------------ jobs that come, change and go


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.sampled_from(QUICK), st.sampled_from(["batch", "per-event"]))
def test_jobs_that_are_submitted_and_changed_before_they_arrive_are_as_if_known(seed, policy, passes):
    instance, _ = small_instance(seed)
    known = later(Instance(instance.platform, instance.jobs), 1.0)
    features = known.features & {"after", "lags", "resources", "limits"}
    if features or known.resources_asked:
        known = later(Instance(FOUR, three().jobs), 1.0)
    first, *others = known.jobs
    longer = first.replace(base_time=2 * first.base_time, estimate=2 * first.estimate)
    extra = first.replace(id="extra", arrival=5000.0)
    begun = coalloc.Simulation(known.replace(jobs=[longer, *others, extra]), policy, passes=passes)
    begun.cancel("extra")
    begun.change(first.id, base_time=first.base_time, estimate=first.estimate)
    begun.run(until=3.0)
    begun.submit(first.replace(id="new", arrival=30.0))
    begun.run()
    result = begun.result()
    whole = known.replace(jobs=[*known.jobs, first.replace(id="new", arrival=30.0)])
    assert result.instance == whole
    assert placed(result) == placed(coalloc.simulate(whole, policy, passes=passes))


@pytest.mark.parametrize("policy", QUICK)
def test_a_waiting_job_that_is_cancelled_makes_room_for_others(policy):
    # J1 has three of four nodes to 100 s. J2 is cancelled at 10, before anything else happens: it is as if it had never
    # come.
    simulation = coalloc.Simulation(later(three()), policy)
    simulation.run(until=10.0)
    simulation.cancel("J2")
    simulation.submit(Job("J4", tasks=4, base_time=10.0, arrival=10.0))
    simulation.run()
    others = [job for job in simulation.instance.jobs if job.id != "J2"]
    assert placed(simulation.result()) == placed(coalloc.simulate(simulation.instance.replace(jobs=others), policy))


def test_a_running_job_that_is_cancelled_is_killed_and_frees_its_processors():
    simulation = coalloc.Simulation(later(three()), "easy")
    simulation.run(until=10.0)
    simulation.cancel("J1")
    simulation.run()
    found = {p.job: (p.start, p.end, p.outcome) for p in simulation.result().schedule}
    assert found == {"J1": (0.0, 10.0, "killed"), "J2": (10.0, 60.0, "completed"), "J3": (14.0, 44.0, "completed")}


def test_a_waiting_job_that_changes_joins_the_queue_again():
    # At 0, J1 has three nodes, and J2 waits for two. With one task it starts at 10.
    simulation = coalloc.Simulation(three().replace(jobs=three().jobs[:2]), "fcfs")
    simulation.run(until=10.0)
    simulation.change("J2", tasks=1)
    simulation.run()
    assert simulation.result().schedule["J2"].start == 10.0
    assert simulation.instance.job_by_id["J2"].tasks == 1


# ------------------------------------------------------------------------------ what is known, and rollouts


def test_the_state_has_numbers_and_no_true_run_times():
    simulation = coalloc.Simulation(three())
    assert [job.base_time for job in simulation.state.queue] == [200.0, 100.0, 60.0]
    arrays = simulation.state.arrays()
    simulation.start("J1")
    after = simulation.state.arrays()
    assert (arrays.tasks.tolist(), arrays.free.tolist(), arrays.estimated_ends.tolist()) == ([3, 2, 1], [4], [])
    assert (after.tasks.tolist(), after.free_by_cluster.tolist(), after.estimated_ends.tolist()) == (
        [2, 1],
        [1],
        [200.0],
    )
    assert [run.end for run in simulation.snapshot().running] == [200.0]
    assert {job.id: job.base_time for job in simulation.snapshot().jobs} == {"J2": 100.0, "J3": 60.0}


def test_rollouts_of_each_job_find_the_best_first():
    # J2 and J3 beside each other, then J1 (0, 0, 50 s): 50 s of waiting. J1 and J3 first: J2 waits for 100 s.
    simulation = coalloc.Simulation(three())
    waits = {}
    for job in simulation.state.queue:
        branch = simulation.branch("fpfs")
        branch.start(job.id)
        branch.step()
        branch.run()
        waits[job.id] = branch.result().metrics["wait_mean"]
    assert waits == {"J1": pytest.approx(100 / 3), "J2": pytest.approx(50 / 3), "J3": pytest.approx(100 / 3)}


# ------------------------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        ("J9", "the policy started job 'J9', which is not waiting"),
        (["J1", "J2"], "job 'J2' (2 tasks) does not fit: 4 processors are free before this decision"),
        (["J1", Start("J2", (2,))], "the policy gave job 'J2' 2 processors of node class 0, of which 1 are free"),
        (["J3", Start("J1", (2,))], "the policy gave job 'J1' (2) processors per class, but it has 3 tasks"),
        (["J3", Wake(-1.0)], "the policy requested a wake-up at -1.0, which is not a time after 0 s"),
        (["J3", 7], "decide(state) must return coalloc.extend.Start objects, got 7 among them"),
        (7, "decision must be job ids or coalloc.extend.Start objects, got 7"),
        ([], "the policy never starts the waiting jobs (3)"),
    ],
)
def test_a_wrong_decision_is_one_line_and_changes_nothing(decision, words):
    simulation = coalloc.Simulation(three())
    with pytest.raises(CoallocError) as report:
        simulation.step(decision)
    assert str(report.value).startswith(words)
    assert "\n" not in str(report.value)
    assert [job.id for job in simulation.state.queue] == ["J1", "J2", "J3"]
    assert (simulation.state.free, len(simulation.state.running), simulation.now) == ((4,), 0, 0.0)
    for step in (["J1", "J3"], None, "J2"):  # at 0, 30 and 100 s
        simulation.step(step)
    assert [p.start for p in simulation.result().schedule] == [0.0, 100.0, 0.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.submit(Job("J1", 1, 1.0, arrival=20.0)), "submit: job id 'J1' is in use"),
        (lambda s: s.submit(Job("N", 1, 1.0, arrival=9.0)), "submit: job 'N' arrives at 9 s, before the clock (10 s)"),
        (lambda s: s.submit(Job("N", 1, 1.0, arrival=20.0, after=["J1"])), "submit of a simulation does not support"),
        (lambda s: s.submit(Job("N", 5, 1.0, arrival=20.0)), "jobs[0].tasks: must be at most 4"),
        (lambda s: s.submit(Job("N", 1, 1.0, arrival=20.0, memory=8.0)), "submit: job 'N' requires 8 MB of memory per"),
        (lambda s: s.cancel("J9"), "cancel: the simulation has no job 'J9' of its own"),
        (lambda s: s.change("J1", tasks=1), "change: job 'J1' has started"),
        (lambda s: s.change("J2", arrival=99.0), "change: job 'J2' keeps its id, and an arrival that has passed"),
        (lambda s: s.result(), "the simulation has not finished: time 10 s"),
        (lambda s: coalloc.Simulation(three()).run(), "run requires a policy"),
        (lambda s: s.branch("grid"), "branch: a broker cannot take over a simulation"),
        (lambda s: s.branch("pcbe"), "branch: policy 'pcbe' has scope 'node', but the simulation has 'platform'"),
    ],
)
def test_what_cannot_be_done_is_said(call, words):
    simulation = coalloc.Simulation(three(), "fcfs")
    simulation.run(until=10.0)
    with pytest.raises(CoallocError) as report:
        call(simulation)
    assert str(report.value).startswith(words)
    simulation.run()
    assert placed(simulation.result()) == placed(coalloc.simulate(three(), "fcfs"))


def test_a_policy_with_a_state_that_cannot_be_copied_says_so():
    class Counting:
        scope = "platform"

        def __init__(self):
            self.passes = 0

        def decide(self, state):
            self.passes += 1
            return [Start(state.queue[0].id, (state.queue[0].tasks,))] if not state.running else []

    simulation = coalloc.Simulation(three(), Counting())
    with pytest.raises(CoallocError, match=r"^policy Counting cannot branch: .* method copy\(\)"):
        simulation.branch()
    simulation.run()
    assert simulation.finished


class Interrupting:
    """A policy at whose second pass somebody presses Ctrl-C."""

    scope = "platform"

    def __init__(self):
        self.passes = 0

    def decide(self, state):
        self.passes += 1
        if self.passes == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return [Start(state.queue[0].id, (state.queue[0].tasks,))] if not state.running else []


def test_after_ctrl_c_a_simulation_begins_anew():
    policy = Interrupting()
    simulation = coalloc.Simulation(three(), policy)
    with pytest.raises(Interrupted, match=r"^interrupted in decide\(\) of policy Interrupting at time 100 s"):
        simulation.run()
    with pytest.raises(CoallocError, match=r"call reset\(\)"):
        simulation.step()
    simulation.reset()
    simulation.run()
    assert [p.start for p in simulation.result().schedule] == [0.0, 100.0, 150.0]
