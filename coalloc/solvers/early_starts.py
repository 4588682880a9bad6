"""Schedules without idle waiting: of equally good schedules, one whose jobs end early is returned.

A schedule of least makespan may start jobs late that nothing keeps from starting. The best schedule is moved left, and
for an objective that is a maximum lists are annealed for less total response time among the schedules that keep its
value: as many steps as there are jobs say, not as many as fit into a time, so that the same call returns the same
schedule.
"""

from __future__ import annotations

import math

from coalloc.objectives import Criterion
from coalloc.problem import Assignment
from coalloc.rules.serial_sgs import choices_of, start_in_order
from coalloc.rules.tuning import MANY_FOR_SUMS, TRIED
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.limits import AtMost
from coalloc.solvers.search.list_annealing import STEPS, ListCosts, annealing_in


def start_early(incumbent: Incumbent) -> None:
    """Exchange the best assignments for such as are as good and end earlier, while there is time."""
    problem, criterion, state = incumbent.problem, incumbent.criterion, incumbent.state
    is_returned = bool(incumbent.best) and incumbent.best_objective is None
    if not is_returned or len(problem.jobs) > TRIED or state.remaining <= 0.0:
        return
    response = Criterion.of(problem, "total-response-time")
    found = [incumbent.best, start_in_order(problem, choices_of(problem, incumbent.best))]
    if criterion.objective.has_latest_ends and len(problem.jobs) <= MANY_FOR_SUMS:
        first = min((a for a in found if a), key=response.value)
        if response.value(first) > sum(response.alone):  # else no job could end earlier if it were alone
            found.append(_annealed(incumbent, response, first))
    as_good = [a for a in found if a and criterion.value(a) <= incumbent.cost]
    best = min(as_good, key=lambda a: (criterion.value(a), response.value(a)))
    if best is not incumbent.best:
        incumbent.exchange(best)


def _annealed(incumbent: Incumbent, response: Criterion, first: list[Assignment]) -> list[Assignment]:
    """Return a schedule of less total response time than the first that is as good as the best; or nothing."""
    problem, seed, deadline = incumbent.problem, incumbent.state.options.seed, incumbent.instant(1.0)
    limit = AtMost(problem.instance, incumbent.criterion.objective, incumbent.criterion.reported(incumbent.cost))
    ends = {one.job: one.latest_end for one in limit.declare(problem.instance)}
    latest = [
        min(asked, problem.clock.last_tick(ends.get(job.id, math.inf)))
        for job, asked in zip(problem.jobs, problem.latest_ends, strict=True)
    ]
    annealing = annealing_in(incumbent, ListCosts.of(response), seed, latest)
    annealing.consider_all(first, deadline)
    annealing.round(STEPS * len(problem.jobs), deadline)
    return annealing.best()[2] if math.isfinite(annealing.value) else []
