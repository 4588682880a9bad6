"""CP-SAT on cores that trees leave to it, and then on all of them.

Where links bind it proves what trees do not: it learns from what it ruled out, and looks at each link. Else they do
better alone at first, for the memory is one. Once begun beside them it goes on there until the end.
"""

from __future__ import annotations

from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.worker import LOADING_TIME
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search import set_tree
from coalloc.solvers.traits import Trait

LEAST_GAIN = 0.05
"""Share by which links raise the bound at least where it begins before ends are refuted."""
BESIDE = set_tree.NEEDS | Trait.SLOTS | Trait.UNTIED | Trait.NO_WORK_LIMIT | Trait.CORES


def _run(incumbent: Incumbent) -> None:
    """Begin on other cores, or load there, in the first rounds, and solve in the last one of the opening."""
    if incumbent.round > 1:
        cpsat.solve_here(incumbent)
    elif incumbent.kept(cpsat.Beside) is None:
        if _may_begin(incumbent):
            cpsat.begin_beside(incumbent)
        elif incumbent.round == 1:
            cpsat.load(incumbent)


def _may_begin(incumbent: Incumbent) -> bool:
    """Return whether a tree is searched next, and time is left beside it; in the first round also whether links bind.

    Nothing but the clock may end the search.
    """
    sets = incumbent.kept(FeasibleSets)
    is_time = incumbent.round == 1 or (sets is not None and sets.gain_of_links >= LEAST_GAIN)
    is_far = BESIDE in incumbent.traits and set_tree.is_within(incumbent, set_tree.FAR)
    return is_time and is_far and incumbent.state.remaining > LOADING_TIME


METHOD = Method(
    cpsat.NAME,
    _run,
    Trait.PROVABLE,
    cpsat.accepts,
    shares={Trait.CORES: (1.0, 1.0, 1.0, 0.0), Trait.NONE: (0.0, 0.0, 1.0, 0.0)},
    stage="solve",
    proves=Trait.NONE,
)
