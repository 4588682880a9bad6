"""CP-SAT on another core beside the trees in the engine, which have one core.

Where links bind it proves what they do not: it learns from what it ruled out, and looks at each link. Else they do
better alone at first, for the memory is one. Once begun it goes on there until the end.
"""

from __future__ import annotations

from dataclasses import replace

from coalloc.solvers.backends import cpsat
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search import set_tree
from coalloc.solvers.traits import Trait

LEAST_GAIN = 0.05
"""Share by which links raise the bound at least where it begins before the trees."""


def _has_time(incumbent: Incumbent) -> bool:
    """Return whether a tree is searched next, and time is left beside it."""
    return set_tree.is_far(incumbent) and cpsat.may_begin_beside(incumbent)


def _have_links(incumbent: Incumbent) -> bool:
    """Return whether links bind, too."""
    sets = incumbent.kept(FeasibleSets)
    return sets is not None and sets.gain_of_links >= LEAST_GAIN and _has_time(incumbent)


NEEDS = set_tree.NEEDS | cpsat.METHOD.needs | Trait.UNTIED | Trait.NO_WORK_LIMIT | Trait.CORES
METHOD = Method(cpsat.METHOD.name, cpsat.begin_beside, NEEDS, _has_time)
EARLY = replace(METHOD, also=_have_links)
