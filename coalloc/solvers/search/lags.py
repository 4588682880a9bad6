"""Rows that say when jobs start: by when, or, by kind, how long after a time of another, or before it at most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coalloc.problem import Problem, TimeSumRow


@dataclass(frozen=True, slots=True)
class Lag:
    """A time of a kind, of one job, is so many ticks at least after one of another; less than 0: it may be before."""

    late: int
    is_late_end: bool
    early: int
    is_early_end: bool
    least: float

    @property
    def is_wait(self) -> bool:
        """Whether the one cannot start before the other has."""
        return self.least >= 0.0 and not self.is_late_end


def lags_of(problem: Problem, kind_of: Mapping[int, int]) -> list[Lag]:
    """Return the lags of a problem, of whose jobs, by index, these are the kinds."""
    found = []
    for row in problem.rows:
        if isinstance(row, TimeSumRow) and len(row.terms) == 2:
            (_, of_late, late), (_, of_early, early) = sorted(row.terms, reverse=True)
            found.append(Lag(kind_of[late], of_late == "end", kind_of[early], of_early == "end", row.least))
    return found


def latest_start(problem: Problem, j: int) -> float:
    """Return by when, in ticks, rows ask a job, by index, to start."""
    rows = [row for row in problem.rows if isinstance(row, TimeSumRow) and row.terms == ((-1, "start", j),)]
    return min((-row.least for row in rows), default=math.inf)


def least_times(lags: Sequence[Lag], shortest: Sequence[float]) -> list[float]:
    """Return for each kind the ticks from its start until it, and all that waits for it, has ended, at least."""
    least = list(shortest)
    for _ in lags:  # each round reaches one lag further; on a cycle nothing ever starts
        for lag in lags:
            begun = shortest[lag.early] if lag.is_early_end else 0.0
            least[lag.early] = max(least[lag.early], begun + lag.least + least[lag.late])
    return least
