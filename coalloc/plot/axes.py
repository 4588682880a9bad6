"""The look of charts with axes: one place for fonts, grids and colours, without pyplot or global state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coalloc.plot import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RAW: dict[str, Any] = {"parse_math": False}
"""For text that comes from data: shown as it is."""

MARKERS = "osD^vPX*<>"
"""Marks of the series, in order: colours are not the only difference."""


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure of ``width`` x ``height`` inches and its axes, row by row, in the house's look."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor=palette.PAPER)
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        style(ax)
    return figure, axes


def style(ax: Axes) -> None:
    """Give axes light grids, no box and muted ticks."""
    ax.grid(visible=True, color=palette.GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(palette.MUTED)
    ax.tick_params(colors=palette.INK, labelsize=8, length=3)


def title(ax: Axes, text: str) -> None:
    """Write a title at the left, above the axes."""
    ax.set_title(text, loc="left", fontsize=9, fontweight="bold", color=palette.INK, **RAW)


def label(ax: Axes, x: str = "", y: str = "") -> None:
    """Name the axes, with units."""
    ax.set_xlabel(x, fontsize=8, color=palette.INK)
    ax.set_ylabel(y, fontsize=8, color=palette.INK)


def series_style(number: int) -> dict[str, Any]:
    """Return colour and marker of the series with this number."""
    colour = palette.mixed(palette.bar_colour(number), palette.INK, 0.15)
    return {"color": colour, "marker": MARKERS[number % len(MARKERS)], "markersize": 4.5}
