"""Links that running jobs share, as a source of pace: who loads them, and how much that slows each job down.

A job on a saturated link waits for the others on it. Source: thesis, equations (2.6) to (2.9); errata 3.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from copy import copy
from itertools import accumulate, pairwise
from typing import Self

from coalloc.instance import Job, Platform
from coalloc.problem.allocation import is_coallocated
from coalloc.problem.execution import communication_slowdown, link_loads
from coalloc.simulator.clock import Change
from coalloc.simulator.processors import Processors


class Contention:
    """The loads of running jobs, by index, on the links of a platform."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._bandwidths = [link.bandwidth for link in platform.links]
        self._clusters = _processors_by_cluster(platform)
        self._members: list[dict[int, float]] = [{} for _ in platform.links]
        self._totals = [0.0] * len(platform.links)
        self._loads: dict[int, tuple[float, ...]] = {}

    @property
    def is_possible(self) -> bool:
        """Whether a job can load a link: there are clusters to be connected."""
        return len(self._clusters) > 1

    @property
    def loads(self) -> tuple[float, ...]:
        """Total load of jobs on each link, MB/s, shape ``(num_links,)``."""
        return tuple(self._totals)

    def copied(self) -> Self:
        """Return the loads as something of its own."""
        twin = copy(self)
        twin._members, twin._totals = [dict(members) for members in self._members], self._totals.copy()
        twin._loads = self._loads.copy()
        return twin

    def enter(self, index: int, job: Job, processors: Processors) -> Collection[int] | None:
        """Let a job load its links; return the jobs on saturated ones, None where it loads no link."""
        if job.tasks == 1 or job.task_bandwidth == 0.0:
            return None
        tasks = [(processors & cluster).bit_count() for cluster in self._clusters]
        if not is_coallocated(tasks):
            return None
        loads = self._loads[index] = link_loads(job, tasks, self._platform)
        affected: set[int] = set()
        for k in _used(loads):
            self._members[k][index] = loads[k]
            affected |= self._recount(k)
        return affected

    def leave(self, index: int) -> Collection[int]:
        """Take a job off its links; return the jobs on those that were saturated."""
        affected: set[int] = set()
        for k in _used(self._loads.pop(index, ())):
            del self._members[k][index]
            affected |= self._recount(k)
        return affected

    def change(self, _: Change) -> Collection[int]:
        """Return nobody: what happens outside loads no link."""
        return ()

    def slowdowns(self, index: int) -> tuple[float, float]:
        """Return SC of a job by the links it loads; links have no say in SP."""
        loads = self._loads.get(index)
        return 0.0, 1.0 if loads is None else communication_slowdown(loads, self._totals, self._bandwidths)

    def stops(self, index: int, job: Job) -> bool:
        """Return whether a job would never end on its links: it talks over one of no bandwidth."""
        return job.processing_share < 1.0 and not all(self._bandwidths[k] for k in _used(self._loads.get(index, ())))

    def _recount(self, k: int) -> set[int]:
        """Sum the loads of a link again; return the jobs on it if it is, or was, saturated."""
        before, after = self._totals[k], math.fsum(self._members[k].values())
        self._totals[k] = after
        return set(self._members[k]) if max(before, after) > self._bandwidths[k] else set()


def _processors_by_cluster(platform: Platform) -> list[Processors]:
    """Return the processors of each cluster."""
    ends = [0, *accumulate(cluster.num_processors for cluster in platform.clusters)]
    return [((1 << end - first) - 1) << first for first, end in pairwise(ends)]


def _used(loads: Iterable[float]) -> Iterable[int]:
    """Return the links that a job loads."""
    return (k for k, load in enumerate(loads) if load > 0.0)
