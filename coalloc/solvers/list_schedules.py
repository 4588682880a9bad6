"""The first schedules of a call: lists in the named orders, each job where it ends first.

For a sum of costs the jobs are also listed by their work for each cost of waiting, least first: the optimal order on
one machine. Source: W. Smith, "Various optimizers for single-stage production", Naval Research Logistics Quarterly 3
(1956).
"""

from __future__ import annotations

import math
import time

from coalloc.objectives import Criterion
from coalloc.problem import Assignment
from coalloc.rules.serial_sgs import best_list_schedule, named_orders
from coalloc.rules.tuning import MANY_JOBS, SHORT
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, once
from coalloc.solvers.search.list_annealing import ListCosts, annealing_in
from coalloc.solvers.special.unrelated_machines import Machines
from coalloc.system.garbage import no_collection

TIED_STEPS = 300
"""Steps of annealing per job for a maximum where constraints tie jobs: named orders are far from the best there, and
trees would spend their time on what a better first schedule excludes.
"""
PER_JOB = 1e-5
"""Seconds per job in which gaps are looked for in the first list all the same."""


@no_collection()  # nearly all that is made is kept
def first_schedule(incumbent: Incumbent, deadline: float) -> list[Assignment]:
    """Return the cheapest list schedule; nothing where none is one.

    At the deadline, an instant of ``time.perf_counter()``, s, no further list is tried.
    """
    criterion, problem = incumbent.criterion, incumbent.problem
    found = _decoded(incumbent, deadline) if problem.jobs else []
    if found or not problem.ties_jobs:
        return found
    # Python takes the next job that has a place where rows of the jobs before leave none to the first one
    return best_list_schedule(problem, incumbent.proven, deadline, orders=orders_of(criterion), cost=criterion.value)


def _decoded(incumbent: Incumbent, deadline: float) -> list[Assignment]:
    """Return the cheapest list schedule of the engine, of lists in which each job has its turn."""
    criterion = incumbent.criterion
    lists = annealing_in(incumbent, ListCosts.of(criterion), 0)
    for order in reversed(dict.fromkeys(map(tuple, orders_of(criterion)))):
        is_known = math.isfinite(lists.value)
        if is_known and time.perf_counter() > deadline:
            break
        if is_known:
            lists.consider_order(order, deadline)
        else:
            soonest = time.perf_counter() + PER_JOB * len(criterion.problem.jobs)
            lists.complete_order(order, max(deadline, soonest))
        if lists.value <= incumbent.proven:
            break
    num_jobs = len(criterion.problem.jobs)
    is_far = lists.value > incumbent.proven and criterion.problem.is_tied and not criterion.is_sum
    if is_far and num_jobs <= MANY_JOBS:
        lists.round(incumbent.limited(TIED_STEPS * num_jobs), deadline)
    return lists.best()[2] if math.isfinite(lists.value) else []


def orders_of(criterion: Criterion) -> list[list[int]]:
    """Return the orders of the jobs (indices) that are tried, the best last."""
    orders = named_orders(criterion.problem)
    return [*orders, by_work(criterion)] if criterion.is_sum else orders


def by_work(criterion: Criterion) -> list[int]:
    """Return the jobs (indices) by their work for each cost of a tick of waiting, those of a fixed start first."""
    problem, levels = criterion.problem, criterion.problem.speeds.columns
    areas = (levels.tasks * levels.ticks)[levels.first[:-1]].tolist()
    fastest = levels.fastest.tolist()

    def work(j: int) -> float:
        ramp = criterion.ramp_below(j, fastest[j])
        cost = 1.0 if ramp is None else ramp.slope
        return areas[j] / cost if cost > 0.0 else math.inf

    return sorted(range(len(problem.jobs)), key=lambda j: (j not in problem.pinned, work(j), problem.releases[j]))


def _run(incumbent: Incumbent) -> None:
    incumbent.take(first_schedule(incumbent, incumbent.deadline), METHOD.name)


def _accepts(incumbent: Incumbent) -> bool:
    return incumbent.kept(Machines) is None  # an assignment that moves and swaps do not improve is known


METHOD = Method("list schedule", _run, also=_accepts, shares=once(SHORT))
