"""CP-SAT on another core beside the trees in the engine, which have one core.

Where links bind it proves what they do not: it learns from what it ruled out, and looks at each link. Else they do
better alone at first, for the memory is one. Once begun it goes on there until the end.
"""

from __future__ import annotations

from coalloc.solvers.backends import cpsat
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search import set_tree

LEAST_GAIN = 0.05
"""Share by which links raise the bound at least where it begins before the trees."""


def _accepts(incumbent: Incumbent) -> bool:
    """Accept where a tree is searched next."""
    return set_tree.may_follow(incumbent) and cpsat.may_begin_beside(incumbent)


def _accepts_early(incumbent: Incumbent) -> bool:
    """Accept where links bind, too."""
    sets = incumbent.kept(FeasibleSets)
    return sets is not None and sets.gain_of_links >= LEAST_GAIN and _accepts(incumbent)


METHOD = Method("CP-SAT in parallel", cpsat.begin_beside, _accepts)
EARLY = Method(METHOD.name, cpsat.begin_beside, _accepts_early)
