"""Gantt pictures of schedules: what :func:`coalloc.gantt` calls, and how pictures get into files."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

from coalloc.documents.arguments import public
from coalloc.documents.storage import write_atomically
from coalloc.documents.text import visible
from coalloc.documents.wording import UNIT_OF
from coalloc.instance import CoallocError, Instance
from coalloc.plot.layout import Layout, layout_of
from coalloc.schedule import Schedule
from coalloc.system.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATELESS: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""The static formats, and what to leave out of them: the same schedule gives the same file."""

FORMATS = (*DATELESS, "html")
"""File name extensions of pictures."""

RESOLUTION = 150
"""Pixels per inch of PNG files."""


@runtime_checkable
class Drawable(Protocol):
    """Axes of matplotlib, which is not loaded before something is drawn."""

    def get_figure(self, root: bool = ...) -> Any:
        """Return the figure that they are in."""


@public
def gantt(
    instance: Instance,
    schedule: Schedule,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    ax: Drawable | None = None,
    unit: Literal["s", "min", "h", "d"] | None = None,
) -> Figure:
    """Draw a schedule as a Gantt chart, with the load of the links below it.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule, valid or not, whose jobs and processors are those of the instance.
    path : str or PathLike or None, default None
        File of the figure: ``.png``, ``.svg``, ``.pdf``, or ``.html`` for a self-contained interactive page. None: no
        file.
    title : str or None, default None
        Title. None: the name of the instance.
    ax : matplotlib.axes.Axes or None, default None
        Draw into these axes, without link loads. None: a new figure.
    unit : {"s", "min", "h", "d"} or None, default None
        Unit of all times in the figure. None: the largest unit of which the time axis has at least three.

    Returns
    -------
    matplotlib.figure.Figure
        The static figure, or the figure of ``ax``. A new figure is not registered with pyplot.

    Raises
    ------
    CoallocError
        The file type is not supported, the schedule has unknown names, or both ``path`` and ``ax`` are given.

    See Also
    --------
    coalloc.plot.series_plot : Draw queue, utilization, links and power over time.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> schedule = coalloc.solve(instance).schedule
    >>> figure = coalloc.gantt(instance, schedule, title="Three jobs")
    >>> len(figure.axes) > 1
    True
    """
    from coalloc.plot.static import draw, draw_within

    if path is not None:
        picture_format(path)
    layout = layout_of(instance, schedule, title, None if unit is None else UNIT_OF[unit])
    if ax is not None:
        if path is not None:
            raise CoallocError("ax: the figure that it is in is yours to write: give ax or path")
        draw_within(cast("Axes", ax), layout)
        return cast("Figure", ax.get_figure(root=True))
    figure = draw(layout)
    if path is not None:
        write_atomically(path, picture(layout, figure, picture_format(path)))
    return figure


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a chart as ``.png``, ``.svg`` or ``.pdf``; raises :class:`CoallocError` for another extension."""
    write_atomically(path, static_picture(figure, chart_format(path)))


def chart_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the extension of a path asks for, where only static pictures are drawn."""
    return _format_among(tuple(DATELESS), path)


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the extension of a path asks for; :class:`CoallocError` where it cannot be drawn.

    Whoever solves first and draws later calls this before, so that a wrong name, or a missing library, costs no solve.
    """
    return _format_among(FORMATS, path)


def _format_among(formats: Sequence[str], path: str | os.PathLike[str]) -> str:
    extension = Path(path).suffix.lower().removeprefix(".")
    if extension not in formats:
        supported = ", ".join(f".{name}" for name in formats)
        raise CoallocError(f"cannot draw to {visible(os.fspath(path))!r}: the extension must be one of {supported}")
    for library in ("matplotlib", *(["plotly"] if extension == "html" else [])):
        require(library, visible(os.fspath(path)))
    return extension


def picture(layout: Layout, figure: Figure, extension: str) -> bytes:
    """Return the contents of a picture file."""
    if extension == "html":
        from coalloc.plot.interactive import page

        return page(layout).encode()
    return static_picture(figure, extension)


def static_picture(figure: Figure, extension: str) -> bytes:
    """Return a figure as PNG, SVG or PDF; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "coalloc"}):
        figure.savefig(buffer, format=extension, dpi=RESOLUTION, metadata=DATELESS[extension])
    return buffer.getvalue()
