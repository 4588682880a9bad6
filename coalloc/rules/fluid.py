"""Jobs without fragmentation: each may be divided, interrupted, and run on fewer processors than it asks for.

A job of m processors and p seconds is then m p processor-seconds of work, of which at most m are done in a second.
Every schedule of rigid jobs is one of these, so what is least here is a lower bound there. Two bounds come from one
machine that is as fast as all free processors: the sum of ends by the least work left first, and the sum of mean busy
times by the least work per weight first, for a job ends p/2 or more after the mean instant at which it is worked on.
Sources: J. Turek et al., SPAA (1994), for the first; M. X. Goemans et al., "Single machine scheduling with release
dates", SIAM Journal on Discrete Mathematics 15 (2002), for the second.
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAFE = 1e-9
"""Share of a bound that its arithmetic may lose, and that it is therefore lowered by."""

Piece = tuple[int, float, float]
"""A job, and between which amounts of supply it is worked on."""


@dataclass(frozen=True)
class FluidJobs:
    """Jobs as columns: release (s), processors, run time on all of them (s); all of shape ``(num_jobs,)``."""

    release: Floats
    processors: Ints
    run: Floats

    @property
    def work(self) -> Floats:
        """Processor-seconds of each job."""
        return self.processors * self.run

    @property
    def earliest_end(self) -> Floats:
        """Earliest end of each job on an empty platform, s."""
        return self.release + self.run


@dataclass(frozen=True)
class Supply:
    """Free processors over time: ``free[i]`` from ``times[i]`` (s) on, the last for ever; the first time is 0."""

    times: Floats
    free: Floats

    @classmethod
    def beside(cls, num_processors: int, held: Sequence[int], ends: Sequence[float]) -> Supply:
        """Return what a platform has beside running jobs that hold processors until their ends, s."""
        times, index = np.unique(np.array([0.0, *ends]), return_inverse=True)
        freed = np.bincount(index[1:], np.array(held, dtype=np.float64), len(times))
        return cls(times, np.asarray(num_processors - sum(held) + np.cumsum(freed), dtype=np.float64))

    def amount(self, instants: Floats) -> Floats:
        """Return the processor-seconds that are free up to each instant."""
        piece = np.maximum(np.searchsorted(self.times, instants, side="right") - 1, 0)
        return np.asarray(self._before[piece] + (instants - self.times[piece]) * self.free[piece], dtype=np.float64)

    def instant(self, amounts: Floats) -> Floats:
        """Return the first instant up to which so many processor-seconds are free, s."""
        piece = np.maximum(np.searchsorted(self._before, amounts, side="left") - 1, 0)
        seconds = self._seconds_for(amounts - self._before[piece], piece)
        return np.asarray(self.times[piece] + seconds, dtype=np.float64)

    def sum_of_instants(self, amounts: Floats) -> Floats:
        """Return the integral of :meth:`instant` from 0 to each amount, processor s^2."""
        piece = np.maximum(np.searchsorted(self._before, amounts, side="left") - 1, 0)
        beyond = amounts - self._before[piece]
        within = beyond * (self.times[piece] + self._seconds_for(beyond, piece) / 2.0)
        return np.asarray(self._integral_before[piece] + within, dtype=np.float64)

    def _seconds_for(self, amounts: Floats, piece: Ints) -> Floats:
        """Return how long a piece of the time takes to supply amounts, s; 0 where nothing is free."""
        free = self.free[piece]
        return np.divide(amounts, free, out=np.zeros_like(amounts), where=free > 0.0)

    @property
    def _before(self) -> Floats:
        """Processor-seconds that are free before each time."""
        return np.concatenate([[0.0], np.cumsum(self.free[:-1] * np.diff(self.times))])

    @property
    def _integral_before(self) -> Floats:
        middle = (self.times[:-1] + self.times[1:]) / 2.0
        return np.concatenate([[0.0], np.cumsum(np.diff(self._before) * middle)])


def least_total_delay(jobs: FluidJobs, supply: Supply, weights: Floats | None = None) -> float:
    """Return a lower bound on the sum over the jobs of the end less the earliest end, s, also for rigid jobs.

    With ``weights`` the delay of each job counts so many times.
    """
    if not len(jobs.release):
        return 0.0
    weight = np.ones(len(jobs.release)) if weights is None else weights
    alone = float((weight * jobs.earliest_end).sum())
    bound = _sum_of_busy_times(jobs, supply, weight)
    if weights is None:
        bound = max(bound, _sum_of_ends(jobs, supply))
    return max(0.0, bound - alone - SAFE * (alone + abs(bound)))


def _sum_of_ends(jobs: FluidJobs, supply: Supply) -> float:
    """Return the least sum of ends on one machine: the shortest remaining work first."""
    ends = {job: finish for job, _, finish in _pieces(jobs, supply)}
    return float(supply.instant(np.array(list(ends.values()))).sum())


def _sum_of_busy_times(jobs: FluidJobs, supply: Supply, weights: Floats) -> float:
    """Return half the run times and the least sum of mean busy times on one machine, least work per weight first."""
    pieces = list(_pieces(jobs, supply, jobs.work / weights))
    job = np.array([j for j, _, _ in pieces])
    begin, finish = (np.array([piece[place] for piece in pieces]) for place in (1, 2))
    weighted = supply.sum_of_instants(finish) - supply.sum_of_instants(begin)
    return float((weighted * (weights / jobs.work)[job]).sum() + (weights * jobs.run).sum() / 2.0)


def _pieces(jobs: FluidJobs, supply: Supply, priority: Floats | None = None) -> Iterator[Piece]:
    """Yield what one machine works on, in order: of the jobs that are there the least priority first, or work left."""
    releases, work = supply.amount(jobs.release), jobs.work.tolist()
    keys = work if priority is None else priority.tolist()
    order = np.argsort(releases, kind="stable").tolist()
    arrivals = [*releases[order].tolist(), math.inf]
    waiting: list[tuple[float, int, float]] = []
    now = 0.0
    for place, job in enumerate(order):
        now = max(now, arrivals[place])
        heapq.heappush(waiting, (keys[job], job, work[job]))
        while waiting and now < arrivals[place + 1]:
            key, first, left = heapq.heappop(waiting)
            until = min(now + left, arrivals[place + 1])
            yield first, now, until
            if until < now + left:
                left -= until - now
                heapq.heappush(waiting, (left if priority is None else key, first, left))
            now = until


def delays(jobs: FluidJobs, supply: Supply, priority: Floats) -> Floats:
    """Return the end less the earliest end of each job, s, where processors go to the least priority first.

    Jobs get all the processors that they ask for, or what the jobs before them leave; whenever one arrives or ends, and
    when a running job ends, they are shared out anew.
    """
    rates, ranks = jobs.processors.tolist(), priority.tolist()
    order = np.argsort(jobs.release, kind="stable").tolist()
    releases = jobs.release.tolist()
    changes = [*zip(supply.times.tolist(), supply.free.tolist(), strict=True), (math.inf, 0.0)]
    left, ends = jobs.work.tolist(), np.zeros(len(order))
    there: list[tuple[float, int]] = []
    now, place, change = 0.0, 0, 0
    while place < len(order) or there:
        while change + 1 < len(changes) - 1 and changes[change + 1][0] <= now:
            change += 1
        while place < len(order) and releases[order[place]] <= now:
            insort(there, (ranks[order[place]], order[place]))
            place += 1
        coming = min(releases[order[place]] if place < len(order) else math.inf, changes[change + 1][0])
        room, served, until = changes[change][1], [], coming
        for entry in there:
            if room <= 0.0:
                break
            job = entry[1]
            rate = min(float(rates[job]), room)
            room -= rate
            served.append((entry, job, rate))
            until = min(until, now + left[job] / rate)
        for entry, job, rate in served:
            left[job] -= rate * (until - now)
            if left[job] <= SAFE * rate * max(1.0, until):
                ends[job] = until
                there.remove(entry)
        now = until
    return np.asarray(np.maximum(0.0, ends - jobs.earliest_end), dtype=np.float64)
