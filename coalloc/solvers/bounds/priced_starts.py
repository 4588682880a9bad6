"""Least costs of jobs at dual prices of processors over time: each takes its cheapest speed level and start.

A *way* is a job at a speed level: a duration, a ramp (what it costs by its start), and needs, what it takes of each
resource while it runs. Resources are the prefixes of speeds (:mod:`coalloc.solvers.bounds.release_suffixes`). With
prices ``y_qk >= 0`` of a tick of resource q in cell k of the time, and 0 after the last cell,

    sum_j min over ways and starts s of (cost(s) + what the prices sum up to from s to s + d) - sum_qk y_qk supply_qk

is a lower bound on the sum of the costs, whatever the prices. On a piece between two instants at which s or s + d
enters another cell the inner function is linear, but for the kink of the ramp: it is least at one of those instants,
and no later than where the ramp alone exceeds what the job would pay at its release. Times are ticks after the first
release, costs are above what each job costs alone. Derivation: docs/mathematics/bounds-on-costs.md, "Prices over time".
Source: the Lagrangian of the time-indexed relaxation, M. van den Akker, C. Hurkens, M. Savelsbergh, "Time-indexed
formulations for machine scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.objectives import Criterion
from coalloc.objectives.piecewise import Ramp
from coalloc.rules.tuning import ENTRIES
from coalloc.solvers.bounds.release_suffixes import held_by_running, levelled_jobs, speed_capacities

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-9
"""Share of the magnitude of its terms that the arithmetic of a bound may lose."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways of all jobs, and the resources that they compete for.

    Ways are columns, shape ``(num_ways,)``, those of a job side by side from ``first[job]`` on.

    ``release`` and ``duration`` are ticks; a start ``x`` ticks after the release costs
    ``max(floor, slope * x + least)`` more than the job alone. ``kind`` is the row of ``needs``, shape
    ``(num_kinds, num_resources)``. Of each resource there are ``capacities``, less what running jobs hold until their
    ``ends`` (ticks); ``held`` has shape ``(num_running, num_resources)``.
    """

    job: Ints
    first: Ints
    release: Floats
    duration: Floats
    floor: Floats
    slope: Floats
    least: Floats
    kind: Ints
    needs: Floats
    capacities: Floats
    ends: Floats
    held: Floats

    @property
    def num_jobs(self) -> int:
        """The number of jobs."""
        return len(self.first)

    def supply(self, edges: Floats) -> Floats:
        """Return the supply of each resource in each cell of the time, shape ``(num_resources, num_cells)``."""
        until = np.minimum(edges[:, None], np.maximum(self.ends, 0.0)) @ self.held
        return np.asarray(np.diff(edges[:, None] * self.capacities - until, axis=0).T, dtype=np.float64)


def ways_of(criterion: Criterion) -> Ways | None:
    """Return the ways of the jobs of a problem; None where costs are not known in pieces."""
    problem = criterion.problem
    jobs = levelled_jobs(problem, use_links=True)
    origin = min(problem.releases, default=0.0)
    rows: list[tuple[float, ...]] = []
    needs: dict[tuple[int, ...], int] = {}
    for j, (job, release, alone) in enumerate(zip(jobs, problem.releases, criterion.alone, strict=True)):
        for duration, of_level in zip(job.durations, job.needs, strict=True):
            ramp = criterion.ramp_below(j, duration)
            if ramp is None:
                return None
            kind = needs.setdefault(of_level, len(needs))
            rows.append((j, release - origin, duration, *_above(ramp, release, alone), kind))
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 7).T
    job = columns[0].astype(np.int64)
    running = held_by_running(problem)
    capacities = np.cumsum(np.array(speed_capacities(problem), dtype=np.float64))
    return Ways(
        job=job,
        first=np.searchsorted(job, np.arange(len(jobs))),
        release=columns[1],
        duration=columns[2],
        floor=columns[3],
        slope=columns[4],
        least=columns[5],
        kind=columns[6].astype(np.int64),
        needs=np.array(list(needs), dtype=np.float64).reshape(len(needs), len(capacities)),
        capacities=capacities,
        ends=np.array([end for end, _ in running], dtype=np.float64) - origin,
        held=np.array([of_run for _, of_run in running], dtype=np.float64).reshape(len(running), len(capacities)),
    )


def _above(ramp: Ramp, release: float, alone: float) -> tuple[float, float, float]:
    """Return floor, slope and cost at the release of a ramp above what the job costs alone."""
    return ramp.floor - alone, ramp.slope, ramp.slope * release + ramp.intercept - alone


@dataclass(frozen=True, slots=True)
class Starts:
    """Starts of ways as columns, those of a job side by side from ``first`` on, in the order of the jobs ``job``.

    ``way`` and ``start`` (ticks) say which; ``cost`` is what the ramp says. A start is the share ``begin_share`` into
    the cell before which ``begin`` of the sums of prices have come, flattened over kinds; an end likewise.
    """

    first: Ints
    way: Ints
    start: Floats
    cost: Floats
    begin: Ints
    begin_share: Floats
    end: Ints
    end_share: Floats

    def values(self, sums: Floats) -> Floats:
        """Return what each start costs at sums of prices, shape ``(num_kinds, num_cells + 1)``, flattened."""
        paid = sums[self.end] + self.end_share * (sums[self.end + 1] - sums[self.end])
        paid -= sums[self.begin] + self.begin_share * (sums[self.begin + 1] - sums[self.begin])
        return np.asarray(self.cost + paid, dtype=np.float64)


class StartPricing:
    """The ways of the jobs, and cells of time between edges: bounds at any prices, and the cheapest starts."""

    def __init__(self, ways: Ways, edges: Floats) -> None:
        self.ways, self.edges = ways, edges
        self.widths = np.diff(edges)
        self.supply = ways.supply(edges)

    @property
    def num_cells(self) -> int:
        """The number of cells."""
        return len(self.widths)

    def sums_of(self, prices: Floats) -> Floats:
        """Return what rows of prices sum up to until each edge, shape ``(num_rows, num_cells + 2)``.

        A cell follows in which nothing is added, for what ends after the last one.
        """
        sums = np.zeros((len(prices), self.num_cells + 2))
        np.cumsum(prices * self.widths, axis=1, out=sums[:, 1:-1])
        sums[:, -1] = sums[:, -2]
        return sums

    def sums(self, prices: Floats) -> Floats:
        """Return what the prices of each kind sum up to until each edge, flattened over kinds."""
        return self.sums_of(self.ways.needs @ prices).ravel()

    def excess(self, prices: Floats) -> float:
        """Return how much the costs of all jobs are above what they cost alone, at the least; never below 0."""
        sums = self.sums(prices)
        total, magnitude = 0.0, float((self.supply * prices).sum())
        reach = self._reach(sums)
        for starts in self.starts(reach):
            values = starts.values(sums)
            cheapest = np.minimum.reduceat(values, starts.first)
            total += math.fsum(cheapest)
            magnitude += float(np.abs(cheapest).sum()) + float(np.abs(starts.cost[starts.first]).sum())
        return max(0.0, total - float((self.supply * prices).sum()) - ROUNDING * magnitude)

    def cheapest(self, prices: Floats) -> tuple[Ints, Floats]:
        """Return for each job its cheapest way and start, ticks."""
        sums = self.sums(prices)
        ways, begins = [], []
        for starts in self.starts(self._reach(sums)):
            values = starts.values(sums)
            best = _first_least(values, starts.first)
            ways.append(starts.way[best])
            begins.append(starts.start[best])
        return np.concatenate(ways), np.concatenate(begins)

    def reach(self, prices: Floats, margin: float) -> Floats:
        """Return how long after its release each way may be cheapest if jobs paid ``margin`` times as much, ticks."""
        return self._reach(self.sums(prices), margin)

    def _reach(self, sums: Floats, margin: float = 1.0) -> Floats:
        """Return how long after its release each way may be the cheapest, ticks; negative where never."""
        ways = self.ways
        begin, begin_share = self._place(ways.kind, ways.release)
        end, end_share = self._place(ways.kind, ways.release + ways.duration)
        paid = sums[end] + end_share * (sums[end + 1] - sums[end])
        paid -= sums[begin] + begin_share * (sums[begin + 1] - sums[begin])
        at_release = np.maximum(ways.floor, ways.least)
        most = margin * np.minimum.reduceat(at_release + paid, ways.first) * (1.0 + ROUNDING)
        most = np.maximum(most, np.minimum.reduceat(at_release, ways.first))[ways.job]  # one way of each job is kept
        rising = np.where(ways.slope > 0.0, ways.slope, 1.0)
        reach = np.where(ways.slope > 0.0, np.maximum(most - ways.least, 0.0) / rising, np.inf)
        left = np.maximum(self.edges[-1] - ways.release, 0.0)
        return np.where(at_release > most, -1.0, np.minimum(reach, left))

    def _place(self, kind: Ints, instants: Floats) -> tuple[Ints, Floats]:
        """Return in which cell instants are, flattened over kinds, and at which share of it."""
        cell = np.clip(np.searchsorted(self.edges, instants, side="right") - 1, 0, self.num_cells)
        widths = np.append(self.widths, np.inf)
        return kind * (self.num_cells + 2) + cell, np.maximum(0.0, instants - self.edges[cell]) / widths[cell]

    def starts(self, reach: Floats) -> Iterator[Starts]:
        """Yield the starts of all jobs, up to so many ticks after the releases, in chunks of jobs in order.

        For each way its release, its kink and its last start, and the starts at which it starts or ends on an edge.
        """
        spans = self._spans(reach)
        last = self.ways.release + reach
        of_job = np.add.reduceat(_counts(spans, reach), self.ways.first)
        for jobs in _chunks(of_job):
            yield self._starts_of(np.arange(*_span_of(self.ways, jobs)), spans, reach >= 0.0, last)

    def num_starts(self, reach: Floats) -> int:
        """Return how many starts :meth:`starts` yields."""
        return int(_counts(self._spans(reach), reach).sum())

    def _spans(self, reach: Floats) -> list[tuple[Ints, Ints]]:
        """Return for each way the first edge, and how many, at which it starts; likewise ends."""
        spans = []
        for shift in (np.zeros(len(reach)), self.ways.duration):
            begin = self.ways.release + shift
            low = np.searchsorted(self.edges, begin, side="right")
            count = np.searchsorted(self.edges, begin + reach, side="right") - low
            spans.append((low, np.where(reach >= 0.0, count, 0)))
        return spans

    def _starts_of(
        self, chosen: Ints, spans: Sequence[tuple[Ints, Ints]], is_used: NDArray[np.bool_], last: Floats
    ) -> Starts:
        ways, edges = self.ways, self.edges
        used = chosen[is_used[chosen]]
        with np.errstate(divide="ignore", invalid="ignore"):
            kink = ways.release[used] + (ways.floor[used] - ways.least[used]) / ways.slope[used]
        kink = np.where(np.isfinite(kink), np.clip(kink, ways.release[used], last[used]), ways.release[used])
        parts = [(used, ways.release[used]), (used, kink), (used, last[used])]
        for (low, count), shift in zip(spans, (0.0, 1.0), strict=True):
            way = np.repeat(chosen, count[chosen])
            instants = edges[_ranges(low[chosen], count[chosen])] - shift * ways.duration[way]
            parts.append((way, np.maximum(instants, ways.release[way])))
        way = np.concatenate([part for part, _ in parts])
        start = np.concatenate([part for _, part in parts])
        order = np.argsort(way, kind="stable")
        way, start = way[order], start[order]
        job = ways.job[way]
        begin, begin_share = self._place(ways.kind[way], start)
        end, end_share = self._place(ways.kind[way], start + ways.duration[way])
        cost = np.maximum(ways.floor[way], ways.slope[way] * (start - ways.release[way]) + ways.least[way])
        first = np.flatnonzero(np.diff(job, prepend=-1))
        return Starts(first, way, start, cost, begin, begin_share, end, end_share)


def _counts(spans: Sequence[tuple[Ints, Ints]], reach: Floats) -> Ints:
    """Return how many starts each way has: on edges, at its release, its kink and its last."""
    return np.where(reach >= 0.0, 3, 0) + spans[0][1] + spans[1][1]


def _chunks(counts: Ints) -> Iterator[tuple[int, int]]:
    """Yield spans of jobs with :data:`ENTRIES` starts or one job more."""
    chunk = (np.cumsum(counts) - counts) // ENTRIES
    bounds = np.flatnonzero(np.diff(chunk, prepend=-1)).tolist()
    yield from zip(bounds, [*bounds[1:], len(counts)], strict=True)


def _span_of(ways: Ways, jobs: tuple[int, int]) -> tuple[int, int]:
    """Return the first way of a span of jobs, and the one after the last."""
    first, after = jobs
    return int(ways.first[first]), int(ways.first[after]) if after < ways.num_jobs else len(ways.job)


def _ranges(first: Ints, count: Ints) -> Ints:
    """Return ``count`` whole numbers from each of ``first`` on, one after another."""
    before = np.cumsum(count) - count
    return np.asarray(np.arange(count.sum()) + np.repeat(first - before, count), dtype=np.int64)


def _first_least(values: Floats, first: Ints) -> Ints:
    """Return where the least of each stretch of values is."""
    lengths = np.diff(np.append(first, len(values)))
    is_least = values == np.repeat(np.minimum.reduceat(values, first), lengths)
    places = np.flatnonzero(is_least)
    stretch = np.searchsorted(first, places, side="right")
    return places[np.flatnonzero(np.diff(stretch, prepend=-1))]
