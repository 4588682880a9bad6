"""Plans, drawn at random, by which schedules of many clusters go on in a beam search.

A plan orders the jobs by a mixture of how wide and how long they are, blurred, and says how picky it is about levels,
and until when.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem
from coalloc.rules.serial_sgs import FILLING_RULES
from coalloc.solvers.bounds.simple import fastest_durations
from coalloc.solvers.search.growth import GrowthPlans

FRESH, NEAR = 0.3, 0.05
"""Share of the plans that are drawn anew, and the standard deviation of others from what brought a schedule."""


Floats = NDArray[np.float64]


def drawn(rng: np.random.Generator, number: int) -> Floats:
    """Return the traits of so many plans, drawn anew: a row each, by which :class:`Planner` makes plans.

    They are the weight of a job's tasks against its duration (logarithms), the threshold, the shares of the bound at
    which it is relaxed and up to which any level may last, and the blur.
    """
    return np.array(
        [
            1.0 / (1.0 - rng.uniform(-0.4, 0.95, number)) - 1.0,
            1.0 - 0.6 * rng.random(number) ** 2,
            rng.uniform(0.5, 1.1, number),
            rng.uniform(1.0, 1.15, number),
            rng.uniform(0.0, 0.3, number),
        ]
    )


def mixed(traits: Floats, rng: np.random.Generator) -> Floats:
    """Return traits beside others, a share of them drawn anew."""
    number = traits.shape[1]
    is_fresh, fresh = rng.random(number) < FRESH, drawn(rng, number)
    moved = traits + NEAR * rng.normal(size=traits.shape)
    moved[-1] = np.abs(moved[-1])
    return np.where(is_fresh, fresh, moved)


class Planner:
    """Makes plans for one problem, relative to a lower bound (ticks) on the latest end."""

    def __init__(self, problem: Problem, lower_bound: float) -> None:
        self._lower_bound = lower_bound
        self._widths = np.log([job.tasks for job in problem.jobs])
        self._lengths = np.log(np.maximum(np.array(fastest_durations(problem), dtype=float), 1e-9))

    def begun(self, rng: np.random.Generator) -> Floats:
        """Return the traits of a schedule that begins; see :class:`coalloc.solvers.search.beam_search.Branching`."""
        return drawn(rng, 1)

    def ways(
        self,
        traits: Floats,
        worths: Floats,  # noqa: ARG002 - plans go by how wide and long jobs are
        rng: np.random.Generator,
    ) -> tuple[GrowthPlans, Floats]:
        """Return plans, nearly those of parents with such traits, and their traits."""
        traits = mixed(traits, rng)
        return self.plans(traits, rng), traits

    def plans(self, traits: Floats, rng: np.random.Generator) -> GrowthPlans:
        """Return plans by traits."""
        width, threshold, relaxed_share, latest_share, blur = traits
        blurred = blur[:, None] * rng.normal(size=(len(blur), len(self._widths)))
        return GrowthPlans(
            urgencies=width[:, None] * self._widths + self._lengths + blurred,
            thresholds=np.minimum(1.0, threshold),
            relaxed=relaxed_share * self._lower_bound,
            latest=latest_share * self._lower_bound,
            rules=rng.integers(len(FILLING_RULES), size=len(blur)),
        )
