"""Rows that say when jobs start: by when, or, as least lags by kind, how long after the start or the end of another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coalloc.problem import Problem, TimeSumRow


@dataclass(frozen=True, slots=True)
class Lag:
    """A kind, of one job, starts so many ticks after the start of another, or its end."""

    kind: int
    of: int
    is_end: bool
    least: float


def lags_of(problem: Problem, kind_of: Mapping[int, int]) -> list[Lag]:
    """Return the lags of a problem, of whose jobs, by index, these are the kinds."""
    found = []
    for row in problem.rows:
        if isinstance(row, TimeSumRow) and len(row.terms) == 2:
            (_, _, late), (_, which, early) = sorted(row.terms, reverse=True)
            found.append(Lag(kind_of[late], kind_of[early], which == "end", row.least))
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
            begun = shortest[lag.of] if lag.is_end else 0.0
            least[lag.of] = max(least[lag.of], begun + lag.least + least[lag.kind])
    return least
