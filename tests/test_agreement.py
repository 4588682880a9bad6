"""Every exact method for OAS against brute force, on random instances; ``benchmarks/agreement.py`` takes many more.

``solve`` builds no model where a list schedule meets a simple bound, as it does on most small instances.
So each model is also run alone: without a start, without a bound, and with slots to spare.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalloc
from coalloc.instance import Instance
from coalloc.models import formulation_of
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.effort import Effort
from coalloc.solvers.search.list_annealing import improve
from tests.agreement import (
    OBJECTIVES,
    TIME_LIMIT,
    TOLERANCE,
    assert_agrees,
    assert_encloses,
    best_of,
    close,
    worth,
)
from tests.extras import AUTO
from tests.small_instances import NODE_MODEL_SIZE, TINY, SmallSize, slotted_instances, small_instance
from tests.strategies import LAW

FEW_SLOTS = SmallSize(max_jobs=3, max_processors=4, max_slots=6)
TWO_JOBS = SmallSize(max_jobs=2, max_processors=4, max_slots=6)
"""Where the node model, run alone, proves the sum of response times in a moment too."""
SPARE_SLOTS = 1


def assert_model_agrees(instance: Instance, slot: float, objective: str, name: str) -> None:
    problem, formulation = discretise(instance, slot), formulation_of("oas", name)
    criterion = Criterion.of(problem, objective)
    horizon = int(criterion.horizon(best_list_schedule(problem))) + SPARE_SLOTS
    model = formulation.build(problem, horizon=horizon, objective=criterion.objective, lower_bound=0)
    solution = solve_model(model, SolverLimits(time=TIME_LIMIT), integral=True)
    optimum = best_of(instance, slot, objective).objective
    assert criterion.reported(solution.lower_bound) == close(optimum)
    schedule = formulation.extract(model)
    assert coalloc.check(instance, schedule) == []
    assert worth(instance, schedule, objective) == close(optimum)
    # The ends of the node model are continuous, so its own objective may be a fraction of a slot above the schedule's.
    assert solution.objective is not None
    assert criterion.reported(solution.objective) >= optimum - TOLERANCE


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("formulation", [AUTO, "mode", "count"])
@pytest.mark.parametrize("seed", range(12))
def test_solve_finds_the_optimum(seed: int, formulation: str, objective: str) -> None:
    assert_agrees(*small_instance(seed), objective, formulation)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("formulation", ["mode", "count"])
@pytest.mark.parametrize("seed", range(20, 32))
def test_a_model_alone_finds_the_optimum(seed: int, formulation: str, objective: str) -> None:
    assert_model_agrees(*small_instance(seed), objective, formulation)


@pytest.mark.parametrize("seed", range(12))
def test_the_node_model_finds_the_least_makespan(seed: int) -> None:
    assert_agrees(*small_instance(seed, NODE_MODEL_SIZE), "makespan", "node")


@pytest.mark.parametrize(("objective", "size"), [("makespan", FEW_SLOTS), ("total-response-time", TWO_JOBS)])
@pytest.mark.parametrize("seed", range(20, 32))
def test_the_node_model_alone_finds_the_optimum(seed: int, objective: str, size: SmallSize) -> None:
    assert_model_agrees(*small_instance(seed, size), objective, "node")


@pytest.mark.parametrize("formulation", ["mode", "count", "node"])
@settings(max_examples=10, deadline=None)
@given(example=slotted_instances(FEW_SLOTS))
def test_solve_finds_the_optimum_of_any_instance(formulation: str, example: tuple[Instance, float]) -> None:
    assert_agrees(*example, "makespan", formulation)


@settings(max_examples=10, deadline=None)
@given(slotted_instances(SmallSize(max_jobs=3, max_slots=12)))
def test_both_aggregated_models_alone_find_the_optimum_of_any_instance(example: tuple[Instance, float]) -> None:
    for objective in OBJECTIVES:
        for formulation in ("mode", "count"):
            assert_model_agrees(*example, objective, formulation)


@pytest.mark.extras
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(40, 44))
def test_continuous_time_encloses_the_optimum(seed: int, objective: str) -> None:
    instance, _ = small_instance(seed)
    assert assert_encloses(instance, objective).status in ("optimal", "feasible")


@LAW
@given(slotted_instances(TINY), st.booleans(), st.sampled_from(OBJECTIVES))
def test_the_optimum_is_between_every_bound_and_every_heuristic(
    drawn: tuple[Instance, float], in_slots: bool, objective: str
) -> None:
    instance, slot = drawn[0], drawn[1] if in_slots else None
    optimum = best_of(instance, slot, objective).objective
    assert coalloc.lower_bound(instance, objective, "best", slot, time_limit=0.2) <= optimum + TOLERANCE
    problem = discretise(instance, slot)
    listed = best_list_schedule(problem)
    for heuristic in (listed, improve(problem, listed, Effort(iterations=20, seed=0), objective=objective)):
        criterion = Criterion.of(problem, objective)
        assert criterion.reported(criterion.value(heuristic)) >= optimum - TOLERANCE
