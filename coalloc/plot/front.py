"""The picture of a front: what is possible in makespan and energy, what is proved impossible, and policies."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.documents import palette
from coalloc.documents.wording import plural, prefix_for, shortened, unit_for
from coalloc.plot.axes import MARKERS, label, new_figure, series_style, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

WIDTH, HEIGHT = 7.6, 4.4
"""Of the picture without its key, inches."""

LINE = 0.19
"""Height of a line of the key, inches."""

LABEL = 100
"""Characters of the label of a policy, at most."""

POINTS = 72.0
"""Points per inch."""

MARGIN = 0.06
"""Room around the points, as a share of what they span."""

SAME = 1e-6
"""Share up to which two policies are drawn as one point."""

DOT, SMALLEST_DOT = 5.5, 2.0
"""Sizes of the marks of the Pareto front, points: as large as leaves them apart."""

MARK, STEP = 11.0, 6.0
"""Size of the mark of a policy, and by how much it is larger where it lies behind that of another, points."""

POLICIES = (6, 8, 2, 3, 1, 10, 9, 7, 0, 4)
"""Numbers of the series whose colours policies get, in order; that of the front is 5."""


PAPER_EDGE: dict[str, Any] = {"markeredgecolor": palette.PAPER, "markeredgewidth": 0.8}
"""For marks that may overlap."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units of the axes: symbols, and their worth in s and J."""

    time: str
    seconds: float
    energy: str
    joules: float


def draw_front(table: pd.DataFrame, exact: str) -> Figure:
    """Draw what :func:`coalloc.studies.energy_front` found; ``exact`` is the label of the rows of the front."""
    from matplotlib.lines import Line2D

    units = units_of(table)
    front, policies = table[table["label"] == exact], table[table["label"] != exact]
    points = coincident(policies)
    num_lines = 3 + sum(len(names) for _, names in points)
    figure, (ax,) = new_figure(WIDTH, HEIGHT + LINE * num_lines)
    title(ax, f"{shortened(str(table['instance'].iloc[0]), 48)}: energy against makespan")
    label(ax, f"makespan, {units.time}", f"energy, {units.energy}")
    _set_limits(ax, table, units)
    _draw_envelope(ax, front, units, "schedule" if table.attrs.get("slot") is None else "schedule in slots")
    _draw_points(ax, front, units)
    _draw_policies(ax, points, units)
    key = figure.legend(frameon=False, fontsize=8, loc="outside lower left", labelcolor=palette.INK)
    for text, handle in zip(key.get_texts(), key.legend_handles, strict=True):
        text.set_parse_math(False)
        if isinstance(handle, Line2D):
            handle.set_markersize(min(handle.get_markersize(), MARK))
    return figure


def units_of(table: pd.DataFrame) -> Units:
    """Return the units in which the axes show a table."""
    time = unit_for(float(table["makespan"].max()))
    prefix, joules = prefix_for(float(table["energy"].max()))
    return Units(time.symbol, time.seconds, f"{prefix}J", joules)


def coincident(policies: pd.DataFrame) -> list[tuple[tuple[float, float], list[str]]]:
    """Return the points (s, J) of policies, each with the labels of all policies there."""
    found: list[tuple[tuple[float, float], list[str]]] = []
    points = policies[["makespan", "energy"]].to_numpy(dtype=float).tolist()
    for name, (seconds, joules) in zip(policies["label"], points, strict=True):
        point = (seconds, joules)
        same = (names for other, names in found if np.allclose(point, other, rtol=SAME, atol=0.0))
        names = next(same, None)
        if names is None:
            found.append((point, [str(name)]))
        else:
            names.append(str(name))
    return found


def _set_limits(ax: Axes, table: pd.DataFrame, units: Units) -> None:
    """Show all points with some room around."""
    for set_limits, name, unit in ((ax.set_xlim, "makespan", units.seconds), (ax.set_ylim, "energy", units.joules)):
        low, high = float(table[name].min()) / unit, float(table[name].max()) / unit
        if name == "energy":
            low = min(low, float(table["lower_bound"].min()) / unit)
        room = MARGIN * ((high - low) or abs(high) or 1.0)
        set_limits(low - room, high + room)


