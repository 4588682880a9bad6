"""A Gantt chart as SVG, for a notebook: jobs as bars over time, on rows that are processors.

It is made of text alone, so that a schedule shows itself at once and without a library for pictures;
:func:`coalloc.gantt` draws the full one, with the links. Row names are those of processors (``C1/0.3``): what stands
before the last ``/`` is the cluster, and its rows stand together.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from coalloc.display import palette
from coalloc.display.wording import plural, shortened, unit_for

MOST_BARS, MOST_ROWS = 500, 400
"""Larger schedules are not for a chart of this size."""

LEFT, WIDTH, AXIS = 110.0, 720.0, 22.0
"""Pixels: room for the names of the clusters, width of the chart beside it, height of the axis below it."""

ROW_HEIGHTS = (3.0, 20.0)
CHART_HEIGHT = 300.0
"""Pixels: a row is as high as lets the chart keep this height, within these bounds."""

GAP = 4.0
"""Pixels between two clusters."""

LETTER = 6.0
"""Width of a letter, pixels; names that do not fit into their bars are left out, and appear under the pointer."""

MOST_TICKS = 8

SHORTEST = 1e-9
"""Seconds that an axis shows at least: below that instants are equal."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: when (s), and on which rows by name; ``number`` gives its colour, None is grey: it runs already."""

    name: str
    start: float
    end: float
    rows: Sequence[str]
    number: int | None


@dataclass(frozen=True)
class Chart:
    """Where everything is, in pixels."""

    rows: Sequence[str]
    bars: Sequence[Bar]

    @cached_property
    def start(self) -> float:
        """Left end of the axis, s."""
        return min((bar.start for bar in self.bars), default=0.0)

    @cached_property
    def end(self) -> float:
        """Right end of the axis, s."""
        last = max((bar.end for bar in self.bars), default=self.start)
        return last if last > self.start else self.start + 1.0

    @cached_property
    def clusters(self) -> list[tuple[str, list[str]]]:
        """The rows of each cluster, by its name."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, cluster_of)]

    @cached_property
    def row_height(self) -> float:
        """Height of a row."""
        low, high = ROW_HEIGHTS
        return max(low, min(high, CHART_HEIGHT / max(1, len(self.rows))))

    @cached_property
    def tops(self) -> dict[str, float]:
        """Upper edge of each row."""
        place = [(row, c) for c, (_, rows) in enumerate(self.clusters) for row in rows]
        return {row: i * self.row_height + c * GAP for i, (row, c) in enumerate(place)}

    @cached_property
    def height(self) -> float:
        """Height of all rows."""
        return len(self.rows) * self.row_height + max(0, len(self.clusters) - 1) * GAP

    def x(self, seconds: float) -> float:
        """Return where an instant is."""
        return LEFT + WIDTH * (seconds - self.start) / (self.end - self.start)

    @property
    def is_moderate(self) -> bool:
        """Whether there is something to draw, and not too much of it."""
        is_drawable = SHORTEST <= self.end - self.start < math.inf
        return is_drawable and 0 < len(self.bars) <= MOST_BARS and len(self.rows) <= MOST_ROWS


def cluster_of(row: str) -> str:
    """Return the cluster in the name of a processor."""
    return row.rpartition("/")[0]


def in_order(rows: Iterable[str]) -> list[str]:
    """Return the names of processors cluster by cluster, numbers in their order: ``C2/9`` before ``C2/10``."""
    return sorted(set(rows), key=lambda row: (_natural(cluster_of(row)), cluster_of(row), _natural(row)))


def _natural(name: str) -> list[str | int]:
    """Return the texts and the numbers of a name, in turn."""
    return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]{1,18})", name))]


def svg(rows: Sequence[str], bars: Sequence[Bar]) -> str | None:
    """Return the chart of bars on rows, from the top; None where it would be too large, or empty."""
    chart = Chart(rows, bars)
    if not chart.is_moderate:
        return None
    width, height = LEFT + WIDTH + 10.0, chart.height + AXIS
    parts = "".join([*_clusters(chart), *_axis(chart), *_bars(chart)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:.1f}" '
        f'viewBox="0 0 {width:g} {height:.1f}" font-family="sans-serif" font-size="10">'
        f'<rect width="100%" height="100%" fill="{palette.PAPER}"/>{parts}</svg>'
    )


def _clusters(chart: Chart) -> Iterator[str]:
    """Yield a band with its name for each cluster."""
    for name, rows in chart.clusters:
        top = chart.tops[rows[0]]
        height = len(rows) * chart.row_height
        yield _rect((LEFT, top, WIDTH, height), palette.BAND)
        yield _text(LEFT - 6.0, top + height / 2, shortened(name, 16), palette.INK, "end")


def _axis(chart: Chart) -> Iterator[str]:
    """Yield a line with a number for each tick, and the unit."""
    unit = unit_for(chart.end - chart.start)
    for tick in _ticks(chart.start / unit.seconds, chart.end / unit.seconds):
        x = chart.x(tick * unit.seconds)
        yield f'<path d="M{x:.1f} 0V{chart.height:.1f}" stroke="{palette.GRID}"/>'
        yield _text(x, chart.height + AXIS / 2, f"{tick:.6g}", palette.MUTED, "middle")
    yield _text(LEFT - 6.0, chart.height + AXIS / 2, f"time ({unit.symbol})", palette.MUTED, "end")


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from low to high, at most so many."""
    rough = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _bars(chart: Chart) -> Iterator[str]:
    """Yield the rectangles of each job, one for adjacent rows, with its name and what it is under the pointer."""
    for bar in chart.bars:
        colour = palette.bar_colour(bar.number)
        left, width = chart.x(bar.start), max(0.5, chart.x(bar.end) - chart.x(bar.start))
        pieces = list(_pieces(chart, bar.rows))
        shapes = [_rect((left, top, width, height), colour) for top, height in pieces]
        room = max(pieces, key=lambda piece: piece[1], default=(0.0, 0.0))
        name = shortened(bar.name, 24)
        if len(name) * LETTER <= width and room[1] >= 9.0:
            shapes.append(_text(left + width / 2, room[0] + room[1] / 2, name, palette.text_colour(colour), "middle"))
        about = f"{shortened(bar.name, 60)}: {bar.start:.6g} s to {bar.end:.6g} s, {plural(len(bar.rows), 'processor')}"
        yield f"<g><title>{html.escape(about)}</title>{''.join(shapes)}</g>"


def _pieces(chart: Chart, rows: Iterable[str]) -> Iterator[tuple[float, float]]:
    """Yield the upper edge and the height of adjacent rows taken together."""
    tops = sorted(chart.tops[row] for row in set(rows))
    first = 0
    for i in range(1, len(tops) + 1):
        if i == len(tops) or tops[i] - tops[i - 1] > chart.row_height + GAP / 2:
            yield tops[first], tops[i - 1] + chart.row_height - tops[first]
            first = i


def _rect(box: tuple[float, float, float, float], colour: str) -> str:
    """Return a rectangle: left, top, width, height."""
    left, top, width, height = (f"{number:.1f}" for number in box)
    shape = f'x="{left}" y="{top}" width="{width}" height="{height}"'
    return f'<rect {shape} fill="{colour}" stroke="{palette.PAPER}" stroke-width="0.7"/>'


def _text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" dominant-baseline="central">'
        f"{html.escape(text)}</text>"
    )
