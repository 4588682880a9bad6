"""Sampling: parallel generation by plans drawn at random, and by plans beside the best one.

A plan orders the jobs by a mixture of how wide and how long they are, blurred, and says how picky it is
about levels, and until when. Each schedule takes a millisecond or so, which is why many are tried before
simulated annealing goes on from the best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment, Problem
from coalloc.rules.parallel_generation import ParallelGeneration, Plan
from coalloc.rules.serial_generation import FILLING_RULES, Generation
from coalloc.solvers.bounds.area import efficiencies
from coalloc.solvers.bounds.simple import fastest_durations
from coalloc.solvers.context import Context
from coalloc.solvers.effort import Effort
from coalloc.solvers.method import Method

FRESH = 0.3
"""Share of the plans that are drawn anew, and not beside the best so far."""

PATIENCE = 500
"""Plans without a better schedule after which sampling begins anew: it gets stuck beside a good plan."""

SAMPLES = 45
"""Plans that are sampled in a portfolio, times the number of jobs to the power of 3/2."""
SHARE, SHORT_SHARE = 0.25, 0.05
"""Shares of the remaining time of a portfolio after which it stops: the second where beam search comes next."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a plan is drawn by: ``width`` is the weight of a job's tasks against its duration (logarithms)."""

    width: float
    threshold: float
    relaxed_share: float
    latest_share: float
    blur: float


def sample(
    problem: Problem,
    assignments: Sequence[Assignment],
    effort: Effort,
    *,
    lower_bound: float,
) -> list[Assignment]:
    """Return the schedule of least latest end among those sampled and the given one.

    ``effort.iterations`` are samples; plans are drawn relative to ``lower_bound``, on the latest end, ticks.
    """
    best, end = list(assignments), max((a.end for a in assignments), default=0.0)
    if effort.ends_at(end):
        return best
    generation = ParallelGeneration(Generation(problem), efficiencies(problem, effort.deadline - time.perf_counter()))
    plans, rng = Plans(problem, lower_bound), np.random.default_rng(effort.seed)
    traits, sampled, idle = drawn(rng), math.inf, 0
    for _ in range(effort.iterations):
        if effort.ends_at(end):
            break
        sampled, idle = (sampled, idle + 1) if idle < PATIENCE else (math.inf, 0)
        tried = drawn(rng) if math.isinf(sampled) or rng.random() < FRESH else varied(traits, rng)
        found = generation.schedule(plans.plan(tried, rng), before=sampled)
        if found is None:
            continue
        traits, sampled, idle = tried, max(a.end for a in found), 0
        if sampled < end:
            best, end = found, sampled
            effort.on_schedule(list(best))
    return best


def drawn(rng: np.random.Generator) -> Traits:
    """Return traits drawn anew."""
    return Traits(
        width=1.0 / (1.0 - rng.uniform(-0.4, 0.95)) - 1.0,
        threshold=1.0 - 0.6 * rng.random() ** 2,
        relaxed_share=rng.uniform(0.5, 1.1),
        latest_share=rng.uniform(1.0, 1.15),
        blur=rng.uniform(0.0, 0.3),
    )


def varied(traits: Traits, rng: np.random.Generator) -> Traits:
    """Return traits beside others."""
    return Traits(
        width=traits.width + 0.1 * rng.normal(),
        threshold=traits.threshold + 0.05 * rng.normal(),
        relaxed_share=traits.relaxed_share + 0.05 * rng.normal(),
        latest_share=traits.latest_share + 0.01 * rng.normal(),
        blur=abs(traits.blur + 0.05 * rng.normal()),
    )


class Plans:
    """Makes plans for one problem, relative to a lower bound (ticks) on the latest end."""

    def __init__(self, problem: Problem, lower_bound: float) -> None:
        self._lower_bound = lower_bound
        self._widths = np.log([job.tasks for job in problem.jobs])
        self._lengths = np.log(np.maximum(np.array(fastest_durations(problem), dtype=float), 1e-9))

    def plan(self, traits: Traits, rng: np.random.Generator) -> Plan:
        """Return a plan by traits."""
        blur = traits.blur * rng.normal(size=len(self._widths))
        urgency = traits.width * self._widths + self._lengths + blur
        return Plan(
            order=tuple(np.argsort(-urgency, kind="stable").tolist()),
            threshold=min(1.0, traits.threshold),
            relaxed=traits.relaxed_share * self._lower_bound,
            latest=traits.latest_share * self._lower_bound,
            rule=int(rng.integers(len(FILLING_RULES))),
        )


def _run(context: Context) -> None:
    """Sample beside the best assignments."""
    sample(
        context.problem,
        context.best,
        context.effort(int(SAMPLES * len(context.problem.jobs) ** 1.5), METHOD.name),
        lower_bound=context.proven,
    )


def _accepts(context: Context) -> bool:
    return context.is_free and context.criterion.objective.is_latest_end and not context.is_large


def _accepts_large(context: Context) -> bool:
    return context.is_free and context.criterion.objective.is_latest_end and context.is_large


METHOD = Method("sampling", _run, _accepts, share=SHARE, repeats=True)
SHORT = Method("sampling", _run, _accepts_large, share=SHORT_SHARE, repeats=True)
