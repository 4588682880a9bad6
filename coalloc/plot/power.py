"""Power of a platform over time, as a picture: its parts stacked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from coalloc.documents import palette
from coalloc.documents.arguments import public
from coalloc.documents.storage import write_atomically
from coalloc.documents.text import visible
from coalloc.documents.wording import TimeUnit, amount_text, duration_text, prefix_for, unit_for
from coalloc.instance import CoallocError, Instance
from coalloc.measures.usage import step_means
from coalloc.plot.axes import blank_figure
from coalloc.plot.pictures import DATELESS, picture_format, static_picture
from coalloc.plot.static import KEY, RAW, Writer
from coalloc.power.meter import Idle, PowerCurve, power_curve
from coalloc.power.sites import Working
from coalloc.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (9.0, 3.6)
"""Width and height, inches."""

MOST_STEPS = 600
"""Steps that a picture can show; of longer curves it shows means over as many equal steps, with the same area."""

COLOURS = {
    "idle": palette.RUNNING,
    "static": palette.bar_colour(0),
    "dynamic": palette.bar_colour(1),
    "site": palette.bar_colour(5),
    "chassis": palette.bar_colour(4),
    "board": palette.bar_colour(0),
    "working": palette.bar_colour(1),
    "startup": palette.bar_colour(6),
}
"""Colour of each part."""


@public
def power_plot(
    instance: Instance,
    schedule: Schedule,
    path: str | os.PathLike[str] | None = None,
    *,
    idle: Idle = "always",
    power_management: bool = False,
    working: Working = "total",
) -> Figure:
    """Draw the power of the platform over time as stacked areas; the total area is the energy.

    The areas are idle, static and dynamic power of nodes, or the parts of clusters with power states. A schedule of
    more than 600 steps is drawn as means over equal intervals, whose length the figure states.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule that passes ``coalloc.check``.
    path : str or PathLike or None, default None
        File of the figure: ``.png``, ``.svg`` or ``.pdf``. None: no file.
    idle : {"always", "from-first-use"}, default "always"
        Power of idle nodes, as for ``coalloc.energy``.
    power_management : bool, default False
        Whether clusters with power states are switched on and off, as for ``coalloc.energy``.
    working : {"total", "extra"}, default "total"
        Power of working cores, as for ``coalloc.energy``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; it is not registered with pyplot.

    Raises
    ------
    CoallocError
        The file type is not supported, or ``coalloc.energy`` raises it.

    See Also
    --------
    coalloc.energy : Compute the energy of a schedule.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pcbe-8")
    >>> schedule = coalloc.simulate(instance, "pcbe").schedule
    >>> figure = coalloc.plot.power_plot(instance, schedule)
    >>> len(figure.axes)
    1
    """
    extension = None if path is None else _static_format(path)
    figure = draw(
        power_curve(instance, schedule, idle, power_management=power_management, working=working), instance.name
    )
    if path is not None and extension is not None:
        write_atomically(path, static_picture(figure, extension))
    return figure


def _static_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a static picture that the extension of a path asks for."""
    extension = picture_format(path)
    if extension not in DATELESS:
        supported = ", ".join(f".{name}" for name in DATELESS)
        raise CoallocError(
            f"cannot draw power to {visible(os.fspath(path))!r}: the extension must be one of {supported}"
        )
    return extension


def averaged(curve: PowerCurve, num_steps: int) -> PowerCurve:
    """Return the means of a curve over equal steps of the same span; its integral over each step stays."""
    instants = np.linspace(curve.instants[0], curve.instants[-1], num_steps + 1)
    return PowerCurve(instants, step_means(curve.instants, curve.watts, instants), curve.parts)


def draw(curve: PowerCurve, name: str) -> Figure:
    """Return the picture of a power curve; it belongs to no window and to no global list."""
    figure = blank_figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    shown = averaged(curve, MOST_STEPS) if len(curve.total) > MOST_STEPS else curve
    draw_parts(axes, shown)
    draw_frame(axes, shown)
    title = Writer().text(name, 48)
    axes.set_title(title, loc="left", pad=36, fontsize=13, fontweight="bold", color=palette.INK, **RAW)
    text = summary(curve) + (f"; means over {duration_text(_step(shown))}" if shown is not curve else "")
    axes.annotate(
        text,
        (0.0, 1.0),
        (0.0, 22.0),  # above the key
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=9,
        color=palette.MUTED,
    )
    return figure


def draw_parts(axes: Axes, curve: PowerCurve) -> None:
    """Draw the parts as steps, one upon the other, the first at the bottom; and the key to them."""
    edges = (curve.instants / time_unit(curve).seconds).tolist()
    _, factor = power_prefix(curve)
    below = np.zeros(len(curve.instants) - 1)
    for part, watts in zip(curve.parts, curve.watts / factor, strict=True):
        if len(edges) > 1:
            axes.stairs(below + watts, edges, baseline=below, fill=True, lw=0, color=COLOURS[part], label=part)
        below = below + watts
    if len(edges) > 1:
        axes.legend(loc="lower right", bbox_to_anchor=(1.01, 1.0), ncols=len(curve.parts), **KEY)


def draw_frame(axes: Axes, curve: PowerCurve) -> None:
    """Set the spans of both axes, and name them."""
    unit = time_unit(curve)
    prefix, factor = power_prefix(curve)
    first, last = curve.instants[0] / unit.seconds, curve.instants[-1] / unit.seconds
    axes.set_xlim(first, last if last > first else first + 1.0)
    axes.set_ylim(0.0, 1.05 * float(curve.total.max(initial=0.0)) / factor or 1.0)
    axes.set_xlabel(f"time ({unit.symbol})", fontsize=8, color=palette.MUTED)
    axes.set_ylabel(f"power ({prefix}W)", fontsize=8, color=palette.MUTED)
    axes.tick_params(labelsize=8, labelcolor=palette.INK, color=palette.GRID)
    axes.grid(axis="y", color=palette.GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def time_unit(curve: PowerCurve) -> TimeUnit:
    """Return the unit of the time axis."""
    return unit_for(float(curve.instants[-1] - curve.instants[0]))


def power_prefix(curve: PowerCurve) -> tuple[str, float]:
    """Return the SI prefix of the power axis, and what it stands for."""
    return prefix_for(float(curve.total.max(initial=0.0)))


def summary(curve: PowerCurve) -> str:
    """Return the energy, the makespan and the mean and the highest power in words."""
    span = float(curve.instants[-1] - curve.instants[0])
    if not span:
        return "nothing is drawn"
    mean, peak = amount_text(curve.joules / span, "W"), amount_text(float(curve.total.max()), "W")
    return f"{amount_text(curve.joules, 'J', 6)} in {duration_text(span)}, mean {mean}, peak {peak}"


def _step(curve: PowerCurve) -> float:
    """Return the length of the first step, s."""
    return float(curve.instants[1] - curve.instants[0])
