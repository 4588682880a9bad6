"""Course of a run, as a picture: queue, processors, links and power, one panel under the other."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.documents import palette
from coalloc.documents.arguments import public
from coalloc.documents.wording import (
    SECOND,
    UNITS,
    TimeUnit,
    duration_text,
    plural,
    prefix_for,
    share_text,
    shortened,
    unit_for,
)
from coalloc.instance import Instance
from coalloc.measures.usage import LOAD, SHARE, Usage, usage_of
from coalloc.plot.axes import RAW, label, page_figure, title
from coalloc.plot.pictures import chart_format, write_figure
from coalloc.power.meter import Idle
from coalloc.schedule import Schedule
from coalloc.schedule.observed import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STEPS = 300
"""Steps that a picture can show; of longer series it shows means and peaks over at most as many equal steps."""

ROUND = (1.0, 2.0, 5.0)
"""First digits of the length of such a step, in a unit of time."""

MOST_LINKS = 4
"""Links that are drawn: those with the highest load at any instant, as a share of their bandwidth."""

PANEL, MARGIN = 1.25, 0.75
"""Height of a panel, and of what is above and below all, inches."""

HIGHEST_SHARE = 3.0
"""Shares of bandwidth above this are cut off at the upper edge."""

MEAN = palette.mixed(palette.BASE[5], palette.INK, 0.1)
PEAK = palette.mixed(MEAN, palette.PAPER, 0.72)
"""Colours of means, which are dark, and of peaks, which are light: different in grey as well."""

LINKS: Sequence[dict[str, Any]] = (
    {"color": MEAN, "linestyle": "-"},
    {"color": palette.BASE[6], "linestyle": (0, (4, 1.5))},
    {"color": palette.BASE[2], "linestyle": (0, (1, 1))},
    {"color": palette.INK, "linestyle": (0, (5, 1.5, 1, 1.5))},
)
"""Colours and dashes of links: colours are not the only difference."""

KEY: dict[str, Any] = {"frameon": False, "fontsize": 7, "labelcolor": palette.INK, "handlelength": 2.4}


@public
def series_plot(
    instance: Instance,
    schedule: Schedule,
    path: str | os.PathLike[str] | None = None,
    *,
    every: float | None = None,
    idle: Idle = "always",
    power_management: bool = False,
) -> Figure:
    """Draw queue length, busy processors, link loads and power over time, one panel each.

    Links are the four with the highest peak.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule that passes ``coalloc.check``.
    path : str or PathLike or None, default None
        File of the figure: ``.png``, ``.svg`` or ``.pdf``. None: no file.
    every : float or None, default None
        Length of the steps, s, each drawn with mean and peak. None: every change, or steps of a round length if there
        are more than 300 changes; the figure states it.
    idle : {"always", "from-first-use"}, default "always"
        Power of idle nodes, as for ``coalloc.energy``.
    power_management : bool, default False
        Whether clusters with power states are switched on and off, as for ``coalloc.energy``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; it is not registered with pyplot.

    Raises
    ------
    CoallocError
        The file type is not supported, or ``coalloc.results.series`` raises it.

    See Also
    --------
    coalloc.results.series : Compute the series as a table.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.generate("lublin", seed=1, jobs=50, nodes=64)
    >>> schedule = coalloc.simulate(instance, "easy").schedule
    >>> len(coalloc.plot.series_plot(instance, schedule, every=3600.0).axes)
    4
    """
    if path is not None:
        chart_format(path)
    figure = draw(usage_of(instance, schedule, idle, power_management), instance, every)
    if path is not None:
        write_figure(figure, path)
    return figure


@dataclass(frozen=True, slots=True)
class Shown:
    """Curves of a panel: means and peaks in the same steps; one and the same where these are those of the schedule."""

    means: Usage
    peaks: Usage

    @property
    def is_exact(self) -> bool:
        """Whether every change is drawn."""
        return self.peaks is self.means

    @property
    def unit(self) -> TimeUnit:
        """Unit of the time axis."""
        return unit_for(self.means.span)

    @property
    def edges(self) -> Floats:
        """Begin and end of the steps, in that unit."""
        return self.means.instants / self.unit.seconds


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its title, and what draws it."""

    title: str
    draw: Callable[[Axes, Shown], None]


def draw(usage: Usage, instance: Instance, every: float | None = None) -> Figure:
    """Return the picture of what was used; it belongs to no window and to no global list."""
    shown = shown_of(usage, every)
    panels = panels_of(usage, instance, "" if shown.is_exact else ", means")
    figure = page_figure(MARGIN + PANEL * len(panels), rows=(1,) * len(panels))
    for ax, panel in zip(figure.axes, panels, strict=True):
        title(ax, panel.title)
        panel.draw(ax, shown)
        _frame(ax, shown)
    for ax in figure.axes[:-1]:
        ax.tick_params(labelbottom=False)
    label(figure.axes[-1], f"time, {shown.unit.symbol}", figure.axes[-1].get_ylabel())
    figure.align_ylabels()
    heading = f"{shortened(instance.name, 48)}{'' if shown.is_exact else ': ' + _steps_text(shown)}"
    figure.suptitle(heading, fontsize=8, color=palette.MUTED, x=0.995, ha="right", **RAW)
    return figure


def shown_of(usage: Usage, every: float | None) -> Shown:
    """Return what is drawn of it: all, or means and peaks over equal steps."""
    if every is None and usage.num_steps <= MOST_STEPS:
        return Shown(usage, usage)
    length = round_length(usage.span / MOST_STEPS) if every is None else every
    return Shown(usage.averaged(length), usage.peaks(length))


