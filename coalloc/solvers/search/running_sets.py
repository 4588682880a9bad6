"""RunningSets: jobs that run at one time, with every choice of their modes that fits together.

A job keeps its mode from start to end, but which of several it has need not be decided before
something that starts later rules some out. So a running set is a set of jobs, each at one of its durations, and
*all* choices that are left; another job joins a choice where one of its modes fits into what
the choice leaves. Processors and what is left of links and memories are the digits of one whole number, so that
whether something fits is one subtraction: each digit has a guard bit above it that borrowing clears. Loads are
counted in units, a share of ``1 / LOAD_UNITS`` of the limit each, and rounded down: no choice that fits is lost, and
those that are won exceed a limit by a share of 2e-12, where the checker refuses them and nothing is proven.
Source of the sets of jobs that start together: J. Stinson, E. Davis, B. Khumawala, "Multiple resource-constrained
scheduling using branch and bound", AIIE Transactions 10 (1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from coalloc.problem import Mode, Problem
from coalloc.rules.profile import SUBTRACTION_NOISE

MAX_PAIRS = 1_000_000
"""Pairs of a choice and a mode that are tried in all; it limits memory."""
MAX_ALTERNATIVES = 10_000
"""Sets of jobs that may join one running set at one time."""
FEW_ALTERNATIVES = 150
"""Such sets below which all are kept together, whoever waits."""
LOAD_UNITS = 2**44
"""Units that the limit of a link, or a memory, is counted in.

