"""The Gantt chart in SVG: where bars are, what they say, and when there is none."""

from xml.etree import ElementTree

import pytest

from coalloc.documents.chart import (
    AXIS,
    GAP,
    LEFT,
    MOST_BARS,
    MOST_ROWS,
    MOST_TICKS,
    ROW_HEIGHTS,
    WIDTH,
    ChartBar,
    in_order,
    svg,
)
from coalloc.documents.palette import BAND, PAPER, RUNNING, bar_colour

SVG = "{http://www.w3.org/2000/svg}"
ROW = ROW_HEIGHTS[1]


def drawn(rows, bars):
    """Return the chart, parsed."""
    return ElementTree.fromstring(svg(rows, bars))


def boxes(chart, colour):
    """Return (left, top, width, height) of the rectangles of a colour."""
    found = [rect for rect in chart.iter(f"{SVG}rect") if rect.get("fill") == colour and rect.get("x")]
    return [tuple(float(rect.get(name)) for name in ("x", "y", "width", "height")) for rect in found]


def texts(chart):
    return [text.text for text in chart.iter(f"{SVG}text")]


def test_a_bar_has_a_rectangle_for_adjacent_rows():
    # From a quarter to the half of 400 s, on the first two rows, on the fourth, and on the other cluster.
    rows = ["C1/0", "C1/1", "C1/2", "C1/3", "C2/0"]
    chart = drawn(
        rows,
        [ChartBar("J1", 0.0, 400.0, ["C1/2"], 0), ChartBar("J2", 100.0, 200.0, ["C2/0", "C1/1", "C1/0", "C1/3"], 1)],
    )
    left, width = LEFT + WIDTH / 4, WIDTH / 4
    assert boxes(chart, bar_colour(1)) == [
        (left, 0.0, width, 2 * ROW),
        (left, 3 * ROW, width, ROW),
        (left, 4 * ROW + GAP, width, ROW),
    ]
    assert boxes(chart, BAND) == [(LEFT, 0.0, WIDTH, 4 * ROW), (LEFT, 4 * ROW + GAP, WIDTH, ROW)]
    assert float(chart.get("height")) == 5 * ROW + GAP + AXIS
    assert [title.text for title in chart.iter(f"{SVG}title")] == [
        "J1: 0 to 6.66667 min, 1 processor",
        "J2: 1.66667 to 3.33333 min, 4 processors",
    ]


def test_a_name_stands_in_a_bar_that_has_room_for_it():
    chart = drawn(["C1/0"], [ChartBar("long", 0.0, 90.0, ["C1/0"], 0), ChartBar("short", 90.0, 90.5, ["C1/0"], 1)])
    assert "long" in texts(chart)
    assert "short" not in texts(chart)


def test_the_axis_has_round_numbers_in_the_unit_of_its_span():
    # Ten days in seconds: 100 d would be too many ticks, so every second day from 0 to 10.
    chart = drawn(["C1/0"], [ChartBar("J", 0.0, 864_000.0, ["C1/0"], 0)])
    assert texts(chart) == ["C1", "0", "2", "4", "6", "8", "10", "time (d)", "J"]


@pytest.mark.parametrize(("start", "end"), [(0.0, 1e-6), (3.7, 3.9), (1.7e9, 1.7e9 + 1e5), (-5.0, 5e12), (0.0, 1e300)])
def test_an_axis_has_some_ticks_and_not_too_many(start, end):
    chart = drawn(["C1/0"], [ChartBar("J", start, end, ["C1/0"], 0)])
    ticks = list(chart.iter(f"{SVG}path"))
    assert 2 <= len(ticks) <= MOST_TICKS + 1
    assert {LEFT <= float(tick.get("d")[1:].split()[0]) <= LEFT + WIDTH for tick in ticks} == {True}


def test_jobs_that_run_already_are_grey():
    assert len(boxes(drawn(["C1/0"], [ChartBar("R", 0.0, 5.0, ["C1/0"], None)]), RUNNING)) == 1


def test_what_cannot_be_drawn_is_left_to_others():
    bar = ChartBar("J", 0.0, 5.0, ["C1/0"], 0)
    assert svg(["C1/0"], []) is None
    assert svg(["C1/0"], [bar] * MOST_BARS) is not None
    assert svg(["C1/0"], [bar] * (MOST_BARS + 1)) is None
    assert svg([f"C1/{i}" for i in range(MOST_ROWS + 1)], [bar]) is None
    assert svg(["C1/0"], [ChartBar("J", -1.7e308, 1.7e308, ["C1/0"], 0)]) is None, "the span is no finite number"
    assert svg(["C1/0"], [ChartBar("J", 1e300, 1e300, ["C1/0"], 0)]) is None, "a second later is the same instant"


def test_a_job_of_no_time_and_one_without_processors_are_drawn_as_they_are():
    chart = drawn(["C1/0"], [ChartBar("J", 3.0, 3.0, ["C1/0"], 0), ChartBar("K", 3.0, 3.0, [], 1)])
    assert len(boxes(chart, bar_colour(0))) == 1
    assert boxes(chart, bar_colour(1)) == []
    assert PAPER in ElementTree.tostring(chart).decode()


def test_processors_are_in_the_order_of_their_numbers():
    names = ["C10/0", "C2/10.1", "C2/9", "C2/10.0", "fast", "C02/1", "C2/1" + 5000 * "0"]
    assert in_order(names) == ["fast", "C02/1", "C2/9", "C2/10.0", "C2/10.1", "C2/1" + 5000 * "0", "C10/0"]
