"""Windows and reservations in simulations: by hand, against a slow simulator, and as laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import (
    Cluster,
    CoallocError,
    Instance,
    Job,
    NodeGroup,
    Placement,
    Platform,
    RunningJob,
    Window,
)
from coalloc.extend import Start
from coalloc.heuristics.backfilling import Easy
from coalloc.heuristics.registry import POLICIES
from coalloc.simulator.policy import ENFORCED
from coalloc.simulator.site import Partition
from tests.simulator.random_windows import random_instance
from tests.simulator.slow import Slow
from tests.strategies import LAW

WATTS = {"idle_watts": 1.0, "static_watts": 2.0, "core_watts": 1.0}
KNOWING = [name for name in POLICIES if "unavailable" in getattr(POLICIES[name].make, "supported_features", ENFORCED)]
"""Policies that know windows."""


def pool(nodes, *windows):
    return Platform([Cluster("C1", [NodeGroup(nodes, power=1.0, **WATTS)], link_bandwidth=10.0)], unavailable=windows)


def placements(instance, policy, **options):
    return {p.job: p for p in coalloc.simulate(instance, policy, **options).schedule}


def spans(instance, policy, **options):
    return {job: (p.start, p.end) for job, p in placements(instance, policy, **options).items()}


# ---------------------------------------------------------------------- starts


@pytest.mark.parametrize("passes", ["batch", "per-event"])
@pytest.mark.parametrize("name", KNOWING)
def test_no_job_starts_that_would_run_into_a_window(name, passes):
    # One node, away from 50 to 100 s. A fits before; B would end at 60 s, and nothing happens before 100 s.
    instance = Instance(pool(1, Window("C1", 50.0, 100.0)), [Job("A", 1, 20.0), Job("B", 1, 40.0, arrival=20.0)])
    assert spans(instance, name, passes=passes) == {"A": (0.0, 20.0), "B": (100.0, 140.0)}


@pytest.mark.parametrize("name", KNOWING)
def test_a_job_that_ends_as_a_window_begins_runs_before_it(name):
    instance = Instance(pool(1, Window("C1", 50.1, 100.0)), [Job("A", 1, 50.0, arrival=0.1)])
    assert spans(instance, name) == {"A": (0.1, 50.1)}


@pytest.mark.parametrize("passes", ["batch", "per-event"])
@pytest.mark.parametrize("name", KNOWING)
def test_windows_that_end_at_the_same_time_but_for_rounding_end_at_once(name, passes):
    # Both nodes are away from 0.2 s to 0.3 s, which one of the windows has as 0.1 * 3.
    windows = [Window("C1", 0.2, end, group=0, processors=1) for end in (0.3, 0.1 * 3)]
    instance = Instance(pool(2, *windows), [Job("A", 1, 0.1), Job("B", 1, 3.0, arrival=0.25)])
    assert spans(instance, name, passes=passes) == {"A": (0.0, 0.1), "B": (pytest.approx(0.3), pytest.approx(3.3))}


@pytest.mark.parametrize("name", KNOWING)
def test_a_window_within_the_tolerance_is_none(name):
    instance = Instance(pool(1, Window("C1", 5.0, 5.0 + 1e-9)), [Job("A", 1, 20.0)])
    assert spans(instance, name) == {"A": (0.0, 20.0)}


@pytest.mark.parametrize("name", KNOWING)
def test_a_window_of_a_number_of_processors_takes_any(name):
    # Of 2 nodes one is left from 10 to 30 s: A and B, on either, cannot both be there at 10 s.
    window = Window("C1", 10.0, 30.0, group=0, processors=1)
    instance = Instance(pool(2, window), [Job("A", 1, 20.0), Job("B", 1, 15.0)])
    found = spans(instance, name)
    assert sorted(found.values()) in ([(0.0, 20.0), (20.0, 35.0)], [(0.0, 15.0), (15.0, 35.0)])


@pytest.mark.parametrize("name", KNOWING)
def test_a_reservation_is_kept(name):
    # R has C1/0 from 50 to 60 s. A, 55 s, goes to the other node; B, 55 s as well, behind it or behind R.
    running = [RunningJob(Job("R", 1, 5.0), ["C1/0"], 60.0, start=50.0)]
    found = placements(Instance(pool(2), [Job("A", 1, 55.0), Job("B", 1, 55.0)], running), name)
    assert (found["A"].start, list(found["A"].nodes)) == (0.0, ["C1/1"])
    assert (found["B"].start, list(found["B"].nodes)) == (55.0, ["C1/1"])


def test_easy_fills_before_a_window_and_keeps_the_head_its_start():
    # 2 nodes, C1/1 away from 30 to 50 s. A has one to 40 s, so B, of 2 tasks, starts at 50 s. C, 30 s, fits before the
    # window; D, 15 s, then fits C1/0 from 40 to 50 s only if it took 10 s: it comes behind B.
    jobs = [Job("A", 1, 40.0), Job("B", 2, 10.0), Job("C", 1, 30.0), Job("D", 1, 15.0), Job("E", 1, 10.0)]
    instance = Instance(pool(2, Window("C1", 30.0, 50.0, nodes=["C1/1"])), jobs)
    starts = {"A": 0.0, "B": 50.0, "C": 0.0, "D": 60.0, "E": 40.0}
    assert {job: start for job, (start, _) in spans(instance, "easy").items()} == starts
    assert {job: start for job, (start, _) in spans(instance, "conservative").items()} == starts
    in_order = {"A": 0.0, "B": 50.0, "C": 60.0, "D": 60.0, "E": 75.0}
    assert {job: start for job, (start, _) in spans(instance, "fcfs").items()} == in_order


def test_the_rule_is_asked_again_where_its_choice_would_run_into_a_window():
    # The fast node takes 10 s for A, and is away from 8 s on: A takes the slow one, 20 s.
    groups = [NodeGroup(1, power=2.0), NodeGroup(1, power=1.0)]
    platform = Platform([Cluster("C1", groups, 10.0)], unavailable=[Window("C1", 8.0, 30.0, nodes=["C1/0"])])
    found = placements(Instance(platform, [Job("A", 1, 20.0)]), "fcfs")["A"]
    assert (list(found.nodes), found.end) == (["C1/1"], 20.0)


def test_a_plan_waits_for_a_window_rather_than_run_into_it():
    # MESD plans A, then B behind it on the one node, to 95 s. A takes 10 s more than estimated: B would end at 105 s.
    instance = Instance(pool(1, Window("C1", 100.0, 200.0)), [Job("A", 1, 60.0, estimate=50.0), Job("B", 1, 45.0)])
    assert spans(instance, "mesd") == {"A": (0.0, 60.0), "B": (200.0, 245.0)}


# ---------------------------------------------------------------------- kills


@pytest.mark.parametrize("passes", ["batch", "per-event"])
@pytest.mark.parametrize("name", KNOWING)
def test_a_job_that_still_runs_when_a_window_begins_is_killed(name, passes):
    instance = Instance(pool(1, Window("C1", 50.0, 100.0)), [Job("A", 1, 70.0, estimate=40.0), Job("B", 1, 10.0)])
    found = placements(instance, name, passes=passes)
    assert found["A"] == Placement("A", found["A"].start, 50.0, ["C1/0"], "killed")
    run = coalloc.simulate(instance, name, passes=passes)
    assert run.metrics["killed"] == 1.0


def test_a_job_that_ends_as_a_window_begins_is_not_killed():
    instance = Instance(pool(1, Window("C1", 50.0, 100.0)), [Job("A", 1, 50.0, estimate=40.0)])
    for passes in ("batch", "per-event"):
        assert placements(instance, "fcfs", passes=passes)["A"].outcome == "completed"


def test_of_a_group_those_go_that_are_overdue_and_started_last():
    # Three nodes, two of which go at 50 s. A is on time, B and C are overdue: C started later, B goes as well.
    jobs = [Job("A", 1, 90.0), Job("B", 1, 70.0, estimate=40.0), Job("C", 1, 70.0, estimate=30.0, arrival=1.0)]
    window = Window("C1", 50.0, 60.0, group=0, processors=2)
    found = placements(Instance(pool(3, window), jobs), "fcfs")
    assert {job: (p.end, p.outcome) for job, p in found.items()} == {
        "A": (90.0, "completed"),
        "B": (50.0, "killed"),
        "C": (50.0, "killed"),
    }
    one = window.replace(processors=1)
    found = placements(Instance(pool(3, one), jobs), "fcfs")
    assert [found[job].outcome for job in "ABC"] == ["completed", "completed", "killed"]


def test_a_job_is_killed_where_a_reservation_begins_and_others_go_on():
    running = [RunningJob(Job("R", 1, 5.0), ["C1/0"], 60.0, start=50.0)]
    jobs = [Job(name, 1, 70.0, estimate=40.0) for name in "AB"] + [Job("C", 1, 10.0, after=["R"])]
    found = placements(Instance(pool(2), jobs, running), "fcfs")
    assert {job: (p.start, p.end, p.outcome) for job, p in found.items()} == {
        "A": (0.0, 50.0, "killed"),
        "B": (0.0, 70.0, "completed"),
        "C": (60.0, 70.0, "completed"),
    }


def test_a_reservation_loads_its_links_while_it_lasts():
    # A puts 8 MB/s on links of 8 MB/s; with R, from 10 to 30 s, SC is 2: of its 40 s 10 are done at 10 s, and from then
    # on it takes 40 (0.5 + 0.5 * 2) = 60 s: a third of that to 30 s; the rest, 10/24 of it, 16.67 s.
    platform = Platform([Cluster(name, [NodeGroup(2, power=1.0)], link_bandwidth=8.0) for name in ("C1", "C2")])
    running = [RunningJob(Job("R", 2, 9.0, task_bandwidth=8.0), ["C1/1", "C2/1"], 30.0, start=10.0)]

    class Across:
        scope = "platform"

        def decide(self, state):
            return [Start(job.id, nodes=("C1/0", "C2/0")) for job in state.queue]

    instance = Instance(platform, [Job("A", 2, 40.0, 0.5, task_bandwidth=8.0)], running)
    assert placements(instance, Across())["A"].end == pytest.approx(30.0 + (1.0 - 0.25 - 1.0 / 3.0) * 40.0)


# ---------------------------------------------------------------------- policies of one's own


class Looking:
    """Starts nothing before 40 s, and notes what it sees."""

    scope = "platform"

    def __init__(self):
        self.seen = []

    def decide(self, state):
        free, job = state.free, state.queue[0]
        may = state.may_start(job, (1,) + (0,) * (len(state.classes) - 1))
        self.seen.append((state.now, free, state.open_until, [(c.start, c.end) for c in state.closings], may))
        return [Start(job.id, nodes=("C1/1",))] if state.now >= 40.0 else []


def test_a_policy_sees_what_is_there_and_when_it_ends_to_be():
    # C1/0 is a class of its own; it is away from 10 to 20 s, R has it from 30 to 40 s. The job takes 12 s.
    platform = pool(2, Window("C1", 10.0, 20.0, nodes=["C1/0"]))
    running = [RunningJob(Job("R", 1, 5.0), ["C1/0"], 40.0, start=30.0)]
    policy, inf = Looking(), float("inf")
    coalloc.simulate(Instance(platform, [Job("A", 1, 12.0)], running), policy)
    assert policy.seen == [
        (0.0, (1, 1), (10.0, inf), [(10.0, 20.0), (30.0, 40.0)], False),
        (10.0, (0, 1), (10.0, inf), [(10.0, 20.0), (30.0, 40.0)], False),
        (20.0, (1, 1), (30.0, inf), [(30.0, 40.0)], False),
        (30.0, (0, 1), (30.0, inf), [(30.0, 40.0)], False),
        (40.0, (1, 1), (inf, inf), [], True),
    ]


class Hasty:
    """Starts each job on the first nodes."""

    scope = "platform"

    def decide(self, state):
        job = state.queue[0]
        return [Start(job.id, nodes=tuple(f"C1/{n}" for n in range(job.tasks)))]


@pytest.mark.parametrize(
    ("window", "sentence"),
    [
        (
            Window("C1", 5.0, 9.0, nodes=["C1/0"]),
            "the policy started job 'A' on node class 0, which is unavailable from 5 s to 9 s; by its requested "
            "walltime it would run from "
            "0 s to 10 s",
        ),
        (
            Window("C1", 5.0, 9.0, group=0, processors=2),
            "the policy started job 'A' in a node group in which an outage leaves 1 processors at 5 s, too few for the "
            "jobs then; by its requested walltime it would run from 0 s to 10 s",
        ),
        (Window("C1", 0.0, 9.0, nodes=["C1/0"]), "the policy gave job 'A' processors that another job holds"),
        (
            Window("C1", 0.0, 9.0, group=0, processors=2),
            "the policy gave job 'A' 2 processors of node class 0, of which an outage leaves 1",
        ),
    ],
)
def test_a_start_into_a_window_is_refused(window, sentence):
    with pytest.raises(CoallocError) as caught:
        coalloc.simulate(Instance(pool(3, window), [Job("A", 2, 10.0)]), Hasty())
    assert str(caught.value).startswith(sentence)


def test_a_part_of_a_node_is_not_reserved():
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2)], link_bandwidth=10.0)])
    running = [RunningJob(Job("R", 1, 5.0), ["C1/0.1"], 60.0, start=50.0)]
    with pytest.raises(
        CoallocError, match=r"^reservation 'R' \(start 50 s\) covers a part of a node; simulations require"
    ):
        coalloc.simulate(Instance(platform, [Job("A", 1, 1.0)], running), "fcfs")


@pytest.mark.parametrize("name", ["grid", "loras"])
def test_what_does_not_know_windows_refuses_them(name):
    why = {
        "grid": "its broker assumes that all processors of a site are available to every job at all times",
        "loras": "it considers only the current tasks and memory of nodes",
    }
    with pytest.raises(CoallocError) as caught:
        coalloc.simulate(Instance(pool(1, Window("C1", 5.0, 9.0)), [Job("A", 1, 1.0)]), name)
    assert str(caught.value) == (
        f"simulate with policy '{name}' does not support 'unavailable', which this instance uses: {why[name]}"
    )


# ---------------------------------------------------------------------- agreement, and laws


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_a_slow_simulator_agrees(policy):
    num_killed = num_jobs = 0
    for seed in range(120):
        instance, kill = random_instance(seed)
        slow = Slow(instance, policy, kill).run().outcomes
        for p in coalloc.simulate(instance, policy, kill=kill).schedule:
            assert (p.start, p.end) == pytest.approx(slow[p.job][:2], abs=1e-6), (seed, p.job)
            assert p.outcome == slow[p.job][2], (seed, p.job)
            num_killed, num_jobs = num_killed + (p.outcome == "killed"), num_jobs + 1
    assert num_jobs > 800
    assert num_killed > 50


@pytest.mark.parametrize("name", KNOWING)
def test_nothing_starts_by_its_estimate_into_a_window(name):
    """That nothing overlaps one the checker says of each run; that all have run, that none waits for ever."""
    num_jobs = 0
    for seed in range(15):
        instance, kill = random_instance(1000 + seed)
        instance = with_watts(instance)
        if name in ("pcbe", "node-list"):
            instance = instance.replace(jobs=[job.replace(tasks=1) for job in instance.jobs])
        if name in ("pas", "oas"):  # which refuse jobs that saturate a link by themselves
            instance = instance.replace(jobs=[job.replace(task_bandwidth=0.0) for job in instance.jobs])
        options = {"work_limit": 200} if name == "oas" else {}
        for placement in coalloc.simulate(instance, name, kill=kill, **options).schedule:
            num_jobs += 1
            begins = [start for start, held in named_closings(instance) if held & set(placement.nodes)]
            end = placement.start + estimated(instance, placement)
            assert not [start for start in begins if placement.start + 1e-6 < start < end - 1e-6], (seed, placement)
    assert num_jobs >= 60


@LAW
@given(st.integers(0, 10**6))
def test_jobs_are_killed_only_where_something_begins(seed):
    """Jobs have no limits here. That all others do all their work is what the checker says of each run."""
    instance, _ = random_instance(seed)
    begins = {window.start for window in instance.platform.unavailable} | {run.start for run in instance.running}
    for name in ("fpfs", "easy", "conservative"):
        run = coalloc.simulate(instance, name)
        ends = {placement.end for placement in run.schedule if placement.outcome == "killed"}
        assert ends <= begins
        assert run.metrics["killed"] == sum(placement.outcome == "killed" for placement in run.schedule)


class Halves:
    """A broker of a user's own: jobs whose names begin with X go to the first cluster, others to the second."""

    scope = "cluster"

    def partitions(self, platform):
        return [Partition(Easy(), (cluster.name,), cluster.name) for cluster in platform.clusters]

    def route(self, sites, job):
        return sites[0 if job.id.startswith("X") else 1]


