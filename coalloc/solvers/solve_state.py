"""The state of one call of ``solve``: the clock, the best known, and the trace of how it got there."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

from coalloc.checker import check
from coalloc.documents.errors import InternalError
from coalloc.documents.text import visible
from coalloc.instance import Instance
from coalloc.instance.constraints import Constraint, LatestEnd
from coalloc.objectives.completion import Makespan
from coalloc.problem import Links
from coalloc.problem.fixed import Fixings
from coalloc.schedule import Schedule
from coalloc.solvers.limits import AllocationsAtMost, AtMost
from coalloc.solvers.result import (
    PROOF_TOLERANCE,
    MethodRun,
    ModelSize,
    Progress,
    SolveOptions,
    SolveResult,
    SolveStatus,
    StoppedBy,
    TracePoint,
    relative_gap,
    summed,
)

KNOWN = (AllocationsAtMost, AtMost, Fixings, LatestEnd)
"""Constraints of which every method knows all that their faults say."""


@dataclass
class SolveState:
    """State of one call; objective and bound as reported, in ``unit``.

    ``constraints`` are those of the problem; ``is_infeasible`` once a complete method has found no schedule. Two
    objectives that differ do so by ``step`` at least, if it is not 0.
    """

    instance: Instance
    options: SolveOptions
    progress: Progress | None = None
    unit: str = "s"
    objective: float | None = None
    lower_bound: float | None = None
    schedule: Schedule | None = None
    stopped_by: StoppedBy = "proof"
    size: ModelSize | None = None
    message: str = ""
    trace: list[TracePoint] = field(default_factory=list)
    methods: tuple[MethodRun, ...] = ()
    timings: dict[str, float] = field(default_factory=lambda: {"build": 0.0, "solve": 0.0, "check": 0.0})
    constraints: tuple[Constraint, ...] = ()
    is_infeasible: bool = False
    step: float = 0.0
    began: float = field(default_factory=time.perf_counter)
    _verified: tuple[Schedule, Links] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return time.perf_counter() - self.began

    @property
    def remaining(self) -> float:
        """Seconds left of the time limit."""
        return max(0.0, self.options.seconds - self.elapsed)

    @property
    def is_closed(self) -> bool:
        """Whether the gap is within what was asked for, or proved, or there is nothing to look for."""
        return self.is_infeasible or self.is_too_tight or self.closes(self.objective)

    def closes(self, objective: float | None) -> bool:
        """Return whether a schedule of that objective is good enough: within the gap asked for, or proved."""
        gap = relative_gap(objective, self.lower_bound)
        return self._proves(objective) or (gap is not None and 0.0 < self.options.gap >= gap)

    def _proves(self, objective: float | None) -> bool:
        """Return whether none is better by more than the tolerance, nor by a slot where objectives are whole slots."""
        if objective is None or self.lower_bound is None:
            return False
        beyond = objective - self.lower_bound
        if self.step:
            return beyond <= PROOF_TOLERANCE * abs(objective) and beyond < 0.5 * self.step
        return beyond <= max(PROOF_TOLERANCE * abs(objective), self.instance.time_base.tolerance)

    @property
    def is_too_tight(self) -> bool:
        """Whether no schedule is proved to keep the limit on a makespan that is to be least."""
        limit, bound = self.options.makespan_limit, self.lower_bound
        if limit is None or bound is None or self.options.objective != Makespan.name:
            return False
        return not self.is_within(bound, limit)

    def is_within(self, seconds: float, limit: float | None) -> bool:
        """Return whether a time, or a makespan, keeps a limit, s (None: there is none)."""
        return limit is None or seconds <= limit + self.instance.time_base.tolerance

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the seconds of a block to a stage, but for those that stages within it take."""
        began, counted = time.perf_counter(), sum(self.timings.values())
        try:
            yield
        finally:
            within = sum(self.timings.values()) - counted
            self.timings[stage] = self.timings.get(stage, 0.0) + time.perf_counter() - began - within

    @contextmanager
    def recorded(self, name: str, among: Collection[str] = ()) -> Iterator[None]:
        """Count a block as a call of a method; what others of ``among`` find in it, beside it, counts as theirs."""
        wall, cpu, seen, was_closed = time.perf_counter(), time.process_time(), len(self.trace), self.is_closed
        try:
            yield
        finally:
            spent = MethodRun(name, 1, time.process_time() - cpu, time.perf_counter() - wall)
            runs = [spent, *self._finds(seen, name, among)]
            if self.is_closed and not was_closed:
                runs[-1] = replace(runs[-1], closed=True)
            self.methods = summed([*self.methods, *runs])

    def _finds(self, seen: int, name: str, among: Collection[str]) -> Iterator[MethodRun]:
        """Yield what each point of the trace but the first so many counts as: of its source, or else of ``name``."""
        for last, point in pairwise([TracePoint(0.0, None, None, name), *self.trace][seen:]):
            finder = point.source if point.source in among else name
            is_better, is_higher = point.incumbent != last.incumbent, point.lower_bound != last.lower_bound
            yield MethodRun(finder, incumbents=int(is_better), bounds=int(is_higher))

    def faults(self, schedule: Schedule, links: Links = "strict") -> list[str]:
        """Return what the checker, and the constraints of the problem, say of a schedule: sentences."""
        return [*self.violations(schedule, links), *(sentence for _, sentence in self.own_faults(schedule))]

    def violations(self, schedule: Schedule, links: Links = "strict") -> list[str]:
        """Return what the checker says of a schedule: sentences. One that was valid last time is not verified again."""
        if self._verified is not None and self._verified[0] is schedule and self._verified[1] == links:
            return []
        found = check(self.instance, schedule, links, self.options.saturation, self.options.scope)
        self._verified = None if found else (schedule, links)
        return [violation.sentence for violation in found]

    def own_faults(self, schedule: Schedule) -> list[tuple[Constraint, str]]:
        """Return each constraint of the problem that a schedule breaks, with what it says."""
        return [(c, sentence) for c in self.constraints for sentence in c.faults(self.instance, schedule)]

    @property
    def may_refuse(self) -> bool:
        """Whether a constraint of the user's own may refuse, by its faults, what a solver finds."""
        return not all(constraint.is_declared for constraint in self.constraints)

    def add_to_message(self, text: str) -> None:
        """Add a sentence to the message, once."""
        if text not in self.message:
            self.message = "; ".join(filter(None, (self.message, text)))

    def offer(self, schedule: Schedule, objective: float, source: str) -> None:
        """Take a schedule where it is better than the best known."""
        if self.objective is None or objective < self.objective:
            self.schedule, self.objective = schedule, objective
            self.record(source)

    def raise_bound(self, bound: float, source: str) -> None:
        """Take a lower bound where it is better than the best known."""
        if math.isfinite(bound) and (self.lower_bound is None or bound > self.lower_bound):
            self.lower_bound = bound
            self.record(source)

    def record(self, source: str, incumbent: float | None = None, lower_bound: float | None = None) -> None:
        """Add a point to the trace: the best of what is known and of what a running solver reports."""
        last = self.trace[-1] if self.trace else TracePoint(0.0, None, None, source)
        known = [x for x in (incumbent, self.objective, last.incumbent) if x is not None]
        bounds = [x for x in (lower_bound, self.lower_bound, last.lower_bound) if x is not None]
        point = TracePoint(self.elapsed, min(known, default=None), max(bounds, default=None), source)
        if (point.incumbent, point.lower_bound) == (last.incumbent, last.lower_bound):
            return
        self.trace.append(point)
        if self.progress is not None:
            self.progress(point)

    def note(self, source: str, text: str) -> None:
        """Add a point to the trace for what happened to a method, without news of the best schedule or the bound."""
        last = self.trace[-1] if self.trace else TracePoint(0.0, None, None, source)
        self.trace.append(replace(last, time=self.elapsed, source=f"{source}: {text}"))

    def result(
        self,
        status: SolveStatus | None = None,
        *,
        formulation: str,
        links: Links = "strict",
        levels: Mapping[str, float] | None = None,
        simulated_objective: float | None = None,
    ) -> SolveResult:
        """Return the result; the schedule must pass the checker under ``links``, or it is our fault."""
        if self.schedule is not None:
            with self.timed("check"):
                fail_on(self.faults(self.schedule, links))
        if self.objective is not None and self.lower_bound is not None:
            self.lower_bound = bound_below(self.objective, self.lower_bound)
        status = status or self._status()
        if status is SolveStatus.INFEASIBLE and self.schedule is not None:
            raise InternalError("a solver reports an instance with a schedule as infeasible")
        stopped_by = "proof" if status in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE) else self._reason()
        total = self.elapsed
        timings = {**self.timings, "other": max(0.0, total - sum(self.timings.values())), "total": total}
        return SolveResult(
            status=status,
            stopped_by=stopped_by,
            objective=self.objective,
            lower_bound=self.lower_bound,
            schedule=self.schedule,
            message=self.message,
            trace=tuple(self.trace),
            methods=self.methods,
            timings=timings,
            model_size=self.size,
            options=replace(self.options, formulation=formulation),
            unit=self.unit,
            levels=dict(levels or {}),
            simulated_objective=simulated_objective,
        )

    def _status(self) -> SolveStatus:
        if self._proves(self.objective):
            return SolveStatus.OPTIMAL
        return SolveStatus.UNKNOWN if self.schedule is None else SolveStatus.FEASIBLE

    def _reason(self) -> StoppedBy:
        return "gap" if self.is_closed else self.stopped_by


def bound_below(objective: float, lower_bound: float) -> float:
    """Return a bound without the last digits that put it above the objective; raise where it is truly above."""
    if lower_bound - objective > PROOF_TOLERANCE * max(1.0, abs(objective)):
        raise InternalError(f"the lower bound {lower_bound!r} exceeds the objective {objective!r} of a valid schedule")
    return min(lower_bound, objective)


def fail_on(sentences: list[str]) -> None:
    """Raise where a schedule of ours breaks rules."""
    if sentences:
        shown = "; ".join(map(visible, sentences[:3]))
        raise InternalError(f"the schedule of a solver has {len(sentences)} violations: {shown}")
