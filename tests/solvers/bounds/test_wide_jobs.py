"""Wide jobs: which two can run together, by hand and by trying all allocations, and a bound that stays below optima."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings

from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Problem, discretise
from coalloc.rules.profile import SUBTRACTION_NOISE
from coalloc.solvers.bounds import feasible_set
from coalloc.solvers.bounds.feasible_set import feasible_set_bound
from coalloc.solvers.bounds.release_suffixes import ReleaseSuffix, levelled_jobs, release_suffix_of
from coalloc.solvers.bounds.wide_jobs import WidePairs
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import TINY, slotted_instances
from tests.strategies import LAW


def first_suffix(problem: Problem) -> ReleaseSuffix:
    """Return all jobs of a problem."""
    return release_suffix_of(problem, levelled_jobs(problem, use_links=True), min(problem.releases), math.inf)


def three_of_four_tasks(bandwidth: float, tasks: int = 4) -> Problem:
    """Return three jobs of 10 s and 10 MB/s per task, on three clusters of 3 nodes."""
    platform = Platform(tuple(Cluster(name, (NodeGroup(3, 1.0),), bandwidth) for name in ("A", "B", "C")))
    return discretise(Instance(platform, tuple(Job(f"J{i}", tasks, 10.0, 0.5, 10.0) for i in range(3))), None)


def test_what_links_do_not_hold_takes_turns() -> None:
    # On clusters of 3 a job of 4 crosses: 3 * 10 * 1/3 = 10 MB/s with 3 or 1 tasks inside, 13.3 with 2. Any two
    # jobs meet on some link, which takes 20 at least: of 19 MB/s it does not, of 20 it does, and then A holds 3
    # of the first, C 3 of the second and B one of each.
    for bandwidth, num_pairs in ((19.0, 0), (20.0, 3)):
        pairs = WidePairs(three_of_four_tasks(bandwidth))
        suffix = pairs.suffix(first_suffix(three_of_four_tasks(bandwidth)))
        assert suffix is not None
        assert len(pairs.sets(suffix, math.inf)) == 3 + num_pairs


def test_the_bound_counts_turns_where_sets_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    # One after another: 30 s. By processors alone two of 4 tasks fit on 9: 15 s.
    monkeypatch.setattr(feasible_set, "may_check", lambda _: False)
    assert feasible_set_bound(three_of_four_tasks(19.0)) == pytest.approx(30.0)
    assert feasible_set_bound(three_of_four_tasks(20.0)) == pytest.approx(15.0)


def test_only_jobs_of_more_than_a_third_of_the_processors_are_wide() -> None:
    problem = three_of_four_tasks(19.0, tasks=3)
    assert WidePairs(problem).suffix(first_suffix(problem)) is None


def sums_of_clusters(
    capacities: list[int], rooms: list[int], limits: list[float], loads: list[float], of_other: list[float]
) -> bool:
    """Return whether clusters hold both jobs: all numbers of tasks on each cluster in turn."""
    reach = {(0, 0)}
    for c, capacity in enumerate(capacities):
        counts = product(range(min(len(loads) - 1, rooms[2 * c]) + 1), range(rooms[2 * c + 1] + 1))
        here = [
            (x, y) for x, y in counts if y < len(of_other) and x + y <= capacity and loads[x] + of_other[y] <= limits[c]
        ]
        reach = {(x + a, y + b) for x, y in reach for a, b in here}
    return (len(loads) - 1, len(of_other) - 1) in reach


@pytest.mark.parametrize("num_clusters", [2, 3, 4, 6])
def test_the_engine_adds_up_what_clusters_hold(num_clusters: int) -> None:
    rng = np.random.default_rng(num_clusters)
    answers = []
    for _ in range(150):
        tasks, asked = rng.integers(0, 9, size=2).tolist()
        loads, of_other = (np.arange(n + 1) * np.arange(n, -1, -1) * rng.uniform(0.5, 2.0) for n in (tasks, asked))
        capacities = rng.integers(0, 20 // num_clusters, size=num_clusters)
        rooms = rng.integers(0, 8, size=2 * num_clusters)
        limits = np.where(rng.random(num_clusters) < 0.2, np.inf, rng.uniform(1.0, 25.0, size=num_clusters))
        found = engine().wide_jobs_are_held(num_clusters, tasks, asked, capacities, rooms, limits, loads, of_other)
        answers.append(bool(found))
        of_lists = (array.tolist() for array in (capacities, rooms, limits, loads, of_other))
        assert answers[-1] == sums_of_clusters(*of_lists)
    assert {False, True} == set(answers)


def test_wrong_rooms_are_a_fault() -> None:
    two = np.zeros(2, dtype=np.int64)
    with pytest.raises(InternalError, match="rooms of wide_jobs_are_held is out of range"):
        engine().wide_jobs_are_held(2, 0, 0, two, np.array([0, 0, -1, 0]), np.ones(2), np.zeros(1), np.zeros(1))
    with pytest.raises(InternalError, match="num_clusters of wide_jobs_are_held is out of range"):
        engine().wide_jobs_are_held(1, 0, 0, two[:1], two, np.ones(1), np.zeros(1), np.zeros(1))


def test_pairs_that_are_not_looked_at_in_time_are_let_pass() -> None:
    pairs = WidePairs(three_of_four_tasks(19.0))
    suffix = pairs.suffix(first_suffix(three_of_four_tasks(19.0)))
    assert suffix is not None
    assert len(pairs.sets(suffix, -math.inf)) == 6


def can_run_together(problem: Problem, jobs: tuple[int, int], durations: tuple[float, float]) -> bool:
    """Return whether two jobs fit in some modes that are no slower, by trying all."""
    ways = [
        [c for c in problem.modes[j] if c.duration <= d * (1 + 1e-12)] for j, d in zip(jobs, durations, strict=True)
    ]
    limits = [b + SUBTRACTION_NOISE * max(1.0, b) for b in problem.allocations.limits]
    return any(
        all(x + y <= most for x, y, most in zip(a.allocation, b.allocation, problem.capacities, strict=True))
        and all(x + y <= most for x, y, most in zip(a.loads, b.loads, limits, strict=True))
        for a, b in product(*ways)
    )


@LAW
@given(slotted_instances())
def test_two_that_can_run_together_are_never_parted(drawn: tuple[Instance, float]) -> None:
    problem = discretise(drawn[0], None)
    pairs = WidePairs(problem)
    suffix = pairs.suffix(first_suffix(problem))
    if suffix is None:
        return
    sets = pairs.sets(suffix, math.inf)
    for a, b in combinations(range(len(suffix.jobs)), 2):
        levels = product(enumerate(suffix.jobs[a].durations), enumerate(suffix.jobs[b].durations))
        for (first, d), (second, e) in levels:
            if can_run_together(problem, (suffix.numbers[a], suffix.numbers[b]), (d, e)):
                known = [dict(members) for members in sets if len(members) == 2]
                assert any(s.keys() == {a, b} and s[a] <= first and s[b] <= second for s in known)


@settings(LAW, max_examples=10)
@given(slotted_instances(TINY))
def test_the_bound_is_below_the_optimum(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feasible_set, "may_check", lambda _: False)
        for of_time in (None, slot):
            problem = discretise(instance, of_time)
            bound = problem.clock.seconds(feasible_set_bound(problem)) - instance.origin
            assert bound <= brute_force_oas(instance, of_time).objective * (1 + 1e-6) + 1e-9
