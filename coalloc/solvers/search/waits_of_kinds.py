"""Waits of kinds of jobs, as the engine sees them: lags, kinds that never run together, calendars, other rows.

All but other rows forbid starts that are too early, or at the wrong time, and never ask for one by an instant
(docs/mathematics/exact-tree.md, "The tree").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.problem import NotTogetherRow, Problem
from coalloc.solvers.search.lags import Lag, lags_of, least_times
from coalloc.solvers.search.set_tables import SetTables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WaitsOfKinds:
    """Waits of the kinds of tables, by their places there; a kind of which a row says something is of one job.

    Lags of kind ``k`` are those from ``lag_first[k]`` on: it starts ``lag_least`` ticks after the end (1) or the start
    (0) of ``lag_of``. ``apart`` has the bits of the kinds that it never runs beside. Its calendar lets it start in
    spans, from ``span_first[k]`` on: from ``opens`` until ``closes``, and ``early`` ticks before. ``rows`` are those
    that are no lags; by them kinds start, from ``offset_first[k]`` on, ``offsets`` ticks before the time of another.
    ``tails`` are the ticks from its start until it, and all that waits for it, has ended, at least.
    """

    lag_first: Ints
    lag_of: Ints
    lag_ends: Ints
    lag_least: Floats
    apart: NDArray[np.uint64]
    span_first: Ints
    opens: Floats
    closes: Floats
    early: float
    rows: Sequence[Lag]
    offset_first: Ints
    offsets: Floats
    tails: Sequence[float]

    @classmethod
    def of(cls, problem: Problem, tables: SetTables) -> WaitsOfKinds:
        """Return the waits of a problem, until the last end that tables know."""
        jobs = [tables.packed.kinds[kind] for kind in tables.kinds]
        kind_of = {j: kind for kind, of_kind in enumerate(jobs) for j in of_kind}
        ties = lags_of(problem, kind_of)
        rows = [tie for tie in ties if not tie.is_wait]
        offsets = [_offsets(rows, kind, tables.packed.durations[of]) for kind, of in enumerate(tables.kinds)]
        lags = sorted((lag for lag in ties if lag.is_wait), key=lambda lag: lag.late)
        slack = 0.0 if problem.slot is not None else problem.base.tolerance
        latest = tables.ceiling + slack
        spans = [_spans(problem, j, latest, slack) if j in problem.calendars else [] for j, *_ in jobs]
        numbers = range(len(jobs) + 1)
        return cls(
            lag_first=np.searchsorted([lag.late for lag in lags], numbers).astype(np.int64),
            lag_of=np.array([lag.early for lag in lags], dtype=np.int64),
            lag_ends=np.array([lag.is_early_end for lag in lags], dtype=np.int64),
            lag_least=np.array([lag.least for lag in lags], dtype=float),
            apart=_apart(problem, kind_of, len(jobs)),
            span_first=np.cumsum([0, *map(len, spans)], dtype=np.int64),
            opens=np.array([first for of_kind in spans for first, _ in of_kind], dtype=float),
            closes=np.array([last for of_kind in spans for _, last in of_kind], dtype=float),
            early=slack,
            rows=rows,
            offset_first=np.cumsum([0, *map(len, offsets)], dtype=np.int64),
            offsets=np.array([ticks for of_kind in offsets for ticks in of_kind], dtype=float),
            tails=least_times(lags, tables.shortest),
        )


def _spans(problem: Problem, j: int, latest: float, slack: float) -> list[tuple[float, float]]:
    """Return the spans until a last tick in which a job may start, with a slack at their ends, or one too late."""
    spans: list[tuple[float, float]] = []
    for first, last in problem.allowed_spans(j, problem.releases[j] - slack, latest):
        begin = spans.pop()[0] if spans and first <= spans[-1][1] else first
        spans.append((begin, last + slack))
    return spans or [(latest + 1.0, latest + 1.0)]


def _offsets(rows: Sequence[Lag], kind: int, durations: Sequence[float]) -> list[float]:
    """Return how long before the time of another the rows of a kind let it start at the earliest, ticks."""
    own = [(row.least, durations if row.is_late_end else (0.0,)) for row in rows if row.late == kind]
    return sorted({ticks - least for least, of_row in own for ticks in of_row if ticks > least})


def _apart(problem: Problem, kind_of: dict[int, int], num_kinds: int) -> NDArray[np.uint64]:
    """Return the bits of the kinds beside which each one must not run."""
    bits = [0] * num_kinds
    for row in problem.rows:
        if isinstance(row, NotTogetherRow):
            kinds = {kind_of[j] for j in row.jobs}
            for kind in kinds:
                bits[kind] |= sum(1 << other for other in kinds - {kind})
    return np.array(bits, dtype=np.uint64)
