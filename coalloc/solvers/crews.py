"""Crews: jobs that run at one time, with every choice of their configurations that fits together.

A job keeps its configuration from start to end, but which of several it has need not be decided before
something that starts later rules some out. So a crew is a set of jobs, each at one of its durations, and
*all* choices that are left; another job joins a choice where one of its configurations fits into what
the choice leaves. Processors and bandwidths are the digits of one whole number, so that whether something fits is
one subtraction: each digit has a guard bit above it that borrowing clears. Loads are counted in units, a
share of ``1 / LOAD_UNITS`` of the bandwidth each, and rounded down: less than the checker tolerates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from coalloc.problem import Configuration, Problem
from coalloc.rules.profile import SUBTRACTION_NOISE

MAX_PAIRS = 1_000_000
"""Pairs of a choice and a configuration that are tried in all; it limits memory."""
MAX_STARTS = 10_000
"""Sets of jobs that may join one crew at one time."""
FEW_STARTS = 150
"""Such sets below which all are kept together, whoever waits."""
LOAD_UNITS = 2**44
"""Units that the bandwidth of a link is counted in."""
NOISE_UNITS = math.ceil(SUBTRACTION_NOISE * LOAD_UNITS)
"""Units that adding and taking away loads may lose."""

Choice = tuple[int, ...]
"""For each job of a crew, the index of its configuration among those of its duration."""
Key = tuple[int, int]
"""A job and one of its durations, by index."""


class TooManyError(Exception):
    """There are more ways to run jobs together than are looked at."""


@dataclass(eq=False, slots=True)
class Crew:
    """The jobs that run, in ascending order, and for each choice that fits the room that it leaves.

    ``rate`` is what a tick of all of them is worth.
    """

    keys: tuple[Key, ...]
    rooms: dict[Choice, int]
    rate: float
    joined: dict[Key, Crew | None] = field(default_factory=dict)
    remaining: dict[tuple[Key, ...], Crew] = field(default_factory=dict)
    starts: dict[int, list[Start]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """Jobs that start together: which (``jobs`` has a bit for each), the crew that they make, and their durations."""

    keys: tuple[Key, ...]
    jobs: int
    crew: Crew
    shortest: float
    longest: float


class Crews:
    """The crews of a problem, each made once.

    ``worths`` (ticks) are those of the jobs; only durations that a job can have and end by ``ceiling`` (ticks)
    count. ``durations`` are those of each job, the least first.
    """

    def __init__(self, problem: Problem, worths: Sequence[float], ceiling: float) -> None:
        self.num_pairs = 0
        self._digits = _Digits(problem)
        self._processors = sum(problem.capacities)
        self._tasks = [job.tasks for job in problem.jobs]
        self._configurations: dict[Key, list[Configuration]] = {}
        self._uses: dict[Key, list[int]] = {}
        self._rates: dict[Key, float] = {}
        self.durations: list[list[float]] = []
        for j, (release, worth) in enumerate(zip(problem.releases, worths, strict=True)):
            groups = _by_duration(c for c in problem.configurations[j] if release + c.duration <= ceiling)
            self.durations.append(list(groups))
            for level, (duration, configurations) in enumerate(groups.items()):
                self._configurations[j, level] = configurations
                self._uses[j, level] = [self._digits.used(c.allocation, c.loads) for c in configurations]
                self._rates[j, level] = worth / duration if duration else 0.0
        self._known: dict[tuple[tuple[Key, ...], frozenset[Choice]], Crew] = {}
        self.nobody = self._crew((), {(): self._digits.everything})

    def _crew(self, keys: tuple[Key, ...], rooms: dict[Choice, int]) -> Crew:
        known = (keys, frozenset(rooms))
        if known not in self._known:
            self._known[known] = Crew(keys, rooms, sum([self._rates[key] for key in keys]))
        return self._known[known]

    def configuration(self, key: Key, index: int) -> Configuration:
        """Return one of the configurations of a job at a duration."""
        return self._configurations[key][index]

    def starts(self, crew: Crew, ready: int) -> list[Start]:
        """Return the sets of jobs, each at a duration, that can join a crew together, nobody first.

        All of ``ready`` (a bit for each job) are in some set; others are too where these are few.
        """
        everyone = (1 << len(self.durations)) - 1
        if everyone not in crew.starts:
            crew.starts[everyone] = self._starts(crew, everyone, FEW_STARTS)
        if len(crew.starts[everyone]) < FEW_STARTS:
            return crew.starts[everyone]
        if ready not in crew.starts or ready == everyone:
            crew.starts[ready] = self._starts(crew, ready, MAX_STARTS)
            if len(crew.starts[ready]) == MAX_STARTS:
                raise TooManyError
        return crew.starts[ready]

    def _starts(self, crew: Crew, ready: int, most: int) -> list[Start]:
        members = {j for j, _ in crew.keys}
        jobs = [j for j in range(len(self.durations)) if ready >> j & 1 and j not in members]
        free = self._processors - sum([self._tasks[j] for j in members])
        return list(islice(self._grown(Start((), 0, crew, math.inf, 0.0), jobs, free), most))

    def _grown(self, start: Start, jobs: Sequence[int], free: int) -> Iterator[Start]:
        """Yield a start, and what it becomes with some of the jobs."""
        yield start
        for i, j in enumerate(jobs, 1):
            left = free - self._tasks[j]
            for level, duration in enumerate(self.durations[j]) if left >= 0 else ():
                crew = self._join(start.crew, (j, level))
                if crew is not None:
                    keys, together = (*start.keys, (j, level)), start.jobs | 1 << j
                    shortest, longest = min(start.shortest, duration), max(start.longest, duration)
                    yield from self._grown(Start(keys, together, crew, shortest, longest), jobs[i:], left)

    def _join(self, crew: Crew, key: Key) -> Crew | None:
        """Return a crew with one more job; None where nothing fits."""
        if key not in crew.joined:
            place = sum(1 for other in crew.keys if other < key)
            rooms = dict(self._with(crew, key, place))
            keys = (*crew.keys[:place], key, *crew.keys[place:])
            crew.joined[key] = self._crew(keys, rooms) if rooms else None
        return crew.joined[key]

    def _with(self, crew: Crew, key: Key, place: int) -> Iterator[tuple[Choice, int]]:
        """Yield the choices with one more job, and the room that each leaves."""
        uses, guards = self._uses[key], self._digits.guards
        self.num_pairs += len(uses) * len(crew.rooms)
        if self.num_pairs > MAX_PAIRS:
            raise TooManyError
        for choice, room in crew.rooms.items():
            before, after = choice[:place], choice[place:]
            for index, used in enumerate(uses):
                rest = room - used
                if rest & guards == guards:
                    yield (*before, index, *after), rest

    def without(self, crew: Crew, keys: tuple[Key, ...]) -> Crew:
        """Return what is left of a crew: ``keys``."""
        if len(keys) == len(crew.keys):
            return crew
        if keys not in crew.remaining:
            kept = [i for i, key in enumerate(crew.keys) if key in keys]
            gone = [(i, self._uses[key]) for i, key in enumerate(crew.keys) if key not in keys]
            rooms = {
                tuple([choice[i] for i in kept]): room + sum([uses[choice[i]] for i, uses in gone])
                for choice, room in crew.rooms.items()
            }
            crew.remaining[keys] = self._crew(keys, rooms)
        return crew.remaining[keys]


def _by_duration(configurations: Iterator[Configuration]) -> dict[float, list[Configuration]]:
    """Return configurations by duration, the least first."""
    groups: dict[float, list[Configuration]] = {}
    for configuration in sorted(configurations, key=lambda c: c.duration):
        groups.setdefault(configuration.duration, []).append(configuration)
    return groups


class _Digits:
    """How processors and bandwidths are written into one whole number; ``guards`` are the bits above the digits."""

    def __init__(self, problem: Problem) -> None:
        self._links = [(k, problem.bandwidths[k]) for k in problem.contended_links]
        limits = [*problem.capacities, *(LOAD_UNITS + NOISE_UNITS for _ in self._links)]
        self._shifts, self.everything, self.guards, shift = list[int](), 0, 0, 0
        for limit in limits:
            self._shifts.append(shift)
            self.everything += limit << shift
            shift += limit.bit_length()
            self.guards += 1 << shift
            shift += 1
        self.everything += self.guards

    def used(self, allocation: Sequence[int], loads: Sequence[float]) -> int:
        """Return what a configuration takes; its loads fit on the links."""
        units = [math.floor(loads[k] / limit * LOAD_UNITS) if loads[k] else 0 for k, limit in self._links]
        return sum([n << shift for n, shift in zip((*allocation, *units), self._shifts, strict=True)])
