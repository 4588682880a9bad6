"""The picture of a what-if: the mean wait of each scenario with its bound, and the difference from the log as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coalloc.documents import palette
from coalloc.documents.wording import unit_for
from coalloc.plot.axes import RAW, page_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOUND, LESS, MORE = "#0072B2", "#009E73", "#D55E00"
"""Colours of bounds, and of differences whose confidence interval is below and above 0."""

SMALL = 8.0
"""Size of text."""

LONGEST_NAME = 40
"""Letters of the name of a scenario that are shown."""


def draw_what_if(table: pd.DataFrame) -> Figure:
    """Draw the rows of a what-if, each in a line of both panels."""
    figure = page_figure(1.2 + 0.28 * len(table), rows=(2,))
    left, right = figure.axes
    lines = np.arange(len(table))
    _draw_waits(left, table, lines)
    _draw_differences(right, table, lines)
    names = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in table["scenario"]]
    left.set_yticks(lines, names, fontsize=SMALL, **RAW)
    right.set_yticks(lines, [])
    for ax in (left, right):
        ax.set_ylim(len(table) - 0.4, -0.6)
        ax.grid(visible=False, axis="y")
    return figure


def _draw_waits(ax: Axes, table: pd.DataFrame, lines: np.ndarray) -> None:
    """Draw the mean wait as a bar, and the bound as a mark in it."""
    unit = unit_for(2.0 * float(table["wait_mean"].max()))
    colours = [palette.MUTED if kind != "change" else palette.BASE[1] for kind in table["kind"]]
    ax.barh(lines, table["wait_mean"] / unit.seconds, height=0.6, color=colours)
    bounds = table["wait_bound"] / unit.seconds
    ax.scatter(bounds, lines, marker="|", s=110.0, color=BOUND, linewidths=2.0, zorder=3, label="lower bound (proved)")
    ax.set_xlim(left=0.0)
    ax.set_xlabel(f"mean wait, {unit.symbol}; line: lower bound (proved)", fontsize=SMALL)
    ax.set_title("Mean wait", loc="left", fontsize=10)


def _draw_differences(ax: Axes, table: pd.DataFrame, lines: np.ndarray) -> None:
    """Draw the difference of the mean wait from the log as it is, with its confidence interval where there is one."""
    difference, low, high = (table[f"wait_{part}"].to_numpy(dtype=float) for part in ("difference", "low", "high"))
    largest = float(np.nanmax(np.abs(np.stack([difference, low, high])), initial=0.0))
    unit = unit_for(2.0 * largest)
    ax.axvline(0.0, color=palette.INK, linewidth=0.8)
    for line, middle, least, most in zip(lines, difference, low, high, strict=True):
        if not np.isnan(middle):
            colour = LESS if most < 0.0 else MORE if least > 0.0 else palette.MUTED
            ax.plot(
                np.array([least, most]) / unit.seconds, [line, line], color=colour, linewidth=2.0, solid_capstyle="butt"
            )
            ax.plot(middle / unit.seconds, line, color=colour, marker="o", markersize=4.5)
    has_intervals = not np.isnan(low).all()
    ax.set_xlabel(f"difference, {unit.symbol}{'; 95 % confidence interval' if has_intervals else ''}", fontsize=SMALL)
    ax.set_title("Difference from the log as it is", loc="left", fontsize=10)
