"""Annealing of lists: its schedules are those of serial generation, it finds optima of few jobs, and it repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.constraints import Constraint, MostTasks
from coalloc.instance.windows import Window
from coalloc.objectives import Criterion
from coalloc.objectives.objective import RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import FILLING_RULES, Generation, book, list_schedule
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.search import list_annealing
from coalloc.solvers.search.list_annealing import METHOD, ListAnnealing, ListCosts
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.features import small_feature_instance, small_mixed_instance
from coalloc.testing.small import SmallSize, with_due_dates

LINKS = {"jobs": 20, "max_tasks": 6, "bsbw_low": 0.1, "link_bandwidth": 100.0}
TREE = {"jobs": 20, "clusters": 4, "nodes": 3, "switch_bandwidth": 60.0}
POWERS = {"jobs": 20, "clusters": 6, "nodes": 2, "interarrival_mean": 2e5}
OBJECTIVES = ("makespan", "total-weighted-response-time", "mean-bounded-slowdown")
DATED = ("weighted-tardiness", "maximum-lateness")


class FewOfEach(Constraint):
    """No more than two tasks of a job on a node."""

    def declare(self, instance):
        return [MostTasks(job.id, [node], 2) for job in instance.jobs for node in range(len(instance.platform.nodes))]


def crowded(seed: int) -> Instance:
    """Return jobs of several shapes that share memory, links and licences, beside one that runs."""
    rng = np.random.default_rng(seed)
    groups = NodeGroup(3, 1.0, cores=4, memory=100.0), NodeGroup(2, 0.5, cores=4, memory=60.0)
    platform = Platform((Cluster("C1", groups[:1], 30.0), Cluster("C2", groups[1:], 20.0)), resources={"licences": 3.0})
    jobs = tuple(
        Job(
            f"J{i}",
            int(rng.integers(1, 9)),
            float(rng.integers(1, 50)),
            0.5,
            5.0,
            memory=float(rng.integers(0, 50)),
            resources={"licences": float(rng.integers(0, 3))},
            shapes=(coalloc.Shape(9, 20.0),) if rng.random() < 0.3 else (),
        )
        for i in range(12)
    )
    return Instance(platform, jobs, (RunningJob(Job("R", 2, 50.0), ("C1/0.0", "C2/0.1"), 17.0),))


def pool(num_jobs: int, seed: int, processors: int = 6, running: tuple[RunningJob, ...] = ()) -> Instance:
    """Return jobs that arrive over time on equal processors."""
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            f"J{i}",
            int(rng.integers(1, processors + 1)),
            float(rng.integers(1, 30)),
            arrival=float(rng.integers(0, 4 * num_jobs)),
            weight=float(rng.integers(0, 4)),
            due_date=float(rng.integers(0, 6 * num_jobs)),
        )
        for i in range(num_jobs)
    ]
    return Instance(Platform((Cluster("C1", (NodeGroup(processors, 1.0),), 10.0),)), jobs, running)


def annealing_of(problem: Problem, name: str = "makespan", seed: int = 0) -> ListAnnealing:
    return ListAnnealing(problem, ListCosts.of(Criterion.of(problem, name)), seed)


def listed(problem: Problem, order: list[int], ways: list[int]) -> list[tuple[int, float, tuple[int, ...]]] | None:
    """Return job, start and allocation by serial generation; levels from their number on stand for one alone.

    None where some job has no place in that order.
    """
    generation, profile, found = Generation(problem), Profile(problem), []
    for j in order:
        level, rule = divmod(ways[j], len(FILLING_RULES))
        num_levels = len(problem.levels[j])
        placed = generation.place(profile, j, (level if level < num_levels else ~(level - num_levels), rule))
        if placed is None:
            return None
        book(profile, placed)
        found.append((j, placed.start, placed.mode.allocation))
    return sorted(found)


def assert_equal(problem: Problem) -> None:
    """Make schedules of random lists in Python and in the engine."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        order = rng.permutation(len(problem.jobs)).tolist()
        ways = [int(rng.integers(2 * len(levels) * len(FILLING_RULES))) for levels in problem.levels]
        annealing = annealing_of(problem)
        annealing.consider(order, ways)
        assert sorted((a.job, a.start, a.mode.allocation) for a in annealing.best()[2]) == listed(problem, order, ways)


