"""The features of an instance against brute force: every formulation, in slots and in continuous time, and packages."""

from __future__ import annotations

import math

import pytest

import coalloc
from coalloc.instance import Instance
from coalloc.testing import brute_force_cbs, brute_force_jpr, brute_force_oas, brute_force_pas, small_feature_instance
from tests.small_instances import TINY

OBJECTIVES: tuple[str, ...] = ("makespan", "total-response-time")
LIMIT = 600.0
"""Seconds, far beyond what is needed."""
CLOSE = 1e-6


def assert_agrees(instance: Instance, slot: float, objective: str, formulation: str) -> None:
    best = brute_force_oas(instance, slot, objective)
    result = coalloc.solve(instance, slot=slot, objective=objective, formulation=formulation, time_limit=LIMIT)
    if not best.feasible:
        assert (result.status, result.schedule) == ("infeasible", None)
        assert result.message
        return
    assert best.schedule is not None
    assert coalloc.check(instance, best.schedule) == []
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best.objective, rel=CLOSE, abs=CLOSE)
    assert coalloc.lower_bound(instance, objective, slot=slot) <= best.objective * (1.0 + CLOSE)


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(6))
def test_the_portfolio_knows_the_features(seed: int, objective: str) -> None:
    assert_agrees(*small_feature_instance(seed), objective, "auto")


@pytest.mark.parametrize("formulation", ["mode", "count"])
@pytest.mark.parametrize("seed", range(6, 12))
def test_a_formulation_knows_the_features(seed: int, formulation: str) -> None:
    assert_agrees(*small_feature_instance(seed), OBJECTIVES[seed % 2], formulation)


@pytest.mark.parametrize("seed", range(12, 16))
def test_the_node_model_knows_the_features(seed: int) -> None:
    assert_agrees(*small_feature_instance(seed, TINY), "makespan", "node")


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("seed", [20, 21])
def test_continuous_time_knows_the_features(seed: int) -> None:
    # It holds whenever time runs out, so little is given.
    instance, _ = small_feature_instance(seed)
    best = brute_force_oas(instance, None).objective
    result = coalloc.solve(instance, time_limit=0.5)
    assert math.isfinite(best) or result.status in ("infeasible", "unknown")
    assert math.isinf(best) or result.status != "infeasible"
    assert (result.lower_bound or 0.0) <= best + CLOSE
    if result.schedule is not None:
        assert result.objective is not None
        assert result.objective >= best - CLOSE
        assert result.status == "feasible" or result.objective == pytest.approx(best, rel=CLOSE)


@pytest.mark.parametrize("seed", range(8))
def test_packages_know_where_jobs_may_be(seed: int) -> None:
    instance, _ = small_feature_instance(seed, features=("eligible", "requires"))
    for model, brute_force in (("pas", brute_force_pas), ("cbs", brute_force_cbs), ("jpr", brute_force_jpr)):
        best = brute_force(instance)
        result = coalloc.solve(instance, model=model, time_limit=LIMIT)
        assert (result.status == "infeasible") == (not best.feasible)
        if best.feasible:
            found = tuple(result.levels.values()) or (result.objective,)
            if model == "jpr":
                found = (found[0], -found[1])  # the power used, which is to be greatest
            assert found == pytest.approx(best.objectives, rel=CLOSE, abs=CLOSE)
