"""What the samples of exact.py say: measures, targets and verdicts, contradictions, and the page in Markdown.

A sample that was not proved counts with its whole time limit (or more, if it took more), one that was killed or
crashed also with an infinite gap: failures make a row worse, they never leave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from coalloc.bench.outcomes import CRASHED, KILLED, Row
from coalloc.bench.statistics import SHIFT, geometric_mean
from coalloc.bench.tables import Table, markdown
from coalloc.solvers.result import relative_gap

AGREEMENT = 1e-6
"""Relative difference up to which two results agree."""

# --- measures --------------------------------------------------------------------------------------


def is_proven(row: Row) -> bool:
    """Return whether a sample ended with a proof."""
    return bool(row["status"] == "optimal")


def counted_time(row: Row) -> float:
    """Return the time that a sample counts with, s: its own where it is proved, else at least the limit."""
    taken: float = row.get("time") or 0.0
    return taken if is_proven(row) else max(taken, row["limit"])


def gap_of(row: Row) -> float:
    """Return the relative gap that was left, infinite where bound or objective is unknown."""
    gap = relative_gap(row.get("objective"), row.get("lower_bound"))
    return math.inf if gap is None else max(0.0, gap)


def overrun(row: Row) -> float:
    """Return the seconds beyond the time limit, infinite where the process had to be killed."""
    return math.inf if row["status"] in KILLED else max(0.0, (row.get("time") or 0.0) - row["limit"])


@dataclass(frozen=True, slots=True)
class Measures:
    """The figures of some samples; seconds, MB and shares. A memory of None was not recorded."""

    ran: int
    proven: int
    median: float | None
    percentile95: float | None
    worst_gap: float
    memory: float | None
    worst_overrun: float

    @property
    def share_proven(self) -> float:
        """Proved of those that ran."""
        return self.proven / self.ran if self.ran else 0.0


def measures(rows: Sequence[Row]) -> Measures:
    """Return the figures of samples; the 95th percentile is the smallest time that 95 % of them do not exceed."""
    median, percentile95 = _quantiles([counted_time(row) for row in rows])
    return Measures(
        ran=len(rows),
        proven=sum(map(is_proven, rows)),
        median=median,
        percentile95=percentile95,
        worst_gap=max(map(gap_of, rows), default=math.inf),
        memory=max((row["memory"] for row in rows if row.get("memory")), default=None),
        worst_overrun=max(map(overrun, rows), default=0.0),
    )


def _quantiles(times: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Return the least of the times that half of them, and that 95 % of them, do not exceed; none of nothing."""
    if not times:
        return None, None
    median, percentile95 = np.quantile(times, [0.5, 0.95], method="inverted_cdf").tolist()
    return median, percentile95


# --- targets ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """What a row is to reach; a limit of None is none. Times in seconds, shares and gaps relative, memory in MB."""

    share_proven: float = 0.0
    median: float | None = None
    percentile95: float | None = None
    worst_gap: float | None = None
    memory: float = 2000.0
    overrun: float = math.inf

    @property
    def sentence(self) -> str:
        """The target in words."""
        parts = [
            f"{percent(self.share_proven)} proved" if self.share_proven else "",
            "" if self.median is None else f"median at most {self.median:g} s",
            "" if self.percentile95 is None else f"95th percentile at most {self.percentile95:g} s",
            "" if self.worst_gap is None else f"gap at most {percent(self.worst_gap)}",
        ]
        return ", ".join(part for part in parts if part)

    def misses(self, found: Measures) -> list[str]:
        """Return what is missed and by how much, in words; empty where the target is reached."""
        most = (
            ("median", found.median, self.median, seconds),
            ("95th percentile", found.percentile95, self.percentile95, seconds),
            ("worst gap", found.worst_gap, self.worst_gap, percent),
            ("memory", found.memory, self.memory, lambda mb: f"{mb:.0f} MB"),
            ("time over the limit", found.worst_overrun, self.overrun, seconds),
        )
        missed = [
            f"{name} {show(value)}, not {show(limit)}"
            for name, value, limit, show in most
            if value is not None and limit is not None and value > limit * (1.0 + AGREEMENT)
        ]
        if found.share_proven < self.share_proven:
            missed.insert(0, f"{percent(found.share_proven)} proved, not {percent(self.share_proven)}")
        return missed


def seconds(value: float) -> str:
    """Return seconds as text."""
    return f"{value:.3g} s" if math.isfinite(value) else "killed"


def percent(share: float) -> str:
    """Return a share as text."""
    return f"{100.0 * share:.3g} %" if math.isfinite(share) else "none"


