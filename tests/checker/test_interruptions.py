"""The rules on failures and interrupted runs: each wrong record is found, and a right one passes."""

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.results import Failure, InterruptedRun


@pytest.fixture
def instance():
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=125.0)])
    return Instance(platform, [Job("A", 1, 100.0), Job("B", 1, 10.0)])


@pytest.fixture
def schedule(instance):
    # A has C1/0 until 40 s, B C1/1 until 10 s; A starts anew on C1/1 at 40 s.
    return coalloc.simulate(instance, "fcfs", failures=[Failure(["C1/0"], 40.0, 60.0)]).schedule


def rules(instance, schedule):
    return [violation.rule for violation in coalloc.check(instance, schedule)]


def test_the_record_of_a_run_passes_and_is_the_same_when_it_is_read_again(instance, schedule, tmp_path):
    assert rules(instance, schedule) == []
    coalloc.write_schedule(schedule, tmp_path / "s.json")
    assert coalloc.read_schedule(tmp_path / "s.json") == schedule
    assert '"version": 3' in (tmp_path / "s.json").read_text()


def test_a_run_on_a_failed_node_is_found(instance, schedule):
    last = schedule["A"]
    again = [last.replace(nodes=["C1/0"]), schedule["B"]]
    found = coalloc.check(instance, schedule.replace(placements=again))
    assert [str(violation) for violation in found] == [
        "failed-node: job A is on C1/0 from 40 s to 140 s: failed from 40 s to 60 s"
    ]
    longer = schedule.interrupted[0].replace(end=41.0)
    assert "failed-node" in rules(instance, schedule.replace(interrupted=[longer]))


def test_a_failure_of_an_unknown_node_is_found(instance, schedule):
    found = coalloc.check(instance, schedule.replace(failures=[*schedule.failures, Failure(["C1/2-3"], 1.0, 2.0)]))
    assert [str(violation) for violation in found] == [
        "unknown-node: the failure at 1 s is of C1/2, which is not a node of the platform"
    ]


def test_a_record_is_not_explained_as_if_nothing_had_failed(instance, schedule):
    # The reason given for A, which ran from 0 s to 40 s, was that it could have started then.
    with pytest.raises(CoallocError, match="has failures or interrupted runs, which explain does not support"):
        coalloc.explain(instance, schedule=schedule)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"end": 39.0}, ["interruption"]),  # no node fails then
        ({"nodes": ["C1/1"], "start": 10.0}, ["interruption"]),  # none of its nodes fails
        ({"nodes": ["C1/1"]}, ["interruption", "overlap"]),  # where B is
        ({"nodes": ["C1/0-1"], "start": 10.0}, ["task-count"]),
        ({"job": "Z"}, ["unknown-job"]),
        ({"start": -70.0}, ["arrival", "duration"]),  # before its arrival, and longer than it takes
    ],
)
def test_a_wrong_interrupted_run_is_found(instance, schedule, changes, expected):
    wrong = schedule.replace(interrupted=[schedule.interrupted[0].replace(**changes)])
    assert rules(instance, wrong) == expected


def test_runs_of_a_job_at_the_same_time_are_found(instance):
    # A starts anew on C1/1 at 30 s, while its first run goes on to 40 s.
    placements = [coalloc.Placement("A", 30.0, 130.0, ["C1/1"]), coalloc.Placement("B", 0.0, 10.0, ["C1/1"])]
    interrupted = [InterruptedRun("A", 0.0, 40.0, ["C1/0"], "failure")]
    failures = [Failure(["C1/0"], 40.0, 60.0)]
    wrong = coalloc.Schedule(placements, failures=failures, interrupted=interrupted)
    assert rules(instance, wrong) == ["interruption"]


def test_a_run_that_goes_on_where_an_interrupted_one_stopped_is_too_short(instance, schedule):
    # 40 s are done in the interrupted run: the last one would have to take 60 s more, were they not lost.
    last = schedule["A"].replace(end=100.0)
    assert rules(instance, schedule.replace(placements=[last, schedule["B"]])) == ["duration"]


@pytest.fixture
def resumed():
    """A on both nodes to 10 s and from 30 s on; meanwhile B, which takes 20 s, on C1/0. A asks for 6 MB, B for 4 MB."""
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0, memory=10.0)], link_bandwidth=125.0)])
    jobs = [Job("A", 2, 100.0, memory=6.0), Job("B", 1, 20.0, arrival=10.0, weight=2.0, memory=4.0)]
    instance = Instance(platform, jobs)
    return instance, coalloc.simulate(instance, "easy", preempt="suspend").schedule


def test_the_record_of_a_suspension_passes(resumed, tmp_path):
    assert rules(*resumed) == []
    coalloc.write_schedule(resumed[1], tmp_path / "s.json")
    assert coalloc.read_schedule(tmp_path / "s.json") == resumed[1]


@pytest.mark.parametrize(
    ("job", "changes", "expected"),
    [
        ("A", {"end": 119.0}, ["duration"]),  # 10 s + 89 s
        ("A", {"end": 121.0}, ["duration"]),
        ("A", {"nodes": ["C1/0"]}, ["task-count", "suspension"]),
        ("A", {"start": 29.0}, ["duration", "overlap"]),  # while B runs, for a second more
        ("B", {"start": 9.0, "end": 29.0}, ["arrival", "overlap"]),
    ],
)
def test_a_wrong_placement_after_a_suspension_is_found(resumed, job, changes, expected):
    instance, schedule = resumed
    placements = [p.replace(**changes) if p.job == job else p for p in schedule]
    assert sorted(rules(instance, schedule.replace(placements=placements))) == sorted(expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"end": 9.0}, ["duration"]),  # 9 s + 90 s
        ({"cause": "preemption"}, ["duration"]),  # then its 10 s are lost
        # Beyond its next run, and over B: then A is on both nodes twice, with 12 MB on each.
        ({"end": 31.0}, ["duration", "interruption", "memory", "memory", "overlap", "overlap"]),
    ],
)
def test_a_wrong_suspended_run_is_found(resumed, changes, expected):
    instance, schedule = resumed
    wrong = [schedule.interrupted[0].replace(**changes)]
    assert sorted(rules(instance, schedule.replace(interrupted=wrong))) == sorted(expected)


def test_the_memory_of_a_suspended_job_counts(resumed):
    # 6 MB of A stay on C1/0 while B runs there, which asks for 5 MB.
    instance, schedule = resumed
    larger = instance.replace(jobs=[instance.jobs[0], instance.jobs[1].replace(memory=5.0)])
    found = coalloc.check(larger, schedule)
    assert [(v.rule, v.where, v.when, v.amount) for v in found] == [("memory", "C1/0", 10.0, 11.0)]


def test_a_job_that_only_has_a_lost_run_is_missing(instance, schedule):
    # The lost run of A and the placement of B are as many as the jobs, in their order.
    assert rules(instance, schedule.replace(placements=[schedule["B"]])) == ["missing-job"]


def test_a_suspended_run_without_another_is_found(resumed):
    instance, schedule = resumed
    alone = schedule.replace(placements=[schedule["B"]])
    assert sorted(rules(instance, alone)) == ["duration", "missing-job", "suspension"]
