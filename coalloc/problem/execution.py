"""The execution model, once: slowdowns, link loads, execution times, progress under shared links.

Source: thesis, chapter 2; errata 3. ``Te = Tb * (sigma * SP + (1 - sigma) * SC)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job, NodeGroup, Platform
from coalloc.instance.rounding import time_tolerance

Amount = TypeVar("Amount", float, NDArray[np.float64])
"""A number, or a number for each of many jobs."""


def link_load(tasks_inside: int, job: Job) -> float:
    """Bandwidth that ``job`` puts on a link which separates ``tasks_inside`` of its tasks from the rest, in MB/s.

    Source: thesis, equation (2.6).
    """
    return all_to_all_load(tasks_inside, job.tasks, job.task_bandwidth) if job.tasks > 1 else 0.0


def all_to_all_load(tasks_inside: Amount, tasks: Amount, task_bandwidth: Amount) -> Amount:
    """Return the bandwidth, MB/s, across a cut with ``tasks_inside`` of two or more ``tasks`` on one side.

    All-to-all traffic: each task talks to the ``tasks - 1`` others at ``task_bandwidth`` in all.
    """
    outside_share = (tasks - tasks_inside) / (tasks - 1)
    return tasks_inside * task_bandwidth * outside_share


def link_load_table(most: int, job: Job) -> list[float]:
    """Return :func:`link_load` of 0, 1, ..., ``most`` tasks inside, MB/s."""
    if job.tasks <= 1:
        return [0.0] * (most + 1)
    inside = np.arange(most + 1, dtype=float)
    of_job = np.asarray(float(job.tasks)), np.asarray(job.task_bandwidth)
    loads: list[float] = all_to_all_load(inside, *of_job).tolist()
    return loads


def link_loads_of(tasks_inside: NDArray[np.int64], jobs: Sequence[Job]) -> NDArray[np.float64]:
    """Return :func:`link_load` of each job, MB/s."""
    tasks = np.array([job.tasks for job in jobs], dtype=float)
    bandwidths = np.array([job.task_bandwidth for job in jobs], dtype=float)
    return np.where(tasks > 1, all_to_all_load(tasks_inside.astype(float), np.maximum(tasks, 2.0), bandwidths), 0.0)


def link_loads(job: Job, tasks: Sequence[int], platform: Platform) -> tuple[float, ...]:
    """Loads of a job on every link, MB/s, shape ``(num_links,)``; ``tasks`` has one count per cluster."""
    return tuple(link_load(sum(tasks[c] for c in link.clusters), job) for link in platform.links)


def processing_slowdown(effective_powers: Iterable[float]) -> float:
    """SP: the slowest node used decides. Source: thesis, equation (2.5)."""
    return max(1.0 / power for power in effective_powers)


def communication_slowdown(
    own_loads: Sequence[float], total_loads: Sequence[float], bandwidths: Sequence[float]
) -> float:
    """SC: the most saturated of the links that the job loads, at least 1; all arguments in MB/s per link.

    Source: thesis, equations (2.7) to (2.9), over the links that the job uses (errata 3).
    """
    slowdown = 1.0
    for own, total, bandwidth in zip(own_loads, total_loads, bandwidths, strict=True):
        if own > 0.0:
            slowdown = max(slowdown, total / bandwidth if bandwidth > 0.0 else math.inf)
    return slowdown


def execution_time(job: Job, processing: float, communication: float = 1.0) -> float:
    """Te in seconds, from the two slowdowns. Source: thesis, equations (2.2) and (2.3)."""
    return job.base_time * execution_slowdown(job, processing, communication)


def execution_slowdown(job: Job, processing: float, communication: float = 1.0) -> float:
    """Te by the base time, from the two slowdowns."""
    share = job.processing_share
    communicating = (1.0 - share) * communication if share < 1.0 else 0.0
    return share * processing + communicating


def execution_times(jobs: Sequence[Job], processing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return :func:`execution_time` of jobs by processing slowdown, those of all jobs or a row for each job, s."""
    base_times = np.array([[job.base_time] for job in jobs], float).reshape(-1, 1)
    shares = np.array([[job.processing_share] for job in jobs], float).reshape(-1, 1)
    return base_times * (shares * processing + (1.0 - shares))


