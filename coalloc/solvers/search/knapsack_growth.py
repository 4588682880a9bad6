"""Growth by knapsacks: on one pool of equal processors, what starts next is what is worth most together.

A list leaves processors idle wherever the next job on it is too wide, though others would fill them. Here a knapsack
over the processors that are free chooses, of all jobs that wait, those that are worth most: at prices that hardly
differ from the work of jobs it leaves nothing idle as long as there is enough to choose from. What a job is worth is
blurred, and leans to wide or long ones, or to those that end when something else does; so one schedule goes on
in many ways, of which a beam search (:mod:`coalloc.solvers.search.beam_search`) keeps the best. Derivation:
docs/mathematics.md, "Serial schedules".
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment, Problem
from coalloc.solvers.special.bin_packing import are_rectangles, placed_in_order

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEANINGS = (0.001, 0.3)
"""Range of the share by which the widest, or longest, job is worth more than the narrowest, or shortest."""
BLURS = (0.001, 0.3)
"""Range of the share by which jobs are worth more at random."""
BONUSES = (0.001, 1.0)
"""Range of the share by which a job is worth more that ends together with something that runs."""
NO_BONUS = 0.3
"""Share of the schedules that go on without."""
NEARNESS = (0.015, 0.3)
"""Range, in mean run times, of how far an end may be from another to count as near."""
LEAST_WORTH = 0.1
"""What a job is worth per tick at least, as a share of the processors that it takes: worth nothing, it never starts."""
MOST_ENTRIES = 200_000
"""Jobs times processors (in units of what all jobs are multiples of) up to which knapsacks are solved in time."""
TRIED_AT_ONCE = 2_000_000
"""Entries of knapsacks, one for each schedule, that are computed between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Partial schedules: ``starts``, shape ``(num_schedules, num_jobs)``, ticks, infinity where a job waits.

    ``instants`` are those to which they have come, ticks.
    """

    problem: Problem
    starts: Floats
    ends: Floats
    instants: Floats

    def chosen(self, numbers: Sequence[int]) -> Packed:
        """Return some of them."""
        kept = list(numbers)
        return Packed(self.problem, self.starts[kept], self.ends[kept], self.instants[kept])

    def assignments(self, number: int) -> list[Assignment]:
        """Return what one of them comes to when every job starts as early as it fits, in the order in which they do."""
        starts = self.starts[number]
        started = [j for j in np.argsort(starts, kind="stable").tolist() if math.isfinite(starts[j])]
        return placed_in_order(self.problem, started)


class KnapsackGrowth:
    """Makes schedules of one pool grow; ``dual_prices``, ticks by job, are those of a bound."""

    def __init__(self, problem: Problem, dual_prices: Sequence[float]) -> None:
        self._problem = problem
        self._unit = _unit(problem)
        self._capacity = sum(problem.capacities) // self._unit
        ticks = np.array([levels[0].duration for levels in problem.levels], dtype=float)
        tasks = np.array([job.tasks // self._unit for job in problem.jobs], dtype=np.int64)
        self._jobs = np.array(problem.releases, dtype=float), ticks, tasks
        held = [(busy.end, -(-sum(busy.allocation) // self._unit)) for busy in problem.busy]
        self._held = np.array(held, dtype=float).reshape(len(held), 2)
        self._prices = np.array(dual_prices, dtype=float) / ticks
        self._least_worths = LEAST_WORTH * tasks / self._capacity
        self._leanings = np.stack([_spread(tasks), _spread(ticks)])
        num_jobs, num_ends = len(tasks), len(tasks) + len(held)
        self._scratch: tuple[Any, ...] = (
            np.empty(num_jobs, np.int64),
            np.empty(num_ends),
            np.empty(num_ends, np.int64),
            (np.empty(num_jobs, np.int64), np.empty(num_jobs)),
            (
                np.empty(self._capacity + 1),
                np.empty((num_jobs, self._capacity + 1), np.bool_),
                np.empty(num_jobs, np.int64),
            ),
        )

    def begun(self, rng: np.random.Generator) -> Packed:  # noqa: ARG002 - nothing is drawn for it
        """Return one schedule in which nothing has started."""
        nothing = np.full((1, len(self._problem.jobs)), np.inf)
        return Packed(self._problem, nothing, nothing, np.array([min(self._problem.releases)]))

    def grown(
        self,
        partials: Packed,
        parents: Sequence[int],
        worths: Floats,
        rng: np.random.Generator,
        *,
        until: float,
        before: float,
        deadline: float,
    ) -> Packed:
        """Return what becomes of parents; see :meth:`coalloc.solvers.search.beam_search.Branching.grown`."""
        from coalloc.solvers.search.knapsack_kernel import grow

        number, num_jobs = len(parents), len(worths)
        ticks = self._jobs[1]
        rates = self._drawn_rates(np.maximum(worths / ticks, self._least_worths), number, rng)
        bonuses = np.where(rng.random(number) < NO_BONUS, 0.0, _drawn(rng, BONUSES, number))
        nearness = _drawn(rng, NEARNESS, number) * ticks.mean()
        given, parts = (partials.starts, partials.instants), list[tuple[Floats, Floats]]()
        chunk = max(1, TRIED_AT_ONCE // (num_jobs * self._capacity))
        for first in range(0, number, chunk):
            part = slice(first, first + chunk)
            made = np.empty((len(rates[part]), num_jobs)), np.empty(len(rates[part]))
            size = grow(
                np.array(parents[part], dtype=np.int64),
                given,
                made,
                self._capacity,
                self._jobs,
                self._held,
                rates[part],
                bonuses[part],
                nearness[part],
                until,
                before,
                self._prices,
                self._scratch,
            )
            parts.append((made[0][:size], made[1][:size]))
            if time.perf_counter() > deadline:
                break
        starts, instants = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return Packed(self._problem, starts, starts + ticks, instants)

    def _drawn_rates(self, rates: Floats, number: int, rng: np.random.Generator) -> Floats:
        """Return what each job is worth per tick, a row per schedule, drawn beside what it is."""
        share = rng.random((number, 1))
        leaning = _drawn(rng, LEANINGS, number)[:, None] * (
            share * self._leanings[0] + (1.0 - share) * self._leanings[1]
        )
        blur = _drawn(rng, BLURS, number)[:, None] * rng.random((number, len(rates)))
        drawn: Floats = rates * (1.0 + leaning + blur)
        return drawn


def accepts(problem: Problem) -> bool:
    """Return whether any processors are as good as any others, and are few enough for knapsacks."""
    if not problem.jobs or not are_rectangles(problem):
        return False
    if min(levels[0].duration for levels in problem.levels) <= 0.0:
        return False
    return len(problem.jobs) * (sum(problem.capacities) // _unit(problem)) <= MOST_ENTRIES


def _unit(problem: Problem) -> int:
    """Return the number of processors of which each job takes a multiple."""
    return reduce(math.gcd, (job.tasks for job in problem.jobs))


def _spread(sizes: NDArray[Any]) -> Floats:
    """Return the logarithms of sizes, from 0 for the least to 1 for the greatest."""
    logarithms = np.log1p(sizes)
    span = float(np.ptp(logarithms))
    spread: Floats = (logarithms - logarithms.min()) / (span or 1.0)
    return spread


def _drawn(rng: np.random.Generator, span: tuple[float, float], number: int) -> Floats:
    """Return numbers that are drawn from a range, uniform in their logarithms."""
    drawn: Floats = np.exp(rng.uniform(math.log(span[0]), math.log(span[1]), number))
    return drawn
