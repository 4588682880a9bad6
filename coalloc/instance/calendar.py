"""When jobs may start: every full hour, on working days; a pattern that repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from coalloc.documents.errors import CoallocError


@dataclass(frozen=True, slots=True)
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
        return seconds + min(
            max(0.0, begin + first - phase)
            for begin in (0.0, self.period)
            for first, last in self.windows
            if begin + last >= phase - tolerance
        )

    def allows(self, seconds: float, tolerance: float) -> bool:
        """Return whether a start, s, is allowed; it may be up to ``tolerance`` (s) too early or too late."""
        return self.first_start(seconds, tolerance) - seconds <= tolerance

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


def common_period(one: float, other: float) -> float:
    """Return the least common multiple of two periods: whole numbers, or seconds to a millionth."""
    first, second = (Fraction(period).limit_denominator(10**6) for period in (one, other))
    scale = math.lcm(first.denominator, second.denominator)
    return math.lcm(int(first * scale), int(second * scale)) / scale
