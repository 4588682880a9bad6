"""Objectives in order of priority: against brute force over all schedules, limits, statuses, files, what is refused."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.objectives import OBJECTIVES, RegularObjective
from coalloc.solvers.limits import AtMost
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import SmallSize, small_instance, with_due_dates

RESPONSE = ("makespan", "total-response-time")
SMALL = SmallSize(max_jobs=3, max_processors=5, max_slots=8)


def cluster(count, *jobs):
    return Instance(Platform((Cluster("C1", (NodeGroup(count, 1.0),), 10.0),)), jobs)


@pytest.mark.extras
@pytest.mark.parametrize("names", [RESPONSE, ("makespan", "mean-wait"), ("maximum-lateness", "weighted-tardiness")])
@pytest.mark.parametrize("seed", range(3))
def test_the_second_is_least_among_the_schedules_that_keep_the_first(names, seed):
    instance, slot = small_instance(seed, SMALL)
    instance = with_due_dates(instance, seed)
    first = brute_force_oas(instance, slot, names[0]).objective
    limit = AtMost(instance, OBJECTIVES[names[0]], first)
    horizon = int(sum(2 * job.base_time / slot + 1 for job in instance.jobs)) + 24
    second = brute_force_oas(instance, slot, names[1], constraints=[limit], horizon=min(horizon, 24)).objective
    result = coalloc.solve(instance, objective=names, slot=slot, time_limit=600.0)
    assert result.status == "optimal"
    assert [level.value for level in result.solved_levels] == pytest.approx([first, second], rel=1e-6, abs=1e-6)
    assert (result.objective, result.options.objective) == (pytest.approx(second), ", ".join(names))


def test_makespan_comes_first():
    # On two processors A takes 2 tasks for 10 s; B of 20 s beside C and D of 10 s each takes 20 s: least makespan 30.
    # A last leaves C 10, D 20, B 20, A 30: 80; A first 10 + 20 + 30 + 30: 90.
    jobs = (Job("A", 2, 10.0), Job("B", 1, 20.0), Job("C", 1, 10.0), Job("D", 1, 10.0))
    result = coalloc.solve(cluster(2, *jobs), objective=RESPONSE, slot=10.0)
    assert result.levels == {"makespan": 30.0, "total-response-time": 80.0}
    assert [level.status for level in result.solved_levels] == ["optimal", "optimal"]


def test_an_optimal_makespan_lets_no_job_wait_for_nothing():
    # A alone decides; B and C fit beside it at once, wherever a search has left them.
    jobs = (Job("A", 1, 100.0), Job("B", 1, 10.0), Job("C", 1, 10.0))
    late = coalloc.Schedule(
        (
            coalloc.Placement("A", 0.0, 100.0, ("C1/0",)),
            coalloc.Placement("B", 90.0, 100.0, ("C1/1",)),
            coalloc.Placement("C", 50.0, 60.0, ("C1/2",)),
        )
    )
    result = coalloc.solve(cluster(3, *jobs), start=late)
    assert result.objective == 100.0
    assert [p.start for p in result.schedule] == [0.0, 0.0, 0.0]


def test_an_open_first_level_leaves_the_whole_open():
    instance = coalloc.generate("thesis-oas", seed=1001, jobs=20)
    result = coalloc.solve(instance, objective=RESPONSE, time_limit=0.2)
    first, second = result.solved_levels
    assert first.objective == "makespan"
    assert first.lower_bound <= first.value
    assert second.lower_bound is None or second.lower_bound <= second.value
    assert result.status == ("optimal" if first.status == second.status == "optimal" else "feasible")
    assert coalloc.metrics(instance, result.schedule)["makespan"] <= first.value * (1.0 + 1e-9)


def test_a_result_file_has_the_levels(tmp_path):
    result = coalloc.solve(cluster(2, Job("A", 1, 10.0), Job("B", 2, 5.0)), objective=RESPONSE, slot=5.0)
    coalloc.io.write_result(result, tmp_path / "result.json")
    assert coalloc.io.read_result(tmp_path / "result.json").solved_levels == result.solved_levels
    assert "total-response-time" in str(result)


class Squares(RegularObjective):
    """A maximum that says no latest ends."""

    name = "squares"
    aggregate = "max"

    def cost(self, job, start, end):
        return end * end


@pytest.mark.parametrize(
    ("objective", "line"),
    [
        ((), "lexicographic optimization requires one or more objectives but energy and edp, got none"),
        (
            ("makespan", "energy"),
            "lexicographic optimization requires one or more objectives but energy and edp, got makespan, energy",
        ),
        (
            ("mean-wait", "makespan"),
            "all objectives but the last must be makespan, maximum-lateness, co-allocated-jobs, .*, got 'mean-wait'",
        ),
        (
            (Squares(), "makespan"),
            "all objectives but the last must be makespan, maximum-lateness, co-allocated-jobs, .*, got 'squares'",
        ),
        (("makespan", "makespan"), "lexicographic optimization requires distinct objectives"),
        (("makespan", "waits"), "objective of model 'oas' must be one of .*, got 'waits'"),
    ],
)
def test_what_is_refused(objective, line):
    with pytest.raises(CoallocError, match=line):
        coalloc.solve(cluster(1, Job("A", 1, 10.0)), objective=objective)


def test_other_models_have_one_objective():
    with pytest.raises(CoallocError, match=r"^several objectives require model 'oas', got 'pas'$"):
        coalloc.solve(cluster(1, Job("A", 1, 10.0)), model="pas", objective=RESPONSE)


def test_an_interrupt_is_not_for_one_level_alone():
    # Stopped at the first schedule of the first level; the second is worth what that schedule is.
    instance = coalloc.generate("thesis-oas", seed=5, jobs=14)

    def interrupt(point):
        if point.incumbent is not None:
            raise KeyboardInterrupt

    objectives = ("makespan", "total-response-time")
    result = coalloc.solve(instance, objective=objectives, slot="50%", time_limit=None, progress=interrupt)
    assert (result.status, result.stopped_by) == ("feasible", "interrupt")
    assert [level.objective for level in result.solved_levels] == list(objectives)
    assert result.timings["total"] < 30.0  # without a limit the second level would be searched for minutes
    assert coalloc.check(instance, result.schedule) == []
