"""The prices bound: by hand, at prices of any kind, and against brute force."""

from __future__ import annotations

import time

import numpy as np
import pytest

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.objectives import OBJECTIVES, Criterion, RegularObjective
from coalloc.problem import discretise
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.bounds.priced_starts import StartPricing, ways_of
from coalloc.solvers.bounds.prices import COLD, Prices, sum_bound
from coalloc.solvers.bounds.smooth_prices import Smooth
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import SmallSize, small_instance, with_due_dates

SUMS = [o.name for o in OBJECTIVES.values() if isinstance(o, RegularObjective) and o.aggregate == "sum"]


def one_processor(*jobs, running=()):
    return Instance(Platform((Cluster("C1", (NodeGroup(1, 1.0),), 10.0),)), jobs, running)


def criterion_of(instance, objective="total-response-time", slot=None):
    return Criterion.of(discretise(instance, slot), objective)


def test_what_prices_prove_by_hand():
    # One processor, jobs of 10 and 20 s at 0, alone 30. At a price of 1 up to 10 s, and 0.5 up to 30, the short one
    # pays 10 + 10 at once (5 if it begins at 10, when it costs 10 more); the long one 20 + 15 at once, 20 + 10 + 10 at
    # 10 s. That is 20 + 35, less 10 * 1 + 20 * 0.5: 35. Both orders cost 40 or more.
    criterion = criterion_of(one_processor(Job("A", 1, 10.0), Job("B", 1, 20.0)))
    ways = ways_of(criterion)
    pricing = StartPricing(ways, np.array([0.0, 10.0, 30.0]))
    assert Smooth(pricing, COLD).value(np.array([[1.0, 0.5]]), np.inf)[0] == pytest.approx(5.0)


def test_the_best_prices_prove_the_order_by_length():
    criterion = criterion_of(one_processor(Job("A", 1, 10.0), Job("B", 1, 20.0), Job("C", 1, 40.0)))
    assert 0.99 * 110.0 <= sum_bound(criterion) <= 110.0  # 10 + 30 + 70


def test_running_jobs_are_waited_for():
    # The only processor is held until 5: the job ends at 15.
    instance = one_processor(Job("A", 1, 10.0), running=(RunningJob(Job("R", 1, 5.0), ("C1/0",), 5.0),))
    assert coalloc.lower_bound(instance, "mean-wait") == pytest.approx(5.0, rel=0.01)


def test_a_bound_in_slots_is_whole():
    # In slots of 4 s the jobs take 3 and 5 of them: 3 + 8 slots, 44 s.
    assert (
        coalloc.lower_bound(one_processor(Job("A", 1, 10.0), Job("B", 1, 20.0)), "total-response-time", slot=4.0)
        == 44.0
    )


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("seed", range(6))
def test_no_prices_prove_more_than_the_optimum(name, seed):
    instance, slot = small_instance(seed, SmallSize(max_jobs=3, max_processors=6))
    instance, slot = with_due_dates(instance, seed), slot if seed % 2 else None
    best = brute_force_oas(instance, slot, name).objective
    criterion = criterion_of(instance, name, slot)
    ways = ways_of(criterion)
    rng = np.random.default_rng(seed)
    last = float((ways.release + ways.duration).max())
    for cells in (1, 3, 17):
        edges = np.concatenate([[0.0], np.sort(rng.uniform(0.0, 2.0 * last, cells))])
        prices = rng.exponential(size=(len(ways.capacities), cells)) * rng.choice([1e-3, 0.05, 1.0])
        cost = sum(criterion.alone) + Smooth(StartPricing(ways, edges), COLD).value(prices, np.inf)[0]
        assert criterion.reported(cost) <= best + 1e-6 * abs(best) + 1e-9
    assert criterion.reported(sum_bound(criterion, 0.2)) <= best + 1e-6 * abs(best) + 1e-9


def listed_starts(pricing, job):
    """Yield the starts of a job that may be cheapest, each with its way, its ramp and how long it is in each cell."""
    ways, edges = pricing.ways, pricing.edges
    for way in np.flatnonzero(ways.job == job):
        release, duration, slope, least = (of[way] for of in (ways.release, ways.duration, ways.slope, ways.least))
        kink = release + (ways.floor[way] - least) / slope if slope > 0.0 and np.isfinite(ways.floor[way]) else release
        for start in {release, kink, *edges, *(edges - duration)}:
            if start >= release:
                ramp = max(ways.floor[way], slope * (start - release) + least)
                inside = np.minimum(edges[1:], start + duration) - np.maximum(edges[:-1], start)
                yield way, ramp, np.maximum(inside, 0.0)


def smoothed_over_listed_starts(pricing, prices, temperature):
    """Return the smoothed value and its gradient by the prices, over all starts in a list."""
    ways, total, gradient = pricing.ways, -float((pricing.supply * prices).sum()), -pricing.supply
    for job in range(ways.num_jobs):
        starts = list(listed_starts(pricing, job))
        uses = np.array([np.outer(ways.needs[ways.kind[way]], inside) for way, _, inside in starts])
        values = np.array([ramp for _, ramp, _ in starts]) + (uses * prices).sum(axis=(1, 2))
        shares = np.exp((values.min() - values) / temperature)
        total += values.min() - temperature * np.log(shares.sum())
        gradient = gradient + (shares[:, None, None] * uses).sum(axis=0) / shares.sum()
    return total, gradient


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("seed", [1, 4])
def test_walked_starts_are_the_listed_ones(name, seed):
    # The engine finds what a list has, on clusters of several speeds, with due dates that make kinks.
    instance = with_due_dates(small_instance(seed)[0], seed)
    ways = ways_of(criterion_of(instance, name))
    pricing = StartPricing(ways, np.linspace(0.0, 2.0 * float((ways.release + ways.duration).max()), 30))
    prices = np.random.default_rng(seed).exponential(size=(len(ways.capacities), 29)) * 0.05
    temperature = 1e-7 * float((ways.slope * ways.duration).mean())
    listed, by_listed = smoothed_over_listed_starts(pricing, prices, temperature)
    walked, by_walked = Smooth(pricing, temperature).value(prices, np.inf)
    assert walked == pytest.approx(listed, rel=1e-6, abs=1e-6)
    assert by_walked == pytest.approx(by_listed, abs=1e-6 * float(np.abs(by_listed).max()))


