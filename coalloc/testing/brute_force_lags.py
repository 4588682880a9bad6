"""Brute force for lags and declarations: all options of the jobs, and all ways to resolve conflicts of what they take.

With fixed options the lags, arrivals, precedences and rows of times are differences of starts: the earliest starts that
keep them are longest paths. Calendars put starts off further. As long as jobs take too much at some time, two of those
that run then must not overlap: one starts when the other has ended. All such pairs are tried. Earliest starts are best
for every regular objective, and in a schedule some pair of each conflict does not overlap (intervals each two of which
overlap have a common point), so that no optimum is missed. Options are chosen job by job, each when those before it
have no conflict.
Source: delaying alternatives, B. De Reyck, W. Herroelen, European Journal of Operational Research 111 (1998).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import permutations

import numpy as np
import numpy.typing as npt

from coalloc.instance import Instance
from coalloc.instance.calendar import common_period
from coalloc.instance.constraints import AllowedStarts, Cumulative, Declaration, NotTogether, TimeBounds, TimeRow
from coalloc.instance.limits import Limit
from coalloc.instance.rounding import slots_down, slots_up, time_tolerance

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """The start of job ``late`` is at least that of ``early``, plus a number and so many of their run times.

    Jobs are numbered; None is time 0. Times are in slots, or in seconds.
    """

    late: int | None
    early: int | None
    least: float
    plus_early: int = 0
    plus_late: int = 0


@dataclass(frozen=True, slots=True)
class FixedDemand:
    """Capacity taken from a start to an end whatever the jobs do, shape ``(num_resources,)``."""

    start: float
    end: float
    demand: Sequence[float]


def lag_differences(instance: Instance, slot: float | None, *, is_up: bool) -> Iterator[Difference]:
    """Yield the lags of an instance as differences; rounded down they exclude nothing that real times allow."""

    def cut(seconds: float, *, to_greater: bool) -> float:
        return _cut(seconds, slot, to_greater=to_greater)

    number = {job.id: j for j, job in enumerate(instance.jobs)}
    times = {run.job.id: {"start": run.start, "end": run.end} for run in instance.running}
    for j, job in enumerate(instance.jobs):
        for lag in job.lags:
            is_end = lag.from_ == "end"
            if lag.after in times:
                time = times[lag.after][lag.from_]
                yield Difference(j, None, cut(time + lag.min, to_greater=is_up))
                if lag.max is not None and is_up:
                    yield Difference(None, j, -cut(time + lag.max, to_greater=False))
                continue
            i = number[lag.after]
            yield Difference(j, i, cut(lag.min, to_greater=is_up), plus_early=int(is_end))
            if lag.max is not None and (is_up or not is_end):
                yield Difference(i, j, -cut(lag.max, to_greater=not is_up), plus_late=-int(is_end))


def _cut(seconds: float, slot: float | None, *, to_greater: bool) -> float:
    """Return a difference in slots, or in seconds."""
    if slot is None:
        return seconds
    to_greater = to_greater == (seconds >= 0.0)
    return math.copysign((slots_up if to_greater else slots_down)(abs(seconds), slot), seconds)


def declared_differences(
    declared: Iterable[Declaration], instance: Instance, slot: float | None
) -> Iterator[Difference]:
    """Yield rows and bounds of times as differences."""
    number = {job.id: j for j, job in enumerate(instance.jobs)}
    for row in (row for one in declared for row in _rows(one) if math.isfinite(row.least)):
        time = {factor: (number[job], which == "end") for factor, which, job in row.terms}
        (late, of_late), (early, of_early) = time.get(1, (None, False)), time.get(-1, (None, False))
        yield Difference(late, early, _cut(row.least, slot, to_greater=True), int(of_early), -int(of_late))


def _rows(declared: Declaration) -> Iterator[TimeRow]:
    if isinstance(declared, TimeRow):
        yield declared
    elif isinstance(declared, TimeBounds):
        yield TimeRow(((1, "start", declared.job),), declared.earliest_start)
        yield TimeRow(((-1, "start", declared.job),), -declared.latest_start)
        yield TimeRow(((-1, "end", declared.job),), -declared.latest_end)


def with_declared_limits(instance: Instance, declared: Iterable[Declaration]) -> Instance:
    """Return an instance whose limits say what declarations do of jobs that run."""
    limits = [*instance.limits]
    for one in declared:
        if isinstance(one, (NotTogether, Cumulative)):
            amounts, capacity = (one.each, one.capacity) if isinstance(one, Cumulative) else ((), 1.0)
            limits.append(Limit(f"declared {len(limits)}", one.jobs, capacity, amounts))
    return instance.replace(limits=limits)


@dataclass(frozen=True, slots=True)
class Calendars:
    """The calendars of jobs, by number; times are in slots, or in seconds.

    ``period`` is that after which all repeat; 0 if there are none.
    """

    of_job: Mapping[int, Sequence[AllowedStarts]]
    slot: float | None
    period: float

    @classmethod
    def of(cls, declared: Iterable[Declaration], instance: Instance, slot: float | None) -> Calendars:
        """Return what is declared."""
        found = [one for one in declared if isinstance(one, AllowedStarts)]
        by_job = {j: [one for one in found if one.job == job.id] for j, job in enumerate(instance.jobs)}
        unit = 1.0 if slot is None else slot
        periods = [one.calendar.period for of_job in by_job.values() for one in of_job]
        return cls(by_job, slot, reduce(common_period, periods, unit) / unit if periods else 0.0)

    def put_off(self, job: int, start: float) -> float:
        """Return a start, not before this one, before which none is allowed."""
        for one in self.of_job[job]:
            seconds = start if self.slot is None else start * self.slot
            first = one.calendar.first_start(seconds, time_tolerance(seconds))
            start = max(start, _cut(first, self.slot, to_greater=True))
        return start


@dataclass(slots=True)
class LagSearch:
    """The search; ``demands[j]`` has shape ``(num_options, num_resources)``, ``durations[j]`` ``(num_options,)``.

    ``budgets`` are weights of options, shaped as durations, and the most that they may sum to. ``best_placed`` are the
    number of the option and the start of each job; ``tried`` are options with differences, which pairs that are
    forbidden in another order meet again.
    """

    demands: Sequence[FloatArray]
    durations: Sequence[FloatArray]
    capacity: FloatArray
    fixed: Sequence[FixedDemand]
    differences: Sequence[Difference]
    value: Callable[[Sequence[tuple[int, float, float]]], float]
    calendars: Calendars
    budgets: Sequence[tuple[Sequence[FloatArray], float]] = ()
    best: float = math.inf
    best_placed: tuple[tuple[int, float], ...] = ()
    tried: set[tuple[tuple[int, ...], frozenset[Difference]]] = field(default_factory=set)

    def run(self) -> None:
        """Try all options of all jobs."""
        self._extend((), self.differences)

    def _extend(self, chosen: tuple[int, ...], differences: Sequence[Difference]) -> None:
        """Forbid each pair of a conflict of the jobs whose options are chosen; without one choose the next option."""
        key = chosen, frozenset(differences)
        if key in self.tried:
            return
        self.tried.add(key)

        def left(array: Sequence[FloatArray]) -> list[FloatArray]:
            return [one[[chosen[j]]] if j < len(chosen) else one for j, one in enumerate(array)]

        times = left(self.durations)
        is_within = all(math.fsum(map(np.min, left(weights))) <= limit for weights, limit in self.budgets)
        starts = self._improving(times, differences) if is_within else None
        if starts is None:
            return
        durations = [float(time[0]) for time in times[: len(chosen)]]
        if conflict := self._conflict(chosen, starts[: len(chosen)], durations):
            for after in self._orders(conflict):
                self._extend(chosen, [*differences, after])
        elif len(chosen) < len(times):
            for option in np.argsort(self.durations[len(chosen)], kind="stable").tolist():
                self._extend((*chosen, option), differences)
        else:
            self.best = self.value([(j, start, start + durations[j]) for j, start in enumerate(starts)])
            self.best_placed = tuple(zip(chosen, starts, strict=True))

    def _improving(self, times: Sequence[FloatArray], differences: Iterable[Difference]) -> list[float] | None:
        """Return the earliest starts where each job takes one of some run times; None where they are no better.

        From the same start a longer run may cost less.
        """
        least, most = ([float(of(one)) for one in times] for of in (np.min, np.max))
        starts = self._earliest(least, most, [*differences])
        if starts is None:
            return None
        spans = [[(j, start, start + float(time)) for time in times[j]] for j, start in enumerate(starts)]
        bound = self.value([min(of_job, key=lambda span: self.value([span])) for of_job in spans])
        return starts if bound < self.best - time_tolerance(bound) else None

    def _earliest(
        self, least: Sequence[float], most: Sequence[float], differences: Sequence[Difference]
    ) -> list[float] | None:
        """Return the earliest starts that keep differences and calendars; None where there are none.

        Beyond all differences that are asked for, one after the other, all repeats with the calendars.
        """
        far = math.fsum((*most, *(abs(d.least) for d in differences))) + self.calendars.period * (1 + len(least))
        ready = [0.0] * len(least)
        while True:
            starts = self._longest_paths(ready, least, most, differences)
            if starts is None or max(starts) > far:
                return None
            ready = [self.calendars.put_off(j, start) for j, start in enumerate(starts)]
            if all(put <= start + time_tolerance(start) for put, start in zip(ready, starts, strict=True)):
                return starts

    @staticmethod
    def _longest_paths(
        ready: Sequence[float], least: Sequence[float], most: Sequence[float], differences: Sequence[Difference]
    ) -> list[float] | None:
        """Return the earliest starts, from ``ready`` on, that keep differences; None where there are none."""
        starts = [*ready]
        for _ in range(len(starts) + 2):
            changed = False
            for d in differences:
                early = 0.0 if d.early is None else starts[d.early] + d.plus_early * least[d.early]
                reached = early + d.least + (0.0 if d.late is None else d.plus_late * most[d.late])
                known = 0.0 if d.late is None else starts[d.late]
                if reached > known + time_tolerance(reached):
                    if d.late is None:
                        return None
                    starts[d.late], changed = reached, True
            if not changed:
                return starts
        return None

    @staticmethod
    def _orders(conflict: Sequence[int | FixedDemand]) -> Iterator[Difference]:
        """Yield every way to put one of a conflict after another."""
        for first, second in permutations(conflict, 2):
            if isinstance(second, int) and isinstance(first, int):
                yield Difference(second, first, 0.0, plus_early=1)
            elif isinstance(second, int) and isinstance(first, FixedDemand):
                yield Difference(second, None, first.end)
            elif isinstance(first, int) and isinstance(second, FixedDemand) and second.start > 0.0:
                yield Difference(None, first, -second.start, plus_early=1)

    def _conflict(
        self, chosen: Sequence[int], starts: Sequence[float], durations: Sequence[float]
    ) -> list[int | FixedDemand]:
        """Return what takes too much of some resource at some time; nothing where all fits."""
        for time in sorted({*starts, *(one.start for one in self.fixed if one.start > 0.0)}):
            now = time + time_tolerance(time)
            jobs = [j for j, start in enumerate(starts) if start <= now < start + durations[j]]
            others = [one for one in self.fixed if one.start <= now < one.end]
            taken = np.array([self.demands[j][chosen[j]] for j in jobs] or [np.zeros(len(self.capacity))])
            held = np.array([[*one.demand] for one in others] or [[0.0] * len(self.capacity)])
            left = np.maximum(self.capacity - held.sum(axis=0), 0.0)
            over = np.flatnonzero((taken.sum(axis=0) > left + time_tolerance(0.0)) & (taken.sum(axis=0) > 0.0))
            if len(over):
                r = int(over[0])
                alone = [one for one in others if one.demand[r] > 0.0]
                return [*(j for j in jobs if self.demands[j][chosen[j]][r] > 0.0), *alone]
        return []
