"""Every exact method for OAS against brute force: a table of kinds of small instances by methods.

``solve`` builds no model where a list schedule meets a simple bound, as it does on most small instances.
So each model is also run alone: without a start, without a bound, and with slots to spare.
``benchmarks/agreement.py`` takes many more instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalloc
from coalloc.extend import Constraint
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.instance.constraints import LatestEnd
from coalloc.instance.rounding import time_tolerance
from coalloc.models import formulation_of
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.problem.allocation import Scope
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import Schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.effort import Effort
from coalloc.solvers.search.list_annealing import improve
from coalloc.testing import (
    BruteForceResult,
    brute_force_cbs,
    brute_force_jpr,
    brute_force_oas,
    brute_force_pas,
    small_feature_instance,
)
from coalloc.testing.constraints import KINDS, Kind, Spend, TimeLag, small_constraint
from tests.extras import AUTO
from tests.small_instances import (
    NODE_MODEL_SIZE,
    TINY,
    SmallSize,
    fitted,
    slotted_instances,
    small_instance,
    small_memory_instance,
)
from tests.strategies import LAW

BOTH = ("makespan", "total-response-time")
MAKESPAN, RESPONSE_TIME = (BOTH[0],), (BOTH[1],)
TIME_LIMIT = 600.0
"""Seconds, far beyond what is needed, so that a slow machine changes no status."""
CONTINUOUS_LIMIT = 0.5
"""Seconds of a solve in continuous time: what is compared holds whenever time runs out."""
TOLERANCE = 1e-6
SPARE_SLOTS = 1

# ------------------------------------------------------------------------------ kinds of instances


class Case(NamedTuple):
    """What is solved: an instance, a slot (s), and what else restricts its schedules.

    ``horizon`` has slots each of which brute force tries as a start, where constraints ask for that.
    """

    instance: Instance
    slot: float
    constraints: tuple[Constraint, ...] = ()
    scope: Scope = "platform"
    horizon: int | None = None

    def optimum(self, objective: str, *, in_slots: bool = True) -> BruteForceResult:
        """Return what brute force finds, in slots or in continuous time."""
        return brute_force_oas(
            self.instance,
            self.slot if in_slots else None,
            objective,
            scope=self.scope,
            constraints=self.constraints,
            horizon=self.horizon if in_slots else None,
        )


def plain(seed: int, size: SmallSize | None) -> Case:
    return Case(*small_instance(seed, size))


def with_memory(seed: int, size: SmallSize | None) -> Case:
    return Case(*small_memory_instance(seed, size))


def with_features(seed: int, size: SmallSize | None) -> Case:
    return Case(*small_feature_instance(seed, size))


def with_lags_of_jobs(seed: int, size: SmallSize | None) -> Case:
    return Case(*small_feature_instance(seed, size, ("lags", "limits", "eligible")))


def with_constraint(kind: Kind, seed: int, size: SmallSize | None) -> Case:
    """Return a case with a constraint of a kind; of a later seed where this has but one job."""
    for number in range(seed, seed + 100):
        instance, slot = small_instance(number, size)
        constraint = small_constraint(kind, number, instance, slot)
        if constraint is not None:
            return Case(instance, slot, (constraint,))
    raise AssertionError("none of a hundred instances has two jobs")


def with_budget(seed: int, size: SmallSize | None) -> Case:
    """Return a case with a budget, of whole numbers, of fractions, also negative, or a number of jobs.

    Each task costs between -1 and 2: limits are about in the middle.
    """
    instance, slot = small_instance(seed, size)
    rng, clusters = np.random.default_rng(seed), len(instance.platform.clusters)
    weights = {job.id: 1.0 if seed % 3 == 0 else float(rng.integers(3)) for job in instance.jobs}
    tasks = sum(job.tasks for job in instance.jobs)
    if seed % 3 == 0:
        return Case(instance, slot, (Spend(weights, (0.0,) * clusters, float(rng.integers(3))),))
    if seed % 3 == 1:
        prices = tuple(float(price) for price in rng.integers(0, 3, clusters))
        return Case(instance, slot, (Spend(weights, prices, float(rng.integers(tasks, 2 * tasks))),))
    prices = tuple(rng.uniform(-1.0, 1.0, clusters).tolist())
    return Case(instance, slot, (Spend(weights, prices, float(rng.uniform(-0.2, 0.5) * tasks)),))


def with_lags(seed: int, size: SmallSize | None) -> Case:
    """Return a case in which one job ends so late after another that begins little after it; every start is tried."""
    instance, slot = small_instance(seed, size)
    rng = np.random.default_rng(seed)
    ids = [job.id for job in instance.jobs]
    one, other = ids[int(rng.integers(len(ids)))], ids[int(rng.integers(len(ids)))]
    late = TimeLag(("end", one), ("start", other), slot * int(rng.integers(1, 6)))
    soon = TimeLag(("start", other), ("start", one), -slot * int(rng.integers(3)))
    horizon = int(discretise(instance, slot, constraints=(late, soon)).horizon_in_turn)
    return Case(instance, slot, (late, soon), horizon=horizon)


def within(scope: Scope, seed: int, size: SmallSize | None) -> Case:
    """Return jobs that stay within a cluster or a node; at every other seed groups are nodes of several cores."""
    instance, slot = small_instance(seed, size)
    if seed % 2 == 0 and not instance.running:
        clusters = [
            c.replace(nodes=[g.replace(count=1, cores=g.count * g.cores) for g in c.nodes])
            for c in instance.platform.clusters
        ]
        instance = instance.replace(platform=instance.platform.replace(clusters=clusters))
    return Case(fitted(instance, scope), slot, scope=scope)


# ------------------------------------------------------------------------------ methods


def close(optimum: float) -> Any:
    return pytest.approx(optimum, rel=TOLERANCE, abs=TOLERANCE)


def worth(instance: Instance, schedule: Schedule, objective: str) -> float:
    """Return the objective of a schedule, from its placements."""
    if objective == "makespan":
        return max(p.end for p in schedule) - instance.origin
    return sum(p.end - instance.job_by_id[p.job].arrival for p in schedule)


def faults(case: Case, schedule: Schedule) -> list[Any]:
    return coalloc.check(case.instance, schedule, scope=case.scope, constraints=case.constraints)


def assert_solved(formulation: str, case: Case, objective: str, best: BruteForceResult) -> None:
    """Solve in slots: the optimum of brute force is proved, in a valid schedule, or that there is none."""
    options: dict[str, Any] = {"slot": case.slot, "constraints": case.constraints, "scope": case.scope}
    result = coalloc.solve(
        case.instance, objective=objective, formulation=formulation, time_limit=TIME_LIMIT, **options
    )
    if not best.feasible:
        assert (result.status, result.schedule, result.objective) == ("infeasible", None, None)
        assert result.message
        return
    assert result.status == "optimal"
    assert result.objective is not None
    assert abs(result.objective - best.objective) <= time_tolerance(best.objective)
    assert result.lower_bound is not None
    assert result.lower_bound == close(best.objective)
    assert result.lower_bound <= best.objective + TOLERANCE
    for schedule in (best.schedule, result.schedule):
        assert schedule is not None
        assert faults(case, schedule) == []
        assert worth(case.instance, schedule, objective) == close(best.objective)
    assert coalloc.lower_bound(case.instance, objective, **options) <= best.objective * (1.0 + TOLERANCE)


def assert_modelled(name: str, case: Case, objective: str, best: BruteForceResult) -> None:
    """Run a model alone: its optimum is that of brute force."""
    problem = discretise(case.instance, case.slot, scope=case.scope)
    formulation, criterion = formulation_of("oas", name), Criterion.of(problem, objective)
    horizon = int(criterion.horizon(best_list_schedule(problem))) + SPARE_SLOTS
    model = formulation.build(problem, horizon=horizon, objective=criterion.objective, lower_bound=0)
    solution = solve_model(model, SolverLimits(time=TIME_LIMIT), integral=True)
    assert criterion.reported(solution.lower_bound) == close(best.objective)
    schedule = formulation.extract(model)
    assert faults(case, schedule) == []
    assert worth(case.instance, schedule, objective) == close(best.objective)
    # The ends of the node model are continuous, so its own objective may be a fraction of a slot above the schedule's.
    assert solution.objective is not None
    assert criterion.reported(solution.objective) >= best.objective - TOLERANCE


def assert_enclosed(case: Case, objective: str, best: BruteForceResult) -> None:
    """Solve in continuous time: bound and objective enclose the optimum whenever time runs out, so little is given."""
    options: dict[str, Any] = {"constraints": case.constraints, "scope": case.scope}
    result = coalloc.solve(case.instance, objective=objective, time_limit=CONTINUOUS_LIMIT, **options)
    assert (result.lower_bound or 0.0) <= best.objective + TOLERANCE
    if not best.feasible:
        assert result.status in ("infeasible", "unknown")
        return
    if result.status == "unknown":
        assert case.constraints  # where allocations alone are restricted, a list schedule is found at once
    else:
        assert result.status in ("optimal", "feasible")
        assert result.schedule is not None
        assert result.objective is not None
        assert result.objective >= best.objective - TOLERANCE
        assert result.status == "feasible" or result.objective == close(best.objective)
        assert faults(case, result.schedule) == []
        assert worth(case.instance, result.schedule, objective) == close(result.objective)
    bound = coalloc.lower_bound(case.instance, objective, **options)
    assert bound <= best.objective * (1.0 + TOLERANCE) + TOLERANCE


SOLVED = {name: partial(assert_solved, name) for name in ("auto", "mode", "count", "node")}
ALONE = {f"{name} alone": partial(assert_modelled, name) for name in ("mode", "count", "node")}
METHODS: dict[str, Callable[[Case, str, BruteForceResult], None]] = {
    **SOLVED,
    **ALONE,
    "continuous": assert_enclosed,
}
PORTFOLIO = ("auto", "continuous")
"""Methods that the optional extras change: they ask CP-SAT where that is installed."""

# ------------------------------------------------------------------------------ the table


class Row(NamedTuple):
    """Instances of a kind that methods solve: seeds, a size, and what is minimised."""

    kind: str
    methods: Sequence[str]
    seeds: Iterable[int]
    size: SmallSize | None = None
    objectives: tuple[str, ...] = BOTH


FOUR_JOBS = SmallSize(max_jobs=4)
THREE_JOBS = SmallSize(max_jobs=3, max_slots=14)
FEW_SLOTS = SmallSize(max_jobs=3, max_processors=4, max_slots=6)
TWO_JOBS = SmallSize(max_jobs=2, max_processors=4, max_slots=6)
"""Where the node model, run alone, proves the sum of response times in a moment too."""
FEWER_PROCESSORS = SmallSize(max_jobs=3, max_processors=5, max_slots=6)
BINDING = (10, 26, 33, 37, 45, 73)
"""Seeds of four jobs where memory changes the least makespan."""
BINDING_NODE = (3, 22, 40, 66)
"""Seeds of fewer processors, and of the size of the node model, where memory changes the least makespan."""
LAGGED = (2, 5, 7, 8, 11, 12, 15, 17, 18, 19)
"""Of the first twenty those that brute force decides at once; some have no schedule."""

CONSTRAINTS: dict[str, Callable[[int, SmallSize | None], Case]] = {k: partial(with_constraint, k) for k in KINDS}
SCOPES: tuple[Scope, ...] = ("cluster", "node")
GENERATORS: dict[str, Callable[[int, SmallSize | None], Case]] = {
    "plain": plain,
    "memory": with_memory,
    "features": with_features,
    "lags of jobs": with_lags_of_jobs,
    "budget": with_budget,
    "lags": with_lags,
    **CONSTRAINTS,
    **{f"within a {scope}": partial(within, scope) for scope in SCOPES},
}
ROWS = (
    Row("plain", ("auto", "mode", "count"), (1, 2, 3, 4, 5, 6, 7, 10)),
    Row("plain", ("mode alone", "count alone"), (20, 21, 22, 23, 24, 25, 27, 29, 30, 31)),
    Row("plain", ("node",), (0, 1, 2, 3, 5, 7, 9, 10), NODE_MODEL_SIZE, MAKESPAN),
    Row("plain", ("node alone",), range(20, 32), FEW_SLOTS, MAKESPAN),
    Row("plain", ("node alone",), range(20, 32), TWO_JOBS, RESPONSE_TIME),
    Row("plain", ("continuous",), range(40, 44)),
    Row("memory", ("auto", "mode", "count"), (*BINDING, 0, 1), FOUR_JOBS),
    Row("memory", ("node",), BINDING_NODE, NODE_MODEL_SIZE, MAKESPAN),
    Row("memory", tuple(ALONE), BINDING_NODE, FEWER_PROCESSORS, MAKESPAN),
    Row("memory", ("continuous",), BINDING, FOUR_JOBS, MAKESPAN),
    Row("features", ("auto",), range(6)),
    Row("features", ("mode", "count"), range(6, 9), None, MAKESPAN),
    Row("features", ("mode", "count"), range(9, 12), None, RESPONSE_TIME),
    Row("features", ("node",), range(12, 16), TINY, MAKESPAN),
    Row("features", ("continuous",), (20, 21), None, MAKESPAN),
    Row("lags of jobs", ("auto",), range(100, 112), TINY, MAKESPAN),
    Row("budget", ("auto",), range(12), TINY),
    Row("budget", ("mode", "count"), range(12), TINY, RESPONSE_TIME),
    Row("budget", ("node",), range(6), TINY, MAKESPAN),
    Row("budget", ("continuous",), range(6), TINY),
    Row("lags", ("auto", "mode", "count"), LAGGED, TINY, MAKESPAN),
    *(Row(kind, ("auto", "mode", "count"), (0, 6, 8, 18), THREE_JOBS) for kind in CONSTRAINTS),
    *(Row(kind, ("node",), (0, 5), TINY, MAKESPAN) for kind in CONSTRAINTS),
    *(Row(kind, ("continuous",), (3,), THREE_JOBS) for kind in CONSTRAINTS),
    *(Row(f"within a {scope}", ("auto", "mode", "count"), (4, 5, 6, 7)) for scope in SCOPES),
    *(Row(f"within a {scope}", ("node",), range(6), FEW_SLOTS, MAKESPAN) for scope in SCOPES),
    *(Row(f"within a {scope}", ("mode alone", "count alone"), range(20, 24)) for scope in SCOPES),
    *(Row(f"within a {scope}", ("continuous",), (4, 6), None, RESPONSE_TIME) for scope in SCOPES),
)


@cache
def case_of(kind: str, seed: int, size: SmallSize | None) -> Case:
    return GENERATORS[kind](seed, size)


@cache
def best_of(kind: str, seed: int, size: SmallSize | None, objective: str, in_slots: bool) -> BruteForceResult:
    """Return what brute force finds, once for all methods."""
    return case_of(kind, seed, size).optimum(objective, in_slots=in_slots)


def items() -> Iterator[Any]:
    """Yield what is tested: rows by seeds by methods."""
    for row in ROWS:
        for seed in row.seeds:
            for method in row.methods:
                marks = [pytest.mark.extras] if method in PORTFOLIO else []
                yield pytest.param(row, seed, method, marks=marks, id=f"{row.kind}-{seed}-{method}")


@pytest.mark.parametrize(("row", "seed", "method"), [*items()])
def test_a_method_finds_the_optimum(row: Row, seed: int, method: str) -> None:
    for objective in row.objectives:
        best = best_of(row.kind, seed, row.size, objective, method != "continuous")
        METHODS[method](case_of(row.kind, seed, row.size), objective, best)


# ------------------------------------------------------------------------------ laws, and what the table has not


@pytest.mark.parametrize("formulation", ["mode", "count", "node"])
@settings(max_examples=10, deadline=None)
@given(example=slotted_instances(FEW_SLOTS))
def test_solve_finds_the_optimum_of_any_instance(formulation: str, example: tuple[Instance, float]) -> None:
    assert_solved(formulation, Case(*example), "makespan", Case(*example).optimum("makespan"))


@settings(max_examples=10, deadline=None)
@given(slotted_instances(SmallSize(max_jobs=3, max_slots=12)))
def test_both_aggregated_models_alone_find_the_optimum_of_any_instance(example: tuple[Instance, float]) -> None:
    for objective in BOTH:
        best = Case(*example).optimum(objective)
        for formulation in ("mode", "count"):
            assert_modelled(formulation, Case(*example), objective, best)


@LAW
@given(slotted_instances(TINY), st.booleans(), st.sampled_from(BOTH))
def test_the_optimum_is_between_every_bound_and_every_heuristic(
    drawn: tuple[Instance, float], in_slots: bool, objective: str
) -> None:
    instance, slot = drawn[0], drawn[1] if in_slots else None
    optimum = Case(*drawn).optimum(objective, in_slots=in_slots).objective
    assert coalloc.lower_bound(instance, objective, "best", slot, time_limit=0.2) <= optimum + TOLERANCE
    problem = discretise(instance, slot)
    listed = best_list_schedule(problem)
    for heuristic in (listed, improve(problem, listed, Effort(iterations=20, seed=0), objective=objective)):
        criterion = Criterion.of(problem, objective)
        assert criterion.reported(criterion.value(heuristic)) >= optimum - TOLERANCE


@pytest.mark.parametrize("objective", BOTH)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_helps_no_schedule(scope: Scope, objective: str) -> None:
    for seed in (4, 5, 7, 20, 21):
        case = case_of(f"within a {scope}", seed, None)
        free = case._replace(scope="platform").optimum(objective).objective
        assert best_of(f"within a {scope}", seed, None, objective, True).objective >= free - TOLERANCE


@pytest.mark.extras
@pytest.mark.parametrize("objective", BOTH)
@pytest.mark.parametrize("seed", [1, 3])
def test_a_limit_on_the_makespan(seed: int, objective: str) -> None:
    instance, slot = small_instance(seed, SmallSize(max_jobs=4, max_slots=14))
    least = brute_force_oas(instance, slot).objective
    for share in (0.4, 0.95, 1.0, 1.2):
        limit = share * least
        best = brute_force_oas(instance, slot, objective, constraints=[LatestEnd(instance.origin + limit)])
        assert best.feasible == (share >= 1.0)
        result = coalloc.solve(instance, slot=slot, objective=objective, makespan_limit=limit, time_limit=TIME_LIMIT)
        if share < 1.0:
            assert (result.status, result.schedule, result.objective) == ("infeasible", None, None)
            assert result.message
            continue
        assert (result.status, result.objective) == ("optimal", close(best.objective))
        assert result.schedule is not None
        assert max(p.end for p in result.schedule) <= instance.origin + limit + TOLERANCE


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
            assert found == close(best.objectives)


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
