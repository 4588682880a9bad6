"""Effort of a search for schedules, and the receiver of its findings: the same for every search."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from coalloc.problem import Assignment

OnSchedule = Callable[[list[Assignment]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Parameters of one search.

    Parameters
    ----------
    iterations
        Schedules, or neighbourhoods, that it tries. The same seed and iterations give the same schedule, unless the
        deadline strikes.
    target
        Cost (:class:`~coalloc.objectives.Criterion`) at which it stops: a proved bound.
    deadline
        Instant of ``time.perf_counter()``, s, at which it stops.
    on_schedule
        Hears of every better schedule.
    """

    iterations: int
    seed: int
    target: float = -math.inf
    deadline: float = math.inf
    on_schedule: OnSchedule = lambda _: None

    def ends_at(self, cost: float) -> bool:
        """Return whether the search ends with a schedule of this cost, now."""
        return cost <= self.target or time.perf_counter() > self.deadline
