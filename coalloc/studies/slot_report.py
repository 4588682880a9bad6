"""Report of a slot study: losses, certified gaps, a recommendation in words, and the curves of its picture.

Everything here reads the table of :func:`coalloc.slot_study`. Several instances are compared each with its own
best slot and its own best certified bound, so that long instances do not outweigh short ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

from coalloc.documents.wording import percent_text
from coalloc.instance import CoallocError
from coalloc.measures.intervals import LEAST_SAMPLES, ConfidenceInterval, mean_interval
from coalloc.studies.slot_size import TOLERANCE, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from coalloc.documents.storage import FilePath

WITHIN = 0.02
"""Share by which a recommended slot may be worse than the best, by default."""

Judged = Literal["replayed", "compacted"]
"""The makespans by which slots are compared: both are of schedules that can be run."""

WORDS = {"compacted": "left-shifted"}
"""Words of sentences for columns that do not go by their names."""

MAKESPANS = (
    "slotted",
    "replayed",
    "compacted",
    "rounded_down_bound",
    "continuous_bound",
    "optimum",
    "band_low",
    "band_high",
)
"""Columns in s that are drawn relative to the best bound where there are several instances."""

OTHERS = ("solve_time", "estimated_nonzeros", "utilization", "wait_mean", "execution_mean", "execution_slowdown")
"""Columns that are drawn as they are."""

CAPTION = 60
"""Characters of the name of an instance above the picture."""


def best_bounds(table: pd.DataFrame) -> pd.Series[float]:
    """Return for each row the best lower edge of a band that any slot gave its instance, s."""
    return table.groupby("instance", sort=False)["band_low"].transform("max")


def losses(table: pd.DataFrame, by: Judged = "replayed") -> pd.Series[float]:
    """Return for each row how much worse it is than the best slot of its instance: 0.02 for 2 %."""
    _refuse_unknown_makespan(by)
    return _excess(table[by], table.groupby("instance", sort=False)[by].transform("min"))


def _excess(values: pd.Series[float], base: pd.Series[float]) -> pd.Series[float]:
    """Return by what share values are above others; 0 for 0 above 0."""
    return (values / base).mask(values == base, 1.0) - 1.0


def summary(table: pd.DataFrame, by: Judged = "replayed", seed: int = 0) -> pd.DataFrame:
    """Return a row per fraction: mean loss against the best slot with its 95 % interval, and what is certain.

    ``above_bound_mean`` is (makespan - best certified bound)/bound, ``band_width_mean`` (band_high -
    band_low)/band_high; times in s are means; ``proven`` and ``proven_rounded_down`` count instances.
    """
    import pandas as pd

    found = table.assign(
        loss=losses(table, by),
        above_bound=_excess(table[by], best_bounds(table)),
        width=-_excess(table["band_low"], table["band_high"]),
    )
    rows = []
    for fraction, part in found.groupby("fraction", sort=True):
        loss = _interval(part["loss"], seed)
        rows.append(
            {
                "slot": percent(float(str(fraction))),
                "instances": len(part),
                "proven": int(part["is_proven"].sum()),
                "proven_rounded_down": int(part["is_rounded_down_proven"].sum()),
                "loss_mean": loss.mean,
                "loss_low": loss.low,
                "loss_high": loss.high,
                "loss_max": part["loss"].max(),
                "above_bound_mean": part["above_bound"].mean(),
                "band_width_mean": part["width"].mean(),
                "solve_time_mean": part["solve_time"].mean(),
                "num_slots_mean": part["num_slots"].mean(),
            }
        )
    return pd.DataFrame(rows)


def _interval(values: pd.Series[float], seed: int) -> ConfidenceInterval:
    return mean_interval(values.dropna().tolist(), seed)


def coarsest(table: pd.DataFrame, within: float = WITHIN, by: Judged = "replayed") -> float:
    """Return the largest fraction whose mean loss against the best slot of each instance is at most ``within``.

    Where none is, the fraction of least mean loss. Raises :class:`CoallocError` where ``within`` is no share, or
    no row has a schedule.
    """
    if not (math.isfinite(within) and within >= 0.0):
        raise CoallocError(f"within must be finite and at least 0, such as 0.02 for 2 %, got {within!r}")
    means = losses(table, by).groupby(table["fraction"]).mean().dropna()
    if means.empty:
        raise CoallocError("no time slot can be recommended: no instance has a schedule")
    return float(means[means <= max(within, float(means.min())) + TOLERANCE].index.max())


def recommendation(table: pd.DataFrame, within: float = WITHIN, by: Judged = "replayed") -> str:
    """Return in words the coarsest slot that is within a share of the best, what it costs, and what is certain."""
    fraction = coarsest(table, within, by)
    is_chosen = table["fraction"] == fraction
    chosen = table[is_chosen]
    loss = losses(table, by)[is_chosen].dropna()
    slot = f"{percent(fraction)} of the mean reference run time"
    if loss.mean() <= within + TOLERANCE:
        verdict = f"Recommended time slot: {slot} (the longest with a mean loss of at most {percent(within)})."
    else:
        verdict = f"No time slot has a mean loss of at most {percent(within)}; the best one is {slot}."
    lost = percent_text(loss.mean())
    if len(loss) > 1:
        lost = f"{lost} on average and {percent_text(loss.max())} at worst, over {len(loss)} instances"
    spread = f"Its {WORDS.get(by, by)} makespan exceeds that of the best slot length by {lost}."
    above = _excess(chosen[by], best_bounds(table)[is_chosen]).max()
    certain = f"Certified: at most {percent_text(above)} above the optimum in continuous time."
    return "\n".join([verdict, spread, certain, _effort(table, chosen), *_caveats(table)])


def _effort(table: pd.DataFrame, chosen: pd.DataFrame) -> str:
    """Return how long solving takes with the chosen slots, and with the finest where these are others."""
    finest = table[table["fraction"] == table["fraction"].min()]
    sentence = f"Mean solve time: {chosen['solve_time'].mean():.2g} s"
    if finest.index.equals(chosen.index):
        return f"{sentence}; no shorter time slot was tried."
    return (
        f"{sentence} ({finest['solve_time'].mean():.2g} s with a time slot of {percent(finest['fraction'].iloc[0])})."
    )


def _caveats(table: pd.DataFrame) -> list[str]:
    """Return what weakens the verdict, a line each."""
    has_schedule = table["slotted"].notna()
    unproven = int((has_schedule & ~table["is_proven"].astype(bool)).sum())
    without = table.loc[~has_schedule, "instance"].nunique()
    lines = []
    if unproven:
        lines.append(
            f"{unproven} of {len(table)} solves ended without a proof; their best known schedules and bounds are used."
        )
    if without:
        lines.append(f"Instances omitted because no schedule was found: {without} of {table['instance'].nunique()}.")
    return lines


def _refuse_unknown_makespan(by: str) -> None:
    if by not in get_args(Judged):
        raise CoallocError(f"by must be one of {', '.join(get_args(Judged))}, got {by!r}")


def curves(table: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return what the picture shows: a row per fraction; for each quantity its ``mean``, ``low`` and ``high``.

    Columns are pairs (quantity, statistic). ``("slotted", "proven")`` says whether every instance is solved to a
    proof there, ``("continuous_bound", "proven")`` whether every optimum in continuous time is known. Makespans
    of several instances are relative to the best certified bound of each.
    """
    import pandas as pd

    scale = best_bounds(table) if table["instance"].nunique() > 1 else 1.0
    scaled = table.assign(**{name: table[name] / scale for name in MAKESPANS})
    rows, index = [], []
    for fraction, part in scaled.groupby("fraction", sort=True):
        row: dict[tuple[str, str], float | bool] = {
            ("slotted", "proven"): bool(part["is_proven"].all()),
            ("continuous_bound", "proven"): bool(part["optimum"].notna().all()),
        }
        for name in (*MAKESPANS, *OTHERS):
            interval = _interval(part[name], seed)
            row |= {(name, "mean"): interval.mean, (name, "low"): interval.low, (name, "high"): interval.high}
        rows.append(row)
        index.append(fraction)
    return pd.DataFrame(rows, index=pd.Index(index, name="fraction"))


def draw(table: pd.DataFrame, path: FilePath | None = None) -> Figure:
    """Draw a table of :func:`slot_study`: makespans with the certified band, solve time, utilization and the rest.

    One instance is shown in seconds; several as means with 95 % intervals, makespans then relative to the best
    certified bound of each instance. ``path`` is where to write it as well: ``.png``, ``.svg`` or ``.pdf``.
    """
    from coalloc.documents.wording import shortened
    from coalloc.plot.pictures import write_figure
    from coalloc.plot.slot_size import draw_slot_study

    names = table["instance"].unique()
    bars = ", bars: 95 % intervals" if len(names) >= LEAST_SAMPLES else ""
    caption = f"means over {len(names)} instances{bars}" if len(names) > 1 else shortened(str(names[0]), CAPTION)
    figure = draw_slot_study(curves(table), caption, is_relative=len(names) > 1)
    if path is not None:
        write_figure(figure, path)
    return figure
