"""The features of an instance against brute force: every formulation, in slots and in continuous time, and packages."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.testing import brute_force_cbs, brute_force_jpr, brute_force_pas, small_feature_instance
from tests.agreement import OBJECTIVES, TIME_LIMIT, TOLERANCE, assert_agrees, assert_encloses
from tests.small_instances import TINY


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
    assert_encloses(small_feature_instance(seed)[0], seconds=0.5)


@pytest.mark.parametrize("seed", range(8))
def test_packages_know_where_jobs_may_be(seed: int) -> None:
    instance, _ = small_feature_instance(seed, features=("eligible", "requires"))
    for model, brute_force in (("pas", brute_force_pas), ("cbs", brute_force_cbs), ("jpr", brute_force_jpr)):
        best = brute_force(instance)
        result = coalloc.solve(instance, model=model, time_limit=TIME_LIMIT)
        assert (result.status == "infeasible") == (not best.feasible)
        if best.feasible:
            found = tuple(result.levels.values()) or (result.objective,)
            if model == "jpr":
                found = (found[0], -found[1])  # the power used, which is to be greatest
            assert found == pytest.approx(best.objectives, rel=TOLERANCE, abs=TOLERANCE)
