"""The picture of a comparison: what is written on it stands apart."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from coalloc.plot.comparison import draw_comparison

POLICIES = ("oas (exact)", "fcfs", "easy order=wfp3 candidates=spt allocation=first-fit")


@pytest.mark.parametrize("baseline", POLICIES)
def test_titles_and_labels_of_axes_do_not_overlap(baseline):
    rows = itertools.product(POLICIES, ("one", "two"))
    table = pd.DataFrame([{"policy": policy, "instance": instance, "gap": 0.1} for policy, instance in rows])
    profile = pd.DataFrame(1.0, index=[1.0, 1.5], columns=list(POLICIES))
    others = [policy for policy in POLICIES if policy != baseline]
    differences = pd.DataFrame({"policy": others, "mean": 0.1, "low": 0.0, "high": 0.2})
    figure = draw_comparison(table, profile, differences, baseline)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [text for ax in figure.axes for text in (ax.xaxis.label, ax._left_title) if text.get_text()]
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    assert len(boxes) == 6
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


def test_policies_that_coincide_are_all_visible():
    table = pd.DataFrame([{"policy": policy, "instance": "one", "gap": 0.1} for policy in POLICIES])
    factors = [1.0 + 0.01 * n for n in range(50)]
    profile = pd.DataFrame(1.0, index=factors, columns=list(POLICIES))
    differences = pd.DataFrame({"policy": POLICIES[1:], "mean": 0.1, "low": 0.0, "high": 0.2})
    lines = draw_comparison(table, profile, differences, POLICIES[0]).axes[-1].lines
    assert [line.get_label() for line in lines][:2] == ["oas (exact)", "fcfs"]
    # Later lines are above: each leaves half a point or more at either side of the one below it.
    widths = [line.get_linewidth() for line in lines]
    assert all(below - above >= 1.0 for below, above in itertools.pairwise(widths))
    marked = [frozenset(range(*line.get_markevery()[:1], len(factors), line.get_markevery()[1])) for line in lines]
    assert all(marks and not marks & others for marks, others in itertools.combinations(marked, 2))
