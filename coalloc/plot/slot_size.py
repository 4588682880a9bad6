"""The picture of a slot study: makespans in their certified band, solve time, model size, and three metrics.

After figures 3.14 to 3.17 of the thesis, with the band drawn. Slots stand at equal distances, as there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.documents import palette
from coalloc.documents.wording import TimeUnit, unit_for
from coalloc.plot.axes import PAGE, RAW, label, new_figure, series_style, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIZE = (PAGE, 8.8)
"""Width and height of the figure, inches."""

KEY: dict[str, Any] = {"loc": "outside lower left", "ncols": 4, "frameon": False, "fontsize": 7}
"""The key to the makespans stands below all panels, where it covers no data."""

SCHEDULES = {
    "slotted": ("slotted: whole slots", 5, 0.06),
    "replayed": ("replayed: real ends", 1, 0.0),
    "compacted": ("left-shifted", 2, -0.06),
}
"""Label, number of the series, and place of the intervals beside the slot, of the makespans of schedules."""

SHADE = palette.mixed(palette.LINK, palette.PAPER, 0.65)
"""Colour of the certified band."""


def draw_slot_study(curves: pd.DataFrame, caption: str, is_relative: bool) -> Figure:
    """Draw the curves of :func:`coalloc.studies.slot_report.curves`.

    ``is_relative``: makespans are multiples of the best certified bound, else s.
    """
    figure, axes = new_figure(*SIZE, columns=2, rows=3)
    makespan, seconds, nonzeros, utilization, response, slowdown = axes
    _draw_makespans(makespan, curves, is_relative)
    _draw_in_decades(seconds, curves, "solve_time")
    _head(seconds, "Time to solve", "time, s")
    _draw_in_decades(nonzeros, curves, "estimated_nonzeros")
    _head(nonzeros, "Size of the model", "nonzeros (estimate)")
    _draw_curve(utilization, curves, "utilization", factor=100.0)
    _head(utilization, "Utilization, replayed", "% of the processors' time")
    _draw_response(response, curves)
    _draw_curve(slowdown, curves, "execution_slowdown", factor=100.0)
    _head(slowdown, "Execution slowdown, replayed", "(mean Te - mean Tb) / mean Tb, %")
    for ax in axes:
        _name_slots(ax, curves)
    key = makespan.get_legend_handles_labels()
    figure.legend(*key, title="Makespan", title_fontsize=8, alignment="left", **KEY)
    figure.suptitle(caption, fontsize=8, color=palette.MUTED, x=0.995, ha="right", **RAW)
    return figure


def _draw_makespans(ax: Axes, curves: pd.DataFrame, is_relative: bool) -> None:
    """Draw the band that encloses the optimum in continuous time, and the makespans of schedules."""
    low, high = _values(curves, "band_low"), _values(curves, "band_high")
    unit = TimeUnit("", 1.0) if is_relative else unit_for(float(np.nanmax(high, initial=0.0)))
    scale = 1.0 / unit.seconds
    x = np.arange(len(curves))
    ax.fill_between(x, scale * low, scale * high, color=SHADE, linewidth=0.0, label="certified band of the optimum")
    _draw_edges(ax, curves, scale)
    for name, (text, number, aside) in SCHEDULES.items():
        _draw_curve(ax, curves, name, number, text=text, factor=scale, aside=aside)
    if not curves["slotted", "proven"].all():
        hollow = series_style(SCHEDULES["slotted"][1]) | {"markerfacecolor": palette.PAPER}
        ax.plot([], [], linestyle="none", label="hollow: not proved", **hollow)
    _head(ax, "Makespan", "multiple of the best certified bound" if is_relative else f"makespan, {unit.symbol}")


def _draw_edges(ax: Axes, curves: pd.DataFrame, scale: float) -> None:
    """Draw what the lower edge of the band is the better of; the optimum where it is proved."""
    x = np.arange(len(curves))
    floor = scale * _values(curves, "rounded_down_bound")
    ax.plot(x, floor, color=palette.MUTED, linewidth=1.2, linestyle=":", label="bound: rounded down to slots")
    name, text, line = "continuous_bound", "bound: continuous time", "--"
    if curves["continuous_bound", "proven"].all():
        name, text, line = "optimum", "optimum in continuous time", "-"
    ax.plot(x, scale * _values(curves, name), color=palette.INK, linewidth=1.2, linestyle=line, label=text)


def _draw_curve(
    ax: Axes,
    curves: pd.DataFrame,
    name: str,
    number: int = 0,
    *,
    text: str | None = None,
    factor: float = 1.0,
    aside: float = 0.0,
) -> None:
    """Draw a quantity over the slots, with intervals where there are any; hollow where solves are not proved."""
    x = np.arange(len(curves))
    mean, low, high = (factor * _values(curves, name, statistic) for statistic in ("mean", "low", "high"))
    style = series_style(number)
    ax.vlines(x + aside, low, high, color=style["color"], linewidth=1.0, alpha=0.7)
    ax.plot(x, mean, linewidth=1.4, label=text, **style)
    hollow = ~curves["slotted", "proven"].to_numpy(dtype=bool)
    ax.plot(x[hollow], mean[hollow], linestyle="none", **style | {"markerfacecolor": palette.PAPER})


def _draw_in_decades(ax: Axes, curves: pd.DataFrame, name: str) -> None:
    """Draw a quantity on a logarithmic axis from one power of ten to another; on a linear one where it is 0."""
    _draw_curve(ax, curves, name)
    if not (_values(curves, name) > 0.0).any():
        return
    ax.set_yscale("log")
    low, high = (math.log10(end) for end in ax.get_ylim())
    ax.set_ylim(10.0 ** math.floor(low), 10.0 ** math.ceil(high))
    ax.yaxis.set_minor_formatter("")


def _draw_response(ax: Axes, curves: pd.DataFrame) -> None:
    """Draw wait and execution, one on the other."""
    x = np.arange(len(curves))
    wait, execution = _values(curves, "wait_mean"), _values(curves, "execution_mean")
    highest = float(np.nanmax(wait + execution, initial=0.0))
    unit = unit_for(highest)
    scale = 1.0 / unit.seconds
    ax.bar(x, scale * execution, width=0.6, color=series_style(0)["color"], label="execution")
    ax.bar(x, scale * wait, width=0.6, bottom=scale * execution, color=series_style(1)["color"], label="wait")
    _head(ax, "Mean response, replayed", f"time, {unit.symbol}")
    ax.set_ylim(top=1.25 * scale * highest or 1.0)
    ax.legend(frameon=False, fontsize=7, loc="upper left", ncols=2)


def _values(curves: pd.DataFrame, name: str, statistic: str = "mean") -> Floats:
    """Return a column, shape ``(num_slots,)``."""
    return np.asarray(curves[name, statistic], dtype=np.float64)


def _head(ax: Axes, text: str, unit: str) -> None:
    title(ax, text)
    label(ax, "slot, % of the mean reference run time", unit)


def _name_slots(ax: Axes, curves: pd.DataFrame) -> None:
    ax.set_xticks(range(len(curves)))
    ax.set_xticklabels([f"{100.0 * fraction:.6g}" for fraction in curves.index])
    ax.set_xlim(-0.5, len(curves) - 0.5)
