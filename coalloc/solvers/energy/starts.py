"""List schedules for energy, and what jobs take at least: where the runs of the energy models start from."""

from __future__ import annotations

from collections.abc import Sequence

from coalloc.instance.rounding import time_tolerance
from coalloc.models.energy_costs import ClassWatts
from coalloc.problem import Assignment, Mode, Problem
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import FEW_MODES, assignments_of, book, earliest_start
from coalloc.schedule import Schedule


def least_joules(problem: Problem, costs: ClassWatts) -> float:
    """Return what all jobs take at least beyond idle watts, J: each in its cheapest mode."""
    own = sum(min(_shared_joules(problem, costs, c) for c in found) for found in problem.modes)
    runs = zip(problem.instance.running, problem.busy, strict=True)
    return own + sum(min(0.0, run.end * costs.watts(busy.allocation)) for run, busy in runs)


def _shared_joules(problem: Problem, costs: ClassWatts, mode: Mode) -> float:
    """Return the joules of a mode on nodes whose other cores are busy as well."""
    pairs = enumerate(mode.allocation)
    extra = sum(n * costs.extra_watts.get(g, 0.0) / problem.capacities[g] for g, n in pairs if n)
    return costs.joules(mode) + problem.clock.seconds(mode.duration) * extra


def frugal_list_schedule(problem: Problem, costs: ClassWatts, order: Sequence[int], latest: float) -> list[Assignment]:
    """Place jobs in this order, each in its cheapest mode that ends by ``latest`` (s).

    Where none does, in the one that ends first.
    """
    profile = Profile(problem)
    placed = []
    for j in order:
        found = sorted(problem.modes[j], key=lambda c: _shared_joules(problem, costs, c))
        tried = []
        for c in found[:FEW_MODES]:
            tried.append(Assignment(j, earliest_start(profile, problem.releases[j], c), c))
            if problem.clock.seconds(tried[-1].end) <= latest + time_tolerance(latest):
                break
        else:
            tried.sort(key=lambda a: a.end, reverse=True)
        book(profile, tried[-1])
        placed.append(tried[-1])
    return placed


def on_slots(problem: Problem, schedule: Schedule) -> list[Assignment]:
    """Return a schedule in slots, with the same nodes: each job at the first slot from its start on that is free."""
    profile, placed = Profile(problem), []
    for a in assignments_of(problem, schedule):
        placed.append(Assignment(a.job, earliest_start(profile, a.start, a.mode), a.mode))
        book(profile, placed[-1])
    return placed
