"""What is free over time: processors per class and bandwidth per link, as step functions.

A profile serves slots and seconds alike: its times are the ticks of a :class:`Problem`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import Problem

SUBTRACTION_NOISE = 1e-12
"""Share of a bandwidth that adding and taking away loads may lose in floating point."""


class Profile:
    """Free capacity of a problem over time; jobs are booked with :meth:`occupy`."""

    def __init__(self, problem: Problem) -> None:
        self._num_classes = len(problem.capacities)
        self._times: list[float] = [-math.inf]
        self._free: list[NDArray[np.float64]] = [np.array([*problem.capacities, *problem.bandwidths], dtype=float)]
        self._slack = np.array([SUBTRACTION_NOISE * max(1.0, bandwidth) for bandwidth in problem.bandwidths])
        for busy in problem.busy:
            self.occupy(-math.inf, busy.end, busy.allocation, busy.loads)

    def _split(self, time: float) -> int:
        """Return the index of the step that starts at ``time``, making it if need be."""
        i = bisect_right(self._times, time) - 1
        if self._times[i] != time:
            i += 1
            self._times.insert(i, time)
            self._free.insert(i, self._free[i - 1].copy())
        return i

    def occupy(self, start: float, end: float, allocation: Sequence[int], loads: Sequence[float]) -> None:
        """Book ``[start, end)``; nothing is booked where it is empty."""
        if end <= start:
            return
        usage = np.array([*allocation, *loads], dtype=float)
        first, last = self._split(start), self._split(end)
        for step in range(first, last):
            self._free[step] -= usage

    def free(self, start: float, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least free processors per class and bandwidth per link (MB/s) during ``[start, end)``.

        A link that running jobs saturate has no bandwidth left, not less.
        """
        first = bisect_right(self._times, start) - 1
        last = max(first + 1, bisect_left(self._times, end))
        least = np.minimum.reduce(self._free[first:last])
        return least[: self._num_classes], np.maximum(least[self._num_classes :], 0.0) + self._slack

    def changes(self, release: float) -> list[float]:
        """Return the instants at which something may start: ``release`` and every later change."""
        later = self._times[bisect_right(self._times, release) :]
        return [release, *later]
