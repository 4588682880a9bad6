"""Packages that need no MIP, for a bound proves them optimal.

The objectives of a package model are sums over the jobs. What a job costs on all that is free, as if it
were the only one, is therefore a lower bound on its part, and a package in which no job costs more is
optimal; a package of one job always is. For PAS there is a better bound: links dropped, what is left is a
speed level for each job (the execution time depends on nothing else), such that on the processors of each
level and the faster ones there is room for the jobs that may use no slower ones. JPR asks no more: at the
cheapest levels its jobs fit into the fastest processors that are free, and no package uses more power.
Source: thesis 3.1.2, (3.8), and 3.1.3.1; errata 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import le, sub

from coalloc.models.cbs import chunk_shortfall, total_link_load
from coalloc.models.jpr import effective_power
from coalloc.models.package import package_limits
from coalloc.problem import Mode, Problem, SpeedLevel, compositions
from coalloc.rules.allocation_rules import filled

LEVEL_STEPS = 20_000
"""Choices of a level after which the search for the cheapest ones gives up."""

Cost = Callable[[Problem, int, Mode], tuple[float, ...]]
"""What a job (by index) costs in a mode: its part of each objective of a model, in order of priority."""


def _execution_time(_: Problem, __: int, mode: Mode) -> tuple[float, ...]:
    return (mode.execution_time,)


def _chunks(problem: Problem, j: int, mode: Mode) -> tuple[float, ...]:
    return chunk_shortfall(problem, problem.jobs[j], mode), total_link_load(problem, mode)


def _power(problem: Problem, _: int, mode: Mode) -> tuple[float, ...]:
    return mode.execution_time, -effective_power(problem, mode)


COSTS: Mapping[str, Cost] = {"pas": _execution_time, "cbs": _chunks, "jpr": _power}
"""Cost by name of the package model."""


def best_alone(problem: Problem, model: str, j: int) -> list[Mode]:
    """Return the modes that cost a job least on all that is free, those that load links least first.

    Faster processors never cost PAS and JPR more: slower ones are looked at only where the faster do not do.
    """
    levels = problem.levels[j][-1:] if model == "cbs" else problem.levels[j]
    for level in levels:
        priced = [(COSTS[model](problem, j, c), total_link_load(problem, c), c) for c in _fitting(problem, j, level)]
        if priced:
            least = min(cost for cost, _, _ in priced)
            best = [(load, mode) for cost, load, mode in priced if cost == least]
            return [mode for _, mode in sorted(best, key=lambda item: item[0])]
    return []


def _fitting(problem: Problem, j: int, level: SpeedLevel) -> Iterator[Mode]:
    """Yield the modes of a job on the free processors of a level that exceed no resource by themselves."""
    job, limits = problem.jobs[j], package_limits(problem, j)
    rooms = map(min, problem.package.processors, problem.rooms(job))
    free = [n if g in level.classes else 0 for g, n in enumerate(rooms)]
    for allocation in compositions(job.tasks, free):
        mode = problem.mode(job, allocation)
        if all(map(le, mode.loads, limits)):
            yield mode


def together(problem: Problem, choices: Sequence[Sequence[Mode]], order: Sequence[int]) -> list[Mode] | None:
    """Return one of its choices for each job, so that all fit beside each other; None where this attempt fails.

    Jobs (by index) choose in ``order``, and take their first choice that still fits.
    """
    processors, limits = problem.package.processors, problem.package.limits
    chosen: dict[int, Mode] = {}
    for j in order:
        for mode in choices[j]:
            if all(map(le, mode.allocation, processors)) and all(map(le, mode.loads, limits)):
                break
        else:
            return None
        chosen[j] = mode
        processors = tuple(map(sub, processors, mode.allocation))
        limits = tuple(map(sub, limits, mode.loads))
    return [chosen[j] for j in range(len(choices))]


def without_mip(problem: Problem, model: str, choices: Sequence[Sequence[Mode]]) -> list[Mode] | None:
    """Return an optimal mode for each job, None where that takes the MIP.

    ``choices`` are the :func:`best_alone` of each job; the job with most tasks chooses first.
    """
    order = sorted(range(len(choices)), key=lambda j: -problem.jobs[j].tasks)
    chosen = together(problem, choices, order)
    if chosen is not None or model not in BY_LEVELS:
        return chosen
    return BY_LEVELS[model](problem)


def by_levels(problem: Problem) -> list[Mode] | None:
    """Return an optimal package of PAS that costs no more than if links carried everything, None where none is found.

    Jobs that may use the fewest classes choose first, of those the ones with most tasks.
    """
    levels = cheapest_levels(problem)
    if levels is None:
        return None
    choices = [
        sorted(_fitting(problem, j, level), key=lambda c: total_link_load(problem, c)) for j, level in enumerate(levels)
    ]
    order = sorted(range(len(levels)), key=lambda j: (len(levels[j].classes), -problem.jobs[j].tasks))
    return together(problem, choices, order)


def fastest_first(problem: Problem) -> list[Mode] | None:
    """Return an optimal package of JPR; None where no levels are found, memory is short, or a job would never end.

    At the cheapest levels, the jobs whose levels have fewer classes choose first, and take the fastest processors
    left. They fill the fastest ones without a hole, and the levels leave room there: none gets a slower one than
    its level has, and with as many tasks no package uses more power.
    """
    levels = None if problem.is_restricted else cheapest_levels(problem)
    if levels is None:
        return None
    free = problem.package.processors
    by_speed = sorted(range(len(free)), key=lambda g: -problem.classes[g].effective_power)
    chosen: dict[int, Mode] = {}
    for j in sorted(range(len(levels)), key=lambda j: (len(levels[j].classes), -problem.jobs[j].tasks)):
        allocation = filled(problem.jobs[j].tasks, free, by_speed)
        if allocation is None:
            return None
        chosen[j] = problem.mode(problem.jobs[j], allocation)
        if not all(map(le, chosen[j].loads, package_limits(problem, j))):
            return None
        free = tuple(map(sub, free, allocation))
    return [chosen[j] for j in range(len(levels))]


BY_LEVELS: Mapping[str, Callable[[Problem], list[Mode] | None]] = {"pas": by_levels, "jpr": fastest_first}
"""How packages are made from speed levels, by name of the package model."""


def cheapest_levels(problem: Problem) -> list[SpeedLevel] | None:
    """Return the speed levels with the least total duration that leave room for all jobs, links dropped.

    The classes of levels are nested, so there is room if it suffices in each: a branch and bound over the
    jobs. None where there is no room, or after ``LEVEL_STEPS`` choices. Where memory keeps jobs from classes, levels
    need not be nested, and there may be no room after all.
    """
    least = [levels[0].duration for levels in problem.levels]
    rest = [sum(least[j:]) for j in range(len(least) + 1)]
    steps, best_cost = 0, math.inf
    best: list[SpeedLevel] | None = None

    def choose(chosen: list[SpeedLevel], room: Mapping[tuple[int, ...], int], cost: float) -> None:
        nonlocal steps, best, best_cost
        j = len(chosen)
        if cost + rest[j] >= best_cost or steps > LEVEL_STEPS:
            return
        if j == len(least):
            best, best_cost = chosen, cost
            return
        for level in problem.levels[j]:
            steps += 1
            taken = problem.jobs[j].tasks
            left = {g: free - taken if set(level.classes) <= set(g) else free for g, free in room.items()}
            if min(left.values()) >= 0:
                choose([*chosen, level], left, cost + level.duration)

    nested = {level.classes for levels in problem.levels for level in levels}
    free = problem.package.processors
    choose([], {classes: sum(free[g] for g in classes) for classes in nested}, 0.0)
    return best if steps <= LEVEL_STEPS else None
