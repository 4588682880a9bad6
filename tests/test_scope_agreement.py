"""Scope ``cluster`` and ``node`` against brute force, in every formulation of OAS, in slots and in continuous time."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.models import formulation_of
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.problem.allocation import Scope
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.testing.brute_force import brute_force_oas
from tests.extras import AUTO
from tests.small_instances import SmallSize, fitted, small_instance

OBJECTIVES: tuple[str, ...] = ("makespan", "total-response-time")
SCOPES: tuple[Scope, ...] = ("cluster", "node")
FEW_SLOTS = SmallSize(max_jobs=3, max_processors=4, max_slots=6)
LIMIT = 600.0
"""Seconds, far beyond what is needed."""


def with_cores(seed: int, size: SmallSize | None = None) -> tuple[Instance, float]:
    """Return a small instance and a slot (s); its node groups are nodes of several cores at every other seed."""
    instance, slot = small_instance(seed, size)
    if seed % 2 or instance.running:
        return instance, slot
    clusters = tuple(
        c.replace(nodes=tuple(g.replace(count=1, cores=g.count * g.cores) for g in c.nodes))
        for c in instance.platform.clusters
    )
    return instance.replace(platform=instance.platform.replace(clusters=clusters)), slot


def assert_agrees(instance: Instance, slot: float, scope: Scope, objective: str, formulation: str) -> None:
    """Solve; compare with brute force, which is never better with a scope than without."""
    free, best = (brute_force_oas(instance, slot, objective, scope=where).objective for where in ("platform", scope))
    result = coalloc.solve(
        instance, slot=slot, objective=objective, scope=scope, formulation=formulation, time_limit=LIMIT
    )
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert result.objective >= free - 1e-6
    assert result.schedule is not None
    assert coalloc.check(instance, result.schedule, scope=scope) == []


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("formulation", [AUTO, "mode", "count"])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("seed", range(4, 10))
def test_solve_keeps_to_the_scope(seed: int, scope: Scope, formulation: str, objective: str) -> None:
    instance, slot = with_cores(seed)
    assert_agrees(fitted(instance, scope), slot, scope, objective, formulation)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("seed", range(8))
def test_the_node_model_keeps_to_the_scope(seed: int, scope: Scope) -> None:
    instance, slot = with_cores(seed, FEW_SLOTS)
    assert_agrees(fitted(instance, scope), slot, scope, "makespan", "node")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("formulation", ["mode", "count"])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("seed", range(20, 26))
def test_a_model_alone_keeps_to_the_scope(seed: int, scope: Scope, formulation: str, objective: str) -> None:
    instance, slot = with_cores(seed)
    instance = fitted(instance, scope)
    problem, module = discretise(instance, slot, scope=scope), formulation_of("oas", formulation)
    criterion = Criterion.of(problem, objective)
    horizon = int(criterion.horizon(best_list_schedule(problem))) + 1
    model = module.build(problem, horizon=horizon, objective=criterion.objective, lower_bound=0)
    solution = solve_model(model, SolverLimits(time=LIMIT), integral=True)
    best = brute_force_oas(instance, slot, objective, scope=scope).objective
    assert criterion.reported(solution.lower_bound) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert coalloc.check(instance, module.extract(model), scope=scope) == []


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("seed", [4, 6])
def test_continuous_time_keeps_to_the_scope(seed: int, scope: Scope) -> None:
    instance = fitted(with_cores(seed)[0], scope)
    best = brute_force_oas(instance, None, "total-response-time", scope=scope).objective
    result = coalloc.solve(instance, objective="total-response-time", scope=scope, time_limit=1.0)
    assert result.lower_bound is not None
    assert result.objective is not None
    assert result.lower_bound <= best + 1e-6 <= result.objective + 2e-6
    assert result.status == "feasible" or result.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("formulation", [AUTO, "node", "count", "mode"])
@pytest.mark.parametrize(("scope", "ends"), [("platform", 10.0), ("cluster", 20.0), ("node", 40.0)])
def test_what_a_scope_forbids(scope: Scope, ends: float, formulation: str) -> None:
    # Two jobs of 2 tasks, 10 s on fast nodes. C1 has three of these and C3 one, so anywhere both run at once. Within a
    # cluster the second waits for C1, or takes 20 s on C2. Only the node of C2 has two cores: 20 s, and again 20 s.
    clusters = (
        Cluster("C1", (NodeGroup(3, 1.0),), 100.0),
        Cluster("C2", (NodeGroup(1, 0.5, cores=2),), 100.0),
        Cluster("C3", (NodeGroup(1, 1.0),), 100.0),
    )
    instance = Instance(Platform(clusters), (Job("J1", 2, 10.0), Job("J2", 2, 10.0)))
    result = coalloc.solve(instance, slot=10.0, scope=scope, formulation=formulation)
    assert (result.status, result.objective) == ("optimal", ends)
