"""State that the methods of one call share: the problem and its criterion, the best assignments, and what is proved.

Costs are those of the criterion (ticks for the makespan), bounds and incumbents of the call are as reported.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from coalloc.documents.errors import InternalError
from coalloc.instance.constraints import name_of
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem
from coalloc.problem.declared import ties
from coalloc.schedule import Schedule, schedule_of
from coalloc.solvers.effort import Effort
from coalloc.solvers.result import PROOF_TOLERANCE, RunModel
from coalloc.solvers.solve_state import SolveState, fail_on
from coalloc.solvers.traits import Trait, those_of, traits_of
from coalloc.system.garbage import no_collection

T = TypeVar("T")

OPENING = 3
"""Rounds of a portfolio that every solve has; later ones only repeat what draws at random, or goes on."""


@dataclass
class Incumbent:
    """One call of ``solve`` on OAS, as its methods see it.

    ``best`` are the best assignments (none where no schedule is known). Where constraints refuse them by what their
    faults alone say, ``best_objective`` is what they would be worth, and ``accepted`` are others, the best that pass;
    ``refusing`` are the names of such constraints. So methods solve the problem without what is known by faults alone,
    the bounds of which hold with it. ``dual_prices`` (ticks) are those of the
    feasible-set bound, ``round`` is that of the portfolio, from 0 on, and ``deadline`` is the instant of
    ``time.perf_counter()``, s, at which the method that runs has to stop. ``listeners`` are called after every
    method and whenever one calls :meth:`hear`; what is in ``resources`` is closed at the end.
    """

    state: SolveState
    problem: Problem
    criterion: Criterion
    run_model: RunModel
    best: list[Assignment] = field(default_factory=list)
    best_objective: float | None = None
    accepted: list[Assignment] = field(default_factory=list)
    refusing: set[str] = field(default_factory=set)
    dual_prices: list[float] = field(default_factory=list)
    round: int = 0
    deadline: float = math.inf
    listeners: list[Callable[[], None]] = field(default_factory=list)
    resources: ExitStack = field(default_factory=ExitStack)
    _kept: dict[type, object] = field(default_factory=dict)

    def keep(self, thing: object) -> None:
        """Keep an object, one of each type, for a later method or round."""
        self._kept[type(thing)] = thing

    def kept(self, kind: type[T]) -> T | None:
        """Return the object of a type that was kept; None where there is none."""
        return cast(T | None, self._kept.get(kind))

    @cached_property
    def _given(self) -> Trait:
        """The traits of the problem."""
        return traits_of(self.criterion, self.state.options)

    @property
    def traits(self) -> Trait:
        """The traits of the problem, and of what is known by now."""
        is_provable = Trait.SMALL in self._given or not (Trait.MANY in self._given or self.best)
        known = {
            Trait.SCHEDULE if self.best else Trait.NO_SCHEDULE: True,
            Trait.PRICES: bool(self.dual_prices),
            Trait.REFUSED: bool(self.refusing),
            Trait.PROVABLE: is_provable,
        }
        return self._given | those_of(known)

    # ------------------------------------------------------------------ what is known

    @property
    def is_closed(self) -> bool:
        """Whether the gap is within what was asked for, or proved; that of the best, if it is refused, too."""
        return self.state.is_closed or (self.best_objective is not None and self.state.closes(self.best_objective))

    @property
    def cost(self) -> float:
        """Cost of the best assignments; infinity where there are none."""
        return self.criterion.value(self.best) if self.best else math.inf

    @property
    def target(self) -> float:
        """The bound that proves the best assignments."""
        is_whole = self.criterion.is_integral or math.isinf(self.cost)
        return self.cost if is_whole else self.cost - self._tolerance(self.cost)

    @property
    def goal(self) -> float:
        """The cost that the bound would prove optimal."""
        proven = self.proven
        return proven if self.criterion.is_integral else proven + self._tolerance(proven)

    def _tolerance(self, cost: float) -> float:
        """Return how far a bound may be from a cost that it proves: a share of what is reported, in Unix time too."""
        reported = self.criterion.reported(cost)
        divisor = self.criterion.objective.divisor(self.problem.instance)
        return PROOF_TOLERANCE * abs(reported) * divisor if math.isfinite(reported) else 0.0

    @property
    def proven(self) -> float:
        """The best bound known."""
        return self.proven_on(self.criterion)

    def proven_on(self, criterion: Criterion) -> float:
        """Return the best bound known as a cost on the clock of other slots."""
        known = self.state.lower_bound
        return criterion.counted(criterion.objective.least if known is None else known)

    def prove(self, cost: float, source: str, criterion: Criterion | None = None) -> None:
        """Take a lower bound, a cost of the problem or of the criterion of other slots."""
        bound = (criterion or self.criterion).reported(cost)
        self.state.raise_bound(bound, source)
        if self._is_too_late(bound):
            self.exclude()

    def _is_too_late(self, bound: float) -> bool:
        """Return whether a bound on the latest end, as reported, is after every job has to have ended."""
        latest = max(self.problem.latest_ends, default=math.inf)
        is_asked = self.criterion.objective.is_latest_end and math.isfinite(latest)
        return is_asked and not self.state.is_within(bound, self.criterion.reported(latest))

    @no_collection()  # schedules are large, and kept
    def take(self, assignments: Sequence[Assignment], source: str) -> None:
        """Take assignments of the problem if they are better than the best; one that is not valid is our fault."""
        if self._is_better(assignments):
            schedule = schedule_of(self.problem, assignments)
            fail_on(self.state.violations(schedule))
            self._offer(assignments, schedule, source)

    def exchange(self, assignments: Sequence[Assignment]) -> None:
        """Take assignments instead of the best where they are as good; one that is not valid is our fault."""
        if self.criterion.value(assignments) <= self.cost:
            schedule = schedule_of(self.problem, assignments)
            fail_on(self.state.violations(schedule))
            if not self.state.own_faults(schedule):
                self.best = self.accepted = list(assignments)
                self.state.schedule = schedule
                self.state.objective = self.criterion.objective.of_schedule(self.state.instance, schedule)

    def take_if_valid(self, assignments: Sequence[Assignment], source: str) -> None:
        """Take what loads in whole units may have let through, if it is valid and better than the best."""
        if self._is_better(assignments):
            schedule = schedule_of(self.problem, assignments)
            if not self.state.violations(schedule):
                self._offer(assignments, schedule, source)

    def take_schedule(self, schedule: Schedule, source: str) -> None:
        """Take a schedule of a model as it is, unless constraints refuse it; one that is not valid is our fault."""
        fail_on(self.state.violations(schedule))
        broken = {type(constraint).__name__ for constraint, _ in self.state.own_faults(schedule)}
        self.refusing |= broken
        if not broken:
            self.state.offer(schedule, self.criterion.objective.of_schedule(self.state.instance, schedule), source)

    def _is_better(self, assignments: Sequence[Assignment]) -> bool:
        """Return whether assignments are better than the best, or than the best that constraints accept."""
        if not assignments:
            return False
        known = self.best if self.best_objective is None else self.accepted
        return not known or self.criterion.value(assignments) < self.criterion.value(known)

    def _offer(self, assignments: Sequence[Assignment], schedule: Schedule, source: str) -> None:
        """Take a valid schedule for the best, and return it if constraints accept it.

        One that breaks a constraint which says more to other methods is not taken: they may know better.
        """
        broken = [constraint for constraint, _ in self.state.own_faults(schedule)]
        self.refusing.update(name_of(constraint) for constraint in broken)
        objective = self.criterion.objective.of_schedule(self.state.instance, schedule)
        if not broken:
            self.accepted = list(assignments)
            self.state.offer(schedule, objective, source)
        if self.criterion.value(assignments) < self.cost and not any(ties(c, self.state.instance) for c in broken):
            self.best, self.best_objective = list(assignments), objective if broken else None

    def exclude(self) -> None:
        """Hear that a complete method has found no schedule; that one is known would be our fault."""
        if self.best:
            raise InternalError("a complete method finds no schedule, though one is known")
        self.state.is_infeasible = True

    def attain(self, cost: float) -> None:
        """Hear that a cost is attained, where no schedule came with it."""

    # ------------------------------------------------------------------ limits

    @property
    def attempt(self) -> int:
        """Number of earlier attempts of randomised methods: the opening rounds are one attempt."""
        return max(0, self.round - OPENING + 1)

    def limited(self, steps: int) -> int:
        """Return a number of steps, no more than the work limit allows."""
        work = self.state.options.work_limit
        return steps if work is None else min(work, steps)

    def effort(self, iterations: int, source: str) -> Effort:
        """Return what a search in this attempt is given: later attempts draw otherwise, and take twice as long."""
        return Effort(
            iterations=self.limited(iterations << self.attempt),
            seed=self.state.options.seed + self.attempt,
            target=self.goal,
            deadline=self.deadline,
            on_schedule=lambda assignments: self.take(assignments, source),
        )

    @property
    def cores(self) -> int:
        """Cores for a search in this process: one while other processes search."""
        return 1 if self.listeners else self.state.options.threads

    def instant(self, share: float) -> float:
        """Return the instant, of ``time.perf_counter()``, at which a share of the remaining time will be over."""
        return time.perf_counter() + share * self.state.remaining

    @property
    def time_left(self) -> float:
        """Seconds until the deadline."""
        return max(0.0, self.deadline - time.perf_counter())

    @contextmanager
    def within(self, share: float) -> Iterator[None]:
        """Give a method a share of the remaining time, or less where one around it ends before."""
        outer = self.deadline
        self.deadline = min(outer, self.instant(share))
        try:
            yield
        finally:
            self.deadline = outer

    # ------------------------------------------------------------------ the other cores

    def hear(self) -> None:
        """Take what other processes have found."""
        for listener in self.listeners:
            listener()
