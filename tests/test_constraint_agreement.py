"""Constraints of a user's own against brute force: every formulation, in slots and in continuous time."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Instance
from coalloc.instance.constraints import Constraint, LatestEnd
from coalloc.testing import SmallSize, brute_force_oas
from coalloc.testing.constraints import KINDS, Kind, small_constraint
from tests.agreement import OBJECTIVES, TIME_LIMIT, TOLERANCE, assert_agrees, assert_encloses
from tests.small_instances import TINY, small_instance

FEW = SmallSize(max_jobs=4, max_slots=14)
"""What brute force still enumerates in a moment where every start is tried, for the seeds that are taken here."""


def drawn(kind: Kind, seed: int, size: SmallSize = FEW) -> tuple[Instance, float, Constraint]:
    """Return an instance, a slot (s) and a constraint of a kind; of a later seed where this has but one job."""
    for number in range(seed, seed + 100):
        instance, slot = small_instance(number, size)
        constraint = small_constraint(kind, number, instance, slot)
        if constraint is not None:
            return instance, slot, constraint
    raise AssertionError("none of a hundred instances has two jobs")


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 6, 17])
def test_the_portfolio_keeps_a_constraint(seed: int, kind: Kind, objective: str) -> None:
    instance, slot, constraint = drawn(kind, seed)
    assert_agrees(instance, slot, objective, "auto", constraints=[constraint])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("formulation", ["mode", "count"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [8, 23])
def test_a_formulation_keeps_a_constraint(seed: int, kind: Kind, formulation: str, objective: str) -> None:
    instance, slot, constraint = drawn(kind, seed)
    assert_agrees(instance, slot, objective, formulation, constraints=[constraint])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 5])
def test_the_node_model_keeps_a_constraint(seed: int, kind: Kind) -> None:
    instance, slot, constraint = drawn(kind, seed, TINY)
    assert_agrees(instance, slot, "makespan", "node", constraints=[constraint])


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
def test_continuous_time_keeps_a_constraint(kind: Kind, objective: str) -> None:
    instance, _, constraint = drawn(kind, 3)
    assert_encloses(instance, objective, constraints=[constraint])


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("share", [0.4, 0.95, 1.0, 1.2])
@pytest.mark.parametrize("seed", [3, 4, 6])
def test_a_limit_on_the_makespan(seed: int, share: float, objective: str) -> None:
    instance, slot = small_instance(seed, FEW)
    limit = share * brute_force_oas(instance, slot).objective
    best = brute_force_oas(instance, slot, objective, constraints=[LatestEnd(instance.origin + limit)])
    assert best.feasible == (share >= 1.0)
    result = coalloc.solve(instance, slot=slot, objective=objective, makespan_limit=limit, time_limit=TIME_LIMIT)
    if share < 1.0:
        assert (result.status, result.schedule, result.objective) == ("infeasible", None, None)
        assert result.message
    else:
        assert (result.status, result.objective) == ("optimal", pytest.approx(best.objective, rel=TOLERANCE))
        assert result.schedule is not None
        assert max(p.end for p in result.schedule) <= instance.origin + limit + TOLERANCE
