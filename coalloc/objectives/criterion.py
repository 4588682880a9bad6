"""A regular objective on the clock of a problem: what searches and models count.

Where every job costs its end, costs are in ticks: whole slots of a slotted problem, so that whole numbers are
compared. Else they are in the unit in which the objective is reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from coalloc.objectives.objective import Objective, RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear, Ramp, as_ramp, ramp_below
from coalloc.objectives.registry import OBJECTIVES, regular_objective
from coalloc.objectives.regularity import refuse_irregular
from coalloc.problem import Assignment, Problem, numbered

ROUNDING = 1e-9
"""Share of a cost that its arithmetic may lose."""
HALVINGS = 64
"""Halvings of the span in which the latest useful end is looked for."""


@dataclass(frozen=True)
class Criterion:
    """Cost of the assignments of a problem under a regular objective, and its conversion to the reported value."""

    problem: Problem
    objective: RegularObjective

    @classmethod
    def of(cls, problem: Problem, objective: str | Objective) -> Criterion:
        """Return the criterion of an objective, or of its name; raise where one of the user's own is not regular."""
        found = regular_objective(objective)
        if OBJECTIVES.builtin.get(found.name) is not found:
            refuse_irregular(problem, found)
        return cls(problem, found)

    @property
    def is_sum(self) -> bool:
        """Whether costs are added up; else the greatest counts."""
        return self.objective.aggregate == "sum"

    @property
    def is_integral(self) -> bool:
        """Whether every schedule costs a whole number."""
        return self.objective.counts_ends and self.problem.slot is not None

    @property
    def step(self) -> float:
        """Least difference of two different reported objectives; 0 where they may be as close as they like."""
        return (
            self.problem.clock.seconds(1) / self.objective.divisor(self.problem.instance) if self.is_integral else 0.0
        )

    @property
    def tick(self) -> float:
        """Cost of an end that is a tick later, for a job that costs its end, in the unit of costs."""
        return 1.0 if self.objective.counts_ends else self.problem.clock.seconds(1)

    @cached_property
    def end_lags(self) -> tuple[int, ...]:
        """The jobs, by index, that must not be held for longer than they run: some cost less then, or keep a row."""
        never_less = self.objective.counts_ends or self.objective.is_monotone
        return self.problem.end_lags if never_less else tuple(range(len(self.problem.jobs)))

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """The kind of each job, shape ``(num_jobs,)``: those of one may be exchanged, and cost the same then."""
        told_apart = map(self.objective.tells_apart_by, self.problem.jobs)
        return numbered(zip(self.problem.kinds, told_apart, strict=True))

    @cached_property
    def equal_pairs(self) -> tuple[tuple[int, int], ...]:
        """Each job with the next of its kind: some optimal schedule has it start no later.

        Proof: docs/mathematics/execution-model.md, "Equal jobs".
        """
        last: dict[int, int] = {}
        pairs = []
        for j, kind in enumerate(self.kinds):
            if kind in last:
                pairs.append((last[kind], j))
            last[kind] = j
        return tuple(pairs)

    def in_order(self, assignments: Sequence[Assignment]) -> list[Assignment]:
        """Return assignments that cost the same and in which jobs of a kind start in the order of their numbers."""
        left: dict[int, list[Assignment]] = {}
        for a in sorted(assignments, key=lambda a: (a.start, a.job), reverse=True):
            left.setdefault(self.kinds[a.job], []).append(a)
        earliest = ((j, left[self.kinds[j]].pop()) for j in sorted(a.job for a in assignments))
        jobs, mode = self.problem.jobs, self.problem.allocations.mode
        return [a if a.job == j else Assignment(j, a.start, mode(jobs[j], a.mode.allocation)) for j, a in earliest]

    def cost(self, job: int, start: float, end: float) -> float:
        """Return what a job (by index) costs that runs from ``start`` to ``end`` (ticks).

        What is less than the greatest cost is at the least counts as that: no maximum changes by it.
        """
        if self.objective.counts_ends:
            return end
        return max(self._own_cost(job, start, end), self.least_cost)

    def _own_cost(self, job: int, start: float, end: float) -> float:
        seconds = self.problem.clock.seconds
        return self.objective.cost(self.problem.jobs[job], seconds(start), seconds(end))

    @cached_property
    def least_cost(self) -> float:
        """Least possible cost: of a maximum the greatest cost that some job has at least; of a sum minus infinity."""
        if self.is_sum:
            return -math.inf
        return max((self._alone(j, self._own_cost) for j in range(len(self.problem.jobs))), default=0.0)

    def pieces(self, job: int, duration: float) -> PiecewiseLinear | None:
        """Return what a job (by index) of a duration (ticks) costs by its end, s; None where no pieces are known.

        The end is in ticks where costs are ends.
        """
        if self.objective.counts_ends:
            first = self.problem.releases[job] + duration
            return PiecewiseLinear([(first, first)], 1.0)
        return self.objective.pieces(self.problem.jobs[job], self.problem.clock.seconds(duration))

    def ramp(self, job: int, duration: float) -> Ramp | None:
        """Return what a job (by index) of this duration costs by its start, both in ticks; None where it is no ramp."""
        return self._by_start(job, duration, as_ramp)

    def ramp_below(self, job: int, duration: float) -> Ramp | None:
        """Return a ramp that is nowhere above :meth:`ramp`'s cost within the horizon; None where no pieces are known.

        Some optimal schedule ends within the horizon, so what costs are beyond it does not matter to bounds.
        """
        last = self.problem.clock.seconds(self.problem.horizon_in_turn)
        return self._by_start(job, duration, lambda pieces, first: ramp_below(pieces, first, last))

    def _by_start(
        self, job: int, duration: float, ramp_of: Callable[[PiecewiseLinear, float], Ramp | None]
    ) -> Ramp | None:
        """Return a ramp of the ends of a job, s, as one of its starts, ticks."""
        if self.objective.counts_ends:
            return Ramp(-math.inf, 1.0, duration)
        seconds, pieces = self.problem.clock.seconds, self.pieces(job, duration)
        ramp = None if pieces is None else ramp_of(pieces, seconds(self.problem.releases[job] + duration))
        if ramp is None:
            return None
        return Ramp(ramp.floor, seconds(ramp.slope), ramp.slope * seconds(duration) + ramp.intercept)

    def costs(self, assignments: Sequence[Assignment]) -> list[float]:
        """Return what each assignment costs, in their order."""
        if self.objective.counts_ends:
            return [a.end for a in assignments]
        return [self.cost(a.job, a.start, a.end) for a in assignments]

    def value(self, assignments: Sequence[Assignment]) -> float:
        """Return what assignments of all jobs cost."""
        return self.objective.of_costs(self.costs(assignments))

    def reported(self, cost: float) -> float:
        """Return a cost as the objective is reported; a bound never below what the objective is at least."""
        instance, objective = self.problem.instance, self.objective
        counted = self.problem.clock.seconds(cost) if objective.counts_ends else cost
        return max(objective.least, counted / objective.divisor(instance) - objective.offset(instance))

    def counted(self, reported: float) -> float:
        """Return the cost that is reported so: the greatest whole number that this proves where costs are whole."""
        instance, objective = self.problem.instance, self.objective
        cost = (reported + objective.offset(instance)) * objective.divisor(instance)
        if not self.objective.counts_ends or self.problem.slot is None:
            return cost
        slots = cost / self.problem.slot
        return round(slots) if abs(slots - round(slots)) < 1e-6 else math.floor(slots)

    @cached_property
    def alone(self) -> list[float]:
        """Least cost of each job: as it would be alone at the best of its speed levels."""
        if self.objective.counts_ends:
            fastest = self.problem.speeds.columns.fastest.tolist()
            return [release + duration for release, duration in zip(self.problem.releases, fastest, strict=True)]
        return [self._alone(j, self.cost) for j in range(len(self.problem.jobs))]

    def _alone(self, job: int, cost: Callable[[int, float, float], float]) -> float:
        release = self.problem.releases[job]
        return min(cost(job, release, release + level.duration) for level in self.problem.levels[job])

    def horizon(self, first: Sequence[Assignment] = ()) -> float:
        """Return ticks within which an optimal schedule ends, the less the better ``first`` is.

        No job of an optimal schedule costs more than the best known total less the least costs of the others (for a
        maximum: than the best known), nor does one need to end after all jobs in turn.
        """
        latest = self.problem.horizon_in_turn
        if not first:
            return latest
        if self.objective.is_latest_end:
            return self.value(first)
        known, least = self.value(first), sum(self.alone)
        allowed = (known - (least - alone) if self.is_sum else known for alone in self.alone)
        return max(self._latest_end(j, most, latest) for j, most in enumerate(allowed))

    def _latest_end(self, job: int, most: float, latest: float) -> float:
        """Return ticks after which a job costs more than ``most`` wherever it ends, ``latest`` where it never does."""
        if self.objective.counts_ends:
            return most
        most += ROUNDING * max(1.0, abs(most))
        return max(self._last(job, level.duration, most, latest) for level in self.problem.levels[job])

    def _last(self, job: int, duration: float, most: float, latest: float) -> float:
        """Return the first end found at which a job of this duration costs more than ``most``, by halving."""
        low, high = self.problem.releases[job] + duration, latest
        if self.cost(job, high - duration, high) <= most:
            return high
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0 if self.problem.slot is None else (low + high) // 2
            if middle in (low, high):
                break
            if self.cost(job, middle - duration, middle) <= most:
                low = middle
            else:
                high = middle
        return high
