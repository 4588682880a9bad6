"""The lower bounds by name, which ``lower_bound(method=)`` and its messages read.

Derivations: docs/mathematics/bounds.md and bounds-on-costs.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace

from coalloc.objectives import Criterion, Objective, RegularObjective
from coalloc.problem import Problem
from coalloc.rules.tuning import TRIED
from coalloc.solvers.bounds.area import area
from coalloc.solvers.bounds.due_dates import due_dates_bound, is_for
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.bounds.job_prices import job_prices_bound
from coalloc.solvers.bounds.mean_busy_time import busy_times_bound
from coalloc.solvers.bounds.position_assignment import positions, safe_cost
from coalloc.solvers.bounds.processor_patterns import excluding, may_ask
from coalloc.solvers.bounds.set_prices import set_prices_bound
from coalloc.solvers.bounds.simple import longest_job, packing, quick_bound
from coalloc.solvers.bounds.work import work
from coalloc.solvers.method import Bound, OfCosts
from coalloc.solvers.portfolio import METHODS


def _best_of_ends(problem: Problem, time_limit: float) -> float:
    """Return the best bound that the time allows: what the cheap ones leave of it is the feasible sets'."""
    deadline = time.perf_counter() + time_limit
    cheap = max(longest_job(problem), work(problem), packing(problem), area(problem, time_limit=time_limit))
    sets = FeasibleSets(problem)
    sets.bound(time_limit=deadline - time.perf_counter())
    known = max(cheap, sets.branch(max_nodes=TRIED, time_limit=deadline - time.perf_counter()))
    most = max(problem.horizon_in_turn, known)
    raised = excluding(problem, known, most, deadline) if may_ask(problem, known) else iter(())
    return max(raised, default=known)


def _quick(criterion: Criterion, _: float) -> float:
    """Return the bound that costs nothing: each job alone and, of a sum of ends, the squashed area."""
    return quick_bound(criterion)


def _due_dates(criterion: Criterion, time_limit: float) -> float:
    """Return the quick bound, that of a maximum raised by the jobs that are due early."""
    quick = quick_bound(criterion)
    return max(quick, due_dates_bound(criterion, time_limit)) if is_for(criterion) else quick


def _of_sum(*bounds: OfCosts) -> OfCosts:
    """Return the greatest of some bounds on a sum, and of those that cost less; the optimum where positions say it."""

    def bound(criterion: Criterion, time_limit: float) -> float:
        deadline = time.perf_counter() + time_limit
        known = _due_dates(criterion, time_limit)
        if not criterion.is_sum:
            return known
        at_positions = positions(criterion)
        if at_positions is not None:
            return safe_cost(criterion, at_positions)
        return max(known, *(one(criterion, deadline - time.perf_counter()) for one in bounds))

    return bound


def _of_method(bound: Bound) -> Bound:
    """Return the bound that a method proves, of sums with those that cost less."""
    return bound if bound.of_costs is None else replace(bound, of_costs=_of_sum(bound.of_costs))


CHEAP = (
    Bound(
        "longest-job",
        lambda problem, _: longest_job(problem),
        lambda criterion, _: criterion.objective.of_costs(criterion.alone),
    ),
    Bound("work", lambda problem, _: max(longest_job(problem), work(problem)), _quick),
    Bound("area", lambda problem, time_limit: area(problem, time_limit=time_limit), _quick),
    Bound("packing", lambda problem, _: packing(problem), _quick),
)
"""Parts of what the methods of the portfolio prove first."""
BEST = Bound("best", _best_of_ends, _of_sum(busy_times_bound, set_prices_bound, job_prices_bound))
"""The cheap ones, then those that take time."""
OF_METHODS = [method.bound for row in METHODS for method in (row, *row.parts) if method.bound is not None]
BOUNDS: Mapping[str, Bound] = {bound.name: bound for bound in (*CHEAP, *map(_of_method, OF_METHODS), BEST)}
"""Every bound by its name: those of the portfolio are rows of ``METHODS`` there."""


def methods_of(objective: Objective) -> tuple[str, ...]:
    """Return the names of the bounds for an objective."""
    if not isinstance(objective, RegularObjective):
        return ("lp",) if objective.needs_watts else ("least-weights",)
    rows = BOUNDS.items()
    return tuple(name for name, row in rows if (row.of_ends if objective.is_latest_end else row.of_costs) is not None)


def default_method(objective: Objective) -> str:
    """Return the method for an objective where none is asked for."""
    if not isinstance(objective, RegularObjective):
        return methods_of(objective)[0]
    return "feasible-set" if objective.is_latest_end else "prices"


def cost_bound(criterion: Criterion, method: str, time_limit: float = math.inf) -> float:
    """Return a lower bound on the cost by a criterion, by one of :func:`methods_of`; stops at the time limit (s)."""
    bound = BOUNDS[method]
    if criterion.objective.is_latest_end:
        assert bound.of_ends is not None
        return bound.of_ends(criterion.problem, time_limit)
    assert bound.of_costs is not None
    return bound.of_costs(criterion, time_limit)
