"""The first schedules of a call: lists in the named orders, each job where it ends first.

For a sum of costs the jobs are also listed by their work for each cost of waiting, least first: the optimal order on
one machine. Source: W. Smith, "Various optimizers for single-stage production", Naval Research Logistics Quarterly 3
(1956).
"""

from __future__ import annotations

import math

from coalloc.objectives import Criterion
from coalloc.problem import Assignment
from coalloc.rules.serial_sgs import best_list_schedule, named_orders
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.special.unrelated_machines import Machines
from coalloc.system.garbage import no_collection

SHARE = 0.25
"""Share of the time limit after which no gaps are looked for any more, nor further orders tried."""


@no_collection()  # nearly all that is made is kept
def first_schedule(incumbent: Incumbent, deadline: float) -> list[Assignment]:
    """Return the cheapest list schedule; nothing where none is one.

    At the deadline, an instant of ``time.perf_counter()``, s, no further list is tried.
    """
    criterion, problem = incumbent.criterion, incumbent.problem
    if criterion.objective.is_latest_end:
        return best_list_schedule(problem, incumbent.proven, deadline)
    orders = named_orders(problem)
    if criterion.is_sum:
        orders.append(by_work(criterion))
    return best_list_schedule(problem, incumbent.proven, deadline, orders=orders, cost=criterion.value)


def by_work(criterion: Criterion) -> list[int]:
    """Return the jobs (indices) by their work for each cost of a tick of waiting, those of a fixed start first."""
    problem = criterion.problem

    def work(j: int) -> float:
        level = problem.levels[j][0]
        ramp = criterion.ramp_below(j, level.duration)
        cost = 1.0 if ramp is None else ramp.slope
        return level.tasks * level.duration / cost if cost > 0.0 else math.inf

    return sorted(range(len(problem.jobs)), key=lambda j: (j not in problem.pinned, work(j), problem.releases[j]))


def _run(incumbent: Incumbent) -> None:
    incumbent.take(first_schedule(incumbent, incumbent.deadline), METHOD.name)


def _accepts(incumbent: Incumbent) -> bool:
    return incumbent.kept(Machines) is None  # an assignment that moves and swaps do not improve is known


METHOD = Method("list schedule", _run, also=_accepts, share=SHARE)
