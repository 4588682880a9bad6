"""Traits: facts about a problem, and about what is known of it, that methods of the portfolio require.

Those of the problem are computed once for each solve; :attr:`coalloc.solvers.incumbent.Incumbent.traits` adds what is
known by now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Flag, auto
from functools import reduce
from operator import or_

from coalloc.objectives import Criterion
from coalloc.rules.tuning import MANY_FOR_SUMS, MANY_JOBS
from coalloc.solvers.result import SolveOptions


class Trait(Flag):
    """Facts that a method may require; ``a | b`` is both.

    UNTIED: no constraint ties jobs to each other or to a time, and no outage takes processors. LAGGED: rows that are no
    waits, as greatest lags, tie jobs, and nothing else that the exact search does not keep to. FEW, MANY: the makespan
    of ``MANY_JOBS`` jobs is of many, a sum never is. SMALL: few, or of a sum fewer than ``MANY_FOR_SUMS``.
    PROVABLE: small, or a sum of which no schedule is known yet. PRICES: dual prices of the feasible-set LP are known.
    REFUSED: constraints refuse the best schedule by their faults.
    """

    NONE = 0
    MAKESPAN = auto()
    OTHER_MAXIMUM = auto()
    SUM = auto()
    UNTIED = auto()
    LAGGED = auto()
    FEW = auto()
    MANY = auto()
    SMALL = auto()
    SLOTS = auto()
    CONTINUOUS = auto()
    EQUAL_ARRIVALS = auto()
    ARRIVALS_OVER_TIME = auto()
    DEADLINES = auto()
    NO_WORK_LIMIT = auto()
    CORES = auto()
    SCHEDULE = auto()
    NO_SCHEDULE = auto()
    PRICES = auto()
    REFUSED = auto()
    PROVABLE = auto()


def those_of(facts: Mapping[Trait, bool]) -> Trait:
    """Return the traits that hold."""
    return reduce(or_, (trait for trait, holds in facts.items() if holds), Trait.NONE)


def traits_of(criterion: Criterion, options: SolveOptions) -> Trait:
    """Return the traits of a problem under an objective and options."""
    problem, objective, num_jobs = criterion.problem, criterion.objective, len(criterion.problem.jobs)
    declared = problem.declared
    is_large = objective.is_latest_end and num_jobs >= MANY_JOBS
    return those_of(
        {
            Trait.MAKESPAN: objective.is_latest_end,
            Trait.OTHER_MAXIMUM: objective.has_latest_ends and not objective.is_latest_end,
            Trait.SUM: criterion.is_sum,
            Trait.UNTIED: not problem.couples and problem.has_monotone_capacity,
            Trait.LAGGED: not (declared.is_searched or declared.budgets or declared.clusters or problem.calendars),
            Trait.FEW: not is_large,
            Trait.MANY: is_large,
            Trait.SMALL: not is_large and not (criterion.is_sum and num_jobs >= MANY_FOR_SUMS),
            Trait.SLOTS: problem.slot is not None,
            Trait.CONTINUOUS: problem.slot is None,
            Trait.EQUAL_ARRIVALS: problem.has_equal_releases,
            Trait.ARRIVALS_OVER_TIME: not problem.has_equal_releases,
            Trait.DEADLINES: any(map(math.isfinite, problem.latest_ends)),
            Trait.NO_WORK_LIMIT: options.work_limit is None,
            Trait.CORES: options.threads > 1,
        }
    )
