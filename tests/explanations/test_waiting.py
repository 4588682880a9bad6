"""Why jobs waited: each reason is held against every set of processors that the job could have had, by the checker."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, Lag, NodeGroup, Placement, Platform, Schedule
from coalloc.instance.windows import Window
from coalloc.problem.execution import execution_time
from coalloc.testing.features import DRAWS
from coalloc.testing.small import small_instance

MOMENT = 1e-3
"""Seconds of base time of a job that is there for a moment only."""


def fits(instance, schedule, job, at, *, for_a_moment=False, without=()):
    """Return whether the checker accepts a job on some processors from an instant on, with the others as they are."""
    platform = instance.platform
    given = next(j for j in instance.jobs if j.id == job)
    if for_a_moment:
        given = given.replace(base_time=MOMENT)
    given = given.replace(after=())
    jobs = [given if j.id == job else j.replace(after=()) for j in instance.jobs if j.id not in without]
    case = instance.replace(jobs=tuple(jobs))
    others = [p for p in schedule if p.job != job and p.job not in without]
    groups = dict(
        zip(
            platform.processor_names,
            map(platform.group_of, map(platform.nodes.__getitem__, platform.processor_node)),
            strict=True,
        )
    )
    for nodes in itertools.combinations(groups, given.tasks):
        slowest = max(1.0 / groups[node].effective_power for node in nodes)
        end = at + execution_time(given, slowest)
        if not coalloc.check(case, Schedule([*others, Placement(job, at, end, nodes)])):
            return True
    return False


def confirm(instance, schedule, reason):
    """Assert what a reason says of a job, from the definitions."""
    job, middle = reason.jobs[0], (reason.since + reason.until) / 2.0
    if reason.kind == "precedence":
        ends = {p.job: p.end for p in schedule} | {run.job.id: run.end for run in instance.running}
        assert ends[reason.jobs[1]] == reason.limit >= reason.until - 1e-6
        return
    if reason.kind == "lag":
        # The job started before that time breaks a lag.
        moved = [p.replace(start=middle, end=middle + p.end - p.start) if p.job == job else p for p in schedule]
        rules = {v.rule for v in coalloc.check(instance, Schedule(moved)) if {job, reason.jobs[1]} == set(v.jobs)}
        assert "lag" in rules
        assert reason.limit >= reason.until - 1e-6
        return
    if reason.kind == "window":
        # There is room without windows; with them there is none at the moment, or not to the job's end.
        whole = instance.replace(platform=instance.platform.replace(unavailable=()))
        assert fits(whole, schedule, job, middle, for_a_moment=True)
        assert not fits(instance, schedule, job, reason.since)
        assert fits(instance, schedule, job, middle, for_a_moment=True) == (reason.amount is not None)
        return
    fits_now = fits(instance, schedule, job, middle, for_a_moment=True)
    assert fits_now == (reason.kind in ("reservation", "queue", "together", "alone"))
    if reason.kind == "processors":
        busy = [p for p in schedule if p.start <= middle < p.end]
        running = sum(run.job.tasks for run in instance.running if run.end > middle)
        free = instance.platform.num_processors - sum(len(p.nodes) for p in busy) - running
        assert reason.limit < reason.amount
        assert free <= reason.limit or instance.platform.unavailable
    if fits_now:
        assert fits(instance, schedule, job, reason.since) == (reason.kind != "reservation")
    if reason.kind in ("queue", "together", "alone"):
        # The jobs before it in the queue, by arrival and place in the instance, that have not started either.
        queue = sorted(instance.jobs, key=lambda j: j.arrival)
        before = [j.id for j in queue[: [j.id for j in queue].index(job)] if schedule[j.id].start > middle]
        together = [p.job for p in schedule if p.start == schedule[job].start and p.job != job]
        assert list(reason.jobs[1:]) == (before[:1] or together)
        assert reason.kind == ("queue" if before else "together" if together else "alone")
    if reason.kind == "reservation":
        later = [p.job for p in schedule if p.start >= reason.since + reason.limit - 1e-6 and p.job != job]
        assert set(reason.jobs[1:]) <= set(later)
        assert reason.limit < reason.amount
        assert fits(instance, schedule, job, reason.since, without=later)


def confirmed(instance, schedule):
    """Assert every reason for the waits of a schedule, and that they leave no time out; return their kinds."""
    reasons = coalloc.explain(instance, schedule).of("wait")
    for reason in reasons:
        confirm(instance, schedule, reason)
    for placement in schedule:
        own = [r for r in reasons if r.jobs[0] == placement.job]
        arrival = next(job.arrival for job in instance.jobs if job.id == placement.job)
        assert sum(r.until - r.since for r in own) == pytest.approx(placement.start - arrival, abs=1e-6)
    return {reason.kind for reason in reasons}


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 23])
def test_the_waits_of_an_optimal_schedule(seed):
    instance, _ = small_instance(seed)
    confirmed(instance, coalloc.solve(instance, time_limit=10.0).schedule)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "pas"])
@pytest.mark.parametrize("seed", [3, 8])
def test_the_waits_under_a_policy(policy, seed):
    instance = small_instance(seed)[0]
    quiet = instance.replace(jobs=tuple(job.replace(task_bandwidth=0.0) for job in instance.jobs), running=())
    confirmed(quiet, coalloc.simulate(quiet, policy=policy).schedule)


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_the_waits_beside_windows(seed):
    plain, _ = small_instance(seed)
    quiet = plain.replace(jobs=tuple(job.replace(task_bandwidth=0.0) for job in plain.jobs), running=())
    instance = DRAWS["unavailable"](np.random.default_rng(seed), quiet)
    confirmed(instance, coalloc.solve(instance, time_limit=1.0).schedule)


def test_a_window():
    # The node is not there from 50 to 80 s: J1, of 60 s, could start at once but for that, and is kept back until then.
    closed = platform(1).replace(unavailable=[Window("C1", 50.0, 80.0)])
    instance = Instance(closed, [Job("J1", 1, 60.0)])
    schedule = Schedule([Placement("J1", 80.0, 140.0, ["C1/0"])])
    assert waits(instance, schedule, "J1") == [
        ("window", 0.0, 50.0, 60.0, 50.0, ()),
        ("window", 50.0, 80.0, None, None, ()),
    ]


def test_a_job_that_is_named_and_does_not_wait():
    # Two nodes, J2 arrives at 30 s and starts then: said of it where it is named, else of nobody.
    instance = Instance(platform(2), [Job("J1", 1, 60.0), Job("J2", 1, 10.0, arrival=30.0)])
    schedule = Schedule([Placement("J1", 0.0, 60.0, ["C1/0"]), Placement("J2", 30.0, 40.0, ["C1/1"])])
    assert waits(instance, schedule, "J2") == [("arrival", 30.0, 30.0, None, None, ())]
    assert coalloc.explain(instance, schedule).of("wait") == ()


def platform(*sizes: int, bandwidth: float = 100.0) -> Platform:
    """Return clusters C1, C2, ... of so many reference nodes."""
    return Platform([Cluster(f"C{i}", [NodeGroup(n, power=1.0)], bandwidth) for i, n in enumerate(sizes, 1)])


def waits(instance, schedule, job, **options):
    """Return (kind, since, until, amount, limit, others) of the waits of a job."""
    found = coalloc.explain(instance, schedule, jobs=[job], **options).of("wait")
    return [(r.kind, r.since, r.until, r.amount, r.limit, r.jobs[1:]) for r in found]


def test_processors_then_a_reservation_then_nothing():
    # J1 has both nodes to 100 s, J3 both from 150 to 250 s. J2, of one node and 80 s, could start at 100 s but for J3,
    # and at 250 s; it starts at 300 s.
    jobs = [Job("J1", 2, 100.0), Job("J2", 1, 80.0), Job("J3", 2, 100.0)]
    instance = Instance(platform(2), jobs)
    nodes = ["C1/0", "C1/1"]
    schedule = Schedule(
        [
            Placement("J1", 0.0, 100.0, nodes),
            Placement("J2", 300.0, 380.0, nodes[:1]),
            Placement("J3", 150.0, 250.0, nodes),
        ]
    )
    assert waits(instance, schedule, "J2") == [
        ("processors", 0.0, 100.0, 1, 0, ()),
        ("reservation", 100.0, 150.0, 80.0, 50.0, ("J3",)),
        ("processors", 150.0, 250.0, 1, 0, ()),
        ("alone", 250.0, 300.0, None, None, ()),
    ]
    first, *_ = coalloc.explain(instance, schedule, jobs=["J2"]).of("wait")
    assert first.sentence == "job 'J2' waits from 0 s to 100 s: it has 1 task, but no processor is free for it"
    confirmed(instance, schedule)


def test_a_link():
    # On clusters of 3 nodes J1 has 2 + 1 of them, and puts 2 * 10 * 1/2 = 10 MB/s on links of 15. One and two are left.
    jobs = [Job(f"J{i}", 3, 100.0, 1.0, 10.0) for i in (1, 2)]
    instance = Instance(platform(3, 3, bandwidth=15.0), jobs)
    nodes = ["C1/0", "C1/1", "C2/0"], ["C1/0", "C1/1", "C2/0"]
    schedule = Schedule([Placement("J1", 0.0, 100.0, nodes[0]), Placement("J2", 100.0, 200.0, nodes[1])])
    # There J2 would put 10 MB/s on links that have 5 left.
    assert waits(instance, schedule, "J2") == [("link", 0.0, 100.0, 10.0, pytest.approx(5.0), ())]
    confirmed(instance, schedule)


def test_fcfs_keeps_a_job_behind_the_one_before_it_in_the_queue():
    # Four nodes: beside J1 (3 tasks) one is free to 100 s, when J2 (4 tasks) starts. J3 (1 task, 50 s) would
    # have fitted; J4 starts with it at 200 s, which is no reason.
    jobs = [Job("J1", 3, 100.0), Job("J2", 4, 100.0), Job("J3", 1, 50.0), Job("J4", 1, 50.0)]
    instance = Instance(platform(4), jobs)
    schedule = coalloc.simulate(instance, "fcfs").schedule
    assert waits(instance, schedule, "J3")[0] == ("queue", 0.0, 100.0, None, None, ("J2",))
    first = coalloc.explain(instance, schedule, jobs=["J3"]).of("wait")[0]
    assert first.sentence == "job 'J3' waits from 0 s to 100 s: it could have started; 'J2', queued earlier, had not"
    confirmed(instance, schedule)


def test_a_job_that_still_waits_for_another_is_not_queued_earlier():
    # J2 arrives before J3, but is queued at 100 s, when J1 ends. J3 could have started at 10 s; nobody stood before it.
    jobs = [Job("J1", 1, 100.0), Job("J2", 1, 10.0, after=("J1",)), Job("J3", 1, 20.0, arrival=10.0)]
    starts = {"J1": (0.0, 100.0, "C1/0"), "J2": (110.0, 120.0, "C1/0"), "J3": (90.0, 110.0, "C1/1")}
    schedule = Schedule([Placement(job, start, end, [node]) for job, (start, end, node) in starts.items()])
    instance = Instance(platform(2), jobs)
    assert waits(instance, schedule, "J3") == [("alone", 10.0, 90.0, None, None, ())]
    assert waits(instance, schedule, "J2")[1:] == [("alone", 100.0, 110.0, None, None, ())]


def test_jobs_that_start_together_later_than_they_could():
    # Two nodes; J1 and J2 could run at once at 0 s, and start together at 50 s. J1 is the first of the queue.
    instance = Instance(platform(2), [Job("J1", 1, 10.0), Job("J2", 1, 10.0)])
    schedule = Schedule([Placement("J1", 50.0, 60.0, ["C1/0"]), Placement("J2", 50.0, 60.0, ["C1/1"])])
    assert waits(instance, schedule, "J1") == [("together", 0.0, 50.0, None, None, ("J2",))]
    assert waits(instance, schedule, "J2") == [("queue", 0.0, 50.0, None, None, ("J1",))]


def test_a_job_that_comes_after_another():
    instance = Instance(platform(2), [Job("J1", 1, 100.0), Job("J2", 1, 10.0, after=("J1",))])
    schedule = Schedule([Placement("J1", 0.0, 100.0, ["C1/0"]), Placement("J2", 120.0, 130.0, ["C1/1"])])
    assert waits(instance, schedule, "J2") == [
        ("precedence", 0.0, 100.0, None, 100.0, ("J1",)),
        ("alone", 100.0, 120.0, None, None, ()),
    ]


def test_lags_from_and_to_other_jobs():
    # J2 starts 20 s after the end of J1, and J1, which could start at 0 s, at most 20 s before J2.
    jobs = [Job("J1", 1, 100.0), Job("J2", 1, 10.0, arrival=150.0, lags=[Lag("J1", "end", 20.0, 20.0)])]
    schedule = Schedule([Placement("J1", 40.0, 140.0, ["C1/0"]), Placement("J2", 160.0, 170.0, ["C1/1"])])
    assert waits(Instance(platform(2), jobs), schedule, "J2") == [("lag", 150.0, 160.0, None, 160.0, ("J1",))]
    assert waits(Instance(platform(2), jobs), schedule, "J1") == [("lag", 0.0, 40.0, None, 40.0, ("J2",))]


def test_memory():
    # One node of two cores has memory for one of the two jobs at a time.
    node = Cluster("C1", [NodeGroup(1, power=1.0, cores=2, memory=100.0)], 1.0)
    instance = Instance(Platform([node]), [Job(f"J{i}", 1, 100.0, memory=60.0) for i in (1, 2)])
    schedule = Schedule([Placement("J1", 0.0, 100.0, ["C1/0.0"]), Placement("J2", 100.0, 200.0, ["C1/0.0"])])
    assert waits(instance, schedule, "J2") == [("memory", 0.0, 100.0, 1, None, ())]


def test_within_one_cluster():
    # Four nodes are free, but only two in each cluster, and J2 has three tasks that must be in one.
    instance = Instance(platform(3, 3), [Job("J0", 1, 100.0), Job("J1", 1, 100.0), Job("J2", 3, 100.0)])
    placements = [Placement(f"J{i}", 0.0, 100.0, [node]) for i, node in enumerate(["C1/0", "C2/0"])]
    schedule = Schedule([*placements, Placement("J2", 100.0, 200.0, ["C1/0", "C1/1", "C1/2"])])
    assert waits(instance, schedule, "J2", scope="cluster") == [("processors", 0.0, 100.0, 3, 2, ())]


def test_slots():
    # In slots of 40 s a job of 100 s holds its node for 120. J2 arrives at 50 s and may start at 80 s.
    instance = Instance(platform(1), [Job("J1", 1, 100.0), Job("J2", 1, 10.0, arrival=50.0)])
    schedule = coalloc.solve(instance, slot=40.0).schedule
    first, second = schedule["J1"], schedule["J2"]
    assert (first.start, first.end, second.start) == (0.0, 120.0, 120.0)
    assert waits(instance, schedule, "J2") == [("processors", 80.0, 120.0, 1, 0, ())]


def test_a_job_that_starts_at_once_has_no_reason():
    instance = Instance(platform(1), [Job("J1", 1, 100.0)])
    explanation = coalloc.explain(instance, coalloc.solve(instance).schedule)
    assert explanation.of("wait") == ()
    document = explanation.to_dict()
    assert [reason["sentence"] for reason in document["reasons"]] == [str(r) for r in explanation.reasons]
    assert str(explanation).splitlines()[0] == "what bounds the objective:"
