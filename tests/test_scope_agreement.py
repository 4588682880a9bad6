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
from tests.agreement import OBJECTIVES, TIME_LIMIT, TOLERANCE, assert_agrees, assert_encloses, best_of, close
from tests.extras import AUTO
from tests.small_instances import SmallSize, fitted, small_instance

SCOPES: tuple[Scope, ...] = ("cluster", "node")
FEW_SLOTS = SmallSize(max_jobs=3, max_processors=4, max_slots=6)


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


def assert_scope_agrees(instance: Instance, slot: float, scope: Scope, objective: str, formulation: str) -> None:
    """Compare with brute force, which is never better with a scope than without."""
    assert_agrees(instance, slot, objective, formulation, scope=scope)
    free, best = (best_of(instance, slot, objective, where).objective for where in ("platform", scope))
    assert best >= free - TOLERANCE


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("formulation", [AUTO, "mode", "count"])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("seed", range(4, 10))
def test_solve_keeps_to_the_scope(seed: int, scope: Scope, formulation: str, objective: str) -> None:
    instance, slot = with_cores(seed)
    assert_scope_agrees(fitted(instance, scope), slot, scope, objective, formulation)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("seed", range(8))
def test_the_node_model_keeps_to_the_scope(seed: int, scope: Scope) -> None:
    instance, slot = with_cores(seed, FEW_SLOTS)
    assert_scope_agrees(fitted(instance, scope), slot, scope, "makespan", "node")


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
    solution = solve_model(model, SolverLimits(time=TIME_LIMIT), integral=True)
    best = best_of(instance, slot, objective, scope).objective
    assert criterion.reported(solution.lower_bound) == close(best)
    assert coalloc.check(instance, module.extract(model), scope=scope) == []


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("seed", [4, 6])
def test_continuous_time_keeps_to_the_scope(seed: int, scope: Scope) -> None:
    instance = fitted(with_cores(seed)[0], scope)
    assert assert_encloses(instance, "total-response-time", scope=scope).schedule is not None


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
