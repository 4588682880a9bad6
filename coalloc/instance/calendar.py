"""Calendars of allowed starts: every full hour, on working days; a pattern that repeats."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

from coalloc.documents.errors import CoallocError

T = TypeVar("T", int, float)
Windows = list[tuple[int, int]]
"""Windows in order, none of which meets another, in a unit in which all times are whole."""


@dataclass(frozen=True)
class Calendar:
    """Allowed starts of a job: windows of a period that repeats.

    Parameters
    ----------
    period : float
        Length of the period, s.
    windows : tuple of (float, float), default ((0.0, 0.0),)
        First and last allowed start of each window, s after the begin of the period; both may be the same.
    offset : float, default 0.0
        Time at which a period begins, s.

    Raises
    ------
    CoallocError
        The period is not above 0, or a window is not within it.

    See Also
    --------
    coalloc.extend.AllowedStarts : The declaration that has it.

    Examples
    --------
    Every full hour, and from 8 to 18 o'clock on five days of seven:

    >>> from coalloc.extend import Calendar
    >>> Calendar(3600.0).first_start(4000.0)
    7200.0
    >>> day = 86400.0
    >>> weekdays = Calendar(
    ...     7 * day, tuple((d * day + 28800.0, d * day + 64800.0) for d in range(5))
    ... )
    >>> weekdays.first_start(5 * day) / day
    7.333333333333333
    """

    period: float
    windows: tuple[tuple[float, float], ...] = ((0.0, 0.0),)
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.period < math.inf:
            raise CoallocError(f"the period of a Calendar must be above 0 and finite, got {self.period!r}")
        if not self.windows or not all(0.0 <= first <= last <= self.period for first, last in self.windows):
            raise CoallocError(
                f"windows of a Calendar must be pairs (first, last) within its period of {self.period:g} s, got "
                f"{self.windows!r}"
            )

    def first_start(self, seconds: float, tolerance: float = 0.0) -> float:
        """Return the first allowed start from a time on, s; one that is up to ``tolerance`` (s) too late is allowed."""
        phase = (seconds - self.offset) % self.period
        lasts, firsts = self.ordered
        if lasts[-1] - self.period >= phase - tolerance:
            return seconds  # the end of the last window of the period before
        place = bisect_left(lasts, phase - tolerance)
        wait = self.period + firsts[0] - phase
        return seconds + (wait if place == len(lasts) else min(wait, max(0.0, firsts[place] - phase)))

    @cached_property
    def ordered(self) -> tuple[list[float], list[float]]:
        """The last starts of the windows in order, and the first start of the windows from each of them on."""
        windows = sorted(self.windows, key=lambda window: window[1], reverse=True)
        firsts = [*accumulate((first for first, _ in windows), min)]
        return [last for _, last in reversed(windows)], firsts[::-1]

    def spans(self, since: float, until: float) -> Iterator[tuple[float, float]]:
        """Yield the first and the last allowed start of each window that is not over at a time, s, until another."""
        windows = _merged(sorted(self.windows))
        number = math.floor((since - self.offset) / self.period) - 1
        while (begin := self.offset + number * self.period) <= until:
            spans = ((begin + first, begin + last) for first, last in windows)
            yield from ((first, last) for first, last in spans if last >= since and first <= until)
            number += 1

    def allows(self, seconds: float, tolerance: float) -> bool:
        """Return whether a start, s, is allowed; it may be up to ``tolerance`` (s) too early or too late."""
        return self.first_start(seconds, tolerance) - seconds <= tolerance

    def both(self, other: Calendar, most: int) -> Calendar | None:
        """Return the calendar of the starts that two calendars allow; None where they have none in common.

        Raises ``OverflowError`` where the shorter one repeats more than ``most`` times until both do.
        """
        times = [_exact(time) for one in (self, other) for time in (one.period, one.offset, *sum(one.windows, ()))]
        scale = math.lcm(*(time.denominator for time in times))

        def whole(seconds: float) -> int:
            return int(_exact(seconds) * scale)

        period = math.lcm(whole(self.period), whole(other.period))
        if period > most * min(whole(self.period), whole(other.period)):
            raise OverflowError
        mine, others = (
            _merged(
                (begin + whole(first), begin + whole(last))
                for begin in range((whole(one.offset) - whole(self.offset)) % own - own, period + 1, own)
                for first, last in one.windows
            )
            for one, own in ((one, whole(one.period)) for one in (self, other))
        )
        windows = ((max(first, 0), min(last, period)) for first, last in _overlaps(mine, others))
        found = tuple((first / scale, last / scale) for first, last in windows if first <= last)
        return Calendar(period / scale, found, self.offset) if found else None

    @property
    def length(self) -> float:
        """The period, s."""
        return self.period

    @property
    def changes(self) -> Iterator[float]:
        """The period, and when windows begin, s: on a grid with these as multiples early starts are whole slots."""
        yield self.period
        yield from (self.offset + first for first, _ in self.windows)

    @property
    def longest_wait(self) -> float:
        """Longest time until the next allowed start, s."""
        windows = sorted(self.windows)
        ends, waits = windows[0][1], 0.0
        for first, last in [*windows[1:], (self.period + windows[0][0], math.inf)]:
            waits = max(waits, first - ends)
            ends = max(ends, last)
        return waits


def _exact(seconds: float) -> Fraction:
    """Return a time as the fraction that it stands for, where it is one to a millionth but for the last digits."""
    rounded = Fraction(seconds).limit_denominator(10**6)
    return rounded if math.isclose(rounded, seconds, rel_tol=4.0 * sys.float_info.epsilon) else Fraction(seconds)


def _merged(windows: Iterable[tuple[T, T]]) -> list[tuple[T, T]]:
    """Return windows in order, as one where they meet."""
    merged: list[tuple[T, T]] = []
    for first, last in sorted(windows):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged


def _overlaps(one: Windows, other: Windows) -> Iterator[tuple[int, int]]:
    """Yield what windows have in common with others."""
    i, k = 0, 0
    while i < len(one) and k < len(other):
        first, last = max(one[i][0], other[k][0]), min(one[i][1], other[k][1])
        if first <= last:
            yield first, last
        if one[i][1] < other[k][1]:
            i += 1
        else:
            k += 1


def common_period(one: float, other: float) -> float:
    """Return the least common multiple of two periods: whole numbers, or seconds to a millionth."""
    first, second = (Fraction(period).limit_denominator(10**6) for period in (one, other))
    scale = math.lcm(first.denominator, second.denominator)
    return math.lcm(int(first * scale), int(second * scale)) / scale
