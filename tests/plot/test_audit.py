"""The picture of an audit: what its windows are drawn from."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.patches import Patch
from matplotlib.text import Text

from coalloc.plot.audit import draw_audit, spread, steps

WINDOWS = pd.DataFrame(
    {
        "begin": [0.0, 10.0, 30.0],
        "end": [10.0, 20.0, 40.0],
        "wait_bound": [1.0, 2.0, 3.0],
        "wait_best": [4.0, 5.0, 6.0],
        "wait_as_it_was": [7.0, 8.0, 900.0],
    }
)
"""No job came from 20 to 30 s."""

POLICIES = pd.DataFrame(
    {
        "policy": ["first", "second", "third", "audited schedule"],
        "kind": ["named", "tried", "tried", "audited"],
        "wait_mean": [60.0, 90.0, 100.0, 240.0],
        "wait_p99": [900.0, 600.0, 700.0, 950.0],
        "front_p99": [True, True, False, False],
    }
)


def test_where_there_is_no_window_nothing_is_drawn():
    instants, waits = steps(WINDOWS)
    assert instants == [0.0, 10.0, 20.0, 30.0, 40.0]
    nothing = np.nan
    assert np.array_equal(
        waits,
        [[1.0, 2.0, nothing, 3.0, 3.0], [4.0, 5.0, nothing, 6.0, 6.0], [7.0, 8.0, nothing, 900.0, 900.0]],
        equal_nan=True,
    )


def table_of(bound, best, past):
    shares = {f"order_{end}": seconds for end, seconds in (("low", 60.0), ("high", 180.0))}
    whole = {"begin": 0.0, "end": 40.0, "wait_bound": bound, "wait_best": best, "wait_as_it_was": past, **shares}
    return pd.concat([pd.DataFrame([whole]), WINDOWS], ignore_index=True)


def test_the_parts_of_the_mean_wait_are_drawn_in_order():
    top, _, _, bottom = draw_audit(table_of(60.0, 120.0, 240.0), ["order"], None, POLICIES).axes
    # In minutes, for three of them make an axis: 0 to 1, to 2, to 4.
    assert [(bar.get_x(), bar.get_width()) for bar in top.patches] == [(0.0, 1.0), (1.0, 1.0), (2.0, 2.0)]
    assert bottom.get_yscale() == "symlog"  # 900 s is above 20 times the usual 8 s


def test_a_source_of_waiting_has_one_number_where_it_is_known():
    table = table_of(60.0, 120.0, 240.0)
    for high, text in ((60.0, "1 min"), (180.0, "1 to 3 min")):
        sources = draw_audit(table.assign(order_high=high), ["order"], None, POLICIES).axes[1]
        assert [found.get_text() for found in sources.texts] == [text]


def test_a_colour_means_one_thing():
    figure = draw_audit(table_of(60.0, 120.0, 240.0), ["order"], None, POLICIES)
    top, middle, _, bottom = figure.axes
    (legend,) = figure.legends
    named = zip(legend.get_texts(), legend.legend_handles, strict=True)
    colours = {text.get_text(): to_hex(patch.get_facecolor()) for text, patch in named if isinstance(patch, Patch)}
    meanings = ["unavoidable (proved)", "unknown", "avoidable (a better schedule is known)"]
    assert [to_hex(bar.get_facecolor()) for bar in top.patches] == [colours[meaning] for meaning in meanings]
    # Of the windows the areas are the same three; 7, 8 and 900 s is what they were, above 4, 5 and 6 s.
    areas = bottom.collections
    assert [to_hex(area.get_facecolor()[0]) for area in areas] == [colours[meaning] for meaning in meanings]
    assert [area.get_datalim(bottom.transData).y1 for area in areas] == pytest.approx([3.0, 6.0, 900.0])
    # The ranges of the sources are none of the three.
    assert middle.patches[:] == []
    assert middle.lines[0].get_xdata().tolist() == [1.0, 3.0]
    assert to_hex(middle.lines[0].get_color()) not in colours.values()


@pytest.mark.parametrize(("bound", "best"), [(239.0, 239.5), (1.0, 2.0), (120.0, 121.0), (1.0, 239.0)])
def test_numbers_that_are_near_each_other_do_not_overlap(bound, best):
    figure = draw_audit(table_of(bound, best, 240.0), ["order"], None, POLICIES)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [Text.get_window_extent(text, canvas.get_renderer()) for text in figure.axes[0].texts]
    assert len(boxes) == 3
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


def test_policies_of_the_front_the_named_one_and_the_audited_schedule_have_their_names():
    cloud = draw_audit(table_of(60.0, 120.0, 240.0), ["order"], None, POLICIES).axes[2]
    assert [text.get_text() for text in cloud.texts] == ["first", "second", "audited schedule"]
    assert [text.get_fontweight() for text in cloud.texts] == ["bold", "normal", "normal"]
    # In minutes; the line of the front has its two points.
    assert cloud.lines[0].get_xydata().tolist() == [[1.0, 15.0], [1.5, 10.0]]
    far = POLICIES.assign(wait_p99=[900.0, 600.0, 9000.0, 950.0])  # of the third, six times as long as any with a name
    cloud = draw_audit(table_of(60.0, 120.0, 240.0), ["order"], None, far).axes[2]
    assert cloud.get_xlabel().endswith("; beyond the axes: 1")
    assert len(cloud.collections[0].get_offsets()) == 3


def test_names_stand_apart():
    assert spread([5.0, 1.0, 1.5, 9.0], 2.0) == [5.0, 1.0, 3.0, 9.0]


def test_recorded_and_simulated_utilization_are_drawn_over_the_period():
    utilization = (np.array([0.0, 20.0, 40.0]), np.array([0.5, 1.0]), np.array([0.25, 0.75]))
    last = draw_audit(table_of(60.0, 120.0, 240.0), ["order"], None, POLICIES, utilization).axes[-1]
    assert [line.get_ydata().tolist() for line in last.lines] == [[50.0, 100.0, 100.0], [25.0, 75.0, 75.0]]
