"""The assignment of nodes: which processors jobs hold of whom only the number on each class is decided.

Sets of processors are intervals of numbers throughout; the engine (``nodes.c``) decides which ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, engine
from coalloc.instance import Instance
from coalloc.instance.numbering import Intervals, intervals_of, names_of, places_within
from coalloc.instance.processor_names import ProcessorSets

if TYPE_CHECKING:
    from coalloc.problem.allocation import Allocation, NodeClass

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Occupation:
    """A job without node names: ``[start, end)`` and its tasks on each class."""

    job: str
    start: float
    end: float
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Occupations:
    """Columns of such jobs; ``counts`` has shape ``(num_jobs, num_classes)``."""

    job: Sequence[str]
    start: Floats
    end: Floats
    counts: Ints

    @classmethod
    def of(cls, intervals: Sequence[Occupation], num_classes: int) -> Occupations:
        """Return the columns of single jobs."""
        return cls(
            [interval.job for interval in intervals],
            np.array([interval.start for interval in intervals], dtype=float),
            np.array([interval.end for interval in intervals], dtype=float),
            np.array([interval.allocation for interval in intervals], dtype=np.int64).reshape(-1, num_classes),
        )


def assign_nodes(instance: Instance, classes: Sequence[NodeClass], intervals: Sequence[Occupation]) -> ProcessorSets:
    """Return :func:`assign_nodes_to` for single jobs."""
    return assign_nodes_to(instance, classes, Occupations.of(intervals, len(classes)))


def assign_nodes_to(instance: Instance, classes: Sequence[NodeClass], intervals: Occupations) -> ProcessorSets:
    """Colour intervals with processors: return the names for each interval, in the order given.

    Within a class intervals are coloured by start with the lowest free processors; jobs that run
    already keep theirs until their end. It always succeeds when no class is overbooked, because
    interval graphs are perfect. What lasts no longer than the time tolerance, a job of no slot for one, occupies
    nothing: it is put on the lowest processors, whoever holds them. Raises ``ValueError`` where a class is overbooked.
    """
    members = _Members.of(instance, classes)
    takes = _Takes.of(intervals, instance.time_base.tolerance)
    is_short = takes.end <= takes.horizon
    short, long = takes.chosen(is_short), takes.chosen(~is_short)
    lowest = np.minimum(short.count, members.capacities[short.g])
    found = [
        _taken(long, members, intervals),
        Intervals(short.job, members.first[short.g], members.first[short.g] + lowest),
    ]
    places = Intervals(*(np.concatenate(column) for column in zip(*map(_columns, found), strict=True)))
    return names_of(instance.platform.numbering, len(intervals.job), in_order(members.numbers_of(places)))


def _columns(of: Intervals) -> tuple[Ints, Ints, Ints]:
    return of.holder, of.first, of.stop


@dataclass(frozen=True, slots=True)
class _Takes:
    """Processors that each job takes of each class, in order of start, as columns.

    ``horizon`` is until when others have to end, s, for their processors to be free.
    """

    job: Ints
    g: Ints
    count: Ints
    end: Floats
    horizon: Floats

    @classmethod
    def of(cls, intervals: Occupations, tolerance: float) -> _Takes:
        order = np.argsort(intervals.start, kind="stable")
        rank, g = np.nonzero(intervals.counts[order])
        job = order[rank]
        return cls(job, g, intervals.counts[job, g], intervals.end[job], intervals.start[job] + tolerance)

    def chosen(self, which: NDArray[np.bool_]) -> _Takes:
        return _Takes(self.job[which], self.g[which], self.count[which], self.end[which], self.horizon[which])


@dataclass(frozen=True, slots=True)
class _Members:
    """The processors of all classes, one class after the other: their places.

    ``numbers`` are their numbers, ``first`` is the place at which each class begins. Of intervals that are held at
    first ``held`` has the class as holder, and processors counted from 0 in it; they are released at ``until``, s.
    """

    numbers: Ints
    capacities: Ints
    first: Ints
    held: Intervals
    until: Floats

    @classmethod
    def of(cls, instance: Instance, classes: Sequence[NodeClass]) -> _Members:
        capacities = np.array([node_class.capacity for node_class in classes], dtype=np.int64)
        numbers = np.fromiter(chain.from_iterable(node_class.processors for node_class in classes), np.int64)
        first = np.cumsum(capacities) - capacities
        until = _busy_until(instance)[numbers]
        g = np.repeat(np.arange(len(classes)), capacities)
        is_apart = (until[1:] != until[:-1]) | (np.diff(g) > 0)
        begins = np.flatnonzero(np.append(True, is_apart)[: len(numbers)])
        stops = np.append(begins[1:], len(numbers))[: len(begins)]
        is_held = until[begins] > -np.inf
        begins, stops = begins[is_held], stops[is_held]
        held = Intervals(g[begins], begins - first[g[begins]], stops - first[g[begins]])
        return cls(numbers, capacities, first, held, until[begins])

    def numbers_of(self, places: Intervals) -> Intervals:
        """Return the intervals of numbers that intervals of places are: as many as have gaps between their numbers."""
        breaks = np.append(0, np.flatnonzero(np.diff(self.numbers) != 1) + 1)
        low = np.searchsorted(breaks, places.first, side="right")
        pieces = np.searchsorted(breaks, places.stop, side="left") - low + 1
        part = places_within(pieces)
        following = np.append(breaks, len(self.numbers))[np.repeat(low, pieces) + part]
        first = np.where(part == 0, np.repeat(places.first, pieces), breaks[np.repeat(low, pieces) + part - 1])
        last = self.numbers[np.minimum(np.repeat(places.stop, pieces), following) - 1]
        return Intervals(np.repeat(places.holder, pieces), self.numbers[first], last + 1)


def _busy_until(instance: Instance) -> Floats:
    """Return until when jobs that run already hold each processor, s; minus infinity where none does."""
    until = np.full(instance.platform.num_processors, -np.inf)
    running = [run for run in instance.running if run.start <= 0.0]
    if not running:
        return until
    held = intervals_of(instance.platform.numbering, [run.nodes for run in running])
    for holder, first, stop in zip(*(column.tolist() for column in _columns(held)), strict=True):
        until[first:stop] = running[holder].end
    return until


def _taken(takes: _Takes, members: _Members, intervals: Occupations) -> Intervals:
    """Return the places that takes get, by job."""
    steps = _steps(takes, members.until)
    try:
        take, first, stop = named_takes(members.capacities, takes.g, takes.count, members.held, steps)
    except _OverbookedError as error:
        raise ValueError(_overbooked(takes, error.take, intervals)) from None
    shift = members.first[takes.g[take]]
    return Intervals(takes.job[take], first + shift, stop + shift)


class _OverbookedError(ValueError):
    """A take finds too little that is free."""

    def __init__(self, take: int) -> None:
        self.take = take
        super().__init__(f"take {take} finds too little that is free")


def named_takes(capacities: Ints, g: Ints, count: Ints, held: Intervals, steps: Ints) -> tuple[Ints, Ints, Ints]:
    """Return which takes have which intervals of processors, counted from 0 in their class: the lowest that are free.

    A take is a ``count`` of class ``g``. Intervals that are ``held`` have their class as holder. In their order,
    ``steps`` are takes, releases of takes (behind all takes), and of held intervals (behind those). Raises
    ``ValueError`` where a take finds too little.
    """
    sizes = len(capacities), len(g), len(held.first), len(steps)
    naming = engine().naming_new(*sizes, capacities, g, count, *_columns(held), steps)
    done = -1
    while done < len(steps):
        before, done = done, engine().naming_go(naming, LONGEST_CALL)
        if done == before:
            raise _OverbookedError(int(steps[done]))
    size = engine().naming_size(naming)
    begins, first, stop = (np.empty(length, np.int64) for length in (len(g) + 1, size, size))
    engine().naming_read(naming, len(g), size, begins, first, stop)
    return np.repeat(np.arange(len(g)), np.diff(begins)), first, stop


def _steps(takes: _Takes, held_until: Floats) -> Ints:
    """Return the steps of the engine: each release comes before the first take whose horizon it is within."""
    num_takes = len(takes.job)
    ends = np.concatenate([takes.end, held_until])
    before = np.searchsorted(takes.horizon, ends, side="left")
    released = np.flatnonzero(before < num_takes)  # others are needed no more
    steps = np.concatenate([np.arange(num_takes), num_takes + released])
    return steps[np.argsort(np.concatenate([2 * np.arange(num_takes) + 1, 2 * before[released]]), kind="stable")]


def _overbooked(takes: _Takes, take: int, intervals: Occupations) -> str:
    j = takes.job[take]
    return (
        f"{takes.count[take]} tasks of job {intervals.job[j]!r} do not fit on node class {takes.g[take]} "
        f"at {intervals.start[j]} s"
    )


def in_order(of: Intervals) -> Intervals:
    """Return the intervals of each holder, in order of both, as long as can be."""
    order = np.lexsort((of.first, of.holder))
    holder, first, stop = (column[order] for column in _columns(of))
    is_apart = (np.diff(holder) > 0) | (first[1:] != stop[:-1])
    begins = np.flatnonzero(np.append(True, is_apart)[: len(holder)])
    ends = np.append(begins[1:], len(holder))[: len(begins)] - 1
    return Intervals(holder[begins], first[begins], stop[ends])
