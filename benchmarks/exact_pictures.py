"""Pictures of the samples of exact.py: bound and incumbent over time, and the share proved over time by method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap

from exact_report import gap_of, is_proven, slot_text
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from coalloc.bench.outcomes import Row
from coalloc.documents.palette import BAND, BASE, GRID, INK, MUTED
from coalloc.solvers.result import relative_gap

SKY, AMBER, GREEN, PINK, YELLOW, BLUE, *_ = BASE
METHOD_COLOURS = {
    "portfolio": BLUE,
    "portfolio, no CP-SAT": AMBER,
    "PyJobShop": PINK,
    "node model": GREEN,
    "CP-SAT, count model": SKY,
}
SOURCE_COLOURS = tuple(colour for colour in BASE if colour != YELLOW)
"""Colours of dots by who found the news; yellow dots would be hard to see."""
MOST_PANELS = 6
FIRST_SECOND = 0.001
"""Where the axes of time begin, s."""
PANEL_SIZE = 3.7, 2.7
"""Width and height of a panel, inches."""
RESOLUTION = 160
TITLE_WIDTH = 38
"""Characters of a line of the title of a panel."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The samples of one row of the table: name of the work, title, and the gap that the row is to reach, if any."""

    work: str
    title: str
    gap: float | None = None


TracePoints = Sequence[tuple[float, float | None, float | None, str]]


# --- bound and incumbent over time -------------------------------------------------------------------


def hardest(rows: Sequence[Row]) -> list[Row]:
    """Return per work the sample of the portfolio with the largest gap, the longest among equals."""
    by_work: dict[str, Row] = {}
    for row in rows:
        if row["method"] != "portfolio" or not row.get("trace"):
            continue
        best = by_work.get(row["work"])
        if best is None or _hardness(row) > _hardness(best):
            by_work[row["work"]] = row
    return list(by_work.values())[:MOST_PANELS]


def _hardness(row: Row) -> tuple[float, float]:
    return (0.0 if is_proven(row) else gap_of(row)), row["time"]


def draw_progress(rows: Sequence[Row], panels: Sequence[Panel], path: Path) -> Path:
    """Draw bound and incumbent of the hardest sample in each panel, in percent of its best objective."""
    titles = {panel.work: panel.title for panel in panels}
    chosen = hardest([row for row in rows if row["work"] in titles])
    subtitle = "the hardest sample of the portfolio in each row of the table, in percent of its best schedule"
    figure, sheet = _panels(len(chosen), "How the gap closes", subtitle)
    sources = list(dict.fromkeys(point[3] for row in chosen for point in row["trace"]))
    colours = {source: SOURCE_COLOURS[i % len(SOURCE_COLOURS)] for i, source in enumerate(sources)}
    for axes, row in zip(sheet, chosen, strict=True):
        _draw_trace(axes, row, colours)
        _title(axes, titles[row["work"]], _ending(row))
    handles = [
        *(figure.axes[0].plot([], [], color=INK, lw=lw, ls=ls, label=name)[0] for name, lw, ls in LINES),
        *(figure.axes[0].plot([], [], "o", ms=5, color=colour, label=source)[0] for source, colour in colours.items()),
    ]
    _key(figure, handles)
    return _save(figure, path)


def _ending(row: Row) -> str:
    """Return which sample it is and how it ended, in words."""
    how = "proved" if is_proven(row) else f"a gap of {100.0 * gap_of(row):.2g} % is left"
    return f"seed {row['seed']}, {slot_text(row['slot'])}: {how} after {row['time']:.3g} s"


LINES = (("best schedule", 1.6, "-"), ("lower bound", 1.1, (0, (4, 1.5))))
"""Name, width and dashes of the two lines of a panel."""


def _draw_trace(axes: Axes, row: Row, colours: Mapping[str, str]) -> None:
    """Draw the steps of both lines, with a dot in the colour of the source where one moved."""
    best, last = row["objective"], max(row["time"], 10.0 * FIRST_SECOND)
    for column, (_, width, dashes) in zip((1, 2), LINES, strict=True):
        points = list(moves(row["trace"], column))
        times = [max(FIRST_SECOND, t) for t, _, _ in points] + [last]
        shares = [value / best for _, value, _ in points]
        axes.step(times, [*shares, *shares[-1:]], where="post", color=INK, lw=width, ls=dashes)
        dots = [colours[source] for _, _, source in points]
        axes.scatter(times[:-1], shares, s=20, c=dots, zorder=3, edgecolors="white", linewidths=0.5)
    axes.set_xlim(FIRST_SECOND * 0.8, last * 1.25)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))


def moves(trace: TracePoints, column: int) -> Iterator[tuple[float, float, str]]:
    """Yield (time, value, source) of the points of a trace at which the value of a column changes."""
    before = None
    for point in trace:
        value = point[column]
        if value is not None and value != before:
            assert isinstance(value, float | int)
            yield point[0], float(value), point[3]
            before = value


# --- share proved over time --------------------------------------------------------------------------


