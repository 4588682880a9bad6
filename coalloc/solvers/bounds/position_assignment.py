"""Jobs of one task that are all there at once: the least sum of their costs, exactly, by positions on processors.

A job after which ``after`` others come on its processor delays each of them by its duration there. So where costs rise
by the same ``slope`` a tick for every job, it adds ``after * slope`` durations to what it costs at its release, and
jobs assigned to positions at least cost are a schedule of least cost. Where the durations of all jobs are in the same
proportions, the longest job has the position at which a tick costs least. Derivation:
docs/mathematics/bounds-on-costs.md, "Positions". Sources: W. Horn, "Minimizing average flow time with parallel
machines", Operations Research 21 (1973); J. Bruno, E. Coffman, R. Sethi, "Scheduling independent tasks to reduce mean
finishing time", Communications of the ACM 17 (1974).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem
from coalloc.rules.tuning import ENTRIES
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAME_PROPORTION = 1e-12
"""Share by which durations may differ from being in proportion, for the digits of their arithmetic."""


@dataclass(frozen=True, slots=True)
class Positions:
    """The least sum of costs, and which position each job has: a class, and how many jobs come after it there."""

    cost: float
    classes: Ints
    after: Ints


def positions(criterion: Criterion) -> Positions | None:
    """Return the best positions; None where jobs have several tasks, releases or slopes, or are too many to compare."""
    problem = criterion.problem
    if not criterion.is_sum or not problem.jobs or problem.busy or not _have_one_task(problem):
        return None
    if not problem.has_equal_releases or any(0 in problem.allocations.rooms(job) for job in problem.jobs):
        return None
    durations, least, slopes = _by_class(criterion)
    if len(slopes) != 1 or not math.isfinite(float(least.sum())):
        return None
    capacities = np.array(problem.capacities, dtype=np.int64)
    chosen = _in_proportion(durations, least, slopes[0], capacities)
    if chosen is None:
        chosen = _assigned(durations, least, slopes[0], capacities)
    if chosen is None:
        return None
    classes, after = chosen
    jobs = np.arange(len(classes))
    return Positions(float((least + slopes[0] * after[:, None] * durations)[jobs, classes].sum()), classes, after)


def _by_class(criterion: Criterion) -> tuple[Floats, Floats, list[float]]:
    """Return durations and costs at the release on a processor of each class, and the distinct slopes of all ramps.

    Shapes ``(num_jobs, num_classes)``. Without slopes where some cost is no ramp, or has a floor.
    """
    problem = criterion.problem
    units = np.eye(len(problem.classes), dtype=np.int64).tolist()
    durations = np.array([[problem.allocations.mode(job, unit).duration for unit in units] for job in problem.jobs])
    least, slopes = np.empty(durations.shape), set[float]()
    for j, row in enumerate(durations.tolist()):
        for g, duration in enumerate(row):
            ramp = criterion.ramp(j, duration)
            if ramp is None or math.isfinite(ramp.floor):
                return durations, least, []
            least[j, g] = ramp.slope * problem.releases[j] + ramp.intercept
            slopes.add(ramp.slope)
    return durations, least, sorted(slopes)


def _in_proportion(durations: Floats, least: Floats, slope: float, capacities: Ints) -> tuple[Ints, Ints] | None:
    """Return class and jobs after of each job where all durations are in the same proportions, else None."""
    longest = int(durations[:, 0].argmax())
    if durations[longest, 0] <= 0.0:
        return None
    factors = durations[longest] / durations[longest, 0]
    slowest = int(factors.argmax())
    spread = float(durations[longest, slowest] - durations[longest, 0])
    share = float(least[longest, slowest] - least[longest, 0]) / spread if spread > 0.0 else 0.0
    is_scaled = np.abs(durations - durations[:, :1] * factors) <= SAME_PROPORTION * durations
    own = least[:, :1] + share * (durations - durations[:, :1])
    if not is_scaled.all() or (np.abs(least - own) > SAME_PROPORTION * np.maximum(np.abs(least), durations)).any():
        return None
    classes, after = _listed(len(durations), capacities)
    order = np.argsort((share + slope * after) * factors[classes], kind="stable")[: len(durations)]
    jobs = np.argsort(-durations[:, 0], kind="stable")
    found = np.empty((2, len(durations)), dtype=np.int64)
    found[:, jobs] = classes[order], after[order]
    return found[0], found[1]


def _assigned(durations: Floats, least: Floats, slope: float, capacities: Ints) -> tuple[Ints, Ints] | None:
    """Return class and jobs after of each job at least cost; None where there is too much to compare."""
    from scipy.optimize import linear_sum_assignment

    classes, after = _listed(len(durations), capacities)
    if len(durations) * len(classes) > ENTRIES:
        return None
    _, chosen = linear_sum_assignment(least[:, classes] + slope * after * durations[:, classes])
    return classes[chosen], after[chosen]


def _listed(num_jobs: int, capacities: Ints) -> tuple[Ints, Ints]:
    """Return class and jobs after of as many positions of each class as there are jobs, or one more round."""
    rounds = -(-num_jobs // capacities)
    classes = np.repeat(np.arange(len(capacities)), rounds * capacities)
    after = np.concatenate(
        [np.repeat(np.arange(r), c) for r, c in zip(rounds.tolist(), capacities.tolist(), strict=True)]
    )
    return classes, after


def assignments_at(problem: Problem, found: Positions) -> Iterator[Assignment]:
    """Yield the jobs at their positions, each processor one after another, the one with most after it first."""
    clocks = [[problem.releases[0]] * capacity for capacity in problem.capacities]
    used: dict[tuple[int, int], int] = {}
    units = np.eye(len(problem.classes), dtype=np.int64).tolist()
    for j in np.argsort(-found.after, kind="stable").tolist():
        g, after = int(found.classes[j]), int(found.after[j])
        processor = used.setdefault((g, after), 0)
        used[g, after] += 1
        mode = problem.allocations.mode(problem.jobs[j], units[g])
        yield Assignment(j, clocks[g][processor], mode)
        clocks[g][processor] += mode.duration


def _run(incumbent: Incumbent) -> None:
    """Prove the best positions, and take their schedule where nothing else restricts it."""
    found = positions(incumbent.criterion)
    if found is not None:
        incumbent.prove(safe_cost(incumbent.criterion, found), METHOD.name)
        incumbent.take_if_valid(list(assignments_at(incumbent.problem, found)), METHOD.name)


def safe_cost(criterion: Criterion, found: Positions) -> float:
    """Return the least sum of costs without what its arithmetic may be off; a whole number where costs are whole."""
    return float(round(found.cost)) if criterion.is_integral else found.cost - RELATIVE_TOLERANCE * abs(found.cost)


def _have_one_task(problem: Problem) -> bool:
    return all(job.tasks == 1 and not job.shapes for job in problem.jobs)


METHOD = Method(
    "position assignment", _run, Trait.SUM, lambda incumbent: _have_one_task(incumbent.problem), stage="bound"
)
