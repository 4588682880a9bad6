"""Simple bounds: by hand, and never above what brute force finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import Problem, Rounding, discretise
from coalloc.solvers.bounds.simple import earliest_ends, longest_job, packing, simple_bound
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import TINY, slotted_instances
from tests.strategies import LAW


def problem_of(jobs: tuple[Job, ...], *running: RunningJob, nodes: int = 4, slot: float | None = None) -> Problem:
    """Return a problem on one cluster of equal nodes."""
    return discretise(Instance(Platform((Cluster("C1", (NodeGroup(nodes, 1.0),), 1.0),)), jobs, running), slot)


def held(nodes: int, end: float) -> RunningJob:
    """Return a running job on the first nodes until an end."""
    return RunningJob(Job("R", nodes, 500.0), tuple(f"C1/{i}" for i in range(nodes)), end)


def test_the_longest_job_counts_from_its_release_on_its_fastest_nodes() -> None:
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(2, 0.5)), 1.0),))
    # J1: 20 s on the fast node; J2 needs a slow one: 15 + 10 / 0.5 = 35 s.
    problem = discretise(Instance(platform, (Job("J1", 1, 20.0), Job("J2", 2, 10.0, arrival=15.0))), None)
    assert earliest_ends(problem) == [20.0, 35.0]
    assert longest_job(problem) == 35.0


def test_the_area() -> None:
    # 2 * 30 + 1 * 20 + 1 * 40 = 120 node seconds on 4 nodes: 30 s, as the longest job has 40.
    problem = problem_of((Job("J1", 2, 30.0), Job("J2", 1, 20.0), Job("J3", 1, 40.0)))
    assert packing(problem) == pytest.approx(30.0)
    assert simple_bound(problem) == 40.0


def test_jobs_of_more_than_half_run_one_after_the_other() -> None:
    # Three jobs of 3 on 4 nodes: 30 s by u_1; their area is 90 / 4 = 22.5.
    assert packing(problem_of(tuple(Job(f"J{i}", 3, 10.0) for i in range(3)))) == pytest.approx(30.0)


def test_jobs_of_more_than_a_third_run_two_at_a_time() -> None:
    # Four jobs of 4 on 10 nodes: 10 s * 4 / 2 by u_2; their area is 160 / 10 = 16.
    jobs = tuple(Job(f"J{i}", 4, 10.0) for i in range(4))
    assert packing(problem_of(jobs, nodes=10)) == pytest.approx(20.0)


def test_what_arrives_late_is_done_late() -> None:
    # From 0 on: 80 + 40 + 4 = 124, 31 s. What arrives at 20 or later needs 44 / 4 = 11 s more: 31 s as well; the last,
    # at 40: 41 s.
    jobs = (Job("J1", 4, 20.0), Job("J2", 4, 10.0, arrival=20.0), Job("J3", 4, 1.0, arrival=40.0))
    assert packing(problem_of(jobs[:2])) == pytest.approx(30.0)
    assert packing(problem_of(jobs)) == pytest.approx(41.0)


def test_running_jobs_leave_less_until_their_end() -> None:
    # R holds 2 of 4 nodes until 10 s: 20 node seconds are left until then, and 4 a second after. 60 take until 20 s.
    jobs = (Job("J1", 2, 20.0), Job("J2", 1, 20.0))
    assert packing(problem_of(jobs, held(2, 10.0))) == pytest.approx(20.0)


def test_a_running_job_that_outlasts_all_others_does_not_count_to_its_end() -> None:
    # R holds 3 of 4 nodes for 1000 s, and J1 ends on the fourth after 10 s. The work of R is no work to wait for.
    assert packing(problem_of((Job("J1", 1, 10.0),), held(3, 1000.0))) == pytest.approx(10.0)
    # With 2 nodes left, 50 node seconds take 25 s.
    jobs = tuple(Job(f"J{i}", 1, 10.0) for i in range(5))
    assert packing(problem_of(jobs, held(2, 1000.0))) == pytest.approx(25.0)


def test_nothing_runs_while_running_jobs_hold_everything() -> None:
    # All 4 nodes until 10 s, then 8 node seconds.
    assert packing(problem_of((Job("J1", 4, 2.0),), held(4, 10.0))) == pytest.approx(12.0)
    # A release in the meantime changes nothing, one after it does.
    assert packing(problem_of((Job("J1", 4, 2.0, arrival=5.0),), held(4, 10.0))) == pytest.approx(12.0)
    assert packing(problem_of((Job("J1", 4, 2.0, arrival=11.0),), held(4, 10.0))) == pytest.approx(13.0)


def test_in_slots_the_bound_is_rounded_up() -> None:
    # 3 jobs of 2 tasks and one slot of 10 s on 4 nodes: 1.5, so 2 slots. Noise does not make a third of 2.
    problem = problem_of(tuple(Job(f"J{i}", 2, 10.0) for i in range(3)), slot=10.0)
    assert packing(problem) == 2
    assert packing(problem_of(tuple(Job(f"J{i}", 2, 10.0 * (1 + 1e-12)) for i in range(4)), slot=10.0)) == 2


def test_no_jobs_need_no_time() -> None:
    assert simple_bound(problem_of(())) == 0
    assert simple_bound(problem_of((), held(2, 100.0))) == 0


@LAW
@given(slotted_instances(TINY), st.sampled_from(["up", "down"]))
def test_no_bound_is_above_the_slotted_optimum(drawn: tuple[Instance, float], rounding: Rounding) -> None:
    instance, slot = drawn
    best = brute_force_oas(instance, slot, rounding=rounding)
    last_end = (best.objective + instance.origin) / slot
    problem = discretise(instance, slot, rounding)
    assert simple_bound(problem) <= round(last_end)


@LAW
@given(slotted_instances(TINY))
def test_no_bound_is_above_the_continuous_optimum(drawn: tuple[Instance, float]) -> None:
    instance, _ = drawn
    best = brute_force_oas(instance, None)
    assert simple_bound(discretise(instance, None)) <= (best.objective + instance.origin) * (1 + 1e-9)


@LAW
@given(slotted_instances(TINY))
def test_the_jobs_alone_respond_no_later_than_together(drawn: tuple[Instance, float]) -> None:
    instance, _ = drawn
    best = brute_force_oas(instance, None, objective="total-response-time")
    alone = sum(earliest_ends(discretise(instance, None))) - sum(job.arrival for job in instance.jobs)
    assert alone <= best.objective + 1e-6