Floats have 9 bits more, so a load is in the unit above for its last digits only, and hundreds of them add up to no unit
more than the limit. Each of them loses less than a unit, 6e-14 of the limit: twenty lose about the noise below.
"""
NOISE_UNITS = math.ceil(SUBTRACTION_NOISE * LOAD_UNITS)
"""Units that adding and taking away loads may lose: what fits in other searches (:class:`Profile`) has to fit here."""

ModeChoice = tuple[int, ...]
"""For each job of a running set, the index of its mode among those of its duration."""
Key = tuple[int, int]
"""A job and one of its durations, by index."""


class TooManyError(Exception):
    """There are more ways to run jobs together than are looked at."""


@dataclass(eq=False, slots=True)
class RunningSet:
    """The jobs that run, in ascending order, and for each choice that fits the room that it leaves.

    ``rate`` is what a tick of all of them is worth.
    """

    keys: tuple[Key, ...]
    rooms: dict[ModeChoice, int]
    rate: float
    joined: dict[Key, RunningSet | None] = field(default_factory=dict)
    remaining: dict[tuple[Key, ...], RunningSet] = field(default_factory=dict)
    starts: dict[int, list[ExtensionAlternative]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExtensionAlternative:
    """Jobs that start together: which (``jobs`` has a bit for each), the running set they make, their durations."""

    keys: tuple[Key, ...]
    jobs: int
    running: RunningSet
    shortest: float
    longest: float


class RunningSets:
    """The running_sets of a problem, each made once.

    ``dual_prices`` (ticks) are those of the jobs; only durations that a job can have and end by ``ceiling`` (ticks)
    count. ``durations`` are those of each job, the least first.
    """

    def __init__(self, problem: Problem, dual_prices: Sequence[float], ceiling: float) -> None:
        self.num_pairs = 0
        self._digits = _Digits(problem)
        self._processors = sum(problem.capacities)
        self._tasks = [job.tasks for job in problem.jobs]
        self._modes: dict[Key, list[Mode]] = {}
        self._uses: dict[Key, list[int]] = {}
        self._rates: dict[Key, float] = {}
        self.durations: list[list[float]] = []
        for j, (release, price) in enumerate(zip(problem.releases, dual_prices, strict=True)):
            groups = _by_duration(c for c in problem.modes[j] if release + c.duration <= ceiling)
            self.durations.append(list(groups))
            for level, (duration, modes) in enumerate(groups.items()):
                self._modes[j, level] = modes
                self._uses[j, level] = [self._digits.used(c.allocation, c.loads) for c in modes]
                self._rates[j, level] = price / duration if duration else 0.0
        self._known: dict[tuple[tuple[Key, ...], frozenset[ModeChoice]], RunningSet] = {}
        self.nobody = self._made_once((), {(): self._digits.everything})

    def _made_once(self, keys: tuple[Key, ...], rooms: dict[ModeChoice, int]) -> RunningSet:
        known = (keys, frozenset(rooms))
        if known not in self._known:
            self._known[known] = RunningSet(keys, rooms, sum([self._rates[key] for key in keys]))
        return self._known[known]

    def mode(self, key: Key, index: int) -> Mode:
        """Return one of the modes of a job at a duration."""
        return self._modes[key][index]

    def starts(self, running: RunningSet, ready: int) -> list[ExtensionAlternative]:
        """Return the sets of jobs, each at a duration, that can join a running set together, nobody first.

        All of ``ready`` (a bit for each job) are in some set; others are too where these are few.
        """
        everyone = (1 << len(self.durations)) - 1
        if everyone not in running.starts:
            running.starts[everyone] = self._starts(running, everyone, FEW_ALTERNATIVES)
        if len(running.starts[everyone]) < FEW_ALTERNATIVES:
            return running.starts[everyone]
        if ready not in running.starts or ready == everyone:
            running.starts[ready] = self._starts(running, ready, MAX_ALTERNATIVES)
            if len(running.starts[ready]) == MAX_ALTERNATIVES:
                raise TooManyError  # some may be missing, and a search without them would prove nothing
        return running.starts[ready]

    def _starts(self, running: RunningSet, ready: int, most: int) -> list[ExtensionAlternative]:
        members = {j for j, _ in running.keys}
        jobs = [j for j in range(len(self.durations)) if ready >> j & 1 and j not in members]
        free = self._processors - sum([self._tasks[j] for j in members])
        return list(islice(self._grown(ExtensionAlternative((), 0, running, math.inf, 0.0), jobs, free), most))

    def _grown(self, start: ExtensionAlternative, jobs: Sequence[int], free: int) -> Iterator[ExtensionAlternative]:
        """Yield a start, and what it becomes with some of the jobs."""
        yield start
        for i, j in enumerate(jobs, 1):
            left = free - self._tasks[j]
            for level, duration in enumerate(self.durations[j]) if left >= 0 else ():
                running = self._join(start.running, (j, level))
                if running is not None:
                    keys, together = (*start.keys, (j, level)), start.jobs | 1 << j
                    shortest, longest = min(start.shortest, duration), max(start.longest, duration)
                    yield from self._grown(
                        ExtensionAlternative(keys, together, running, shortest, longest), jobs[i:], left
                    )

    def _join(self, running: RunningSet, key: Key) -> RunningSet | None:
        """Return a running set with one more job; None where nothing fits."""
        if key not in running.joined:
            place = sum(1 for other in running.keys if other < key)
            rooms = dict(self._with(running, key, place))
            keys = (*running.keys[:place], key, *running.keys[place:])
            running.joined[key] = self._made_once(keys, rooms) if rooms else None
        return running.joined[key]

    def _with(self, running: RunningSet, key: Key, place: int) -> Iterator[tuple[ModeChoice, int]]:
        """Yield the choices with one more job, and the room that each leaves."""
        uses, guards = self._uses[key], self._digits.guards
        self.num_pairs += len(uses) * len(running.rooms)
        if self.num_pairs > MAX_PAIRS:
            raise TooManyError
        for choice, room in running.rooms.items():
            before, after = choice[:place], choice[place:]
            for index, used in enumerate(uses):
                rest = room - used
                if rest & guards == guards:
                    yield (*before, index, *after), rest

    def without(self, running: RunningSet, keys: tuple[Key, ...]) -> RunningSet:
        """Return what is left of a running set: ``keys``."""
        if len(keys) == len(running.keys):
            return running
        if keys not in running.remaining:
            kept = [i for i, key in enumerate(running.keys) if key in keys]
            gone = [(i, self._uses[key]) for i, key in enumerate(running.keys) if key not in keys]
            rooms = {
                tuple([choice[i] for i in kept]): room + sum([uses[choice[i]] for i, uses in gone])
                for choice, room in running.rooms.items()
            }
            running.remaining[keys] = self._made_once(keys, rooms)
        return running.remaining[keys]


def _by_duration(modes: Iterator[Mode]) -> dict[float, list[Mode]]:
    """Return modes by duration, the least first."""
    groups: dict[float, list[Mode]] = {}
    for mode in sorted(modes, key=lambda c: c.duration):
        groups.setdefault(mode.duration, []).append(mode)
    return groups


class _Digits:
    """How processors and loads are written into one whole number; ``guards`` are the bits above the digits.

    What a mode takes exceeds no digit, so a digit borrows from its own guard and never from the next digit.
    """

    def __init__(self, problem: Problem) -> None:
        self._contended = [(k, problem.limits[k]) for k in problem.contended_resources]
        limits = [*problem.capacities, *(LOAD_UNITS + NOISE_UNITS for _ in self._contended)]
        self._shifts, self.everything, self.guards, shift = list[int](), 0, 0, 0
        for limit in limits:
            self._shifts.append(shift)
            self.everything += limit << shift
            shift += limit.bit_length()
            self.guards += 1 << shift
            shift += 1
        self.everything += self.guards

    def used(self, allocation: Sequence[int], loads: Sequence[float]) -> int:
        """Return what a mode takes; it exceeds no resource."""
        units = [math.floor(loads[k] / limit * LOAD_UNITS) if loads[k] else 0 for k, limit in self._contended]
        return sum([n << shift for n, shift in zip((*allocation, *units), self._shifts, strict=True)])
