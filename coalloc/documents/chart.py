"""A Gantt chart as SVG, for a notebook: jobs as bars over time, on rows that are processors.

A template writes it, so that a schedule shows itself at once and without a library for pictures;
:func:`coalloc.gantt` draws the full one, with the links. Row names are those of processors (``C1/0.3``): what stands
before the last ``/`` is the cluster, and its rows stand together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from coalloc.documents import palette
from coalloc.documents.pages import rendered
from coalloc.documents.text import natural_order
from coalloc.documents.wording import TimeUnit, plural, shortened, unit_for

MOST_BARS, MOST_ROWS = 500, 400
"""Larger schedules are not for a chart of this size."""

LEFT, WIDTH, RIGHT, AXIS = 110.0, 720.0, 10.0, 22.0
"""Pixels: room for the names of the clusters, width of the chart, what is left beside it, height of the axis below."""

ROW_HEIGHTS = (3.0, 20.0)
CHART_HEIGHT = 300.0
"""Pixels: a row is as high as lets the chart keep this height, within these bounds."""

GAP = 4.0
"""Pixels between two clusters."""

LETTER, LOWEST = 6.0, 9.0
"""Width and height of a letter, pixels; names that do not fit into their bars appear under the pointer alone."""

THINNEST = 0.5
"""Width of a bar that is too short to be seen, pixels."""

MOST_TICKS = 8

SHORTEST = 1e-9
"""Seconds that an axis shows at least: below that instants are equal."""


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A bar: when (s), and on which rows by name; ``number`` gives its colour, None is grey: it runs already."""

    name: str
    start: float
    end: float
    rows: Sequence[str]
    number: int | None


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in pixels from the upper left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class ChartBand:
    """The rows of a cluster, and its name as it is shown."""

    name: str
    box: Box


@dataclass(frozen=True, slots=True)
class ChartLabel:
    """A text around a point, in pixels."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar as it is drawn: a rectangle for adjacent rows, and what it says under the pointer."""

    boxes: tuple[Box, ...]
    colour: str
    about: str
    label: ChartLabel | None

    @property
    def ink(self) -> str:
        """Colour of the label."""
        return palette.text_colour(self.colour)


@dataclass(frozen=True)
class Chart:
    """Positions of the parts of a chart, in pixels."""

    rows: Sequence[str]
    bars: Sequence[ChartBar]

    @cached_property
    def start(self) -> float:
        """Left end of the axis, s."""
        return min((bar.start for bar in self.bars), default=0.0)

    @cached_property
    def end(self) -> float:
        """Right end of the axis, s."""
        last = max((bar.end for bar in self.bars), default=self.start)
        return last if last > self.start else self.start + 1.0

    @property
    def is_moderate(self) -> bool:
        """Whether there is something to draw, and not too much of it."""
        is_drawable = SHORTEST <= self.end - self.start < math.inf
        return is_drawable and 0 < len(self.bars) <= MOST_BARS and len(self.rows) <= MOST_ROWS

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

    @property
    def bands(self) -> list[ChartBand]:
        """The clusters, from the top."""
        return [
            ChartBand(shortened(name, 16), Box(LEFT, self.tops[rows[0]], WIDTH, len(rows) * self.row_height))
            for name, rows in self.clusters
        ]

    @property
    def unit(self) -> TimeUnit:
        """Unit of the axis."""
        return unit_for(self.end - self.start)

    @property
    def ticks(self) -> list[ChartLabel]:
        """Round numbers on the axis."""
        length = self.unit.seconds
        return [
            ChartLabel(self.x(number * length), self.height, f"{number:.6g}")
            for number in round_numbers(self.start / length, self.end / length)
        ]

    @property
    def marks(self) -> list[Mark]:
        """The bars."""
        return [self.mark(bar) for bar in self.bars]

    def x(self, seconds: float) -> float:
        """Return where an instant is."""
        return LEFT + WIDTH * (seconds - self.start) / (self.end - self.start)

    def mark(self, bar: ChartBar) -> Mark:
        """Return a bar as it is drawn."""
        left, width = self.x(bar.start), max(THINNEST, self.x(bar.end) - self.x(bar.start))
        boxes = tuple(Box(left, top, width, height) for top, height in self.pieces(bar.rows))
        span = f"{bar.start / self.unit.seconds:.6g} to {bar.end / self.unit.seconds:.6g} {self.unit.symbol}"
        about = f"{shortened(bar.name, 60)}: {span}, {plural(len(bar.rows), 'processor')}"
        return Mark(boxes, palette.bar_colour(bar.number), about, label_of(shortened(bar.name, 24), boxes))

    def pieces(self, rows: Iterable[str]) -> Iterator[tuple[float, float]]:
        """Yield the upper edge and the height of adjacent rows taken together."""
        tops = sorted(self.tops[row] for row in set(rows))
        first = 0
        for i in range(1, len(tops) + 1):
            if i == len(tops) or tops[i] - tops[i - 1] > self.row_height + GAP / 2:
                yield tops[first], tops[i - 1] + self.row_height - tops[first]
                first = i


def label_of(name: str, boxes: Sequence[Box]) -> ChartLabel | None:
    """Return where the name of a bar stands: in its highest rectangle, if it fits there."""
    room = max(boxes, key=lambda box: box.height, default=None)
    if room is None or len(name) * LETTER > room.width or room.height < LOWEST:
        return None
    return ChartLabel(room.left + room.width / 2, room.top + room.height / 2, name)


def round_numbers(low: float, high: float) -> list[float]:
    """Return round numbers from low to high, at most so many as an axis has ticks."""
    rough = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def cluster_of(row: str) -> str:
    """Return the cluster in the name of a processor."""
    return row.rpartition("/")[0]


def in_order(rows: Iterable[str]) -> list[str]:
    """Return the names of processors cluster by cluster, numbers in their order: ``C2/9`` before ``C2/10``."""
    return sorted(set(rows), key=lambda row: (natural_order(cluster_of(row)), cluster_of(row), natural_order(row)))


def svg(rows: Sequence[str], bars: Sequence[ChartBar]) -> str | None:
    """Return the chart of bars on rows, from the top; None where it would be too large, or empty."""
    chart = Chart(rows, bars)
    if not chart.is_moderate:
        return None
    return rendered(
        "chart.html",
        chart=chart,
        left=LEFT,
        width=LEFT + WIDTH + RIGHT,
        axis=AXIS,
        ink=palette.INK,
        muted=palette.MUTED,
        paper=palette.PAPER,
        grid=palette.GRID,
        band_colour=palette.BAND,
    )
