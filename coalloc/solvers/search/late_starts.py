"""Tree search for good schedules where rows let a job start later than it could: another starts after it, not too long.

The tree of running sets starts jobs when something ends. Here a job may also start as long before something that runs
ends, or another job arrives, as a row says. Others may have to start at other times still, so nothing is proved.
Derivation: docs/mathematics/exact-tree.md, "The tree".
"""

from __future__ import annotations

from coalloc.rules.tuning import NODES, SHORT
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.ceilings import ceiling_below
from coalloc.solvers.search.set_tables import TooManyError
from coalloc.solvers.search.set_tree import FIRST_SEARCH, TreesOfThreads, is_of_size
from coalloc.solvers.traits import Trait


def _run(incumbent: Incumbent) -> None:
    """Search for ever better schedules, up to a number of nodes."""
    problem, left = incumbent.problem, incumbent.limited(FIRST_SEARCH)
    latest = min(ceiling_below(problem, incumbent.cost), problem.horizon_in_turn)
    try:
        tree = TreesOfThreads(incumbent, problem, incumbent.dual_prices, latest).tree(latest, 0)
        while left > 0 and incumbent.time_left > 0.0 and not incumbent.is_closed:
            ended, nodes = tree.run(min(left, NODES), incumbent.deadline)
            if ended == "better":
                incumbent.take_if_valid(tree.assignments(), METHOD.name)
                tree.lower(ceiling_below(problem, incumbent.cost))
            elif ended != "stopped":
                return
            left -= max(1, nodes)
    except TooManyError:
        pass


def _accepts(incumbent: Incumbent) -> bool:
    return is_of_size(incumbent.problem) and all(levels[0].duration for levels in incumbent.problem.levels)


NEEDS = Trait.MAKESPAN | Trait.PRICES | Trait.LAGGED
METHOD = Method("tree search with late starts", _run, NEEDS, _accepts, shares={Trait.NONE: (SHORT, 0.0)})
