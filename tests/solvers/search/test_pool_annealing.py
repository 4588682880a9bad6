"""Annealing of a pool: its schedules are those of lists, it finds the optimum of few jobs, and it repeats."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import list_schedule
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.search.pool_annealing import METHOD, PoolAnnealing, pool_of
from coalloc.solvers.search.pool_kernel import aimed_places
from coalloc.testing.brute_force import brute_force_oas


def pool(num_jobs, seed, processors=6, running=()):
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
    platform = Platform((Cluster("C1", (NodeGroup(processors, 1.0),), 10.0),))
    return Instance(platform, jobs, running)


def criterion_of(instance, name="total-response-time", slot=None):
    return Criterion.of(discretise(instance, slot), name)


NAMES = ("total-weighted-response-time", "mean-bounded-slowdown", "weighted-tardiness", "makespan")


@pytest.mark.parametrize("name", NAMES)
def test_a_list_becomes_the_schedule_of_serial_generation(name):
    # Steps are incremental: after many of them the cost must still be that of the list, decoded from its beginning.
    running = (RunningJob(Job("R", 2, 50.0), ("C1/0", "C1/1"), 17.0),)
    criterion = criterion_of(pool(40, 1, running=running), name)
    annealing = PoolAnnealing(pool_of(criterion), np.arange(40), seed=3)
    annealing.round(5_000)
    listed = list_schedule(criterion.problem, annealing.best.tolist())
    assert criterion.value(listed) == pytest.approx(annealing.cost)
    starts = annealing.starts()
    assert [starts[a.job] for a in listed] == pytest.approx([a.start for a in listed])


@pytest.mark.parametrize("slot", [None, 4.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["total-response-time", "makespan"])
def test_few_jobs_come_to_the_optimum(seed, slot, name):
    instance = pool(4, seed, processors=4)
    criterion = criterion_of(instance, name, slot=slot)
    annealing = PoolAnnealing(pool_of(criterion), np.arange(4), seed=0)
    annealing.round(3_000)
    best = brute_force_oas(instance, slot, name).objective
    assert criterion.reported(annealing.cost) == pytest.approx(best)


def test_the_same_seed_makes_the_same_list():
    found = []
    for seed in (5, 5, 6):
        annealing = PoolAnnealing(pool_of(criterion_of(pool(30, 2))), np.arange(30), seed)
        annealing.round(300)
        found.append(annealing.best.tolist())
    assert found[0] == found[1] != found[2]


def test_it_looks_at_the_clock_the_more_often_the_longer_a_step_takes():
    # Each step for the latest end places all jobs anew; of sums only where all come at once.
    at_once = Instance(pool(1, 0).platform, [Job(f"J{i}", 1, 1.0) for i in range(1_000)])
    sums = [pool_of(criterion_of(instance)) for instance in (pool(1_000, 0), at_once)]
    assert [made.chunk for made in sums] == [10_000, 100]
    ends = [pool_of(criterion_of(pool(number, 0), "makespan")) for number in (50, 1_000, 20_000)]
    assert [made.chunk for made in ends] == [10_000, 100, 1]


def test_solve_takes_its_schedules(monkeypatch):
    monkeypatch.setattr(portfolio, "METHODS", (list_schedules.METHOD, METHOD))
    instance = pool(60, 4)
    result = coalloc.solve(instance, objective="total-response-time", work_limit=2_000)
    assert result.trace[-1].source == METHOD.name
    assert coalloc.check(instance, result.schedule) == []


def test_what_is_no_pool():
    two = Platform((Cluster("C1", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), 10.0),))
    assert pool_of(criterion_of(Instance(two, [Job("A", 1, 1.0)]))) is None
    assert pool_of(criterion_of(pool(3, 0), "maximum-lateness")) is None


def test_aimed_moves_are_those_of_jobs_that_wait():
    # The job at place 3 waits from 5 to 20, and those at places 1 and 2 start meanwhile; that at 0 started before.
    releases, starts = np.array([0.0, 5.0, 6.0, 5.0, 30.0]), np.array([0.0, 5.0, 6.0, 20.0, 30.0])
    jobs = np.column_stack([releases, *np.ones((5, 5))])
    order, seed = np.arange(5), np.array([7], dtype=np.uint64)
    drawn = {aimed_places(order, jobs, starts, seed) for _ in range(300)}
    assert {pair for pair in drawn if pair[0] != pair[1]} == {(3, 1), (3, 2), (1, 3), (2, 3)}
    nobody_waits = {aimed_places(order, jobs, releases, seed) for _ in range(20)}
    assert nobody_waits == {(0, 0)}
