"""Growth by knapsacks: what starts by hand; schedules are valid, repeat and come to the optimum of few jobs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import pytest

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem, discretise
from coalloc.schedule import schedule_of
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.bounds import feasible_set
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.search import beams, knapsack_growth
from coalloc.solvers.search.beam_search import BeamSearch
from coalloc.solvers.search.growth import Growth, Partials
from coalloc.solvers.search.knapsack_growth import KnapsackPlanner, accepts
from coalloc.testing.brute_force import brute_force_oas


def pool_of(jobs: list[Job], processors: int, running: tuple[RunningJob, ...] = ()) -> Instance:
    """Return jobs on one pool."""
    return Instance(Platform((Cluster("C1", (NodeGroup(processors, 1.0),), 1000.0),)), tuple(jobs), running)


def random_pool(num_jobs: int, seed: int, processors: int = 6, *, multiple: int = 1, latest: int = 0) -> Instance:
    """Return jobs of random sizes; ``latest`` is the latest arrival, and one job runs already where there are any."""
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            f"J{i}",
            multiple * int(rng.integers(1, processors // multiple + 1)),
            float(rng.integers(1, 30)),
            arrival=float(rng.integers(0, latest + 1)),
        )
        for i in range(num_jobs)
    ]
    running = (RunningJob(Job("R", 2, 50.0), ("C1/0", "C1/1"), 17.0),) if latest else ()
    return pool_of(jobs, processors, running)


def packed(
    problem: Problem, dual_prices: Sequence[float], count: int, until: float, before: float = math.inf
) -> Partials:
    """Return what becomes of nothing in so many ways."""
    rng, planner, growth = (
        np.random.default_rng(0),
        KnapsackPlanner(problem, dual_prices),
        Growth(problem, [[1.0] for _ in problem.jobs]),
    )
    nothing = growth.begun(planner.begun(rng))
    ways, traits = planner.ways(nothing.traits[:, [0] * count], np.array(dual_prices), rng)
    return growth.grown(nothing, np.zeros(count, np.int64), ways, traits, until=until, before=before)


def by_area(instance: Instance, count: int, until: float, before: float = math.inf) -> Partials:
    """Return what becomes of nothing at the prices of the area bound."""
    problem = discretise(instance, None)
    processors = sum(problem.capacities)
    areas = [job.tasks * of[0].duration / processors for job, of in zip(problem.jobs, problem.levels, strict=True)]
    return packed(problem, areas, count, until, before)


def test_what_starts_leaves_nothing_idle() -> None:
    # The widest first would leave 4 of 10 idle, and so would 5 + 3; only 5 + 5 fills them.
    instance = pool_of([Job(name, tasks, 10.0) for name, tasks in zip("ABCD", (6, 5, 5, 3), strict=True)], 10)
    found = by_area(instance, 50, until=1.0)
    assert np.isfinite(found.starts).tolist() == [[False, True, True, False]] * 50


def test_what_ends_with_something_else_may_be_worth_more() -> None:
    # 2 of 4 processors are busy until 20 s; one of two equally wide jobs starts beside, of 20 s or of 21 s.
    running = (RunningJob(Job("R", 2, 20.0), ("C1/0", "C1/1"), 20.0),)
    found = by_area(pool_of([Job("A", 2, 20.0), Job("B", 2, 21.0)], 4, running), 400, until=1.0)
    starts_first = (found.starts == 0.0).sum(axis=0)
    assert starts_first.sum() == 400
    assert starts_first[0] > starts_first[1] > 0  # B leans ahead as the longer one, and A ends with R


def test_jobs_wait_for_their_arrival_and_for_processors() -> None:
    instance = pool_of([Job("A", 2, 5.0, arrival=7.0), Job("B", 3, 5.0), Job("C", 1, 1.0, arrival=30.0)], 3)
    found = by_area(instance, 1, until=math.inf)
    assert found.starts.tolist() == [[7.0, 0.0, 30.0]]
    assert found.ends.tolist() == [[12.0, 5.0, 31.0]]
    assert [(a.job, a.start) for a in found.assignments(0)] == [(1, 0.0), (0, 7.0), (2, 30.0)]


def test_jobs_without_a_price_start_too() -> None:
    problem = discretise(pool_of([Job("A", 2, 5.0), Job("B", 3, 5.0)], 3), None)
    assert sorted(packed(problem, [0.0, 0.0], 1, until=math.inf).ends[0].tolist()) == [5.0, 10.0]


def test_what_cannot_end_in_time_is_left_out() -> None:
    # A and B fill ten seconds and C waits: 10 s and then 5 s at the price of its area, or more.
    instance = pool_of([Job("A", 2, 10.0), Job("B", 2, 10.0), Job("C", 4, 5.0)], 4)
    worth_15 = by_area(instance, 200, until=8.0, before=15.5)
    assert len(worth_15.starts) == 200
    assert len(by_area(instance, 200, until=8.0, before=15.0).starts) == 0
    ends = by_area(instance, 200, until=math.inf, before=15.5).ends.max(axis=1)
    assert set(ends.tolist()) == {15.0}


@pytest.mark.parametrize("slot", [None, 4.0])
@pytest.mark.parametrize(("multiple", "latest"), [(1, 0), (2, 0), (1, 40)])
@pytest.mark.parametrize("seed", range(3))
def test_few_jobs_come_to_the_optimum(seed: int, multiple: int, latest: int, slot: float | None) -> None:
    instance = random_pool(5, seed, multiple=multiple, latest=latest)
    problem = discretise(instance, slot)
    sets = FeasibleSets(problem)
    least = brute_force_oas(instance, slot, "makespan").objective

    def again() -> list[list[Assignment]]:
        stages = BeamSearch(
            Growth.priced(problem),
            lower_bound=sets.bound(),
            dual_prices=sets.dual_prices,
            seed=seed,
            by_knapsacks=True,
        )
        return [found for _ in range(20) if (found := stages.round()) is not None]

    found = again()
    for assignments in found:
        assert check(instance, schedule_of(problem, assignments)) == []
    criterion = Criterion.of(problem, "makespan")
    assert criterion.reported(criterion.value(found[-1])) == pytest.approx(least)
    assert again() == found


def test_a_late_search_gives_up() -> None:
    problem = discretise(random_pool(40, 1), None)
    stages = BeamSearch(
        Growth.priced(problem),
        lower_bound=1.0,
        dual_prices=[1.0] * 40,
        seed=0,
        deadline=time.perf_counter(),
        by_knapsacks=True,
    )
    assert stages.round() is None


def test_solve_takes_its_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = (list_schedules.METHOD, feasible_set.METHOD, beams.METHOD)
    monkeypatch.setattr(portfolio, "METHODS", methods)
    result = coalloc.solve(random_pool(40, 5, 20), work_limit=200)
    assert result.trace[-1].source == beams.METHOD.name


def test_what_is_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack_growth, "LISTED", 1000)
    pool = random_pool(4, 0)
    assert accepts(discretise(pool, None))
    two = Platform((Cluster("C1", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), 10.0),))
    assert not accepts(discretise(Instance(two, [Job("A", 1, 1.0)]), None))
    wide = [Job("A", 1, 1.0), Job("B", 1000, 1.0)]
    assert not accepts(discretise(pool_of(wide, 1000), None))
    assert accepts(discretise(pool_of(wide[1:], 1000), None))  # one unit of so many
