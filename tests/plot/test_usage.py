"""The picture of a run over time."""

import matplotlib.pyplot
import numpy as np
import pytest
from matplotlib.patches import StepPatch

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.measures.usage import Usage
from coalloc.plot.usage import MOST_LINKS, MOST_STEPS, loaded_links, panels_of, round_length
from tests.plot.strange import IDS

INSTANCE = Instance(
    Platform((Cluster("C1", (NodeGroup(2, 1.0),), 10.0), Cluster("C2", (NodeGroup(2, 1.0),), 20.0))),
    (Job("A", 2, 400.0, 1.0, 16.0), Job("B", 1, 200.0)),
    name="run",
)
SCHEDULE = Schedule((Placement("A", 0.0, 400.0, ("C1/0", "C2/0")), Placement("B", 200.0, 400.0, ("C1/1",))))
"""B waits for 200 s; A loads both links with 16 MB/s, 160 and 80 % of them."""


def steps(ax):
    return [patch for patch in ax.patches if isinstance(patch, StepPatch)]


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes]


def test_every_panel_shows_its_steps():
    figure = coalloc.plot.series_plot(INSTANCE, SCHEDULE)
    assert titles(figure) == [
        "Waiting jobs",
        "Waiting processors",
        "Busy processors",
        "Links that are loaded; peak 160 %",
    ]
    jobs, processors, busy, links = figure.axes
    for ax, values in ((jobs, [1.0, 0.0]), (processors, [1.0, 0.0]), (busy, [2.0, 3.0])):
        for patch in steps(ax):
            assert patch.get_data().values.tolist() == values
            np.testing.assert_allclose(patch.get_data().edges, [0.0, 200.0 / 60.0, 400.0 / 60.0])  # minutes
    assert [(p.get_label(), *p.get_data().values) for p in steps(links)] == [("C1", 160.0, 160.0), ("C2", 80.0, 80.0)]
    assert [text.get_text() for text in busy.get_legend().get_texts()] == ["all 4 processors"]
    assert links.get_xlabel() == "time, min"
    assert matplotlib.pyplot.get_fignums() == []


def test_power_has_a_panel_where_there_are_watts_and_links_none_where_nothing_loads_them():
    run = coalloc.simulate(coalloc.example("pcbe-8"), "pcbe")
    figure = coalloc.plot.series_plot(run.instance, run.schedule)
    assert titles(figure)[3:] == ["Power"]
    assert figure.axes[-1].get_ylabel() == "W"


def test_many_changes_are_drawn_as_means_and_peaks():
    # One of 4 processors is busy in every other of 2000 s. 2000/300 s is rounded up to 10 s: means of 0.5, peaks of 1.
    jobs = tuple(Job(f"J{n}", 1, 1.0, arrival=2.0 * n) for n in range(1000))
    placed = Schedule(tuple(Placement(job.id, job.arrival, job.arrival + 1.0, ("C1/0",)) for job in jobs))
    figure = coalloc.plot.series_plot(INSTANCE.replace(jobs=jobs), placed)
    assert figure.get_suptitle() == "run: mean and peak over steps of 10 s"
    assert titles(figure)[2] == "Busy processors, means"
    values = steps(figure.axes[2])[0].get_data().values
    assert len(values) == 200 <= MOST_STEPS
    assert values[:-1].tolist() == pytest.approx([0.5] * 199)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["peak", "mean"]


def test_the_length_of_steps_can_be_given():
    figure = coalloc.plot.series_plot(INSTANCE, SCHEDULE, every=100.0)
    assert figure.get_suptitle() == "run: mean and peak over steps of 100 s"
    assert len(steps(figure.axes[0])[0].get_data().values) == 4


@pytest.mark.parametrize(
    ("least", "length"),
    [(0.7, 1.0), (1.0, 1.0), (1.1, 2.0), (4.0, 5.0), (6.0, 10.0), (59.0, 60.0), (61.0, 120.0), (0.03, 0.05),
     (100_000.0, 2 * 86_400.0), (60_000.0, 20 * 3600.0)],
)  # fmt: skip
def test_steps_have_a_round_length(least, length):
    assert round_length(least) == pytest.approx(length)


def test_the_links_with_the_highest_peaks_are_drawn():
    usage = with_links({"a": 0.5, "b": 0.0, "c": 2.0, "d": 0.1, "e": 0.2, "f": 0.3})
    assert loaded_links(usage) == ["c", "a", "f", "e", "d"]
    assert MOST_LINKS == 4
    assert panels_of(usage, INSTANCE, "")[3].title == "Links, the 4 most loaded; peak 200 %"


def test_where_all_loaded_links_are_drawn_none_is_said_to_be_left_out():
    usage = with_links({"a": 0.5, "b": 0.0, "c": 2.0, "e": 0.2, "f": 0.3})
    assert panels_of(usage, INSTANCE, "")[3].title == "Links that are loaded; peak 200 %"


def with_links(peaks):
    """Return two steps in the second of which links have these shares of their bandwidth."""
    columns = {f"{what}:{name}": np.array([0.0, peak]) for name, peak in peaks.items() for what in ("load", "share")}
    return Usage(np.array([0.0, 1.0, 2.0]), columns)


def test_a_loaded_link_of_no_bandwidth_is_cut_off_at_the_upper_edge():
    clusters = tuple(cluster.replace(link_bandwidth=0.0) for cluster in INSTANCE.platform.clusters)
    figure = coalloc.plot.series_plot(INSTANCE.replace(platform=Platform(clusters)), SCHEDULE)
    assert titles(figure)[-1].endswith("peak ∞")
    assert figure.axes[-1].get_ylim()[1] < 400.0


@pytest.mark.parametrize("extension", ["png", "svg", "pdf"])
def test_pictures_are_written_and_repeat(tmp_path, extension):
    path = tmp_path / f"run.{extension}"
    coalloc.plot.series_plot(INSTANCE, SCHEDULE, path)
    first = path.read_bytes()
    coalloc.plot.series_plot(INSTANCE, SCHEDULE, path)
    assert path.read_bytes() == first
    assert len(first) > 1000


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(CoallocError, match=r"the extension must be one of \.png, \.svg, \.pdf"):
        coalloc.plot.series_plot(INSTANCE, SCHEDULE, tmp_path / "run.html")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_schedule_is_drawn(tmp_path):
    coalloc.plot.series_plot(INSTANCE, Schedule(()), tmp_path / "run.png")
    assert (tmp_path / "run.png").exists()


@pytest.mark.parametrize("name", IDS)
def test_names_are_data(tmp_path, name):
    clusters = [c.replace(name=f"{name}{i}") for i, c in enumerate(INSTANCE.platform.clusters)]
    nodes = (clusters[0].name + "/0", clusters[1].name + "/0")
    instance = INSTANCE.replace(name=name, platform=Platform(tuple(clusters)), jobs=INSTANCE.jobs[:1])
    coalloc.plot.series_plot(instance, Schedule((Placement("A", 0.0, 400.0, nodes),)), tmp_path / "run.svg")
    assert "<script" not in (tmp_path / "run.svg").read_text()
