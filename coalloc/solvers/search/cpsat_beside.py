"""CP-SAT on another core while trees are searched by machine code, which have one core.

On one core it learns from what it ruled out, and proves what trees do not where links bind; they prove what it does
not where processors do.
"""

from __future__ import annotations

from coalloc.solvers.backends import cpsat
from coalloc.solvers.context import Context
from coalloc.solvers.method import Method
from coalloc.solvers.search import pool_tree, set_tree


def _accepts(context: Context) -> bool:
    """Accept where a tree is searched next."""
    are_trees = pool_tree.METHOD.accepts(context) or set_tree.FURTHER.accepts(context)
    return are_trees and cpsat.may_begin_beside(context)


METHOD = Method("CP-SAT beside trees", cpsat.begin_beside, _accepts)
