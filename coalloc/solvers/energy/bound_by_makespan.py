"""The least energy as a function of the makespan: lines below it, and so a bound on energy and on EDP.

For schedules with a makespan in ``[low, high]`` a linear programme spreads tasks freely over equal nodes, as
:mod:`coalloc.models.energy_relaxation` does; that none ends after ``high`` says where jobs have room, and what
arrived late, or not yet, leaves cores idle. Its right-hand sides are linear in the makespan M, so any prices
of its rows give a line L(M) below the energy of all these schedules. EDP is at least the least of M L(M), in closed
form; the span of the smallest bound is halved until it meets what is known. Equations: (V1) to (V5) of
docs/mathematics/energy-bounds.md. Source of the argument: A. Geoffrion, "Lagrangean relaxation for integer
programming", Mathematical Programming Study 2 (1974).
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Job
from coalloc.instance.rounding import RELATIVE_TOLERANCE, slots_down, slots_up
from coalloc.models.energy_rates import node_rates
from coalloc.problem import Problem
from coalloc.solvers.backends.dense_lp import DenseLp
from coalloc.solvers.bounds.simple import simple_bound

SUFFIXES = 8
"""Instants from which on the work of the jobs that have not arrived before has rows of its own, at most."""
MAX_HALVINGS = 400
"""Spans that are halved, at most."""
MAX_PLACES = 50_000
"""Jobs times classes beyond which the programme is not made."""
LATE = 1e3
"""Price of a second beyond the makespan, in mean powers: where the tasks do not fit, lines are as steep as this."""
MAX_LINES = 4
"""Lines of a span beside those at its ends, at most."""
SAME = 1e-8
"""Share of a bound up to which another is no gain."""
NARROW = 2e-7
"""Share of its end below which a span is not halved any more, by default."""
SAFE = 1e-9
"""Share by which a line is lowered for what floating point may have lost in its sums."""

Floats = NDArray[np.float64]

SpanBound = Callable[[float, float], tuple[float, float]]
"""A bound on what schedules with a makespan from one to another, s, are worth, and the makespan at which it is met.

