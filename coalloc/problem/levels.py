"""The speed levels of jobs: how long they take, and on which classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Job
from coalloc.problem.choices import SpeedLevel
from coalloc.problem.execution import execution_time
from coalloc.problem.frame import Frame
from coalloc.problem.shortages import shortage


class SpeedLevels:
    """Makes the speed levels of the jobs of one problem."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._known: dict[tuple[int, ...], list[tuple[float, tuple[int, ...], int]]] = {}

    def of(self, job: Job) -> tuple[SpeedLevel, ...]:
        """Return the speed levels of a job in all its shapes, fastest first; raise where it has none."""
        if job.shapes:
            of_shapes = chain.from_iterable(map(self._of_rigid, self._frame.shapes(job)))
            levels = sorted(of_shapes, key=lambda level: (level.duration, level.tasks))
        else:
            levels = self._of_rigid(job)
        if not levels:
            raise CoallocError(shortage(self._frame, job) or f"job {quoted(job.id)} fits on no part of the platform")
        return tuple(levels)

    def _of_rigid(self, job: Job) -> list[SpeedLevel]:
        """Return the speed levels of a job in one shape, fastest first."""
        if job.times:
            return self._of_timed(job)
        levels: dict[float, SpeedLevel] = {}
        for power, allowed, room in self.prefixes(self._frame.rooms(job)):
            if room >= job.tasks and self._is_spread(job, allowed):
                duration = self._frame.ticks(execution_time(job, 1.0 / power))
                levels[duration] = SpeedLevel(duration, allowed, job.tasks)
        return list(levels.values())

    def _of_timed(self, job: Job) -> list[SpeedLevel]:
        """Return the speed levels of a job that names times: the classes on which it takes at most so many ticks."""
        rooms, joining = self._frame.rooms(job), dict[float, list[int]]()
        for g, seconds in enumerate(self._frame.class_times(job)):
            if rooms[g]:
                joining.setdefault(self._frame.ticks(seconds), []).append(g)
        levels, allowed, inside, is_wide = list[SpeedLevel](), list[int](), [0] * len(rooms), False
        for duration in sorted(joining):
            allowed = sorted(allowed + joining[duration])
            for g in joining[duration]:
                inside[g] = rooms[g]
            is_wide = is_wide or self._frame.holds(job, inside)  # and so with more classes
            if is_wide:
                levels.append(SpeedLevel(duration, tuple(allowed), job.tasks))
        return levels

    def _is_spread(self, job: Job, allowed: Sequence[int]) -> bool:
        """Return whether the classes, by index, hold a job as it is to be spread over clusters."""
        if self._frame.spread(job) is None:
            return True
        rooms = self._frame.rooms(job)
        return self._frame.holds(job, [room if g in allowed else 0 for g, room in enumerate(rooms)])

    def prefixes(self, rooms: tuple[int, ...]) -> list[tuple[float, tuple[int, ...], int]]:
        """Return effective powers, greatest first, with the classes at least as fast that have room, and that room.

        It is the largest that the scope allows one job of it.
        """
        if rooms not in self._known:
            powers = self._frame.effective_powers
            usable = [g for g, room in enumerate(rooms) if room]
            prefixes = self._known[rooms] = []
            for power in sorted({powers[g] for g in usable}, reverse=True):
                allowed = tuple([g for g in usable if powers[g] >= power])
                inside = [room if powers[g] >= power else 0 for g, room in enumerate(rooms)]
                prefixes.append((power, allowed, max(self._frame.within_scope(inside))))
        return self._known[rooms]
