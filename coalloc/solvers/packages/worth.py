"""Values of a package: the objectives of its model, recomputed, and the ends that shared links really cause.

Where links may saturate, a model's slowdown is static, as if the package overlapped throughout; in the schedule loads
fall when jobs end. Source: thesis 3.1.2, 3.1.3.1; errata 3, 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text
from coalloc.instance.rounding import capacity_limit
from coalloc.problem import Mode, Problem
from coalloc.problem.allocation import allocation_of
from coalloc.problem.execution import Load, communication_slowdown, processing_slowdown, shared_link_ends
from coalloc.rules.package_modes import chunk_shortfall, effective_power, total_link_load
from coalloc.schedule import Schedule

Levels = Mapping[str, float]
"""Values of a model's objectives by name, the most important first."""


def modes_of(problem: Problem, schedule: Schedule) -> list[Mode]:
    """Return the mode of each job, in the order of the jobs."""
    index = problem.instance.platform.processor_index
    return [
        problem.allocations.mode(job, allocation_of((index[n] for n in schedule[job.id].nodes), problem.classes))
        for job in problem.jobs
    ]


def _loads(problem: Problem, modes: Sequence[Mode]) -> list[float]:
    """Return the load of each link when the package starts, MB/s, with what runs already."""
    busy = problem.package.busy_loads
    return [math.fsum([busy[k], *(c.loads[k] for c in modes)]) for k in range(problem.allocations.num_links)]


def total_execution_time(problem: Problem, modes: Sequence[Mode]) -> float:
    """Return the sum of the execution times, s; with shared links as if all jobs overlapped throughout."""
    times = [mode.execution_time for mode in modes]
    if problem.links == "shared":
        loads = _loads(problem, modes)
        bandwidths = [link.bandwidth for link in problem.instance.platform.links]
        for job, mode in zip(problem.jobs, modes, strict=True):
            if job.processing_share < 1.0:
                slowdown = communication_slowdown(mode.loads[: problem.allocations.num_links], loads, bandwidths)
                times.append(job.base_time * (1.0 - job.processing_share) * (slowdown - 1.0))
    return math.fsum(times)


def _pas_levels(problem: Problem, modes: Sequence[Mode]) -> Levels:
    return {"total-execution-time": total_execution_time(problem, modes)}


def _cbs_levels(problem: Problem, modes: Sequence[Mode]) -> Levels:
    pairs = list(zip(problem.jobs, modes, strict=True))
    shortfall = sum(chunk_shortfall(problem, job, mode) for job, mode in pairs)
    load = math.fsum(total_link_load(problem, mode) for mode in modes)
    return {"chunk-shortfall": float(shortfall), "link-load": load}


def _jpr_levels(problem: Problem, modes: Sequence[Mode]) -> Levels:
    power = math.fsum(effective_power(problem, mode) for mode in modes)
    return {"total-execution-time": total_execution_time(problem, modes), "effective-power": power}


OBJECTIVES: Mapping[str, str] = {
    "pas": "total-execution-time",
    "cbs": "chunks",
    "jpr": "total-execution-time",
}
"""Name of the objective, which is the first level, of each package model."""

LEVELS: Mapping[str, Callable[[Problem, Sequence[Mode]], Levels]] = {
    "pas": _pas_levels,
    "cbs": _cbs_levels,
    "jpr": _jpr_levels,
}


MAXIMISED = ("effective-power",)
"""Levels of which more is better."""


def price_of(levels: Levels) -> tuple[float, ...]:
    """Return what is minimised, in order of priority, of some levels."""
    return tuple(-value if name in MAXIMISED else value for name, value in levels.items())


def with_simulated_ends(problem: Problem, schedule: Schedule, modes: Sequence[Mode]) -> Schedule:
    """Return the schedule with the ends that links cause which the jobs share; starts and nodes are kept."""
    start = problem.package.start
    loads: dict[str, Load] = {}
    for run in problem.package.running:
        busy = next(b for b in problem.busy if b.job == run.job.id)
        loads[run.job.id] = Load(run.job, start, busy.loads[: problem.allocations.num_links], 1.0, run.end)
    for job, mode in zip(problem.jobs, modes, strict=True):
        pairs = zip(problem.classes, mode.allocation, strict=True)
        processing = processing_slowdown(c.effective_power for c, count in pairs if count)
        loads[job.id] = Load(job, start, mode.loads[: problem.allocations.num_links], processing)
    ends = shared_link_ends(loads, [link.bandwidth for link in problem.instance.platform.links])
    return schedule.replace(placements=tuple(p.replace(end=ends[p.job]) for p in schedule))


def saturated_links(problem: Problem, modes: Sequence[Mode]) -> str:
    """Return which links saturate when the package starts, and by how much."""
    loaded = [any(c.loads[k] for c in modes) for k in range(problem.allocations.num_links)]
    links = problem.instance.platform.links
    saturated = [
        f"{quoted(link.name)} (load {load:g}, bandwidth {link.bandwidth:g} MB/s)"
        for link, load, is_loaded in zip(links, _loads(problem, modes), loaded, strict=True)
        if is_loaded and load > capacity_limit(link.bandwidth)
    ]
    return f"saturated links at {instant_text(problem.package.start)}: {', '.join(saturated)}" if saturated else ""
