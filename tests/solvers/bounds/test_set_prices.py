"""The bound of set prices: by hand, at prices of any kind, against brute force; the sets of the engine by trying."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, Shape
from coalloc.objectives import OBJECTIVES, Criterion, RegularObjective
from coalloc.problem import discretise
from coalloc.solvers.bounds.set_prices import SetPrices, set_prices_bound
from coalloc.solvers.bounds.smooth_prices import OutOfTimeError
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import NODE_MODEL_SIZE, small_instance, with_due_dates

SUMS = [o.name for o in OBJECTIVES.values() if isinstance(o, RegularObjective) and o.aggregate == "sum"]
RESPONSES = "total-response-time"


def of_nodes(*jobs: Job, speeds: tuple[float, ...] = (1.0,), nodes: int = 3) -> Instance:
    clusters = tuple(Cluster(f"C{i}", (NodeGroup(nodes, speed),), 1000.0) for i, speed in enumerate(speeds))
    return Instance(Platform(clusters), jobs)


def criterion_of(instance: Instance, objective: str = RESPONSES, slot: float | None = 1.0) -> Criterion:
    return Criterion.of(discretise(instance, slot), objective)


def prices_of(criterion: Criterion) -> SetPrices:
    prices = SetPrices.of(criterion)
    assert prices is not None
    return prices


def test_jobs_that_do_not_fit_at_once_wait() -> None:
    # Three nodes, two jobs of two tasks and 10 s: one after the other, 10 + 20.
    assert set_prices_bound(criterion_of(of_nodes(Job("A", 2, 10.0), Job("B", 2, 10.0)))) == 30.0


def test_a_job_at_its_slow_level_is_no_shorter() -> None:
    # Two nodes of speed 1, two of speed 1/2. A and B, of two tasks and 10 s, fit at once where one takes 20 s: then
    # 10 + 20, as much as one after the other on the fast ones. Each alone costs 10.
    criterion = criterion_of(of_nodes(Job("A", 2, 10.0), Job("B", 2, 10.0), speeds=(1.0, 0.5), nodes=2))
    assert sum(criterion.alone) == 20.0
    assert set_prices_bound(criterion) == 30.0


def test_what_prices_prove_by_hand() -> None:
    # Of two jobs of 2 s that exclude each other, A pays 1 in the first two slots. It costs 2 + 2 at 0, 3 + 1 at 1,
    # and 4 at 2, B costs 2; the best set gets 1 in two slots: 4 + 2 - 2.
    own = prices_of(criterion_of(of_nodes(Job("A", 2, 2.0), Job("B", 2, 2.0))))
    own.prices[0, :2] = 1.0
    assert own.bound_at(own.prices) == pytest.approx(4.0)
    tables = own.tables(own.prices)
    assert tables.least[:, 1].tolist() == [4.0, 3.0]
    assert own.paid_by(0, 2.0)[:4].tolist() == [0.0, 1.0, 2.0, 2.0]
    assert tables.brought[:3].tolist() == [2.0, 1.0, 0.0]


def test_a_job_that_may_run_in_two_ways_pays_the_least_of_both_in_each_slot() -> None:
    # On two tasks, or on one, it takes 2 s. It pays 2 in the first slot or in the second: nothing, if it may be either.
    own = prices_of(criterion_of(of_nodes(Job("A", 2, 2.0, shapes=[Shape(1, 2.0)]))))
    assert own.ways == [(0, 0), (0, 1)]
    own.prices[0, 0] = own.prices[1, 1] = 2.0
    assert own.paid_by(0, 2.0).tolist() == [0.0] * own.tables(own.prices).brought.size
    assert not own.paid_by(0, 1.0).any()


@pytest.mark.parametrize("objective", SUMS)
def test_no_prices_prove_more_than_the_optimum(objective: str) -> None:
    bounded = 0
    for seed in range(30):
        instance, slot = small_instance(seed, NODE_MODEL_SIZE)
        instance = with_due_dates(instance, seed)
        criterion = criterion_of(instance, objective, slot)
        own = SetPrices.of(criterion)
        if own is None:  # no start matters
            continue
        bounded += 1
        best = brute_force_oas(instance, slot, objective).objective
        rng = np.random.default_rng(seed)
        tried = [own.bound_at(rng.exponential(size=own.prices.shape) * scale) for scale in (1e-3, 0.05, 1.0)]
        for value in (*tried, set_prices_bound(criterion)):
            assert criterion.reported(value) <= best + 1e-6 * abs(best) + 1e-9
    assert bounded >= 10


def test_the_gradient_is_that_of_the_value() -> None:
    jobs = (Job("A", 2, 4.0, arrival=1.0), Job("B", 3, 3.0), Job("C", 1, 5.0))
    own = prices_of(criterion_of(of_nodes(*jobs, speeds=(1.0, 0.5), nodes=2)))
    rng = np.random.default_rng(1)
    prices, direction = rng.random(own.prices.shape), rng.random(own.prices.shape)
    _, gradient = own.value(prices, math.inf)
    step = 1e-5
    above, below = (own.value(prices + sign * step * direction, math.inf)[0] for sign in (1.0, -1.0))
    assert float((gradient * direction).sum()) == pytest.approx((above - below) / (2.0 * step), rel=1e-6)


def test_jobs_of_a_kind_have_the_same_prices() -> None:
    own = prices_of(criterion_of(of_nodes(Job("A", 2, 4.0), Job("B", 1, 3.0), Job("C", 2, 4.0))))
    list(own.improve(math.inf))
    assert own.prices[0].any()
    assert own.prices[0].tolist() == own.prices[2].tolist()


def test_it_is_for_few_jobs_in_slots() -> None:
    jobs = [Job("A", 2, 10.0), Job("B", 2, 10.0)]
    assert SetPrices.of(criterion_of(of_nodes(*jobs), slot=None)) is None
    assert SetPrices.of(criterion_of(of_nodes(*jobs), slot=1e-5)) is None
    assert SetPrices.of(criterion_of(of_nodes(*jobs, nodes=2), slot=3e-4)) is None  # 166,672 costs
    assert SetPrices.of(criterion_of(of_nodes(*jobs), "makespan")) is None
    assert set_prices_bound(criterion_of(of_nodes(*jobs), slot=None)) == 20.0


def test_time_that_is_up_ends_a_step() -> None:
    own = prices_of(criterion_of(of_nodes(Job("A", 2, 10.0), Job("B", 2, 10.0))))
    with pytest.raises(OutOfTimeError):
        own.value(own.prices, -math.inf)
    assert list(own.improve(-math.inf)) == []


def test_the_sets_of_the_engine_are_all_that_fit() -> None:
    # States are free processors, 0 to 4; jobs take 1 to 3 of them, the second at two levels. The soft maximum is by
    # definition T log of the sum of exp(price / T) over all sets, its gradient the shares of those with a way.
    needs, first = [1, 2, 3, 2], np.array([0, 1, 3, 4])
    after = np.array([[free - need if free >= need else 5 for free in range(5)] for need in needs])
    prices, temperature = np.random.default_rng(2).random((4, 3)), 0.4
    best, soft, shares = np.empty(3), np.empty(3), np.empty((4, 3))
    engine().level_sets_share(3, 4, 5, 3, first, after, prices, temperature, best, soft, shares)
    choices = product((None, 0), (None, 1, 2), (None, 3))
    sets = [[k for k in ways if k is not None] for ways in choices]
    fitting = [ways for ways in sets if sum(needs[k] for k in ways) <= 4]
    assert len(fitting) == 9
    values = np.array([prices[ways].sum(axis=0) for ways in fitting])
    weights = np.exp(values / temperature)
    assert best == pytest.approx(values.max(axis=0))
    assert soft == pytest.approx(temperature * np.log(weights.sum(axis=0)))
    of_ways = [[float(k in ways) for ways in fitting] @ weights / weights.sum(axis=0) for k in range(4)]
    assert shares == pytest.approx(np.array(of_ways))


def test_wrong_sets_are_refused() -> None:
    one, out = np.ones((1, 1)), (np.empty(1), np.empty(1), np.empty((1, 1)))
    first, nowhere = np.array([0, 1]), np.ones((1, 1), dtype=np.int64)
    with pytest.raises(InternalError, match="after of level_sets_share is out of range"):
        engine().level_sets_share(1, 1, 1, 1, first, nowhere - 1, one, 1.0, *out)
    with pytest.raises(InternalError, match="temperature of level_sets_share is out of range"):
        engine().level_sets_share(1, 1, 1, 1, first, nowhere, one, 0.0, *out)
    with pytest.raises(InternalError, match="first of level_sets_share is out of order"):
        engine().level_sets_share(1, 1, 1, 1, first + 1, nowhere, one, 1.0, *out)


def test_a_sum_of_twenty_jobs_is_proved_by_set_prices() -> None:
    instance = coalloc.generate("thesis-oas", seed=9001, jobs=20)
    result = coalloc.solve(instance, objective=RESPONSES, slot="15%", time_limit=120.0)
    assert result.status.value == "optimal"
    assert any(point.source == "dual prices of sets over time" for point in result.trace)
