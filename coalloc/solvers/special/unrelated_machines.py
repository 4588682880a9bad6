"""Unrelated machines: jobs of one task, each for itself, that take other times on other nodes (R||Cmax).

Where nothing is shared and all jobs are there at once, only which node each has counts. The LP of the assignment is a
bound; its solution leaves fewer jobs open than there are machines, and rounded, then improved by moves and swaps, it
is a schedule near it. An iterated local search lowers it. The same model in whole numbers closes what is left
(:mod:`coalloc.models.assignment`), without pairs that no better schedule has.

Such pairs: let ``weights`` w >= 0 of the machines sum to 1, and job j take d[j, i] on machine i. The last end T is no
less than any load, so T >= sum_i w[i] load[i] = sum_j w[i(j)] d[j, i(j)] >= V with V = sum_j min_i w[i] d[j, i]. With
job j on machine i it is at least V + w[i] d[j, i] - min_k w[k] d[j, k]; where this exceeds U, no schedule that ends
by U has the pair. Any weights prove it, so errors of the LP do no harm; its dual prices make V its optimum.
There is no clause of a certificate: a schedule is refuted by branching of HiGHS, which leaves no proof behind.

Derivation: docs/mathematics/searches.md, "Unrelated machines". Sources: J. K. Lenstra, D. B. Shmoys, E. Tardos,
"Approximation algorithms for scheduling unrelated parallel machines", Mathematical Programming 46 (1990); H. R.
Lourenço, O. C. Martin, T. Stützle, "Iterated local search", Handbook of Metaheuristics (2003).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import engine
from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.models import assignment
from coalloc.models.assignment import Floats
from coalloc.problem import Assignment, Problem
from coalloc.rules.tuning import BRIEF, FEW_JOBS, LISTED, MOST
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.bounds.safe_side import rounded
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, once
from coalloc.solvers.result import SolveStatus
from coalloc.solvers.traits import Trait

PAIRS_SEEN = 10_000_000
"""Pairs of jobs after which a local search ends, about a tenth of a second; the next one begins from the best."""
PATIENCE = 100
"""Searches without a better schedule after which the last ones end; the first ones end with one."""
NEAREST = 4
"""Machines, by reduced cost, to which it moves a job."""
MAX_SHARPENED = 5
"""Times that the LP is solved again without machines on which a job alone ends later than the last bound."""


Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Machines:
    """Run times of jobs on machines, ticks, shape ``(num_jobs, num_machines)``; machine i is a processor of a class."""

    times: Floats
    classes: tuple[int, ...]
    release: float


def machines_of(problem: Problem) -> Machines | None:
    """Return what a problem is if only the machine of each job counts, and not all are alike, else None."""
    single = len(problem.jobs) > FEW_JOBS and all(job.tasks == 1 and not job.shapes for job in problem.jobs)
    if not (single and sum(problem.capacities) * len(problem.jobs) <= LISTED):
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
    classes = tuple(g for g, capacity in enumerate(problem.capacities) for _ in range(capacity))
    times = np.full((len(problem.jobs), len(problem.classes)), math.inf)
    for j, levels in enumerate(problem.levels):
        for level in reversed(levels):  # a faster level has fewer classes
            times[j, list(level.classes)] = level.duration
    return Machines(times[:, list(classes)], classes, problem.releases[0]) if times.min() > 0.0 else None


class Relaxation(NamedTuple):
    """Optimum of the LP, the share of each job on each machine, and the dual price of each machine (sum 1)."""

    value: float
    shares: Floats
    weights: Floats


def relaxed(times: Floats, most: float, deadline: float) -> Relaxation | None:
    """Return the optimum of the LP on machines on which jobs end by an instant.

    Infinity where a job has none; None where it is not solved by the deadline, of ``time.perf_counter()``.
    """
    pairs = assignment.pairs_within(times, most)
    num_jobs, num_machines = times.shape
    if len({j for j, _ in pairs}) < num_jobs:
        return Relaxation(math.inf, np.zeros_like(times), np.full(num_machines, 1.0 / num_machines))
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
    prices = np.maximum(-solution.duals[num_jobs:], 0.0)
    return Relaxation(solution.value, shares, prices / prices.sum())


def reduced_costs(times: Floats, weights: Floats) -> tuple[float, Floats]:
    """Return a bound on the last end, ticks, and by how much more it is with each job on each machine."""
    weighted = np.full_like(times, math.inf)
    np.multiply(times, weights, out=weighted, where=np.isfinite(times))
    least = weighted.min(axis=1)
    return float(least.sum()), weighted - least[:, None]


def improved(times: Floats, machine_of: Numbers, deadline: float = math.inf) -> Numbers:
    """Return an assignment after moves and swaps of jobs of the machine that works longest, as long as one helps.

    They end at the deadline, of ``time.perf_counter()``.
    """
    return _search(times, machine_of, machine_of[:, None], -math.inf, (0, 0, deadline - time.perf_counter()))


def searched(
    times: Floats,
    machine_of: Numbers,
    nearest: Floats,
    least: float,
    *,
    attempts: int,
    patience: int,
    seed: int,
    deadline: float,
) -> Numbers:
    """Return the best assignment of searches that move jobs to machines of least ``nearest``, each from the last best.

    They end after ``patience`` of them, of so many attempts, find no better, at a load of ``least``, ticks, and at the
    deadline, of ``time.perf_counter()``.
    """
    order = np.argsort(nearest, axis=1, kind="stable")[:, :NEAREST]
    choices = np.minimum(np.isfinite(nearest).sum(axis=1), NEAREST)
    near = np.take_along_axis(order, np.arange(order.shape[1]) % choices[:, None], axis=1)
    best, longest, failed = machine_of, _longest(times, machine_of), 0
    while failed < patience and longest > least and (left := deadline - time.perf_counter()) > 0:
        found = _search(times, best, near, least, (attempts, seed, left))
        failed = 0 if _longest(times, found) < longest else failed + 1
        best, longest, seed = found, _longest(times, found), seed + 1
    return best


def _longest(times: Floats, machine_of: Numbers) -> float:
    """Return the load of the machine that works longest."""
    return float(np.bincount(machine_of, times[np.arange(len(times)), machine_of]).max())


def _search(times: Floats, machine_of: Numbers, near: Numbers, least: float, limits: tuple[int, int, float]) -> Numbers:
    """Return what a search of the engine makes of an assignment; the limits are attempts, seed and seconds."""
    found, sizes = machine_of.astype(np.int64), (*times.shape, near.shape[1])
    arrays = np.ascontiguousarray(times).ravel(), np.ascontiguousarray(near, dtype=np.int64).ravel()
    engine().machine_swaps_search(*sizes, *arrays, found, least, *limits)
    return found


def _assignments(problem: Problem, machines: Machines, machine_of: Sequence[int] | Numbers) -> list[Assignment]:
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
    """Bound by the LP, round it, search near it, and close what is left in whole numbers."""
    problem = incumbent.problem
    machines = machines_of(problem)
    assert machines is not None
    incumbent.keep(machines)
    times, release = machines.times, machines.release
    solved = relaxed(times, incumbent.cost - release, incumbent.deadline)
    preferred = -times if solved is None else np.where(np.isfinite(times), solved.shares, -1.0)
    rounding = improved(times, preferred.argmax(axis=1).astype(np.int64), incumbent.deadline)
    incumbent.take(_assignments(problem, machines, rounding), METHOD.name)
    if solved is None or math.isinf(solved.value):
        return
    weights = solved.weights
    least = rounded(problem, release + solved.value) - release
    incumbent.prove(min(incumbent.cost, release + least), METHOD.name)
    for _ in range(MAX_SHARPENED):
        solved = None if incumbent.is_closed else relaxed(times, least, incumbent.deadline)
        if solved is None or solved.value <= least * (1.0 + RELATIVE_TOLERANCE):
            break
        least = _next_end(problem, times, least, solved.value)
        incumbent.prove(min(incumbent.cost, release + least), METHOD.name)
    if not incumbent.is_closed:
        value, extra = reduced_costs(times, weights)
        found = _search_on(incumbent, machines, rounding, extra, share=BRIEF)
        if not incumbent.is_closed:
            found = _close(incumbent, machines, found, (least, value + extra))
        if not incumbent.is_closed:
            _search_on(incumbent, machines, found, extra, patience=PATIENCE)


def _search_on(
    incumbent: Incumbent, machines: Machines, found: Numbers, extra: Floats, *, share: float = 1.0, patience: int = 1
) -> Numbers:
    """Search from an assignment for a share of the time left; take and return the best."""
    times, options = machines.times, incumbent.state.options
    best = searched(
        times,
        found,
        extra,
        incumbent.proven - machines.release,
        attempts=incumbent.limited(max(1, PAIRS_SEEN * times.shape[1] // len(times) ** 2)),
        patience=patience,
        seed=options.seed + patience - 1,
        deadline=time.perf_counter() + share * incumbent.time_left,
    )
    incumbent.take(_assignments(incumbent.problem, machines, best), METHOD.name)
    return best


def _next_end(problem: Problem, times: Floats, least: float, value: float) -> float:
    """Return a bound where no schedule ends by one, ticks: up to the next time of a job the LP is that of ``value``."""
    after = float(times[times > least].min(initial=math.inf))
    if problem.slot is not None:
        return max(least + 1, min(after, rounded(problem, value)))
    return min(after, value * (1.0 - RELATIVE_TOLERANCE))


def _of_interest(incumbent: Incumbent) -> float:
    """Return the latest end that is better than the best, ticks; in continuous time that of the best."""
    return incumbent.cost - 1 if incumbent.problem.slot is not None else incumbent.cost


def _close(incumbent: Incumbent, machines: Machines, found: Numbers, bounds: tuple[float, Floats]) -> Numbers:
    """Solve the model in whole numbers for what is better than the best; its bound, its schedule, or that none is.

    ``bounds`` are those on the last end, and on that with each job on each machine, ticks. Returns the best assignment.
    """
    problem, release, (least, with_pair) = incumbent.problem, machines.release, bounds
    most = _of_interest(incumbent) - release
    times = np.where(with_pair * (1.0 - RELATIVE_TOLERANCE) <= most, machines.times, math.inf)
    if least > most or len({j for j, _ in assignment.pairs_within(times, most)}) < len(problem.jobs):
        incumbent.prove(incumbent.cost, METHOD.name)
        return found
    model = assignment.build(times, least, most)
    options = incumbent.state.options
    left = MOST * incumbent.time_left
    limits = SolverLimits(time=left, work=options.work_limit, threads=options.threads, seed=options.seed)
    solution = incumbent.run_model(model, limits, integral=problem.slot is not None, start=False, progress=None)
    if solution.stopped_by == "interrupt":
        incumbent.state.stopped_by = "interrupt"
        raise KeyboardInterrupt
    if solution.status is SolveStatus.INFEASIBLE:
        incumbent.prove(incumbent.cost, METHOD.name)
        return found
    if solution.lower_bound is not None:
        bound = min(incumbent.cost, rounded(problem, release + solution.lower_bound))
        incumbent.prove(bound, METHOD.name)
    if solution.objective is not None:
        found = np.array(assignment.extract(model, len(problem.jobs)), dtype=np.int64)
        found = improved(machines.times, found, incumbent.deadline)
        incumbent.take(_assignments(problem, machines, found), METHOD.name)
    return found


METHOD = Method(
    "assignment",
    _run,
    Trait.MAKESPAN | Trait.UNTIED,
    lambda incumbent: machines_of(incumbent.problem) is not None,
    shares=once(MOST),
    stage="solve",
    proves=Trait.NONE,
)
