"""Sets of jobs that can run together, links, memory and scope included: allocations are tried until one fits each job.

What Hall's condition (:mod:`coalloc.solvers.bounds.release_suffixes`) says of processors is exact, but it knows no
links, no memory and no rows. Here a set of (job, level) fits when some choice of one mode per job, none slower than its
level, in whatever shape, overloads no class, no link and no memory. While all such sets of a suffix are few, they are
listed, but for those of jobs that never run together, and pricing is a product of a matrix and a vector; beyond, it is
a search (:mod:`coalloc.solvers.bounds.link_pricing`).
Derivation: docs/mathematics/bounds.md, "Sets with links".
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import le, sub
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import NotTogetherRow, Problem
from coalloc.problem.allocation import Allocation
from coalloc.rules.profile import SUBTRACTION_NOISE
from coalloc.rules.tuning import CHOICES, ENTRIES, LISTED, TRIED
from coalloc.solvers.bounds.release_suffixes import Member, ReleaseSuffix

DURATION_NOISE = 1e-12
"""Share by which a mode may be slower than its level: the last digits of one sum."""


class LeftRoom(NamedTuple):
    """Capacity that a set of jobs leaves: processors per class, and of each contended resource."""

    free: Allocation
    left: tuple[float, ...]


class SetList(NamedTuple):
    """Sets as arrays: ``members`` are (job, level), shape ``(num_members, 2)``, those of a set end at ``ends``."""

    members: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, sets: Sequence[tuple[Member, ...]]) -> SetList:
        """Return sets as arrays."""
        members = np.array([member for of_set in sets for member in of_set], dtype=np.int64).reshape(-1, 2)
        return cls(members, np.cumsum([len(of_set) for of_set in sets], dtype=np.int64))

    def members_of(self, number: int) -> tuple[Member, ...]:
        """Return the members of a set by its number."""
        first = int(self.ends[number - 1]) if number else 0
        return tuple([(j, level) for j, level in self.members[first : self.ends[number]].tolist()])


class ChoiceArrays(NamedTuple):
    """Choices of jobs as arrays for the engine: the requirement of each of classes and of resources.

    ``spans`` are the first choice of each job at each level and the one after the last, shape ``(num_jobs, num_levels,
    2)``; ``is_running`` says which jobs run already, and ``free`` and ``left`` are what there is of both.
    """

    allocations: NDArray[np.int64]
    loads: NDArray[np.float64]
    spans: NDArray[np.int64]
    is_running: NDArray[np.bool_]
    free: NDArray[np.int64]
    left: NDArray[np.float64]


def may_check(problem: Problem) -> bool:
    """Return whether links, memory or the scope forbid sets that the processors hold, and the ways to try are few."""
    is_restricted = bool(problem.contended_links) or problem.is_restricted or problem.scope != "platform"
    return is_restricted and problem.allocations.number <= CHOICES


class LinkSets:
    """The sets of a suffix of a problem that fit together."""

    def __init__(self, problem: Problem, suffix: ReleaseSuffix) -> None:
        self._problem, self._suffix = problem, suffix
        limits = [problem.allocations.limits[k] for k in problem.contended_resources]
        left = tuple(limit + SUBTRACTION_NOISE * max(1.0, limit) for limit in limits)
        self._empty = LeftRoom(problem.capacities, left)
        self._is_running = [number < 0 for number in suffix.numbers]

    @cached_property
    def _choices(self) -> list[list[list[Demand]]]:
        """For each job and level the modes that are no slower."""
        problem, contended = self._problem, self._problem.contended_resources
        return [
            [
                _choices(problem, number, duration, contended) if number >= 0 else [_held(problem, ~number, contended)]
                for duration in job.durations
            ]
            for job, number in zip(self._suffix.jobs, self._suffix.numbers, strict=True)
        ]

    @cached_property
    def _least_tasks(self) -> list[list[int]]:
        """For each job and level the tasks of the mode that has fewest."""
        return [
            [min([sum(allocation) for allocation, _ in choices], default=0) for choices in of_job]
            for of_job in self._choices
        ]

    @cached_property
    def _apart(self) -> list[set[int]]:
        """For each job those that never run together with it."""
        index = {number: j for j, number in enumerate(self._suffix.numbers)}
        apart: list[set[int]] = [set() for _ in self._suffix.numbers]
        for row in self._problem.rows:
            if isinstance(row, NotTogetherRow):
                jobs = {index[number] for number in row.jobs if number in index}
                for j in jobs:
                    apart[j] |= jobs - {j}
        return apart

    def fits(self, members: Sequence[Member]) -> bool:
        """Return whether the members fit together; True as well where too many allocations would have to be tried."""
        return self._arranged(members) is not None

    @property
    def are_many(self) -> bool:
        """Whether listing them takes seconds, or is not tried."""
        number = self._count_by_tasks()
        if number > ENTRIES:
            return True
        return number * max((len(of_level) for of_job in self._choices for of_level in of_job), default=0) >= ENTRIES

    def listed(self, deadline: float, most: int | None = None) -> list[tuple[Member, ...]] | None:
        """Return every set that fits; None where they are more than ``most`` (``LISTED``) or time is up."""
        limit = LISTED if most is None else most
        if self._count_by_tasks() > ENTRIES:
            return None
        order = self._order()
        found: list[tuple[Member, ...]] = []
        for members in self._grown((), self._empty, sum(self._empty.free), order):
            if members:
                found.append(members)
            if len(found) > limit or time.perf_counter() > deadline:
                return None
        return found

    def _order(self) -> list[int]:
        """Return the jobs in the order in which sets grow: those that run first, then the widest."""
        return sorted(range(len(self._suffix.jobs)), key=lambda j: (not self._is_running[j], -self._tasks(j), j))

    def arrays(self) -> ChoiceArrays:
        """Return the choices of all jobs as arrays."""
        num_jobs, demands = len(self._choices), list[Demand]()
        spans = np.zeros((num_jobs, max(map(len, self._choices)), 2), dtype=np.int64)
        for j, of_job in enumerate(self._choices):
            for level, choices in enumerate(of_job):
                spans[j, level] = len(demands), len(demands) + len(choices)
                demands += choices
        loads = np.array([loads for _, loads in demands], dtype=np.float64)
        return ChoiceArrays(
            allocations=np.array([allocation for allocation, _ in demands], dtype=np.int64),
            loads=loads.reshape(len(demands), len(self._empty.left)),
            spans=spans,
            is_running=np.array(self._is_running),
            free=np.array(self._empty.free),
            left=np.array(self._empty.left, dtype=np.float64),
        )

    def _count_by_tasks(self) -> int:
        """Return how many sets have no more tasks than there are processors: all, or more than ``ENTRIES``."""
        ways = [1] + [0] * sum(self._empty.free)
        for j, job in enumerate(self._suffix.jobs):
            tasks = self._tasks(j)
            for total in range(len(ways) - 1, tasks - 1, -1):
                ways[total] += len(job.durations) * ways[total - tasks]
            if sum(ways) > ENTRIES:
                break
        return sum(ways)

    def _tasks(self, j: int) -> int:
        return self._suffix.jobs[j].least_tasks

    def _grown(
        self, members: tuple[Member, ...], room: LeftRoom, left: int, later: Sequence[int]
    ) -> Iterator[tuple[Member, ...]]:
        """Yield all sets that fit and consist of members and of jobs that come later, and () for each that does not.

        ``room`` is what one choice of modes leaves, ``left`` are the processors that those of fewest tasks do.
        """
        for i, j in enumerate(later):
            if self._tasks(j) > left or not self._apart[j].isdisjoint(j for j, _ in members):
                continue
            extended: LeftRoom | None = None
            for level in range(len(self._choices[j])):
                together = (*members, (j, level))
                # What fits at a fast level fits at a slower one.
                extended = extended or self._with(room, (j, level)) or self._arranged(together)
                yield () if extended is None else together
                if extended is not None:
                    yield from self._grown(together, extended, left - self._least_tasks[j][level], later[i + 1 :])

    def _with(self, room: LeftRoom, member: Member) -> LeftRoom | None:
        """Return what is left of a room once the first choice of a member that fits is in it."""
        return next(self._rooms(room, member), None)

    def _rooms(self, room: LeftRoom, member: Member) -> Iterator[LeftRoom]:
        """Yield what each choice of a member that fits leaves."""
        j, level = member
        free, left = room
        for allocation, loads in self._choices[j][level]:
            if self._is_running[j]:  # it holds what it holds, and more than there is leaves nothing
                rest = (max(0.0, limit - load) for limit, load in zip(left, loads, strict=True))
                yield LeftRoom(tuple(map(sub, free, allocation)), tuple(rest))
            elif all(map(le, allocation, free)) and all(map(le, loads, left)):
                yield LeftRoom(tuple(map(sub, free, allocation)), tuple(map(sub, left, loads)))

    def _arranged(self, members: Sequence[Member]) -> LeftRoom | None:
        """Return what the members leave together in some choice of modes; None where none fits."""
        order = sorted(members, key=lambda m: (not self._is_running[m[0]], len(self._choices[m[0]][m[1]]), m))
        steps = 0

        def place(i: int, room: LeftRoom) -> LeftRoom | None:
            nonlocal steps
            if i == len(order) or steps > TRIED:
                return room
            for after in self._rooms(room, order[i]):
                steps += 1
                placed = place(i + 1, after)
                if placed is not None:
                    return placed
            return None

        return place(0, self._empty)


Demand = tuple[Allocation, tuple[float, ...]]


def _choices(problem: Problem, number: int, duration: float, contended: Sequence[int]) -> list[Demand]:
    """Return the modes of a job that take no longer, those that take least of the resources first."""
    choices = [
        (mode.allocation, tuple(mode.loads[k] for k in contended))
        for mode in problem.modes[number]
        if mode.duration <= duration * (1.0 + DURATION_NOISE)
    ]
    return sorted(choices, key=lambda choice: (sum(choice[1]), choice[0]))


def _held(problem: Problem, number: int, contended: Sequence[int]) -> Demand:
    """Return what a running job holds."""
    busy = problem.busy[number]
    return busy.allocation, tuple(busy.loads[k] for k in contended)
