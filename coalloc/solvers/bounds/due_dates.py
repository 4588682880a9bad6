"""A bound on the greatest cost of a job: some job that is due early ends no earlier than all of these can.

Of any set of jobs one ends at the least latest end C of the set or later, and so costs at least what the one of them
costs that suffers least from ending at C: with lateness, C less the latest due date of the set. Sets are those of the
jobs that are due by each due date; their areas, by dual feasible functions, say which are best, and bounds on the
latest ends of these are those of the makespan. Derivation: docs/mathematics/bounds-on-costs.md, "Due dates". Source of
the sets: J. Carlier, "The one-machine sequencing problem", European Journal of Operational Research 11 (1982): for one
machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coalloc.objectives import Criterion
from coalloc.problem import Problem
from coalloc.problem.stated import StatedConstraint
from coalloc.rules.dual_feasible import weightings
from coalloc.rules.tuning import BRIEF
from coalloc.solvers.bounds.feasible_set import feasible_set_bound
from coalloc.solvers.bounds.simple import fastest_durations, least_works, simple_bound
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, once

MOST_SETS = 256
"""Sets whose areas are looked at."""
BEST_SETS = 4
"""Sets, those with the best areas, that get the other simple bounds; the best of these gets feasible sets."""

Floats = NDArray[np.float64]


def due_dates_bound(criterion: Criterion, time_limit: float = math.inf) -> float:
    """Return a bound on the greatest cost, as good as the time (s) allows."""
    return max([criterion.objective.of_costs(criterion.alone), *_improve(criterion, time.perf_counter() + time_limit)])


def is_for(criterion: Criterion) -> bool:
    """Return whether the greatest cost of a job counts, is not its end, and rises with its start and its end."""
    objective = criterion.objective
    return not criterion.is_sum and not objective.is_latest_end and objective.is_monotone


def _improve(criterion: Criterion, deadline: float) -> Iterator[float]:
    """Yield bounds on the greatest cost until the deadline (``time.perf_counter()``, s)."""
    problem = criterion.problem
    if not is_for(criterion) or len(problem.jobs) < 2:
        return
    best = -math.inf
    found: tuple[int, ...] = ()
    for due in _sets_by_area(criterion):
        part = _part(problem, due)
        cost = _least_cost(criterion, due, simple_bound(part))
        yield cost
        if cost > best:
            best, found = cost, due
        if time.perf_counter() > deadline:
            return
    if found:
        end = feasible_set_bound(_part(problem, found), time_limit=deadline - time.perf_counter())
        yield _least_cost(criterion, found, end)


def _sets_by_area(criterion: Criterion) -> list[tuple[int, ...]]:
    """Return the sets whose area makes a job cost most: jobs by index."""
    problem = criterion.problem
    releases = np.array(problem.releases, dtype=float)
    works = _works(problem)
    last = float(releases.max() + works.max(axis=0).sum())
    late = np.array([criterion.cost(j, release, last) for j, release in enumerate(problem.releases)])
    by_cost = np.argsort(-late, kind="stable")
    place = np.empty(len(late), dtype=np.int64)
    place[by_cost] = np.arange(len(late))
    sizes = np.unique(np.linspace(2, len(late), MOST_SETS).astype(np.int64))
    by_release = np.argsort(releases, kind="stable")
    ends = np.full(len(sizes), -np.inf)
    for of_jobs in works[:, by_release]:
        tails = np.where(place[by_release] < sizes[:, None], of_jobs, 0.0)[:, ::-1].cumsum(axis=1)[:, ::-1]
        ends = np.maximum(ends, np.where(tails > 0.0, releases[by_release] + tails, -np.inf).max(axis=1))
    worst = by_cost[sizes - 1].tolist()
    costs = [criterion.cost(j, problem.releases[j], end) for j, end in zip(worst, ends.tolist(), strict=True)]
    chosen = np.argsort(-np.array(costs), kind="stable")[:BEST_SETS]
    return [tuple(sorted(by_cost[:size].tolist())) for size in sizes[chosen].tolist()]


def _works(problem: Problem) -> Floats:
    """Return what each job takes of all processors together, ticks, at the least, by each weighting of its tasks.

    Those of dual feasible functions; where a job has several shapes, the area alone.
    """
    capacity = sum(problem.capacities)
    areas = np.array([least_works(problem)]) / capacity
    if problem.allocations.is_moldable:
        return areas
    sizes, size_of = np.unique([job.tasks for job in problem.jobs], return_inverse=True)
    weights = np.array(weightings(sizes.tolist(), capacity))[:, size_of]
    return np.concatenate([areas, weights * np.array(fastest_durations(problem))])


def _part(problem: Problem, due: tuple[int, ...]) -> Problem:
    """Return the problem of some of the jobs, with no constraints but those that the instance states of each job."""
    jobs = tuple(problem.jobs[j].replace(after=(), lags=()) for j in due)
    part = problem.instance.replace(jobs=jobs)
    return replace(problem, instance=part, constraints=(StatedConstraint(),))


def _least_cost(criterion: Criterion, due: tuple[int, ...], end: float) -> float:
    """Return what the one of these jobs costs at the least that ends at an instant (ticks) or later."""
    releases = criterion.problem.releases
    return min(criterion.cost(j, releases[j], end) for j in due)


def _run(incumbent: Incumbent) -> None:
    """Prove what each set does."""
    for cost in _improve(incumbent.criterion, incumbent.deadline):
        incumbent.prove(cost, METHOD.name)
        if incumbent.is_closed:
            return


METHOD = Method(
    "due dates", _run, also=lambda incumbent: is_for(incumbent.criterion), shares=once(BRIEF), stage="bound"
)
