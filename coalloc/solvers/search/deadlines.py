"""The search for any schedule that ends in time, whatever it costs, or for the proof that there is none."""

from __future__ import annotations

import math

from coalloc.problem import Problem
from coalloc.rules.tuning import HALF, SHORT
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, once
from coalloc.solvers.search.set_tree import search_in_time, takes
from coalloc.solvers.traits import Trait


def seek(incumbent: Incumbent, problem: Problem, bound_share: float, name: str) -> bool:
    """Look for any schedule of a problem that ends in time; return whether everything was seen.

    Its bounds take a share of the time that is left; what is found is taken in the name of a method.
    """
    sets = FeasibleSets(problem)
    sets.bound(time_limit=bound_share * incumbent.time_left)
    return search_in_time(incumbent, problem, sets.dual_prices, name)


def _run(incumbent: Incumbent) -> None:
    if seek(incumbent, incumbent.problem, HALF, METHOD.name) and not incumbent.best:
        incumbent.exclude()


def _accepts(incumbent: Incumbent) -> bool:
    is_bounded = bool(incumbent.problem.jobs) and all(map(math.isfinite, incumbent.problem.latest_ends))
    return is_bounded and not incumbent.criterion.objective.is_latest_end and takes(incumbent.problem)


NEEDS = Trait.DEADLINES | Trait.NO_SCHEDULE
METHOD = Method("branch and bound for deadlines", _run, NEEDS, _accepts, shares=once(SHORT))
