"""Beam search: many schedules grow side by side, and at every stage those that wasted least go on.

A stage ends at an instant, the same for all. Each schedule that has come so far goes on by several random plans
(:mod:`coalloc.solvers.search.plans`), or on one pool by knapsacks (:mod:`coalloc.solvers.search.knapsack_growth`);
of all that this gives, those survive whose started jobs are worth most. The dual prices are those of a bound: at those
no tick can be worth more than 1, so what a schedule falls short of that is ticks by which it must end after the bound
(docs/mathematics/searches.md, "Beam search"). That guides, and proves nothing: whoever is dropped might have become the
best, and no bound is drawn from it.
Source: P. Ow, T. Morton, "Filtered beam search in scheduling", International Journal of Production Research 26 (1988);
that several plans go on from one schedule: D. Aldous, U. Vazirani, "Go with the winners algorithms", FOCS (1994).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment
from coalloc.solvers.bounds.simple import fastest_durations
from coalloc.solvers.search.growth import Growth, GrowthPlans, Knapsacks, Partials
from coalloc.solvers.search.knapsack_growth import KnapsackPlanner
from coalloc.solvers.search.plans import Planner

LEAST_STAGES, MORE_STAGES = 10, 90
"""Stages of a round at least, and at most how many more; no more of these than half the number of jobs."""
PATIENCE = 30
"""Rounds of no use after which they begin anew: they get stuck beside a good one."""
RESUMED = 0.9
"""Share of the rounds that go on from a stage of the best round so far."""
AREA_SHARES = (0.1, 4.0)
"""Range of the share at which a job's area counts beside its price, for jobs that cost nothing have to run, too."""
MOST_URGENCY = 0.1
"""Largest share by which work that is wide and long is worth more than its price."""

Floats = NDArray[np.float64]


class Width(NamedTuple):
    """Number of schedules that go on from a stage, and number that are made in one."""

    survivors: int
    children: int


WIDTH, PACKED = Width(12, 60), Width(100, 500)
"""Widths for plans, and for knapsacks."""


