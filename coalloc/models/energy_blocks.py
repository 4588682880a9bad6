"""OAS for energy in continuous time, jobs within nodes: each node is busy in a few blocks of time.

Every job is in one block of one node, within ``[begin, end)`` of that block, and blocks of a node follow each
other; a node draws its static watts in its blocks. Which jobs precede which is decided by pairs: jobs whose
tasks exceed the cores of a node together may not all overlap in pairs, and intervals that overlap in pairs
share an instant. Equations: (B1) to (B11) of docs/mathematics/energy.md. Source: the meter of PCBE, section 2.2; the
pairs and forbidden sets follow M. Bartusch et al., "Scheduling project networks with resource constraints and time
windows", Annals of Operations Research 16 (1988).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyomo.environ as pyo

from coalloc.models.energy_costs import ClassWatts, costs_of, equal_pairs, unit_of
from coalloc.models.energy_running import (
    add_running,
    busy_by_running,
    cores_until,
    last_end,
    least_makespan,
    running_watts,
)
from coalloc.models.energy_sets import add_sets
from coalloc.models.energy_sets import estimate_nonzeros as estimate_nonzeros_of_sets
from coalloc.models.time_slots import chosen
from coalloc.problem import Assignment, Mode, Problem
from coalloc.schedule import Schedule, schedule_of

Item = int | str
"""A job by index, or a running job by a name that is no index."""

SNAP = 3e-6
"""Share of the last instant within which a start of the solver is taken for the instant that it means."""


def build(
    problem: Problem, *, horizon: float, makespan_limit: float | None = None, blocks: int | None = None
) -> pyo.ConcreteModel:
    """Return the model, J; jobs end by ``horizon`` (s).

    The problem is in continuous time with scope ``node``; ``makespan_limit`` is in s. Each node has so many ``blocks``,
    by default as many as an optimal schedule can need. Times of the model count from the origin of the instance, in
    ``model.unit`` s.
    """
    model = pyo.ConcreteModel("OAS energy blocks")
    model.problem = problem
    latest = max(0.0, horizon - problem.instance.origin)
    model.unit = unit_of(latest)
    most = latest if makespan_limit is None else min(latest, makespan_limit)
    least = min(least_makespan(problem), most)
    model.makespan = pyo.Var(bounds=(least / model.unit, most / model.unit))
    add_running(model, least / model.unit, most / model.unit)
    last = max([latest, *(busy.end for busy in problem.busy)]) / model.unit
    _add_blocks(model, last, num_blocks(problem) if blocks is None else blocks)
    _add_order(model, latest / model.unit)
    _add_order_of_equals(model)
    busy_after = _busy_after(model)
    _add_objective(model, costs_of(problem), busy_after)
    add_sets(model, _held(model), busy_after, most)
    return model


def num_blocks(problem: Problem) -> int:
    """Return how many blocks a node can need.

    A block after a gap holds a job that arrived after the block before it had ended, or it would move left:
    so blocks need arrivals that are further apart than the shortest job takes. Jobs that run already are in a
    first block that may end at any time.
    """
    if not problem.jobs:
        return 0
    shortest = min(c.duration for modes in problem.modes for c in modes)
    blocks, last = 1, -shortest if problem.busy else min(problem.releases)
    for release in sorted(problem.releases):
        if release > last + shortest:
            blocks, last = blocks + 1, release
    return min(blocks, most_blocks(problem))


def most_blocks(problem: Problem) -> int:
    """Return how many blocks a node has if each of its jobs is in one of its own."""
    return len(problem.jobs) + bool(problem.busy)


def _modes(problem: Problem) -> dict[tuple[int, int], Mode]:
    """Return the mode of each job (by index) on each node that can hold it."""
    return {(j, c.allocation.index(problem.jobs[j].tasks)): c for j, modes in enumerate(problem.modes) for c in modes}


def _places(model: pyo.ConcreteModel) -> dict[tuple[int, int], float]:
    """Return the durations (units) of each job (by index) on each node that can hold it."""
    return {place: c.duration / model.unit for place, c in _modes(model.problem).items()}


def _add_blocks(model: pyo.ConcreteModel, latest: float, blocks: int) -> None:
    """Add the blocks with (B2), (B3), (B4), (B5), (B6) and (B11); ``latest`` is the last instant, in units.

    The first block of a node on which jobs run already begins at 0 and ends with the last of these, or later.
    """
    problem: Problem = model.problem
    durations = _places(model)
    releases = [(release - problem.instance.origin) / model.unit for release in problem.releases]
    running = [last_end(problem, g) / model.unit for g in range(len(problem.classes))]
    model.J = pyo.RangeSet(0, len(problem.jobs) - 1)
    model.blocks = pyo.Set(initialize=[(g, k) for g in range(len(problem.classes)) for k in range(blocks)])
    model.y = pyo.Var([(j, g, k) for j, g in durations for h, k in model.blocks if h == g], domain=pyo.Binary)
    model.begin = pyo.Var(model.blocks, bounds=lambda _, g, k: (0.0, 0.0 if running[g] and k == 0 else latest))
    model.end = pyo.Var(model.blocks, bounds=lambda _, g, __: (running[g], latest))
    model.start = pyo.Var(model.J, bounds=lambda _, j: (releases[j], max(latest, releases[j])))
    in_blocks: dict[int, list[tuple[float, pyo.Var]]] = {j: [] for j in model.J}
    for (j, g, _), y in model.y.items():
        in_blocks[j].append((durations[j, g], y))
    model.duration = pyo.Expression(model.J, rule=lambda _, j: pyo.quicksum(d * y for d, y in in_blocks[j]))
    model.one_block = pyo.Constraint(model.J, rule=lambda _, j: pyo.quicksum(y for _, y in in_blocks[j]) == 1)
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
    work: dict[tuple[int, int], list[Any]] = {block: [] for block in model.blocks}
    for (j, g, k), y in model.y.items():
        work[g, k].append(problem.jobs[j].tasks * durations[j, g] * y)
    model.area = pyo.Constraint(model.blocks, rule=lambda m, g, k: _area(m, work[g, k], g, k))
    model.longest = pyo.Constraint(
        list(model.y), rule=lambda m, j, g, k: durations[j, g] * m.y[j, g, k] <= m.end[g, k] - m.begin[g, k]
    )
    model.within_makespan = pyo.Constraint(model.J, rule=lambda m, j: m.start[j] + m.duration[j] <= m.makespan)


def _area(model: pyo.ConcreteModel, work: Sequence[Any], g: int, k: int) -> object:
    """Return (B6): the core-seconds in a block, a term for each job that may be there, fit into it."""
    problem: Problem = model.problem
    held = sum(cores_until(problem, g)) / model.unit if k == 0 else 0.0
    return held + pyo.quicksum(work) <= problem.capacities[g] * (model.end[g, k] - model.begin[g, k])


def _add_order(model: pyo.ConcreteModel, latest: float) -> None:
    """Add who precedes whom, with (B7) and (B8); no job precedes one that runs already."""
    problem: Problem = model.problem
    sets = {g: list(forbidden_sets(problem, g)) for g in range(len(problem.classes))}
    blocks = {g: [k for h, k in model.blocks if h == g] for g in sets}
    running = {f"running {r}": busy.end / model.unit for r, busy in enumerate(problem.busy)}
    pairs = dict.fromkeys(pair for found in sets.values() for s in found for pair in _pairs(s))
    model.before = pyo.Var(list(pairs), domain=pyo.Binary)

    def precedes(m: pyo.ConcreteModel, i: Item, j: int) -> object:
        if isinstance(i, str):
            return running[i] * m.before[i, j] <= m.start[j]
        return m.start[i] + m.duration[i] <= m.start[j] + latest * (1 - m.before[i, j])

    def separate(m: pyo.ConcreteModel, g: int, s: int) -> object:
        items = sets[g][s]
        jobs = [j for j in items if not isinstance(j, str)]
        here = pyo.quicksum(m.y[j, g, k] for j in jobs for k in blocks[g])
        return pyo.quicksum(m.before[pair] for pair in _pairs(items)) >= here - (len(jobs) - 1)

    model.precedes = pyo.Constraint(list(pairs), rule=precedes)
    model.not_both = pyo.Constraint(
        [(i, j) for i, j in pairs if not isinstance(i, str) and i < j],
        rule=lambda m, i, j: m.before[i, j] + m.before[j, i] <= 1,
    )
    model.not_together = pyo.Constraint([(g, s) for g in sets for s in range(len(sets[g]))], rule=separate)


def _pairs(items: Sequence[Item]) -> Iterator[tuple[Item, int]]:
    """Yield (item, job) where the item may have to end before the job starts."""
    for i, j in itertools.permutations(items, 2):
        if not isinstance(j, str):
            yield i, j


def forbidden_sets(problem: Problem, g: int) -> Iterator[tuple[Item, ...]]:
    """Yield the minimal sets of jobs, new and running, that exceed a node together and fit on it one by one.

    They exceed its cores, or its memory: what running jobs do to that alone is no fault of theirs.
    """
    cores = problem.capacities[g]
    memory = next((k for k in problem.contended_memories if problem.resources[k].classes == (g,)), None)
    uses: dict[Item, tuple[int, float]] = {
        j: (sum(c.allocation), 0.0 if memory is None else c.loads[memory])
        for j, modes in enumerate(problem.modes)
        for c in modes
        if c.allocation[g]
    }
    uses |= {
        f"running {r}": (busy.allocation[g], 0.0 if memory is None else busy.loads[memory])
        for r, busy in enumerate(problem.busy)
        if busy.allocation[g]
    }
    megabytes = math.inf if memory is None else problem.allocations.limits[memory]

    def exceeds(items: Sequence[Item]) -> bool:
        asks = any(uses[i][1] for i in items if not isinstance(i, str))
        return sum(uses[i][0] for i in items) > cores or (asks and sum(uses[i][1] for i in items) > megabytes)

    largest_first = sorted(uses, key=lambda item: uses[item], reverse=True)  # then most that exceed are minimal
    yield from _minimal((), tuple(largest_first), exceeds)


def _minimal(
    fitting: tuple[Item, ...], others: tuple[Item, ...], exceeds: Callable[[Sequence[Item]], bool]
) -> Iterator[tuple[Item, ...]]:
    """Yield the minimal sets that exceed a node, made of all of some items that fit and of others, in this order."""
    for n, item in enumerate(others):
        if not exceeds((*fitting, *others[n:])):
            return
        grown = (*fitting, item)
        if not exceeds(grown):
            yield from _minimal(grown, others[n + 1 :], exceeds)
        elif not any(exceeds(grown[:i] + grown[i + 1 :]) for i in range(len(fitting))):
            yield grown


def estimate_nonzeros(problem: Problem, most: float, blocks: int | None = None) -> int:
    """Return roughly how many nonzeros the model will have, at least where that is more than ``most``.

    Sets that exceed a node are counted one by one, and no further than that.
    """
    blocks = num_blocks(problem) if blocks is None else blocks
    terms = [blocks * len(modes) for modes in problem.modes]  # of the duration of each job
    total = estimate_nonzeros_of_sets(problem) + sum(count * (3 * count + 20) for count in terms)
    pairs: set[tuple[Item, int]] = set()
    for g in range(len(problem.classes)):
        for items in forbidden_sets(problem, g):
            new = {*_pairs(items)} - pairs
            pairs |= new
            total += len(items) * (len(items) + blocks) + sum(terms[j] + 5 for _, j in new)
            if total > most:
                return total
    return total


def _held(model: pyo.ConcreteModel) -> dict[tuple[int, int], Any]:
    """Return whether each job is on each node."""
    held: dict[tuple[int, int], list[pyo.Var]] = {}
    for (j, g, _), y in model.y.items():
        held.setdefault((j, g), []).append(y)
    return {key: pyo.quicksum(blocks) for key, blocks in held.items()}


def _add_order_of_equals(model: pyo.ConcreteModel) -> None:
    """Add (B9): of equal nodes, the one that holds the earliest job of the list comes first."""
    held = _held(model)
    rows = [(before, g, j) for before, g in equal_pairs(model.problem) for j in model.J if (j, g) in held]
    model.equals_in_order = pyo.Constraint(
        rows,
        rule=lambda _, before, g, j: (
            held[j, g] <= pyo.quicksum(held[i, before] for i in range(j + 1) if (i, before) in held)
        ),
    )


def _busy_after(model: pyo.ConcreteModel) -> dict[int, Any]:
    """Return for how long each node is busy after its running jobs, in units."""
    busy = {g: -last_end(model.problem, g) / model.unit for g in range(len(model.problem.classes))}
    for g, k in model.blocks:
        busy[g] += model.end[g, k] - model.begin[g, k]
    return busy


def _add_objective(model: pyo.ConcreteModel, costs: ClassWatts, busy_after: Mapping[int, Any]) -> None:
    """Add (B1) with (B10)."""
    problem: Problem = model.problem
    busy = {g: busy_by_running(model, g) + after for g, after in busy_after.items()}
    # (B10) no node is busy for longer than the makespan
    model.busy_within_makespan = pyo.Constraint(list(busy), rule=lambda m, g: busy[g] <= m.makespan)
    modes = _modes(problem)
    own = pyo.quicksum(costs.joules(modes[j, g]) * y for (j, g, _), y in model.y.items())
    extra = pyo.quicksum(watts * busy[g] for g, watts in costs.extra_watts.items())
    drawn = extra + running_watts(model, costs) + costs.idle * model.makespan
    model.objective = pyo.Objective(expr=own + model.unit * drawn)


def extract(model: pyo.ConcreteModel) -> Schedule:
    """Return the schedule of the values of the variables.

    Assignment and order are those of the binaries. Starts are the solver's, moved later by its tolerance where a
    job would else overlap, and onto the instant that they mean where that is within ``SNAP`` of the last instant.
    """
    problem: Problem = model.problem
    node_of = {j: g for j, g, _ in chosen(model.y)}
    mode = _modes(problem)
    ordered = set(chosen(model.before))
    placed: list[Assignment] = []
    origin = problem.instance.origin
    latest = origin + model.makespan.ub * model.unit
    for j in sorted(model.J, key=lambda j: (model.start[j].value, j)):
        choice, node = mode[j, node_of[j]], node_of[j]
        here: list[tuple[Item, float, float]] = [(a.job, a.start, a.end) for a in placed if node_of[a.job] == node]
        here += [(f"running {r}", 0.0, busy.end) for r, busy in enumerate(problem.busy) if busy.allocation[node]]
        earliest = max([problem.releases[j], *(end for item, _, end in here if (item, j) in ordered)])
        instants = [t for _, *ends in here for t in ends]
        tolerance = SNAP * max(latest - origin, problem.releases[j] - origin)
        start = _snapped(origin + model.start[j].value * model.unit, earliest, choice.duration, instants, tolerance)
        placed.append(Assignment(j, max(earliest, min(start, latest - choice.duration)), choice))
    return schedule_of(problem, placed)


def _snapped(start: float, earliest: float, duration: float, instants: Sequence[float], tolerance: float) -> float:
    """Return what a start means: ``earliest``, an instant with which it or its end is aligned, or itself."""
    aligned = (t - part for t in instants for part in (0.0, duration))
    near = [t for t in (earliest, *aligned) if t >= earliest and abs(t - start) <= tolerance]
    return max(earliest, start) if not near else min(near, key=lambda t: abs(t - start))
