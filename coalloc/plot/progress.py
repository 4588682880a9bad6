"""Optimality gap of a solve over time, as a picture: best known schedule and lower bound."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coalloc.documents import palette
from coalloc.documents.arguments import public
from coalloc.documents.text import visible
from coalloc.documents.wording import unit_for
from coalloc.instance import CoallocError
from coalloc.plot.axes import key, label, page_figure, title
from coalloc.plot.pictures import chart_format, write_figure
from coalloc.solvers.result import SolveResult, TracePoint, relative_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.0
"""Inches."""

MARKED = 40
"""Points up to which each is marked."""


@public
def progress_plot(result: SolveResult, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw incumbent and lower bound of a solve over time, with the optimality gap between them.

    Parameters
    ----------
    result : SolveResult
        A result of ``coalloc.solve``.
    path : str or PathLike or None, default None
        File of the figure: ``.png``, ``.svg`` or ``.pdf``. None: no file.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; it is not registered with pyplot.

    Raises
    ------
    CoallocError
        The file type is not supported, or neither a schedule nor a bound was found.

    See Also
    --------
    coalloc.solve : Solve an instance.

    Examples
    --------
    >>> import coalloc
    >>> result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0)
    >>> len(coalloc.plot.progress_plot(result).axes)
    1
    """
    if path is not None:
        chart_format(path)
    if all(point.incumbent is None and point.lower_bound is None for point in result.trace):
        raise CoallocError("result: there is nothing to draw: neither a schedule nor a bound was found")
    figure = page_figure(HEIGHT)
    _draw(figure.axes[0], result)
    if path is not None:
        write_figure(figure, path)
    return figure


def _draw(axes: Axes, result: SolveResult) -> None:
    """Draw both as steps that last until the solve ended."""
    last = result.trace[-1]
    end = max(result.timings.get("total", last.time), last.time)
    points = [*result.trace, TracePoint(end, last.incumbent, last.lower_bound, "")]
    scale, symbol = _scale(points, result.unit)
    times = [point.time for point in points]
    best = [_scaled(point.incumbent, scale) for point in points]
    bound = [_scaled(point.lower_bound, scale) for point in points]
    known = [k for k, point in enumerate(points) if None not in (point.incumbent, point.lower_bound)]
    if known:
        span = slice(known[0], None)
        axes.fill_between(times[span], bound[span], best[span], step="post", color=palette.BAND, linewidth=0)
    marker = "o" if len(points) <= MARKED else ""
    style: dict[str, Any] = {"drawstyle": "steps-post", "markersize": 3.5, "markevery": range(len(points) - 1)}
    axes.plot(times, best, color=palette.bar_colour(6), label="best schedule", marker=marker, **style)
    bound_marker = "s" if marker else ""
    axes.plot(times, bound, color=palette.bar_colour(5), label="bound", marker=bound_marker, linestyle="--", **style)
    axes.set_xlim(0.0, end if end > 0.0 else 1.0)
    name = visible(result.options.objective)
    label(axes, "time (s)", name if symbol in ("", "-") else f"{name} ({visible(symbol)})")
    gap = relative_gap(last.incumbent, last.lower_bound)
    left = "unknown" if gap is None else f"{100 * gap:.2f} %"
    name = "" if result.instance is None else f"{result.instance.name}: "
    title(axes, f"{name}{result.status.value}, gap {left}")
    key(axes)


def _scaled(number: float | None, scale: float) -> float:
    """Return a number in the unit of the axis; what is not known is not drawn."""
    return float("nan") if number is None else number / scale


def _scale(points: Sequence[TracePoint], unit: str) -> tuple[float, str]:
    """Return what numbers are divided by, and the unit that they have then."""
    if unit != "s":
        return 1.0, unit
    shown = unit_for(max(abs(x) for point in points for x in (point.incumbent, point.lower_bound) if x is not None))
    return shown.seconds, shown.symbol
