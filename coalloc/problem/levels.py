"""The speed levels of jobs: how long they take, and on which classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job, column
from coalloc.problem.allocations import Allocations
from coalloc.problem.choices import Mode, SpeedLevel
from coalloc.problem.execution import execution_time
from coalloc.problem.shortages import shortage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Prefix = tuple[float, tuple[int, ...], int]
"""An effective power, the classes with room that are at least as fast, and that room."""


class LevelColumns(NamedTuple):
    """The speed levels of all jobs as columns, those of a job together, fastest first.

    ``first`` is where those of each job begin (one more at the end). By level: the job, ticks, tasks, and the set of
    classes by its number in :attr:`SpeedLevels.class_sets`.
    """

    first: Ints
    job_of: Ints
    ticks: Floats
    tasks: Ints
    set_of: Ints

    @property
    def fastest(self) -> Floats:
        """The least ticks that each job can take."""
        return self.ticks[self.first[:-1]]

    @property
    def slowest(self) -> Floats:
        """The most ticks that each job can take."""
        return self.ticks[self.first[1:] - 1]


class SpeedLevels:
    """Makes the speed levels of the jobs of one problem."""

    def __init__(self, allocations: Allocations) -> None:
        self._allocations = allocations
        self._known: dict[tuple[int, ...], list[Prefix]] = {}

    def of(self, job: Job) -> tuple[SpeedLevel, ...]:
        """Return the speed levels of a job in all its shapes, fastest first; raise where it has none."""
        if job.shapes:
            of_shapes = chain.from_iterable(map(self._of_rigid, self._allocations.shapes(job)))
            levels = sorted(of_shapes, key=lambda level: (level.duration, level.tasks))
        else:
            levels = self._of_rigid(job)
        if not levels:
            raise CoallocError(
                shortage(self._allocations, job) or f"job {quoted(job.id)} fits on no part of the platform"
            )
        return tuple(levels)

    def _of_rigid(self, job: Job) -> list[SpeedLevel]:
        """Return the speed levels of a job in one shape, fastest first."""
        if job.times:
            return self._of_timed(job)
        levels: dict[float, SpeedLevel] = {}
        for power, allowed, room in self.prefixes(self._allocations.rooms(job)):
            if room >= job.tasks and self._is_spread(job, allowed):
                duration = self._allocations.clock.ticks(execution_time(job, 1.0 / power))
                levels[duration] = SpeedLevel(duration, allowed, job.tasks)
        return list(levels.values())

    def _of_timed(self, job: Job) -> list[SpeedLevel]:
        """Return the speed levels of a job that names times: the classes on which it takes at most so many ticks."""
        rooms, joining = self._allocations.rooms(job), dict[float, list[int]]()
        for g, seconds in enumerate(self._allocations.class_times(job)):
            if rooms[g]:
                joining.setdefault(self._allocations.clock.ticks(seconds), []).append(g)
        levels, allowed, inside, is_wide = list[SpeedLevel](), list[int](), [0] * len(rooms), False
        for duration in sorted(joining):
            allowed = sorted(allowed + joining[duration])
            for g in joining[duration]:
                inside[g] = rooms[g]
            is_wide = is_wide or self._allocations.holds(job, inside)  # and so with more classes
            if is_wide:
                levels.append(SpeedLevel(duration, tuple(allowed), job.tasks))
        return levels

    def _is_spread(self, job: Job, allowed: Sequence[int]) -> bool:
        """Return whether the classes, by index, hold a job as it is to be spread over clusters."""
        if self._allocations.spread(job) is None:
            return True
        rooms = self._allocations.rooms(job)
        return self._allocations.holds(job, [room if g in allowed else 0 for g, room in enumerate(rooms)])

    def prefixes(self, rooms: tuple[int, ...]) -> list[Prefix]:
        """Return effective powers, greatest first, with the classes at least as fast that have room, and that room.

        It is the largest that the scope allows one job of it.
        """
        if rooms not in self._known:
            powers = self._allocations.effective_powers
            usable = [g for g, room in enumerate(rooms) if room]
            prefixes = self._known[rooms] = []
            for power in sorted({powers[g] for g in usable}, reverse=True):
                allowed = tuple([g for g in usable if powers[g] >= power])
                inside = [room if powers[g] >= power else 0 for g, room in enumerate(rooms)]
                prefixes.append((power, allowed, self._allocations.widest(inside)))
        return self._known[rooms]

    @cached_property
    def levels(self) -> tuple[tuple[SpeedLevel, ...], ...]:
        """The speed levels of each job in all its shapes, fastest first, shape ``(num_jobs,)``.

        Effective powers at which a job takes equally many ticks are one level. A slower level of the same tasks has all
        classes of a faster one. Raises ``CoallocError`` where a job has none, for memory or constraints.
        """
        first, _, ticks, tasks, set_of = self.columns
        classes = map(self.class_sets.__getitem__, set_of.tolist())
        made = map(SpeedLevel, ticks.tolist(), classes, tasks.tolist())
        of_jobs = [tuple(islice(made, size)) for size in np.diff(first).tolist()]
        for j, levels in self._others.items():
            of_jobs[j] = levels
        return tuple(of_jobs)

    @cached_property
    def columns(self) -> LevelColumns:
        """The speed levels as columns; raises as :attr:`levels` does."""
        num_jobs, number_of = len(self._allocations.jobs), {of: n for n, of in enumerate(self.class_sets)}
        others = ((j, lv.duration, lv.tasks, number_of[lv.classes]) for j, of in self._others.items() for lv in of)
        listed = np.array(list(others), dtype=float).reshape(-1, 4)
        job_of, ticks, tasks, set_of = map(np.concatenate, zip(listed.T, self._of_plain(number_of), strict=True))
        order = np.argsort(job_of, kind="stable")
        job_of = job_of[order].astype(np.int64)
        first = np.searchsorted(job_of, np.arange(num_jobs + 1))
        return LevelColumns(first, job_of, ticks[order], tasks[order].astype(np.int64), set_of[order].astype(np.int64))

    def _of_plain(self, number_of: Mapping[tuple[int, ...], int]) -> tuple[Ints, Floats, Ints, Ints]:
        """Return jobs, ticks, tasks and sets of classes of the levels of the plain jobs."""
        allocations, prefixes = self._allocations, self.prefixes(self._allocations.capacities)
        jobs = np.flatnonzero(self._is_plain)
        tasks = np.array(column(allocations.instance.jobs, "tasks"), dtype=np.int64)[jobs]
        powers = np.array([allocations.effective_powers.index(power) for power, _, _ in prefixes])
        ticks = allocations.ticks_table[np.ix_(jobs, powers)] if len(jobs) else np.empty((0, len(powers)))
        is_level = np.array([room for _, _, room in prefixes]) >= tasks[:, None]
        is_level[:, :-1] &= ticks[:, 1:] != ticks[:, :-1]  # of equal ticks the last, which has most classes
        which, number = np.nonzero(is_level)
        sets = np.array([number_of[allowed] for _, allowed, _ in prefixes])
        return jobs[which], ticks[which, number], tasks[which], sets[number]

    @cached_property
    def _is_plain(self) -> NDArray[np.bool_]:
        """For which jobs the levels are a matter of processors and ticks alone, and there are some."""
        allocations, jobs = self._allocations, self._allocations.instance.jobs
        if allocations.is_moldable or allocations.restricts_spreads:
            return np.zeros(len(jobs), dtype=bool)
        is_plain = np.array(column(jobs, "tasks"), dtype=np.int64) <= allocations.widest_part
        if allocations.is_timed or not allocations.has_equal_rooms:
            is_plain &= [not j.times and allocations.rooms(j) is allocations.capacities for j in allocations.jobs]
        return is_plain

    @cached_property
    def _others(self) -> dict[int, tuple[SpeedLevel, ...]]:
        """The levels of the other jobs, by index."""
        return {j: self.of(self._allocations.jobs[j]) for j in np.flatnonzero(~self._is_plain).tolist()}

    @cached_property
    def class_sets(self) -> tuple[tuple[int, ...], ...]:
        """All sets of classes that speed levels may have, by index, in order."""
        allocations = self._allocations
        restricted = () if allocations.has_equal_rooms else allocations.jobs
        rooms = {allocations.capacities, *map(allocations.rooms, restricted)}
        found = {allowed for of_classes in rooms for _, allowed, _ in self.prefixes(of_classes)}
        found.update(level.classes for levels in self._others.values() for level in levels)
        return tuple(sorted(found))

    def slowest_classes(self, j: int, level: int) -> tuple[int, ...]:
        """Return the classes that a level has and the one before it has not: a job with a task there is no faster.

        Levels of other shapes do not count.
        """
        levels = self.levels[j]
        faster = (lv.classes for lv in reversed(levels[:level]) if lv.tasks == levels[level].tasks)
        before = next(faster, ())
        return tuple(g for g in levels[level].classes if g not in before)

    def level_of(self, j: int, mode: Mode) -> int:
        """Return the number of the speed level of a mode of a job, by index."""
        tasks = sum(mode.allocation)
        levels = enumerate(self.levels[j])
        return next(n for n, level in levels if (level.duration, level.tasks) == (mode.duration, tasks))

    @property
    def speed_prefixes(self) -> tuple[tuple[int, ...], ...]:
        """For each effective power, greatest first, the classes (by index) that are at least as fast."""
        return tuple(allowed for _, allowed, _ in self.prefixes(self._allocations.capacities))
