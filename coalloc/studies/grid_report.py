"""Report of a grid study: the strategies that are best by all metrics and by each, and how sure that is.

Everything here reads the table of :func:`coalloc.studies.grid_study`; rankings are of the runs with power management.
Means are over the weeks, and degradations those of the means. Source: the two-level grid study, section 6.2, Tables 10
and 11, Figures 7 to 25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from coalloc.documents.spreadsheet import csv_of_table
from coalloc.documents.storage import FilePath, write_together
from coalloc.instance import CoallocError
from coalloc.measures.intervals import mean_interval
from coalloc.studies.rankings import Goal, degradation, mean_coverage, non_dominated, ranks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

JUDGED: Sequence[str] = ("competitive_factor", "wait_mean", "sd_b", "energy")
"""The metrics of a front, of all of which the least is best. Source: Table 1."""

EFFICIENCY = "energy_efficiency"

GOALS: Mapping[str, Goal] = {**dict.fromkeys(JUDGED, "least"), EFFICIENCY: "greatest"}
"""Metrics by which strategies are ranked, and which value of each is best."""


def managed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs with power management."""
    return table[table["power_management"]]


def coverage(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of Table 10 for a grid, by strategy, the best first.

    ``coverage``: which share of the front of a strategy, the weeks that none of its own dominates, the fronts of all
    dominate or equal on average, its own among them. ``rank`` is by that.
    """
    import pandas as pd

    points = {name: part[list(JUDGED)].to_numpy() for name, part in managed(table).groupby("strategy", sort=False)}
    found = mean_coverage({str(name): non_dominated(weeks) for name, weeks in points.items()})
    return _ranked(pd.DataFrame({"coverage": found}), "coverage")


def efficiency(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of Table 11 for a grid, by strategy, the best first.

    ``degradation`` of the mean EnEff, in %, and the ``rank`` by it.
    """
    return _ranked(degradations(table)[[EFFICIENCY]].rename(columns={EFFICIENCY: "degradation"}), "degradation")


def degradations(table: pd.DataFrame) -> pd.DataFrame:
    """Return by how many percent the mean of each metric is worse than the best, strategies x metrics."""
    import pandas as pd

    means = managed(table).groupby("strategy", sort=False)[list(GOALS)].mean()
    columns = {name: degradation(means[name].to_numpy(), goal) for name, goal in GOALS.items()}
    return pd.DataFrame(columns, index=means.index)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per strategy, the best by coverage first.

    ``rank`` and ``coverage`` as in Table 10, the mean of each metric, the ``degradation`` of EnEff in % and the
    ``rank_efficiency`` by it as in Table 11, and ``waited_share``: where it is 0, waits and what follows from them
    tell strategies apart by nothing but start-ups.
    """
    found = coverage(table)
    by_efficiency = efficiency(table).rename(columns={"rank": "rank_efficiency"})
    means = managed(table).groupby("strategy", sort=False)[[*GOALS, "waited_share"]].mean()
    return found.join(means).join(by_efficiency)


def paired_differences(table: pd.DataFrame, baseline: str, metric: str, seed: int = 0) -> pd.DataFrame:
    """Return by how much a metric of each strategy is above that of a baseline in the same weeks, with 95 % intervals.

    ``mean``, ``low`` and ``high`` of (value - baseline's), in the unit of the metric, over so many ``weeks``.

    Raises
    ------
    CoallocError
        The table has no such strategy or metric.
    """
    import pandas as pd

    rows = managed(table)
    if metric not in rows or baseline not in set(rows["strategy"]):
        raise CoallocError(f"the table has no metric {metric!r} of strategy {baseline!r}")
    pivoted = rows.pivot(index="week", columns="strategy", values=metric)
    found = {}
    for strategy in dict.fromkeys(rows["strategy"]):
        if strategy != baseline:
            interval = mean_interval((pivoted[strategy] - pivoted[baseline]).dropna().tolist(), seed)
            found[strategy] = [interval.mean, interval.low, interval.high, interval.samples]
    return pd.DataFrame.from_dict(found, orient="index", columns=["mean", "low", "high", "weeks"])


def savings(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return what power management changes, with 95 % intervals over weeks: a row per strategy and metric.

    ``mean``, ``low`` and ``high`` of (with - always on), in the unit of the metric, and ``share``: that mean over the
    mean always on, nan where that is 0. For strategies that were run both ways, over so many ``weeks``.
    """
    import pandas as pd

    both = table.pivot(index=["strategy", "week"], columns="power_management", values=list(GOALS))
    rows = []
    for strategy in dict.fromkeys(table.loc[~table["power_management"], "strategy"]):
        for metric in GOALS:
            values = both.loc[strategy, metric].dropna().astype(float)
            interval = mean_interval((values[True] - values[False]).tolist(), seed)
            before = values[False].mean()
            share = interval.mean / before if before else float("nan")
            rows.append([strategy, metric, interval.mean, interval.low, interval.high, share, interval.samples])
    return pd.DataFrame(rows, columns=["strategy", "metric", "mean", "low", "high", "share", "weeks"])


def pictures(table: pd.DataFrame) -> dict[str, Figure]:
    """Return the pictures of a study by name: degradations, means, and power management where it was compared."""
    from coalloc.plot.grid import draw_degradations, draw_means, draw_power_management

    by_strategy = managed(table).groupby("strategy", sort=False)[list(JUDGED)]
    found = {
        "degradations": draw_degradations(degradations(table), JUDGED),
        "means": draw_means(by_strategy.mean(), by_strategy.std(ddof=0)),
    }
    both = table.set_index("week")
    for strategy in dict.fromkeys(both.loc[~both["power_management"], "strategy"]):
        runs = both[both["strategy"] == strategy]
        with_it, without = (runs.loc[runs["power_management"] == way, list(GOALS)] for way in (True, False))
        if len(with_it) == len(without):
            found[f"power-management-{strategy}"] = draw_power_management(with_it, without, strategy)
    return found


def draw(table: pd.DataFrame, folder: FilePath) -> None:
    """Write the pictures of a study, and its :func:`summary` as a table, into a folder."""
    from coalloc.plot.pictures import static_picture

    files = {f"{name}.png": static_picture(figure, "png") for name, figure in pictures(table).items()}
    write_together(folder, {**files, "summary.csv": csv_of_table(summary(table), "strategy").encode()})


def _ranked(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a table with ranks by a column, in their order; of equal ones the first is first."""
    return table.assign(rank=ranks(table[column].tolist())).sort_values("rank")
