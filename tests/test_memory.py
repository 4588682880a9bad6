"""Memory of nodes: CP-SAT, bounds and packages against brute force, the reasons where it does not suffice, the check.

``test_agreement`` compares ``solve`` and the models. The seeds are those whose optimum memory changes, some of the
others, and some that it makes infeasible.
"""

from __future__ import annotations

import math

import pytest

import coalloc
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.backends import cpsat
from coalloc.solvers.named_bounds import cost_bound, methods_of
from coalloc.testing.brute_force import brute_force_cbs, brute_force_jpr, brute_force_oas, brute_force_pas
from coalloc.testing.small import with_memory
from tests.small_instances import SmallSize, small_memory_instance, small_package
from tests.test_agreement import FOUR_JOBS, TIME_LIMIT, close

BINDING = (9, 10, 26, 33, 37, 45, 73)
"""Seeds of four jobs where memory changes the least makespan."""
INFEASIBLE = {
    32: "saturates a link on every allocation with enough memory",
    56: "job 'J4' requires 1000 MB of memory per task: the nodes suffice for 3 of its 4 tasks",
    107: "job 'J1' requires 1000 MB of memory per task: the nodes suffice for 1 of its 2 tasks",
}


@pytest.mark.parametrize(("seed", "sentence"), INFEASIBLE.items())
def test_a_job_without_memory_enough_is_infeasible_and_says_why(seed, sentence):
    instance, slot = small_memory_instance(seed, FOUR_JOBS)
    assert not brute_force_oas(instance, slot).feasible
    for options in ({"slot": slot}, {}, {"slot": slot, "formulation": "count"}):
        result = coalloc.solve(instance, **options)
        assert (result.status, result.schedule) == ("infeasible", None)
        assert sentence in result.message


@pytest.mark.extras
@pytest.mark.skipif(not cpsat.is_installed(), reason="the extra cpsat is not installed")
@pytest.mark.parametrize("seed", BINDING)
def test_cpsat_alone_finds_the_optimum_within_memory(seed):
    instance, slot = small_memory_instance(seed, FOUR_JOBS)
    problem = discretise(instance, slot)
    criterion, first = Criterion.of(problem, "makespan"), best_list_schedule(problem)
    found, bounds = [first], [0.0]
    cpsat.solve_cpsat(
        criterion,
        first,
        lower_bound=0,
        time_limit=TIME_LIMIT,
        on_bound=bounds.append,
        on_schedule=found.append,
    )
    optimum = brute_force_oas(instance, slot).objective
    best = min(found, key=criterion.value)
    assert criterion.reported(criterion.value(best)) == close(optimum)
    assert criterion.reported(max(bounds)) == close(optimum)
    assert coalloc.check(instance, schedule_of(problem, best)) == []


@pytest.mark.parametrize("seed", [*BINDING, *range(11, 16)])
def test_no_bound_exceeds_the_optimum_within_memory(seed):
    instance, slot = small_memory_instance(seed, FOUR_JOBS)
    for problem in (discretise(instance, slot), discretise(instance, None), discretise(instance, slot, "down")):
        optimum = max(0.0, brute_force_oas(instance, problem.slot, "makespan", problem.rounding).objective)
        criterion = Criterion.of(problem, "makespan")
        for method in methods_of(criterion.objective):
            bound = criterion.reported(cost_bound(criterion, method))
            assert bound <= optimum + 1e-6


def test_listed_sets_know_the_memory_that_jobs_share():
    # Two cores, 1000 MB, three jobs of one task and 10 s that ask for 600 MB: one at a time, 30 s. By cores alone 15 s.
    node = coalloc.NodeGroup(1, power=1.0, cores=2, memory=1000.0)
    jobs = [coalloc.Job(f"J{n}", 1, 10.0, memory=600.0) for n in range(3)]
    instance = coalloc.Instance(coalloc.Platform([coalloc.Cluster("C1", [node], 0.0)]), jobs)
    assert coalloc.lower_bound(instance) == pytest.approx(30.0)
    assert coalloc.lower_bound(instance, method="area") == pytest.approx(15.0)
    result = coalloc.solve(instance)
    assert (result.status, result.objective) == ("optimal", pytest.approx(30.0))


PACKAGES = {
    ("pas", "strict"): brute_force_pas,
    ("pas", "shared"): lambda instance: brute_force_pas(instance, links="shared"),
    ("cbs", "strict"): brute_force_cbs,
    ("jpr", "strict"): brute_force_jpr,
}


@pytest.mark.parametrize(("model", "links"), PACKAGES)
@pytest.mark.parametrize("seed", range(16))
def test_packages_keep_to_memory(seed, model, links):
    instance = with_memory(small_package(seed, SmallSize(max_jobs=4, multi_core_share=0.6)), seed)
    optimum = PACKAGES[model, links](instance).objectives[0]
    for formulation in ("mode", "node") if model == "pas" else ("mode",):
        result = coalloc.solve(instance, model=model, links=links, formulation=formulation, time_limit=TIME_LIMIT)
        if math.isinf(optimum):
            assert (result.status, result.schedule) == ("infeasible", None)
            continue
        assert result.status == "optimal"
        assert result.objective == close(optimum)
        is_strict = model == "pas" and links == "strict"
        assert coalloc.check(instance, result.schedule, links="strict" if is_strict else "shared") == []


@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_moved_left_keeps_to_memory(seed):
    instance, slot = small_memory_instance(seed, FOUR_JOBS)
    found = brute_force_oas(instance, slot).schedule
    if found is None:
        return
    moved = coalloc.replay(instance, found, starts="left")
    assert coalloc.check(instance, moved) == []
    assert all(moved[p.job].start <= p.start + 1e-9 for p in found)


@pytest.mark.parametrize("seed", BINDING)
def test_a_task_too_many_for_the_memory_is_found(seed):
    # What a schedule of the same jobs without memory would do breaks the rule, and no other.
    instance, slot = small_memory_instance(seed, FOUR_JOBS)
    careless = instance.replace(jobs=tuple(job.replace(memory=None) for job in instance.jobs))
    found = brute_force_oas(careless, slot)
    assert {violation.rule for violation in coalloc.check(instance, found.schedule)} == {"memory"}
