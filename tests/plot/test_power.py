"""The picture of power over time."""

import itertools

import matplotlib.pyplot
import numpy as np
import pytest
from matplotlib.patches import StepPatch
from matplotlib.text import Text

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.plot.power import averaged
from coalloc.power.meter import PowerCurve
from coalloc.power.nodes import NODE_PARTS
from tests.plot.strange import IDS
from tests.power.test_sites import grid, placed

NODE = NodeGroup(2, 1.0, cores=2, idle_watts=3.0, static_watts=10.0, core_watts=5.0)
INSTANCE = Instance(Platform((Cluster("C1", (NODE,), 0.0),)), (Job("A", 2, 400.0),), name="power")
SCHEDULE = Schedule((Placement("A", 0.0, 400.0, ("C1/0.0", "C1/0.1")),))
"""One node idle, one with two busy cores: 3, 10 and 10 W for 400 s."""


def steps(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]


def test_idle_static_and_dynamic_power_are_stacked():
    figure = coalloc.plot.power_plot(INSTANCE, SCHEDULE)
    assert [(patch.get_label(), *patch.get_data().values) for patch in steps(figure)] == [
        ("idle", 3.0),
        ("static", 13.0),
        ("dynamic", 23.0),
    ]
    np.testing.assert_allclose(steps(figure)[0].get_data().edges, [0.0, 400.0 / 60.0])  # minutes
    assert figure.axes[0].texts[0].get_text() == "9200 J in 6.667 min, mean 23 W, peak 23 W"
    assert matplotlib.pyplot.get_fignums() == []


def test_the_parts_of_a_site_are_stacked():
    # Start-up 30 W for 20 s; then site 50, chassis 5, board 10, a core at work 7 W; at 30 the core idles at 2 W.
    instance, schedule = grid(
        [Job("A", 1, 10.0), Job("B", 1, 5.0)], [placed("A", 20.0, 30.0, [0]), placed("B", 32.0, 37.0, [0])]
    )
    figure = coalloc.plot.power_plot(instance, schedule, power_management=True)
    assert {patch.get_label(): patch.get_data().values.tolist() for patch in steps(figure)} == {
        "site": [0.0, 50.0, 50.0, 50.0],
        "chassis": [0.0, 55.0, 55.0, 55.0],
        "board": [0.0, 65.0, 65.0, 65.0],
        "idle": [0.0, 65.0, 67.0, 65.0],
        "working": [0.0, 72.0, 67.0, 72.0],
        "startup": [30.0, 72.0, 67.0, 72.0],
    }
    colours = {patch.get_facecolor() for patch in steps(figure)}
    assert len(colours) == 6
    assert steps(coalloc.plot.power_plot(instance, schedule))[0].get_data().values.tolist() == [50.0] * 4


def test_title_summary_and_key_are_one_above_the_other():
    # The longest there are: means of a curve with the six parts of a site, and a name that fills the title.
    instance, schedule = grid(
        [Job(f"J{k}", 1, 600.0, arrival=1000.0 * k) for k in range(600)],
        [placed(f"J{k}", 1000.0 * k + 20.0, 1000.0 * k + 620.0, [0]) for k in range(600)],
    )
    figure = coalloc.plot.power_plot(instance.replace(name="week " * 9), schedule, power_management=True)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    summary = axes.texts[0]
    assert "means over" in summary.get_text()
    title = next(text for text in axes.findobj(Text) if text.get_text().startswith("week"))
    boxes = [artist.get_window_extent() for artist in (axes.get_legend(), summary, title)]
    assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))
    assert boxes[-1].y1 <= figure.bbox.y1


def test_as_published_an_unused_node_draws_nothing():
    assert steps(coalloc.plot.power_plot(INSTANCE, SCHEDULE, idle="from-first-use"))[0].get_data().values.tolist() == [
        0.0
    ]


def test_long_curves_are_drawn_as_means_of_the_same_area():
    # One core is busy in every other of 2000 s: 1999 steps of 1 s, so 600 means over 1999/600 s.
    jobs = tuple(Job(f"J{n}", 1, 1.0) for n in range(1000))
    placed = Schedule(Placement(job.id, 2.0 * n, 2.0 * n + 1.0, ("C1/0.0",)) for n, job in enumerate(jobs))
    instance = INSTANCE.replace(jobs=jobs)
    figure = coalloc.plot.power_plot(instance, placed)
    values, edges, _ = steps(figure)[-1].get_data()
    assert len(values) == 600
    assert values @ np.diff(60.0 * edges) == pytest.approx(coalloc.energy(instance, placed).total, rel=1e-9)
    assert figure.axes[0].texts[0].get_text().endswith("mean 12 W, peak 18 W; means over 3.332 s")


def test_means_are_those_of_what_is_drawn():
    # Idle: 3 W for 1 s, then 9 W for 3 s; in two steps of 2 s: (3 + 9)/2 and 9 W.
    curve = PowerCurve(np.array([0.0, 1.0, 4.0]), np.array([[3.0, 9.0], [0.0, 0.0], [4.0, 0.0]]), NODE_PARTS)
    means = averaged(curve, 2)
    assert means.instants.tolist() == [0.0, 2.0, 4.0]
    assert means.watts.tolist() == [[6.0, 9.0], [0.0, 0.0], [2.0, 0.0]]


def test_large_powers_have_a_prefix():
    node = NODE.replace(static_watts=1e4)
    figure = coalloc.plot.power_plot(INSTANCE.replace(platform=Platform((Cluster("C1", (node,), 0.0),))), SCHEDULE)
    assert figure.axes[0].get_ylabel() == "power (kW)"
    assert steps(figure)[-1].get_data().values.tolist() == pytest.approx([10.013])
    assert figure.axes[0].texts[0].get_text() == "4005.2 kJ in 6.667 min, mean 10.01 kW, peak 10.01 kW"


@pytest.mark.parametrize("extension", ["png", "svg", "pdf"])
def test_pictures_are_written(tmp_path, extension):
    path = tmp_path / f"power.{extension}"
    coalloc.plot.power_plot(INSTANCE, SCHEDULE, path)
    first = path.read_bytes()
    coalloc.plot.power_plot(INSTANCE, SCHEDULE, path)
    assert path.read_bytes() == first
    assert len(first) > 1000


@pytest.mark.parametrize("name", ["power.html", "power.txt"])
def test_other_formats_are_refused_before_anything_is_drawn(tmp_path, name):
    with pytest.raises(CoallocError, match=r"the extension must be one of \.png, \.svg, \.pdf"):
        coalloc.plot.power_plot(INSTANCE, SCHEDULE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_no_jobs_draw_nothing():
    figure = coalloc.plot.power_plot(INSTANCE.replace(jobs=()), Schedule(()))
    assert (steps(figure), figure.axes[0].texts[0].get_text()) == ([], "nothing is drawn")


@pytest.mark.parametrize("name", IDS)
def test_names_are_data(tmp_path, name):
    coalloc.plot.power_plot(INSTANCE.replace(name=name), SCHEDULE, tmp_path / "power.svg")
    assert "<script" not in (tmp_path / "power.svg").read_text()
