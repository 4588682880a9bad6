"""Sets of jobs by node, with the least energy and time of each.

The rows are for scope ``node`` and few jobs (:mod:`coalloc.rules.node_sets`), and serve the models of energy in slots
and in continuous time. Without them the bounds stay at the area of the jobs. Equations: (S1) to (S4) of
docs/mathematics/energy.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from coalloc.instance.rounding import time_tolerance
from coalloc.models.energy_running import cores_until, last_end
from coalloc.problem import Problem
from coalloc.rules.node_sets import MAX_JOBS, NodeJobs, least_busy, least_ends

EFFORT = 30
"""Nonzeros of a model that are built in the time in which the bounds of a set are found."""


@dataclass(frozen=True, slots=True)
class SetBound:
    """Least requirement of a node for a set of jobs: s in which it is busy after its running jobs, and the makespan."""

    busy: float
    makespan: float


def has_sets(problem: Problem) -> bool:
    """Return whether sets are enumerated for a problem."""
    return problem.scope == "node" and len(problem.jobs) <= MAX_JOBS


def node_jobs(problem: Problem, g: int) -> NodeJobs:
    """Return what node ``g`` makes of the jobs of a problem with scope ``node``."""
    here = [next((c for c in found if c.allocation[g]), None) for found in problem.modes]  # None: not on this node
    return NodeJobs(
        tasks=tuple(problem.capacities[g] + 1 if c is None else sum(c.allocation) for c in here),
        durations=tuple(0.0 if c is None else problem.clock.seconds(c.duration) for c in here),
        releases=tuple(problem.clock.seconds(release) for release in problem.releases),
        free=cores_until(problem, g),
        running=last_end(problem, g),
    )


def estimate_nonzeros(problem: Problem) -> int:
    """Return roughly how many nonzeros the rows will have, and those that are built while their bounds are found."""
    if not has_sets(problem):
        return 0
    num_jobs, num_nodes = len(problem.jobs), len(problem.classes)
    different = len({node_jobs(problem, g) for g in range(num_nodes)})
    return (num_nodes * (num_jobs // 2 + 3) + EFFORT * different) << num_jobs


def set_bounds(problem: Problem, g: int, makespan_limit: float) -> dict[int, SetBound]:
    """Return the bounds, s, of each set (a bit mask) that node ``g`` can do within a makespan, s."""
    node, origin, running = node_jobs(problem, g), problem.instance.origin, last_end(problem, g)
    busy = least_busy(node)
    return {
        members: SetBound(max(0.0, busy[members] - running), max(0.0, end - origin))
        for members, end in least_ends(node).items()
        if end - origin <= makespan_limit + time_tolerance(end)
    }


def add_sets(
    model: pyo.ConcreteModel,
    held: Mapping[tuple[int, int], Any],
    busy_after: Mapping[int, Any],
    makespan_limit: float,
) -> None:
    """Add ``holds`` with (S1) to (S4).

    ``held[j, g]`` is 1 where node ``g`` holds job ``j``; ``busy_after[g]``, in units of the model, is for how long the
    node is busy after its running jobs, where that is known. ``makespan_limit`` is in s.
    """
    problem: Problem = model.problem
    if not has_sets(problem):
        return
    bounds = {
        (g, members): bound
        for g in range(len(problem.classes))
        for members, bound in set_bounds(problem, g, makespan_limit).items()
    }
    model.holds = pyo.Var(list(bounds), bounds=(0.0, 1.0))
    of_node = {g: [members for h, members in bounds if h == g] for g in range(len(problem.classes))}
    model.one_set = pyo.Constraint(  # (S1)
        list(of_node), rule=lambda m, g: pyo.quicksum(m.holds[g, members] for members in of_node[g]) == 1
    )
    model.set_of_jobs = pyo.Constraint(  # (S2)
        list(held),
        rule=lambda m, j, g: (
            held[j, g] == pyo.quicksum(m.holds[g, members] for members in of_node[g] if members >> j & 1)
        ),
    )
    model.busy_by_set = pyo.Constraint(  # (S3)
        list(busy_after),
        rule=lambda m, g: (
            pyo.quicksum(bounds[g, members].busy / m.unit * m.holds[g, members] for members in of_node[g])
            <= busy_after[g]
        ),
    )
    model.makespan_by_set = pyo.Constraint(  # (S4)
        list(of_node),
        rule=lambda m, g: (
            pyo.quicksum(bounds[g, members].makespan / m.unit * m.holds[g, members] for members in of_node[g])
            <= m.makespan
        ),
    )
