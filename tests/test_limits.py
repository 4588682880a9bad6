"""Limits of an instance and cumulative rows of constraints: methods, policies, the checker and messages, by hand."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, Limit, NodeGroup, Placement, Platform, RunningJob, Schedule
from coalloc.extend import Constraint, Cumulative
from coalloc.problem import discretise
from coalloc.testing import brute_force_oas, small_feature_instance

PLATFORM = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=10.0)])
JOBS = [Job("J1", 1, 10.0), Job("J2", 1, 10.0), Job("J3", 1, 10.0)]
CLOSE = 1e-6


class Limited(Constraint):
    """Some rows."""

    def __init__(self, *rows: Cumulative) -> None:
        self._rows = rows

    def declare(self, instance):
        return self._rows


def starts(schedule: Schedule) -> list[float]:
    return sorted(placement.start for placement in schedule)


@pytest.mark.parametrize("name", ["fcfs", "easy", "conservative", "mesd"])
def test_policies_keep_to_a_limit(name):
    # All three fit at once, but one of them may run at a time, and none beside R1, which runs until 5 s.
    running = [RunningJob(Job("R1", 1, 5.0), ["C1/0"], 5.0)]
    limited = Instance(PLATFORM, JOBS, running, limits=[Limit("anna", ["J1", "J2", "J3", "R1"], 1.0)])
    run = coalloc.simulate(limited, name)
    assert starts(run.schedule) == [5.0, 15.0, 25.0]
    assert run.instance is limited
    assert coalloc.check(limited, run.schedule) == []


def test_what_running_jobs_exceed_is_not_the_fault_of_a_schedule():
    running = [RunningJob(Job(f"R{n}", 1, 5.0), [f"C1/{n}"], 5.0) for n in (0, 1)]
    limited = Instance(PLATFORM, JOBS[:1], running, limits=[Limit("anna", ["J1", "R0", "R1"], 1.0)])
    result = coalloc.solve(limited)
    assert (result.status, starts(result.schedule)) == ("optimal", [5.0])


def test_jobs_of_other_amounts_are_not_alike():
    # J1 and J2 may run together, J3 takes all.
    limited = Instance(PLATFORM, JOBS, limits=[Limit("anna", ["J1", "J2", "J3"], 2.0, [1.0, 1.0, 2.0])])
    problem = discretise(limited, None)
    assert problem.kinds == (0, 0, 1)
    assert coalloc.solve(limited).objective == 20.0


def test_a_reason_names_the_limit():
    jobs = [job.replace(deadline=10.0) for job in JOBS[:2]]
    result = coalloc.solve(Instance(PLATFORM, jobs, limits=[Limit("anna", ["J1", "J2"], 1.0)]))
    assert result.status == "infeasible"
    assert "the jobs of limit 'anna' take at most 1 at any time" in result.message


def test_a_model_without_resources_names_limits():
    limited = Instance(PLATFORM, JOBS, limits=[Limit("anna", ["J1", "J2"], 1.0)])
    with pytest.raises(coalloc.UnsupportedFeature, match="does not support 'limits', which this instance uses"):
        coalloc.solve(limited, model="pas")
    with pytest.raises(coalloc.UnsupportedFeature, match="does not support 'limits', which this instance uses"):
        coalloc.simulate(limited, "grid")


def test_a_cumulative_row_is_known_to_all_methods():
    # One at a time of three jobs of 10 s: 30 s, and the bound shows it.
    instance, row = Instance(PLATFORM, JOBS), Limited(Cumulative(("J1", "J2", "J3")))
    assert coalloc.lower_bound(instance, constraints=[row]) == pytest.approx(30.0)
    for formulation in ("auto", "mode", "count", "node"):
        result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=[row])
        assert (result.status, starts(result.schedule)) == ("optimal", [0.0, 10.0, 20.0])
    model = coalloc.build_model(instance, slot=10.0, constraints=[row])
    assert len(model.problem.contended_stocks) == 1


def test_two_rows_of_one_constraint_and_a_limit():
    # J1 with neither J2 nor J3: 20 s; J2 and J3 not together because of the limit: 30 s.
    instance = Instance(PLATFORM, JOBS, limits=[Limit("Limited", ["J2", "J3"], 1.0)])
    rows = Limited(Cumulative(("J1", "J2")), Cumulative(("J1", "J3")))
    assert coalloc.solve(instance.replace(limits=[]), constraints=[rows]).objective == 20.0
    assert coalloc.solve(instance, constraints=[rows]).objective == 30.0


def test_faults_of_a_row():
    running = [RunningJob(Job("R1", 1, 5.0), ["C1/0"], 5.0)]
    instance, row = Instance(PLATFORM, JOBS[:2], running), Limited(Cumulative(("J1", "J2", "R1"), capacity=2.0))
    placed = [Placement("J1", 0.0, 10.0, ["C1/1"]), Placement("J2", 0.0, 10.0, ["C1/2"])]
    assert [str(v) for v in coalloc.check(instance, Schedule(placed), constraints=[row])] == [
        "constraint: Limited: jobs 'J1', 'J2', 'R1' take 3 at 0 s, must be at most 2"
    ]
    later = [placed[0], Placement("J2", 5.0, 15.0, ["C1/2"])]
    assert coalloc.check(instance, Schedule(later), constraints=[row]) == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Cumulative(("J1", "J9")), "constraint Limited: Cumulative refers to 'J9', which is not a job"),
        (Cumulative(("J1",), (2.0,)), "constraint Limited: job 'J1' alone has the amount 2, above the capacity of 1"),
    ],
)
def test_a_row_that_cannot_be_kept_says_so(row, message):
    with pytest.raises(CoallocError) as caught:
        coalloc.solve(Instance(PLATFORM, JOBS), constraints=[Limited(row)])
    assert str(caught.value) == message


@pytest.mark.parametrize("wrong", [(("J1", "J2"), (1.0,)), (("J1", "J1"),), (("J1",), (-1.0,)), (("J1",), (), -1.0)])
def test_a_row_refuses_other_numbers(wrong):
    with pytest.raises(CoallocError, match="Cumulative"):
        Cumulative(*wrong)


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("seed", range(8))
def test_rows_agree_with_brute_force(seed):
    instance, slot = small_feature_instance(seed, features=("limits", "shapes"))
    rows = Limited(*(Cumulative(limit.jobs, limit.amounts, limit.capacity) for limit in instance.limits))
    best = brute_force_oas(instance, slot)
    result = coalloc.solve(instance.replace(limits=[]), slot=slot, constraints=[rows])
    assert (result.status, result.objective) == ("optimal", pytest.approx(best.objective, rel=CLOSE))
    assert coalloc.check(instance, result.schedule) == []


def test_what_running_jobs_overload_elsewhere_is_free_where_it_is():
    # R1 runs until 100 s on a node that has no watts, and R2 and R3 take more than C1/0 has until 20 s: what is left of
    # the resource for J1 from 20 s on is all that C1/0 has, whatever the others state.
    groups = [NodeGroup(1, power=1.0, cores=4, resources={"watts": 10.0}), NodeGroup(1, power=1.0)]
    platform = Platform([Cluster(f"C{n}", [group], link_bandwidth=10.0) for n, group in enumerate(groups, start=1)])
    running = [
        RunningJob(Job("R1", 1, 9.0, task_resources={"watts": 8.0}), ["C2/0"], 100.0),
        RunningJob(Job("R2", 1, 9.0, task_resources={"watts": 8.0}), ["C1/0.0"], 20.0),
        RunningJob(Job("R3", 1, 9.0, task_resources={"watts": 8.0}), ["C1/0.1"], 15.0),
    ]
    instance = Instance(platform, [Job("J1", 1, 10.0, task_resources={"watts": 10.0})], running)
    for method in ("packing", "feasible-set", "best"):
        assert coalloc.lower_bound(instance, method=method) <= 30.0
    result = coalloc.solve(instance)
    assert (result.status, result.objective) == ("optimal", 30.0)