It is infinite where there are none.
"""


@dataclass(frozen=True, slots=True)
class EdpLine:
    """``value + slope * makespan`` J, below the energy of all schedules of a span."""

    value: float
    slope: float

    def at(self, makespan: float) -> float:
        """Return J at a makespan, s."""
        return self.value + self.slope * makespan


@dataclass(frozen=True, slots=True, order=True)
class MakespanSpan:
    """Makespans in ``[low, high]``, s, of which no schedule is worth less than ``bound``."""

    bound: float
    low: float
    high: float


class EnergyByMakespan:
    """Lines below the energy of a problem, whatever its links, memories and running jobs take beside it.

    A moldable job has the fewest tasks of its shapes, with the least core-seconds of any.
    """

    def __init__(self, problem: Problem) -> None:
        origin, rates = problem.instance.origin, node_rates(problem)
        kinds = _kinds(problem)
        members = list(kinds.values())
        first = [found[0] for found in members]
        self._idle = rates.idle
        self._watts = np.array([rates.task[g] for g in first])
        self._capacities = np.array([sum(problem.capacities[g] for g in found) for found in members], dtype=float)
        jobs = problem.jobs
        shapes = [problem.allocations.shapes(job) for job in jobs]
        self._tasks = np.array([min(shape.tasks for shape in of_job) for of_job in shapes], dtype=float)
        self._widest = np.array([max(shape.tasks for shape in of_job) for of_job in shapes], dtype=float)
        self._releases = np.array([problem.clock.seconds(r) - origin for r in problem.releases])
        of_shapes = [[_seconds_on(problem, shape, first) for shape in of_job] for of_job in shapes]
        self._shortest = np.array([np.min(found, axis=0) for found in of_shapes])
        self._durations = np.array([_least_work(*pair) for pair in zip(shapes, of_shapes, strict=True)])
        rooms = np.array([problem.allocations.rooms_in_scope(job) for job in jobs], dtype=float)
        self._rooms = np.stack([rooms[:, found].sum(axis=1) for found in members], axis=1)
        self._from = np.unique(np.quantile(self._releases, np.linspace(0.0, 1.0, SUFFIXES), method="lower"))
        self._early_idle = self._idle_before_arrivals()
        self._slot, self._origin = problem.slot, origin
        self.least = max(0.0, problem.clock.seconds(simple_bound(problem)) - origin) * (1.0 - RELATIVE_TOLERANCE)
        """No schedule has a makespan, s, below it."""

    def _idle_before_arrivals(self) -> float:
        """Return the core-seconds in which the tasks that have arrived are fewer than the cores."""
        order = np.argsort(self._releases)
        arrived = np.cumsum(self._widest[order])[:-1]
        gaps = np.diff(self._releases[order])
        return float((np.maximum(0.0, self._capacities.sum() - arrived) * gaps).sum())

    def within(self, low: float, high: float) -> tuple[float, float]:
        """Return the least and the greatest makespan, s, of schedules in ``[low, high]``: in slots, ends are whole."""
        if self._slot is None:
            return low, high
        first, last = slots_up(low + self._origin, self._slot), slots_down(high + self._origin, self._slot)
        return first * self._slot - self._origin, last * self._slot - self._origin

    def programme(self, high: float) -> Programme | None:
        """Return the programme of the schedules that end by ``high`` s; None where a job has no room to."""
        fits = (self._releases[:, None] + self._shortest <= high * (1.0 + RELATIVE_TOLERANCE)) & (self._rooms > 0.0)
        return self._programme(fits) if fits.any(axis=1).all() else None

    def _programme(self, fits: NDArray[np.bool_]) -> Programme:
        """Return the programme of jobs that have room on such kinds of nodes; equal jobs are one."""
        bucket = np.searchsorted(self._from, self._releases, side="right") - 1
        rows = np.column_stack([self._tasks, bucket, fits, self._durations, self._rooms])
        unique, counts = np.unique(rows, axis=0, return_counts=True)
        num_kinds = len(self._watts)
        tasks, at = unique[:, 0], unique[:, 1].astype(int)
        can = unique[:, 2 : 2 + num_kinds] > 0.0
        durations, rooms = unique[:, 2 + num_kinds : 2 + 2 * num_kinds], unique[:, 2 + 2 * num_kinds :]
        # (V2) a job has room where it ends by then
        room: Floats = np.where(can, np.minimum(rooms, tasks[:, None]), 0.0)
        factors, grown, lost = list[Floats](), list[float](), list[float]()
        for k, start in enumerate(self._from):
            for g, capacity in enumerate(self._capacities):
                # (V3) what arrives at an instant or later has the cores from then on
                factors.append((at >= k)[:, None] * (np.arange(num_kinds) == g) * durations)
                grown.append(capacity)
                lost.append(capacity * start)
        if self._early_idle > 0.0:  # (V4)
            factors.append(durations)
            grown.append(float(self._capacities.sum()))
            lost.append(self._early_idle)
        return Programme(
            demand=tasks * counts,
            most=room * counts[:, None],
            joules=durations * self._watts,
            factors=np.array(factors),
            grown=np.array(grown),
            lost=np.array(lost),
            idle=self._idle,
        )


@dataclass(frozen=True)
class Programme:
    """min ``joules v + idle M`` with ``sum v = demand``, ``0 <= v <= most`` and ``factors v <= grown M - lost``.

    ``v``, ``most`` and ``joules`` have shape ``(num_jobs, num_kinds)``, ``factors`` has one such for each row.
    """

    demand: Floats
    most: Floats
    joules: Floats
    factors: Floats
    grown: Floats
    lost: Floats
    idle: float

    def line(self, makespan: float) -> EdpLine:
        """Return the line (V5) that prices give which are best at a makespan, s."""
        prices = self._prices(makespan)
        reduced = self.joules + np.tensordot(prices, self.factors, axes=1)
        order = np.argsort(reduced, axis=1)
        most = np.take_along_axis(self.most, order, axis=1)
        before = np.cumsum(most, axis=1) - most
        taken = np.clip(self.demand[:, None] - before, 0.0, most)
        parts = np.take_along_axis(reduced, order, axis=1) * taken
        value = float(parts.sum() + prices @ self.lost)
        lost = SAFE * float(np.abs(parts).sum() + prices @ self.lost + prices @ self.grown * makespan)
        return EdpLine(value - lost, float(self.idle - prices @ self.grown))

    def _prices(self, makespan: float) -> Floats:
        """Return prices of the rows, J per core-second; any that are not negative make a valid line."""
        worst = float(self.joules.max(axis=1, initial=0.0) @ self.demand)
        self._lp.price(self._num_places, LATE * (worst / max(makespan, 1e-300) + self.idle))
        self._lp.limit(self.grown * makespan - self.lost)
        found = self._lp.solve()
        return np.zeros(len(self.grown)) if found is None else np.maximum(0.0, -found.duals[: len(self.grown)])

    @cached_property
    def _num_places(self) -> int:
        """Number of columns for parts of jobs; the one behind them is the time beyond the makespan, s."""
        return int(np.count_nonzero(self.most))

    @cached_property
    def _lp(self) -> DenseLp:
        num_jobs, num_kinds = self.joules.shape
        places = np.flatnonzero(self.most.ravel() > 0.0)
        room = np.column_stack([self.factors.reshape(len(self.grown), -1)[:, places], -self.grown])
        jobs = np.column_stack([places // num_kinds == np.arange(num_jobs)[:, None], np.zeros(num_jobs)])
        return DenseLp(
            np.append(self.joules.ravel()[places], 0.0),
            np.vstack([room, jobs]),
            np.append(np.full(len(room), -np.inf), self.demand),
            np.append(np.full(len(room), np.inf), self.demand),
            np.append(self.most.ravel()[places], np.inf),
        )


def _seconds_on(problem: Problem, shape: Job, classes: Sequence[int]) -> Floats:
    """Return how long a job in one shape takes where one of some classes, by index, is the slowest it uses, s."""
    ticks = problem.allocations.class_ticks(shape)
    return np.array([problem.clock.seconds(ticks[g]) for g in classes])


def _least_work(shapes: Sequence[Job], seconds: Sequence[Floats]) -> Floats:
    """Return the least core-seconds of any shape of a job on each class, over its fewest tasks."""
    fewest = min(shape.tasks for shape in shapes)
    scaled = [shape.tasks / fewest * of_shape for shape, of_shape in zip(shapes, seconds, strict=True)]
    return np.asarray(np.min(scaled, axis=0), dtype=np.float64)


def _kinds(problem: Problem) -> dict[object, list[int]]:
    """Return the classes, by index, of equal nodes; where the scope is a cluster, of one cluster."""
    kinds: dict[object, list[int]] = {}
    for g, node_class in enumerate(problem.classes):
        where = node_class.cluster if problem.scope == "cluster" else -1
        kinds.setdefault((node_class.group.replace(count=1), where), []).append(g)
    return kinds


def span_bound(relaxation: EnergyByMakespan, delay: int) -> SpanBound:
    """Return what bounds the worth of the schedules of a span by lines: energy times makespan to a power of 0 or 1.

    A line is added where the others are worth least, until that gains nothing more.
    """

    def bound(low: float, high: float) -> tuple[float, float]:
        low, high = relaxation.within(low, high)
        programme = relaxation.programme(high) if low <= high else None
        if programme is None:
            return math.inf, high
        lines = [programme.line(makespan) for makespan in dict.fromkeys((low, high))]
        found = least_worth(lines, low, high, delay)
        for _ in range(MAX_LINES):
            lines.append(programme.line(found[1]))
            better = least_worth(lines, low, high, delay)
            found, last = better, found
            if better[0] <= last[0] + SAME * abs(last[0]):
                break
        return found

    return bound


def least_worth(lines: Sequence[EdpLine], low: float, high: float, delay: int) -> tuple[float, float]:
    """Return the least of energy times makespan to the power of ``delay`` (0 or 1) over ``[low, high]`` s, and where.

    Energy is the greatest of the lines, so on each part between two crossings it is one of them, and the product a
    parabola: least at an end or where its slope is 0.
    """
    cuts = {low, high}
    for i, one in enumerate(lines):
        for other in lines[:i]:
            if one.slope != other.slope:
                cuts.add((other.value - one.value) / (one.slope - other.slope))
        if delay and one.slope > 0.0:
            cuts.add(-0.5 * one.value / one.slope)
    inside = sorted(makespan for makespan in cuts if low <= makespan <= high)
    return min((max(0.0, *(line.at(makespan) for line in lines)) * makespan**delay, makespan) for makespan in inside)


def spans(
    bounds: Sequence[SpanBound],
    first: MakespanSpan,
    deadline: float,
    is_enough: Callable[[float], bool],
    narrow: float = NARROW,
) -> list[MakespanSpan]:
    """Return spans of makespans, that of the smallest bound first, outside of which ``first`` has no schedule.

    The span of the smallest bound is halved until that ``is_enough``, no more can be gained, it is no longer than the
    share ``narrow`` of its end, or at the deadline.
    """
    heap, where = [first], {first: first.high}
    for _ in range(MAX_HALVINGS):
        if not heap or is_enough(heap[0].bound) or time.perf_counter() > deadline:
            break
        span = heap[0]
        at = where[span]
        if span.high - span.low <= narrow * span.high or _greatest(bounds, at, at)[0] <= span.bound * (1.0 + SAME):
            break  # at this makespan no bound is greater, so that halving gains nothing
        heapq.heappop(heap)
        middle = 0.5 * (span.low + span.high)
        for low, high in ((span.low, middle), (middle, span.high)):
            bound, at = _greatest(bounds, low, high)
            if bound < math.inf:
                part = MakespanSpan(max(span.bound, bound), low, high)
                where[part] = at
                heapq.heappush(heap, part)
    return heap


def _greatest(bounds: Sequence[SpanBound], low: float, high: float) -> tuple[float, float]:
    """Return the greatest bound of a span, and where it is met."""
    return max(bound(low, high) for bound in bounds)
