"""Whole runs in the engine: rigid jobs that take as long as their processors say, by the rules of a queue.

A job fits where enough processors are free, and classes of equal ones are filled in an order that never changes.
What happens is what happens pass by pass in :class:`coalloc.simulator.engine.Engine` (a test compares them), which can
stop anywhere, and asks policies in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.columns import column
from coalloc.engine import LONGEST_CALL, engine
from coalloc.instance import Instance, Job
from coalloc.instance.numbering import Intervals, intervals_of
from coalloc.instance.rounding import TIME_PRECISION
from coalloc.measures.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from coalloc.rules.orders import KeyOfJob, Keys, Moment, as_queued, places_in_order
from coalloc.rules.queues import QueueRules
from coalloc.schedule.naming import in_order, named_takes
from coalloc.simulator.policy import as_described
from coalloc.simulator.processors import Processors

ALL = 2**62
"""More instants than there ever are."""

CHOSEN = 4
"""Name in ``pool_run.h`` for a run whose starts somebody else chooses."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class HeldProcessors(Sequence[Processors]):
    """The processors of jobs as ``intervals`` of the different sets, and ``which`` of these each job held.

    A set is made when it is asked for.
    """

    def __init__(self, number: int, held: Intervals) -> None:
        begins = np.searchsorted(held.holder, np.arange(number + 1)).tolist()
        bounds = np.stack([held.first, held.stop], axis=1).astype(np.int32)
        numbers: dict[bytes, int] = {}
        found = (numbers.setdefault(bounds[slice(*part)].tobytes(), len(numbers)) for part in pairwise(begins))
        self.which = np.fromiter(found, np.int32, number)
        self.intervals = held.taken(np.unique(self.which, return_index=True)[1])

    def __len__(self) -> int:
        return len(self.which)

    @overload
    def __getitem__(self, place: int) -> Processors: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Processors]: ...
    def __getitem__(self, place: int | slice) -> Processors | Sequence[Processors]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        part = slice(*np.searchsorted(self.intervals.holder, self.which[place] + np.arange(2)))
        bounds = zip(self.intervals.first[part].tolist(), self.intervals.stop[part].tolist(), strict=True)
        held: Processors = sum((1 << stop) - (1 << first) for first, stop in bounds)
        return held

    def __iter__(self) -> Iterator[Processors]:
        return map(self.__getitem__, range(len(self)))


class Filling(NamedTuple):
    """Classes of equal processors in the order in which they are filled.

    Of each the number of its ``first`` processor, after which the others come, its ``capacity`` and its ``slowness``.
    """

    first: Ints
    capacity: Ints
    slowness: Floats


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """Events of a run that is over: by job its start and end (s), and the jobs that were killed.

    Jobs got processors by takes, each a number (``size``) of a class (``g``, by its place among ``classes``) for a job
    (``taker``), in ``steps`` (:func:`coalloc.schedule.naming.named_takes`); those of jobs that ran from the beginning
    are ``held``. ``passes`` counts those with jobs in the queue; ``pass_seconds`` is what they took, ``longest_pass``
    the longest.
    """

    now: float
    starts: Floats
    ends: Floats
    killed: Ints
    classes: Filling
    held: Intervals
    taker: Ints
    g: Ints
    size: Ints
    steps: Ints
    passes: int
    pass_seconds: float
    longest_pass: float

    def processors(self) -> HeldProcessors:
        """Return the processors of each job: the lowest of each class that were free."""
        holder, order = self.held.holder, np.argsort(self.held.first)
        held = Intervals(np.zeros(len(holder), np.int64), self.held.first[order], self.held.stop[order])
        steps = _released_apart(self.steps, 2 * len(self.taker), holder[order]) if len(holder) else self.steps
        take, first, stop = named_takes(self.classes.capacity, self.g, self.size, held, steps)
        shift = self.classes.first[self.g[take]]
        return HeldProcessors(len(self.starts), in_order(Intervals(self.taker[take], first + shift, stop + shift)))


class PoolPosition(NamedTuple):
    """Position of a run: the clock (s), how many jobs have ended, run and wait, and the number of instants so far."""

    now: float
    ended: int
    running: int
    waiting: int
    instants: int


