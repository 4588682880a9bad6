"""Sampling: parallel generation by plans drawn at random, and by plans beside the best one.

A plan orders the jobs by a mixture of how wide and how long they are, blurred, and says how picky it is
about levels, and until when. Each schedule takes a millisecond or so, which is why many are tried before
simulated annealing goes on from the best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Assignment, Problem
from coalloc.rules.serial_sgs import FILLING_RULES
from coalloc.solvers.bounds.area import efficiencies
from coalloc.solvers.bounds.simple import fastest_durations
from coalloc.solvers.effort import Effort
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.growth import Plans, growth_of, is_worth_compiling

FRESH = 0.3
"""Share of the plans that are drawn anew, and not beside the best so far."""

STEPS = (0.1, 0.05, 0.05, 0.01, 0.05)
"""Standard deviations by which the traits of plans beside others differ: width, threshold, shares and blur."""

PATIENCE = 500
"""Plans without a better schedule after which sampling begins anew: it gets stuck beside a good plan."""

SAMPLES = 45
"""Plans that are sampled in a portfolio, times the number of jobs to the power of 3/2."""
SHARE, SHORT_SHARE = 0.25, 0.05
"""Shares of the remaining time of a portfolio after which it stops: the second where beam search comes next."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Traits:
    """What plans are drawn by, an entry of each array per plan.

    ``width`` is the weight of a job's tasks against its duration (logarithms).
    """

    width: Floats
    threshold: Floats
    relaxed_share: Floats
    latest_share: Floats
    blur: Floats

    def chosen(self, numbers: Sequence[int] | NDArray[np.intp]) -> Traits:
        """Return those of some of the plans."""
        return Traits(*(getattr(self, trait.name)[numbers] for trait in fields(self)))


def sample(
    problem: Problem,
    assignments: Sequence[Assignment],
    effort: Effort,
    *,
    lower_bound: float,
    is_compiled: bool = False,
) -> list[Assignment]:
    """Return the schedule of least latest end among those sampled and the given one.

    ``effort.iterations`` are samples; plans are drawn relative to ``lower_bound``, on the latest end, ticks.
    ``is_compiled``: whether machine code makes the schedules, where it can; they are the same.
    """
    best, end = list(assignments), max((a.end for a in assignments), default=0.0)
    if effort.ends_at(end):
        return best
    costs = efficiencies(problem, effort.deadline - time.perf_counter())
    growth = growth_of(problem, costs, is_compiled=is_compiled)
    nothing, planner, rng = growth.begun(), Planner(problem, lower_bound), np.random.default_rng(effort.seed)
    traits, sampled, idle = drawn(rng, 1), math.inf, 0
    for _ in range(effort.iterations):
        if effort.ends_at(end):
            break
        sampled, idle = (sampled, idle + 1) if idle < PATIENCE else (math.inf, 0)
        tried = drawn(rng, 1) if math.isinf(sampled) else mixed(traits, rng)
        found, kept = growth.grown(nothing, [0], planner.plans(tried, rng), until=math.inf, before=sampled)
        if not kept:
            continue
        traits, sampled, idle = tried, float(found.ends.max()), 0
        if sampled < end:
            best, end = found.assignments(0), sampled
            effort.on_schedule(list(best))
    return best


def drawn(rng: np.random.Generator, number: int) -> Traits:
    """Return the traits of so many plans, drawn anew."""
    return Traits(
        width=1.0 / (1.0 - rng.uniform(-0.4, 0.95, number)) - 1.0,
        threshold=1.0 - 0.6 * rng.random(number) ** 2,
        relaxed_share=rng.uniform(0.5, 1.1, number),
        latest_share=rng.uniform(1.0, 1.15, number),
        blur=rng.uniform(0.0, 0.3, number),
    )


def mixed(traits: Traits, rng: np.random.Generator) -> Traits:
    """Return traits beside others, a share of them drawn anew."""
    number = len(traits.width)
    is_fresh, fresh = rng.random(number) < FRESH, drawn(rng, number)
    beside = rng.normal(size=(len(STEPS), number)) * np.array(STEPS)[:, None]
    pairs = zip(fields(traits), beside, strict=True)
    moved = Traits(*(getattr(traits, trait.name) + step for trait, step in pairs))
    moved = replace(moved, blur=np.abs(moved.blur))
    names = [trait.name for trait in fields(traits)]
    return Traits(*(np.where(is_fresh, getattr(fresh, name), getattr(moved, name)) for name in names))


class Planner:
    """Makes plans for one problem, relative to a lower bound (ticks) on the latest end."""

    def __init__(self, problem: Problem, lower_bound: float) -> None:
        self._lower_bound = lower_bound
        self._widths = np.log([job.tasks for job in problem.jobs])
        self._lengths = np.log(np.maximum(np.array(fastest_durations(problem), dtype=float), 1e-9))

    def plans(self, traits: Traits, rng: np.random.Generator) -> Plans:
        """Return plans by traits."""
        number = len(traits.width)
        blur = traits.blur[:, None] * rng.normal(size=(number, len(self._widths)))
        urgency = traits.width[:, None] * self._widths + self._lengths + blur
        return Plans(
            orders=np.argsort(-urgency, axis=1, kind="stable"),
            thresholds=np.minimum(1.0, traits.threshold),
            relaxed=traits.relaxed_share * self._lower_bound,
            latest=traits.latest_share * self._lower_bound,
            rules=rng.integers(len(FILLING_RULES), size=number),
        )


def _run(incumbent: Incumbent) -> None:
    """Sample beside the best assignments."""
    sample(
        incumbent.problem,
        incumbent.best,
        incumbent.effort(int(SAMPLES * len(incumbent.problem.jobs) ** 1.5), METHOD.name),
        lower_bound=incumbent.proven,
        is_compiled=is_worth_compiling(incumbent),
    )


def _accepts(incumbent: Incumbent) -> bool:
    return incumbent.is_free and incumbent.criterion.objective.is_latest_end and not incumbent.is_large


def _accepts_large(incumbent: Incumbent) -> bool:
    return incumbent.is_free and incumbent.criterion.objective.is_latest_end and incumbent.is_large


METHOD = Method("sampling", _run, _accepts, share=SHARE, repeats=True)
SHORT = Method("sampling", _run, _accepts_large, share=SHORT_SHARE, repeats=True)
