"""OAS over time: planning anew by hand, the portfolio's makespan off line, and laws."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalloc
from coalloc.checker import check
from coalloc.instance import CoallocError, Instance, Job, RunningJob
from coalloc.instance.rounding import time_tolerance
from coalloc.problem import Assignment, Problem, discretise, slot_seconds
from coalloc.rules.serial_sgs import best_list_schedule
from tests.heuristics.runs import estimated_instances, nodes, placeable, star, starts
from tests.strategies import LAW, instances

TWO = star((2, 1.0, 0.0))


def test_the_queue_is_reordered() -> None:
    # In order of arrival J2 parts J1 and J3: 30 s. J1 and J3 side by side take 10 s, J2 10 s.
    jobs = (Job("J1", 1, 10.0), Job("J2", 2, 10.0), Job("J3", 1, 10.0))
    run = coalloc.simulate(Instance(TWO, jobs), "oas")
    assert run.metrics["makespan"] == 20.0
    assert run.schedule["J1"].start == run.schedule["J3"].start


def test_co_allocated_jobs_take_turns_on_a_link() -> None:
    # Each puts 1 * 8 * 1/1 = 8 MB/s on links of 10 MB/s.
    jobs = tuple(Job(f"J{i}", 2, 10.0, task_bandwidth=8.0) for i in (1, 2))
    platform = star((1, 1.0, 10.0), (1, 1.0, 10.0))
    assert sorted(starts(Instance(platform, jobs), "oas").values()) == [0.0, 10.0]


def test_the_links_of_running_jobs_are_respected() -> None:
    running = (RunningJob(Job("R1", 2, 1.0, task_bandwidth=8.0), ("C1/0", "C2/0"), 50.0),)
    instance = Instance(star((2, 1.0, 10.0), (2, 1.0, 10.0)), (Job("J1", 2, 10.0, task_bandwidth=8.0),), running)
    assert starts(instance, "oas") == {"J1": 50.0}


def test_an_early_end_is_news() -> None:
    # J0 and K0 are expected to end at 100 s and 120 s: J1 is planned on the node of J0. K0 ends at 10 s: there at once.
    jobs = (Job("J0", 1, 100.0), Job("K0", 1, 10.0, estimate=120.0), Job("J1", 1, 50.0, arrival=1.0))
    run = coalloc.simulate(Instance(TWO, jobs), "oas")
    assert run.schedule["J1"].start == 10.0
    assert nodes(run)["J1"] == nodes(run)["K0"]


def test_an_overdue_job_is_news() -> None:
    # J0 is expected to end at 10 s, K0 at 50 s: J1 is planned on the node of J0, which runs until 100 s. At 50 s
    # K0 ends, as expected; J0 is overdue, so the queue is planned again: J1 on the node of K0.
    jobs = (Job("J0", 1, 100.0, estimate=10.0), Job("K0", 1, 50.0), Job("J1", 1, 5.0, arrival=1.0))
    run = coalloc.simulate(Instance(TWO, jobs), "oas")
    assert run.schedule["J1"].start == 50.0
    assert nodes(run)["J1"] == nodes(run)["K0"]


def test_an_early_end_stays_news_until_a_job_can_start() -> None:
    # J1 is planned on the nodes of A0 and C0, for 100 s. B0 ends at 10 s, which leaves one node; at 50 s, when C0 ends
    # as expected, J1 starts on the nodes of B0 and C0.
    jobs = (
        Job("A0", 1, 100.0),
        Job("B0", 1, 10.0, estimate=120.0),
        Job("C0", 1, 50.0),
        Job("J1", 2, 20.0, arrival=1.0),
    )
    assert starts(Instance(star((3, 1.0, 0.0)), jobs), "oas")["J1"] == 50.0


def test_no_plan_is_made_while_no_job_could_start(monkeypatch: pytest.MonkeyPatch) -> None:
    # One plan for J0, one when it ends; none at the arrivals, for both nodes are busy.
    plans = []

    def noted(problem: Problem, target: float) -> list[Assignment]:
        plans.append(len(problem.jobs))
        return best_list_schedule(problem, target)

    monkeypatch.setattr("coalloc.heuristics.oas.best_list_schedule", noted)
    jobs = (Job("J0", 2, 100.0), *(Job(f"J{i}", 1, 10.0, arrival=float(i)) for i in (1, 2)))
    assert starts(Instance(TWO, jobs), "oas") == {"J0": 0.0, "J1": 100.0, "J2": 100.0}
    assert plans == [1, 2]


def test_jobs_beyond_the_window_wait() -> None:
    # In a window of one J2, which needs both nodes, keeps J3 from starting beside J1.
    instance = Instance(TWO, (Job("J1", 1, 10.0), Job("J2", 2, 10.0), Job("J3", 1, 10.0)))
    assert starts(instance, "oas", window=1) == {"J1": 0.0, "J2": 10.0, "J3": 20.0}


@pytest.mark.parametrize("window", [1, 2, 3, None])
def test_the_window_moves_on_when_jobs_start(window: int | None) -> None:
    # All five fit at once, so they start at once, whatever the window.
    jobs = tuple(Job(f"J{i}", 1, 10.0 * i) for i in range(1, 6))
    found = starts(Instance(star((5, 1.0, 0.0)), jobs), "oas", window=window)
    assert found == dict.fromkeys(("J1", "J2", "J3", "J4", "J5"), 0.0)


def test_slots_are_for_plans_alone() -> None:
    # In slots of 100 s J1 and J2 are planned for 0 s and 100 s; J2 starts when J1 ends, at 60 s.
    jobs = (Job("J1", 2, 60.0), Job("J2", 2, 60.0))
    assert sorted(starts(Instance(TWO, jobs), "oas", slot=100.0).values()) == [0.0, 60.0]


def test_a_job_that_can_never_start_is_reported() -> None:
    instance = Instance(star((1, 1.0, 10.0), (1, 1.0, 10.0)), (Job("J1", 2, 10.0, task_bandwidth=20.0),))
    with pytest.raises(CoallocError, match="job 'J1' saturates a link on every allocation"):
        coalloc.simulate(instance, "oas")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slot": "half"}, "slot: must be seconds"),
        ({"work_limit": 0}, "at least 1, got 0"),
        ({"window": 0}, "at least 1, got 0"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CoallocError, match=message):
        coalloc.simulate(Instance(TWO, (Job("J1", 1, 1.0),)), "oas", **options)


@pytest.mark.parametrize("seed", [1, 3, 4, 5])
def test_off_line_it_is_as_good_as_the_portfolio(seed: int) -> None:
    instance = coalloc.generate("thesis-oas", seed=seed, jobs=5)
    solved = coalloc.solve(instance)
    assert solved.status == "optimal"
    assert coalloc.simulate(instance, "oas").metrics["makespan"] == pytest.approx(solved.objective, rel=1e-9)


@LAW
@given(instances(arrivals=False, max_running=2).map(placeable), st.sampled_from((None, "50%", 75.0)))
def test_off_line_no_run_ends_later_than_the_best_list_schedule(instance: Instance, slot: float | str | None) -> None:
    # The plan is no worse than that schedule, and its jobs start as planned or earlier.
    planned = best_list_schedule(discretise(instance, slot_seconds(instance, slot)))
    seconds = slot_seconds(instance, slot) or 1.0
    latest = max(a.end for a in planned) * seconds
    run = coalloc.simulate(instance, "oas", slot=slot, work_limit=20)
    assert max(p.end for p in run.schedule) <= latest + time_tolerance(latest)


@settings(LAW, max_examples=30)
@given(
    estimated_instances(max_running=2, switches=1).map(placeable),
    st.sampled_from((None, "50%", 75.0)),
    st.sampled_from((1, 2, None)),
)
def test_every_job_runs_and_no_link_saturates(instance: Instance, slot: float | str | None, window: int | None) -> None:
    options = {"slot": slot, "window": window, "work_limit": 20}
    runs = [coalloc.simulate(instance, "oas", seed=3, **options).schedule for _ in range(2)]
    assert check(instance, runs[0]) == []
    assert runs[0] == runs[1]
