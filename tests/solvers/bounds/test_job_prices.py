"""The bound of job prices: by hand, at prices of any kind, and against brute force."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.objectives import OBJECTIVES, Criterion, RegularObjective
from coalloc.problem import discretise
from coalloc.solvers.bounds import job_prices
from coalloc.solvers.bounds.job_prices import JobPrices, job_prices_bound
from coalloc.solvers.bounds.prices import Prices, sum_bound
from coalloc.solvers.bounds.smooth_prices import OutOfTimeError
from coalloc.testing.brute_force import brute_force_oas

SUMS = [o.name for o in OBJECTIVES.values() if isinstance(o, RegularObjective) and o.aggregate == "sum"]


def of_processors(number, *jobs, running=()):
    return Instance(Platform((Cluster("C1", (NodeGroup(number, 1.0),), 10.0),)), jobs, running)


def criterion_of(instance, objective="total-response-time", slot=None):
    return Criterion.of(discretise(instance, slot), objective)


def at_first(criterion):
    """Return prices of processors that prove something, if they do, and the bound that begins there."""
    prices = Prices.of(criterion)
    if prices is None:
        return None, None
    next((excess for excess in prices.improve(math.inf) if excess > 0.0), None)
    return prices, JobPrices.of(criterion, prices)


def test_jobs_that_do_not_fit_beside_each_other_wait():
    # Three processors, two jobs of two tasks: one after the other, 10 + 20. Prices of processors let one run at 0
    # beside half of the other, whose other half runs at 10: no more than 10 + (10 + 20) / 2.
    criterion = criterion_of(of_processors(3, Job("A", 2, 10.0), Job("B", 2, 10.0)))
    prices = Prices.of(criterion)
    assert list(prices.improve(math.inf))
    assert 20.0 + prices.excess <= 25.0
    assert 29.7 <= job_prices_bound(criterion) <= 30.0


def test_what_job_prices_prove_by_hand():
    # Three processors; A has two tasks for 10 s and B two for 20 s. At prices of 1 for A and 0.5 for B, from 0 to 20 s,
    # A pays 10 at 0 (at x it costs x and pays 10, or 20 - x from 10 on), and B pays 10 at 0 (at x it costs x and pays
    # 0.5 * (20 - x)). The better set, A alone, gets 1 back: 10 + 10 - 20 = 0. At 0.5 for A from 10 s on, it still is
    # cheapest at 0 (at x it costs x and pays 10 - x / 2), but gets less back: 10 + 10 - 10 * 1 - 10 * 0.5 = 5.
    criterion = criterion_of(of_processors(3, Job("A", 2, 10.0), Job("B", 2, 20.0)))
    _, own = at_first(criterion)
    is_early = own.edges[own.spans.cell + 1] <= 10.0
    is_within = own.edges[own.spans.cell + 1] <= 20.0
    straddling = np.diff(own.edges).max()  # prices of a cell that ends after 10 or 20 s are those after it
    rates = np.where(own.spans.job == 0, 1.0, 0.5)
    value, _ = own.value(np.where(is_within, rates, 0.0), math.inf)
    assert value == pytest.approx(0.0, abs=straddling)
    value, _ = own.value(np.where(is_within, np.where(is_early, rates, 0.5), 0.0), math.inf)
    assert value == pytest.approx(5.0, abs=straddling)


def test_running_jobs_take_processors_from_sets():
    # Two of four processors are held until 20: jobs of two tasks run one after the other, 10 + 20 and not 10 + 10; a
    # third ends at 30, when two run at once.
    running = (RunningJob(Job("R", 2, 20.0), ("C1/0", "C1/1"), 20.0),)
    jobs = [Job(name, 2, 10.0) for name in "ABC"]
    criterion = criterion_of(of_processors(4, *jobs, running=running))
    _, own = at_first(criterion)
    assert 0.98 * 60.0 <= job_prices_bound(criterion) <= 60.0
    assert set(own._capacities.tolist()) == {1, 2}  # in units of two processors, what all tasks are multiples of


def test_speeds_that_differ_are_left_to_prices_of_processors():
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 10.0),))
    criterion = criterion_of(Instance(platform, (Job("A", 1, 10.0), Job("B", 1, 10.0), Job("C", 1, 10.0))))
    prices, own = at_first(criterion)
    assert own is None
    assert job_prices_bound(criterion) == sum_bound(criterion) >= 30.0 + prices.excess


def small_on_equal_processors(seed):
    """Return four jobs on up to five equal processors, some of which may be held at first."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(2, 6))
    jobs = [
        Job(f"J{i}", int(rng.integers(1, number + 1)), float(rng.integers(2, 9)), arrival=float(rng.integers(0, 6)))
        for i in range(4)
    ]
    weighted = [job.replace(weight=float(rng.integers(1, 4)), due_date=float(rng.integers(5, 15))) for job in jobs]
    held = (RunningJob(Job("R", 1, 5.0), ("C1/0",), 5.0),) if seed % 3 == 0 else ()
    return of_processors(number, *weighted, running=held), 2.0 if seed % 2 else None


