"""The picture of a front: what is possible in makespan and energy, what is proven impossible, and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.plot import palette
from coalloc.plot.axes import MARKERS, RAW, key, label, page_figure, series_style, title
from coalloc.plot.wording import shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTION = 80
"""Longest name of an instance that is shown, characters."""

ASIDE: dict[str, Any] = {"x": 0.995, "ha": "right", **RAW}
"""Where it is shown: at the right, above the axes."""

MARGIN = 0.06
"""Room around the points, as a share of what they span."""


def draw_front(table: pd.DataFrame, exact: str) -> Figure:
    """Draw what :func:`coalloc.energy_front` found; ``exact`` is the label of the rows of the front."""
    figure = page_figure(4.6)
    (ax,) = figure.axes
    front = table[table["label"] == exact]
    title(ax, "Energy against makespan")
    figure.suptitle(shortened(str(table["instance"].iloc[0]), CAPTION), fontsize=8, color=palette.MUTED, **ASIDE)
    _set_limits(ax, table)
    _draw_envelope(ax, front)
    on_front = front[front["on_front"]].sort_values("makespan")
    style = series_style(5) | {"marker": "o", "markersize": 4.0}
    makespans, joules = (on_front[name].to_numpy(dtype=float) for name in ("makespan", "energy"))
    ax.step(makespans, joules, where="post", linewidth=1.4, label="exact", zorder=3.0, **style)
    _draw_unproven(ax, on_front, style)
    policies = table[table["label"] != exact]
    points = policies[["makespan", "energy"]].to_numpy(dtype=float).tolist()
    for number, (name, point) in enumerate(zip(policies["label"], points, strict=True), start=1):
        marks = series_style(number + 5) | {
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 7.5,
            "markerfacecolor": "none",
        }
        ax.plot(point[:1], point[1:], linestyle="none", label=str(name), **marks)
    label(ax, "makespan, s", "energy, J")
    key(ax)
    return figure


def _draw_unproven(ax: Axes, on_front: pd.DataFrame, style: dict[str, Any]) -> None:
    """Mark the points whose energy is not proven least within their limit."""
    unproven = on_front[on_front["status"] != "optimal"]
    if len(unproven):
        hollow = style | {"markerfacecolor": palette.PAPER, "linestyle": "none", "zorder": 3.5}
        ax.plot(unproven["makespan"], unproven["energy"], label="exact, not proven least", **hollow)


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
