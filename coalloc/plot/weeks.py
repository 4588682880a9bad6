"""Weeks that were merged from traces: jobs of each week, and work by day of the month.

Source: Aragón Ayala (2012), figures 5 and 6. A month has 30 days on the clock of the weeks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coalloc.documents import palette
from coalloc.plot.axes import RAW, label, page_figure, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 4.6
"""Of the figure, inches."""

HOUR = 3600.0
"""Seconds."""


def draw_weeks(name: str, jobs: Sequence[int], work_by_day_of_month: Sequence[float]) -> Figure:
    """Draw the number of jobs of each week, and the mean work of each day of the month, in processor s."""
    figure = page_figure(HEIGHT, rows=(1, 1))
    weeks, days = figure.axes
    title(weeks, "Jobs of each week")
    _bars(weeks, jobs, 5)
    label(weeks, "week", "jobs")
    title(days, "Work that arrives, by day of the month (mean)")
    _bars(days, [work / HOUR for work in work_by_day_of_month], 1)
    label(days, "day of a month of 30 days", "processor h")
    figure.suptitle(name, fontsize=8, color=palette.MUTED, x=0.995, ha="right", **RAW)
    return figure


def _bars(ax: Axes, heights: Sequence[float], colour: int) -> None:
    """Draw bars numbered from 1."""
    places = range(1, len(heights) + 1)
    ax.bar(places, heights, color=palette.bar_colour(colour), width=0.8)
    ax.grid(visible=False, axis="x")
    ax.set_xlim(0.3, len(heights) + 0.7)
    ax.set_xticks([place for place in places if place == 1 or place % 5 == 0])