@pytest.mark.parametrize("slot", [None, 3e4])
@pytest.mark.parametrize("parameters", [LINKS, TREE, POWERS], ids=["links", "tree", "powers"])
def test_lists_become_the_schedules_of_serial_generation(parameters, slot):
    assert_equal(discretise(coalloc.generate("thesis-oas", seed=1, **parameters), slot))


@pytest.mark.parametrize("seed", range(3))
def test_so_they_do_whatever_is_shared(seed):
    assert_equal(discretise(crowded(seed), None))


@pytest.mark.parametrize("seed", range(3))
def test_so_they_do_beside_windows_and_reservations(seed):
    instance, reserved = crowded(seed), RunningJob(Job("R2", 4, 12.0), ("C1/1.0-3",), 12.0, start=9.0)
    windows = Window("C1", 5.0, 25.0, nodes=["C1/0"]), Window("C2", 30.0, 41.0)
    instance = instance.replace(platform=instance.platform.replace(unavailable=windows), running=[reserved])
    problem = discretise(instance, None)
    assert problem.blocks
    assert_equal(problem)
    criterion, annealing = Criterion.of(problem, "total-response-time"), annealing_of(problem, "total-response-time")
    annealing.consider(range(12), [0] * 12)
    annealing.round(2_000)
    assert_consistent(criterion, annealing)


def test_so_they_do_where_a_constraint_counts_tasks():
    instance = coalloc.generate("thesis-oas", seed=1, jobs=10, max_tasks=6)
    assert_equal(discretise(instance, 3e4, constraints=(FewOfEach(),)))


class Declaring(Constraint):
    """Declarations as they are."""

    def __init__(self, declared):
        self.declared = declared

    def declare(self, instance):
        return self.declared


def restricted(seed: int) -> Iterator[Problem]:
    """Yield problems with several features or constraints, of any scope, in slots and in continuous time."""
    size = SmallSize(max_jobs=7, max_slots=40)
    if seed % 2:
        (instance, slot), declared = small_feature_instance(seed, size), []
    else:
        instance, slot, _, declared = small_mixed_instance(seed, size)
    instance = with_due_dates(instance, seed)
    scope = ("platform", "platform", "cluster", "node")[seed % 4]
    for length, rounding in ((slot, "up"), (slot, "down"), (None, "up")):
        problem = discretise(instance, length, rounding, scope=scope, constraints=(Declaring(declared),))
        if not why_infeasible(problem):
            yield problem


@pytest.mark.parametrize("seed", range(40))
def test_so_they_do_under_all_constraints(seed):
    for problem in restricted(seed):
        assert_schedules_equal(problem, seed, len(OBJECTIVES) + 4)


def assert_schedules_equal(problem: Problem, seed: int, number: int) -> None:
    """Compare so many random lists, each objective in turn: schedules, costs, and what a round makes of the last."""
    rng = np.random.default_rng(seed)
    objectives = [*OBJECTIVES, "total-response-time", Late(True), Late(False)]
    objectives += DATED if any(job.due_date is not None for job in problem.jobs) else []
    for k in range(number):
        criterion = Criterion.of(problem, objectives[k % len(objectives)])
        order = rng.permutation(len(problem.jobs)).tolist()
        ways = [int(rng.integers(2 * len(levels) * len(FILLING_RULES))) for levels in problem.levels]
        expected, annealing = listed(problem, order, ways), ListAnnealing(problem, ListCosts.of(criterion), 0)
        annealing.consider(order, ways)
        assert math.isfinite(annealing.value) == (expected is not None)
        if expected is not None:
            assert_consistent(criterion, annealing)
    annealing.round(100)
    if math.isfinite(annealing.value):
        assert_consistent(criterion, annealing)


def test_lists_of_jobs_that_await_others_are_put_in_turn():
    # J3 after J2 after J1: only one order has a schedule, whatever is named first.
    jobs = [Job(f"J{i}", 1, 10.0 * i, after=(f"J{i - 1}",) if i > 1 else ()) for i in (1, 2, 3)]
    problem = discretise(Instance(Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 1.0)]), jobs), None)
    annealing = annealing_of(problem)
    annealing.consider([2, 1, 0], [0] * 3)
    assert math.isinf(annealing.value)
    annealing.consider_all(list_schedule(problem, [2, 1, 0]))
    assert annealing.value == pytest.approx(60.0, abs=1.0)