def verdict(misses: Sequence[str], ran: int, planned: int) -> str:
    """Return the verdict on a row in words; nothing is reached before everything has run."""
    if ran == 0:
        return "open: nothing to judge by"
    if misses:
        return f"**missed**: {'; '.join(misses)}"
    return "reached" if ran == planned else f"open: {ran} of {planned} ran, these reach it"


# --- comparisons -----------------------------------------------------------------------------------


class MostTime(NamedTuple):
    """The longest that we may take on an instance: so many times the other's time, and some seconds."""

    factor: float
    slack: float

    def of(self, time: float) -> float:
        """Return it, s, where the other takes so long."""
        return self.factor * time + self.slack


@dataclass(frozen=True, slots=True)
class Pair:
    """Two methods on the same instance and slot."""

    ours: Row
    theirs: Row

    @property
    def ratio(self) -> float:
        """Their time over ours."""
        return counted_time(self.theirs) / counted_time(self.ours)

    @property
    def is_weaker(self) -> bool:
        """Whether our bound is below theirs."""
        ours, theirs = (row.get("lower_bound") for row in (self.ours, self.theirs))
        return theirs is not None and (ours is None or ours < theirs - AGREEMENT * abs(theirs))

    def is_slower(self, most: MostTime) -> bool:
        """Return whether we take longer than their time allows us."""
        return counted_time(self.ours) > most.of(counted_time(self.theirs))


def pairs(rows: Sequence[Row], ours: str, theirs: str) -> list[Pair]:
    """Return the pairs of two methods among samples; what crashed is in none."""
    by = {(row["instance"], row["slot"], row["method"]): row for row in rows if row["status"] not in CRASHED}
    return [
        Pair(row, by[instance, slot, theirs])
        for (instance, slot, method), row in by.items()
        if method == ours and (instance, slot, theirs) in by
    ]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a row is to reach against another method: so many times faster in the geometric mean, where that is asked.

    With ``where_proven`` only pairs count for the ratio in which the other method proved its result; else what
    it did not prove counts with its limit, which understates the ratio. ``never_weaker`` asks that no bound is below
    the other's, ``never_fewer`` that as many are proved, ``never_slower`` how long we take on each instance.
    """

    other: str
    ratio: float | None = None
    where_proven: bool = False
    never_weaker: bool = False
    never_fewer: bool = False
    never_slower: MostTime | None = None

    @property
    def sentence(self) -> str:
        """The target in words."""
        faster = "" if self.ratio is None else f"{self.ratio:g} times faster than {self.other}"
        parts = [
            f"{faster}, where that one proves" if self.where_proven else faster,
            "never a weaker bound" if self.never_weaker else "",
            "as many proved" if self.never_fewer else "",
            ""
            if self.never_slower is None
            else f"never slower than {self.never_slower.factor:g} times and {self.never_slower.slack:g} s",
        ]
        said = ", ".join(filter(None, parts))
        return said if faster else f"compared with {self.other}: {said}"

    def counted(self, found: Sequence[Pair]) -> list[Pair]:
        """Return the pairs that count for the ratio."""
        return [pair for pair in found if is_proven(pair.theirs) or not self.where_proven]

    def misses(self, found: Sequence[Pair]) -> list[str]:
        """Return what is missed and by how much, in words."""
        mean = geometric_mean([pair.ratio for pair in self.counted(found)])
        missed = []
        if self.ratio is not None and mean is not None and mean < self.ratio * (1.0 - AGREEMENT):
            missed.append(f"{mean:.3g} times, not {self.ratio:g}")
        num_weaker = sum(pair.is_weaker for pair in found)
        if self.never_weaker and num_weaker:
            missed.append(f"a weaker bound in {num_weaker} of {len(found)}")
        ours, theirs = sum(is_proven(pair.ours) for pair in found), sum(is_proven(pair.theirs) for pair in found)
        if self.never_fewer and ours < theirs:
            missed.append(f"{ours} proved, not {theirs}")
        if self.never_slower is not None and (slower := [p for p in found if p.is_slower(self.never_slower)]):
            missed.append(f"slower than that on {len(slower)} of {len(found)}")
        return missed


# --- contradictions --------------------------------------------------------------------------------


def contradictions(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each bound above an objective that is reached on the same instance.

    The value is that of the same objective in the same slot, whatever the method; a bound in continuous time must not
    be above any.
    """
    rows = [row for row in rows if row.get("lower_bound") is not None or row.get("objective") is not None]
    reached: dict[tuple[Any, ...], float] = {}
    for row in rows:
        if row.get("objective") is not None:
            for key in (_place(row, row["slot"]), _place(row, None)):
                reached[key] = min(row["objective"], reached.get(key, math.inf))
    sentences = []
    for row in rows:
        best, bound = reached.get(_place(row, row["slot"]), math.inf), row.get("lower_bound")
        if bound is not None and bound > best * (1.0 + AGREEMENT):
            where = f"{row['instance']}, {slot_text(row['slot'])}"
            sentences.append(f"{where}: {row['method']} says {bound:.9g} s at least, {best:.9g} s is reached")
    return sentences