def draw_solved(rows: Sequence[Row], panels: Sequence[Panel], path: Path) -> Path:
    """Draw for each panel the share of its samples that each method has done with after so many seconds.

    Solid: proved. Dashed: bound and schedule within the gap of the panel.
    """
    panels = [panel for panel in panels if any(row["work"] == panel.work for row in rows)]
    subtitle = "share of all samples of each row of the table"
    figure, sheet = _panels(len(panels), "Share of instances proved over time", subtitle)
    for axes, panel in zip(sheet, panels, strict=True):
        _draw_shares(axes, [row for row in rows if row["work"] == panel.work], panel)
    used = dict.fromkeys(row["method"] for row in rows)
    handles = [
        figure.axes[0].plot([], [], color=METHOD_COLOURS[m], lw=WIDTHS[min(number, 1)], label=m)[0]
        for number, m in enumerate(used)
    ]
    stages = STAGES if any(panel.gap is not None for panel in panels) else ()
    handles += [figure.axes[0].plot([], [], color=MUTED, ls=ls, lw=1.4, label=name)[0] for name, ls in stages]
    _key(figure, handles)
    return _save(figure, path)


STAGES = (("proved", "-"), ("within the gap of the target", (0, (3, 1.2))))
"""Name and dashes of the two lines of a method."""


WIDTHS = (3.6, 1.6)
"""Of the first method and of those that are drawn over it, so that equal curves are both seen."""


def _draw_shares(axes: Axes, rows: Sequence[Row], panel: Panel) -> None:
    limit = max(row["limit"] for row in rows)
    ends: list[Callable[[Row], float]] = [proven_after]
    if panel.gap is not None:
        ends.append(partial(within_gap_after, gap=panel.gap))
    for number, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        its = [row for row in rows if row["method"] == method]
        for end, (_, dashes) in zip(ends, STAGES, strict=False):
            times, shares = share_over_time([end(row) for row in its])
            axes.step(
                [FIRST_SECOND, *(max(FIRST_SECOND, t) for t in times), max(limit, *times, 0.0)],
                [0.0, *shares, *(shares[-1:] or [0.0])],
                where="post",
                color=METHOD_COLOURS[method],
                lw=WIDTHS[min(number, 1)],
                ls=dashes,
                clip_on=False,
            )
    _title(axes, panel.title, "" if panel.gap is None else f"dashed: a gap of at most {100.0 * panel.gap:g} %")
    axes.set_xlim(FIRST_SECOND, limit * 1.1)
    axes.set_ylim(0.0, 1.0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def proven_after(row: Row) -> float:
    """Return the seconds until the proof, infinite without one."""
    return float(row["time"]) if is_proven(row) else math.inf


def within_gap_after(row: Row, gap: float) -> float:
    """Return the seconds until bound and schedule were this close, infinite where they never were."""
    for seconds, incumbent, bound, _ in row.get("trace") or ():
        left = relative_gap(incumbent, bound)
        if left is not None and left <= gap:
            return float(seconds)
    return proven_after(row)


def share_over_time(times: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the finite times, s, in order, and the share of all that is done from each on."""
    done = sorted(t for t in times if math.isfinite(t))
    return done, [(number + 1) / len(times) for number in range(len(done))]


# --- the sheet ---------------------------------------------------------------------------------------


def _panels(count: int, title: str, subtitle: str) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side, each with time in seconds below, logarithmic."""
    columns = min(max(count, 1), 4 if count > MOST_PANELS else 3)
    lines = max(1, math.ceil(count / columns))
    width, height = max(2, columns) * PANEL_SIZE[0], lines * PANEL_SIZE[1] + 1.3
    figure = Figure(figsize=(width, height), facecolor="white")
    grid = figure.add_gridspec(
        lines,
        columns,
        left=0.6 / width,
        right=1.0 - 0.25 / width,
        top=1.0 - 1.1 / height,
        bottom=0.95 / height,
        wspace=0.28,
        hspace=0.55,
    )
    figure.text(0.25 / width, 1.0 - 0.3 / height, title, fontsize=13, color=INK, fontweight="bold", va="center")
    figure.text(0.25 / width, 1.0 - 0.53 / height, subtitle, fontsize=9, color=MUTED, va="center")
    panels = [figure.add_subplot(grid[number // columns, number % columns]) for number in range(max(count, 1))]
    for number, axes in enumerate(panels):
        _style(axes, with_label=number >= count - columns)
    return figure, panels[:count]


def _title(axes: Axes, title: str, detail: str) -> None:
    axes.set_title("\n".join([*wrap(title, TITLE_WIDTH), ""]), loc="left", fontsize=9, color=INK, fontweight="bold")
    axes.text(0.0, 1.03, detail, transform=axes.transAxes, fontsize=8, color=MUTED)


def _style(axes: Axes, with_label: bool) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{t:g}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.set_facecolor(BAND)
    axes.grid(color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, labelsize=8, length=0)
    axes.tick_params(which="minor", length=0)
    axes.tick_params(axis="x", pad=6)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if with_label:
        axes.set_xlabel("seconds", fontsize=8, color=MUTED)


def _key(figure: Figure, handles: Sequence[object]) -> None:
    columns = max(1, min(len(handles), int(figure.get_figwidth() / 1.9)))
    figure.legend(
        handles=handles, loc="lower center", ncols=columns, frameon=False, fontsize=8, labelcolor=INK, handlelength=1.8
    )


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=RESOLUTION)
    return path
