"""First schedules: for a sum, jobs of little work come first; for a maximum, what costs least counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule, list_schedule
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.list_schedules import by_work
from coalloc.solvers.oas import solve_oas
from coalloc.solvers.result import SolveOptions
from coalloc.solvers.search.list_annealing import ListAnnealing, ListCosts
from coalloc.testing import SmallSize, brute_force_oas
from coalloc.testing.constraints import small_declarations
from coalloc.workloads.generators import generate
from tests.small_instances import small_instance

THREE = Platform((Cluster("C1", (NodeGroup(3, 1.0),), 1.0),))


def test_a_sum_begins_with_the_least_work_for_each_cost_of_waiting():
    # Work 30, 10 and 24; by weight 10, 10 and 24. What is never late costs nothing by waiting.
    jobs = [Job("A", 3, 10.0, weight=3.0), Job("B", 1, 10.0), Job("C", 2, 12.0)]
    problem = discretise(Instance(THREE, jobs), None)
    assert by_work(Criterion.of(problem, "total-response-time")) == [1, 2, 0]
    assert by_work(Criterion.of(problem, "total-weighted-response-time")) == [0, 1, 2]
    dated = [jobs[0], jobs[1].replace(due_date=5.0), jobs[2].replace(due_date=5.0)]
    late = Criterion.of(discretise(Instance(THREE, dated), None), "weighted-tardiness")
    assert by_work(late) == [1, 2, 0]


def test_the_cheapest_list_is_taken_and_not_the_one_that_ends_first(monkeypatch):
    # Three processors. By work: S, T, U (1 task of 1 s each) at 0, then W (3 x 10 s) from 1 to 11: 1 + 1 + 1 + 11 = 14.
    # Both lists end at 11; the widest first costs 10 + 3 * 11 = 43.
    jobs = [Job("W", 3, 10.0), *(Job(name, 1, 1.0) for name in "STU")]
    instance = Instance(THREE, jobs)
    criterion = Criterion.of(discretise(instance, None), "total-response-time")
    monkeypatch.setattr(portfolio, "METHODS", (list_schedules.METHOD,))
    result = solve_oas(instance, SolveOptions(objective="total-response-time", work_limit=1))
    assert result.objective == pytest.approx(14.0)
    assert criterion.value(best_list_schedule(criterion.problem, orders=[[0, 1, 2, 3]])) == pytest.approx(43.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_engine_makes_the_list_schedules_of_python(seed):
    rng = np.random.default_rng(seed)
    jobs, clusters = int(rng.integers(1, 400)), 1 + seed % 3  # 400 jobs: several blocks of steps
    instance = generate("thesis-oas", seed=seed, jobs=jobs, clusters=clusters, nodes=int(rng.integers(4, 40)))
    problem = discretise(instance, None)
    costs = ListCosts.of(Criterion.of(problem, "makespan"))
    lists, order = ListAnnealing(problem, costs, 0), rng.permutation(jobs).tolist()
    lists.consider_order(order)
    expected = sorted(list_schedule(problem, order), key=lambda a: (a.start, a.job))
    assert lists.best()[2] == expected


def test_past_the_deadline_no_job_starts_before_the_one_placed_last():
    # In the order W, T, S the job S fits beside W at 0; without time it starts with T, which waits for W.
    jobs = [Job("W", 2, 10.0), Job("T", 3, 10.0), Job("S", 1, 1.0)]
    problem = discretise(Instance(THREE, jobs), None)
    costs = ListCosts.of(Criterion.of(problem, "makespan"))
    for deadline, start in ((math.inf, 0.0), (-math.inf, 20.0)):
        lists = ListAnnealing(problem, costs, 0)
        lists.complete_order([0, 1, 2], deadline)
        assert {a.job: a.start for a in lists.best()[2]} == pytest.approx({0: 0.0, 1: 10.0, 2: start})


@pytest.mark.parametrize("seed", [34, 38])
def test_lists_are_annealed_where_calendars_let_jobs_wait(seed: int) -> None:
    # The named orders end 7 and 13 % later.
    instance, slot = small_instance(seed, SmallSize(max_jobs=4, max_slots=14))
    calendars = small_declarations("AllowedStarts", np.random.default_rng(seed), instance, slot)
    result = coalloc.solve(instance, slot=slot, constraints=calendars, methods=["list schedule"])
    best = brute_force_oas(instance, slot, "makespan", constraints=calendars)
    assert result.objective == pytest.approx(best.objective)
