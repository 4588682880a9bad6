"""A first schedule that keeps latest ends: the problem without them is searched for the least tardiness.

A list whose jobs have to end by an instant mostly fails at some job, and says nothing of how far it is from a schedule.
Without latest ends every list is a schedule, and annealing has something to make less, the time by which jobs are late
in all: where that is nothing, the schedule is one of the problem. All other constraints stay.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import cached_property

from coalloc.instance import Job
from coalloc.objectives.objective import RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear
from coalloc.problem import Problem
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.rules.tuning import BRIEF
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.list_annealing import STEPS, improve
from coalloc.solvers.traits import Trait


class Tardiness(RegularObjective):
    """Total delay of jobs beyond the latest ends (s, infinite where there is none) that a problem allows."""

    name = "tardiness"

    def __init__(self, problem: Problem) -> None:
        latest = map(problem.clock.seconds, problem.latest_ends)
        self._latest = dict(zip((job.id for job in problem.jobs), latest, strict=True))

    def cost(self, job: Job, start: float, end: float) -> float:  # noqa: ARG002 - a regular objective of the end
        """Return by how much a job is late, s."""
        return max(0.0, end - self._latest[job.id])

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:  # noqa: ARG002 - a function of the end alone
        """Return by how much it is late by its end."""
        latest = self._latest[job.id]
        return PiecewiseLinear([(latest, 0.0)], 1.0) if math.isfinite(latest) else PiecewiseLinear([(0.0, 0.0)])


class _WithoutLatestEnds(Problem):
    """A problem whose jobs may end whenever they do."""

    @cached_property
    def latest_ends(self) -> tuple[float, ...]:
        """Infinity for every job."""
        return (math.inf,) * len(self.jobs)


def _run(incumbent: Incumbent) -> None:
    """Anneal from the list schedules of the problem without latest ends; later attempts draw otherwise."""
    problem, tardiness = incumbent.problem, Tardiness(incumbent.problem)
    free = _WithoutLatestEnds(**{field.name: getattr(problem, field.name) for field in fields(problem)})
    effort = incumbent.effort(STEPS * len(problem.jobs) ** 2, METHOD.name)
    found = improve(
        free,
        best_list_schedule(free, deadline=incumbent.deadline),
        replace(effort, target=0.0, on_schedule=lambda _: None),
        objective=tardiness,
    )
    if all(assignment.end <= problem.latest_ends[assignment.job] for assignment in found):
        incumbent.take(found, METHOD.name)


NEEDS = Trait.DEADLINES | Trait.NO_SCHEDULE
METHOD = Method("deadline-feasibility search", _run, NEEDS, shares={Trait.NONE: (BRIEF, 0.0, 0.0, BRIEF)})
