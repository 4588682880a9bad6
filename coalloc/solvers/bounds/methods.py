"""The lower bounds by name, and what ``best`` makes of a time budget. Derivations: docs/mathematics.md, "Bounds"."""

from __future__ import annotations

import math
import time

from coalloc.objectives import Criterion, RegularObjective
from coalloc.problem import Problem
from coalloc.solvers.bounds.area import area
from coalloc.solvers.bounds.due_dates import due_dates_bound, is_for
from coalloc.solvers.bounds.feasible_set import FeasibleSets, feasible_set_bound
from coalloc.solvers.bounds.job_prices import job_prices_bound
from coalloc.solvers.bounds.level_branching import MAX_NODES
from coalloc.solvers.bounds.mean_busy_time import busy_times_bound
from coalloc.solvers.bounds.position_assignment import positions, safe_cost
from coalloc.solvers.bounds.prices import sum_bound
from coalloc.solvers.bounds.processor_patterns import excluding, may_ask
from coalloc.solvers.bounds.simple import longest_job, packing, quick_bound
from coalloc.solvers.bounds.work import work

METHODS = ("longest-job", "work", "area", "packing", "feasible-set", "best")
"""The methods; ``best`` takes the others in turn, the cheapest first, then branches on levels and asks for patterns."""
METHODS_OF_SUMS = (*METHODS, "prices")
"""Those of a sum of costs, or of a maximum that is no latest end; ``best`` takes the prices."""


def methods_of(objective: RegularObjective) -> tuple[str, ...]:
    """Return the methods that there are for an objective, by name."""
    return METHODS if objective.is_latest_end else METHODS_OF_SUMS


def default_method(objective: RegularObjective) -> str:
    """Return the method for an objective where none is asked for."""
    return "feasible-set" if objective.is_latest_end else "prices"


def latest_end_bound(problem: Problem, method: str, time_limit: float = math.inf) -> float:
    """Return a lower bound on the latest end, in ticks, by one of :data:`METHODS`; stops at the time limit (s)."""
    if method == "longest-job":
        return longest_job(problem)
    if method == "packing":
        return packing(problem)
    if method == "work":
        return max(longest_job(problem), work(problem))
    if method == "area":
        return area(problem, time_limit=time_limit)
    if method == "feasible-set":
        return feasible_set_bound(problem, time_limit=time_limit)
    return _best(problem, time_limit)


def _best(problem: Problem, time_limit: float) -> float:
    """Return the best bound that the time allows: what the cheap ones leave of it is the feasible sets'."""
    deadline = time.perf_counter() + time_limit
    cheap = max(longest_job(problem), work(problem), packing(problem), area(problem, time_limit=time_limit))
    sets = FeasibleSets(problem)
    sets.bound(time_limit=deadline - time.perf_counter())
    known = max(cheap, sets.branch(max_nodes=MAX_NODES, time_limit=deadline - time.perf_counter()))
    most = max(problem.horizon_in_turn, known)
    raised = excluding(problem, known, most, deadline) if may_ask(problem, known) else iter(())
    return max(raised, default=known)


def cost_bound(criterion: Criterion, method: str, time_limit: float = math.inf) -> float:
    """Return a lower bound on the cost by a criterion, by one of :func:`methods_of`; stops at the time limit (s).

    A sum of ends has each job alone and, but for ``longest-job``, the squashed area; any other sum or maximum has
    each job alone. ``feasible-set``, ``prices`` and ``best`` raise a maximum by the jobs that are due early; ``prices``
    and ``best`` a sum by prices over time, ``best`` by those of jobs as well, and of few jobs by busy times too.
    """
    objective, deadline = criterion.objective, time.perf_counter() + time_limit
    if objective.is_latest_end:
        return latest_end_bound(criterion.problem, method, time_limit)
    if method == "longest-job":
        return objective.of_costs(criterion.alone)
    quick = quick_bound(criterion)
    if method in ("feasible-set", "prices", "best") and is_for(criterion):
        quick = max(quick, due_dates_bound(criterion, time_limit))
    if method not in ("prices", "best") or not criterion.is_sum:
        return quick
    at_positions = positions(criterion)
    if at_positions is not None:
        return safe_cost(criterion, at_positions)
    if method == "best":
        quick = max(quick, busy_times_bound(criterion, time_limit))
    by_prices = job_prices_bound if method == "best" else sum_bound
    return max(quick, by_prices(criterion, deadline - time.perf_counter()))
