"""Whether an objective of the user's own is what it says it is: regular, never less than its ``least``, its ``pieces``.

Every bound and search rests on these, and none can be proved of a function; so each job is looked at at a few
instants, which finds the plain mistakes.
"""

from __future__ import annotations

import math
from itertools import pairwise

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job
from coalloc.objectives.objective import RegularObjective
from coalloc.problem import Problem

NUM_STARTS = 5
"""Starts at which the cost of a job is looked at: at its arrival, and on to where all jobs end in turn."""
ROUNDING = 1e-9
"""Relative difference that sums of floats may make."""


def refuse_irregular(problem: Problem, objective: RegularObjective) -> None:
    """Raise :class:`CoallocError` where costs are no numbers, fall as ends grow, or are less than ``least`` says."""
    if objective.counts_ends or not all(problem.levels):
        return
    least = []
    for j, job in enumerate(problem.jobs):
        release = problem.releases[j]
        step = max(0.0, problem.horizon_in_turn - release) / (NUM_STARTS - 1)
        starts = [problem.clock.seconds(release + step * number) for number in range(NUM_STARTS)]
        durations = [problem.clock.seconds(level.duration) for level in problem.levels[j]]
        least.append(min(_least_cost(objective, job, starts, duration) for duration in durations))
        for duration in durations:
            _refuse_pieces(objective, job, starts, duration, problem.base.tolerance)
    worth = objective.of_costs(least) / objective.divisor(problem.instance) - objective.offset(problem.instance)
    if worth < objective.least - ROUNDING * max(1.0, abs(worth)):
        raise CoallocError(
            f"objective {quoted(objective.name)}: its value may be {worth:.6g}, below its attribute "
            f'least={objective.least:g}; set least = float("-inf") if values may be negative'
        )


def _refuse_pieces(
    objective: RegularObjective, job: Job, starts: list[float], duration: float, tolerance: float
) -> None:
    """Raise where the pieces of a job of a run time (s) say something else than its cost, but for a tolerance of times.

    Ends are those of the starts, those of the points, and those midway between two.
    """
    pieces = objective.pieces(job, duration)
    if pieces is None:
        return
    ends = sorted({start + duration for start in starts} | {end for end, _ in pieces.points})
    ends = [end for end in (*ends, *(0.5 * (a + b) for a, b in pairwise(ends))) if end >= starts[0] + duration]
    for end in ends:
        cost = objective.cost(job, end - duration, end)
        low, high = pieces.at(end - tolerance), pieces.at(end + tolerance)
        margin = ROUNDING * max(1.0, abs(cost))
        if not low - margin <= cost <= high + margin:
            raise CoallocError(
                f"objective {quoted(objective.name)}: job {quoted(job.id)} costs {cost:.6g} with end {end:.6g} s, but "
                f"its pieces say {pieces.at(end):.6g}"
            )


def _least_cost(objective: RegularObjective, job: Job, starts: list[float], duration: float) -> float:
    """Return what a job of a run time (s) costs that starts first; raise where it costs less later."""
    ends = [start + duration for start in starts]
    costs = [objective.cost(job, start, end) for start, end in zip(starts, ends, strict=True)]
    for (end, cost), (later, cost_later) in pairwise(zip(ends, costs, strict=True)):
        if not (math.isfinite(cost) and math.isfinite(cost_later)):
            raise CoallocError(f"objective {quoted(objective.name)}: the cost of job {quoted(job.id)} is not finite")
        if cost_later < cost - ROUNDING * max(1.0, abs(cost)):
            raise CoallocError(
                f"objective {quoted(objective.name)} is not regular: job {quoted(job.id)} costs {cost:.6g} with end "
                f"{end:.6g} s, but only {cost_later:.6g} with end {later:.6g} s"
            )
    return costs[0]
