"""The picture of an audit, for people who decide: what could be saved, where waiting comes from, and when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
WIDE = 20.0
"""How many times as long as usual the longest wait is from which on their axis is logarithmic."""

MANY = 60
"""Windows from which on lines are thin."""

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
    times, waits = steps(windows)
    times = [_time(instant, epoch) for instant in times]
    bound, best, past = waits / unit.seconds
    ax.fill_between(times, 0.0, bound, step="post", color=PROVEN, linewidth=0.0, label="no schedule avoids it")
    ax.fill_between(times, bound, best, step="post", color=OPEN, linewidth=0.0, label="open")
    ax.step(times, past, where="post", color=SAVED, linewidth=1.6 if len(windows) < MANY else 0.9, label="as it was")
    usual = max(1e-9, float(windows["wait_as_it_was"].median()) / unit.seconds)
    if len(windows) and np.nanmax(past) > WIDE * usual:
        ax.set_yscale("symlog", linthresh=usual)
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
