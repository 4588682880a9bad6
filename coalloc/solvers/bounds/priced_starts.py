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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.objectives import Criterion
from coalloc.objectives.piecewise import Ramp
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


class StartPricing:
    """The ways of the jobs, and cells of time between edges."""

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

    def lost(self, value: float, prices: Floats) -> float:
        """Return what the arithmetic of a value of prices may have lost: a share of the magnitude of its terms."""
        ways = self.ways
        alone = np.abs(np.maximum(ways.floor, ways.least)[ways.first])
        return ROUNDING * (abs(value) + 2.0 * float((self.supply * prices).sum()) + float(alone.sum()))

    def reach(self, prices: Floats, margin: float) -> Floats:
        """Return how long after its release each way may be the cheapest, ticks; negative where never.

        If jobs paid ``margin`` times as much.
        """
        ways, sums = self.ways, self.sums_of(self.ways.needs @ prices).ravel()
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
