"""The static picture, with matplotlib's object-oriented interface: no pyplot, no global state.

Sizes are laid out in inches by hand, so that 6 nodes and 240 nodes both look as intended. Rectangles
go into few collections, so that ten thousand placements draw in seconds. Text that comes from data is
never parsed as mathematics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from coalloc.documents import palette
from coalloc.documents.wording import duration_text, share_text, shortened
from coalloc.plot.axes import blank_figure
from coalloc.plot.layout import (
    OVERLOADED,
    USER_SHARE,
    Band,
    Bar,
    Layout,
    LinkCurve,
    Piece,
    Presence,
    StoppedPart,
    connectors,
    is_hatched,
    most_loaded,
    numbered_nodes,
    strips_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ONE_ROW = 1.5
"""Height above which a node has several rows, one per core; a row is 1 high, up to rounding."""
MOST_STRIPS = 6
MOST_LABELS = 500
"""Jobs that get labels, and links that get strips (``MOST_STRIPS``): the largest, the most loaded."""

LABEL_SIZES = (5.0, 9.0)
"""Smallest and largest size of a job's label, points; a label that would need less is left out."""

TITLE_LENGTHS = (64, 48, 36, 24, 12)
"""Characters of a long title that are shown: as many as fit beside the key."""

LABEL_LENGTHS = (24, 12)
"""Characters of a long id that are shown; the second where the first do not fit."""

RAW: dict[str, Any] = {"parse_math": False, "usetex": False}
"""For text that comes from data: shown as it is."""

POINTS = 72.0
"""Points per inch."""

MARK = 0.6
"""Inches that the key takes for a mark and the room around it."""

CONNECTOR_INSET = 0.05
"""Inches from the start of a job to the line that joins its pieces; lines of several jobs are at multiples of it."""

MARGIN = 1.012
"""The time axis is that much longer than the schedule."""

ARRIVAL: dict[str, Any] = {"marker": "v", "markersize": 4, "linestyle": "none", "color": palette.MUTED, "mew": 0}
COALLOCATED: dict[str, Any] = {"hatch": "//", "edgecolor": "#22252B33"}
RUNNING: dict[str, Any] = {"hatch": "\\\\\\\\", "edgecolor": "#FFFFFFB0"}
STOPPED: dict[str, Any] = {"hatch": "xxxxx", "edgecolor": "#22252BC0", "facecolor": "#FFFFFF99"}
KEY: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": palette.INK, "handlelength": 1.8}
"""Look of arrivals, co-allocated jobs, running jobs, stopped tasks, and of the key to them."""


SPIKE = 0.5
"""Width of the outline of a link's load, points: a peak too short to be seen would belie the peak that is named."""


