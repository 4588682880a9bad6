"""Time lags of jobs: faults, methods, policies, the checker and replays, with expected values derived by hand."""

from __future__ import annotations

import json

import pytest

import coalloc
from coalloc import (
    Cluster,
    CoallocError,
    Instance,
    InstanceError,
    Job,
    Lag,
    NodeGroup,
    Placement,
    Platform,
    RunningJob,
    Schedule,
    Shape,
)

PLATFORM = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=10.0)])
POLICIES = ("fcfs", "easy", "conservative", "mesd")
CLOSE = 1e-6


def starts(schedule: Schedule) -> dict[str, float]:
    return {placement.job: placement.start for placement in schedule}


def chained(*lags: Lag, **changes: object) -> Instance:
    """Return J1, of 10 s, and J2 with lags; both fit at once."""
    return Instance(PLATFORM, [Job("J1", 1, 10.0), Job("J2", 1, 10.0, lags=lags, **changes)])


def test_every_fault_of_lags_is_one_line():
    running = [RunningJob(Job("R1", 1, 5.0), ["C1/0"], 5.0), RunningJob(Job("R2", 1, 5.0), ["C1/1"], 9.0, start=3.0)]
    jobs = [
        Job("J1", 1, 1.0, lags=[Lag("J9"), Lag("J1")]),
        Job("J2", 1, 1.0, lags=[Lag("R1", "start"), Lag("R1"), Lag("R2", "start"), Lag("J1", "end", 5.0, 4.0)]),
    ]
    with pytest.raises(InstanceError) as caught:
        Instance(PLATFORM, jobs, running)
    assert str(caught.value).splitlines() == [
        "jobs[0].lags[0].after: must be a job of the instance, got 'J9'",
        "jobs[0].lags[1].after: must be another job, got 'J1'",
        "jobs[1].lags[0].from: must be 'end': the start of the running job 'R1' is unknown",
        "jobs[1].lags[3].max: must be at least min, 5, got 4.0",
    ]


@pytest.mark.parametrize("lag", [Lag("J2", "end"), Lag("J2", "start", 1.0)])
def test_a_cycle_with_a_positive_lag_is_a_fault(lag):
    jobs = [Job("J1", 1, 1.0, lags=[lag]), Job("J2", 1, 1.0, lags=[Lag("J1", "start")])]
    with pytest.raises(InstanceError, match=r"^jobs\[0\]\.lags: must not form a cycle of positive lags: 'J1', 'J2'$"):
        Instance(PLATFORM, jobs)


def test_a_cycle_of_lags_that_may_be_0_is_none():
    jobs = [Job("J1", 1, 1.0, lags=[Lag("J2", "start")]), Job("J2", 1, 1.0, lags=[Lag("J1", "start")])]
    assert coalloc.solve(Instance(PLATFORM, jobs)).objective == 1.0


def test_files_call_the_time_from(tmp_path):
    path, instance = tmp_path / "instance.json", chained(Lag("J1", "start", -5.0, 2.5))
    coalloc.write_instance(instance, path)
    document = json.loads(path.read_text())
    assert document["jobs"][1]["lags"] == [{"after": "J1", "from": "start", "min": -5.0, "max": 2.5}]
    assert coalloc.read_instance(path) == instance
    assert "from" in coalloc.io.schema("instance")["$defs"]["Lag"]["properties"]
    document["jobs"][1]["lags"] = [{"after": "J1", "from": "begin", "since": 1}]
    path.write_text(json.dumps(document))
    with pytest.raises(InstanceError) as caught:
        coalloc.read_instance(path)
    assert str(caught.value).splitlines() == [
        f"{path}: jobs[1].lags[0].from: must be 'start' or 'end', got 'begin'",
        f"{path}: jobs[1].lags[0].since: is not a known key; known keys: after, from, min, max",
    ]


def test_a_mapping_is_a_lag():
    assert Job("J2", 1, 1.0, lags=[{"after": "J1", "from": "start", "max": 0}]).lags == (Lag("J1", "start", 0.0, 0.0),)


@pytest.mark.parametrize(
    ("lag", "start"),
    [
        (Lag("J1"), 10.0),
        (Lag("J1", "end", 5.0), 15.0),
        (Lag("J1", "end", -4.0), 6.0),
        (Lag("J1", "start", 3.0), 3.0),
        (Lag("J1", "start", 0.0, 0.0), 0.0),
    ],
)
def test_a_lag_puts_a_job_off(lag, start):
    result = coalloc.solve(chained(lag))
    assert (result.status, starts(result.schedule)) == ("optimal", pytest.approx({"J1": 0.0, "J2": start}))


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_a_maximal_lag_puts_the_job_before_off(formulation):
    # J2 arrives at 30 s and starts 5 s after the end of J1 at the latest: J1 starts at 15 s to 20 s.
    instance = chained(Lag("J1", "end", 0.0, 5.0), arrival=30.0)
    result = coalloc.solve(instance, slot=5.0, formulation=formulation)
    assert (result.status, result.objective) == ("optimal", 40.0)
    assert 15.0 <= result.schedule["J1"].start <= 20.0


def test_lags_to_what_runs_and_to_a_reservation():
    running = [RunningJob(Job("R1", 1, 5.0), ["C1/0"], 5.0), RunningJob(Job("R2", 1, 5.0), ["C1/1"], 40.0, start=30.0)]
    jobs = [Job("J1", 1, 10.0, lags=[Lag("R1", "end", 2.0)]), Job("J2", 1, 10.0, lags=[Lag("R2", "start", -8.0, 1.0)])]
    instance = Instance(PLATFORM, jobs, running)
    assert starts(coalloc.solve(instance).schedule) == {"J1": 7.0, "J2": 22.0}
    # A run does not know the start of the reservation before it: a negative lag counts as 0.
    assert starts(coalloc.simulate(instance, "fcfs").schedule) == {"J1": 7.0, "J2": 30.0}