def test_what_is_no_time_is_a_fault():
    # A way that never ends, and edges that do not grow: the walk over its starts would not end.
    first, none, one, low = np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones((1, 1)), np.zeros(1, dtype=np.int64)
    columns = np.array([[0.0], [10.0], [-np.inf], [1.0], [0.0]])
    sizes, edges = (1, 1, 1, 1, 2), np.array([0.0, 5.0, 20.0])
    endless = np.where(columns == 10.0, np.inf, columns)
    with pytest.raises(InternalError, match="columns of starts_new is not a number"):
        engine().starts_new(*sizes, first, endless, none, one, low, low + 2, edges)
    with pytest.raises(InternalError, match="edges of starts_new is out of order"):
        engine().starts_new(*sizes, first, columns, none, one, low, low + 2, np.array([0.0, 5.0, 5.0]))
    with pytest.raises(InternalError, match="high of starts_new is out of range"):
        engine().starts_new(*sizes, first, columns, none, one, low, low + 3, edges)


def test_the_gradient_of_walked_starts_is_how_the_value_changes():
    instance = with_due_dates(small_instance(5)[0], 5)
    ways = ways_of(criterion_of(instance, "weighted-tardiness"))
    pricing = StartPricing(ways, np.linspace(0.0, 2.0 * float((ways.release + ways.duration).max()), 12))
    rng = np.random.default_rng(2)
    prices = rng.exponential(size=(len(ways.capacities), 11)) * 0.05
    smooth = Smooth(pricing, 0.3 * float((ways.slope * ways.duration).mean()))
    step = 1e-6 * rng.normal(size=prices.shape)
    _, gradient = smooth.value(prices, np.inf)
    change = smooth.value(prices + step, np.inf)[0] - smooth.value(prices - step, np.inf)[0]
    assert change == pytest.approx(2.0 * float((gradient * step).sum()), rel=1e-4)


def test_many_jobs_have_a_bound():
    # 120 jobs of 10 s at once on one processor: they end at 10, 20, ..., 1200, so that they wait 595 s on average.
    instance = one_processor(*(Job(f"J{i}", 1, 10.0) for i in range(120)))
    assert 0.99 * 595.0 <= coalloc.lower_bound(instance, "mean-wait") <= 595.0


@pytest.mark.parametrize("name", SUMS)
def test_pieces_are_the_cost_by_the_end(name):
    job = Job("A", 1, 4.0, arrival=3.0, weight=2.5, due_date=30.0)
    for duration in (4.0, 25.0):
        pieces = OBJECTIVES[name].pieces(job, duration)
        for start in (3.0, 4.0, 20.0, 100.0):
            cost = OBJECTIVES[name].cost(job, start, start + duration)
            assert pieces.at(start + duration) == pytest.approx(cost)


def test_an_objective_without_ramps_has_each_job_alone():
    class Squares(RegularObjective):
        name = "squares"

        def cost(self, job, start, end):
            return end * end

    instance = one_processor(Job("A", 1, 2.0), Job("B", 1, 3.0))
    assert Prices.of(criterion_of(instance, Squares())) is None
    assert coalloc.lower_bound(instance, Squares()) == pytest.approx(4.0 + 9.0)


def test_a_climb_goes_on_where_it_stopped():
    jobs = [Job(f"J{i}", 1 + i % 2, 5.0 + 3 * i, arrival=float(i)) for i in range(8)]
    instance = Instance(Platform((Cluster("C1", (NodeGroup(2, 1.0),), 10.0),)), jobs)
    prices = Prices.of(criterion_of(instance))
    first = next(prices.improve(time.perf_counter() + 60.0))
    *_, last = prices.improve(time.perf_counter() + 60.0)
    assert prices.is_final
    assert 0.0 < first < last == prices.excess
    assert list(prices.improve(time.perf_counter() + 60.0)) == []


def test_solve_proves_no_less_than_the_bound_alone(monkeypatch):
    # Without the searches, which would take the time that is left.
    rows = [row for row in portfolio.METHODS if row.stage == "bound" or row is list_schedules.METHOD]
    monkeypatch.setattr(portfolio, "METHODS", tuple(rows))
    instance = coalloc.generate("thesis-oas", seed=1, jobs=5)
    result = coalloc.solve(instance, objective="mean-wait", work_limit=1)
    assert result.lower_bound == pytest.approx(coalloc.lower_bound(instance, "mean-wait", method="best"))


def test_a_class_on_which_no_job_is_at_its_fastest_has_a_price_of_the_others():
    # The fast node alone holds none of three jobs of 1e9 s, so that each takes 2e9 s: ends of 2e9, 4e9 and 6e9 s.
    # Four nodes as one machine need 1.5e9 s for each: half done at 0.75e9, 2.25e9 and 3.75e9 s, they end 1e9 s later.
    platform = Platform([Cluster("C1", [NodeGroup(1, 1.0), NodeGroup(3, 0.5)], 10.0)])
    instance = Instance(platform, [Job(f"J{j}", 3, 1e9) for j in range(3)])
    assert 0.99 * 9.75e9 <= sum_bound(criterion_of(instance)) <= 12e9
