"""Large neighbourhoods: a few jobs are taken out of a schedule and put back among the others in the best way.

Three to six jobs are freed: such as end last, such as run about one instant, or any. The others keep their
order and modes and move left. Branch and bound then puts the freed ones back: the next in order
of start, in each of its modes (in each level and filling rule, where these are many), never at or
after an instant by which another freed job could have ended (B. Giffler, G. L. Thompson, "Algorithms for
solving production-scheduling problems", Operations Research 8 (1960); derivation: docs/mathematics.md,
"Serial schedules"). Source: P. Shaw, "Using constraint programming and simulated annealing methods to solve
vehicle routing problems", CP (1998).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from coalloc.objectives import Criterion, Objective
from coalloc.problem import Assignment, Problem
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import FILLING_RULES, Generation, Way, book, start_in_order
from coalloc.solvers.effort import Effort
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.list_annealing import earliness_weights
from coalloc.solvers.traits import Trait

FEWEST, MOST = 3, 6
"""Jobs that are freed at once."""
MAX_WAYS = 12
"""Modes of a job up to which each is tried; else each level with each filling rule is."""
MAX_PLACEMENTS = 1_000
"""Placements tried in one neighbourhood."""
LAST, TOGETHER = 0.4, 0.4
"""Probabilities that the freed jobs are such as end last, or run about one instant; else any are."""
NOISE = 1e-12
"""Share of a cost that its last digits may differ by."""
HEAT = 0.001
"""Mean share of the cost by which a round may raise it."""
ROUNDS = 1
"""Neighbourhoods in a portfolio, per job."""
SHARE = 0.2
"""Share of the remaining time of a portfolio after which it stops."""
MOST_JOBS = 1_000
"""Jobs up to which it runs in a portfolio: each neighbourhood moves all of them left."""


def explore(
    problem: Problem,
    assignments: Sequence[Assignment],
    effort: Effort,
    *,
    objective: str | Objective = "makespan",
) -> list[Assignment]:
    """Return the best schedule found, never worse than ``assignments``.

    ``effort.iterations`` are neighbourhoods, one after another; ``objective`` is a regular one, or its name.
    """
    criterion = Criterion.of(problem, objective)
    best, value = list(assignments), criterion.value(assignments)
    repair = _Repair(criterion, effort.deadline)
    rng = np.random.default_rng(effort.seed)
    now = best
    for _ in range(effort.iterations if assignments else 0):
        if effort.ends_at(value):
            break
        now = repair.round(now, rng)
        if criterion.value(now) < value:
            best, value = now, criterion.value(now)
            effort.on_schedule(list(best))
    return best


@dataclass(slots=True)
class _Best:
    """The cheapest way to put the freed jobs back so far, and how many placements may still be tried."""

    cost: float
    placed: tuple[Assignment, ...] = ()
    placements: int = MAX_PLACEMENTS


class _Repair:
    """Frees jobs of a schedule and puts them back, for one problem and objective."""

    def __init__(self, criterion: Criterion, deadline: float) -> None:
        self._criterion, self._deadline = criterion, deadline
        self._problem = criterion.problem
        self._generation = Generation(self._problem)
        self._ways: dict[int, Sequence[Way]] = {}
        self._weights = earliness_weights(criterion)

    def _ways_of(self, j: int) -> Sequence[Way]:
        """Return the ways to place a job that are tried, made once: where they are few, all that there are."""
        if j not in self._ways:
            self._ways[j] = self._made_ways(j)
        return self._ways[j]

    def _made_ways(self, j: int) -> Sequence[Way]:
        modes = self._generation.few_modes(j)
        if 0 < len(modes) <= MAX_WAYS:
            return modes
        levels: Sequence[int] = range(len(self._problem.levels[j]))
        if self._problem.jobs[j].shapes:
            levels = [~level for level in levels]
        return [(level, rule) for level in levels for rule in range(len(FILLING_RULES))]

    def cost(self, assignments: Sequence[Assignment]) -> float:
        """Return what a round lowers: the objective, and a little of the mean end, which leaves room to move."""
        return self._criterion.value(assignments) + sum([self._weights[a.job] * a.end for a in assignments])

    def round(self, assignments: Sequence[Assignment], rng: np.random.Generator) -> list[Assignment]:
        """Return the schedule after one neighbourhood, moved left; it may cost a little more (:data:`HEAT`)."""
        freed = self._freed(assignments, rng)
        rest = self._moved_left(a for a in assignments if a.job not in freed)
        profile = Profile(self._problem)
        for assignment in rest:
            book(profile, assignment)
        heat = -HEAT * math.log(1.0 - rng.random())
        cost = self.cost(assignments)
        best = _Best(cost + (heat + NOISE) * abs(cost))
        self._place(profile, rng.permutation(sorted(freed)).tolist(), rest, (), best)
        return self._moved_left([*rest, *best.placed]) if best.placed else list(assignments)

    def _moved_left(self, assignments: Iterable[Assignment]) -> list[Assignment]:
        in_order = sorted(assignments, key=lambda a: (a.start, a.job))
        return start_in_order(self._problem, [(a.job, a.mode) for a in in_order])

    def _freed(self, assignments: Sequence[Assignment], rng: np.random.Generator) -> set[int]:
        """Return the jobs to free: such as end last, such as run about an instant, or any."""
        size, kind = int(rng.integers(FEWEST, MOST + 1)), rng.random()
        blur = rng.random(len(assignments))
        starts = np.array([a.start for a in assignments], dtype=float)
        ends = np.array([a.end for a in assignments], dtype=float)
        distances = blur
        if kind < LAST:
            distances = ends.max() - ends + blur * (ends - starts)
        elif kind < LAST + TOGETHER:
            instant = rng.uniform(starts.min(), ends.max())
            distances = np.maximum(0.0, np.maximum(starts - instant, instant - ends)) + blur * (ends - starts)
        return {assignments[i].job for i in np.argsort(distances, kind="stable")[:size]}

    def _place(
        self,
        profile: Profile,
        left: Sequence[int],
        rest: Sequence[Assignment],
        placed: tuple[Assignment, ...],
        best: _Best,
    ) -> None:
        """Put the jobs that are left back in every way that may cost less than the best, in order of their starts."""
        if time.perf_counter() > self._deadline:
            return
        if not left:
            best.cost, best.placed = self.cost([*rest, *placed]), placed
            return
        options = [self._options(profile, j) for j in left]
        best.placements -= sum(map(len, options))
        soonest = [min(of_job, key=lambda a: a.end) for of_job in options]
        # Where all modes are tried, a start that is left out has another way that is no dearer (Giffler and Thompson):
        # in order of start, or with the job first that could end before. Beside one more job no other ends sooner.
        horizon = min(a.end for a in soonest)
        since = placed[-1].start if placed else -math.inf
        kinds = [self._criterion.kinds[j] for j in left]
        for i, of_job in enumerate(options):
            if kinds[i] in kinds[:i]:
                continue  # an equal job in its place makes the same schedules
            others = [*soonest[:i], *soonest[i + 1 :]]
            for option in of_job:
                if option.start < since or option.start >= horizon < option.end or best.placements <= 0:
                    continue
                if self.cost([*rest, *placed, option, *others]) < best.cost:
                    beside = profile.copy()
                    book(beside, option)
                    self._place(beside, [*left[:i], *left[i + 1 :]], rest, (*placed, option), best)

    def _options(self, profile: Profile, j: int) -> list[Assignment]:
        """Return where a job can go, each way at its earliest, without repetition, the earliest end first."""
        placed = [a for a in (self._generation.place(profile, j, way) for way in self._ways_of(j)) if a is not None]
        different = {(a.start, a.mode.allocation): a for a in placed}
        return sorted(different.values(), key=lambda a: a.end)


def _run(incumbent: Incumbent) -> None:
    """Search neighbourhoods of the best assignments."""
    explore(
        incumbent.problem,
        incumbent.best,
        incumbent.effort(ROUNDS * len(incumbent.problem.jobs), METHOD.name),
        objective=incumbent.criterion.objective,
    )


METHOD = Method(
    "large neighbourhood search",
    _run,
    Trait.UNTIED | Trait.SCHEDULE,  # the others are moved left while some are freed
    lambda incumbent: len(incumbent.problem.jobs) <= MOST_JOBS,
    share=SHARE,
    repeats=True,
)
