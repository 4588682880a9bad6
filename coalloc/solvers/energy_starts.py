"""List schedules for energy, and what jobs take at least: where the runs of the energy models start from."""

from __future__ import annotations

from collections.abc import Sequence

from coalloc.instance.rounding import time_tolerance
from coalloc.models.energy_costs import Costs
from coalloc.problem import Assignment, Configuration, Problem
from coalloc.rules.generation import FEW_CONFIGURATIONS, book, earliest_start
from coalloc.rules.profile import Profile
from coalloc.schedule import Schedule
from coalloc.solvers.portfolio import assignments_of


def least_joules(problem: Problem, costs: Costs) -> float:
    """Return what all jobs take at least beyond idle watts, J: each in its cheapest configuration."""
    own = sum(min(_shared_joules(problem, costs, c) for c in found) for found in problem.configurations)
    runs = zip(problem.instance.running, problem.busy, strict=True)
    return own + sum(min(0.0, run.end * costs.watts(busy.allocation)) for run, busy in runs)


def _shared_joules(problem: Problem, costs: Costs, configuration: Configuration) -> float:
    """Return the joules of a configuration on nodes whose other cores are busy as well."""
    pairs = enumerate(configuration.allocation)
    extra = sum(n * costs.extra_watts.get(g, 0.0) / problem.capacities[g] for g, n in pairs if n)
    return costs.joules(configuration) + configuration.execution_time * extra


def frugal_list_schedule(problem: Problem, costs: Costs, order: Sequence[int], latest: float) -> list[Assignment]:
    """Place jobs in this order, each in its cheapest configuration that ends by ``latest`` (s).

    Where none does, in the one that ends first.
    """
    profile = Profile(problem)
    placed = []
    for j in order:
        found = sorted(problem.configurations[j], key=lambda c: _shared_joules(problem, costs, c))
        tried = []
        for c in found[:FEW_CONFIGURATIONS]:
            tried.append(Assignment(j, earliest_start(profile, problem.releases[j], c), c))
            if _real_end(problem, tried[-1]) <= latest + time_tolerance(latest):
                break
        else:
            tried.sort(key=lambda a: _real_end(problem, a), reverse=True)
        book(profile, tried[-1])
        placed.append(tried[-1])
    return placed


def _real_end(problem: Problem, assignment: Assignment) -> float:
    """Return when a job really ends, s."""
    return problem.seconds(assignment.start) + assignment.configuration.execution_time


def on_slots(problem: Problem, schedule: Schedule) -> list[Assignment]:
    """Return a schedule in slots, with the same nodes: each job at the first slot from its start on that is free."""
    profile, placed = Profile(problem), []
    for a in assignments_of(problem, schedule):
        placed.append(Assignment(a.job, earliest_start(profile, a.start, a.configuration), a.configuration))
        book(profile, placed[-1])
    return placed
