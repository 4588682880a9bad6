"""The clock of a problem: ticks, which are whole time slots or, in continuous time, seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.rounding import slots_down, slots_up
from coalloc.instance.time_base import TimeBase

Rounding = Literal["up", "down"]
Ticks = TypeVar("Ticks", float, NDArray[np.float64])


@dataclass(frozen=True, slots=True)
class TickClock:
    """Ticks: slots of ``slot`` seconds, or seconds where it is None; ``base`` says how coarse times are."""

    slot: float | None
    rounding: Rounding
    base: TimeBase

    def last_tick(self, seconds: float) -> float:
        """Return the last tick that is not after a point in time (s), but for the tolerance.

        That is also when an outage begins to be in the way: what ends then ends by it.
        """
        if math.isinf(seconds):
            return seconds
        if self.slot is None:
            return self.base.latest_within(seconds)
        return slots_down(seconds, self.slot, self.base.tolerance)

    def tick_at(self, seconds: float) -> float:
        """Return a point in time (s) in ticks, rounded as the problem says; in continuous time to the nearest."""
        return self.base.nearest(seconds) if self.slot is None else self._slots(seconds, self.base.tolerance)

    def ticks(self, seconds: float) -> float:
        """Return a duration (s) in ticks: slots, rounded as the problem says, or seconds, to the nearest whole tick."""
        return self.base.nearest(seconds) if self.slot is None else self._slots(seconds, 0.0)

    def ticks_of(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return :meth:`ticks` of many durations (s), bit for bit."""
        if self.slot is None:
            return np.rint(seconds / self.base.tick) * self.base.tick
        return np.array([self._slots(one, 0.0) for one in seconds.ravel().tolist()], float).reshape(seconds.shape)

    def _slots(self, seconds: float, tolerance: float) -> int:
        assert self.slot is not None
        round_to_slots = slots_up if self.rounding == "up" else slots_down
        return round_to_slots(seconds, self.slot, tolerance)

    def seconds(self, ticks: Ticks) -> Ticks:
        """Return a duration, or a point in time on the clock of the problem, in seconds."""
        return ticks if self.slot is None else ticks * self.slot

    def seconds_of(self, tick: Ticks) -> Ticks:
        """Return a point in time on the user's clock, s."""
        return self.seconds(tick) + self.base.shift
