"""The picture of a solve over time, from traces by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import coalloc
from coalloc import CoallocError
from coalloc.solvers.result import TracePoint

SOLVED = coalloc.solve(coalloc.example("thesis-oas-1"), slot="100%")
TRACE = (TracePoint(0.0, None, 3600.0, "bound"), TracePoint(1.0, 14400.0, 3600.0, "list"))


def test_steps_last_until_the_end_in_a_unit_that_reads_well():
    figure = coalloc.plot.progress_plot(replace(SOLVED, trace=TRACE, timings={"total": 3.0}))
    best, bound = figure.axes[0].lines
    assert [line.get_label() for line in (best, bound)] == ["best schedule", "bound"]
    assert {line.get_drawstyle() for line in (best, bound)} == {"steps-post"}
    np.testing.assert_array_equal(best.get_xydata(), [[0.0, np.nan], [1.0, 4.0], [3.0, 4.0]])
    np.testing.assert_array_equal(bound.get_xydata(), [[0.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    assert figure.axes[0].get_ylabel() == "makespan (h)"
    assert figure.axes[0].get_title(loc="left") == "thesis-oas-1: optimal, gap 75.00 %"


@pytest.mark.parametrize(("unit", "shown"), [("kg", "makespan (kg)"), ("-", "makespan")])
def test_what_is_no_time_is_drawn_in_its_own_unit(unit, shown):
    figure = coalloc.plot.progress_plot(replace(SOLVED, trace=TRACE, timings={"total": 3.0}, unit=unit))
    best, _ = figure.axes[0].lines
    np.testing.assert_array_equal(best.get_ydata()[1:], [14400.0, 14400.0])  # not in hours
    assert figure.axes[0].get_ylabel() == shown


def test_what_cannot_be_drawn(tmp_path):
    with pytest.raises(CoallocError, match=r"^result: there is nothing to draw: neither a schedule nor a bound"):
        coalloc.plot.progress_plot(replace(SOLVED, trace=()))
    with pytest.raises(CoallocError, match=r"the extension must be one of \.png, \.svg, \.pdf$"):
        coalloc.plot.progress_plot(SOLVED, tmp_path / "progress.html")
    coalloc.plot.progress_plot(SOLVED, tmp_path / "progress.svg")
    assert (tmp_path / "progress.svg").stat().st_size > 0


def test_the_legend_covers_no_data():
    # The bound meets the best schedule at the right, in the middle of the height.
    trace = (TracePoint(0.0, None, 1.0, "bound"), TracePoint(1.0, 3.0, 1.0, "list"), TracePoint(9.0, 2.0, 2.0, "tree"))
    figure = coalloc.plot.progress_plot(replace(SOLVED, trace=trace, timings={"total": 10.0}))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,) = figure.axes
    legend = axes.get_legend().get_window_extent(canvas.get_renderer())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["best schedule", "bound"]
    assert not legend.overlaps(axes.bbox)
    assert figure.bbox.x1 >= legend.x1  # and is not cut off
