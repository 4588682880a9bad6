"""Branch and bound by the tree that is for the problem and its objective: of running sets, or on identical processors.

Each objective asks the tree of running sets something else: which ends can be refuted, which costs, or whether jobs end
in time at all.
"""

from __future__ import annotations

from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, has_part, run_in_turn
from coalloc.solvers.search import branch_and_bound_of_maxima, cost_tree, deadlines, pool_tree, set_tree
from coalloc.solvers.traits import Trait

TREES = (set_tree.METHOD, pool_tree.METHOD, deadlines.METHOD, branch_and_bound_of_maxima.METHOD, cost_tree.METHOD)


def _run(incumbent: Incumbent) -> None:
    run_in_turn(TREES, incumbent)


METHOD = Method("branch and bound", _run, also=has_part(TREES), shares={Trait.NONE: (1.0,)}, parts=TREES)
