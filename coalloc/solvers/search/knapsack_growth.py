"""Growth by knapsacks: on one pool of equal processors, what starts next is what is worth most together.

A list leaves processors idle wherever the next job on it is too wide, though others would fill them. Here a knapsack
over the processors that are free chooses, of all jobs that wait, those that are worth most: at prices that hardly
differ from the work of jobs it leaves nothing idle as long as there is enough to choose from. What a job is worth is
blurred, and leans to wide or long ones, or to those that end when something else does; so one schedule goes on
in many ways, of which a beam search (:mod:`coalloc.solvers.search.beam_search`) keeps the best. Derivation:
docs/mathematics/searches.md, "Beam search".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.rules.tuning import LISTED
from coalloc.solvers.search.growth import Knapsacks
from coalloc.solvers.search.plans import FRESH
from coalloc.solvers.special.bin_packing import are_rectangles

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRAITS, BONUSES = (0.001, 0.3), (0.001, 1.0)
"""Ranges of the shares by which a job is worth more: at random, the widest or longest; what ends with what runs.

Ends are near that differ by a share of the mean run time in this range. What is worth less than the greatest such share
of its processors counts as that much, or it would never start.
"""


class KnapsackPlanner:
    """Draws knapsacks for one pool; ``dual_prices``, ticks by job, are those of a bound."""

    def __init__(self, problem: Problem, dual_prices: Sequence[float]) -> None:
        self._unit, self._ticks = _unit(problem), np.array([of[0].duration for of in problem.levels], dtype=float)
        tasks = np.array([job.tasks for job in problem.jobs])
        self._prices = np.array(dual_prices, dtype=float) / self._ticks
        self._least_worths = TRAITS[1] * tasks / sum(problem.capacities)
        self._leanings = np.stack([_spread(tasks // self._unit), _spread(self._ticks)])

    def begun(self, rng: np.random.Generator) -> Floats:  # noqa: ARG002 - nothing is drawn for it
        """Return the traits of a schedule that begins: none."""
        return np.empty((0, 1))

    def ways(self, traits: Floats, worths: Floats, rng: np.random.Generator) -> tuple[Knapsacks, Floats]:
        """Return knapsacks in which jobs are worth about so many ticks; parents have no traits."""
        number = traits.shape[1]
        knapsacks = Knapsacks(
            worths=self._drawn_rates(np.maximum(worths / self._ticks, self._least_worths), number, rng),
            bonuses=np.where(rng.random(number) < FRESH, 0.0, _drawn(rng, BONUSES, number)),
            nearness=_drawn(rng, TRAITS, number) * self._ticks.mean(),
            unit=self._unit,
            prices=self._prices,
        )
        return knapsacks, traits

    def _drawn_rates(self, rates: Floats, number: int, rng: np.random.Generator) -> Floats:
        """Return what each job is worth per tick, a row per schedule, drawn beside what it is."""
        share = rng.random((number, 1))
        leaning = _drawn(rng, TRAITS, number)[:, None] * (share * self._leanings[0] + (1.0 - share) * self._leanings[1])
        blur = _drawn(rng, TRAITS, number)[:, None] * rng.random((number, len(rates)))
        drawn: Floats = rates * (1.0 + leaning + blur)
        return drawn


def accepts(problem: Problem) -> bool:
    """Return whether any processors are as good as any others, and are few enough for knapsacks."""
    if not problem.jobs or not are_rectangles(problem):
        return False
    if min(levels[0].duration for levels in problem.levels) <= 0.0:
        return False
    return len(problem.jobs) * (sum(problem.capacities) // _unit(problem)) <= LISTED


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
