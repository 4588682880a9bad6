"""Packages that need no MIP: those in which every job gets what it would get alone.

The objectives of a package model are sums over the jobs. What a job costs on all that is free, as if it
were the only one, is therefore a lower bound on its part, and a package in which no job costs more is
optimal. A package of one job always is. Source: thesis 3.1.2, (3.8), and 3.1.3.1; errata 11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import le, sub

from coalloc.models.cbs import chunk_shortfall, total_link_load
from coalloc.models.jpr import effective_power
from coalloc.models.package import link_limits
from coalloc.problem import Configuration, Problem, SpeedLevel, compositions

Cost = Callable[[Problem, int, Configuration], tuple[float, ...]]
"""What a job (by index) costs in a configuration: its part of each objective of a model, in order of priority."""


def _execution_time(_: Problem, __: int, configuration: Configuration) -> tuple[float, ...]:
    return (configuration.execution_time,)


def _chunks(problem: Problem, j: int, configuration: Configuration) -> tuple[float, ...]:
    return chunk_shortfall(problem, problem.jobs[j], configuration), total_link_load(configuration)


def _power(problem: Problem, _: int, configuration: Configuration) -> tuple[float, ...]:
    return configuration.execution_time, -effective_power(problem, configuration)


COSTS: Mapping[str, Cost] = {"pas": _execution_time, "cbs": _chunks, "jpr": _power}
"""Cost by name of the package model."""


def best_alone(problem: Problem, model: str, j: int) -> list[Configuration]:
    """Return the configurations that cost a job least on all that is free, those that load links least first.

    Faster processors never cost PAS and JPR more: slower ones are looked at only where the faster do not do.
    """
    levels = problem.levels[j][-1:] if model == "cbs" else problem.levels[j]
    for level in levels:
        priced = [(COSTS[model](problem, j, c), total_link_load(c), c) for c in _fitting(problem, j, level)]
        if priced:
            least = min(cost for cost, _, _ in priced)
            best = [(load, configuration) for cost, load, configuration in priced if cost == least]
            return [configuration for _, configuration in sorted(best, key=lambda item: item[0])]
    return []


def _fitting(problem: Problem, j: int, level: SpeedLevel) -> Iterator[Configuration]:
    """Yield the configurations of a job on the free processors of a level that overload no link by themselves."""
    job, limits = problem.jobs[j], link_limits(problem, j)
    free = [n if g in level.classes else 0 for g, n in enumerate(problem.package.processors)]
    for allocation in compositions(job.tasks, free):
        configuration = problem.configuration(job, allocation)
        if all(map(le, configuration.loads, limits)):
            yield configuration


def together(problem: Problem, choices: Sequence[Sequence[Configuration]]) -> list[Configuration] | None:
    """Return one of its choices for each job, so that all fit beside each other; None where no attempt succeeds.

    The job with most tasks chooses first, and takes its first choice that still fits.
    """
    processors, bandwidths = problem.package.processors, problem.package.bandwidths
    chosen: dict[int, Configuration] = {}
    for j in sorted(range(len(choices)), key=lambda j: -problem.jobs[j].tasks):
        for configuration in choices[j]:
            if all(map(le, configuration.allocation, processors)) and all(map(le, configuration.loads, bandwidths)):
                break
        else:
            return None
        chosen[j] = configuration
        processors = tuple(map(sub, processors, configuration.allocation))
        bandwidths = tuple(map(sub, bandwidths, configuration.loads))
    return [chosen[j] for j in range(len(choices))]
