"""First schedules: for a sum, jobs of little work come first; for a maximum, what costs least counts."""

from __future__ import annotations

import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.list_schedules import by_work
from coalloc.solvers.oas import solve_oas
from coalloc.solvers.result import SolveOptions

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
