"""Large neighbourhoods: never worse than the start, valid, repeatable, and exact where all jobs are freed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.serial_sgs import best_list_schedule, list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.effort import Effort
from coalloc.solvers.search import large_neighbourhoods as module
from coalloc.solvers.search.large_neighbourhoods import explore
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import SmallSize, slotted_instances, small_instance
from tests.strategies import LAW

OBJECTIVES = ("makespan", "total-response-time")


def five() -> Problem:
    """Return jobs of 3, 3, 2, 2 and 2 s on two equal nodes."""
    jobs = tuple(Job(f"J{i}", 1, seconds) for i, seconds in enumerate((3.0, 3.0, 2.0, 2.0, 2.0)))
    return discretise(Instance(Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),)), jobs), None)


def latest_end(assignments) -> float:
    """Return when the last job ends, ticks."""
    return max(a.end for a in assignments)


def test_no_job_is_no_work() -> None:
    problem = discretise(Instance(five().instance.platform, ()), None)
    assert explore(problem, [], Effort(iterations=10, seed=0)) == []


def test_it_finds_what_no_named_order_does() -> None:
    # 3 + 3 s on one node, 2 + 2 + 2 s on the other end at 6 s. Longest first gives 3 + 2 + 2 = 7 s.
    first = best_list_schedule(five())
    assert latest_end(first) == 7.0
    assert latest_end(explore(five(), first, Effort(iterations=20, seed=0))) == 6.0


def test_fast_nodes_are_left_to_those_that_need_them() -> None:
    # A fast node, and one at half speed: 4 s and 8 s of work. The short job slow and the long one fast: 8 s.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    problem = discretise(Instance(platform, (Job("J0", 1, 4.0), Job("J1", 1, 8.0))), None)
    start = list_schedule(problem, [0, 1])
    assert latest_end(start) == 12.0
    assert latest_end(explore(problem, start, Effort(iterations=1, seed=0))) == 8.0


def test_it_stops_at_the_target_and_the_deadline() -> None:
    first = best_list_schedule(five())
    assert explore(five(), first, Effort(iterations=10**9, seed=0, target=7.0)) == first
    assert explore(five(), first, Effort(iterations=10**9, seed=0, deadline=-math.inf)) == first
    assert latest_end(explore(five(), first, Effort(iterations=10**9, seed=0, target=6.0))) == 6.0


@LAW
@given(slotted_instances())
def test_it_is_valid_no_worse_and_repeats(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    for problem in (discretise(instance, slot), discretise(instance, None)):
        first = list_schedule(problem, range(len(problem.jobs)))
        for objective in OBJECTIVES:
            told: list[list[Assignment]] = []
            best = explore(problem, first, Effort(iterations=3, seed=1, on_schedule=told.append), objective=objective)
            criterion = Criterion.of(problem, objective)
            values = [criterion.value(schedule) for schedule in [first, *told]]
            assert values == sorted(set(values), reverse=True)
            assert criterion.value(best) == values[-1]
            for schedule in [*told, best]:
                assert check(instance, schedule_of(problem, schedule)) == []
            assert explore(problem, first, Effort(iterations=3, seed=1), objective=objective) == best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_up_to_three_jobs_are_all_freed_at_once_and_so_solved(objective: str) -> None:
    # Three jobs are the fewest that are freed; few allocations are all tried. What drifts at a little more
    # cost comes back. Serial generation in order of start reaches an optimum (docs/mathematics.md).
    for seed in range(20):
        instance, _ = small_instance(seed, SmallSize(max_jobs=3, max_processors=4))
        problem = discretise(instance, None)
        best = explore(problem, best_list_schedule(problem), Effort(iterations=4, seed=0), objective=objective)
        since = instance.origin if objective == "makespan" else sum(job.arrival for job in instance.jobs)
        optimum = brute_force_oas(instance, None, objective).objective + since  # type: ignore[arg-type]
        assert Criterion.of(problem, objective).value(best) == pytest.approx(optimum, rel=1e-6)


def test_of_equal_jobs_only_one_is_next(monkeypatch: pytest.MonkeyPatch) -> None:
    # Four equal jobs on one node: whichever are freed, there is one way to put them back, a job at a time.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),))
    problem = discretise(Instance(platform, tuple(Job(f"J{i}", 1, 10.0) for i in range(4))), None)
    visits, place = [], module._Repair._place

    def counted(repair: Any, profile: Any, left: Any, *others: Any) -> None:
        visits.append(len(left))
        place(repair, profile, left, *others)

    monkeypatch.setattr(module._Repair, "_place", counted)
    explore(problem, best_list_schedule(problem), Effort(iterations=1, seed=0))
    assert visits == list(range(visits[0], -1, -1))
