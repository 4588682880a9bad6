"""The time base of an instance: the tick that continuous time is counted in, and when two times are equal.

Floats near 1.76e9 s (Unix time) are 2.4e-7 s apart, so that sums of run times and differences of dates agree only to
that. Exact methods therefore round each time of an instance once, to a whole number of ticks. A tick is a power of
two, so that whole ticks are floats, and sums and differences of them are exact: no comparison needs a tolerance.
Rounding moves the end of a chain of n jobs by at most (n + 1) / 2 ticks, since a start is a release plus run times.
Hence a schedule of the instance remains one in ticks, where deadlines and outages give way by the tolerance, and a
schedule in ticks is one of the instance to the tolerance. Derivation: docs/mathematics/tolerances.md, "Ticks".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.rounding import TIME_PRECISION

Floats = NDArray[np.float64]

LEAST_TICK = 2.0**-30
"""The finest tick, s: about a nanosecond."""
RESOLUTIONS = 4.0
"""A tick is at least so many times the distance of floats at the latest time."""
MOST_TICKS = 2.0**50
"""Ticks within the horizon at most: an eighth of the whole numbers that floats hold, so that sums are exact."""
NEVER = 1e11
"""An outage that ends later than this, s (3,000 years), is taken to last: the tick need not reach its end."""
MOST_TOLERANCE = 1e-6
"""Equal times of thousands of jobs differ by no more than this, s, or by ``TIME_PRECISION`` of the latest time."""


@dataclass(frozen=True, slots=True)
class TimeBase:
    """Counting and comparing of the times of an instance.

    ``tick`` (s) is a power of two; times that differ by no more than ``tolerance`` (s) are equal; ``latest`` (s) is the
    time that it was made for. Exact methods may count from ``shift`` (s) on instead of from 0.
    """

    tick: float
    tolerance: float
    latest: float
    shift: float = 0.0

    def nearest(self, seconds: float) -> float:
        """Return the whole number of ticks, in s, that is nearest."""
        return round(seconds / self.tick) * self.tick if math.isfinite(seconds) else seconds

    def latest_within(self, seconds: float) -> float:
        """Return the last whole number of ticks, in s, that is not after this time but for the tolerance."""
        return math.floor((seconds + self.tolerance) / self.tick) * self.tick if math.isfinite(seconds) else seconds

    @property
    def as_stated(self) -> TimeBase:
        """The base that leaves times as they are stated: its ticks are finer than floats, and nothing gives way."""
        return replace(self, tick=2.0**-60, tolerance=0.0)

    def tolerance_at(self, seconds: float) -> float:
        """Return the tolerance, s, among times up to this one: more where it is after :attr:`latest`."""
        return self.tolerance if seconds <= self.latest else max(self.tolerance, TIME_PRECISION * seconds)

    def tolerances(self, seconds: Floats) -> Floats:
        """Return :meth:`tolerance_at` of each time, s, also of one before 0."""
        far = np.abs(seconds) > self.latest
        return np.where(far, np.maximum(self.tolerance, TIME_PRECISION * np.abs(seconds)), self.tolerance)

    def merged(self, times: Sequence[float] | Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Return the distinct times among ``times`` (s) in order, and for each its index among them.

        A time within the tolerance of the one before it is the same, so that jobs back to back do not overlap by
        rounding.
        """
        unordered = np.asarray(times, dtype=np.float64)
        order = np.argsort(unordered, kind="stable")
        ordered = unordered[order]
        is_new = np.ones(len(ordered), dtype=bool)
        is_new[1:] = np.diff(ordered) > self.tolerances(ordered[1:])
        index = np.empty(len(ordered), dtype=np.int64)
        index[order] = np.cumsum(is_new) - 1
        return ordered[is_new], index


def time_base_of(origin: float, horizon: float, number: int) -> TimeBase:
    """Return the time base of an instance that begins at ``origin`` (s) and takes no more than ``horizon`` (s).

    ``number`` is how many jobs, running jobs and local users it has.
    """
    latest = origin + horizon
    tick = max(LEAST_TICK, RESOLUTIONS * math.ulp(latest), latest_power(horizon / MOST_TICKS))
    most = max(MOST_TOLERANCE, TIME_PRECISION * latest)
    return TimeBase(tick, min((number + 1) * tick, most), latest)


SMALL_TIMES = TimeBase(LEAST_TICK, LEAST_TICK, 2.0**20)
"""The finest time base, of times up to twelve days."""


def latest_power(seconds: float) -> float:
    """Return the smallest power of two that is not below, s."""
    mantissa, exponent = math.frexp(seconds)
    return math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent) if seconds > 0.0 else 0.0