class Branching(Protocol):
    """Says in which ways schedules go on."""

    def begun(self, rng: np.random.Generator) -> Floats:
        """Return the traits, a column, of a schedule in which nothing has started."""

    def ways(
        self, traits: Floats, worths: Floats, rng: np.random.Generator
    ) -> tuple[GrowthPlans, Floats] | tuple[Knapsacks, Floats]:
        """Return ways, drawn at random, for parents with such traits, and their traits; worths of jobs are ticks."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """The schedules that have come to a stage, the best first, and what is left.

    ``least`` is the loss of the best (infinity where there is none), ``left`` the instants, ticks, of the stages to
    come.
    """

    partials: Partials
    least: float
    left: list[float]


class BeamSearch:
    """Rounds of beam search in a growth; the same seed gives the same rounds, unless the deadline strikes.

    Parameters
    ----------
    lower_bound
        On the latest end, ticks.
    dual_prices
        What each job is worth at the prices of the bound, ticks; 0 where it has none.
    deadline
        Instant of ``time.perf_counter()``, s, at which a round gives up.
    by_knapsacks
        Whether schedules go on by knapsacks, on one pool, and not by plans.
    """

    def __init__(
        self,
        growth: Growth,
        *,
        lower_bound: float,
        dual_prices: Sequence[float],
        seed: int,
        deadline: float = math.inf,
        by_knapsacks: bool = False,
    ) -> None:
        self.deadline = deadline
        self._lower_bound = lower_bound
        self._rng = np.random.default_rng(seed)
        problem, self._growth = growth.problem, growth
        self._branching: Branching
        if by_knapsacks:
            self._branching, self._width = KnapsackPlanner(problem, dual_prices), PACKED
        else:
            self._branching = Planner(problem, lower_bound)
            self._width = WIDTH
        self._path: list[_Stage] = []
        self._end, self._idle = math.inf, 0
        self._dual_prices = np.array(dual_prices, dtype=float)
        self._areas = _scaled(np.array([min(of_job) for of_job in growth.costs]), lower_bound)
        durations = np.array(fastest_durations(problem), dtype=float)
        tasks = np.array([job.tasks for job in problem.jobs], dtype=float)
        self._urgencies = _scaled(np.log1p(tasks * durations), len(tasks)) - 1.0

    def round(self) -> list[Assignment] | None:
        """Return the best of the schedules that one round grows; None where it is no better than what is gone on from.

        That is the best round so far, or since rounds went on from nothing: after some of no use they do so again.
        """
        self._idle += 1
        if self._idle > PATIENCE:
            self._path, self._end, self._idle = [], math.inf, 0
        path = self._begun()
        dual_prices = self._drawn_prices()
        while math.isfinite(path[-1].least) and path[-1].left and time.perf_counter() <= self.deadline:
            path.append(self._next(path[-1], dual_prices))
        last = path[-1]
        if last.left or last.least >= self._end:
            return None
        self._path, self._end, self._idle = path, last.least, 0
        return last.partials.assignments(0)

    def _begun(self) -> list[_Stage]:
        """Return the stages that a round starts with: none but its beginning, or some of the best round so far."""
        rng = self._rng
        if self._path and rng.random() < RESUMED:
            return self._path[: 1 + int(rng.integers(len(self._path) - 1))]
        count = LEAST_STAGES + int(rng.integers(1 + min(MORE_STAGES, len(self._dual_prices) // 2)))
        instants = [self._lower_bound * (stage + 1) / count for stage in range(count - 1)]
        return [_Stage(self._growth.begun(self._branching.begun(rng)), 0.0, [*instants, math.inf])]

    def _next(self, stage: _Stage, dual_prices: Floats) -> _Stage:
        """Return the stage after a stage."""
        instant, *left = stage.left
        num_parents = len(stage.partials.starts)
        parents = np.repeat(np.arange(num_parents), self._width.children // num_parents)
        ways, traits = self._branching.ways(stage.partials.traits[:, parents], dual_prices, self._rng)
        limits = {"until": instant, "before": self._end, "deadline": self.deadline}
        grown = self._growth.grown(stage.partials, parents, ways, traits, **limits)
        losses = _losses(grown, dual_prices, instant)
        survivors = _distinct(losses, np.isfinite(grown.starts).sum(axis=1), self._width.survivors)
        least = float(losses[survivors[0]]) if survivors else math.inf
        return _Stage(grown.chosen(survivors), least, left)

    def _drawn_prices(self) -> Floats:
        """Return what each job is worth in this round: its price, a share of its area, more where it is urgent."""
        least, most = np.log(AREA_SHARES)
        dual_prices = self._dual_prices + math.exp(self._rng.uniform(least, most)) * self._areas
        drawn_prices: Floats = dual_prices * (1.0 + MOST_URGENCY * self._rng.random() * self._urgencies)
        return drawn_prices


def _losses(partials: Partials, dual_prices: Floats, instant: float) -> Floats:
    """Return the negative of what each schedule has done up to an instant; at the end, the latest end."""
    starts, ends = partials.starts, partials.ends
    if math.isinf(instant):
        latest: Floats = ends.max(axis=1)
        return latest
    is_over = ends <= instant
    runs = (starts < instant) & ~is_over
    ticks = np.subtract(ends, starts, out=np.ones_like(starts), where=runs)
    done = is_over + np.divide(instant - starts, ticks, out=np.zeros_like(starts), where=runs)
    losses: Floats = -(done @ dual_prices)
    return losses


def _distinct(losses: Floats, num_started: NDArray[np.intp], most: int) -> list[int]:
    """Return so many schedules at most, by number, no two that have done the same, the best first."""
    # Equal in what they did and in how many started: nearly always the same jobs, and else one of many is lost.
    keys, different = list(zip(losses.tolist(), num_started.tolist(), strict=True)), dict[tuple[float, int], int]()
    for number in np.argsort(losses, kind="stable").tolist():
        if len(different) < most:
            different.setdefault(keys[number], number)
    return list(different.values())


def _scaled(values: Floats, total: float) -> Floats:
    """Return values with this sum, where they have one."""
    known = float(values.sum())
    scaled: Floats = values * (total / known) if known > 0.0 else values
    return scaled
