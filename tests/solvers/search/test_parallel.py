"""A tree in several threads: it finds what one thread finds, whatever is divided when, and repeats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import pytest

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.objectives import Criterion
from coalloc.problem import Problem, discretise, slot_seconds
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.search import parallel, set_tree
from coalloc.solvers.search.cost_tree import CostTree, may_search
from coalloc.solvers.search.node_prices import NodePrices
from coalloc.solvers.search.parallel import ParallelTree
from coalloc.solvers.search.set_tables import SetTables
from coalloc.solvers.search.set_tree import SetTree
from coalloc.testing import brute_force_oas, small_feature_instance


@pytest.fixture(autouse=True)
def divided_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "ALONE", 1)
    monkeypatch.setattr(parallel, "NODES", 3)


T = TypeVar("T", bound=parallel.DivisibleTree)


def in_threads(tree_of: Callable[[int], T], threads: int) -> ParallelTree[T]:
    return ParallelTree(tree_of, lambda: threads, is_limited=True)


def ends_in_threads(problem: Problem, latest: float, threads: int) -> ParallelTree[SetTree]:
    def tree_of(_thread: int) -> SetTree:
        tables = SetTables(problem, latest, 4)
        return SetTree(problem, tables, NodePrices(problem, tables, [0.0] * len(problem.jobs)), latest, threads)

    return in_threads(tree_of, threads)


def least(tree: ParallelTree[SetTree] | ParallelTree[CostTree], criterion: Criterion, step: float) -> float:
    """Return the least cost of what a tree finds, with valid schedules all the way; infinity where nothing."""
    best = math.inf
    while (ended := tree.run(1_000, math.inf)[0]) != "everything":
        if ended == "better" and (cost := criterion.value(tree.assignments())) < best:
            best = cost
            tree.lower(best - step)
    return best


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("seed", range(200, 212))
def test_threads_find_what_brute_force_finds(monkeypatch: pytest.MonkeyPatch, seed: int, threads: int) -> None:
    instance, slot = small_feature_instance(seed)
    problem = discretise(instance, slot)
    monkeypatch.setattr(set_tree, "MEMORY", (1, 800, 1_200_000)[seed % 3])
    for objective in ("makespan", "total-response-time"):
        criterion = Criterion.of(problem, objective)
        if not set_tree.takes(problem) or not may_search(criterion):
            continue
        optimum = brute_force_oas(instance, slot, objective).objective
        if objective == "makespan":
            latest = min(max(problem.latest_ends), problem.horizon_in_turn)
            found = least(ends_in_threads(problem, latest, threads), criterion, 1.0)
        else:
            costs = in_threads(lambda _, of=criterion: CostTree(of, None, math.inf, threads), threads)
            found = least(costs, criterion, 0.0)
        expected = math.inf if optimum is None else optimum
        assert criterion.reported(found) == pytest.approx(expected, rel=1e-6)


def ten_jobs() -> Problem:
    instance = coalloc.generate("thesis-oas", jobs=10, seed=1004)
    return discretise(instance, slot_seconds(instance, "15%"))


def test_all_threads_receive_parts_and_repeat() -> None:
    problem = ten_jobs()
    latest = max(a.end for a in best_list_schedule(problem))
    runs = []
    for _ in range(2):
        tree = ends_in_threads(problem, latest, 3)
        found = [tree.run(2_000, math.inf), tree.run(2_000, math.inf)]
        runs.append((found, [(seat.part, seat.nodes, seat.is_idle) for seat in tree.seats]))
    assert runs[0] == runs[1]
    assert len({part for part, _, _ in runs[0][1]}) == 3


def test_solve_repeats_with_a_work_limit_and_proves_the_same_value() -> None:
    instance = coalloc.generate("thesis-oas", jobs=9, seed=8)
    results = [coalloc.solve(instance, slot="5%", work_limit=10**7, time_limit=math.inf, threads=k) for k in (1, 2, 2)]
    assert {result.status for result in results} == {"optimal"}
    assert len({result.objective for result in results}) == 1
    assert results[1].schedule == results[2].schedule


def test_what_a_thread_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ends_in_threads(ten_jobs(), 1_000.0, 2)
    while not (len(tree.seats) == 2 and not tree.seats[1].is_idle):
        tree.run(50, math.inf)

    def broken(*_: float) -> tuple[str, int]:
        raise ZeroDivisionError

    monkeypatch.setattr(tree.seats[1].tree, "run", broken)
    monkeypatch.setattr(tree, "_found", [])
    with pytest.raises(ZeroDivisionError):
        tree.run(50, math.inf)


def test_a_part_before_the_last_makes_it_forget() -> None:
    # The part that is given second is before the one that was given first.
    tree = ends_in_threads(ten_jobs(), 1_000.0, 2)
    tree.run(50, math.inf)
    giver, receiver = tree.seats
    receiver.part = ()
    forgotten: list[bool] = []
    receiver.tree.forget = lambda: forgotten.append(True)  # type: ignore[method-assign]
    receiver.tree.share = lambda _: True  # type: ignore[method-assign]
    giver.tree.share = lambda _: True  # type: ignore[method-assign]
    for part, given, is_forgotten in [((), 0, False), ((), 1, True), ((-1,), 0, False)]:
        giver.part, giver.given = part, given
        forgotten.clear()
        assert giver.give(receiver)
        assert bool(forgotten) == is_forgotten


def test_only_trees_alike_share() -> None:
    problem = ten_jobs()
    tree = ends_in_threads(problem, 1_000.0, 1).seats[0].tree
    other = ends_in_threads(discretise(coalloc.generate("thesis-oas", jobs=4, seed=1), 1e5), 1_000.0, 1).seats[0].tree
    tree.run(10, math.inf)
    for wrong in (tree, other):
        with pytest.raises(InternalError, match="with of set_tree_share is out of range"):
            tree.share(wrong)


def test_a_thread_whose_prices_prove_all_is_done() -> None:
    # With prices of 6 in all there is no time for what is left: the tree in the engine is not asked.
    problem = ten_jobs()
    tree = ends_in_threads(problem, 1_000.0, 2)
    while not (len(tree.seats) == 2 and not tree.seats[1].is_idle):
        tree.run(50, math.inf)
    for seat in tree.seats:
        seat.tree.lower(0.0)
        seat.tree._tables.worths[0] = 6.0
    tree.seats[0].is_idle = True
    tree._found = []
    assert tree.run(50, math.inf)[0] == "everything"
