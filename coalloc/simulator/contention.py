"""Links that running jobs share: who loads them, how much that slows each job down, and how far each is.

Progress is fluid: at every instant a job advances at ``1/Te(now)``, and Te changes whenever a job that
loads the same saturated link starts or ends. Source: thesis, equations (2.2) and (2.7) to (2.9); errata 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coalloc.execution import communication_slowdown, execution_time
from coalloc.instance import Job, Link


@dataclass(slots=True)
class Flow:
    """A running job on the links: ``loads`` in MB/s per link, and how much of it is left to do.

    ``remaining`` (a share of the job) was right at ``since`` (s); since then the job advances at
    ``1/execution_time`` (not known until it is on its links). A job whose end is given has no ``job``: it
    only loads links.
    """

    job: Job | None
    loads: tuple[float, ...]
    processing: float
    since: float
    remaining: float = 1.0
    execution_time: float = math.nan

    def end(self) -> float:
        """Return when the job ends if nothing changes, s."""
        return self.since + self.remaining * self.execution_time

    def slow_down(self, now: float, execution_time: float) -> None:
        """Let the job advance at another pace from now (s) on."""
        if math.isfinite(self.execution_time):
            self.remaining = max(0.0, self.remaining - (now - self.since) / self.execution_time)
        self.since, self.execution_time = now, execution_time


class Contention:
    """The flows over the links of a platform, by index of their jobs."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._bandwidths = [link.bandwidth for link in links]
        self._members: list[dict[int, float]] = [{} for _ in links]
        self._totals = [0.0] * len(links)
        self._flows: dict[int, Flow] = {}

    def __contains__(self, job: int) -> bool:
        return job in self._flows

    def add(self, job: int, flow: Flow) -> list[tuple[int, float]]:
        """Let a job load its links; return the ends (s) that change by it, its own among them."""
        self._flows[job] = flow
        own = set() if flow.job is None else {job}
        return self._updated(flow.since, own | self._load(job, flow))

    def remove(self, job: int, now: float) -> list[tuple[int, float]]:
        """Take a job off its links at ``now`` (s); return the ends (s) that change by it."""
        flow = self._flows.pop(job)
        affected: set[int] = set()
        for k in _used(flow):
            members = self._members[k]
            del members[job]
            affected |= self._recount(k)
        return self._updated(now, affected)

    def _load(self, job: int, flow: Flow) -> set[int]:
        """Add the loads of a flow; return the jobs whose pace that may change."""
        affected: set[int] = set()
        for k in _used(flow):
            self._members[k][job] = flow.loads[k]
            affected |= self._recount(k)
        return affected

    def _recount(self, k: int) -> set[int]:
        """Sum the loads of a link again; return the jobs on it if it is, or was, saturated."""
        before, after = self._totals[k], math.fsum(self._members[k].values())
        self._totals[k] = after
        return set(self._members[k]) if max(before, after) > self._bandwidths[k] else set()

    def _updated(self, now: float, affected: Iterable[int]) -> list[tuple[int, float]]:
        """Give each affected job its pace of now; return the ends that this changes."""
        ends = []
        for job in sorted(affected):
            flow = self._flows[job]
            if flow.job is None:
                continue
            slowdown = communication_slowdown(flow.loads, self._totals, self._bandwidths)
            seconds = execution_time(flow.job, flow.processing, slowdown)
            if seconds != flow.execution_time:
                flow.slow_down(now, seconds)
                ends.append((job, flow.end()))
        return ends


def _used(flow: Flow) -> Iterable[int]:
    """Return the links that a flow loads."""
    return (k for k, load in enumerate(flow.loads) if load > 0.0)
