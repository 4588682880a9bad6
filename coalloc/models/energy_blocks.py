"""OAS for energy in continuous time, jobs within nodes: each node is busy in a few blocks of time.

Every job is in one block of one node, within ``[begin, end)`` of that block, and blocks of a node follow each
other; a node draws its static watts in its blocks. Which jobs precede which is decided by pairs: jobs whose
tasks exceed the cores of a node together may not all overlap in pairs, and intervals that overlap in pairs
share an instant. Equations: (B1) to (B14) of docs/mathematics.md. Source: the meter of PCBE, section 2.2; the pairs
and forbidden sets follow M. Bartusch et al., "Scheduling project networks with resource constraints and time
windows", Annals of Operations Research 16 (1988).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pyomo.environ as pyo

from coalloc.instance import CoallocError
from coalloc.instance.rounding import time_tolerance
from coalloc.models.energy_costs import Costs, costs_of, equal_pairs, no_costs
from coalloc.models.time_grid import chosen
from coalloc.problem import Assignment, Problem
from coalloc.rules.node_sets import MAX_JOBS, least_ends
from coalloc.schedule import Schedule, schedule_of

MAX_FORBIDDEN = 50_000
"""Minimal sets of jobs that exceed a node together, beyond which they are not enumerated."""

SNAP = 3e-6
"""Share of the last instant within which a start of the solver is taken for the instant that it means."""


def build(
    problem: Problem, *, horizon: float, objective: str = "energy", makespan_limit: float | None = None
) -> pyo.ConcreteModel:
    """Return the model, for ``"energy"`` (J) or ``"makespan"`` (s).

    The problem is in continuous time with scope ``node``; some optimal schedule ends within ``horizon`` s
    of time 0.
    """
    model = pyo.ConcreteModel("OAS energy blocks")
    model.problem = problem
    origin = problem.instance.origin
    latest = horizon - origin if makespan_limit is None else min(horizon - origin, makespan_limit)
    model.makespan = pyo.Var(bounds=(0.0, max(0.0, latest)))
    costs = costs_of(problem) if objective == "energy" else no_costs(problem)
    _add_blocks(model, max(horizon, origin))
    _add_order(model, max(horizon, origin))
    _add_order_of_equals(model)
    _add_sets(model)
    _add_objective(model, costs, objective)
    return model


def num_blocks(problem: Problem) -> int:
    """Return how many blocks a node can need.

    A block after a gap holds a job that arrived after the block before it had ended, or it would move left:
    so blocks need arrivals that are further apart than the shortest job takes.
    """
    if not problem.jobs:
        return 0
    shortest = min(c.duration for configurations in problem.configurations for c in configurations)
    blocks, last = 1, min(problem.releases)
    for release in sorted(problem.releases):
        if release > last + shortest:
            blocks, last = blocks + 1, release
    return min(blocks, len(problem.jobs))


def _places(problem: Problem) -> dict[tuple[int, int], float]:
    """Return the durations (s) of each job (by index) on each node that can hold it."""
    return {
        (j, c.allocation.index(problem.jobs[j].tasks)): c.duration
        for j, configurations in enumerate(problem.configurations)
        for c in configurations
    }


def _add_blocks(model: pyo.ConcreteModel, latest: float) -> None:
    """Add the blocks with (B2), (B3), (B4), (B5), (B6) and (B14); ``latest`` is the last instant, s."""
    problem: Problem = model.problem
    durations = _places(problem)
    model.J = pyo.RangeSet(0, len(problem.jobs) - 1)
    model.blocks = pyo.Set(initialize=[(g, k) for g in range(len(problem.classes)) for k in range(num_blocks(problem))])
    model.y = pyo.Var([(j, g, k) for j, g in durations for _, k in model.blocks if _ == g], domain=pyo.Binary)
    model.begin = pyo.Var(model.blocks, bounds=(0.0, latest))
    model.end = pyo.Var(model.blocks, bounds=(0.0, latest))
    model.start = pyo.Var(model.J, bounds=lambda _, j: (problem.releases[j], max(latest, problem.releases[j])))
    model.duration = pyo.Expression(
        model.J, rule=lambda m, j: pyo.quicksum(durations[i, g] * y for (i, g, _), y in m.y.items() if i == j)
    )
    model.one_block = pyo.Constraint(
        model.J, rule=lambda m, j: pyo.quicksum(y for (i, _, _), y in m.y.items() if i == j) == 1
    )
    model.after_begin = pyo.Constraint(
        list(model.y), rule=lambda m, j, g, k: m.begin[g, k] <= m.start[j] + latest * (1 - m.y[j, g, k])
    )
    model.before_end = pyo.Constraint(
        list(model.y),
        rule=lambda m, j, g, k: m.start[j] + m.duration[j] <= m.end[g, k] + latest * (1 - m.y[j, g, k]),
    )
    model.blocks_in_order = pyo.Constraint(
        [(g, k) for g, k in model.blocks if k > 0], rule=lambda m, g, k: m.end[g, k - 1] <= m.begin[g, k]
    )
    model.area = pyo.Constraint(model.blocks, rule=lambda m, g, k: _area(m, durations, g, k))
    model.longest = pyo.Constraint(
        list(model.y), rule=lambda m, j, g, k: durations[j, g] * m.y[j, g, k] <= m.end[g, k] - m.begin[g, k]
    )
    model.within_makespan = pyo.Constraint(
        model.J, rule=lambda m, j: m.start[j] + m.duration[j] - problem.instance.origin <= m.makespan
    )


def _area(model: pyo.ConcreteModel, durations: dict[tuple[int, int], float], g: int, k: int) -> object:
    """Return (B6): the core-seconds in a block fit into it."""
    problem: Problem = model.problem
    work = pyo.quicksum(
        problem.jobs[j].tasks * durations[j, h] * y for (j, h, b), y in model.y.items() if (h, b) == (g, k)
    )
    return work <= problem.capacities[g] * (model.end[g, k] - model.begin[g, k])


def _add_order(model: pyo.ConcreteModel, latest: float) -> None:
    """Add who precedes whom, with (B7) and (B8)."""
    problem: Problem = model.problem
    sets = {g: list(forbidden_sets(problem, g)) for g in range(len(problem.classes))}
    pairs = sorted({pair for found in sets.values() for s in found for pair in itertools.permutations(s, 2)})
    model.before = pyo.Var(pairs, domain=pyo.Binary)
    model.precedes = pyo.Constraint(
        pairs,
        rule=lambda m, i, j: m.start[i] + m.duration[i] <= m.start[j] + latest * (1 - m.before[i, j]),
    )
    model.not_both = pyo.Constraint(
        [(i, j) for i, j in pairs if i < j], rule=lambda m, i, j: m.before[i, j] + m.before[j, i] <= 1
    )

    def separate(m: pyo.ConcreteModel, g: int, s: int) -> object:
        jobs = sets[g][s]
        here = pyo.quicksum(m.y[j, g, k] for j in jobs for h, k in m.blocks if h == g)
        return pyo.quicksum(m.before[pair] for pair in itertools.permutations(jobs, 2)) >= here - (len(jobs) - 1)

    model.not_together = pyo.Constraint([(g, s) for g in sets for s in range(len(sets[g]))], rule=separate)


def forbidden_sets(problem: Problem, g: int) -> Iterator[tuple[int, ...]]:
    """Yield the minimal sets of jobs (by index) that fit on a node one by one, and not all together."""
    cores = problem.capacities[g]
    jobs = [j for j, job in enumerate(problem.jobs) if job.tasks <= cores]
    found = 0
    for size in range(2, cores + 2):
        for chosen_jobs in itertools.combinations(jobs, size):
            tasks = [problem.jobs[j].tasks for j in chosen_jobs]
            if sum(tasks) > cores >= sum(tasks) - min(tasks):
                found += 1
                if found > MAX_FORBIDDEN:
                    raise CoallocError(
                        f"more than {MAX_FORBIDDEN:,} sets of jobs exceed a node of {cores} cores together: give a slot"
                    )
                yield chosen_jobs


def _add_sets(model: pyo.ConcreteModel) -> None:
    """Add which set of jobs each node holds, for the bounds (B11), (B12) and (B13), where there are few jobs."""
    problem: Problem = model.problem
    if len(problem.jobs) > MAX_JOBS:
        return
    durations, origin = _places(problem), problem.instance.origin
    tasks = tuple(job.tasks for job in problem.jobs)
    lengths: dict[tuple[int, int], float] = {}
    ends: dict[tuple[int, int], float] = {}
    for g, cores in enumerate(problem.capacities):
        here = tuple(durations.get((j, g), 0.0) for j in range(len(tasks)))
        busy = least_ends(tasks, here, (0.0,) * len(tasks), cores)
        for members, end in least_ends(tasks, here, problem.releases, cores).items():
            if end - origin <= model.makespan.ub + time_tolerance(end):
                lengths[g, members], ends[g, members] = busy[members], max(0.0, end - origin)
    model.holds = pyo.Var(list(lengths), bounds=(0.0, 1.0))
    of_node = {g: [members for h, members in lengths if h == g] for g in range(len(problem.classes))}
    held = {
        (j, g): pyo.quicksum(model.holds[g, members] for members in of_node[g] if members >> j & 1)
        for j, g in durations
    }
    model.one_set = pyo.Constraint(
        list(of_node), rule=lambda m, g: pyo.quicksum(m.holds[g, members] for members in of_node[g]) == 1
    )
    model.set_of_jobs = pyo.Constraint(
        list(held),
        rule=lambda m, j, g: pyo.quicksum(m.y[j, g, k] for h, k in m.blocks if h == g) == held[j, g],
    )
    model.busy_by_set = pyo.Constraint(
        list(of_node),
        rule=lambda m, g: (
            pyo.quicksum(lengths[g, members] * m.holds[g, members] for members in of_node[g])
            <= pyo.quicksum(m.end[h, k] - m.begin[h, k] for h, k in m.blocks if h == g)
        ),
    )
    model.makespan_by_set = pyo.Constraint(
        list(of_node),
        rule=lambda m, g: pyo.quicksum(ends[g, members] * m.holds[g, members] for members in of_node[g]) <= m.makespan,
    )


def _add_order_of_equals(model: pyo.ConcreteModel) -> None:
    """Add (B9): of equal nodes, the one that holds the earliest job of the list comes first."""
    problem: Problem = model.problem
    held: dict[tuple[int, int], list[pyo.Var]] = {}
    for (j, g, _), y in model.y.items():
        held.setdefault((j, g), []).append(y)
    rows = [(before, g, j) for before, g in equal_pairs(problem) for j in model.J if (j, g) in held]
    model.equals_in_order = pyo.Constraint(
        rows,
        rule=lambda _, before, g, j: (
            pyo.quicksum(held[j, g]) <= pyo.quicksum(y for i in range(j + 1) for y in held.get((i, before), []))
        ),
    )


def _add_objective(model: pyo.ConcreteModel, costs: Costs, objective: str) -> None:
    """Add (B1) with (B10), or the makespan."""
    problem: Problem = model.problem
    # (B10) no node is busy for longer than the makespan
    model.busy_within_makespan = pyo.Constraint(
        range(len(problem.classes)),
        rule=lambda m, g: pyo.quicksum(m.end[h, k] - m.begin[h, k] for h, k in m.blocks if h == g) <= m.makespan,
    )
    if objective == "makespan":
        model.objective = pyo.Objective(expr=1.0 * model.makespan)
        return
    configurations = {
        (j, c.allocation.index(problem.jobs[j].tasks)): c for j in model.J for c in problem.configurations[j]
    }
    own = pyo.quicksum(costs.joules(configurations[j, g]) * y for (j, g, _), y in model.y.items())
    busy = pyo.quicksum(
        costs.extra_watts[g] * (model.end[g, k] - model.begin[g, k]) for g, k in model.blocks if g in costs.extra_watts
    )
    model.objective = pyo.Objective(expr=own + busy + costs.idle * model.makespan)


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of the variables.

    Assignment and order are those of the binaries. Starts are the solver's, moved later by its tolerance where a
    job would else overlap, and onto the instant that they mean where that is within ``SNAP`` of the last instant.
    """
    problem: Problem = model.problem
    node_of = {j: g for j, g, _ in chosen(model.y)}
    configuration = {
        (j, c.allocation.index(problem.jobs[j].tasks)): c for j in model.J for c in problem.configurations[j]
    }
    ordered = set(chosen(model.before))
    placed: list[Assignment] = []
    latest = problem.instance.origin + model.makespan.ub
    for j in sorted(model.J, key=lambda j: (model.start[j].value, j)):
        here = [a for a in placed if node_of[a.job] == node_of[j]]
        earliest = max([problem.releases[j], *(a.end for a in here if (a.job, j) in ordered)])
        choice = configuration[j, node_of[j]]
        start = _snapped(model.start[j].value, earliest, choice.duration, here, SNAP * max(latest, problem.releases[j]))
        placed.append(Assignment(j, max(earliest, min(start, latest - choice.duration)), choice))
    return schedule_of(problem, placed)


def _snapped(start: float, earliest: float, duration: float, others: Sequence[Assignment], tolerance: float) -> float:
    """Return the instant from ``earliest`` on that a start means: aligned with one of the others, or as it is."""
    aligned = [t for a in others for t in (a.start, a.end, a.start - duration, a.end - duration)]
    near = [t for t in (earliest, *aligned) if t >= earliest and abs(t - start) <= tolerance]
    return max(earliest, start) if not near else min(near, key=lambda t: abs(t - start))