@pytest.mark.parametrize("name", SUMS)
def test_no_job_prices_prove_more_than_the_optimum(name):
    bounded = 0
    for seed in range(6):
        instance, slot = small_on_equal_processors(seed)
        criterion = criterion_of(instance, name, slot)
        _, own = at_first(criterion)
        if own is None:  # no prices of processors prove anything
            continue
        bounded += 1
        best = brute_force_oas(instance, slot, name).objective
        rng = np.random.default_rng(seed)
        for scale in (1e-3, 0.05, 1.0):
            value, _ = own.value(rng.exponential(size=len(own.prices)) * scale, math.inf)
            assert criterion.reported(sum(criterion.alone) + value) <= best + 1e-6 * abs(best) + 1e-9
        assert criterion.reported(job_prices_bound(criterion)) <= best + 1e-6 * abs(best) + 1e-9
    assert bounded >= 3


def test_time_that_is_up_ends_a_step():
    criterion = criterion_of(of_processors(3, Job("A", 2, 10.0), Job("B", 2, 10.0)))
    _, own = at_first(criterion)
    with pytest.raises(OutOfTimeError):
        own.value(own.prices, -math.inf)
    assert list(own.improve(-math.inf)) == []
    assert own.excess == 0.0


def test_finer_cells_keep_the_prices(monkeypatch):
    monkeypatch.setattr(job_prices, "FEWEST_CELLS", 8)
    monkeypatch.setattr(job_prices, "CELLS_PER_JOB", (2, 16))
    jobs = [Job(f"J{i}", 2 + i % 2, 10.0 + i, arrival=3.0 * i) for i in range(4)]
    criterion = criterion_of(of_processors(4, *jobs))
    prices = Prices.of(criterion)
    assert list(prices.improve(math.inf))
    own = JobPrices.of(criterion, prices)
    coarse = len(own.edges)
    before = 0.0
    for excess in own.improve(math.inf):
        if len(own.edges) > coarse:
            break
        before = excess
    assert len(own.edges) > coarse
    assert own.value(own.prices, math.inf)[0] >= before - 1e-6 * before


def test_the_best_bound_on_a_sum_has_job_prices():
    # 26 jobs of two tasks on three processors: one after the other, 10 + 21 + 33 + ... Prices of processors let half
    # as many again run at once.
    instance = of_processors(3, *(Job(f"J{i}", 2, 10.0 + i) for i in range(26)))
    best = sum((26 - i) * (10.0 + i) for i in range(26))
    assert coalloc.lower_bound(instance, "total-response-time", method="prices") <= 0.8 * best
    assert 0.98 * best <= coalloc.lower_bound(instance, "total-response-time", method="best") <= best


def test_a_search_for_a_sum_is_proven_by_job_prices():
    # On five processors no two jobs of three and four tasks run at once; each arrives while the first runs, so the
    # order by arrival, in which they get longer, is best. Prices of processors leave more than a third open.
    jobs = [Job(f"J{i}", 3 + i % 2, 10.0 + i, arrival=4.0 * i / 12) for i in range(30)]
    result = coalloc.solve(of_processors(5, *jobs), objective="total-response-time", time_limit=60.0, gap=0.05)
    ends = np.cumsum([job.base_time for job in jobs])
    assert result.objective == pytest.approx(sum(ends) - sum(job.arrival for job in jobs))
    assert result.gap <= 0.05
    assert any(point.source == "dual prices of jobs over time" for point in result.trace)


def best_set(prices, tasks, capacity):
    """Return what the best set that fits brings, by trying all."""
    sets = (c for n in range(len(prices) + 1) for c in combinations(range(len(prices)), n))
    return max(sum(prices[i] for i in c) for c in sets if sum(tasks[i] for i in c) <= capacity)


def test_the_best_set_of_each_cell_is_that_of_all():
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 7, size=40)
    cells, num_places = np.concatenate([[0], np.cumsum(lengths)]), int(lengths.sum())
    entries, tasks, capacities = rng.permutation(num_places), rng.integers(1, 6, num_places), rng.integers(0, 12, 40)
    prices, chosen, values = rng.normal(0.5, 1.0, num_places), np.empty(num_places), np.empty(40)
    handle = engine().job_sets_new(40, num_places, cells, entries, tasks, capacities)
    assert engine().job_sets_choose(handle, num_places, 40, prices, chosen, values, 0, 60.0) == 40
    for k in range(40):
        places = entries[cells[k] : cells[k + 1]]
        assert values[k] == pytest.approx(best_set(prices[places], tasks[places], capacities[k]))
        assert values[k] == pytest.approx(float(prices[places] @ chosen[places]))
        assert tasks[places] @ chosen[places] <= capacities[k]


def test_entries_that_are_no_places_are_a_fault():
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(InternalError, match="entries of job_sets_new is out of range"):
        engine().job_sets_new(1, 1, np.array([0, 1]), one, one, one)
    with pytest.raises(InternalError, match="cells of job_sets_new is out of order"):
        engine().job_sets_new(1, 1, np.array([0, 2]), one - 1, one, one)
