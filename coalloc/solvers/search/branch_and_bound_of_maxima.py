"""The least greatest cost of a job, by the tree of running sets, with a latest end of each job.

A maximum that says until when each job may end for a cost is less than the best known exactly if all jobs end in time
for less. So the tree (:mod:`coalloc.solvers.search.set_tree`) is searched for any schedule in which they do:
one that is found is the best known, and its cost the next to go below; where there is none, the best is optimal. The
bounds of the latest end apply, for it is limited as well.
Source: J. Carlier, "The one-machine sequencing problem", European Journal of Operational Research 11 (1982), for the
maximum lateness as latest ends.
"""

from __future__ import annotations

from dataclasses import replace

from coalloc.instance.constraints import Constraint, LatestEnd
from coalloc.problem import Problem
from coalloc.rules.tuning import SHORT
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.limits import AtMost
from coalloc.solvers.method import Method, once
from coalloc.solvers.result import PROOF_TOLERANCE
from coalloc.solvers.search.deadlines import seek
from coalloc.solvers.search.set_tree import takes
from coalloc.solvers.traits import Trait


def _run(incumbent: Incumbent) -> None:
    """Find a schedule where none is known, then go below the best cost until nothing does, or limits are reached."""
    if not incumbent.best and seek(incumbent, _in_turn(incumbent), SHORT, METHOD.name) and not incumbent.best:
        incumbent.exclude()
    while incumbent.best and not incumbent.is_closed and incumbent.time_left > 0.0:
        known = incumbent.cost
        value = incumbent.criterion.reported(known)
        equal = 2.0 * incumbent.problem.base.tolerance  # costs that are no further apart than that are equal
        step = max(equal, 0.5 * PROOF_TOLERANCE * abs(value))
        limit = AtMost(incumbent.problem.instance, incumbent.criterion.objective, value - step)
        is_seen = seek(incumbent, _in_turn(incumbent, limit), SHORT, METHOD.name)
        if incumbent.cost < known:
            continue
        if is_seen:
            least = value if step == equal else value - step
            incumbent.prove(incumbent.criterion.counted(least), METHOD.name)
        return


def _in_turn(incumbent: Incumbent, *limits: Constraint) -> Problem:
    """Return the problem with limits, in which no job ends after all could have in turn."""
    problem = incumbent.problem
    last = LatestEnd(problem.clock.seconds(problem.horizon_in_turn))
    return replace(problem, constraints=(*problem.constraints, last, *limits))


METHOD = Method(
    "branch and bound for maxima",
    _run,
    Trait.OTHER_MAXIMUM,
    lambda incumbent: bool(incumbent.problem.jobs) and takes(incumbent.problem),
    shares=once(SHORT),
)
