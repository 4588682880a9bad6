"""The picture of a front: what is possible in makespan and energy, what is proven impossible, and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coalloc.plot import palette
from coalloc.plot.axes import MARKERS, label, new_figure, series_style, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.06
"""Room around the points, as a share of what they span."""


def draw_front(table: pd.DataFrame, exact: str) -> Figure:
    """Draw what :func:`coalloc.energy_front` found; ``exact`` is the label of the rows of the front."""
    figure, (ax,) = new_figure(7.2, 4.6)
    front = table[table["label"] == exact]
    title(ax, "Energy against makespan")
    _set_limits(ax, table)
    _draw_envelope(ax, front)
    on_front = front[front["on_front"]].sort_values("makespan")
    style = series_style(5) | {"marker": "o", "markersize": 4.0}
    makespans, joules = (on_front[name].to_numpy(dtype=float) for name in ("makespan", "energy"))
    ax.step(makespans, joules, where="post", linewidth=1.4, label="exact", **style)
    policies = table[table["label"] != exact]
    points = policies[["makespan", "energy"]].to_numpy(dtype=float).tolist()
    for number, (name, point) in enumerate(zip(policies["label"], points, strict=True), start=1):
        marks = series_style(number + 5) | {"marker": MARKERS[number % len(MARKERS)], "markersize": 6.5}
        ax.plot(point[:1], point[1:], linestyle="none", label=str(name), **marks)
    label(ax, "makespan, s", "energy, J")
    legend = ax.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def _set_limits(ax: Axes, table: pd.DataFrame) -> None:
    """Show all points with some room around."""
    for set_limits, name in ((ax.set_xlim, "makespan"), (ax.set_ylim, "energy")):
        low, high = float(table[name].min()), float(table[name].max())
        if name == "energy":
            low = min(low, float(table["bound"].min()))
        room = MARGIN * ((high - low) or abs(high) or 1.0)
        set_limits(low - room, high + room)


def _draw_envelope(ax: Axes, front: pd.DataFrame) -> None:
    """Shade what no schedule can reach: below the bound of the next limit, and before the least makespan."""
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    least = float(front["edp_bound"].iloc[0] / front["bound"].iloc[0]) if front["bound"].iloc[0] else left
    limits = np.minimum(front["makespan_limit"].to_numpy(dtype=float), right)
    bounds = front["bound"].to_numpy(dtype=float)
    edges = np.concatenate([[left, least], np.maximum(limits, least)])
    heights = np.concatenate([[top], bounds, bounds[-1:]])
    ax.fill_between(
        edges,
        bottom,
        heights,
        step="post",
        color=palette.mixed(palette.BAND, palette.INK, 0.07),
        zorder=0.5,
        label="proven impossible",
    )
    ax.step(edges, heights, where="post", color=palette.MUTED, linewidth=0.9, linestyle="--", zorder=0.6)
