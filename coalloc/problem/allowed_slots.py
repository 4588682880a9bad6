"""Calendars in slots: those in which a job may start, a pattern that repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import CoallocError
from coalloc.instance.calendar import Calendar
from coalloc.instance.time_base import TimeBase

MOST_SLOTS = 1_000_000
"""Slots after which the pattern of a calendar repeats at most."""


@dataclass(frozen=True, slots=True)
class AllowedSlots:
    """The allowed slots, in order, among the first ``length``; after so many they repeat."""

    slots: NDArray[np.int64]
    length: int

    @classmethod
    def of(cls, calendar: Calendar, slot: float, base: TimeBase, job: str) -> AllowedSlots:
        """Return those of a calendar on slots of so many seconds; raise where they do not repeat, or there are none."""
        ratio = Fraction(calendar.period / slot).limit_denominator(MOST_SLOTS)
        if ratio.numerator > MOST_SLOTS or abs(ratio.numerator * slot - ratio.denominator * calendar.period) > (
            base.tolerance
        ):
            raise CoallocError(
                f"slot: the calendar of job {job} repeats every {calendar.period:g} s, which slots of {slot:g} s do "
                "not fit: use a slot that divides it"
            )
        starts = (t for t in range(ratio.numerator) if calendar.allows(t * slot + base.shift, base.tolerance))
        slots = np.fromiter(starts, dtype=np.int64)
        if not len(slots):
            raise CoallocError(f"slot: the calendar of job {job} allows no start of a slot of {slot:g} s")
        return cls(slots, ratio.numerator)

    def first_from(self, slot: int) -> int:
        """Return the first allowed slot from one on."""
        periods, phase = divmod(slot, self.length)
        place = int(np.searchsorted(self.slots, phase))
        if place == len(self.slots):
            periods, place = periods + 1, 0
        return periods * self.length + int(self.slots[place])

    @property
    def longest_wait(self) -> int:
        """Slots until the next allowed one at most."""
        gaps = np.diff(np.append(self.slots, self.length + self.slots[0]))
        return int(gaps.max()) - 1

    def spans(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the last slot of each run of allowed ones between two."""
        begun, slot = None, math.nan
        following = self.first_from(first)
        while following <= last:
            if begun is None:
                begun = following
            elif following > slot + 1:
                yield begun, int(slot)
                begun = following
            slot, following = following, self.first_from(following + 1)
        if begun is not None:
            yield begun, int(slot)
