"""Costs of the jobs of a package in the search for the best: their time at speed levels (PAS, JPR), or chunks (CBS).

Source: thesis 3.1.2, (3.8), and 3.1.3.1; errata 11.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from coalloc.problem import Mode, Problem
from coalloc.problem.allocation import Allocation
from coalloc.rules.allocation_rules import filled
from coalloc.rules.package_modes import chunk_shortfall, least_shortfall, package_limits, total_link_load
from coalloc.rules.spreading import Spreading
from coalloc.solvers.bounds.speed_levels import LevelBound, from_place
from coalloc.solvers.packages.search import PackageOption, Price


class SpeedCosts:
    """Execution times, with the bound by speed levels.

    A job takes the slowest classes of a level first, for the faster ones serve more jobs. That is so within a
    cluster; for jobs to which no link matters it is so everywhere, once the others are placed: they come last.
    """

    def __init__(self, problem: Problem, spreading: Spreading, order: Sequence[int]) -> None:
        self.order = order
        self._jobs = problem.jobs
        self._spreading = spreading
        self._heeds_links = [heeds_links(problem, spreading, j) for j in range(len(problem.jobs))]
        self._bound = LevelBound(problem, order)
        self._options = [self._options_of(problem, j) for j in range(len(problem.jobs))]

    @staticmethod
    def _options_of(problem: Problem, j: int) -> list[PackageOption]:
        def power(g: int) -> float:
            return problem.classes[g].effective_power

        levels = problem.levels[j]
        before = [frozenset[int](), *(frozenset(level.classes) for level in levels)]
        return [
            PackageOption(tuple(sorted(level.classes, key=power)), faster)
            for level, faster in zip(levels, before, strict=False)
        ]

    def options(self, j: int) -> Sequence[PackageOption]:
        """Return the speed levels of a job."""
        return self._options[j]

    def allocations(
        self, j: int, option: PackageOption, free: Sequence[int], left: Sequence[float]
    ) -> Iterator[Allocation]:
        """Yield one allocation where no link matters to the job, else all."""
        if self._heeds_links[j]:
            yield from self._spreading.allocations(j, free, left, option.classes)
        elif (allocation := filled(self._jobs[j].tasks, free, option.classes)) is not None:
            yield allocation

    def price(self, _: int, mode: Mode) -> Price:
        """Return the execution time."""
        return (mode.execution_time,)

    def bound(self, place: int, free: Sequence[int], option: int | None = None) -> Price:
        """Return the bound by speed levels, s."""
        if option is None:
            return (self._bound.of_rest(place, free),)
        return (self._bound.with_level(place, free, option),)


class ChunkCosts:
    """Tasks that chunks lack, and loads of links; the bound is what each job costs alone on all that is free."""

    def __init__(self, problem: Problem, spreading: Spreading, order: Sequence[int]) -> None:
        self.order = order
        self._problem = problem
        self._spreading = spreading
        self._all = [PackageOption(tuple(range(len(problem.classes))))]
        free = problem.package.processors
        self._shortfall = from_place([least_shortfall(problem, problem.jobs[j]) for j in order])
        self._load = from_place([spreading.least_total_load(j, free, package_limits(problem, j)) for j in order])

    def options(self, _: int) -> Sequence[PackageOption]:
        """Return the one option that there is."""
        return self._all

    def allocations(
        self, j: int, option: PackageOption, free: Sequence[int], left: Sequence[float]
    ) -> Iterator[Allocation]:
        """Yield all allocations: what a job leaves of each cluster matters to the chunks of the others."""
        return self._spreading.allocations(j, free, left, option.classes)

    def price(self, j: int, mode: Mode) -> Price:
        """Return the tasks that the largest chunk lacks, and the load of all links, MB/s."""
        return float(chunk_shortfall(self._problem, self._problem.jobs[j], mode)), total_link_load(self._problem, mode)

    def bound(self, place: int, free: Sequence[int], option: int | None = None) -> Price:  # noqa: ARG002
        """Return what the jobs cost if each were the only one."""
        return self._shortfall[place], self._load[place]


def heeds_links(problem: Problem, spreading: Spreading, j: int) -> bool:
    """Return whether a job can load a link that does not carry everything, or memory or constraints count."""
    limits = tuple(map(min, problem.package.limits, package_limits(problem, j)))[: problem.allocations.num_links]
    return problem.is_restricted or (spreading.most_load(j) > 0.0 and min(limits) < math.inf)


def by_gain(problem: Problem, spreading: Spreading) -> list[int]:
    """Return the jobs with those first that fast processors serve most per task; those that heed no link last."""

    def gain(j: int) -> tuple[bool, float]:
        job = problem.jobs[j]
        return not heeds_links(problem, spreading, j), -job.base_time * job.processing_share / job.tasks

    return sorted(range(len(problem.jobs)), key=gain)


def by_size(problem: Problem, spreading: Spreading) -> list[int]:
    """Return the jobs with the largest first, then those that load links most; those that heed none last."""

    def size(j: int) -> tuple[bool, int, float]:
        return not heeds_links(problem, spreading, j), -problem.jobs[j].tasks, -spreading.most_load(j)

    return sorted(range(len(problem.jobs)), key=size)
