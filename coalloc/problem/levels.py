"""The speed levels of jobs: how long they take, and on which classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job
from coalloc.problem.allocations import Allocations
from coalloc.problem.choices import Mode, SpeedLevel
from coalloc.problem.execution import execution_time
from coalloc.problem.shortages import shortage

Prefix = tuple[float, tuple[int, ...], int]
"""An effective power, the classes with room that are at least as fast, and that room."""


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
        allocations = self._allocations
        if allocations.is_moldable or allocations.restricts_spreads or not allocations.jobs:
            return tuple(map(self.of, allocations.jobs))
        prefixes = self.prefixes(allocations.capacities)
        columns = [allocations.effective_powers.index(power) for power, _, _ in prefixes]
        rows = allocations.ticks_table[:, columns].tolist()
        return tuple([self._of_plain(*of_job, prefixes) for of_job in zip(allocations.jobs, rows, strict=True)])

    def _of_plain(self, job: Job, ticks: Sequence[float], prefixes: Sequence[Prefix]) -> tuple[SpeedLevel, ...]:
        """Return :meth:`of` for a rigid job by its ticks at each effective power of the platform, greatest first."""
        if job.times or self._allocations.rooms(job) is not self._allocations.capacities:
            return self.of(job)
        levels: dict[float, SpeedLevel] = {}
        for (_, allowed, room), duration in zip(prefixes, ticks, strict=True):
            if room >= job.tasks:
                levels[duration] = SpeedLevel(duration, allowed, job.tasks)
        return tuple(levels.values()) or self.of(job)

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

    @cached_property
    def class_sets(self) -> frozenset[tuple[int, ...]]:
        """All sets of classes that speed levels may have, by index."""
        rooms = {self._allocations.capacities, *(self._allocations.rooms(job) for job in self._allocations.jobs)}
        found = frozenset(allowed for of_classes in rooms for _, allowed, _ in self.prefixes(of_classes))
        timed = (
            j
            for j, job in enumerate(self._allocations.jobs)
            if any(shape.times for shape in self._allocations.shapes(job))
        )
        return found.union(level.classes for j in timed for level in self.levels[j])

    @property
    def speed_prefixes(self) -> tuple[tuple[int, ...], ...]:
        """For each effective power, greatest first, the classes (by index) that are at least as fast."""
        return tuple(allowed for _, allowed, _ in self.prefixes(self._allocations.capacities))