def assert_consistent(criterion: Criterion, annealing: ListAnnealing) -> None:
    """Make the schedule of the best list anew: steps place only what may change, and that must be the very same."""
    order, ways, assignments = annealing.best()
    assert criterion.value(assignments) == pytest.approx(annealing.value)
    assert sorted((a.job, a.start, a.mode.allocation) for a in assignments) == listed(criterion.problem, order, ways)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("parameters", [LINKS, TREE, POWERS], ids=["links", "tree", "powers"])
def test_what_a_list_costs_after_many_steps_is_what_its_schedule_costs(parameters, name):
    criterion = Criterion.of(discretise(coalloc.generate("thesis-oas", seed=3, **parameters), None), name)
    annealing = annealing_of(criterion.problem, name)
    annealing.consider(range(20), [0] * 20)
    before = annealing.value
    annealing.round(3_000)
    assert annealing.value < before
    assert_consistent(criterion, annealing)


@pytest.mark.parametrize("name", [*OBJECTIVES, "weighted-tardiness"])
def test_so_it_is_on_equal_processors(name):
    # Jobs arrive over time, so most steps place some jobs in the middle and leave those that follow.
    running = (RunningJob(Job("R", 2, 50.0), ("C1/0", "C1/1"), 17.0),)
    criterion = Criterion.of(discretise(pool(40, 1, running=running), None), name)
    annealing = annealing_of(criterion.problem, name, seed=3)
    annealing.consider(range(40), [0] * 40)
    annealing.round(5_000)
    assert_consistent(criterion, annealing)


@pytest.mark.parametrize("instance", [pool(60, 1), crowded(1)], ids=["pool", "crowded"])
def test_results_do_not_depend_on_where_calls_end(monkeypatch, instance):
    problem, found = discretise(instance, None), []
    for look in (0.0, 60.0):  # a call returns at the first look at the clock, or once all is done
        monkeypatch.setattr(list_annealing, "LONGEST_CALL", look)
        annealing = annealing_of(problem, "total-response-time")
        annealing.consider(range(len(problem.jobs)), [0] * len(problem.jobs))
        annealing.round(2_000)
        found.append(annealing.best())
    assert found[0] == found[1]


def test_no_job_of_a_list_ends_after_its_latest_end():
    # One processor, 10 s each: in the order J2, J1 the first ends after 20 s, and no list lets both end by 15 s.
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 1.0)])
    problem = discretise(Instance(platform, [Job("J1", 1, 10.0), Job("J2", 1, 10.0)]), None)
    costs = ListCosts.of(Criterion.of(problem, "total-response-time"))
    for latest, orders in (([10.0, math.inf], [(0, 1)]), ([20.0, 20.0], [(0, 1), (1, 0)]), ([15.0, 15.0], [])):
        for order in ((0, 1), (1, 0)):
            annealing = ListAnnealing(problem, costs, 0, latest)
            annealing.consider(order, [0, 0])
            assert annealing.value == (30.0 if order in orders else math.inf)


def test_nothing_is_annealed_past_the_deadline():
    problem = discretise(pool(60, 1), None)
    annealing = annealing_of(problem)
    annealing.consider(range(60), [0] * 60, deadline=0.0)
    assert math.isinf(annealing.value)
    annealing.round(1_000)
    assert math.isinf(annealing.value)


def test_the_engine_refuses_what_is_no_list():
    problem = discretise(pool(3, 0), None)
    annealing = annealing_of(problem)
    for order, ways, fault in (
        ([0, 1, 1], [0] * 3, "order"),
        ([0, 1, 3], [0] * 3, "order"),
        ([0, 1, 2], [6] * 3, "ways"),
    ):
        # One level, two ways to take it, three rules: ways end before 6.
        with pytest.raises(InternalError, match=fault):
            annealing.consider(order, ways)


class Late(RegularObjective):
    """How many jobs end after 60 s, in steps, or, with pieces, where steps are."""

    name, unit, is_monotone = "late", "-", True

    def __init__(self, is_known: bool) -> None:
        self.is_known = is_known

    def cost(self, job, start, end):
        return float(end > 60.0)

    def pieces(self, job, duration):
        return PiecewiseLinear([(60.0, 0.0), (60.0, 1.0)]) if self.is_known else None


