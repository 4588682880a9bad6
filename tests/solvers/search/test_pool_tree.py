"""The tree of one pool: it sees what brute force sees, whatever its memory holds, and proves what ends no sooner."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import discretise
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.bounds import simple
from coalloc.solvers.search import pool_tree
from coalloc.solvers.search.pool_tree import METHOD, PoolProblem, PoolTree, pool_of
from coalloc.testing.brute_force import brute_force_oas


def instance_of(jobs, processors, running=()):
    platform = Platform((Cluster("C1", (NodeGroup(processors, 1.0),), 10.0),))
    listed = [Job(f"J{i}", tasks, float(seconds)) for i, (tasks, seconds) in enumerate(jobs)]
    return Instance(platform, listed, running)


def pool(jobs, processors, busy=()):
    jobs = sorted(jobs, reverse=True)
    tasks, ticks = zip(*jobs, strict=True)
    return PoolProblem(processors, tuple(range(len(jobs))), tasks, ticks, tuple(busy), release=0.0, unit=1.0)


def small(seed):
    """Five jobs of few kinds on up to six processors, in half of the cases beside running ones."""
    rng = np.random.default_rng(seed)
    processors = int(rng.integers(2, 7))
    kinds = [(int(rng.integers(1, processors + 1)), int(rng.integers(1, 9))) for _ in range(int(rng.integers(2, 6)))]
    jobs = [kinds[rng.integers(len(kinds))] for _ in range(5)]
    nodes = tuple(f"C1/{n}" for n in range(processors))
    first = RunningJob(Job("R", 1, 20.0), nodes[:1], float(rng.integers(1, 15)))
    second = RunningJob(Job("S", processors - 1, 20.0), nodes[1:], float(rng.integers(1, 9)))
    return instance_of(jobs, processors, (first, second)[: int(rng.integers(3))] if seed % 2 else ())


def least_end(tree, chunk=1_000):
    """Return the last end of what a tree finds, each time below the one before; None where it finds nothing."""
    found = None
    while (ended := tree.run(chunk)[0]) != "everything":
        if ended == "better":
            found = int((tree.starts + tree._pool.ticks).max())
            assert found <= tree.ceiling
            tree.lower(found - 1)
    return found


def random_pool(rng):
    """Up to six jobs of few kinds, in half of the cases beside what runs already."""
    processors, longest = int(rng.integers(1, 9)), int(rng.choice([4, 9, 70]))
    kinds = [(int(rng.integers(1, processors + 1)), int(rng.integers(1, longest + 1))) for _ in range(6)]
    jobs = [kinds[rng.integers(1 + rng.integers(6))] for _ in range(int(rng.integers(1, 7)))]
    held = [int(rng.integers(1, processors + 1)) for _ in range(int(rng.integers(3)))]
    busy = [(int(rng.integers(1, 2 * longest)), tasks) for tasks in held] if sum(held) <= processors else []
    return pool(jobs, processors, busy)


def end_of(order, given):
    """Return the last end of the jobs of a pool that start as early as they fit, one after another."""
    placed = [(0, end, tasks) for end, tasks in given.busy]
    for j in order:
        for start in sorted({0, *(end for _, end, _ in placed)}):
            end, tasks = start + given.ticks[j], given.tasks[j]
            instants = {start, *(s for s, _, _ in placed if start < s < end)}
            if all(sum(n for s, e, n in placed if s <= t < e) + tasks <= given.capacity for t in instants):
                placed.append((start, end, tasks))
                break
    return max(end for _, end, _ in placed[len(given.busy) :])


@pytest.mark.parametrize("memory", [1, 7, pool_tree.REMEMBERED])
def test_it_finds_the_best_of_all_orders_and_nothing_below(monkeypatch, memory):
    monkeypatch.setattr(pool_tree, "REMEMBERED", memory)
    rng = np.random.default_rng(memory)
    for _ in range(20):
        given = random_pool(rng)
        distinct = {tuple((given.tasks[j], given.ticks[j]) for j in o): o for o in permutations(range(len(given.jobs)))}
        optimum = min(end_of(order, given) for order in distinct.values())
        tree = PoolTree(given, optimum + int(rng.integers(4)))
        assert least_end(tree, chunk=int(rng.choice([1, 5, 1_000]))) == optimum
        assert least_end(PoolTree(given, optimum - 1)) is None


@pytest.mark.parametrize(
    ("jobs", "busy", "processors", "memory"),
    [
        # Of a thousand random ones, one that finds a fault of each rule: a ceiling that falls below what runs,
        ([(4, 62), (2, 51), (2, 26), (2, 6), (1, 13), (1, 5)], [(121, 4), (83, 1)], 5, 101),
        # a hole that is shorter than the job, by one unit,
        ([(6, 4), (2, 3), (1, 3), (1, 2), (1, 1)], [(3, 3), (6, 1), (5, 1)], 7, 101),
        # a node that is remembered and comes later,
        ([(2, 51), (2, 9), (1, 68), (1, 39), (1, 39)], [(93, 1), (66, 1)], 2, 101),
        # and one that holds a processor more.
        ([(5, 1), (4, 6), (3, 3), (1, 7)], [(17, 2), (6, 1), (4, 3)], 6, 101),
    ],
)
def test_no_rule_leaves_too_much(monkeypatch, jobs, busy, processors, memory):
    monkeypatch.setattr(pool_tree, "REMEMBERED", memory)
    given = pool(jobs, processors, busy)
    optimum = min(end_of(order, given) for order in permutations(range(len(jobs))))
    for above in range(5):
        for held in (1, 2, 12):
            monkeypatch.setattr(pool_tree, "MOST_HELD", held)
            assert least_end(PoolTree(given, optimum + above)) == optimum


def test_it_finds_what_brute_force_finds():
    for seed in range(12):
        problem = discretise(small(seed), 1.0)
        assert least_end(PoolTree(pool_of(problem), 100)) == int(brute_force_oas(problem.instance, 1.0).objective)


@pytest.mark.parametrize("name", ["MOST_WORDS", "PRICES", "MOST_HELD"])
def test_it_does_so_without_one_of_its_bounds(monkeypatch, name):
    monkeypatch.setattr(pool_tree, name, 0)
    for seed in range(8):
        problem = discretise(small(seed), 1.0)
        optimum = int(brute_force_oas(problem.instance, 1.0).objective)
        assert least_end(PoolTree(pool_of(problem), optimum + 2)) == optimum


def test_nothing_may_start_where_something_ends():
    # A needs all 3 processors, of which 2 are held until 3 s and 1 until 5 s: at 3 s nothing starts, A ends at 7 s.
    assert least_end(PoolTree(pool([(3, 2)], 3, busy=[(3, 2), (5, 1)]), 20)) == 7


def test_what_runs_when_the_ceiling_falls_must_end_by_it():
    # Four jobs in one of two lanes each, 10 s of work in each: the first schedules end later, beside what ran on then.
    jobs = [(1, 7), (1, 5), (1, 5), (1, 3)]
    tree = PoolTree(pool(jobs, 2), 30)
    assert least_end(tree) == brute_force_oas(instance_of(jobs, 2), 1.0).objective == 10
    assert tree.ceiling == 9


def test_dual_prices_bound_it():
    # Two jobs of 2 of 3 processors never run together: they are worth their 4 and 5 s at prices of sets, 9 s in all.
    tree = PoolTree(pool([(2, 4), (2, 5), (1, 1)], 3), 8, [4.0, 5.0, 0.0])
    assert tree.run(1)[0] == "everything"
    with_ten_units = PoolTree(pool([(2, 4), (2, 5), (1, 1)], 3), 10, [4.0, 5.0, 0.0])
    assert least_end(with_ten_units) == 9


def test_a_perfect_packing_is_found_and_nothing_below_it():
    # Three shelves of 8 processors, of 7, 4 and 9 s, each cut into jobs: 160 processor seconds, 20 s.
    jobs = [(3, 7), (5, 4), (5, 3), (8, 4), (6, 5), (2, 4), (4, 4), (1, 9), (1, 9)]
    assert least_end(PoolTree(pool(jobs, 8), 25)) == 20


def test_it_repeats_whatever_the_chunks():
    jobs = [(int(a), int(b)) for a, b in np.random.default_rng(4).integers(1, 12, size=(9, 2))]
    trees = [PoolTree(pool(jobs, 16), 60) for _ in range(2)]
    assert least_end(trees[0], chunk=7) == least_end(trees[1], chunk=10_000)
    assert trees[0].starts.tolist() == trees[1].starts.tolist()


@pytest.mark.parametrize("slot", [None, 2.0])
def test_solve_hears_of_bounds_and_schedules(monkeypatch, slot):
    monkeypatch.setattr(portfolio, "METHODS", (simple.METHOD, list_schedules.METHOD, METHOD))
    jobs = [(3, 6), (3, 4), (2, 8), (2, 6), (2, 6), (1, 10), (1, 8), (1, 4), (4, 4), (3, 8)]
    instance = instance_of(jobs, 5)
    result = coalloc.solve(instance, slot=slot, time_limit=60.0)
    assert result.status == "optimal"
    assert result.trace[-1].source == METHOD.name
    assert coalloc.solve(instance, slot=slot, formulation="mode" if slot else "auto").objective == result.objective


def test_the_work_limit_ends_it(monkeypatch):
    monkeypatch.setattr(portfolio, "METHODS", (list_schedules.METHOD, METHOD))
    jobs = [(int(a), int(b)) for a, b in np.random.default_rng(1).integers(1, 90, size=(20, 2))]
    result = coalloc.solve(instance_of(jobs, 100), slot=1.0, work_limit=500)
    assert result.status == "feasible"
    assert result.lower_bound is None or result.lower_bound < result.objective


def test_what_is_no_pool():
    group, job = NodeGroup(2, 1.0), Job("A", 1, 1.0)
    two_powers = Platform((Cluster("C1", (group, NodeGroup(2, 0.5)), 10.0),))
    one = Platform((Cluster("C1", (group,), 10.0),))
    assert pool_of(discretise(Instance(one, [job]), None)) is not None
    assert pool_of(discretise(Instance(two_powers, [job]), None)) is None
    assert pool_of(discretise(Instance(one, [job, Job("B", 1, 1.0, arrival=3.0)]), None)) is None
    assert pool_of(discretise(Instance(one, [job, Job("B", 1, 1.5)]), None)) is None  # no whole units
    assert pool_of(discretise(Instance(one, [job, Job("B", 1, 1.5)]), 0.5)) is not None


def test_units_are_as_long_as_they_may_be():
    found = pool_of(discretise(instance_of([(1, 20), (2, 30)], 2), None))
    assert (found.unit, found.ticks, found.tasks) == (10, (3, 2), (2, 1))
    assert (found.units(49.0), found.instant(5)) == (4, 50.0)


@pytest.mark.parametrize(
    ("number", "value", "fault"),
    [
        (0, 65, "num_jobs of pool_tree_new is out of range"),
        (4, 2**31, "ceiling of pool_tree_new is too large"),
        (9, np.array([2, 4, 1]), "tasks of pool_tree_new is out of range"),  # of 3 processors
        (10, np.array([0, 3]), "ticks of pool_tree_new is out of range"),
        (11, np.array([-1, 2]), "twins of pool_tree_new is out of range"),
        (13, np.array([1.0, math.nan, 1.0]), "rates of pool_tree_new is not a number"),
    ],
)
def test_a_wrong_call_is_an_error(number, value, fault):
    two_jobs = [2, 1, 1, 3, 20, -1, 7, 2, 0, [2, 1, 1], [4, 3], [-1, -1], [5], [0.5, 0.5, 0.5]]
    arguments = [np.array(one) if isinstance(one, list) else one for one in two_jobs]
    assert engine().pool_tree_new(*arguments)
    arguments[number] = value
    for i, size in ((9, 3), (10, 2), (11, 2)):  # 65 jobs have more of each
        arguments[i] = np.resize(arguments[i], size + arguments[0] - 2)
    arguments[13] = np.resize(arguments[13], arguments[0] + 1)
    with pytest.raises(InternalError, match=fault):
        engine().pool_tree_new(*arguments)
