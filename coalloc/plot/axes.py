"""The look of charts with axes: one place for fonts, grids and colours, without pyplot or global state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coalloc.documents import palette
from coalloc.system.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RAW: dict[str, Any] = {"parse_math": False}
"""For text that comes from data: shown as it is."""

MARKERS = "osD^vPX*<>"
"""Marks of the series, in order: colours are not the only difference."""


PAGE = 7.2
"""Width of a figure, inches: two columns of a paper, so that nothing is printed smaller than it is drawn."""


def blank_figure(**options: Any) -> Figure:
    """Return a figure without axes; it belongs to no window and to no global list."""
    require("matplotlib", "a figure")
    from matplotlib.figure import Figure

    return Figure(facecolor=palette.PAPER, **options)


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure of ``width`` x ``height`` inches and its axes, row by row, in the house's look."""
    figure = blank_figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        style(ax)
    return figure, axes


def page_figure(height: float, rows: Sequence[int] = (1,), ratios: Sequence[float] | None = None) -> Figure:
    """Return a figure as wide as a page and ``height`` inches high, with axes row by row, in the house's look.

    ``rows`` says how many axes there are in each row, ``ratios`` how high the rows are, relative to each other.
    """
    figure = blank_figure(figsize=(PAGE, height), layout="constrained")
    columns = math.lcm(*rows)
    grid = figure.add_gridspec(len(rows), columns, height_ratios=ratios)
    for row, count in enumerate(rows):
        width = columns // count
        for place in range(count):
            style(figure.add_subplot(grid[row, place * width : (place + 1) * width]))
    return figure


def key(ax: Axes) -> None:
    """Put the legend at the right of the axes, where it covers no data."""
    legend = ax.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    for text in legend.get_texts():
        text.set_parse_math(False)


def style(ax: Axes) -> None:
    """Give axes light grids, no box and muted ticks."""
    ax.grid(visible=True, color=palette.GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(palette.MUTED)
    ax.tick_params(colors=palette.INK, labelsize=8, length=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_offset_text().set_fontsize(7)


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