@pytest.mark.parametrize("slot", [None, 4.0])
@pytest.mark.parametrize("objective", [Late(True), Late(False), "maximum-lateness"], ids=["steps", "asked", "lateness"])
def test_costs_are_counted_in_steps_and_by_asking(slot, objective):
    # A job without a due date is never late, which no ramp says.
    instance = pool(20, 3)
    instance = instance.replace(jobs=[instance.jobs[0].replace(due_date=None), *instance.jobs[1:]])
    criterion = Criterion.of(discretise(instance, slot), objective)
    annealing = ListAnnealing(criterion.problem, ListCosts.of(criterion), 0)
    annealing.consider(range(20), [0] * 20)
    before = annealing.value
    annealing.round(2_000)
    assert annealing.value < before
    assert_consistent(criterion, annealing)


@pytest.mark.parametrize("name", ["makespan", "total-response-time"])
@pytest.mark.parametrize("seed", range(3))
def test_few_jobs_come_to_the_optimum(seed, name):
    instance = coalloc.generate("thesis-oas", seed=seed, jobs=4, nodes=2, max_tasks=4)
    problem = discretise(instance, 1e5)
    annealing = annealing_of(problem, name)
    annealing.consider(range(4), [0] * 4)
    annealing.round(5_000)
    best = brute_force_oas(instance, 1e5, name).objective
    assert Criterion.of(problem, name).reported(annealing.value) == pytest.approx(best)


@pytest.mark.parametrize("slot", [None, 4.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["total-response-time", "makespan"])
def test_so_do_they_on_equal_processors(seed, slot, name):
    instance = pool(4, seed, processors=4)
    criterion = Criterion.of(discretise(instance, slot), name)
    annealing = annealing_of(criterion.problem, name)
    annealing.consider(range(4), [0] * 4)
    annealing.round(3_000)
    best = brute_force_oas(instance, slot, name).objective
    assert criterion.reported(annealing.value) == pytest.approx(best)


def test_the_same_seed_makes_the_same_list():
    found = []
    for seed in (5, 5, 6):
        annealing = annealing_of(discretise(coalloc.generate("thesis-oas", seed=2, **TREE), None), seed=seed)
        annealing.consider(range(20), [0] * 20)
        annealing.round(300)
        found.append(annealing.best()[0])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("constraints", [(), (FewOfEach(),)], ids=["free", "counted"])
def test_solve_takes_its_schedules(monkeypatch, constraints):
    monkeypatch.setattr(portfolio, "METHODS", (list_schedules.METHOD, METHOD))
    for instance in (coalloc.generate("thesis-oas", seed=1, jobs=24, max_tasks=6), pool(60, 4)):
        result = coalloc.solve(instance, objective="total-response-time", work_limit=2_000, constraints=constraints)
        assert result.trace[-1].source == METHOD.name
        assert coalloc.check(instance, result.schedule, constraints=constraints) == []


@pytest.mark.parametrize(("num_jobs", "better_until", "rounds"), [(3, 0, 3), (3, 5, 6), (8, 0, 4), (100, 0, 8)])
def test_moves_that_were_often_tried_in_vain_end_it(num_jobs: int, better_until: int, rounds: int) -> None:
    # Rounds of s n, 4 s n, ... steps end when more than s n^3 were in vain. 3 jobs: (3 + 12 + 48) s > 27 s, or all
    # 3,072 s of the round behind five that were not. 8 jobs: 680 s > 512 s. 100 jobs: 2,184,500 s > 1,000,000 s.
    lengths: list[int] = []

    class Annealing:
        value = 100.0

        def round(self, steps: int, _: float) -> None:
            lengths.append(steps)
            self.value -= len(lengths) <= better_until

        def best(self) -> tuple[None, None, list[Assignment]]:
            return None, None, []

    incumbent: Any = SimpleNamespace(
        problem=SimpleNamespace(jobs=range(num_jobs)),
        state=SimpleNamespace(options=SimpleNamespace(work_limit=None)),
        limited=lambda steps: steps,
        take=lambda *_: None,
        deadline=0.0,
        time_left=1e6,
        is_closed=False,
    )
    list_annealing._anneal_in_rounds(incumbent, Annealing(), 8)
    assert lengths == [list_annealing.STEPS * num_jobs * 4**k for k in range(rounds)]
