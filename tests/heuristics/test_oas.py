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
from coalloc.problem import discretise, slot_seconds
from coalloc.rules.serial_generation import best_list_schedule
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


def test_slots_are_for_plans_alone() -> None:
    # In slots of 100 s J1 and J2 are planned for 0 s and 100 s; J2 starts when J1 ends, at 60 s.
    jobs = (Job("J1", 2, 60.0), Job("J2", 2, 60.0))
    assert sorted(starts(Instance(TWO, jobs), "oas", slot=100.0).values()) == [0.0, 60.0]


def test_a_job_that_can_never_start_is_reported() -> None:
    instance = Instance(star((1, 1.0, 10.0), (1, 1.0, 10.0)), (Job("J1", 2, 10.0, task_bandwidth=20.0),))
    with pytest.raises(CoallocError, match="job 'J1' saturates a link wherever it runs"):
        coalloc.simulate(instance, "oas")


@pytest.mark.parametrize(
    ("options", "message"), [({"slot": "half"}, "slot: must be seconds"), ({"work_limit": 0}, "at least 1, got 0")]
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
@given(estimated_instances(max_running=2, switches=1).map(placeable), st.sampled_from((None, "50%", 75.0)))
def test_every_job_runs_and_no_link_saturates(instance: Instance, slot: float | str | None) -> None:
    runs = [coalloc.simulate(instance, "oas", slot=slot, work_limit=20, seed=3).schedule for _ in range(2)]
    assert check(instance, runs[0]) == []
    assert runs[0] == runs[1]
