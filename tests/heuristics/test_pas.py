"""PAS over time: selection, what happens where links have no room, the three models, and laws."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.checker import check
from coalloc.heuristics import pas
from coalloc.instance import CoallocError, Instance, Job, Lag, Limit, RunningJob
from coalloc.simulator.engine import Interrupted
from tests.heuristics.runs import estimated_instances, nodes, placeable, star, starts
from tests.strategies import LAW

FOUR = star((4, 1.0, 0.0))


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, {"J1"}),
        ({"selection": "fcfs", "skip": True}, {"J1", "J3"}),
        ({"selection": "fpfs"}, {"J1", "J3"}),
        ({"selection": "sjf"}, {"J3", "J2"}),
        ({"selection": "bjf"}, {"J1"}),
        ({"selection": "spt"}, {"J2", "J3"}),
        ({"selection": "lpt"}, {"J3", "J1"}),
    ],
)
def test_selection(options: dict[str, Any], first: set[str]) -> None:
    # Four nodes; 3, 2 and 1 tasks for 20, 10 and 15 s. The third is estimated as 30 s where lpt selects.
    estimate = 30.0 if options.get("selection") == "lpt" else 15.0
    jobs = (Job("J1", 3, 20.0), Job("J2", 2, 10.0), Job("J3", 1, 15.0, estimate=estimate))
    begun = starts(Instance(FOUR, jobs), "pas", **options)
    assert {job for job, start in begun.items() if start == 0.0} == first


def test_a_package_is_placed_as_a_whole() -> None:
    # One by one J1 would take the fast nodes: 10 + 200 s. Together J2 does: 20 + 100 s.
    instance = Instance(star((2, 1.0, 0.0), (2, 0.5, 0.0)), (Job("J1", 2, 10.0), Job("J2", 2, 100.0)))
    run = coalloc.simulate(instance, "pas")
    assert nodes(run) == {"J1": {"C2/0", "C2/1"}, "J2": {"C1/0", "C1/1"}}


def test_a_package_that_the_links_do_not_carry_loses_its_last_job() -> None:
    # Six nodes, 2 + 2 + 2 tasks: some job would be spread over both clusters and put 20 on links of 10 MB/s.
    jobs = tuple(Job(f"J{i}", 2, 10.0, task_bandwidth=20.0) for i in (1, 2, 3))
    instance = Instance(star((3, 1.0, 10.0), (3, 1.0, 10.0)), jobs)
    assert starts(instance, "pas") == {"J1": 0.0, "J2": 0.0, "J3": 10.0}


def test_a_package_keeps_spreads() -> None:
    # Two tasks of A in each cluster leave two nodes in C1 and three in C2; B needs three in one. By speed alone B would
    # take the four fast nodes of C1.
    instance = Instance(
        star((4, 1.0, 0.0), (5, 0.5, 0.0)), (Job("A", 4, 10.0, slices=2), Job("B", 3, 9.0, max_clusters=1))
    )
    run = coalloc.simulate(instance, "pas")
    assert {name.partition("/")[0] for name in nodes(run)["B"]} == {"C2"}
    assert sum(name.startswith("C1/") for name in nodes(run)["A"]) == 2
    assert {placement.start for placement in run.schedule} == {0.0}


def test_a_package_keeps_limits_resources_and_lags() -> None:
    # A and B are of one user who runs one job at a time, so a package with both loses its last jobs up to B: A alone
    # runs first. C takes both licences beside B, so D, which takes one, is lost, and E starts 5 s after its end.
    platform = FOUR.replace(resources={"licences": 2.0})
    jobs = (
        Job("A", 1, 10.0),
        Job("B", 1, 10.0),
        Job("C", 1, 10.0, resources={"licences": 2.0}),
        Job("D", 1, 10.0, resources={"licences": 1.0}),
        Job("E", 1, 10.0, lags=[Lag("D", min=5.0)]),
    )
    instance = Instance(platform, jobs, limits=[Limit("user", ["A", "B"], 1.0)])
    run = coalloc.simulate(instance, "pas", skip=True)
    found = {placement.job: placement.start for placement in run.schedule}
    assert found == {"A": 0.0, "B": 10.0, "C": 10.0, "D": 20.0, "E": 35.0}
    assert run.metrics["decisions_unproven"] > 0


def test_ctrl_c_in_a_decision_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # What an interrupted search has found, nothing, is no decision.
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    jobs = tuple(Job(f"J{i}", 2, 10.0, task_bandwidth=20.0) for i in (1, 2, 3))
    instance = Instance(star((3, 1.0, 10.0), (3, 1.0, 10.0)), jobs)
    monkeypatch.setattr(pas, "place_package", interrupted)
    words = r"interrupted in decide\(\) of policy Pas at time 0 s: 0 jobs ended, 0 running, 3 waiting"
    with pytest.raises(Interrupted, match=words):
        coalloc.simulate(instance, "pas")


def test_a_job_waits_for_room_on_the_links() -> None:
    # J1 would put 8 MB/s on links of 10 MB/s on which R1 puts 8 until 50 s; nodes are free.
    running = (RunningJob(Job("R1", 2, 1.0, task_bandwidth=8.0), ("C1/0", "C2/0"), 50.0),)
    instance = Instance(star((2, 1.0, 10.0), (2, 1.0, 10.0)), (Job("J1", 2, 10.0, task_bandwidth=8.0),), running)
    assert starts(instance, "pas") == {"J1": 50.0}
    assert starts(instance, "pas", allocation="jpr") == {"J1": 0.0}


def test_an_overdue_job_still_holds_its_links_and_nodes() -> None:
    # J1 was estimated to take 1 s and takes 50 s; J2 arrives at 10 s.
    jobs = (Job("J1", 2, 50.0, task_bandwidth=8.0, estimate=1.0), Job("J2", 2, 10.0, task_bandwidth=8.0, arrival=10.0))
    instance = Instance(star((1, 1.0, 10.0), (1, 1.0, 10.0), (1, 1.0, 0.0)), jobs)
    assert starts(instance, "pas") == {"J1": 0.0, "J2": 50.0}


def test_a_job_that_can_never_start_is_reported() -> None:
    instance = Instance(star((1, 1.0, 10.0), (1, 1.0, 10.0)), (Job("J1", 2, 10.0, task_bandwidth=20.0),))
    with pytest.raises(
        CoallocError, match=r"job 'J1' saturates a link on every allocation: .*20 MB/s on the link of 'C"
    ):
        coalloc.simulate(instance, "pas")


def test_a_decision_without_a_proof_is_counted() -> None:
    # Three jobs of two tasks on three and three nodes: one would be in both clusters, with 8 MB/s on links of 7. That
    # takes more than the 3 allocations that the first attempt may try. Two jobs have their best levels with 2: J2 fast
    # and J1 slow, both for 20 s.
    jobs = tuple(Job(f"J{i}", 2, 10.0 * i, task_bandwidth=8.0) for i in (1, 2, 3))
    instance = Instance(star((3, 1.0, 7.0), (3, 0.5, 7.0)), jobs)
    for options, unproven in (({}, 0), ({"work_limit": 5}, 1)):
        run = coalloc.simulate(instance, "pas", **options)
        assert starts_and_ends(run.schedule) == {"J1": (0.0, 20.0), "J2": (0.0, 20.0), "J3": (20.0, 50.0)}
        assert run.metrics["decisions_unproven"] == unproven


def starts_and_ends(schedule: coalloc.Schedule) -> dict[str, tuple[float, float]]:
    """Return when each job runs, s."""
    return {placement.job: (placement.start, placement.end) for placement in schedule}


def test_with_the_least_work_all_jobs_run() -> None:
    # Every attempt may try one allocation per job, so a single job starts on an empty platform.
    jobs = tuple(Job(f"J{i}", 2, 10.0, task_bandwidth=8.0) for i in range(5))
    run = coalloc.simulate(Instance(star((3, 1.0, 7.0), (3, 0.5, 7.0)), jobs), "pas", work_limit=1)
    assert len(run.schedule) == 5


def test_a_package_with_more_allocations_than_a_model_takes_is_placed() -> None:
    # Two jobs of 60 tasks on 12 clusters of 10 nodes have some 10**10 allocations each; without traffic none matters.
    jobs = tuple(Job(f"J{i}", 60, 10.0) for i in (1, 2))
    for model in ("pas", "cbs", "jpr"):
        run = coalloc.simulate(Instance(star(*[(10, 1.0, 1.0)] * 12), jobs), "pas", allocation=model)
        assert {p.start for p in run.schedule} == {0.0}


def test_cbs_keeps_a_job_in_one_cluster() -> None:
    # 75 % of three tasks are three: only C3 holds them, at half the power. PAS spreads them over C1 and C2.
    instance = Instance(star((2, 1.0, 9e9), (1, 1.0, 9e9), (3, 0.5, 9e9)), (Job("J1", 3, 10.0),))
    ends = {model: coalloc.simulate(instance, "pas", allocation=model).schedule["J1"].end for model in ("pas", "cbs")}
    assert ends == {"pas": 10.0, "cbs": 20.0}


def test_jpr_takes_the_best_processors_whatever_the_links() -> None:
    # On C1 and C2 J1 puts 20 on links of 10 MB/s: 20 (0.8 + 0.2*2) = 24 s. In C3 it takes 20 (0.8/0.5 + 0.2) = 36 s.
    job = Job("J1", 2, 20.0, processing_share=0.8, task_bandwidth=20.0)
    instance = Instance(star((1, 1.0, 10.0), (1, 1.0, 10.0), (2, 0.5, 10.0)), (job,))
    ends = {model: coalloc.simulate(instance, "pas", allocation=model).schedule["J1"].end for model in ("pas", "jpr")}
    assert ends == {"pas": pytest.approx(36.0), "jpr": pytest.approx(24.0)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allocation": "fastest-first"}, "one of pas, cbs, jpr"),
        ({"selection": "easy"}, "one of fcfs, sjf, bjf, fpfs, spt, lpt"),
        ({"work_limit": 0}, "must be at least 1, got 0"),
        ({"work_limit": 1.5}, "must be an integer, got 1.5"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CoallocError, match=message):
        coalloc.simulate(Instance(FOUR, ()), "pas", **options)


@LAW
@given(
    estimated_instances(max_running=2, switches=1).map(placeable),
    st.sampled_from(("fcfs", "sjf", "bjf", "fpfs", "spt", "lpt")),
    st.booleans(),
)
def test_every_job_runs_and_no_link_saturates(instance: Instance, selection: str, skip: bool) -> None:
    runs = [coalloc.simulate(instance, "pas", selection=selection, skip=skip).schedule for _ in range(2)]
    assert check(instance, runs[0]) == []
    assert runs[0] == runs[1]
