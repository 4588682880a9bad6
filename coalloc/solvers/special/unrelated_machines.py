"""Unrelated machines: jobs of one task, each for itself, that take other times on other nodes (R||Cmax).

Where nothing is shared and all jobs are there at once, only which node each has counts. The LP of the assignment is a
bound; its solution leaves fewer jobs open than there are machines, and rounded, then improved by moves and swaps, it
is a schedule near it. The same model in whole numbers closes what is left (:mod:`coalloc.models.assignment`).
Derivation: docs/mathematics/searches.md, "Unrelated machines". Source: J. K. Lenstra, D. B. Shmoys, E. Tardos,
"Approximation algorithms for scheduling unrelated parallel machines", Mathematical Programming 46 (1990).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.models import assignment
from coalloc.models.assignment import Floats
from coalloc.problem import Assignment, Problem
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.bounds.safe_side import rounded
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, once
from coalloc.solvers.result import SolveStatus
from coalloc.solvers.traits import Trait

SHARE = 0.8
"""Share of the remaining time of a portfolio after which it stops."""
FEW = 12
"""Jobs up to which branch and bound is faster."""
MAX_PAIRS = 200_000
"""Jobs times machines up to which it is tried."""
MAX_SHARPENED = 5
"""Times that the LP is solved again without machines on which a job alone ends later than the last bound."""


Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Machines:
    """What jobs take on machines, ticks, shape ``(num_jobs, num_machines)``; machine i is a processor of a class."""

    times: Floats
    classes: tuple[int, ...]
    release: float


def machines_of(problem: Problem) -> Machines | None:
    """Return what a problem is if only the machine of each job counts, and not all are alike, else None."""
    single = len(problem.jobs) > FEW and all(job.tasks == 1 and not job.shapes for job in problem.jobs)
    classes = tuple(g for g, capacity in enumerate(problem.capacities) for _ in range(capacity))
    if not (single and len(classes) * len(problem.jobs) <= MAX_PAIRS):
        return None
    if (
        problem.busy
        or problem.contended_resources
        or problem.allocations.restricts_spreads
        or not problem.has_equal_releases
    ):
        return None
    if problem.has_one_level_each:
        return None  # arc flow is for those
    times = np.full((len(problem.jobs), len(problem.classes)), math.inf)
    for j, levels in enumerate(problem.levels):
        for level in reversed(levels):  # a faster level has fewer classes
            times[j, list(level.classes)] = level.duration
    return Machines(times[:, list(classes)], classes, problem.releases[0]) if times.min() > 0.0 else None


def relaxed(times: Floats, most: float, deadline: float) -> tuple[float, Floats] | None:
    """Return the optimum of the LP on machines on which jobs end by an instant, and the share of each job on each.

    Infinity where a job has none; None where it is not solved by the deadline, of ``time.perf_counter()``.
    """
    pairs = assignment.pairs_within(times, most)
    num_jobs, num_machines = times.shape
    if len({j for j, _ in pairs}) < num_jobs:
        return math.inf, np.zeros_like(times)
    program = GrowingLp()
    for _ in range(num_jobs):
        program.add_row(1.0, 1.0)
    for _ in range(num_machines):
        program.add_row(-math.inf, 0.0)
    loads = [[(num_jobs + i, -1.0) for i in range(num_machines)]]
    costs = [1.0, *(0.0 for _ in pairs)]
    program.add_columns(costs, loads + [[(j, 1.0), (num_jobs + i, float(times[j, i]))] for j, i in pairs])
    solution = program.solve(deadline)
    if solution is None:
        return None
    shares = np.zeros_like(times)
    for (j, i), share in zip(pairs, solution.columns[1:].tolist(), strict=True):
        shares[j, i] = share
    return solution.value, shares


def improved(times: Floats, machine_of: Sequence[int]) -> list[int]:
    """Return an assignment after moves and swaps of jobs of the machine that works longest, as long as one helps."""
    found: Numbers = np.array(machine_of, dtype=np.intp)
    loads: Floats = np.bincount(found, times[np.arange(len(found)), found], minlength=times.shape[1]).astype(np.float64)
    while True:
        longest = int(loads.argmax())
        own = np.flatnonzero(found == longest)
        step = _best_swap(times, found, loads, own, longest)
        if step is None:
            return [int(i) for i in found]
        for j, i in step:
            loads[found[j]] -= times[j, found[j]]
            loads[i] += times[j, i]
            found[j] = i


def _best_swap(
    times: Floats, found: Numbers, loads: Floats, own: Numbers, longest: int
) -> list[tuple[int, int]] | None:
    """Return the move, or swap, of a job of the longest machine after which the two work least; None if none helps."""
    taken = times[own, longest]
    moved = np.maximum(loads[longest] - taken[:, None], loads[None, :] + times[own])
    moved[:, longest] = math.inf
    others = np.flatnonzero(found != longest)
    there = found[others]
    with np.errstate(invalid="ignore"):
        left = loads[longest] - taken[:, None] + times[others, longest][None, :]
        right = loads[there][None, :] - times[others, there][None, :] + times[np.ix_(own, there)]
        swapped = np.maximum(left, right)
    least_moved = float(moved.min(initial=math.inf))
    least_swapped = float(swapped.min(initial=math.inf))
    if min(least_moved, least_swapped) >= loads[longest] * (1.0 - 1e-12):
        return None
    if least_moved <= least_swapped:
        a, i = np.unravel_index(int(moved.argmin()), moved.shape)
        return [(int(own[a]), int(i))]
    a, b = np.unravel_index(int(swapped.argmin()), swapped.shape)
    return [(int(own[a]), int(there[b])), (int(others[b]), longest)]


def _assignments(problem: Problem, machines: Machines, machine_of: Sequence[int]) -> list[Assignment]:
    """Return the schedule of an assignment: the jobs of a machine one after the other."""
    ends = [machines.release] * len(machines.classes)
    found = []
    for j, i in enumerate(machine_of):
        allocation = tuple(int(g == machines.classes[i]) for g in range(len(problem.classes)))
        mode = problem.allocations.mode(problem.jobs[j], allocation)
        found.append(Assignment(j, ends[i], mode))
        ends[i] += mode.duration
    return found


def _run(incumbent: Incumbent) -> None:
    """Bound by the LP, round it, and close what is left in whole numbers."""
    problem = incumbent.problem
    machines = machines_of(problem)
    assert machines is not None
    incumbent.keep(machines)
    times, release = machines.times, machines.release
    solved = relaxed(times, incumbent.cost - release, incumbent.deadline)
    preferred = -times if solved is None else np.where(np.isfinite(times), solved[1], -1.0)
    rounding = improved(times, [int(i) for i in preferred.argmax(axis=1)])
    incumbent.take(_assignments(problem, machines, rounding), METHOD.name)
    if solved is None:
        return
    least = rounded(problem, release + solved[0]) - release
    incumbent.prove(min(incumbent.cost, release + least), METHOD.name)
    for _ in range(MAX_SHARPENED):
        solved = None if incumbent.is_closed else relaxed(times, least, incumbent.deadline)
        if solved is None or solved[0] <= least * (1.0 + RELATIVE_TOLERANCE):
            break
        least = _next_end(problem, times, least, solved[0])
        incumbent.prove(min(incumbent.cost, release + least), METHOD.name)
    if not incumbent.is_closed:
        _close(incumbent, machines, least)


def _next_end(problem: Problem, times: Floats, least: float, value: float) -> float:
    """Return a bound where no schedule ends by one, ticks: up to the next time of a job the LP is that of ``value``."""
    after = float(times[times > least].min(initial=math.inf))
    if problem.slot is not None:
        return max(least + 1, min(after, rounded(problem, value)))
    return min(after, value * (1.0 - RELATIVE_TOLERANCE))


def _of_interest(incumbent: Incumbent) -> float:
    """Return the latest end that is better than the best, ticks; in continuous time that of the best."""
    return incumbent.cost - 1 if incumbent.problem.slot is not None else incumbent.cost


def _close(incumbent: Incumbent, machines: Machines, least: float) -> None:
    """Solve the model in whole numbers for what is better than the best; its bound, its schedule, or that none is."""
    problem, release = incumbent.problem, machines.release
    most = _of_interest(incumbent) - release
    if len({j for j, _ in assignment.pairs_within(machines.times, most)}) < len(problem.jobs):
        incumbent.prove(incumbent.cost, METHOD.name)
        return
    model = assignment.build(machines.times, least, most)
    options = incumbent.state.options
    limits = SolverLimits(time=incumbent.time_left, work=options.work_limit, threads=options.threads, seed=options.seed)
    solution = incumbent.run_model(model, limits, integral=problem.slot is not None, start=False, progress=None)
    if solution.stopped_by == "interrupt":
        incumbent.state.stopped_by = "interrupt"
        raise KeyboardInterrupt
    if solution.status is SolveStatus.INFEASIBLE:
        incumbent.prove(incumbent.cost, METHOD.name)
        return
    if solution.lower_bound is not None:
        bound = min(incumbent.cost, rounded(problem, release + solution.lower_bound))
        incumbent.prove(bound, METHOD.name)
    if solution.objective is not None:
        machine_of = improved(machines.times, assignment.extract(model, len(problem.jobs)))
        incumbent.take(_assignments(problem, machines, machine_of), METHOD.name)


METHOD = Method(
    "assignment",
    _run,
    Trait.MAKESPAN | Trait.UNTIED,
    lambda incumbent: machines_of(incumbent.problem) is not None,
    shares=once(SHARE),
    stage="solve",
    proves=Trait.NONE,
)
