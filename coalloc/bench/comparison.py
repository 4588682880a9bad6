"""Two stores side by side: paired ratios of times, with intervals, and every regression by name.

Samples are paired by what was run, whatever the versions of the code. A ratio is that of B to A;
above 1, B is slower. What was not solved counts its limit, as in a summary, so no failure is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coalloc.bench.outcomes import Row, has_run, is_failed, is_solved
from coalloc.bench.statistics import mean_ratio
from coalloc.bench.summary import TOLERANCE, counted_time
from coalloc.bench.tables import Table
from coalloc.measures.intervals import LEAST_SAMPLES, ConfidenceInterval

FLOOR = 0.01
"""Seconds added to both times of a ratio, so that the noise of samples of milliseconds does not count."""
SLOWER = 1.05
"""Mean ratio up to which a method is not called slower, however sure its interval is."""
TOO_FEW = "too few pairs"
HEADS = ("method", "pairs", "solved in A", "solved in B", "time B/A", "95 % interval from", "to", "verdict")

Pair = tuple[Row, Row]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired samples, and how many of each side have no partner that ran."""

    pairs: tuple[Pair, ...]
    only_a: int
    only_b: int
    seed: int = 0

    @property
    def table(self) -> Table:
        """A line per method, and one for all."""
        groups: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            groups.setdefault(pair[1]["label"], []).append(pair)
        rng = np.random.default_rng(self.seed)
        lines = [_line(label, group, rng) for label, group in groups.items()]
        return Table(HEADS, (*lines, _line("all", self.pairs, rng)) if len(lines) > 1 else tuple(lines))

    @property
    def warnings(self) -> list[str]:
        """Return warnings for a reader of the numbers."""
        hosts = [sorted({str(pair[side].get("host", "unknown")) for pair in self.pairs}) for side in (0, 1)]
        lines = [f"samples only in A: {self.only_a}, only in B: {self.only_b}"] if self.only_a or self.only_b else []
        if hosts[0] != hosts[1]:
            lines.append(f"A ran on {', '.join(hosts[0])}, B on {', '.join(hosts[1])}; their times are not comparable")
        if any(line[-1] == TOO_FEW for line in self.table.lines):
            lines.append(f"95 % intervals require at least {LEAST_SAMPLES} pairs")
        return lines

    @property
    def regressions(self) -> list[str]:
        """A sentence for each method that is slower and each sample that has become worse."""
        slower = [
            f"{line[0]}: {line[-1]}, time ratio {line[4]:.3f}" for line in self.table.lines if line[-1] == "slower"
        ]
        return slower + [sentence for pair in self.pairs for sentence in _regressions(*pair)]


def compare(rows_a: Sequence[Row], rows_b: Sequence[Row], seed: int = 0) -> Comparison:
    """Return the pairs of two benchmarks; ``seed`` is that of the bootstrap."""
    ran_a = {row["content"]: row for row in rows_a if has_run(row)}
    ran_b = {row["content"]: row for row in rows_b if has_run(row)}
    pairs = tuple((ran_a[content], row) for content, row in ran_b.items() if content in ran_a)
    return Comparison(pairs, len(ran_a) - len(pairs), len(ran_b) - len(pairs), seed)


def _line(label: str, pairs: Sequence[Pair], rng: np.random.Generator) -> tuple[Any, ...]:
    ratios = [(counted_time(b) + FLOOR) / (counted_time(a) + FLOOR) for a, b in pairs]
    ratio = mean_ratio(ratios, rng)
    solved = [sum(is_solved(pair[side]) for pair in pairs) for side in (0, 1)]
    if ratio is None:
        return (label, 0, *solved, None, None, None, "")
    interval = (None, None) if math.isnan(ratio.low) else (ratio.low, ratio.high)
    return (label, len(pairs), *solved, ratio.mean, *interval, _verdict(ratio, len(pairs)))


def _verdict(ratio: ConfidenceInterval, num_pairs: int) -> str:
    """Return what an interval says; a few pairs have none."""
    if num_pairs < LEAST_SAMPLES:
        return TOO_FEW
    if ratio.low > 1.0 and ratio.mean > SLOWER:
        return "slower"
    return "faster" if ratio.high < 1.0 and ratio.mean < 1.0 / SLOWER else "no difference"


def _regressions(a: Row, b: Row) -> Iterator[str]:
    """Yield what is worse in B, whatever the times."""
    where = f"{b['instance']}, {b['label']}" + ("" if b["seed"] is None else f", seed {b['seed']}")
    if is_solved(a) and not is_solved(b):
        yield f"{where}: {a['status']} before, {b['status']} now" + (f": {b['message']}" if is_failed(b) else "")
    elif not is_failed(a) and is_failed(b):
        yield f"{where}: {a['status']} before, {b['status']} now: {b.get('message', '')}"
    if _is_above(b.get("objective"), a.get("objective")):
        yield f"{where}: objective {a['objective']:.9g} before, {b['objective']:.9g} now"
    if _is_above(a.get("lower_bound"), b.get("lower_bound")):
        yield f"{where}: bound {a['lower_bound']:.9g} before, {b['lower_bound']:.9g} now"


def _is_above(one: float | None, other: float | None) -> bool:
    """Return whether both are known and the first is larger by more than rounding."""
    return one is not None and other is not None and one > other + TOLERANCE * max(1.0, abs(other))
