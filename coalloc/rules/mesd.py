"""MESD's two ideas: the allocation of a job in two steps, and which job of a queue is next.

Step 1 takes the fastest free nodes. Step 2 moves tasks of a co-allocated job from faster clusters, which
do not make it any faster, to the slowest cluster that it uses. Next is always the job that takes least
longer than it would on the empty platform. Links play no part. Source: thesis, section 3.3, Algorithms 2
and 3; errata 14 to 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc.allocation import Allocation, NodeClass
from coalloc.instance import Job
from coalloc.instance.rounding import time_tolerance
from coalloc.rules.allocation_rules import Choose, fastest_first, filled

Floats = NDArray[np.float64]
Slowdown = Literal["difference", "ratio"]
"""How much longer than on the empty platform: in seconds, or as a multiple."""

CHOSEN = np.iinfo(np.int64).max
"""Tasks that stand for a job which was chosen already: it fits nowhere."""


def fastest_order(classes: Sequence[NodeClass]) -> list[int]:
    """Return the classes by effective power, equal ones by cluster: the last one used is the slowest."""
    return sorted(range(len(classes)), key=fastest_first(classes, ()).__getitem__)


def mesd_allocation(classes: Sequence[NodeClass], second_step: bool = True) -> Choose:
    """Return MESD's allocation rule for these classes: a job and free processors (per class) to an allocation."""
    order = fastest_order(classes)

    def choose(job: Job, free: Sequence[int]) -> Allocation | None:
        counts = filled(job.tasks, free, order)
        return gathered(counts, free, classes, order) if counts is not None and second_step else counts

    return choose


def gathered(counts: Allocation, free: Sequence[int], classes: Sequence[NodeClass], order: Sequence[int]) -> Allocation:
    """Return an allocation after step 2: the fastest classes emptied first, into the slowest cluster used.

    That cluster takes tasks on free processors that are no slower than the slowest in use.
    """
    used = [g for g in order if counts[g]]
    if len(used) == 1:
        return counts
    cluster, power = classes[used[-1]].cluster, classes[used[-1]].effective_power
    targets = [g for g in order if classes[g].cluster == cluster and classes[g].effective_power >= power]
    moved = list(counts)
    for source in (g for g in used if classes[g].cluster != cluster):
        for target in targets:
            tasks = min(moved[source], free[target] - moved[target])
            moved[source] -= tasks
            moved[target] += tasks
    return tuple(moved)


class Choice:
    """Which of some jobs is next, as often as that is asked; each job is chosen once.

    The slowest class that step 1 uses depends on the number of tasks alone, and step 2 keeps it: all
    jobs are compared at once. ``jobs`` are in order of arrival, which decides between equal ones.
    """

    def __init__(self, jobs: Sequence[Job], classes: Sequence[NodeClass], slowdown: Slowdown = "difference") -> None:
        self._tasks = np.array([job.tasks for job in jobs], dtype=np.int64)
        self._base_times = np.array([job.base_time for job in jobs])
        self._shares = np.array([job.processing_share for job in jobs])
        self._order = fastest_order(classes)
        self._slowness = np.array([1.0 / classes[g].effective_power for g in self._order])
        self._is_ratio = slowdown == "ratio"
        self._ideal = self._execution_times([classes[g].capacity for g in self._order])

    def _execution_times(self, free: Sequence[int]) -> Floats:
        """Return Te of each job (s) on free processors of each class in order; any where it does not fit."""
        last_used = np.array([*accumulate(free[:-1])], dtype=int).searchsorted(self._tasks)
        times: Floats = self._base_times * (self._shares * self._slowness[last_used] + (1.0 - self._shares))
        return times

    def next(self, free: Sequence[int]) -> int | None:
        """Return the index of the job that is next on free processors (per class), None where none of them fits."""
        fits = self._tasks <= sum(free)
        if not fits.any():
            return None
        real = self._execution_times([free[g] for g in self._order])
        slowdowns = real / self._ideal if self._is_ratio else real - self._ideal
        slowdowns[~fits] = np.inf
        least = float(slowdowns.min())
        chosen = int((slowdowns <= least + time_tolerance(least)).argmax())
        self._tasks[chosen] = CHOSEN
        return chosen
