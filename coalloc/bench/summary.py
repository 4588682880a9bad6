"""Summary of the samples of a benchmark: a line per method, and contradictions between methods.

Nothing is left out: a sample that failed, or was stopped before its proof, counts in the times with
its limit. docs/bench.md defines every column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from coalloc.bench.outcomes import NOT_RUN, Row, has_run, is_failed, is_solved
from coalloc.bench.statistics import SHIFT, geometric_mean
from coalloc.bench.tables import Table

TOLERANCE = 1e-6
"""Relative difference up to which a bound may exceed an objective: rounding."""
DEFAULT_TIME_LIMIT = 60.0
"""Seconds that ``solve`` and ``lower_bound`` take where their options do not say."""
HEADS = (
    *("method", "solved/ran", "failed", f"time (SGM, shift {SHIFT:g}), s", "longest, s"),
    *("mean gap, %", "objective / best", "best", "peak memory, MB"),
)

Aim = tuple[Any, ...]


def own_limit(row: Row) -> float:
    """Return the seconds that a sample counts where it was not solved: its own time limit, else that of its kill."""
    if row["method"] == "simulate":
        return float(row["time_limit"])
    return float(row["options"].get("time_limit", DEFAULT_TIME_LIMIT))


def counted_time(row: Row) -> float:
    """Return the seconds that a sample counts: its time where it was solved, else its limit at least."""
    time = float(row.get("time") or 0.0)
    return time if is_solved(row) else max(time, own_limit(row))


def timing(row: Row) -> str:
    """Return what the time of a sample is: of how many calls in its process, and after how many."""
    warmup, repeat = row.get("warmup", 0), row.get("repeat", 1)
    shown = "one call" if repeat == 1 else f"median of {repeat} calls"
    return f"{shown} per process, {f'after {warmup} warm-up calls' if warmup else 'without warm-up'}"


def aim_of(row: Row) -> Aim:
    """Return what a sample minimises on which instance: objectives are compared only where this is the same."""
    options = row["options"]
    model = options.get("model", "oas")
    objective = options.get("objective", "makespan" if model == "oas" else None)
    others = tuple(options.get(name) for name in ("slot", "links", "saturation"))
    return (row["instance_sha256"], model, objective, *others)


def best_known(rows: Sequence[Row]) -> dict[Aim, float]:
    """Return the least objective of each aim."""
    best: dict[Aim, float] = {}
    for row in rows:
        if row.get("objective") is not None:
            best[aim_of(row)] = min(row["objective"], best.get(aim_of(row), row["objective"]))
    return best


def ratios_to_best(rows: Sequence[Row], best: dict[Aim, float]) -> list[float]:
    """Return objective / best known of those that have an objective; what differs by rounding only is 1."""
    pairs = [(row["objective"], best[aim_of(row)]) for row in rows if row.get("objective") is not None]
    ratios = [objective / least for objective, least in pairs if least > 0.0]
    return [1.0 if ratio <= 1.0 + TOLERANCE else ratio for ratio in ratios]


def by_label(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each method with its options, in order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["label"], []).append(row)
    return groups


def summary(rows: Sequence[Row]) -> Table:
    """Return a line per method; with the column ``certified`` where anything was to be certified."""
    best, groups = best_known(rows), by_label(rows)
    lines = [_line(label, group, best) for label, group in groups.items()]
    if not any("certified" in row for row in rows):
        return Table(HEADS, tuple(lines))
    counts = [certified(group) for group in groups.values()]
    return Table((*HEADS, "certified"), tuple((*line, count) for line, count in zip(lines, counts, strict=True)))


def _line(label: str, rows: Sequence[Row], best: dict[Aim, float]) -> tuple[Any, ...]:
    ran = [row for row in rows if has_run(row)]
    times = [counted_time(row) for row in ran]
    gaps = [100.0 * row["gap"] for row in ran if row.get("gap") is not None]
    ratios = ratios_to_best(ran, best)
    num_best = ratios.count(1.0)
    return (
        label,
        f"{sum(map(is_solved, ran))}/{len(ran)}",
        failures(ran),
        geometric_mean(times, SHIFT),
        max(times, default=None),
        sum(gaps) / len(gaps) if gaps else None,
        geometric_mean(ratios),
        f"{num_best}/{len(ratios)}" if ratios else None,
        max((row["memory"] for row in ran if row.get("memory") is not None), default=None),
    )


def certified(rows: Sequence[Row]) -> str | None:
    """Return how many proofs ``coalloc verify`` accepts, of those that were to be certified: ``7/8``; None for none."""
    accepted = [row["certified"] for row in rows if "certified" in row and is_solved(row)]
    return f"{sum(accepted)}/{len(accepted)}" if accepted else None


def failures(rows: Sequence[Row]) -> str:
    """Return how many samples failed and how: ``2 timeout, 1 crashed``."""
    counts = Counter(row["status"] for row in rows if is_failed(row))
    return ", ".join(f"{number} {status}" for status, number in counts.items()) or "0"


def missing(rows: Sequence[Row]) -> int:
    """Return how many samples are planned and did not run."""
    return sum(row["status"] == NOT_RUN for row in rows)


def contradictions(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for each bound above an objective of the same aim: one of the two is wrong.

    Simulated runs have no part in this: their links may saturate, and a bound is for links that may not.
    """
    proven = [row for row in rows if row["method"] != "simulate"]
    best = best_known(proven)
    for row in proven:
        least, bound = best.get(aim_of(row)), row.get("lower_bound")
        if least is not None and bound is not None and bound > least + TOLERANCE * max(1.0, abs(least)):
            yield f"{row['instance']}, {row['label']}: the bound {bound:.9g} exceeds the objective {least:.9g}"