def _draw_envelope(ax: Axes, front: pd.DataFrame, units: Units, whose: str) -> None:
    """Shade what no schedule can reach: below the bound of the next limit, and before the least makespan.

    ``whose`` names those that the bounds hold for.
    """
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    first = front.iloc[0]
    least = float(first["edp_bound"] / first["lower_bound"]) / units.seconds if first["lower_bound"] else left
    limits = np.minimum(front["makespan_limit"].to_numpy(dtype=float) / units.seconds, right)
    bounds = front["lower_bound"].to_numpy(dtype=float) / units.joules
    edges = np.concatenate([[left, least], np.maximum(limits, least)])
    heights = np.concatenate([[top], bounds, bounds[-1:]])
    shade = palette.mixed(palette.BAND, palette.INK, 0.07)
    ax.fill_between(edges, bottom, heights, step="post", color=shade, zorder=0.5, label="proved impossible")
    text = f"certified lower envelope: every {whose} is on it or above"
    from_least = np.maximum(edges, least)
    ax.step(
        from_least, heights, where="post", color=palette.MUTED, linewidth=1.1, linestyle="--", zorder=0.6, label=text
    )


def _draw_points(ax: Axes, front: pd.DataFrame, units: Units) -> None:
    """Draw the schedules of the front, and from each to the right what it makes possible."""
    rows = front[front["on_front"]].sort_values("makespan")
    makespans = rows["makespan"].to_numpy(dtype=float) / units.seconds
    joules = rows["energy"].to_numpy(dtype=float) / units.joules
    proven = (rows["gap"] == 0.0).to_numpy(dtype=bool)
    places = _places(ax, makespans, joules)
    least = float(np.abs(np.diff(places, axis=0)).max(axis=1).min(initial=DOT))
    style = series_style(5) | {
        "marker": "o",
        "markersize": max(SMALLEST_DOT, least),
        "zorder": 3.5,
    }  # on the marks of policies
    reach = np.append(makespans, ax.get_xlim()[1])
    ax.step(reach, np.append(joules, joules[-1:]), where="post", linewidth=1.4, color=style["color"])
    hollow = style | {"markerfacecolor": palette.PAPER}
    ax.plot(makespans[~proven], joules[~proven], linestyle="none", **hollow)
    ax.plot(
        makespans[proven], joules[proven], linestyle="none", **style | PAPER_EDGE
    )  # on top: proved within a smaller limit
    ax.plot([], [], linewidth=1.4, label=_proof(front), **(style if proven.any() else hollow))


def _proof(front: pd.DataFrame) -> str:
    """Return what the key says of the front."""
    points = f"exact Pareto front, {plural(len(front), 'point')}"
    num_strips, num_open = int(front["open_from"].notna().sum()), int((front["gap"] != 0.0).sum())
    if not num_strips:
        return f"{points}, complete"
    strips = plural(num_strips, "unsolved strip")
    if not num_open:
        return f"{points}, all proved; {strips}"
    return f"{points}; {strips}; hollow: {num_open} not proved, gap up to {100.0 * float(front['gap'].max()):.2f} %"


def _draw_policies(ax: Axes, points: list[tuple[tuple[float, float], list[str]]], units: Units) -> None:
    """Draw policies, those at the same point as one mark, and each of marks that overlap larger than those before."""
    x, y = np.array([point for point, _ in points]).reshape(-1, 2).T / [[units.seconds], [units.joules]]
    places = _places(ax, x, y)
    sizes: list[float] = []
    for number, (_, names) in enumerate(points):
        apart = np.abs(places[:number] - places[number]).max(axis=1).tolist()
        taken = {size for size, distance in zip(sizes, apart, strict=True) if distance < size + STEP}
        sizes.append(next(size for n in itertools.count() if (size := MARK + STEP * n) not in taken))
        marker = MARKERS[1 + number % (len(MARKERS) - 1)]  # the first is that of the front
        look = {"marker": marker, "markersize": sizes[-1], "zorder": 3.0 - 0.001 * sizes[-1]} | PAPER_EDGE
        style = series_style(POLICIES[number % len(POLICIES)]) | look
        label = "\n".join(shortened(name, LABEL) for name in names)
        ax.plot(x[number : number + 1], y[number : number + 1], linestyle="none", label=label, **style)


def _places(ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return roughly where points of the axes are on paper, points of length, shape ``(num_points, 2)``."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    return POINTS * np.column_stack([x * (WIDTH / (right - left)), y * (HEIGHT / (top - bottom))])