def test_the_reasons_name_a_lag():
    instance = chained(Lag("J1", "end", 5.0), deadline=20.0)
    result = coalloc.solve(instance)
    assert result.status == "infeasible"
    assert "job 'J2' must start at least 5 s after the end of 'J1'" in result.message
    together = chained(Lag("J1", "start", 0.0, 0.0), arrival=15.0)
    late = together.replace(jobs=[together.jobs[0].replace(deadline=20.0), together.jobs[1]])
    assert "job 'J2' must start at the start of 'J1'" in coalloc.solve(late, slot=5.0).message


@pytest.mark.parametrize("passes", ["batch", "per-event"])
@pytest.mark.parametrize("name", POLICIES)
def test_runs_wait_for_minimal_lags(name, passes):
    # J3 waits 4 s after J1 has started, J2 2 s after its end; J4 starts right after J3 has started.
    jobs = [
        Job("J1", 1, 10.0),
        Job("J2", 1, 10.0, lags=[Lag("J1", "end", 2.0)]),
        Job("J3", 1, 10.0, lags=[Lag("J1", "start", 4.0)]),
        Job("J4", 1, 10.0, lags=[Lag("J3", "start")]),
    ]
    run = coalloc.simulate(Instance(PLATFORM, jobs), name, passes=passes)
    assert starts(run.schedule) == {"J1": 0.0, "J2": 12.0, "J3": 4.0, "J4": 4.0}


@pytest.mark.parametrize("passes", ["batch", "per-event"])
@pytest.mark.parametrize("name", POLICIES)
def test_jobs_that_start_together_start_in_one_pass(name, passes):
    # J1 and J2 need 4 nodes together, and R1 has one until 20 s, so that J1 does not start before.
    jobs = [Job("J1", 2, 10.0), Job("J2", 2, 30.0, lags=[Lag("J1", "start", 0.0, 0.0)], arrival=3.0)]
    running = [RunningJob(Job("R1", 1, 20.0), ["C1/0"], 20.0)]
    run = coalloc.simulate(Instance(PLATFORM, jobs, running), name, passes=passes)
    assert {p.job: (p.start, p.end) for p in run.schedule} == {"J1": (20.0, 30.0), "J2": (20.0, 50.0)}
    assert coalloc.check(run.instance, run.schedule) == []


def test_the_nodes_of_a_short_member_are_free_when_it_ends():
    # J3 needs the nodes of J1, which ends at 10 s, while J2 runs until 30 s.
    together = [Job("J1", 2, 10.0), Job("J2", 2, 30.0, lags=[Lag("J1", "start", 0.0, 0.0)])]
    run = coalloc.simulate(Instance(PLATFORM, [*together, Job("J3", 2, 10.0)]), "easy")
    assert starts(run.schedule)["J3"] == 10.0


def test_a_maximal_lag_is_reported_by_the_check_of_a_run():
    # J2 arrives 20 s after the end of J1, which started at once.
    run = coalloc.simulate(chained(Lag("J1", "end", 0.0, 5.0), arrival=30.0), "fcfs")
    assert starts(run.schedule) == {"J1": 0.0, "J2": 30.0}
    assert [violation.rule for violation in coalloc.check(run.instance, run.schedule)] == ["lag"]


def test_runs_refuse_gangs_that_no_job_stands_for():
    lag = Lag("J1", "start", 0.0, 0.0)
    wide = chained(lag).replace(jobs=[Job("J1", 3, 1.0), Job("J2", 2, 1.0, lags=[lag])])
    with pytest.raises(CoallocError, match=r"^job 'J1\+J2' has 5 tasks, but the largest platform has 4 processors"):
        coalloc.simulate(wide, "fcfs")
    for unequal in (chained(lag, eligible=["C1"]), chained(lag, shapes=[Shape(2, 6.0)])):
        with pytest.raises(coalloc.UnsupportedFeature, match="jobs 'J1', 'J2' start together, so they must have"):
            coalloc.simulate(unequal, "easy", **({"shapes": "ends-first"} if unequal.jobs[1].shapes else {}))


def test_runs_refuse_jobs_that_wait_for_each_other():
    jobs = [Job("J1", 1, 1.0, lags=[Lag("J2", "start", -5.0)]), Job("J2", 1, 1.0, lags=[Lag("J1", "start", -5.0)])]
    instance = Instance(PLATFORM, jobs)
    assert coalloc.solve(instance).objective == 1.0
    with pytest.raises(coalloc.UnsupportedFeature, match="jobs wait for each other because of their lags: 'J1', 'J2'"):
        coalloc.simulate(instance, "fcfs")


def test_a_replay_keeps_the_starts_of_jobs_with_maximal_lags():
    # J3 moves left to the end of J2; J1 and J2 would move apart if J1 alone did.
    jobs = [Job("J1", 1, 8.0), Job("J2", 1, 9.0, lags=[Lag("J1", "start", 10.0, 10.0)]), Job("J3", 1, 5.0)]
    placed = [("J1", 10.0, 20.0), ("J2", 20.0, 30.0), ("J3", 30.0, 40.0)]
    slotted = Schedule([Placement(job, start, end, ["C1/0"]) for job, start, end in placed], slot=10.0)
    instance = Instance(PLATFORM, jobs)
    moved = coalloc.replay(instance, slotted, starts="left")
    assert starts(moved) == {"J1": 10.0, "J2": 20.0, "J3": 29.0}
    assert coalloc.check(instance, moved) == []
