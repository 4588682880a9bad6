"""A tree in several threads: it finds what one thread finds, whatever is divided when, and repeats."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import pytest

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.objectives import Criterion
from coalloc.problem import Problem, discretise, slot_seconds
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.search import parallel, set_tree
from coalloc.solvers.search.cost_tree import CostTree, may_search, tables_of
from coalloc.solvers.search.node_prices import NodePrices
from coalloc.solvers.search.parallel import ParallelTree
from coalloc.solvers.search.set_tables import SetTables
from coalloc.solvers.search.set_tree import SetTree
from coalloc.testing import brute_force_oas, small_feature_instance


@pytest.fixture(autouse=True)
def divided_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "NODES", 1)
    monkeypatch.setattr(parallel, "PART", 5)
    monkeypatch.setattr(parallel, "SECONDS", 0.0005)


T = TypeVar("T", bound=parallel.DivisibleTree)


def in_threads(tree_of: Callable[[int], T], threads: int, *, is_limited: bool = True) -> ParallelTree[T]:
    return ParallelTree(tree_of, lambda: threads, is_limited)


def ends_in_threads(problem: Problem, latest: float, threads: int, *, is_limited: bool = True) -> ParallelTree[SetTree]:
    common = None if is_limited else SetTables(problem, latest, 4, threads=threads)

    def tree_of(thread: int) -> SetTree:
        tables = common or SetTables(problem, latest, 4)
        prices = NodePrices(problem, tables, [0.0] * len(problem.jobs), thread if common else 0)
        return SetTree(problem, tables, prices, latest)

    return in_threads(tree_of, threads, is_limited=is_limited)


def costs_in_threads(criterion: Criterion, threads: int, *, is_limited: bool) -> ParallelTree[CostTree]:
    common = None if is_limited else tables_of(criterion, threads)
    return in_threads(lambda _: CostTree(criterion, None, math.inf, common), threads, is_limited=is_limited)


def least(tree: ParallelTree[SetTree] | ParallelTree[CostTree], criterion: Criterion, step: float) -> float:
    """Return the least cost of what a tree finds, with valid schedules all the way; infinity where nothing."""
    best = math.inf
    while (ended := tree.run(1_000, math.inf)[0]) != "everything":
        if ended == "better" and (cost := criterion.value(tree.assignments())) < best:
            best = cost
            tree.lower(best - step)
    return best


@pytest.mark.parametrize("is_limited", [False, True])
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("seed", range(200, 212))
def test_threads_find_what_brute_force_finds(
    monkeypatch: pytest.MonkeyPatch, seed: int, threads: int, is_limited: bool
) -> None:
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
            found = least(ends_in_threads(problem, latest, threads, is_limited=is_limited), criterion, 1.0)
        else:
            found = least(costs_in_threads(criterion, threads, is_limited=is_limited), criterion, 0.0)
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
        runs.append((found, [(seat.nodes, seat.is_idle) for seat in tree.seats]))
    assert runs[0] == runs[1]
    assert all(nodes for nodes, _ in runs[0][1])


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


def test_threads_bound_nodes_by_what_one_has_learned() -> None:
    tree = ends_in_threads(ten_jobs(), 1_000.0, 2, is_limited=False)
    while not (len(tree.seats) == 2 and not tree.seats[1].is_idle):
        tree.run(50, math.inf)
    lesson = [float(j) for j in range(10)]
    tree.seats[0].tree._news.append(lesson)
    tree.run(1, math.inf)
    tree.run(1, math.inf)
    first, second = (seat.tree for seat in tree.seats)
    assert first.lessons()[1:] == second.lessons()[1:] == [lesson]
    assert first._tables.worths.tolist() == [0.0, 45.0, 0.0, 0.0] * 2


def test_a_solve_that_is_cancelled_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing proves its least makespan in slots of 2 % within a minute.
    hard, cancel = coalloc.generate("thesis-oas", jobs=20, seed=6003), threading.Event()
    begin, runs = ParallelTree._begin, []

    def cancelled(*arguments: Any) -> Future[tuple[str, int]]:
        runs.append(begin(*arguments))
        cancel.set()
        return runs[-1]

    monkeypatch.setattr(ParallelTree, "_begin", cancelled)
    result = coalloc.solve(hard, slot="2%", time_limit=math.inf, threads=2, cancel=cancel)
    assert (result.status, result.stopped_by) == ("feasible", "interrupt")
    assert result.schedule is not None
    assert coalloc.check(hard, result.schedule) == []
    assert all(run.done() for run in runs)


def test_only_trees_alike_share() -> None:
    problem = ten_jobs()
    tree = ends_in_threads(problem, 1_000.0, 1).seats[0].tree
    other = ends_in_threads(discretise(coalloc.generate("thesis-oas", jobs=4, seed=1), 1e5), 1_000.0, 1).seats[0].tree
    beside = SetTree(problem, tree._tables, tree._prices, 1_000.0)  # its running sets are not for two threads
    tree.run(10, math.inf)
    for wrong in (tree, other, beside):
        with pytest.raises(InternalError, match="with of set_tree_share is out of range"):
            tree.share(wrong, 0)


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
