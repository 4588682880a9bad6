"""Two figures of a benchmark: what is solved by when, and how far objectives are from the best known.

The second is a performance profile. Source: Dolan and Moré, *Benchmarking optimization software with
performance profiles*, Mathematical Programming 91 (2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.bench.outcomes import Row, has_run, is_solved
from coalloc.bench.summary import best_known, by_label, ratios_to_best
from coalloc.documents import palette
from coalloc.documents.text import shortened, visible
from coalloc.plot.axes import blank_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Curve:
    """A method: its number and label, the points at which it steps up, and how many steps are the whole."""

    number: int
    label: str
    points: list[float]
    whole: int


STYLES = ("-", "--", ":", "-.")
WIDTHS = (3.2, 1.4)
"""Widths of the first and of the last curve, points: where curves coincide, those below show on both sides."""
SPAN, DECADES, STEPS = 8.0, 500.0, (1.0, 2.0, 5.0)
"""An axis whose ends have a ratio below these has too few powers of ten: equal steps, or these between powers."""
LABEL_LENGTH = 48
FASTEST = 1e-3
"""Seconds below which times are not told apart."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
STILL: Any = {"svg.hashsalt": "coalloc", "font.family": "DejaVu Sans"}


def solved_over_time(rows: Sequence[Row]) -> Figure | None:
    """Return how many of its samples each method had solved after how many seconds, None where nothing ran."""
    curves = []
    for number, (label, group) in enumerate(by_label(rows).items()):
        ran = [row for row in group if has_run(row)]
        curves.append(Curve(number, label, [max(FASTEST, row["time"]) for row in ran if is_solved(row)], len(ran)))
    fastest = min((point for curve in curves for point in curve.points), default=FASTEST)
    return _stepped(curves, "Share of samples solved within a time", "time, s", fastest / 2.0)


def distance_from_best(rows: Sequence[Row]) -> Figure | None:
    """Return how many of its samples each method has within a factor of the best objective, None without any."""
    best = best_known(rows)
    curves = []
    for number, (label, group) in enumerate(by_label(rows).items()):
        ran = [row for row in group if has_run(row)]
        if ratios := ratios_to_best(ran, best):
            curves.append(Curve(number, label, ratios, len(ran)))
    return _stepped(curves, "Share of samples within a factor of the best known objective", "objective / best", 1.0)


def _stepped(curves: Sequence[Curve], title: str, name: str, start: float) -> Figure | None:
    """Return a figure with a rising step per curve, over a logarithmic axis that begins at ``start``."""
    if not any(curve.points for curve in curves):
        return None
    height = 2.9 + 0.16 * max(0, len(curves) - 10)
    figure = blank_figure(figsize=(9.0, height))
    axes = figure.add_axes((0.07, 0.55 / height, 0.54, 1.0 - 1.05 / height))
    end = 1.15 * max(point for curve in curves for point in curve.points)
    for curve in curves:
        round_, colour = divmod(curve.number, len(palette.BASE))
        line = STYLES[(round_ + curve.number) % len(STYLES)]
        style: dict[str, Any] = {"color": palette.BASE[colour], "linestyle": line}
        style["linewidth"] = np.interp(curve.number, (0, max(1, len(curves) - 1)), WIDTHS)
        label = shortened(visible(curve.label), LABEL_LENGTH)
        axes.step(*_steps(curve, start, end), where="post", label=label, **style)
    _dress(axes, title, name, (start, end))
    return figure


def _steps(curve: Curve, start: float, end: float) -> tuple[list[float], list[float]]:
    """Return where a curve steps, and the share that it has reached there; it begins with what ``start`` reaches."""
    xs = sorted({start, end, *(point for point in curve.points if point > start)})
    return xs, [sum(point <= x for point in curve.points) / max(1, curve.whole) for x in xs]


def _dress(axes: Axes, title: str, name: str, ends: tuple[float, float]) -> None:
    """Give the axes their look."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_xlim(*ends)
    axes.xaxis.set_minor_formatter(NullFormatter())
    if (span := ends[1] / ends[0]) < DECADES:
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]) if span < SPAN else LogLocator(subs=STEPS))
        axes.xaxis.set_major_formatter(lambda tick, _: f"{tick:.6g}")
        axes.minorticks_off()
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks(SHARES, [f"{100 * share:.0f} %" for share in SHARES])
    axes.set_title(title, loc="left", fontsize=10, color=palette.INK)
    axes.set_xlabel(name, fontsize=9, color=palette.INK)
    axes.tick_params(labelsize=8, colors=palette.MUTED)
    axes.grid(color=palette.GRID, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(palette.GRID)
    key = axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.02), frameon=False, fontsize=8)
    for text in key.get_texts():
        text.set_parse_math(False)


def svg(figure: Figure) -> bytes:
    """Return a figure as an SVG file, the same bytes for the same figure."""
    import matplotlib as mpl

    stream = BytesIO()
    with mpl.rc_context(STILL):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
