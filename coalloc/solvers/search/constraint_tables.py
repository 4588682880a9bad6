"""Constraints of a problem as arrays: what lists of the engine keep to (``constraints.h``, ``spreads.h``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import Handle, engine
from coalloc.instance.calendar import Calendar
from coalloc.problem import MAX_MODES, Problem
from coalloc.problem.choices import NotTogetherRow, TimeSumRow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def constraints_of(problem: Problem, latest_ends: Sequence[float]) -> Handle:
    """Hand over what ties times of jobs to each other, to calendars and to latest ends, ticks."""
    rows, is_slotted = problem.rows, problem.slot is not None
    terms = [list(_terms(row)) for row in rows]
    naming: list[list[int]] = [[] for _ in problem.jobs]
    for number, row in enumerate(rows):
        for j in row.members:
            naming[j].append(number)
    awaited = [sorted(jobs) for jobs in problem.awaited] if rows else [[] for _ in problem.jobs]
    different = dict.fromkeys(problem.calendars.values())
    numbers = {calendar: number for number, calendar in enumerate(different)}
    windows = [_windows(problem, calendar) for calendar in different]
    handle: Handle = engine().constraints_new(
        len(problem.jobs),
        sum(map(len, awaited)),
        len(rows),
        sum(map(len, terms)),
        sum(map(len, naming)),
        len(windows),
        sum(len(lasts) for _, _, lasts, _ in windows),
        0.0 if is_slotted else problem.base.tolerance,
        0.0 if is_slotted else problem.base.tolerance,
        0.0 if is_slotted else problem.base.shift,
        np.array(latest_ends, dtype=float),
        *_listed(awaited),
        np.array([isinstance(row, NotTogetherRow) for row in rows], dtype=np.uint8),
        np.array([row.least if isinstance(row, TimeSumRow) else 0.0 for row in rows], dtype=float),
        firsts_of(terms),
        np.array([job for of_row in terms for _, _, job in of_row], dtype=np.int64),
        np.array([factor for of_row in terms for factor, _, _ in of_row], dtype=np.int64),
        np.array([which == "end" for of_row in terms for _, which, _ in of_row], dtype=np.uint8),
        *_listed(naming),
        np.array(
            [numbers[problem.calendars[j]] if j in problem.calendars else -1 for j in range(len(problem.jobs))],
            dtype=np.int64,
        ),
        np.array([period for period, _, _, _ in windows], dtype=float),
        np.array([offset for _, offset, _, _ in windows], dtype=float),
        firsts_of([lasts for _, _, lasts, _ in windows]),
        np.array(list(chain.from_iterable(lasts for _, _, lasts, _ in windows)), dtype=float),
        np.array(list(chain.from_iterable(firsts for _, _, _, firsts in windows)), dtype=float),
    )
    return handle


def spend(handle: Handle, problem: Handle, of: Problem) -> None:
    """Give budgets and rows of clusters to constraints in the engine."""
    rows, budgets = of.cluster_rows.rows, of.budgets
    if not (rows or budgets):
        return
    num_clusters, num_jobs = of.cluster_rows.num_clusters, len(of.jobs)
    vectors = [sorted(budgets[0].excess[j]) if budgets else [] for j in range(num_jobs)]
    taken = [[row.excess[j][tasks] for row in budgets] for j, of_job in enumerate(vectors) for tasks in of_job]
    homes = [[c in of.cluster_rows.homes(row) for c in range(num_clusters)] for row in rows]
    engine().constraints_spend(
        handle,
        problem,
        num_jobs,
        len(of.classes),
        num_clusters,
        len(budgets),
        len(taken),
        len(rows),
        sum(len(row.jobs) for row in rows),
        ("platform", "cluster", "node").index(of.scope),
        int(of.allocations.number <= MAX_MODES),
        np.array([node_class.cluster for node_class in of.classes], dtype=np.int64),
        np.array([of.allocations.rooms(job) for job in of.jobs], dtype=np.int64),
        np.array([row.room for row in budgets], dtype=float),
        *_listed(vectors),
        np.array(taken, dtype=float),
        np.array([row.is_same for row in rows], dtype=np.uint8),
        np.array(homes, dtype=np.uint8),
        *_listed([row.jobs for row in rows]),
    )


def restrict_spreads(handle: Handle, problem: Problem) -> None:
    """Tell a problem in the engine how the jobs may be spread that may not be in any way."""
    if not problem.allocations.restricts_spreads:
        return
    num_clusters = len(problem.instance.platform.clusters)
    shapes = [shape for job in problem.jobs for shape in problem.allocations.shapes(job)]
    of_shapes = [problem.allocations.spread(shape) for shape in shapes]
    spreads = [(shape, spread) for shape, spread in zip(shapes, of_shapes, strict=True) if spread is not None]
    number = np.cumsum([spread is not None for spread in of_shapes])
    sets = [spread.parts or () for _, spread in spreads]
    allowed = [_allowed(problem, shape) if spread.allows is not None else [] for shape, spread in spreads]
    engine().spreads_restrict(
        handle,
        len(shapes),
        len(problem.classes),
        num_clusters,
        len(spreads),
        sum(map(len, sets)),
        sum(map(len, allowed)),
        int(problem.scope == "node"),
        np.array([node_class.cluster for node_class in problem.classes], dtype=np.int64),
        np.where([spread is not None for spread in of_shapes], number - 1, -1),
        np.array([num_clusters if s.max_clusters is None else s.max_clusters for _, s in spreads], dtype=np.int64),
        np.array([spread.min_tasks for _, spread in spreads], dtype=np.int64),
        np.array([spread.slices or 0 for _, spread in spreads], dtype=np.int64),
        np.array([spread.parts is not None for _, spread in spreads], dtype=np.uint8),
        firsts_of(sets),
        np.array([[c in part for c in range(num_clusters)] for parts in sets for part in parts], dtype=np.uint8),
        np.array([spread.allows is not None for _, spread in spreads], dtype=np.uint8),
        firsts_of(allowed),
        np.array(list(chain.from_iterable(allowed)), dtype=np.int64),
    )


def firsts_of(lists: Iterable[Sequence[Any]]) -> Ints:
    """Return where each list begins among all, one after the other, and where the last one ends."""
    return np.array([*accumulate(map(len, lists), initial=0)], dtype=np.int64)


def _listed(lists: Sequence[Sequence[Any]]) -> tuple[Ints, Ints]:
    """Return where lists of numbers, or of vectors of them, begin, and all of them."""
    return firsts_of(lists), np.array(list(chain.from_iterable(lists)), dtype=np.int64)


def _terms(row: NotTogetherRow | TimeSumRow) -> Iterable[tuple[int, str, int]]:
    """Return the terms of a row; of one that keeps jobs apart, its jobs."""
    return row.terms if isinstance(row, TimeSumRow) else ((1, "start", j) for j in row.jobs)


def _windows(problem: Problem, calendar: Calendar) -> tuple[float, float, Sequence[float], Sequence[float]]:
    """Return period and offset of a calendar, and by window, in order, the last start, and the first from it on."""
    if problem.slot is None:
        return calendar.period, calendar.offset, *calendar.ordered
    allowed = next(problem.allowed_slots[j] for j, of_job in problem.calendars.items() if of_job == calendar)
    slots = allowed.slots.tolist()
    return allowed.length, 0.0, slots, slots


def _allowed(problem: Problem, shape: Any) -> list[tuple[int, ...]]:
    """Return the spreads of a shape that custom constraints allow, in lexicographic order."""
    return sorted(problem.allocations.spreads(shape, problem.allocations.rooms(shape)))
