"""Pictures of a grid study: degradations, means over weeks, and power management against all switched on.

Source: the two-level grid study, Figures 7 to 25. Strategies are named in full: no colour has to tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coalloc.documents import palette
from coalloc.documents.wording import unit_for
from coalloc.plot.axes import RAW, key, label, page_figure, series_style, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.15
"""Height of the row of a strategy, inches."""

SIX = 6
"""Strategies that the source shows of each metric."""

WIDE = 20.0
"""Longest bar over the median one from which an axis is logarithmic."""

NAMES: Mapping[str, str] = {
    "competitive_factor": "competitive factor",
    "wait_mean": "mean wait, {unit}",
    "sd_b": "slowdown SD_b",
    "energy": "energy, GJ",
    "energy_efficiency": "EnEff, processor s/J",
}
"""Names of the metrics on axes; {unit} is one of time that suits the values."""

GIGA = {"energy": 1e9}
"""Divisors of metrics."""


def draw_degradations(degradations: pd.DataFrame, judged: Sequence[str]) -> Figure:
    """Draw the six least degradations (%) by each judged metric, and all by the last column.

    Where the best is 0 and others are not, theirs are undefined: they have no bar, and the title says so.
    """
    panels = math.ceil(len(judged) / 2)
    heights = [*[0.7 + ROW * SIX * 1.4] * panels, 0.7 + ROW * len(degradations)]
    figure = page_figure(sum(heights), rows=(*[2] * panels, 1), ratios=heights)
    for ax, metric in zip(figure.axes, judged, strict=False):
        _draw_best(ax, degradations[metric], SIX, f"Six best by {_bare(metric)}")
    last = str(degradations.columns[-1])
    _draw_best(figure.axes[-1], degradations[last], len(degradations), f"All by {_bare(last)}")
    return figure


def _draw_best(ax: Axes, values: pd.Series[float], number: int, text: str) -> None:
    """Draw the least so many degradations."""
    _bars(ax, values.sort_values(kind="stable").head(number))
    ax.locator_params(axis="x", nbins=5)  # small percentages have long labels
    title(ax, f"{text} (undefined: the best is 0)" if values.isna().any() else text)
    label(ax, "worse than the best, %")


def draw_means(means: pd.DataFrame, deviations: pd.DataFrame) -> Figure:
    """Draw the mean of each metric (columns) over weeks for all strategies (rows), with the standard deviation."""
    height = 0.7 + ROW * len(means)
    rows = math.ceil(len(means.columns) / 2)
    figure = page_figure(rows * height, rows=[2] * rows)
    for ax, metric in zip(figure.axes, means, strict=False):
        name, scale = axis_of(str(metric), float(means[metric].max()))
        values = means[metric] / scale
        _bars(ax, values, deviations[metric] / scale)
        if _is_wide(values):
            least = float(values[values > 0.0].min())
            ax.set_xscale("symlog", linthresh=10.0 ** math.floor(math.log10(least)))
        label(ax, name + (" (logarithmic)" if _is_wide(values) else ""))
        ax.set_xlim(left=0.0)  # none of them is negative, however far they spread
    return figure


def draw_power_management(managed: pd.DataFrame, always_on: pd.DataFrame, name: str) -> Figure:
    """Draw each metric (columns) of a strategy by week (rows), with power management and with all switched on."""
    from matplotlib.ticker import MaxNLocator

    figure = page_figure(1.5 * len(managed.columns), rows=[1] * len(managed.columns))
    weeks = np.arange(1, len(managed) + 1)
    for ax, metric in zip(figure.axes, managed, strict=True):
        name_of_axis, scale = axis_of(str(metric), float(max(managed[metric].max(), always_on[metric].max())))
        for number, (table, text) in enumerate([(managed, "switched off when idle"), (always_on, "always on")]):
            width = 1.2 + 2.0 * (1 - number)  # the lower one is wider: both are visible where they coincide
            style = series_style(5 - 4 * number) | {"linewidth": width, "markersize": 4.0 + width, "label": text}
            ax.plot(weeks, table[metric].to_numpy(dtype=float) / scale, **style)
        ax.set_ylim(0.0, 1.05 * ax.get_ylim()[1])
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        label(ax, "week" if ax is figure.axes[-1] else "", name_of_axis)
    key(figure.axes[0])
    figure.suptitle(name, fontsize=8, color=palette.MUTED, x=0.995, ha="right", **RAW)
    return figure


def axis_of(metric: str, highest: float) -> tuple[str, float]:
    """Return the label of the axis of a metric up to a value, and what values are divided by."""
    unit = unit_for(highest)
    scale = unit.seconds if "{unit}" in NAMES[metric] else GIGA.get(metric, 1.0)
    return NAMES[metric].format(unit=unit.symbol), scale


def _is_wide(values: pd.Series[float]) -> bool:
    """Return whether most bars would vanish beside the longest."""
    return float(values.max()) > WIDE * float(values.median()) > 0.0


def _bars(ax: Axes, values: pd.Series[float], deviations: pd.Series[float] | None = None) -> None:
    """Draw a bar per strategy, the first on top."""
    rows = range(len(values))
    error = None if deviations is None else deviations.to_numpy(dtype=float)
    ax.barh(rows, values.to_numpy(dtype=float), xerr=error, color=palette.bar_colour(5), ecolor=palette.INK, height=0.7)
    ax.set_yticks(rows)
    ax.set_yticklabels([str(name) for name in values.index], fontsize=6.5, **RAW)
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")


def _bare(metric: str) -> str:
    """Return the name of a metric without its unit."""
    return NAMES[metric].partition(",")[0]
