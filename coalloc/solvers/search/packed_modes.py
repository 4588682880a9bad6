"""The modes of a problem at each duration, with what they take written into one whole number: a running set's members.

A job keeps its mode from start to end, but which of several it has need not be decided before something that starts
later rules some out. So a running set is how many jobs of each kind run at each duration, a *key*, and *all* choices of
their modes that are left (``running_sets.c``). Processors and what is left of links and memories are the digits of one
whole number, so that whether something fits is one subtraction: each digit has a guard bit above it that borrowing
clears. Loads are counted in units, a share of ``1 / LOAD_UNITS`` of the limit each, and rounded down: no choice that
fits is lost, and those that are won exceed a limit by a share of 2e-12, where the checker refuses them and nothing is
proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import sub

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Busy, Mode, Problem, least_tasks
from coalloc.rules.profile import SUBTRACTION_NOISE

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
Key = tuple[int, int]
"""A kind of jobs and one of its durations, by index.

Each running job is a kind of its own, after those of the jobs, and so is each block, after those.
"""


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


class PackedModes:
    """The modes of the jobs of a problem by their keys, and what each takes.

    Only durations that a job can have and end by ``ceiling`` (ticks) count. ``kinds`` are the jobs of each kind,
    ``durations`` those of each kind, the least first; which kind each job is of is the problem's to say, unless
    ``kind_of`` does. ``blocks`` have keys as running jobs have.
    """

    def __init__(self, problem: Problem, ceiling: float, kind_of: Sequence[int], blocks: Sequence[Busy]) -> None:
        kind_of = kind_of or problem.kinds
        self._digits = _Digits(problem)
        self._modes: dict[Key, list[int]] = {}
        self._uses: dict[Key, list[int]] = {}
        self.kinds = [[j for j, k in enumerate(kind_of) if k == kind] for kind in range(1 + max(kind_of))]
        self.durations: list[list[float]] = []
        self._tasks = [least_tasks(problem.jobs[of_kind[0]]) for of_kind in self.kinds]
        for kind, (j, *_) in enumerate(self.kinds):
            groups = _by_duration(problem.modes[j], min(ceiling, problem.latest_ends[j]) - problem.releases[j])
            self.durations.append(list(groups))
            for level, numbers in enumerate(groups.values()):
                modes = [problem.modes[j][p] for p in numbers]
                self._modes[kind, level] = numbers
                self._uses[kind, level] = [self._digits.used(c.allocation, c.loads) for c in modes]
        for busy, held in enumerate(self._digits.held(problem)):
            self._uses[len(self.kinds) + busy, 0] = [held]
            self._tasks.append(sum(problem.busy[busy].allocation))
        self._first_block = len(self.kinds) + len(problem.busy)
        for number, block in enumerate(blocks):
            self._uses[self._first_block + number, 0] = [self._digits.used(block.allocation, block.loads)]
            self._tasks.append(sum(block.allocation))

    @property
    def everything(self) -> int:
        """The full capacity, with all guards."""
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
        return self._digits.greatest(self._uses[key])

    def tasks(self, kind: int) -> int:
        """Return how many processors a job of a kind takes at least."""
        return self._tasks[kind]

    def mode(self, key: Key, index: int) -> int:
        """Return which of the modes of a job of a kind is one of those at a duration."""
        return self._modes[key][index]

    def block_key(self, block: int) -> Key:
        """Return the key of a block, by index; keys of blocks come after all others."""
        return self._first_block + block, 0


def _by_duration(modes: Sequence[Mode], most: float) -> dict[float, list[int]]:
    """Return modes, by index, by their durations up to the most (ticks), the least first."""
    groups: dict[float, list[int]] = {}
    for p in sorted(range(len(modes)), key=lambda p: modes[p].duration):
        if modes[p].duration <= most:
            groups.setdefault(modes[p].duration, []).append(p)
    return groups


class _Digits(PackedNumbers):
    """Digits by which processors and loads are written into one whole number."""

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