def test_each_site_of_a_broker_has_its_own_windows():
    # C2 is away from 5 to 20 s, and R has C2/0 from 30 to 35 s: Y, 10 s, starts at 20 s, Z, 12 s, behind R.
    clusters = [Cluster(name, [NodeGroup(1, power=1.0)], link_bandwidth=10.0) for name in ("C1", "C2")]
    running = [RunningJob(Job("R", 1, 5.0), ["C2/0"], 35.0, start=30.0)]
    jobs = [Job("X", 1, 10.0), Job("Y", 1, 10.0), Job("Z", 1, 12.0)]
    instance = Instance(Platform(clusters, unavailable=[Window("C2", 5.0, 20.0)]), jobs, running)
    assert {job: start for job, (start, _) in spans(instance, Halves()).items()} == {"X": 0.0, "Y": 20.0, "Z": 35.0}


def test_why_a_job_waits_for_a_window_is_said():
    instance = Instance(pool(1, Window("C1", 50.0, 100.0)), [Job("A", 1, 20.0), Job("B", 1, 40.0, arrival=20.0)])
    schedule = coalloc.simulate(instance, "easy").schedule
    waits = coalloc.explain(instance, schedule).of("wait")
    assert [(reason.kind, reason.since, reason.until) for reason in waits] == [
        ("window", 20.0, 50.0),
        ("window", 50.0, 100.0),
    ]


