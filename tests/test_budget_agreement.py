"""Budgets over the allocations of all jobs: every formulation against brute force, and what is told of them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pyomo.environ as pyo
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule, UnsupportedFeature
from coalloc.extend import Budget, Constraint
from coalloc.problem import discretisation
from coalloc.testing import brute_force_oas
from coalloc.testing.constraints import Spend
from tests.agreement import OBJECTIVES, assert_agrees, assert_encloses
from tests.small_instances import TINY, small_instance

SEEDS = tuple(range(12))
FORMULATIONS = ("auto", "mode", "count", "node")


class Coallocated(Constraint):
    """At most a number of jobs use more than one cluster."""

    def __init__(self, number: float) -> None:
        self.number = number

    def declare(self, instance: Instance) -> Iterable[Budget]:
        """Yield the number."""
        yield Budget(lambda _, tasks: sum(count > 0 for count in tasks) > 1, self.number)


def drawn(seed: int) -> tuple[Instance, float, list[Spend]]:
    """Return an instance, a slot (s) and a budget, of whole numbers, of fractions, also negative, or a number of jobs.

    Each task costs between -1 and 2: limits are about in the middle.
    """
    instance, slot = small_instance(seed, TINY)
    rng, clusters = np.random.default_rng(seed), len(instance.platform.clusters)
    weights = {job.id: 1.0 if seed % 3 == 0 else float(rng.integers(3)) for job in instance.jobs}
    tasks = sum(job.tasks for job in instance.jobs)
    if seed % 3 == 0:
        return instance, slot, [Spend(weights, (0.0,) * clusters, float(rng.integers(3)))]
    if seed % 3 == 1:
        prices = tuple(float(price) for price in rng.integers(0, 3, clusters))
        return instance, slot, [Spend(weights, prices, float(rng.integers(tasks, 2 * tasks)))]
    prices = tuple(rng.uniform(-1.0, 1.0, clusters).tolist())
    return instance, slot, [Spend(weights, prices, float(rng.uniform(-0.2, 0.5) * tasks))]


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("slotted", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_portfolio_keeps_a_budget(seed: int, slotted: bool, objective: str) -> None:
    instance, slot, kept = drawn(seed)
    if slotted:
        assert_agrees(instance, slot, objective, constraints=kept)
    else:
        assert_encloses(instance, objective, constraints=kept)


@pytest.mark.parametrize("formulation", ["mode", "count"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_formulation_keeps_a_budget(seed: int, formulation: str) -> None:
    instance, slot, kept = drawn(seed)
    assert_agrees(instance, slot, "total-response-time", formulation, constraints=kept)


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_the_node_model_keeps_a_budget(seed: int) -> None:
    instance, slot, kept = drawn(seed)
    assert_agrees(instance, slot, "makespan", "node", constraints=kept)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_built_model_keeps_a_budget(seed: int) -> None:
    instance, slot, kept = drawn(seed)
    best = brute_force_oas(instance, slot, constraints=kept)
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
