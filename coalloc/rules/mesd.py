"""MESD's allocation of a job in two steps, and its choice of the next job (:class:`coalloc.heuristics.mesd.Mesd`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.instance.rounding import time_tolerance
from coalloc.problem.allocation import Allocation, NodeClass
from coalloc.rules.allocation_rules import KNOWN_JOBS, Choose, classes_seen_by, fastest_first, filled
from coalloc.rules.capacity_vectors import Order

Floats = NDArray[np.float64]
Slowdown = Literal["difference", "ratio"]
"""Slowdown relative to the empty platform: in seconds, or as a multiple."""


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
    """Sequence in which jobs are chosen, each once.

    The slowest class that step 1 uses depends on the number of tasks alone, and step 2 keeps it: what each job
    loses by each class is known beforehand, and with the jobs by tasks those of one class stand side by side.
    ``jobs`` are in order of arrival, which decides between equal ones.
    """

    def __init__(self, jobs: Sequence[Job], classes: Sequence[NodeClass], slowdown: Slowdown = "difference") -> None:
        tasks = np.array([job.tasks for job in jobs], dtype=np.int64)
        self._numbers = tasks.argsort(kind="stable")
        self._tasks = tasks[self._numbers]
        base_times = np.array([job.base_time for job in jobs])[self._numbers]
        shares = np.array([job.processing_share for job in jobs])[self._numbers]
        self._order = fastest_order(classes)
        slowness = np.array([[1.0 / classes[g].effective_power] for g in self._order])
        real = base_times * (shares * slowness + (1.0 - shares))
        ideal = self._on(real, [node_class.capacity for node_class in classes])
        self._slowdowns = real / ideal if slowdown == "ratio" else real - ideal
        """By the slowest class used, in order, and by the job; inf for jobs that were chosen already."""
        self._num_left = len(jobs)

    def _on(self, by_class: Floats, free: Sequence[int]) -> Floats:
        """Return the values, for the slowest class that each job uses on free processors, of the jobs that fit."""
        lasts = self._tasks.searchsorted([*accumulate([free[g] for g in self._order])], side="right")
        values, first = np.empty(lasts[-1]), 0
        for of_class, last in zip(by_class, lasts.tolist(), strict=True):
            if first < last:
                values[first:last] = of_class[first:last]
                first = last
        return values

    def next(self, free: Sequence[int]) -> int | None:
        """Return the index of the job that is next on free processors (per class), None where none of them fits."""
        slowdowns = self._on(self._slowdowns, free)
        least = float(slowdowns.min(initial=np.inf))
        if least == np.inf:
            return None
        near = (slowdowns <= least + time_tolerance(least)).nonzero()[0]
        place = near[self._numbers[near].argmin()]
        chosen = int(self._numbers[place])
        self._slowdowns[:, place] = np.inf
        self._num_left -= 1
        if 2 * self._num_left < len(self._numbers):
            self._drop_chosen()
        return chosen

    def _drop_chosen(self) -> None:
        """Look at those no more that were chosen already."""
        left = self._slowdowns[0] < np.inf
        self._numbers, self._tasks = self._numbers[left], self._tasks[left]
        self._slowdowns = self._slowdowns[:, left]


def by_named_times(plain: Choose, classes: Sequence[NodeClass], second_step: bool) -> Choose:
    """Return a rule that takes the speeds that jobs name for those of the classes, and is another for other jobs."""

    @lru_cache(KNOWN_JOBS)
    def known(job: Job) -> Choose:
        return mesd_allocation(classes_seen_by(job, classes), second_step)

    return lambda job, free: known(job)(job, free) if job.times else plain(job, free)


def where_usable(choose: Choose, usable: Callable[[Job, Sequence[int], Order], Sequence[int]], order: Order) -> Choose:
    """Return a rule that sees only the free processors that a job can use, the first ones by ``order``."""
    return lambda job, free: choose(job, usable(job, free, order))


class AskedChoice:
    """Version of :class:`Choice` for jobs that cannot use every processor: it evaluates each job each time.

    ``choose`` and ``time`` (s) say where, and how long it takes there; ``capacities`` are those of the empty platform.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        choose: Choose,
        time: Callable[[Job, Sequence[int]], float],
        capacities: Sequence[int],
        slowdown: Slowdown = "difference",
    ) -> None:
        self._jobs, self._choose, self._time, self._slowdown = jobs, choose, time, slowdown
        self._left = list(range(len(jobs)))
        self._ideal = [self._seconds(job, capacities) for job in jobs]

    def _seconds(self, job: Job, free: Sequence[int], choose: Choose | None = None) -> float:
        """Return what a job takes on free processors, s; infinity where it does not fit."""
        counts = (choose or self._choose)(job, free)
        return math.inf if counts is None else self._time(job, counts)

    def next(self, free: Sequence[int], choose: Choose | None = None) -> int | None:
        """Return the index of the job that is next on free processors (per class), None where none of them fits.

        Where ``choose`` is given it says where each would go.
        """
        slowdowns = []
        for j in self._left:
            real, ideal = self._seconds(self._jobs[j], free, choose), self._ideal[j]
            slowdowns.append(real if math.isinf(real) else real / ideal if self._slowdown == "ratio" else real - ideal)
        least = min(slowdowns, default=math.inf)
        if math.isinf(least):
            return None
        limit = least + time_tolerance(least)
        chosen = next(j for j, slowdown in zip(self._left, slowdowns, strict=True) if slowdown <= limit)
        self._left.remove(chosen)
        return chosen
