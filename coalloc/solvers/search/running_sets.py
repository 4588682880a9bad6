"""RunningSets: jobs that run at one time, with every choice of their modes that fits together.

A job keeps its mode from start to end, but which of several it has need not be decided before
something that starts later rules some out. So a running set is how many jobs of each kind run at each duration, and
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
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import sub

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Busy, Mode, Problem, least_tasks
from coalloc.rules.profile import SUBTRACTION_NOISE

MAX_PAIRS = 1_000_000
"""Pairs of a choice and a mode that are tried for one set, a quarter of a second; and in all, where whoever searches
says no other number, for it limits memory.
"""
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

WORD = 64
"""Bits of a word of the engine."""

Words = NDArray[np.uint64]
ModeChoice = tuple[int, ...]
"""For each member of a running set, the index of its mode among those of its duration."""
Key = tuple[int, int]
"""A kind of jobs and one of its durations, by index.

Each running job is a kind of its own, after those of the jobs, and so is each block, after those.
"""


class TooManyError(Exception):
    """There are more ways to run jobs together than are looked at."""


@dataclass(eq=False, slots=True)
class RunningSet:
    """The members that run, in ascending order, and for each choice that fits the room that it leaves.

    Of members with the same key those that started first come first. ``rate`` is what a tick of all of them is worth.
    """

    keys: tuple[Key, ...]
    rooms: dict[ModeChoice, int]
    rate: float
    joined: dict[Key, RunningSet | None] = field(default_factory=dict)
    remaining: dict[tuple[int, ...], RunningSet] = field(default_factory=dict)
    starts: dict[int, list[ExtensionAlternative]] = field(default_factory=dict)
    always_fitting: Sequence[Key] | None = None


@dataclass(frozen=True, slots=True)
class ExtensionAlternative:
    """Members that start together: how many jobs of each kind (``jobs``, packed), and the running set they make."""

    keys: tuple[Key, ...]
    jobs: int
    running: RunningSet
    shortest: float
    longest: float


class PackedNumbers:
    """Numbers up to some limits, written into one whole number; ``guards`` are the bits above each.

    What is taken away exceeds no limit, so a number borrows from its own guard and never from the next one. None is
    in two words of 64 bits.
    """

    def __init__(self, limits: Sequence[int]) -> None:
        widths = [limit.bit_length() + 1 for limit in limits]
        self._shifts, self._size = _side_by_side(widths)
        self._masks = [(1 << width - 1) - 1 for width in widths]
        self.guards = self.packed([mask + 1 for mask in self._masks])
        self.everything = self.packed(limits)

    def packed(self, numbers: Sequence[int]) -> int:
        """Return numbers as one."""
        return sum([n << shift for n, shift in zip(numbers, self._shifts, strict=True)])

    def words(self, *packed: int) -> Words:
        """Return numbers as words of 64 bits, the lowest first, each number in as many."""
        size = 8 * max(1, -(-self._size // WORD))
        return np.frombuffer(b"".join([number.to_bytes(size, "little") for number in packed]), dtype=np.uint64)

    def one(self, number: int) -> int:
        """Return 1 for one of the numbers and 0 for the others."""
        return 1 << self._shifts[number]

    def mask(self, number: int) -> int:
        """Return the bits of one of the numbers."""
        return self._masks[number] << self._shifts[number]

    def unpacked(self, packed: int) -> list[int]:
        """Return the numbers."""
        return [packed >> shift & mask for shift, mask in zip(self._shifts, self._masks, strict=True)]

    def greatest(self, packed: Iterable[int]) -> int:
        """Return the greatest of each of the numbers."""
        return self.packed([max(numbers) for numbers in zip(*map(self.unpacked, packed), strict=True)])


def _side_by_side(widths: Sequence[int]) -> tuple[list[int], int]:
    """Return where numbers of some bits begin, none of them in two words, and where the last one ends."""
    shifts, end = [], 0
    for width in widths:
        begin = end if end % WORD + width <= WORD else -(-end // WORD) * WORD
        shifts.append(begin)
        end = begin + width
    return shifts, end


class RunningSets:
    """The running sets of a problem, each made once.

    ``dual_prices`` (ticks) are those of the jobs; only durations that a job can have and end by ``ceiling`` (ticks)
    count. ``kinds`` are the jobs of each kind, ``durations`` those of each kind, the least first; which kind each job
    is of is the problem's to say, unless ``kind_of`` does. ``blocks`` are joined by their number, as running jobs are.
    After ``max_pairs`` pairs of a choice and a mode it raises :class:`TooManyError`.
    """

    def __init__(
        self,
        problem: Problem,
        dual_prices: Sequence[float],
        ceiling: float,
        kind_of: Sequence[int] = (),
        blocks: Sequence[Busy] = (),
        *,
        max_pairs: int = MAX_PAIRS,
    ) -> None:
        kind_of = kind_of or problem.kinds
        self.num_pairs, self._max_pairs = 0, max_pairs
        self._digits = _Digits(problem)
        self._processors = sum(problem.capacities)
        self._modes: dict[Key, list[int]] = {}
        self._uses: dict[Key, list[int]] = {}
        self._rates: dict[Key, float] = {}
        self.kinds = [[j for j, k in enumerate(kind_of) if k == kind] for kind in range(1 + max(kind_of))]
        self.durations: list[list[float]] = []
        self.counts = PackedNumbers([len(of_kind) for of_kind in self.kinds])
        self.one = [
            self.counts.packed([int(k == kind) for k in range(len(self.kinds))]) for kind in range(len(self.kinds))
        ]
        self.prices = [sum([dual_prices[j] for j in of_kind]) / len(of_kind) for of_kind in self.kinds]
        self._tasks = [least_tasks(problem.jobs[of_kind[0]]) for of_kind in self.kinds]
        for kind, (j, *_) in enumerate(self.kinds):
            groups = _by_duration(problem.modes[j], min(ceiling, problem.latest_ends[j]) - problem.releases[j])
            self.durations.append(list(groups))
            for level, (duration, numbers) in enumerate(groups.items()):
                modes = [problem.modes[j][p] for p in numbers]
                self._modes[kind, level] = numbers
                self._uses[kind, level] = [self._digits.used(c.allocation, c.loads) for c in modes]
                self._rates[kind, level] = self.prices[kind] / duration if duration else 0.0
        for busy, held in enumerate(self._digits.held(problem)):
            key = len(self.kinds) + busy, 0
            self._uses[key], self._rates[key] = [held], 0.0
            self._tasks.append(sum(problem.busy[busy].allocation))
        self._first_block = len(self.kinds) + len(problem.busy)
        for number, block in enumerate(blocks):
            key = self._first_block + number, 0
            self._uses[key], self._rates[key] = [self._digits.used(block.allocation, block.loads)], 0.0
            self._tasks.append(sum(block.allocation))
        self._known: dict[tuple[tuple[Key, ...], frozenset[ModeChoice]], RunningSet] = {}
        self.nobody = self._made_once((), {(): self._digits.everything})

    def _made_once(self, keys: tuple[Key, ...], rooms: dict[ModeChoice, int]) -> RunningSet:
        known = (keys, frozenset(rooms))
        if known not in self._known:
            self._known[known] = RunningSet(keys, rooms, sum([self._rates[key] for key in keys]))
        return self._known[known]

    @cached_property
    def _most(self) -> dict[Key, int]:
        """What the modes of each kind of jobs, at each of its durations, take at most, of each resource by itself."""
        keys = [(kind, level) for kind, levels in enumerate(self.durations) for level in range(len(levels))]
        return {key: self._digits.greatest(self._uses[key]) for key in keys}

    @property
    def everything(self) -> int:
        """What there is, with all guards."""
        return self._digits.everything

    @property
    def guards(self) -> int:
        """The guards of what there is."""
        return self._digits.guards

    def words(self, *packed: int) -> Words:
        """Return what is taken, or left, as words of 64 bits; see :meth:`PackedNumbers.words`."""
        return self._digits.words(*packed)

    def uses(self, key: Key) -> Sequence[int]:
        """Return what each mode of a key takes."""
        return self._uses[key]

    def most(self, key: Key) -> int:
        """Return what the modes of a key of jobs take at most, of each resource by itself."""
        return self._most[key]

    def tasks(self, kind: int) -> int:
        """Return how many processors a job of a kind takes at least."""
        return self._tasks[kind]

    def free_processors(self, running: RunningSet) -> int:
        """Return how many processors a running set leaves at most."""
        return self._processors - sum([self._tasks[kind] for kind, _ in running.keys])

    def mode(self, key: Key, index: int) -> int:
        """Return which of the modes of a job of a kind is one of those at a duration."""
        return self._modes[key][index]

    def busy(self, running: Sequence[int]) -> RunningSet:
        """Return the running set of running jobs, by index."""
        together: RunningSet | None = self.nobody
        for b in running:
            assert together is not None
            together = self.join(together, (len(self.kinds) + b, 0))
        assert together is not None  # they do not overload anything: what they hold is cut to what there is
        return together

    def block_key(self, block: int) -> Key:
        """Return the key of a block, by index; keys of blocks come after all others."""
        return self._first_block + block, 0

    def with_block(self, running: RunningSet, block: int) -> RunningSet | None:
        """Return a running set once a block, by index, begins; None where no choice leaves it what it takes."""
        return self.join(running, self.block_key(block))

    def starts(self, running: RunningSet, ready: int) -> list[ExtensionAlternative]:
        """Return the sets of jobs, each at a duration, that can join a running set together, nobody first.

        All of ``ready`` (packed numbers of each kind) are in some set; others are too where these are few.
        """
        everyone = self.counts.everything
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
        members = Counter(kind for kind, _ in running.keys)
        numbers = [min(n, len(self.kinds[kind]) - members[kind]) for kind, n in enumerate(self.counts.unpacked(ready))]
        kinds = [(kind, n) for kind, n in enumerate(numbers) if n > 0]
        nobody = ExtensionAlternative((), 0, running, math.inf, 0.0)
        return list(islice(self._grown(nobody, kinds, self.free_processors(running)), most))

    def _grown(
        self, start: ExtensionAlternative, kinds: Sequence[tuple[int, int]], free: int, fastest: int = 0
    ) -> Iterator[ExtensionAlternative]:
        """Yield a start, and what it becomes with some of so many jobs of kinds; the first kind from a level on."""
        yield start
        for i, (kind, number) in enumerate(kinds):
            left = free - self._tasks[kind]
            first = 0 if i else fastest
            for level in range(first, len(self.durations[kind])) if left >= 0 else ():
                running = self.join(start.running, (kind, level))
                if running is not None:
                    duration = self.durations[kind][level]
                    grown = ExtensionAlternative(
                        (*start.keys, (kind, level)),
                        start.jobs + self.counts.one(kind),
                        running,
                        min(start.shortest, duration),
                        max(start.longest, duration),
                    )
                    more = [(kind, number - 1)] if number > 1 else []
                    yield from self._grown(grown, [*more, *kinds[i + 1 :]], left, level if more else 0)

    def join(self, running: RunningSet, key: Key) -> RunningSet | None:
        """Return a running set with one more member, after those of its key; None where nothing fits."""
        if key not in running.joined:
            place = bisect_right(running.keys, key)
            rooms = dict(self._with(running, key, place))
            keys = (*running.keys[:place], key, *running.keys[place:])
            running.joined[key] = self._made_once(keys, rooms) if rooms else None
        return running.joined[key]

    def always_fitting(self, running: RunningSet) -> Sequence[Key]:
        """Return of which keys one more member fits in each of its modes, whatever choice the others have."""
        if running.always_fitting is None:
            guards, fitting = self._digits.guards, list(self._most.items())
            for room in running.rooms.values():
                fitting = [(key, most) for key, most in fitting if (room - most) & guards == guards]
                if not fitting:
                    break
            running.always_fitting = [key for key, _ in fitting]
        return running.always_fitting

    def _with(self, running: RunningSet, key: Key, place: int) -> Iterator[tuple[ModeChoice, int]]:
        """Yield the choices with one more member, and the room that each leaves."""
        uses, guards = self._uses[key], self._digits.guards
        num_pairs = len(uses) * len(running.rooms)
        self.num_pairs += num_pairs
        if num_pairs > MAX_PAIRS or self.num_pairs > self._max_pairs:
            raise TooManyError
        for choice, room in running.rooms.items():
            before, after = choice[:place], choice[place:]
            for index, used in enumerate(uses):
                rest = room - used
                if rest & guards == guards:
                    yield (*before, index, *after), rest

    def without(self, running: RunningSet, kept: tuple[int, ...]) -> RunningSet:
        """Return what is left of a running set: its members with these numbers."""
        if len(kept) == len(running.keys):
            return running
        if kept not in running.remaining:
            gone = [(i, self._uses[key]) for i, key in enumerate(running.keys) if i not in kept]
            rooms = {
                tuple([choice[i] for i in kept]): room + sum([uses[choice[i]] for i, uses in gone])
                for choice, room in running.rooms.items()
            }
            running.remaining[kept] = self._made_once(tuple([running.keys[i] for i in kept]), rooms)
        return running.remaining[kept]


def _by_duration(modes: Sequence[Mode], most: float) -> dict[float, list[int]]:
    """Return modes, by index, by their durations up to the most (ticks), the least first."""
    groups: dict[float, list[int]] = {}
    for p in sorted(range(len(modes)), key=lambda p: modes[p].duration):
        if modes[p].duration <= most:
            groups.setdefault(modes[p].duration, []).append(p)
    return groups


class _Digits(PackedNumbers):
    """How processors and loads are written into one whole number."""

    def __init__(self, problem: Problem) -> None:
        self._contended = [(k, problem.allocations.limits[k]) for k in problem.contended_resources]
        super().__init__([*problem.capacities, *(LOAD_UNITS + NOISE_UNITS for _ in self._contended)])
        self.everything += self.guards

    def used(self, allocation: Sequence[int], loads: Sequence[float]) -> int:
        """Return what a mode takes; it exceeds no resource."""
        return self.packed([*allocation, *self._units(loads)])

    def _units(self, loads: Sequence[float]) -> list[int]:
        # Nothing loads what carries nothing, but for running jobs: twice the limit is as much as any of them needs.
        shares = [min(2.0, loads[k] / limit) if limit else 0.0 for k, limit in self._contended]
        return [math.floor(share * LOAD_UNITS) for share in shares]

    def held(self, problem: Problem) -> list[int]:
        """Return what each running job takes.

        All run from the beginning on. Where they overload a resource together nothing of it is free until enough of
        them end: those that end last take theirs first, and the others what is left.
        """
        held, left = [0] * len(problem.busy), [LOAD_UNITS + NOISE_UNITS] * len(self._contended)
        for b in sorted(range(len(held)), key=lambda b: -problem.busy[b].end):
            busy = problem.busy[b]
            units = list(map(min, self._units(busy.loads), left))
            left = list(map(sub, left, units))
            held[b] = self.packed([*busy.allocation, *units])
        return held