@dataclass(frozen=True)
class Sheet:
    """Sizes of the picture, inches; ``names_width`` is the room that the names of the bands take.

    ``given`` are width and height of the chart where somebody else has made its axes.
    """

    layout: Layout
    names_width: float
    given: tuple[float, float] | None = None

    number_width = 0.42
    right = 0.3
    header = 0.86
    footer = 0.5
    strip = 0.42
    strip_gap = 0.13
    strip_title = 0.34

    @cached_property
    def left(self) -> float:
        """Room for the names of the bands and the numbers of the nodes."""
        return 0.15 + self.names_width + self.number_width

    @cached_property
    def chart_width(self) -> float:
        """More jobs get a wider chart, where the size is not given."""
        widths = [5, 8, 40, 200], [5.0, 8.0, 10.0, 14.0]
        return self.given[0] if self.given else float(np.interp(len(self.layout.bars), *widths))

    @cached_property
    def chart_height(self) -> float:
        """Rows get lower as there are more of them, and the chart higher, where the size is not given."""
        return (
            self.given[1]
            if self.given
            else float(np.interp(self.layout.rows, [2, 6, 16, 64, 300], [1.2, 2.2, 4.2, 6.5, 10.5]))
        )

    @cached_property
    def strips(self) -> tuple[LinkCurve, ...]:
        """The links that get a strip: the most loaded ones, in the order of the platform."""
        return most_loaded(self.layout.curves, MOST_STRIPS)

    @cached_property
    def strips_top(self) -> float:
        """Distance of the first strip from the upper edge."""
        return self.header + self.chart_height + self.strip_title

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height of the figure."""
        strips = len(self.strips) * (self.strip + self.strip_gap)
        return self.left + self.chart_width + self.right, self.strips_top + strips + self.footer

    @cached_property
    def row_height(self) -> float:
        """Height of one processor."""
        return self.chart_height / self.layout.rows

    @cached_property
    def time_width(self) -> float:
        """Inches per second."""
        return self.chart_width / ((self.layout.end - self.layout.start) * MARGIN)

    def box(self, top: float, height: float) -> tuple[float, float, float, float]:
        """Return a box over the width of the chart, ``top`` below the upper edge, as shares of the figure."""
        width, total = self.size
        return self.left / width, 1 - (top + height) / total, self.chart_width / width, height / total

    def at(self, left: float, top: float) -> tuple[float, float]:
        """Return the point that far from the upper left corner, as shares of the figure."""
        return left / self.size[0], 1 - top / self.size[1]

    def x(self, seconds: float) -> float:
        """Return an instant in the unit of the time axis."""
        return seconds / self.layout.unit.seconds


class Writer:
    """Measures text, and words it with the characters that the fonts at hand have."""

    def __init__(self) -> None:
        from matplotlib import font_manager

        self._font = font_manager.FontProperties()
        files = {font_manager.findfont(font_manager.FontProperties(family=[f])) for f in self._font.get_family()}
        self._known = {code for file in files for code in font_manager.get_font(file).get_charmap()}

    def text(self, text: str, limit: int) -> str:
        """Return a text from data as it is drawn: escaped, short, without characters that no font has."""
        known = (c if ord(c) in self._known else c.encode("unicode_escape").decode() for c in shortened(text, limit))
        return "".join(known)

    def width(self, text: str, size: float, weight: str = "normal") -> float:
        """Return the width of a text, inches, at a size in points."""
        from matplotlib.textpath import text_to_path

        self._font.set_size(size)
        self._font.set_weight(weight)
        width, _, _ = text_to_path.get_text_width_height_descent(text, self._font, ismath=False)
        return float(width) / POINTS

    def lines(self, band: Band) -> list[str]:
        """Return the lines that stand beside a band where there is room: name, nodes, powers."""
        return [self.text(band.name, 24), *band.detail.split(", ", 1)]


def draw(layout: Layout) -> Figure:
    """Return the picture of a layout; it belongs to no window and to no global list."""
    figure = blank_figure()
    writer = Writer()
    sheet = Sheet(layout, names_width(layout, writer))
    figure.set_size_inches(*sheet.size)
    chart = figure.add_axes(sheet.box(sheet.header, sheet.chart_height))
    draw_chart(chart, sheet, writer)
    finish_time_axis([chart, *draw_strips(figure, chart, sheet, writer)], sheet)
    draw_header(figure, sheet, writer)
    return figure


def draw_within(axes: Axes, layout: Layout) -> None:
    """Draw the chart of a layout, with its title but without the load of links, into axes of somebody else."""
    writer = Writer()
    figure = axes.get_figure(root=True)
    box = axes.get_window_extent()
    size = (box.width / figure.dpi, box.height / figure.dpi) if figure is not None else (1.0, 1.0)
    sheet = Sheet(layout, names_width(layout, writer), size)
    draw_chart(axes, sheet, writer)
    finish_time_axis([axes], sheet)
    axes.set_title(writer.text(layout.title, 64), loc="left", fontsize=11, color=palette.INK, pad=16, **RAW)


def names_width(layout: Layout, writer: Writer) -> float:
    """Return the room that the names of the bands and of the strips take, inches."""
    lines = [(line, 9.0) for band in layout.bands for line in writer.lines(band)]
    lines += [(line, 8.0) for curve in most_loaded(layout.curves, MOST_STRIPS) for line in strip_lines(curve, writer)]
    return max(writer.width(line, size, "bold") for line, size in lines)


def draw_chart(chart: Axes, sheet: Sheet, writer: Writer) -> None:
    """Draw the bars of the jobs on the rows of the processors, and what belongs to them."""
    draw_bands(chart, sheet, writer)
    draw_times(chart, sheet)
    draw_bars(chart, sheet)
    draw_shared_nodes(chart, sheet)
    draw_connectors(chart, sheet)
    draw_labels(chart, sheet, writer)
    draw_makespan(chart, sheet)


def draw_bands(axes: Axes, sheet: Sheet, writer: Writer) -> None:
    """Draw the clusters: a shaded band each, a line between nodes, numbers and names beside them."""
    layout = sheet.layout
    for band in layout.bands:
        axes.axhspan(band.top, band.bottom, color=palette.BAND, linewidth=0, zorder=0)
        draw_band_name(axes, sheet, band, writer.lines(band))
    nodes = [node for band in layout.bands for node in band.nodes]
    if sheet.row_height * min(node.bottom - node.top for node in nodes) > 0.08:
        lines = [node.top for band in layout.bands for node in band.nodes[1:]]
        axes.hlines(lines, 0, 1, transform=axes.get_yaxis_transform(), color=palette.GRID, linewidth=0.8, zorder=0.5)
    numbered = numbered_nodes(layout, 0.11 / sheet.row_height)
    axes.set_yticks([(n.top + n.bottom) / 2 for n in numbered], [str(n.number) for n in numbered])
    axes.tick_params("y", length=0, labelsize=7, labelcolor=palette.MUTED, pad=3)
    axes.set_ylim(layout.rows, 0.0)
    axes.set_facecolor(palette.PAPER)
    axes.spines[:].set_visible(False)


def draw_band_name(axes: Axes, sheet: Sheet, band: Band, lines: Sequence[str]) -> None:
    """Write as many lines beside a band as it has room for, the name in bold."""
    room = (band.bottom - band.top) * sheet.row_height
    size = min(9.0, max(4.0, POINTS * room))
    shown = lines[: max(1, int(room / 0.155))]
    place = axes.get_yaxis_transform()
    for i, line in enumerate(shown):
        below = (i - (len(shown) - 1) / 2) * 0.155 / sheet.row_height
        axes.text(
            -(sheet.number_width + sheet.names_width) / sheet.chart_width,
            (band.top + band.bottom) / 2 + below,
            line,
            transform=place,
            va="center_baseline",
            fontsize=size if i == 0 else 8.0,
            fontweight="bold" if i == 0 else "normal",
            color=palette.INK if i == 0 else palette.MUTED,
            **RAW,
        )


def draw_times(axes: Axes, sheet: Sheet) -> None:
    """Draw the bounds of the slots, or else a grid, and a tick for each arrival."""
    layout = sheet.layout
    slots = layout.slot_lines
    if slots and layout.slot is not None and layout.slot * sheet.time_width * POINTS >= 4:
        instants = [sheet.x(instant) for instant in slots]
        axes.vlines(
            instants, 0, 1, transform=axes.get_xaxis_transform(), color=palette.MUTED, linewidth=0.5, linestyle=":"
        )
    else:
        axes.grid(axis="x", color=palette.GRID, linewidth=0.6)
        axes.set_axisbelow(True)
    if layout.arrivals:
        top = [1.0 + 0.055 / sheet.chart_height] * len(layout.arrivals)
        axes.plot(
            [sheet.x(instant) for instant in layout.arrivals],
            top,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            **ARRIVAL,
        )


def draw_bars(axes: Axes, sheet: Sheet) -> None:
    """Draw all rectangles, one collection per style, and their outlines."""
    from matplotlib.collections import PolyCollection

    for bars, hatch in styles(sheet.layout):
        pieces = [(bar, piece) for bar in bars for piece in bar.pieces]
        corners = [rectangle(sheet, bar, piece) for bar, piece in pieces]
        colours = [palette.bar_colour(bar.number) for bar, _ in pieces]
        axes.add_collection(PolyCollection(corners, facecolor=colours, linewidth=0, zorder=2, **hatch), autolim=False)
        edges = [palette.OVERLOAD if bar.killed else palette.PAPER for bar, _ in pieces]
        width = edge_width(sheet, pieces)
        if width:
            outline = PolyCollection(corners, facecolor="none", edgecolor=edges, linewidth=width, zorder=2.1)
            axes.add_collection(outline, autolim=False)
    several = [b for b in sheet.layout.bands if any(node.bottom - node.top > ONE_ROW for node in b.nodes)]
    lines = [node.top for band in several for node in band.nodes[1:]]
    if lines:  # over the bars, where rows are cores
        axes.hlines(lines, 0, 1, transform=axes.get_yaxis_transform(), color="#22252B40", linewidth=0.7, zorder=2.2)


def draw_shared_nodes(axes: Axes, sheet: Sheet) -> None:
    """Shade the rows of a node while a local user is there, mark him above the bars, and hatch what is stopped."""
    from matplotlib.collections import PolyCollection

    layout = sheet.layout
    nodes = [box(sheet, each, each.top, each.bottom) for each in layout.presences]
    marks = [box(sheet, each, each.top, each.top + USER_SHARE) for each in layout.presences]
    still = [box(sheet, each, each.top, each.bottom) for each in layout.stopped]
    for corners, style in (
        (nodes, {"facecolor": palette.RUNNING, "zorder": 1.0}),
        (marks, {"facecolor": palette.USER, "zorder": 2.3}),
        (still, STOPPED | {"zorder": 2.05}),
    ):
        if corners:
            axes.add_collection(PolyCollection(corners, linewidth=0, **style), autolim=False)


def box(sheet: Sheet, span: Presence | StoppedPart, top: float, bottom: float) -> list[tuple[float, float]]:
    """Return the corners of what lasts for a span of time, between two rows."""
    left, right = sheet.x(span.start), sheet.x(span.end)
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def styles(layout: Layout) -> Iterator[tuple[list[Bar], dict[str, Any]]]:
    """Yield the bars of each style that occurs, with the hatch that marks it."""
    plain = [bar for bar in layout.bars if not bar.given and not bar.is_coallocated]
    coallocated = [bar for bar in layout.bars if not bar.given and bar.is_coallocated]
    running = [bar for bar in layout.bars if bar.given]
    for bars, hatch in ((plain, {}), (coallocated, COALLOCATED), (running, RUNNING)):
        if any(bar.pieces for bar in bars):
            yield bars, hatch if is_hatched(layout) else {}


def rectangle(sheet: Sheet, bar: Bar, piece: Piece) -> list[tuple[float, float]]:
    """Return the corners of a piece of a bar."""
    left, right = sheet.x(bar.start), sheet.x(bar.end)
    return [(left, piece.top), (right, piece.top), (right, piece.bottom), (left, piece.bottom)]


def edge_width(sheet: Sheet, pieces: Sequence[tuple[Bar, Piece]]) -> float:
    """Return the width of outlines, points: thin where pieces are small, none where they would hide them."""
    smaller = [
        min((bar.end - bar.start) * sheet.time_width, (piece.bottom - piece.top) * sheet.row_height)
        for bar, piece in pieces
    ]
    typical = float(np.median(smaller)) * POINTS
    return 0.0 if typical < 1.5 else min(1.0, 0.12 * typical)


def draw_connectors(axes: Axes, sheet: Sheet) -> None:
    """Join the pieces of each job that is co-allocated by a line, which no bar of another job is cut by."""
    from matplotlib.collections import LineCollection

    joined = list(connectors(sheet.layout, CONNECTOR_INSET / sheet.time_width))
    if not joined:
        return
    x = [sheet.x(each.time) for each in joined]
    colours = [palette.mixed(palette.bar_colour(each.bar.number), "#000000", 0.35) for each in joined]
    lines = [[(place, row) for row in part] for place, each in zip(x, joined, strict=True) for part in each.parts]
    of_lines = [colour for colour, each in zip(colours, joined, strict=True) for _ in each.parts]
    style: dict[str, Any] = {"capstyle": "butt", "clip_on": False}
    axes.add_collection(LineCollection(lines, colors=palette.PAPER, linewidths=3.8, zorder=2.4, **style), autolim=False)
    axes.add_collection(LineCollection(lines, colors=of_lines, linewidths=2.0, zorder=2.5, **style), autolim=False)
    rows = [row for each in joined for row in each.ends]
    look: dict[str, Any] = {"s": 15, "edgecolors": palette.PAPER, "linewidths": 0.6, "zorder": 2.6, "clip_on": False}
    axes.scatter(np.repeat(x, 2), rows, c=np.repeat(colours, 2), **look)


def draw_labels(axes: Axes, sheet: Sheet, writer: Writer) -> None:
    """Write each job's id into its roomiest piece on every cluster, as large as fits."""
    from matplotlib.patheffects import withStroke

    for label in labels(sheet, writer):
        colour = palette.bar_colour(label.bar.number)
        axes.text(
            sheet.x((label.bar.start + label.bar.end) / 2),
            (label.piece.top + label.piece.bottom) / 2,
            label.text,
            ha="center",
            va="center",
            rotation=90 if label.upright else 0,
            fontsize=label.size,
            color=palette.text_colour(colour),
            path_effects=[withStroke(linewidth=2, foreground=colour)],
            zorder=3,
            **RAW,
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A job's id in one of its pieces: its size in points, and whether it stands upright."""

    bar: Bar
    piece: Piece
    text: str
    size: float
    upright: bool


def labels(sheet: Sheet, writer: Writer) -> Iterator[Label]:
    """Yield the labels that fit, at most one per job and cluster; of very many jobs only those of the largest."""
    area = sorted(sheet.layout.bars, key=lambda bar: -(bar.end - bar.start) * sum(bar.tasks))
    for bar in area[:MOST_LABELS]:
        texts = dict.fromkeys(writer.text(bar.job.id, limit) for limit in LABEL_LENGTHS)
        for cluster in sorted({piece.cluster for piece in bar.pieces}):
            pieces = [piece for piece in bar.pieces if piece.cluster == cluster]
            for text in texts:
                width = writer.width(text, 10.0) / 10.0
                fits = [Label(bar, piece, text, *label_size(sheet, bar, piece, width)) for piece in pieces]
                best = max(fits, key=lambda label: (label.size, label.piece.bottom - label.piece.top))
                if best.size >= LABEL_SIZES[0]:
                    yield best
                    break


def label_size(sheet: Sheet, bar: Bar, piece: Piece, width: float) -> tuple[float, bool]:
    """Return the size, points, at which a label fits into a piece, and whether it stands upright.

    ``width`` is that of the label, inches per point of size.
    """
    along = (bar.end - bar.start) * sheet.time_width
    across = (piece.bottom - piece.top) * sheet.row_height
    flat = min(LABEL_SIZES[1], (along - 0.08) / width, (across - 0.03) * POINTS / 1.15)
    upright = min(LABEL_SIZES[1], (across - 0.08) / width, (along - 0.03) * POINTS / 1.15)
    return (upright, True) if upright > 1.3 * flat else (flat, False)


def draw_makespan(axes: Axes, sheet: Sheet) -> None:
    """Mark the end of the schedule and write the makespan above it."""
    layout = sheet.layout
    if layout.makespan is None:
        box = {"facecolor": palette.PAPER, "edgecolor": "none"}
        axes.text(0.5, 0.5, "no placements", transform=axes.transAxes, ha="center", va="center", bbox=box)
        return
    axes.axvline(sheet.x(layout.last_end), color=palette.INK, linewidth=1.2, linestyle="--", zorder=2.8)
    late = layout.last_end > (layout.start + layout.end) / 2
    axes.text(
        sheet.x(layout.last_end),
        1.0 + 0.13 / sheet.chart_height,
        f"makespan {duration_text(layout.makespan, layout.given_unit)}",
        transform=axes.get_xaxis_transform(),
        ha="right" if late else "left",
        va="bottom",
        fontsize=9,
        fontweight="bold",
        color=palette.INK,
    )


def draw_strips(figure: Figure, chart: Axes, sheet: Sheet, writer: Writer) -> list[Axes]:
    """Draw the load of each link under the chart, or say that there is none."""
    hidden = sorted((curve.peak for curve in sheet.layout.curves), reverse=True)[MOST_STRIPS:]
    title = strips_title(sheet.layout.curves) if sheet.strips else "No link is loaded."
    if hidden:
        title += f" (the {MOST_STRIPS} most loaded; {len(hidden)} more peak at {share_text(hidden[0])} or less)"
    strips = []
    for i, curve in enumerate(sheet.strips):
        top = sheet.strips_top + i * (sheet.strip + sheet.strip_gap)
        strips.append(figure.add_axes(sheet.box(top, sheet.strip), sharex=chart))
        draw_strip(strips[-1], curve, sheet, writer)
    left, top = sheet.at(sheet.left, sheet.strips_top - (0.07 if strips else -0.35))
    figure.text(left, top, title, fontsize=8, fontweight="bold" if strips else "normal", color=palette.MUTED)
    return strips


def draw_strip(axes: Axes, curve: LinkCurve, sheet: Sheet, writer: Writer) -> None:
    """Draw the load of one link as steps, what is above its capacity in red."""
    from matplotlib.patches import StepPatch

    shares = np.minimum(curve.shares, curve.shown)
    edges = np.array(curve.edges) / sheet.layout.unit.seconds
    axes.add_artist(StepPatch(shares, edges, fill=True, color=palette.LINK, linewidth=SPIKE))
    if curve.peak > OVERLOADED:
        above = np.maximum(shares, 1.0)
        axes.add_artist(StepPatch(above, edges, baseline=1.0, fill=True, color=palette.OVERLOAD, linewidth=SPIKE))
    axes.axhline(1.0, color=palette.OVERLOAD, linewidth=0.9, linestyle="--")
    axes.set_ylim(0.0, curve.shown)
    axes.set_yticks([0.0, 1.0], ["0", "100 %"])
    axes.tick_params("y", length=0, labelsize=7, labelcolor=palette.MUTED, pad=3)
    axes.set_facecolor(palette.BAND)
    axes.spines[:].set_visible(False)
    draw_strip_name(axes, curve, sheet, writer)


def draw_strip_name(axes: Axes, curve: LinkCurve, sheet: Sheet, writer: Writer) -> None:
    """Write the name of a link and its peak beside its strip, the peak in red where it is overload."""
    over = curve.peak > OVERLOADED
    left = -(sheet.number_width + sheet.names_width) / sheet.chart_width
    style: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "fontsize": 8, **RAW}
    name, peak = strip_lines(curve, writer)
    axes.text(left, 0.72, name, color=palette.INK, fontweight="bold", **style)
    axes.text(left, 0.2, peak, color=palette.OVERLOAD if over else palette.MUTED, **style)