def round_length(least: float) -> float:
    """Return the shortest round length of time that is no shorter than ``least``, s: 1, 2, 5, 10, ... of a unit.

    Units are days, and hours, minutes and seconds where these are less than the next.
    """
    units = [SECOND, *reversed(UNITS)]
    for unit, longer in itertools.pairwise(units):
        length = _round_multiple(least, unit.seconds)
        if length < longer.seconds:
            return length
    return _round_multiple(least, units[-1].seconds)


def _round_multiple(least: float, unit: float) -> float:
    """Return the least of 1, 2, 5, 10, ... units, or such a part of one, that is no less than ``least``, s."""
    power = unit * 10.0 ** math.floor(math.log10(least / unit))
    return next(power * digit for digit in (*ROUND, 10.0) if power * digit >= least)


def panels_of(usage: Usage, instance: Instance, what: str) -> list[Panel]:
    """Return the panels: links only where one is loaded, power only where it is known.

    ``what`` is said of panels without peaks.
    """
    capacity = instance.platform.num_processors
    panels = [
        Panel("Waiting jobs", lambda ax, shown: _draw_number(ax, shown, "queue_length", "jobs")),
        Panel("Waiting processors", lambda ax, shown: _draw_number(ax, shown, "waiting_processors", "processors")),
        Panel(f"Busy processors{what}", lambda ax, shown: _draw_busy(ax, shown, capacity)),
    ]
    loaded = loaded_links(usage)
    links = loaded[:MOST_LINKS]
    if links:
        peak = share_text(float(usage.columns[SHARE + links[0]].max()))
        text = f"Links, the {MOST_LINKS} most loaded" if len(loaded) > MOST_LINKS else "Links that are loaded"
        panels.append(Panel(f"{text}{what}; peak {peak}", lambda ax, shown: _draw_links(ax, shown, links)))
    if "power" in usage.columns:
        panels.append(Panel("Power", _draw_power))
    return panels


def loaded_links(usage: Usage) -> list[str]:
    """Return the names of the links that are ever loaded, the most loaded first."""
    peaks = {
        name.removeprefix(LOAD): usage.columns[SHARE + name.removeprefix(LOAD)].max(initial=0.0)
        for name in usage.columns
        if name.startswith(LOAD)
    }
    return sorted((name for name, peak in peaks.items() if peak > 0.0), key=lambda name: -peaks[name])


# ------------------------------------------------------------------------------ panels


def _draw_number(ax: Axes, shown: Shown, name: str, unit: str, factor: float = 1.0) -> None:
    """Draw a column as steps: the mean as a dark line, up to the peak in a light colour."""
    if not shown.means.num_steps:
        return
    means, peaks = shown.means.columns[name] / factor, shown.peaks.columns[name] / factor
    ax.stairs(peaks, shown.edges, fill=True, lw=0, color=PEAK, label=None if shown.is_exact else "peak")
    ax.stairs(means, shown.edges, baseline=None, lw=0.9, color=MEAN, label=None if shown.is_exact else "mean")
    ax.set_ylim(0.0, 1.08 * float(peaks.max()) or 1.0)
    label(ax, y=unit)


def _draw_busy(ax: Axes, shown: Shown, capacity: int) -> None:
    """Draw the busy processors below a line at all that there are; most peaks would be that line."""
    _draw_number(ax, replace(shown, peaks=shown.means), "busy_processors", "processors")
    ax.axhline(capacity, color=palette.INK, lw=0.8, ls="--", label=f"all {plural(capacity, 'processor')}")
    ax.set_ylim(0.0, 1.08 * capacity)


def _draw_links(ax: Axes, shown: Shown, links: Sequence[str]) -> None:
    """Draw the load of links as shares of their bandwidth, below or above a line at 100 %."""
    highest = 1.0
    for name, look in zip(links, LINKS, strict=False):
        shares = np.minimum(shown.means.columns[SHARE + name], 2.0 * HIGHEST_SHARE)
        ax.stairs(100.0 * shares, shown.edges, baseline=None, lw=1.1, label=shortened(name, 16), **look)
        highest = max(highest, float(shares.max()))
    ax.axhline(100.0, color=palette.OVERLOAD, lw=0.8, ls="-")
    ax.set_ylim(0.0, 108.0 * min(highest, HIGHEST_SHARE))
    label(ax, y="% of bandwidth")


def _draw_power(ax: Axes, shown: Shown) -> None:
    """Draw the power of the platform, with an SI prefix."""
    prefix, factor = prefix_for(float(shown.peaks.columns["power"].max(initial=0.0)))
    _draw_number(ax, shown, "power", f"{prefix}W", factor)


def _frame(ax: Axes, shown: Shown) -> None:
    """Set the span of time, and put the key above the panel, at the right."""
    from matplotlib.ticker import MaxNLocator

    first, last = (float(shown.edges[i]) for i in (0, -1))
    ax.set_xlim(first, last if last > first else first + 1.0)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10], integer=True))
    if ax.get_legend_handles_labels()[0]:
        key = ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=5, **KEY)
        for text in key.get_texts():
            text.set_parse_math(False)


def _steps_text(shown: Shown) -> str:
    """Return how long the steps are, in words."""
    return f"mean and peak over steps of {duration_text(float(np.diff(shown.means.instants[:2]).sum()))}"
