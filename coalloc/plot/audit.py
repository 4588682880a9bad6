"""The picture of an audit: how much waiting was avoidable, where it comes from, by which policies, and when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coalloc.documents import palette
from coalloc.documents.wording import TimeUnit, between, unit_for
from coalloc.plot.axes import RAW, page_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

UNAVOIDABLE, UNKNOWN, AVOIDABLE = (
    ("#0072B2", "unavoidable (proved)"),
    ("#9CCBE8", "unknown"),
    ("#E69F00", "avoidable (a better schedule is known)"),
)
"""Colours of the parts of a wait, and what they are called. No colour means anything else in the picture."""

BAR = 0.5
WIDE = 20.0
"""Ratio of the longest wait to the usual one from which on their axis is logarithmic."""

MANY = 60
"""Intervals from which on lines are thin."""

NAMES = 1.75
"""Width of the panel of policies, as a multiple of the longest mean wait: beside the points it has their names."""

FAR = 1.5
"""Policies whose waits are so many times as long as those of all with a name are left out of the panel."""

LINE = 0.09
"""Distance of the names of policies, as a share of the height of their panel."""

SMALL = 8.0
"""Size of what stands beside bars, points."""


def draw_audit(
    table: pd.DataFrame,
    sources: Iterable[str],
    epoch: float | None,
    policies: pd.DataFrame,
    utilization: Sequence[Floats] | None = None,
) -> Figure:
    """Draw the rows of an audit, the whole period first, then its intervals; and the policies that were tried.

    ``utilization``, where there is a model of the site: edges of time steps (s from the beginning of the period), and
    the shares of processors in use between them, recorded and simulated.
    """
    whole, windows = table.iloc[0], table.iloc[1:]
    unit = _unit(float(whole["wait_as_it_was"]))
    extra = 0 if utilization is None else 1
    ratios = (1.2, 1.3, 2.4, 2.4, *[1.3] * extra)
    figure = page_figure(9.2 + 1.4 * extra, rows=(1,) * len(ratios), ratios=ratios)
    top, middle, cloud, bottom, *last = figure.axes
    _draw_parts(top, whole, unit)
    _draw_sources(middle, whole, list(sources), unit)
    _draw_policies(cloud, policies, float(whole["wait_bound"]))
    _draw_windows(bottom, windows, epoch)
    if utilization is not None:
        _draw_utilization(last[0], utilization, float(whole["begin"]), epoch)
    # The colours mean the same in the first panel and in that of the intervals, which has all that there are.
    handles, names = bottom.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=4, frameon=False, fontsize=SMALL, columnspacing=1.2)
    return figure


def _unit(seconds: float) -> TimeUnit:
    return unit_for(2.0 * seconds)


def _draw_parts(ax: Axes, whole: Any, unit: TimeUnit) -> None:
    """Draw the mean wait as one bar: what is unavoidable, what is unknown, and what is avoidable."""
    past, bound, best = (float(whole[f"wait_{part}"]) / unit.seconds for part in ("as_it_was", "bound", "best"))
    bound, best = min(bound, past), min(best, past)
    for low, high, (colour, _) in (
        (0.0, bound, UNAVOIDABLE),
        (bound, best, UNKNOWN),
        (best, past, AVOIDABLE),
    ):
        ax.barh(0.0, high - low, left=low, height=BAR, color=colour)
    # Each text is in a line of its own: however near to each other the numbers are, none covers another.
    marks = ((bound, "lower bound", -1.0), (best, "best known schedule", 1.0), (past, "actual schedule", 2.2))
    line_style = {"arrowstyle": "-", "color": palette.INK, "linewidth": 0.8, "shrinkA": 0.0, "shrinkB": 0.0}
    for at, text, line in marks:
        is_early = at < past / 2.0
        ax.annotate(
            f"{text}: {at:.3g} {unit.symbol}",
            (at, math.copysign(BAR / 2.0, line)),
            (0.0, line * 10.0),
            textcoords="offset points",
            ha="left" if is_early else "right",
            va="center",
            fontsize=SMALL,
            color=palette.INK,
            arrowprops=line_style | {"relpos": (0.0 if is_early else 1.0, 0.5)},
        )
    ax.set_yticks([])
    ax.set_ylim(-0.6, 1.05)
    ax.set_xlim(0.0, past * 1.001 or 1.0)
    ax.set_xlabel(f"mean wait in the whole period, {unit.symbol}", fontsize=SMALL)
    ax.set_title("How much waiting was avoidable", loc="left", fontsize=10)
    ax.grid(visible=False)


def _draw_sources(ax: Axes, whole: Any, names: Sequence[str], unit: TimeUnit) -> None:
    """Draw the range of the part of each source of waiting, from its least to its largest possible value."""
    for row, name in enumerate(names):
        low, high = (float(whole[f"{name}_{end}"]) / unit.seconds for end in ("low", "high"))
        ax.plot([low, high], [row, row], color=palette.MUTED, linewidth=2.0, marker="|", markersize=9.0, mew=2.0)
        ax.annotate(
            f"{between(f'{low:.3g}', f'{high:.3g}')} {unit.symbol}",
            (high, row),
            (7.0, 0.0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=palette.INK,
        )
    ax.set_yticks(range(len(names)), names, fontsize=SMALL, **RAW)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    highest = max(float(whole[f"{name}_high"]) for name in names) / unit.seconds or 1.0
    ax.set_xlim(-0.01 * highest, 1.3 * highest)
    ax.set_xlabel(f"mean wait, {unit.symbol}, from the least to the largest possible part", fontsize=SMALL)
    ax.set_title("Where the waiting comes from", loc="left", fontsize=10)


def _draw_policies(ax: Axes, policies: pd.DataFrame, bound: float) -> None:
    """Draw the mean wait and the 99th percentile under each policy, those of the Pareto front with their names.

    Policies that are far worse than all of these are counted and left out.
    """
    is_on_front = policies["front_p99"].to_numpy(dtype=bool)
    is_named, is_now = (policies["kind"].isin(kinds).to_numpy() for kinds in (["named"], ["audited", "model"]))
    has_name = is_on_front | is_named | is_now
    unit = _unit(float(policies.loc[has_name, "wait_mean"].max()))
    means, tails = (policies[column].to_numpy() / unit.seconds for column in ("wait_mean", "wait_p99"))
    longest, highest = FAR * float(means[has_name].max()) or 1.0, FAR * float(tails[has_name].max()) or 1.0
    is_near = (means <= longest) & (tails <= highest)
    ax.scatter(means[is_near], tails[is_near], s=14.0, color=palette.MUTED, linewidths=0.0, zorder=2)
    ax.plot(means[is_on_front], tails[is_on_front], color=palette.INK, linewidth=0.9, marker="o", markersize=4.0)
    for marked, marker, colour in ((is_named, "D", AVOIDABLE[0]), (is_now, "s", palette.INK)):
        ax.scatter(means[marked], tails[marked], s=44.0, marker=marker, color=colour, zorder=4)
    ax.axvline(bound / unit.seconds, color=UNAVOIDABLE[0], linewidth=1.2)
    width = NAMES * float(means[is_near].max()) or 1.0
    _name_points(ax, policies[has_name], np.stack([means, tails], axis=1)[has_name], width)
    ax.set_xlim(0.0, width)
    beyond = f"; beyond the axes: {int((~is_near).sum())}" if not is_near.all() else ""
    ax.set_xlabel(f"mean wait, {unit.symbol}; the line at the left is the lower bound{beyond}", fontsize=SMALL)
    ax.set_ylabel(f"99th percentile, {unit.symbol}", fontsize=SMALL)
    ax.set_title("Policies that know user estimates only, and their Pareto front", loc="left", fontsize=10)


def _name_points(ax: Axes, policies: pd.DataFrame, points: Floats, width: float) -> None:
    """Write the names of policies at the right, each with a line to its point."""
    low, high = ax.get_ylim()
    distance = LINE * (high - low)
    places = spread(points[:, 1].tolist(), distance)
    ax.set_ylim(low, max(high, max(places) + distance / 2.0))
    right = 0.99 * width
    for (_, row), (mean, tail), place in zip(policies.iterrows(), points.tolist(), places, strict=True):
        ax.plot([mean, right], [tail, place], color=palette.GRID, linewidth=0.8, zorder=1.5)
        ax.text(
            right,
            place,
            str(row["policy"]),
            fontsize=SMALL,
            color=palette.INK,
            ha="right",
            va="center",
            fontweight="bold" if row["kind"] == "named" else "normal",
            bbox={"facecolor": palette.PAPER, "edgecolor": "none", "pad": 1.0},
            **RAW,
        )


def spread(heights: Sequence[float], distance: float) -> list[float]:
    """Return heights of lines of text, each as near to its given height as those below leave it room."""
    found = [0.0] * len(heights)
    lowest = -math.inf
    for place in sorted(range(len(heights)), key=lambda place: heights[place]):
        found[place] = lowest = max(heights[place], lowest + distance)
    return found


def _draw_utilization(ax: Axes, utilization: Sequence[Floats], begin: float, epoch: float | None) -> None:
    """Draw the share of processors in use over time, recorded and simulated."""
    edges, recorded, simulated = utilization
    times = [_time(begin + edge, epoch) for edge in edges.tolist()]
    for shares, colour, text in ((recorded, palette.INK, "recorded"), (simulated, AVOIDABLE[0], "simulated")):
        percents = [*(100.0 * shares).tolist(), 100.0 * float(shares[-1])]
        ax.step(times, percents, where="post", color=colour, linewidth=1.0, label=text)
    ax.set_ylim(0.0, 105.0)
    ax.set_ylabel("utilization, %", fontsize=SMALL)
    ax.set_title("The log and the model of the site", loc="left", fontsize=10)
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize=SMALL)
    _show_time(ax, epoch)


def _draw_windows(ax: Axes, windows: pd.DataFrame, epoch: float | None) -> None:
    """Draw the mean wait of each interval, and its parts."""
    unit = _unit(float(windows["wait_as_it_was"].median()) if len(windows) else 0.0)
    times, waits = steps(windows)
    times = [_time(instant, epoch) for instant in times]
    bound, best, past = waits / unit.seconds
    edges = (np.zeros(len(times)), bound, best, np.maximum(best, past))
    for (low, high), (colour, about) in zip(pairwise(edges), (UNAVOIDABLE, UNKNOWN, AVOIDABLE), strict=True):
        ax.fill_between(times, low, high, step="post", color=colour, linewidth=0.0, label=about)
    width = 1.2 if len(windows) < MANY else 0.7
    ax.step(times, past, where="post", color=palette.INK, linewidth=width, label="actual schedule")
    usual = max(1e-9, float(windows["wait_as_it_was"].median()) / unit.seconds)
    if len(windows) and np.nanmax(past) > WIDE * usual:
        ax.set_yscale("symlog", linthresh=usual)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel(f"mean wait, {unit.symbol}", fontsize=SMALL)
    ax.set_title("Interval by interval, given the jobs that run or wait when it begins", loc="left", fontsize=10)
    _show_time(ax, epoch)


def _show_time(ax: Axes, epoch: float | None) -> None:
    """Name the axis of time, with dates where the clock is known."""
    if epoch is None:
        ax.set_xlabel("time, d", fontsize=SMALL)
    else:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        dates: Any = AutoDateLocator, ConciseDateFormatter  # matplotlib does not say of which types they are
        locator = dates[0]()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates[1](locator))


def steps(windows: pd.DataFrame) -> tuple[list[float], NDArray[np.float64]]:
    """Return instants, s, and from each on the bound, the best and the past mean wait, s, shape ``(3, num_instants)``.

    Between two windows that do not touch, and after the last, there is none.
    """
    columns = [windows[f"wait_{part}"].tolist() for part in ("bound", "best", "as_it_was")]
    begins, ends = windows["begin"].tolist(), windows["end"].tolist()
    instants: list[float] = []
    values: list[tuple[float, ...]] = []
    for begin, end, following, waits in zip(begins, ends, [*begins[1:], None], zip(*columns, strict=True), strict=True):
        instants.append(begin)
        values.append(waits)
        if following != end:
            instants += [end]
            values += [waits if following is None else (np.nan,) * 3]
    return instants, np.array(values, dtype=np.float64).reshape(-1, 3).T


def _time(instant: float, epoch: float | None) -> Any:
    """Return an instant for the axis: a date where the clock is known, else days."""
    if epoch is None:
        return instant / 86_400.0
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=epoch + instant)
