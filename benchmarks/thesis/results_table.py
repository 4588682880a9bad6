"""The rows of an experiment as a table, and means over it: what claims, reports and figures are made of.

A row is one strategy on one instance. A *unit* is what counts as an independent sample: a seed, since the
instances of one seed at several points share what is drawn, or a workload where there are workloads and not draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from experiment import Experiment
from measures import METRICS, OAS, OAS_LEFT, OPTIMUM, RANKS, REFERENCE

from coalloc.bench.outcomes import Row

SLOT = 50.0
"""Slot of OAS where nothing else is said, percent of the mean base time. Source: thesis 3.2.2.1."""
TIMINGS = ("decision_time_mean", "solve_time", "solve_cpu")
"""Columns that a rerun does not repeat; they are the last of the CSV files."""
LISTS = ("busy", "slowdowns")
"""Columns of lists, for figures alone."""


@dataclass(frozen=True, slots=True)
class Results:
    """The runs of an experiment compared with what is proved of their instances.

    ``runs`` has the columns of ``point``, ``seed``, ``strategy``, the metrics and ``above_bound``,
    ``response_above_bound`` (shares); ``slots`` has OAS at all slots, and is empty where there are none.
    """

    point: tuple[str, ...]
    unit: str
    strategies: tuple[str, ...]
    runs: pd.DataFrame
    slots: pd.DataFrame

    def wide(self, metric: str, **where: object) -> pd.DataFrame:
        """Return a metric with a column per strategy, indexed by point and seed; ``where`` picks values or sets."""
        return picked(self.runs, where).pivot(index=[*self.point, "seed"], columns="strategy", values=metric)

    def by_unit(self, series: pd.Series) -> list[float]:
        """Return the mean of a series of :meth:`wide` for each unit."""
        return [float(mean) for mean in series.groupby(level=self.unit).mean()]


def picked(frame: pd.DataFrame, where: dict[str, object]) -> pd.DataFrame:
    """Return the rows in which each column has the value, or one of the values, asked for."""
    for column, value in where.items():
        values = value if isinstance(value, list | tuple | set) else [value]
        frame = frame[frame[column].isin(list(values))]
    return frame


def results_of(experiment: Experiment, rows: Iterable[Row]) -> Results:
    """Return the results of an experiment from the rows of its samples."""
    point = tuple(experiment.workload.grid)
    frame = pd.DataFrame(list(rows))
    frame = frame.astype({name: float for name in (*METRICS, *RANKS) if name in frame})
    keys = [*point, "seed"]
    proven = frame[frame["strategy"] == REFERENCE][[*keys, *_proven_columns(frame)]]
    runs = frame[frame["strategy"] != REFERENCE].drop(columns=_proven_columns(frame)).merge(proven, on=keys, how="left")
    return split(experiment, against_bounds(runs, strict_strategies(experiment)), point)


def results_in(experiment: Experiment, table: Path) -> Results:
    """Return the results of an experiment from the CSV file of its runs, which lacks what figures alone need.

    Its first columns, up to the seed, say what was varied: jobs drawn or, where the log was there, slices of it.
    """
    runs = pd.read_csv(table)
    return split(experiment, runs, tuple(runs.columns[: runs.columns.get_loc("seed")]))


def split(experiment: Experiment, runs: pd.DataFrame, point: tuple[str, ...]) -> Results:
    """Return the runs but those of OAS in slots, and those in slots of all lengths, the usual one in both."""
    slots = runs[runs["slot"].notna()] if "slot" in runs else runs[:0]
    headline = runs.drop(slots.index)
    if len(slots):
        usual = slots[slots["slot"] == SLOT]
        names = usual["starts"].map({"keep": OAS, "left": OAS_LEFT})
        headline = pd.concat([headline, usual.assign(strategy=names)])
    ordered = [name for name in (OPTIMUM, OAS_LEFT, OAS, *experiment.strategies) if name in set(headline["strategy"])]
    unit = "slice" if "slice" in point else "seed"
    return Results(point, unit, tuple(ordered), headline.reset_index(drop=True), slots.reset_index(drop=True))


def _proven_columns(frame: pd.DataFrame) -> list[str]:
    names = ("bound", "is_optimum", "strict_bound", "strict_is_optimum", "response_bound")
    return [name for name in names if name in frame]


def strict_strategies(experiment: Experiment) -> set[str]:
    """Return the strategies that never saturate a link: OAS, and PAS with its own model."""
    strict = {OAS, OPTIMUM}
    for label, options in experiment.strategies.items():
        if options["policy"] == "oas" or (options["policy"] == "pas" and options.get("allocation", "pas") == "pas"):
            strict.add(label)
    return strict


def against_bounds(runs: pd.DataFrame, strict: set[str]) -> pd.DataFrame:
    """Return the runs with how far they are above what is proved for what they may do.

    Links that saturate delay a job but let it start: such strategies compete with the bound without traffic.
    """
    bound, is_optimum = runs["bound"], runs.get("is_optimum")
    if "strict_bound" in runs:
        is_strict = runs["strategy"].isin(strict)
        bound = bound.where(~is_strict, runs["strict_bound"])
        is_optimum = runs["is_optimum"].where(~is_strict, runs["strict_is_optimum"])
    return runs.assign(
        bound=bound,
        is_optimum=False if is_optimum is None else is_optimum.astype(bool),
        above_bound=runs["makespan"] / bound - 1.0,
        response_above_bound=runs["response_mean"] / runs["response_bound"] - 1.0,
    ).drop(columns=[name for name in ("strict_bound", "strict_is_optimum") if name in runs])


def solve_column(slots: pd.DataFrame) -> str:
    """Return what says how long a solve took, s: processor time where that was taken, else what the clock said."""
    return "solve_cpu" if "solve_cpu" in slots else "solve_time"


def csv_columns(runs: pd.DataFrame) -> Sequence[str]:
    """Return the columns of the CSV file: what repeats first, then what is timed."""
    kept = [name for name in runs.columns if name not in (*TIMINGS, *LISTS)]
    return [*kept, *(name for name in TIMINGS if name in runs)]
