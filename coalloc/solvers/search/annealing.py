"""Simulated annealing over lists: an order of the jobs, and for each the ways in which it may be placed.

Serial generation (:mod:`coalloc.rules.serial_sgs`) makes the schedule of a list: every job ends as
early as its way allows, which is up to a slowest level, in a filling rule, or in one mode.
Neighbours move a job, swap two, or give one another way. Which are taken is decided by simulated
annealing, in rounds that each begin at the best list and last twice as long as the one before. Only
what follows the first change is placed anew. A portfolio anneals so what the engine does not take
(:mod:`coalloc.solvers.search.list_annealing`): rows and calendars, budgets, latest ends, spreads, costs that are no
ramps. Source: S. Kirkpatrick, C. Gelatt, M. Vecchi, "Optimization by simulated
annealing", Science 220 (1983).
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coalloc.objectives import Criterion, Objective
from coalloc.problem import Assignment, Problem
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import FILLING_RULES, Generation, Way, book, named_orders
from coalloc.solvers.bounds.simple import fastest_durations
from coalloc.solvers.effort import Effort
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.list_annealing import earliness_weights
from coalloc.solvers.traits import Trait

FIRST_ROUND = 25
"""Lists tried in the first round, per job."""
HEAT = 0.002
"""Temperature at which a round begins, as a share of the best objective; it falls to 0."""
INSERT, SWAP = 0.5, 0.3
"""Probabilities of two of the moves; else a job is given another way."""
FIXED = 0.1
"""Probability that another way is a fixed mode, where they are few."""
ONE_SHAPE = 0.6
"""Probability that another way of a moldable job is a level alone, with its shape."""
ITERATIONS = 15
"""Iterations in a portfolio, times the number of jobs squared: the fewer jobs, the more complete methods do."""
SHARE = 0.4
"""Share of the remaining time of a portfolio after which it stops."""
MOST_FOR_IDEAL_ORDER = 60
"""Jobs up to which the order by difference to the ideal is tried, for it takes a square number of placements."""
MOST_PROFILES = 1_000
"""Jobs up to which what is free before each job of a list is kept: it takes the square of them in memory."""

NOISE = 1e-12
"""Share of a cost that its last digits may differ by."""


@dataclass(frozen=True, slots=True)
class _List:
    """Jobs (indices) in order, and the way of each, by index of the job."""

    order: tuple[int, ...]
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class _Decoded:
    """A list and its schedule; ``profiles[i]`` is what is free before the i-th job is placed, if they are kept.

    ``objective`` is that of the criterion; ``cost`` is what the search goes by, no less than it.
    """

    jobs: _List
    assignments: list[Assignment]
    profiles: list[Profile]
    objective: float
    cost: float


def improve(
    problem: Problem,
    assignments: Sequence[Assignment],
    effort: Effort,
    *,
    objective: str | Objective = "makespan",
) -> list[Assignment]:
    """Return the best schedule found, never worse than ``assignments``.

    ``effort.iterations`` are the lists tried after the first ones; ``objective`` is a regular one, or its name.
    """
    decoder = _Decoder(Criterion.of(problem, objective), effort.deadline)
    best = list(assignments)
    value = decoder.criterion.value(best)
    for decoded in _search(decoder, assignments, effort):
        if decoded is not None and decoded.objective < value:
            best, value = decoded.assignments, decoded.objective
            effort.on_schedule(list(best))
        if effort.ends_at(value):
            break
    return best


def _search(decoder: _Decoder, assignments: Sequence[Assignment], effort: Effort) -> Iterator[_Decoded | None]:
    """Yield what each list tried gives: None where it was given up, for it would not be taken."""
    if not assignments:
        return
    best: _Decoded | None = None
    for jobs in _first_lists(decoder, assignments, effort.deadline):
        decoded = decoder.decode(jobs)
        if decoded is None:
            continue
        best = decoded if best is None or (decoded.objective, decoded.cost) < (best.objective, best.cost) else best
        yield decoded
    if best is None:
        return
    rng, iterations, length = np.random.default_rng(effort.seed), effort.iterations, FIRST_ROUND * len(assignments)
    while iterations > 0:
        length = min(length, iterations)
        best = yield from _round(decoder, best, length, rng)
        iterations, length = iterations - length, 2 * length


def _round(
    decoder: _Decoder, best: _Decoded, length: int, rng: np.random.Generator
) -> Generator[_Decoded | None, None, _Decoded]:
    """Yield what each list of a round of annealing gives; return the best so far."""
    now = best
    for step in range(length):
        heat = HEAT * abs(best.objective) * (1.0 - step / length)
        ceiling = now.cost - heat * math.log(1.0 - rng.random())
        first, jobs = _neighbour(decoder.generation, now.jobs, rng)
        candidate = decoder.redecode(now, jobs, first, ceiling)
        now = candidate or now
        best = now if (now.objective, now.cost) < (best.objective, best.cost) else best
        yield candidate
    return best


class _Decoder:
    """Makes schedules of lists."""

    def __init__(self, criterion: Criterion, deadline: float) -> None:
        self.criterion = criterion
        self._deadline = deadline
        self.problem = problem = criterion.problem
        self.generation = Generation(problem)
        self._empty = Profile(problem)
        self._keeps_profiles = len(problem.jobs) <= MOST_PROFILES
        self._weights = earliness_weights(criterion)

    def decode(self, jobs: _List) -> _Decoded | None:
        """Return the schedule of a list; None where constraints forbid its order, or at the deadline."""
        return self._place(jobs, [], [self._empty], math.inf)

    def redecode(self, before: _Decoded, jobs: _List, first: int, worst: float) -> _Decoded | None:
        """Return the schedule of a list that is as ``before`` up to ``first``; None where it costs over ``worst``."""
        kept = before.assignments[:first]
        profiles = before.profiles[: first + 1] if self._keeps_profiles else [self._booked(kept)]
        return self._place(jobs, kept, profiles, worst)

    def _booked(self, assignments: Sequence[Assignment]) -> Profile:
        """Return what assignments leave free."""
        profile = self._empty.copy()
        for assignment in assignments:
            book(profile, assignment)
        return profile

    def _place(
        self, jobs: _List, assignments: list[Assignment], profiles: list[Profile], worst: float
    ) -> _Decoded | None:
        """Place the jobs that are not placed yet."""
        criterion, is_sum, alone = self.criterion, self.criterion.is_sum, self.criterion.alone
        costs = criterion.costs(assignments)
        later = sum(alone[j] for j in jobs.order[len(assignments) :])
        done = sum(costs) if is_sum else max(costs, default=-math.inf)
        profile = profiles[-1].copy()
        for j in jobs.order[len(assignments) :]:
            placed = self.generation.place(profile, j, jobs.ways[j])
            if placed is None or time.perf_counter() > self._deadline:
                return None
            later -= alone[j]
            cost = criterion.cost(j, placed.start, placed.end)
            done = done + cost if is_sum else max(done, cost)
            if done + (later if is_sum else 0.0) > worst + NOISE * abs(worst):
                return None  # no job costs less beside others than alone, so the whole list would cost more as well
            book(profile, placed)
            assignments.append(placed)
            if self._keeps_profiles:
                profiles.append(profile.copy())
        objective = criterion.value(assignments)
        cost = objective + sum(self._weights[a.job] * a.end for a in assignments)
        return _Decoded(jobs, assignments, profiles, objective, cost) if cost <= worst else None


def _any_way(problem: Problem) -> tuple[Way, ...]:
    """Return for each job the way that forbids nothing."""
    return tuple((len(levels) - 1, 0) for levels in problem.levels)


def _first_lists(decoder: _Decoder, assignments: Sequence[Assignment], deadline: float) -> Iterator[_List]:
    """Yield the given order, the named ones and the one by difference to the ideal, then the given modes.

    Fixed modes come last, for a search that starts from them is the least free to move.
    """
    problem = decoder.problem
    ways = _any_way(problem)
    order = tuple(a.job for a in sorted(assignments, key=lambda a: (a.start, a.job)))
    for jobs in (order, *named_orders(problem)):
        yield _List(tuple(jobs), ways)
    ideal = tuple(_ideal_order(decoder.generation, deadline)) if len(order) <= MOST_FOR_IDEAL_ORDER else ()
    if len(ideal) == len(order):
        yield _List(ideal, ways)
    given = {a.job: a.mode for a in assignments}
    yield _List(order, tuple(given[j] for j in range(len(given))))


def _ideal_order(generation: Generation, deadline: float) -> Iterator[int]:
    """Yield the jobs so that the next is always the one that takes least longer than it would alone on the fastest.

    The choice of MESD; ties keep the order of arrival (thesis, section 3.3; errata 14), as do those that are left at
    the deadline.
    """
    problem = generation.problem
    fastest, profile = fastest_durations(problem), Profile(problem)
    left = sorted(range(len(problem.jobs)), key=lambda j: problem.releases[j])
    while left and time.perf_counter() <= deadline:
        placed = [a for a in (generation.earliest_end(profile, j) for j in left) if a is not None]
        if not placed:
            return
        chosen = min(placed, key=lambda a: a.end - problem.releases[a.job] - fastest[a.job])
        book(profile, chosen)
        left.remove(chosen.job)
        yield chosen.job
    yield from left


def _neighbour(generation: Generation, jobs: _List, rng: np.random.Generator) -> tuple[int, _List]:
    """Return a list beside this one, and the first place at which they differ."""
    order = list(jobs.order)
    i = int(rng.integers(len(order)))
    move = rng.random()
    if len(order) == 1 or move >= INSERT + SWAP:
        j = order[i]
        return i, _List(jobs.order, (*jobs.ways[:j], _another_way(generation, j, rng), *jobs.ways[j + 1 :]))
    k = (i + int(rng.integers(1, len(order)))) % len(order)
    if move < INSERT:
        order.insert(k, order.pop(i))
    else:
        order[i], order[k] = order[k], order[i]
    return min(i, k), _List(tuple(order), jobs.ways)


def _another_way(generation: Generation, j: int, rng: np.random.Generator) -> Way:
    """Return a random way to place a job."""
    if rng.random() < FIXED:
        modes = generation.few_modes(j)
        if modes:
            return modes[int(rng.integers(len(modes)))]
    problem, rule = generation.problem, int(rng.integers(len(FILLING_RULES)))
    level = int(rng.integers(len(problem.levels[j])))
    return ~level if problem.jobs[j].shapes and rng.random() < ONE_SHAPE else level, rule


def _run(incumbent: Incumbent) -> None:
    """Anneal from the best assignments."""
    improve(
        incumbent.problem,
        incumbent.best,
        incumbent.effort(ITERATIONS * len(incumbent.problem.jobs) ** 2, METHOD.name),
        objective=incumbent.criterion.objective,
    )


METHOD = Method(
    "simulated annealing",
    _run,
    Trait.SCHEDULE,
    instead_of=("list annealing",),
    share=SHARE,
    repeats=True,
)
