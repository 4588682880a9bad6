"""What ``solve`` must agree on with brute force: in slots all of it, in continuous time as far as its time goes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import pytest

import coalloc
from coalloc.extend import Constraint
from coalloc.instance import Instance
from coalloc.instance.rounding import time_tolerance
from coalloc.problem.allocation import Scope
from coalloc.schedule import Schedule
from coalloc.testing import BruteForceResult, brute_force_oas

OBJECTIVES = ("makespan", "total-response-time")
TIME_LIMIT = 600.0
"""Seconds, far beyond what is needed, so that a slow machine changes no status."""
TOLERANCE = 1e-6


@cache
def best_of(instance: Instance, slot: float | None, objective: str, scope: Scope = "platform") -> BruteForceResult:
    """Return what brute force finds, once for each instance."""
    return brute_force_oas(instance, slot, objective, scope=scope)


def close(optimum: float) -> float:
    return pytest.approx(optimum, rel=TOLERANCE, abs=TOLERANCE)


def worth(instance: Instance, schedule: Schedule, objective: str) -> float:
    """Return the objective of a schedule, from its placements."""
    if objective == "makespan":
        return max(p.end for p in schedule) - instance.origin
    return sum(p.end - instance.job_by_id[p.job].arrival for p in schedule)


def assert_agrees(
    instance: Instance,
    slot: float,
    objective: str = "makespan",
    formulation: str = "auto",
    *,
    constraints: Sequence[Constraint] = (),
    scope: Scope = "platform",
    best: BruteForceResult | None = None,
) -> None:
    """Solve in slots: the optimum of brute force is proved, in a valid schedule, or that there is none."""
    if best is None:
        best = (
            brute_force_oas(instance, slot, objective, scope=scope, constraints=constraints)
            if constraints
            else best_of(instance, slot, objective, scope)
        )
    result = coalloc.solve(
        instance,
        slot=slot,
        objective=objective,
        formulation=formulation,
        constraints=constraints,
        scope=scope,
        time_limit=TIME_LIMIT,
    )
    if not best.feasible:
        assert (result.status, result.schedule, result.objective) == ("infeasible", None, None)
        assert result.message
        return
    assert best.schedule is not None
    assert coalloc.check(instance, best.schedule, scope=scope, constraints=constraints) == []
    assert result.status == "optimal"
    assert result.objective is not None
    assert abs(result.objective - best.objective) <= time_tolerance(best.objective)
    assert result.lower_bound is not None
    assert result.lower_bound == close(best.objective)
    assert result.lower_bound <= best.objective + TOLERANCE
    assert result.schedule is not None
    assert coalloc.check(instance, result.schedule, scope=scope, constraints=constraints) == []
    assert worth(instance, result.schedule, objective) == close(best.objective)
    bound = coalloc.lower_bound(instance, objective, slot=slot, scope=scope, constraints=constraints)
    assert bound <= best.objective * (1.0 + TOLERANCE)


def assert_encloses(
    instance: Instance,
    objective: str = "makespan",
    *,
    constraints: Sequence[Constraint] = (),
    scope: Scope = "platform",
    seconds: float = 1.0,
) -> coalloc.SolveResult:
    """Solve in continuous time: bound and objective enclose the optimum whenever time runs out, so little is given.

    The result is returned, for more assertions.
    """
    best = brute_force_oas(instance, None, objective, scope=scope, constraints=constraints).objective
    result = coalloc.solve(instance, objective=objective, scope=scope, constraints=constraints, time_limit=seconds)
    assert math.isfinite(best) or result.status in ("infeasible", "unknown")
    assert math.isinf(best) or result.status in ("optimal", "feasible", "unknown")
    assert (result.lower_bound or 0.0) <= best + TOLERANCE
    if result.schedule is not None:
        assert result.objective is not None
        assert result.objective >= best - TOLERANCE
        assert result.status in ("optimal", "feasible")
        assert result.status == "feasible" or result.objective == close(best)
        assert coalloc.check(instance, result.schedule, scope=scope, constraints=constraints) == []
        assert worth(instance, result.schedule, objective) == close(result.objective)
    if math.isfinite(best):
        bound = coalloc.lower_bound(instance, objective, scope=scope, constraints=constraints)
        assert bound <= best * (1.0 + TOLERANCE) + TOLERANCE
    return result