def _place(row: Row, slot: int | None) -> tuple[Any, ...]:
    """Return what values must share to be held against each other."""
    return row["instance_sha256"], row.get("criterion"), slot


def slot_text(slot: int | None) -> str:
    """Return the length of a slot in words."""
    return "continuous" if slot is None else f"{slot} %"


# --- the page --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the speed table: samples of one method on one kind of work, and what it is to reach.

    ``against`` are pairs with another method, where the target is a :class:`Comparison`.
    """

    title: str
    method: str
    planned: int
    rows: Sequence[Row]
    target: Target
    comparison: Comparison | None = None
    against: Sequence[Pair] = ()

    def cells(self) -> list[Any]:
        """Return the cells of the table."""
        found, sentence = measures(self.rows), self.target.sentence
        ran, misses = found.ran, self.target.misses(found)
        if self.comparison is not None:
            sentence = "; ".join(filter(None, (sentence, self.comparison.sentence)))
            misses = self.comparison.misses(self.against) + misses
            ran = len(self.against) if self.comparison.counted(self.against) else 0
        return [
            *(self.title, self.method, sentence, f"{found.proven}/{found.ran}"),
            *_figures(found),
            verdict(misses, ran, self.planned),
        ]


def _figures(found: Measures) -> list[Any]:
    if not found.ran:
        return [None] * 4
    return [found.median, found.percentile95, percent(found.worst_gap), found.memory and round(found.memory)]


FIGURES = ("proved/ran", "median, s", "95th percentile, s", "worst gap", "peak memory, MB")


def _markdown(heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    return markdown(Table.of(heads, lines))


def speed_table(lines: Iterable[Line]) -> str:
    """Return the table of targets and verdicts."""
    return _markdown(("work", "method", "target", *FIGURES, "verdict"), [line.cells() for line in lines])


def table_by_slot(rows: Sequence[Row]) -> str:
    """Return the figures of samples by slot and method."""
    groups: dict[tuple[int | None, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["slot"], row["method"]), []).append(row)
    lines = []
    for (slot, method), group in groups.items():
        found = measures(group)
        mean = geometric_mean([counted_time(row) for row in group], SHIFT)
        lines.append([slot_text(slot), method, f"{found.proven}/{found.ran}", *_figures(found), mean])
    return _markdown(("slot", "method", *FIGURES, "mean, s"), lines)


def ratio_table(found: Sequence[Pair]) -> str:
    """Return the ratios to another method, by slot and in all."""
    groups: Mapping[str, list[Pair]] = {
        **{slot_text(slot): [] for slot in dict.fromkeys(pair.ours["slot"] for pair in found)},
        "all": [],
    }
    for pair in found:
        groups[slot_text(pair.ours["slot"])].append(pair)
        groups["all"].append(pair)
    heads = ("slot", "pairs", "we prove", "they prove", "our mean, s", "their mean, s")
    ratios = ("ratio, where they prove", "ratio, all", "our bound is weaker")
    return _markdown((*heads, *ratios), [[name, *_ratio_cells(group)] for name, group in groups.items()])


def _ratio_cells(group: Sequence[Pair]) -> list[Any]:
    return [
        len(group),
        sum(is_proven(pair.ours) for pair in group),
        sum(is_proven(pair.theirs) for pair in group),
        geometric_mean([counted_time(pair.ours) for pair in group], SHIFT),
        geometric_mean([counted_time(pair.theirs) for pair in group], SHIFT),
        geometric_mean([pair.ratio for pair in group if is_proven(pair.theirs)]),
        geometric_mean([pair.ratio for pair in group]),
        sum(pair.is_weaker for pair in group),
    ]


def open_table(rows: Iterable[Row]) -> str:
    """Return what was not proved, worst gap first."""
    rows = sorted((row for row in rows if not is_proven(row)), key=gap_of, reverse=True)
    heads = ("work", "instance", "slot", "method", "status", "stopped by", "gap", "time, s", "message")
    names = ("status", "stopped_by")
    lines = [
        [
            *(row["work"], row["instance"], slot_text(row["slot"]), row["method"]),
            *(row.get(name) for name in names),
            *(percent(gap_of(row)), row.get("time"), row.get("message")),
        ]
        for row in rows
    ]
    return _markdown(heads, lines) if lines else "None."
