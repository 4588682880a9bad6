"""The picture of an audit, for people who decide: what could be saved, where waiting comes from, and when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.display import palette
from coalloc.display.wording import TimeUnit, unit_for
from coalloc.plot.axes import RAW, page_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PROVEN, OPEN, SAVED = "#0072B2", "#9CCBE8", "#E69F00"
"""Colours of what no schedule avoids, of what nobody knows, and of what a schedule that is held does without."""

BAR = 0.5
SMALL = 8.0
"""Size of what stands beside bars, points."""


def draw_audit(table: pd.DataFrame, sources: Iterable[str], epoch: float | None) -> Figure:
    """Draw the rows of an audit: the whole period first, then its windows."""
    whole, windows = table.iloc[0], table.iloc[1:]
    unit = _unit(float(whole["wait_as_it_was"]))
    figure = page_figure(6.4, rows=(1, 1, 1), ratios=(1.0, 1.4, 2.4))
    top, middle, bottom = figure.axes
    _draw_saved(top, whole, unit)
    _draw_sources(middle, whole, list(sources), unit)
    _draw_windows(bottom, windows, epoch)
    return figure


def _unit(seconds: float) -> TimeUnit:
    return unit_for(2.0 * seconds)


def _draw_saved(ax: Axes, whole: Any, unit: TimeUnit) -> None:
    """Draw the mean wait as one bar: what no schedule avoids, what is open, what could be saved."""
    past, bound, best = (float(whole[f"wait_{part}"]) / unit.seconds for part in ("as_it_was", "bound", "best"))
    best = min(best, past)
    parts = (
        (0.0, min(bound, past), PROVEN, "no schedule avoids it"),
        (min(bound, past), best, OPEN, "open"),
        (best, past, SAVED, "a schedule that we hold does without it"),
    )
    for low, high, colour, about in parts:
        ax.barh(0.0, high - low, left=low, height=BAR, color=colour, label=about)
    marks = ((bound, "proven: at least", -1.0), (best, "best that we hold:", 1.0), (past, "as it was:", -1.0))
    for at, text, place in marks:
        ax.annotate(
            f"{text} {at:.3g} {unit.symbol}",
            (at, place * BAR / 2.0),
            (0.0, place * 8.0),
            textcoords="offset points",
            ha="left" if at < past / 2.0 else "right",
            va="center",
            fontsize=SMALL,
            color=palette.INK,
        )
        ax.plot([at, at], [place * 0.4, 0.0], color=palette.INK, linewidth=0.8)
    ax.set_yticks([])
    ax.set_ylim(-0.75, 0.75)
    ax.set_xlim(0.0, past * 1.001 or 1.0)
    ax.set_xlabel(f"mean wait in the whole period, {unit.symbol}", fontsize=SMALL)
    ax.set_title("What could have been saved", loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=SMALL, ncols=3, loc="upper left", bbox_to_anchor=(0.0, -0.38))
    ax.grid(visible=False)


def _draw_sources(ax: Axes, whole: Any, names: Sequence[str], unit: TimeUnit) -> None:
    """Draw between what the part of each source of waiting lies."""
    for row, name in enumerate(names):
        low, high = (float(whole[f"{name}_{end}"]) / unit.seconds for end in ("low", "high"))
        ax.barh(row, low, height=BAR, color=PROVEN)
        ax.barh(row, high - low, left=low, height=BAR, color=OPEN)
        ax.annotate(
            f"{low:.3g} to {high:.3g} {unit.symbol}",
            (high, row),
            (5.0, 0.0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=palette.INK,
        )
    ax.set_yticks(range(len(names)), names, fontsize=SMALL, **RAW)
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.2 * max(float(whole[f"{name}_high"]) for name in names) / unit.seconds or 1.0)
    ax.set_xlabel(f"mean wait, {unit.symbol}: dark at least, light at most", fontsize=SMALL)
    ax.set_title("Where the waiting comes from", loc="left", fontsize=10)


def _draw_windows(ax: Axes, windows: pd.DataFrame, epoch: float | None) -> None:
    """Draw what each window was, and the band between its bound and its best schedule."""
    unit = _unit(float(windows["wait_as_it_was"].median()) if len(windows) else 0.0)
    edges = [*windows["begin"].tolist(), *windows["end"].tolist()[-1:]]
    times = [_time(edge, epoch) for edge in edges]
    bound, best, past = (
        np.append(column, column[-1:]) / unit.seconds
        for column in (windows[f"wait_{part}"].to_numpy(dtype=float) for part in ("bound", "best", "as_it_was"))
    )
    ax.fill_between(times, 0.0, bound, step="post", color=PROVEN, linewidth=0.0, label="no schedule avoids it")
    ax.fill_between(times, bound, best, step="post", color=OPEN, linewidth=0.0, label="open")
    ax.step(times, past, where="post", color=SAVED, linewidth=1.6, label="as it was")
    if len(past) and past.max() > 20.0 * max(1e-9, float(np.median(past))):
        ax.set_yscale("symlog", linthresh=max(1e-9, float(np.median(past))))
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel(f"mean wait, {unit.symbol}", fontsize=SMALL)
    ax.set_title("Window by window, given what ran and waited at its beginning", loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=SMALL, ncols=3, loc="upper left", bbox_to_anchor=(0.0, -0.1))
    if epoch is None:
        ax.set_xlabel("d", fontsize=SMALL)
    else:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        dates: Any = AutoDateLocator, ConciseDateFormatter  # matplotlib does not say of which types they are
        locator = dates[0]()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates[1](locator))


def _time(instant: float, epoch: float | None) -> Any:
    """Return an instant for the axis: a date where the clock is known, else days."""
    if epoch is None:
        return instant / 86_400.0
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=epoch + instant)