def with_watts(instance):
    clusters = [c.replace(nodes=[g.replace(**WATTS) for g in c.nodes]) for c in instance.platform.clusters]
    return instance.replace(platform=instance.platform.replace(clusters=clusters))


def named_closings(instance):
    """Yield when windows of nodes, and jobs that start later, begin, and on which processors."""
    platform = instance.platform
    for window, nodes in zip(platform.unavailable, platform.window_nodes, strict=True):
        if window.group is None:
            names = zip(platform.processor_names, platform.processor_node, strict=True)
            yield window.start, {name for name, node in names if node in nodes}
    for run in instance.running:
        if run.start > 0.0:
            yield run.start, set(run.nodes)


def estimated(instance, placement):
    """Return what the estimate says that a job takes where it is, s."""
    job, platform = instance.job_by_id[placement.job], instance.platform
    used = {platform.processor_node[platform.processor_index[name]] for name in placement.nodes}
    slowest = min(platform.group_of(platform.nodes[node]).effective_power for node in used)
    return job.estimate * (job.processing_share / slowest + 1.0 - job.processing_share)


def test_a_plan_in_steps_holds_nothing_in_a_window():
    # A job is expected to end at 30.25 s. In steps of 60 s it would hold its nodes to 60 s, in the window from 32 s on.
    instance, kill = random_instance(53)
    assert len(coalloc.simulate(instance, "slurm", kill=kill).schedule) == len(instance.jobs)