class PoolRun:
    """A run of an instance that has nothing but jobs, which fill its classes in an order.

    The orders of the rules have the keys that they have at the ``beginning``, which never change. Without rules
    :meth:`choose` says which jobs start.
    """

    def __init__(
        self,
        instance: Instance,
        classes: Filling,
        rules: QueueRules | None,
        beginning: Moment,
        *,
        is_per_event: bool,
        are_killed: bool,
    ) -> None:
        jobs, running, base = instance.jobs, instance.running, instance.time_base
        self._running, self._numbering, self._classes = running, instance.platform.numbering, classes
        self._num_jobs = len(jobs)
        arrivals, base_times, estimates, shares = (
            np.asarray(column(jobs, name), float) for name in ("arrival", "base_time", "estimate", "processing_share")
        )
        tasks = np.asarray(column(jobs, "tasks"), np.int64)
        orders = _Orders.of(jobs, rules, beginning)
        self._arguments = (
            len(jobs),
            len(running),
            len(classes.first),
            int(np.minimum(tasks, len(classes.first)).sum()),
            orders.passing,
            is_per_event,
            are_killed,
            base.tolerance,
            base.latest,
            TIME_PRECISION,
            classes.capacity,
            classes.slowness,
            np.argsort(arrivals, kind="stable"),
            np.concatenate([arrivals, [run.job.arrival for run in running]]),
            np.concatenate([tasks, np.array([run.job.tasks for run in running], np.int64)]),
            shares,
            base_times,
            estimates,
            orders.keys,
            orders.turns,
            np.array([run.end for run in running], float),
        )
        self._made = engine().pool_run_new(*self._arguments)

    def begun(self) -> Self:
        """Return another run of the same jobs, from its beginning."""
        twin = copy(self)
        twin._made = engine().pool_run_new(*self._arguments)
        return twin

    def go(self, most_instants: int) -> bool:
        """Go on for a moment, up to so many instants in all; return whether jobs are still to end."""
        ended = engine().pool_run_go(self._made, LONGEST_CALL, most_instants)
        return bool(ended < self._num_jobs + len(self._running))

    def choose(self, choice: int, is_possible: NDArray[np.uint8], seen: Floats) -> bool:
        """Start a job of the window or wait, and go on to the next choice; return whether there is one.

        ``pool_run.h`` says what it writes.
        """
        given = BOUNDED_SLOWDOWN_THRESHOLD, is_possible.size, is_possible, seen.size, seen
        left = engine().pool_run_choose(self._made, choice, *given)
        return bool(left)

    @property
    def position(self) -> PoolPosition:
        """Position of the run."""
        now, counts = np.empty(1), np.empty(4, np.int64)
        engine().pool_run_position(self._made, now, counts)
        return PoolPosition(float(now[0]), *counts.tolist())

    def facts(self) -> PoolFacts:
        """Return what has happened in a run that is over."""
        n, made = self._num_jobs, self._made
        num_takes, num_steps = engine().pool_run_num_takes(made), engine().pool_run_num_steps(made)
        starts, ends, killed, passes = np.empty(n), np.empty(n), np.empty(n, np.uint8), np.empty(3)
        taker, g, size = (np.empty(num_takes, np.int64) for _ in range(3))
        steps = np.empty(num_steps, np.int64)
        engine().pool_run_read(made, n, num_takes, num_steps, starts, ends, killed, taker, g, size, steps, passes)
        held = intervals_of(self._numbering, [run.nodes for run in self._running])
        of_passes = int(passes[0]), float(passes[1]), float(passes[2])
        now, who = self.position.now, killed.nonzero()[0]
        return PoolFacts(now, starts, ends, who, self._classes, held, taker, g, size, steps, *of_passes)


class _Orders(NamedTuple):
    """Rules by which jobs pass each other, with their keys in the queue and in passing, as in ``pool_run.h``."""

    passing: int
    keys: Floats
    turns: Floats

    @classmethod
    def of(cls, jobs: Sequence[Job], rules: QueueRules | None, beginning: Moment) -> _Orders:
        """Return them by the rules of a queue; without, jobs are chosen from a queue in order of arrival."""
        if rules is None:
            return cls(CHOSEN, np.zeros(len(jobs)), np.zeros(len(jobs)))
        keys, turns = (
            _numbered(jobs, Keys(order).at(beginning)) for order in (rules.order, rules.candidates or "fcfs")
        )
        return cls({"none": 0, "any": 1, "easy": 2 + (rules.candidates is not None)}[rules.passing], keys, turns)


def _numbered(jobs: Sequence[Job], key: KeyOfJob) -> Floats:
    """Return numbers that order jobs as keys do, which may be anything that compares.

    It sees them as their users describe them.
    """
    if key is as_queued:
        return np.zeros(len(jobs))
    keys = [*map(key, map(as_described, jobs))]
    places = places_in_order(keys)
    numbers = np.zeros(len(keys))
    numbers[places] = np.cumsum([0, *(keys[one] < keys[next_] for one, next_ in pairwise(places))][: len(keys)])
    return numbers


def _released_apart(steps: Ints, first: int, holder: Ints) -> Ints:
    """Return steps in which each interval of a holder is released apart, where they release it: ``first + holder``."""
    intervals = {h: first + np.flatnonzero(holder == h) for h in range(int(holder.max()) + 1)}
    parts: list[Ints] = []
    begin = 0
    for place in np.flatnonzero(steps >= first).tolist():
        parts += [steps[begin:place], intervals[int(steps[place]) - first]]
        begin = place + 1
    return np.concatenate([*parts, steps[begin:]])
