"""Budgets over the allocations of all jobs: by hand, and what is told of them; ``test_agreement`` has brute force."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pyomo.environ as pyo
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule, UnsupportedFeature
from coalloc.extend import Budget, Constraint
from coalloc.problem import discretisation
from tests.small_instances import TINY
from tests.test_agreement import best_of, case_of

FORMULATIONS = ("auto", "mode", "count", "node")


class Coallocated(Constraint):
    """At most a number of jobs use more than one cluster."""

    def __init__(self, number: float) -> None:
        self.number = number

    def declare(self, instance: Instance) -> Iterable[Budget]:
        """Yield the number."""
        yield Budget(lambda _, tasks: sum(count > 0 for count in tasks) > 1, self.number)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_built_model_keeps_a_budget(seed: int) -> None:
    instance, slot, kept, *_ = case_of("budget", seed, TINY)
    best = best_of("budget", seed, TINY, "makespan", True)
    if best.feasible:
        model = coalloc.build_model(instance, formulation="count", slot=slot, constraints=kept)
        pyo.SolverFactory("appsi_highs").solve(model)
        schedule = coalloc.schedule_of_model(model)
        assert max(placement.end for placement in schedule) - instance.origin == pytest.approx(best.objective)
        assert coalloc.check(instance, schedule, constraints=kept) == []


def two_clusters() -> Instance:
    """Return three jobs of two tasks and 10 s on two clusters, of three nodes and of one."""
    platform = Platform([Cluster(name, [NodeGroup(n, power=1.0)], 100.0) for name, n in (("C1", 3), ("C2", 1))])
    return Instance(platform, [Job(name, 2, 10.0) for name in ("J1", "J2", "J3")])


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("number", "makespan"), [(0, 30.0), (1, 20.0), (3, 20.0)])
def test_the_number_of_coallocated_jobs(formulation: str, number: int, makespan: float) -> None:
    # Two jobs run together only if one of them has a task in each cluster; of three, two have to take turns anyway.
    result = coalloc.solve(two_clusters(), slot=10.0, formulation=formulation, constraints=[Coallocated(number)])
    assert (result.status, result.objective) == ("optimal", makespan)


@pytest.mark.usefixtures("cpsat_or_not")
def test_continuous_time_proves_a_budget_where_times_are_whole() -> None:
    result = coalloc.solve(two_clusters(), constraints=[Coallocated(0)], time_limit=60.0)
    assert (result.status, result.objective) == ("optimal", 30.0)


@pytest.mark.parametrize("slot", [None, 10.0])
def test_a_budget_that_all_allocations_exceed(slot: float | None) -> None:
    # Four tasks fit into no cluster: the job is co-allocated anyhow.
    instance = two_clusters()
    wide = instance.replace(jobs=[Job("J1", 4, 10.0)])
    result = coalloc.solve(wide, slot=slot, constraints=[Coallocated(0)])
    assert result.status == "infeasible"
    assert "take at least 1, above the limit of 0" in result.message
    assert coalloc.lower_bound(wide, slot=slot, constraints=[Coallocated(0)]) == 10.0


def test_the_check_counts_a_budget() -> None:
    spans = ((0.0, ("C1/0", "C2/0")), (10.0, ("C1/0", "C2/0")), (20.0, ("C1/0", "C1/1")))
    placed = (Placement(f"J{j + 1}", start, start + 10.0, nodes) for j, (start, nodes) in enumerate(spans))
    schedule = Schedule(tuple(placed))
    assert coalloc.check(two_clusters(), schedule, constraints=[Coallocated(2)]) == []
    (found,) = coalloc.check(two_clusters(), schedule, constraints=[Coallocated(1)])
    assert "take 2 of a budget, must be at most 1" in str(found)


def test_too_many_allocations(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each job has two allocations: two tasks in C1, or one in each.
    monkeypatch.setattr(discretisation, "MAX_MODES", 5)
    with pytest.raises(UnsupportedFeature, match=r"Budget of Coallocated.*more than 5 allocations"):
        coalloc.solve(two_clusters(), slot=10.0, constraints=[Coallocated(1)])


def test_weights_and_limits_are_finite() -> None:
    with pytest.raises(CoallocError, match="limit of a Budget must be finite"):
        Budget(lambda _, __: 1.0, math.inf)

    class Endless(Constraint):
        """Every allocation costs infinitely much."""

        def declare(self, instance: Instance) -> Iterable[Budget]:
            """Yield that."""
            yield Budget(lambda _, __: math.inf, 1.0)

    with pytest.raises(CoallocError, match=r"constraint Endless: the weight of job 'J1' with \(.*\) tasks"):
        coalloc.solve(two_clusters(), slot=10.0, constraints=[Endless()])
