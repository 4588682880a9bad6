"""Total requirements of rows over time, and the times at which they exceed a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from coalloc.checker.processor_sets import Floats, Ints
from coalloc.checker.rows import CheckedRows
from coalloc.checker.rule import seconds

NAMED_JOBS = 1_000
"""Jobs that one violation of a link, or of a node's memory, names at most."""


def totals_over_time(rows: CheckedRows, load: Floats) -> tuple[Floats, Floats]:
    """Return the sum of what rows require from each point in time on, and how much of it may be rounding error."""
    lasting = np.flatnonzero((load > 0.0) & (rows.begin < rows.finish))
    totals = np.cumsum(_changes(rows, lasting, load[lasting]))
    noise = np.finfo(np.float64).eps * np.cumsum(np.abs(totals))
    return totals, noise


def _changes(rows: CheckedRows, chosen: Ints, weights: Floats) -> Floats:
    """Return the change at each point in time when each chosen row adds its weight from begin to finish."""
    num_instants = len(rows.instants)
    added = np.bincount(rows.begin[chosen], weights, num_instants)
    removed = np.bincount(rows.finish[chosen], weights, num_instants)
    return np.asarray(added - removed, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Excess:
    """More is required than there is from ``start`` to ``end`` (s): at most ``peak``, and then by ``jobs``."""

    start: float
    end: float
    peak: float
    jobs: tuple[str, ...]

    @property
    def period(self) -> str:
        """From when to when, for a sentence."""
        return f"from {seconds(self.start)} to {seconds(self.end)}"


def excesses(rows: CheckedRows, load: Floats, limit: float) -> Iterator[Excess]:
    """Yield each period in which the rows together require more than ``limit``.

    Periods in which only running jobs require something are not the schedule's error, and are left out.
    """
    lasting = np.flatnonzero((load > 0.0) & (rows.begin < rows.finish))
    placed = lasting[lasting >= rows.num_running]
    num_placed = np.cumsum(_changes(rows, placed, np.ones(len(placed))))
    totals, noise = totals_over_time(rows, load)
    is_over = (num_placed > 0) & (totals > limit + noise)
    edges = np.flatnonzero(np.diff(is_over, prepend=False, append=False)).reshape(-1, 2)
    peaks = [int(first + np.argmax(totals[first:last])) for first, last in edges]
    at_peak = _active_at(rows, lasting, peaks)
    for (first, last), peak, active in zip(edges, peaks, at_peak, strict=True):
        start, end = float(rows.instants[first]), float(rows.instants[last])
        yield Excess(start, end, float(totals[peak]), tuple(rows.ids[row] for row in active))


def _active_at(rows: CheckedRows, chosen: Ints, peaks: Sequence[int]) -> Iterator[list[int]]:
    """Yield which of the chosen rows are active at each peak, by start; ``peaks`` are in order."""
    coming = chosen[np.argsort(rows.begin[chosen], kind="stable")].tolist()[::-1]
    leaving = chosen[np.argsort(rows.finish[chosen], kind="stable")].tolist()[::-1]
    active: dict[int, None] = {}
    for peak in peaks:
        while coming and rows.begin[coming[-1]] <= peak:
            active[coming.pop()] = None
        while leaving and rows.finish[leaving[-1]] <= peak:
            del active[leaving.pop()]
        yield list(islice(active, NAMED_JOBS))