def dedicated_time(job: Job, group: NodeGroup) -> float:
    """Te in seconds on nodes of one group, where no link saturates.

    A time that the job names for them stands for base time and power; availability counts still.
    """
    named = job.time_named(group)
    if named is None:
        return execution_time(job, 1.0 / group.effective_power)
    return named * (job.processing_share / group.availability + (1.0 - job.processing_share))


Kinds = tuple[tuple[Job, float], ...]
"""A job that names times as each kind of its nodes sees it: the time named for its base time, and SP there."""


def kinds_of(job: Job, groups: Iterable[NodeGroup]) -> Kinds:
    """Return a job that names times by the groups of nodes that it uses; which is slowest depends on SC."""
    kinds = []
    for group in groups:
        named = job.time_named(group)
        if named is None:
            kinds.append((job, 1.0 / group.effective_power))
        else:
            kinds.append((job.replace(base_time=named), 1.0 / group.availability))
    return tuple(dict.fromkeys(kinds))


def slowest_time(kinds: Kinds, communication: float = 1.0) -> float:
    """Te in seconds of a job that names times: the slowest kind of its nodes decides."""
    return max(execution_time(job, processing, communication) for job, processing in kinds)


@dataclass(frozen=True, slots=True)
class Load:
    """A job on the links from ``start`` (s): its loads per link (MB/s) and its processing slowdown.

    ``end`` is set for jobs whose end is given (those that run already); others end when done. One that names times
    has its ``kinds`` instead of a processing slowdown.
    """

    job: Job
    start: float
    loads: tuple[float, ...]
    processing: float
    end: float | None = None
    kinds: Kinds = ()


def shared_link_ends(loads: Mapping[str, Load], bandwidths: Sequence[float]) -> dict[str, float]:
    """Return when each job ends, s, if links are shared and its start is kept.

    Progress is fluid: at every instant a job advances at ``1/Te(now)``; Te changes whenever a job
    starts or ends. Raises ``ZeroDivisionError`` never: on a link of no bandwidth a job never ends
    (``inf``).
    """
    remaining = {name: 1.0 for name, load in loads.items() if load.end is None}
    ends = {name: load.end for name, load in loads.items() if load.end is not None}
    waiting = sorted(loads, key=lambda name: loads[name].start)
    active: list[str] = []
    now = loads[waiting[0]].start if waiting else 0.0
    while waiting or active:
        while waiting and loads[waiting[0]].start <= now:
            active.append(waiting.pop(0))
        times = _execution_times({name: loads[name] for name in active}, bandwidths)
        finish = {name: ends[name] if name in ends else now + remaining[name] * times[name] for name in active}
        next_start = loads[waiting[0]].start if waiting else math.inf
        after = max(now, min([next_start, *finish.values()]))
        if math.isinf(after):
            return ends | dict.fromkeys(active, math.inf)
        for name in list(active):
            if finish[name] <= after + time_tolerance(after):
                ends[name] = finish[name]
                active.remove(name)
            elif name in remaining:
                remaining[name] -= (after - now) / times[name]
        now = after
    return ends


def _execution_times(active: Mapping[str, Load], bandwidths: Sequence[float]) -> dict[str, float]:
    """Return the execution time of each job, s, as long as just these jobs share the links."""
    totals = [sum(column) for column in zip(*(load.loads for load in active.values()), strict=True)]
    return {
        name: slowest_time(
            load.kinds or ((load.job, load.processing),), communication_slowdown(load.loads, totals, bandwidths)
        )
        for name, load in active.items()
    }