def strip_lines(curve: LinkCurve, writer: Writer) -> tuple[str, str]:
    """Return the lines that stand beside a strip: the name of the link, and its peak as a share of its capacity."""
    return writer.text(curve.name, 24), f"peak {share_text(curve.peak)} of {curve.capacity_text}"


def finish_time_axis(axes: Sequence[Axes], sheet: Sheet) -> None:
    """Set the span of time on all axes; only the lowest one carries numbers."""
    from matplotlib.ticker import MaxNLocator

    layout = sheet.layout
    sixty = layout.unit.symbol in ("h", "min") and layout.end - layout.start > 12 * layout.unit.seconds
    steps = [1, 2, 3, 6, 10] if sixty else [1, 2, 5, 10]
    for each in axes:
        each.set_xlim(sheet.x(layout.start), sheet.x(layout.start + MARGIN * (layout.end - layout.start)))
        each.xaxis.set_major_locator(MaxNLocator(nbins=12, steps=steps))
        each.tick_params(
            "x", length=3, labelsize=8, labelcolor=palette.INK, color=palette.GRID, labelbottom=each is axes[-1]
        )
    axes[-1].set_xlabel(f"time ({layout.unit.symbol})", fontsize=8, color=palette.MUTED)


def draw_header(figure: Figure, sheet: Sheet, writer: Writer) -> None:
    """Write what is shown, and the key to the marks that occur."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    layout = sheet.layout
    titles = [writer.text(layout.title, limit) for limit in TITLE_LENGTHS]
    x, y = sheet.at(0.15, 0.14)
    figure.text(x, sheet.at(0, 0.4)[1], layout.summary, va="top", fontsize=9, color=palette.MUTED)
    coallocated = Patch(facecolor=palette.bar_colour(0), linewidth=0, label="co-allocated", **COALLOCATED)
    running = Patch(facecolor=palette.RUNNING, linewidth=0, label=layout.given, **RUNNING)
    killed = Patch(facecolor=palette.PAPER, edgecolor=palette.OVERLOAD, label="killed")
    user = Patch(facecolor=palette.USER, linewidth=0, label="local user")
    stopped = Patch(linewidth=0, label="stopped", **STOPPED)
    arrival = Line2D([], [], label="arrival", **ARRIVAL)
    handles = [
        *([coallocated] if layout.num_coallocated and is_hatched(layout) else []),
        *([running] if layout.given else []),
        *([killed] if any(bar.killed for bar in layout.bars) else []),
        *([user] if layout.presences else []),
        *([stopped] if layout.stopped else []),
        *([arrival] if layout.arrivals else []),
    ]
    if handles:
        right, top = sheet.at(sheet.size[0] - sheet.right + 0.1, 0.06)
        figure.legend(handles=handles, loc="upper right", bbox_to_anchor=(right, top), ncols=len(handles), **KEY)
    room = (
        sheet.size[0] - 0.3 - sum(writer.width(str(handle.get_label()), KEY["fontsize"]) + MARK for handle in handles)
    )
    title = next((text for text in titles if writer.width(text, 13, "bold") <= room), titles[-1])
    figure.text(x, y, title, va="top", fontsize=13, fontweight="bold", color=palette.INK, **RAW)
