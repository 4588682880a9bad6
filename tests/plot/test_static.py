import itertools
import warnings

import matplotlib
import matplotlib.colors
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from coalloc.documents.palette import OVERLOAD
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.plot.layout import USER_SHARE, layout_of
from coalloc.plot.static import MOST_STRIPS, draw
from coalloc.schedule import Placement, Schedule
from tests.plot.schedules import SHARED, SHARED_SCHEDULE, list_schedule, random_instance
from tests.plot.strange import IDS, strange_instance

JOBS = [
    Job("local", 2, 100.0),
    Job("split", 3, 100.0, task_bandwidth=30.0),
    Job("dead", 1, 100.0, arrival=50.0),
]
CLUSTERS = [Cluster(name, [NodeGroup(3, power=1.0)], link_bandwidth=25.0) for name in ("C1", "C2")]
PLACEMENTS = (
    Placement("local", 0.0, 100.0, ("C1/0", "C1/1")),
    Placement("split", 100.0, 200.0, ("C1/0", "C1/2", "C2/0")),
    Placement("dead", 50.0, 90.0, ("C2/1",), "killed"),
)


def picture(running=(), slot=None):
    return draw(layout_of(Instance(Platform(CLUSTERS), JOBS, running), Schedule(PLACEMENTS, slot)))


def texts(figure):
    return [text.get_text() for text in [*figure.texts, *(t for axes in figure.axes for t in axes.texts)]]


def faces(figure):
    return [c for c in figure.axes[0].collections if isinstance(c, PolyCollection) and len(c.get_facecolor())]


def test_every_piece_is_a_rectangle_of_its_style():
    figure = picture(running=(RunningJob(Job("R", 1, 9.0), ("C2/2",), 30.0),))
    # local and dead are one piece each; split has C1/0, C1/2, C2/0, which do not touch; R runs already.
    assert [(len(c.get_paths()), c.get_hatch()) for c in faces(figure)] == [(2, None), (3, "//"), (1, "\\\\\\\\")]
    local = faces(figure)[0].get_paths()[0].vertices
    assert (local[:, 0].min(), local[:, 0].max()) == (0.0, 100.0 / 60.0)  # the axis is in minutes
    assert (local[:, 1].min(), local[:, 1].max()) == (0.0, 2.0)


def test_labels_stand_in_each_cluster_of_a_job():
    labels = texts(picture())
    assert (labels.count("local"), labels.count("split"), labels.count("dead")) == (1, 2, 1)


def test_pieces_of_a_coallocated_job_are_joined():
    lines = [c for c in picture().axes[0].collections if isinstance(c, LineCollection) and c.get_zorder() == 2.5]
    # Three pieces: two lines, from C1/0 (bottom 1) to C1/2 (top 2) and from its bottom (3) to C2/0 (top 3.4).
    (joined,) = lines
    assert [[y for _, y in segment] for segment in joined.get_segments()] == [[1.0, 2.0], [3.0, 3.4]]


def test_local_users_are_marked_and_stopped_tasks_hatched():
    figure = draw(layout_of(SHARED, SHARED_SCHEDULE))
    boxes = {c.get_zorder(): c.get_paths()[0].vertices for c in faces(figure) if len(c.get_paths()) == 1}
    # The axis is in minutes: the user is at node 0 (rows 0 to 2) from 10 to 20, J1 stopped on row 2 from 50 to 150.
    spans = {z: (*(60.0 * box[[0, 1], 0]), box[0, 1], box[2, 1]) for z, box in boxes.items()}
    assert spans[1.0] == pytest.approx((10.0, 20.0, 0.0, 2.0))
    assert spans[2.3] == pytest.approx((10.0, 20.0, 0.0, USER_SHARE))
    assert spans[2.05] == pytest.approx((50.0, 150.0, 2.0, 3.0))
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["local user", "stopped", "arrival"]


def test_makespan_arrivals_and_key_are_shown():
    figure = picture(running=(RunningJob(Job("R", 1, 9.0), ("C2/2",), 30.0),), slot=50.0)
    assert "makespan 3.333 min" in texts(figure)
    assert "3 jobs (1 co-allocated) and 1 running on 6 nodes in 2 clusters; slot 50 s" in texts(figure)
    (key,) = figure.legends
    assert [t.get_text() for t in key.get_texts()] == ["co-allocated", "running", "killed", "arrival"]


def test_links_above_capacity_are_red_and_named():
    # C1 has two of three tasks: 2 * 30 * 1/2 = 30 MB/s of 25; so has C2 with one: 1 * 30 * 2/2.
    figure = picture()
    assert len(figure.axes) == 3
    assert texts(figure).count("peak 120 % of 25 MB/s") == 2
    strip = figure.axes[1]
    assert any(matplotlib.colors.to_hex(p.get_facecolor()).upper() == OVERLOAD for p in strip.patches + strip.artists)


def test_without_link_load_there_is_a_line_of_text():
    figure = draw(layout_of(Instance(Platform(CLUSTERS), JOBS), Schedule(PLACEMENTS[:1])))
    assert len(figure.axes) == 1
    assert "No link is loaded." in texts(figure)


def test_of_many_links_the_most_loaded_have_strips():
    instance = random_instance(9, 40, (4,) * 20, 20, bandwidth=20.0)
    figure = draw(layout_of(instance, list_schedule(instance)))
    assert len(figure.axes) == 1 + MOST_STRIPS
    assert any("more peak at" in text for text in texts(figure))


def test_the_picture_grows_with_the_platform():
    sizes = []
    for clusters, jobs in (((2, 2, 2), 8), ((24, 16, 16, 8), 60), ((60, 60, 40, 40, 40), 200)):
        instance = random_instance(1, jobs, clusters, sum(clusters) // 4)
        sizes.append(draw(layout_of(instance, list_schedule(instance))).get_size_inches())
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(sizes))
    assert max(sizes[-1]) < 20


def test_labels_stay_inside_their_rectangles():
    instance = random_instance(3, 60, (24, 16, 16, 8), 20)
    figure = draw(layout_of(instance, list_schedule(instance)))
    figure.canvas.draw()
    axes = figure.axes[0]
    boxes = [axes.transData.transform(path.vertices) for c in faces(figure) for path in c.get_paths()]
    ids = {job.id for job in instance.jobs}
    labels = [text.get_window_extent() for text in axes.texts if text.get_text() in ids]
    assert len(labels) > 60
    for label in labels:
        # The extent of a text has two pixels of air above and below.
        corners = np.array([[label.x0, label.y0 + 2], [label.x1, label.y1 - 2]])
        assert any((box.min(axis=0) <= corners[0]).all() and (corners[1] <= box.max(axis=0)).all() for box in boxes)


@pytest.mark.parametrize("style", [{}, {"text.usetex": True}, {"axes.grid": True, "text.color": "white"}])
def test_strange_ids_are_drawn_as_they_are_without_a_warning(style):
    instance = strange_instance()
    with warnings.catch_warnings(), matplotlib.rc_context(style):
        warnings.simplefilter("error")
        figure = draw(layout_of(instance, list_schedule(instance)))
        shown = set(texts(figure))
        if "text.usetex" not in style:
            figure.canvas.draw()
    assert {"$x_$", "[/b]", "../x", "$\\frac{1}$", "[31mred\\nline"} <= shown
    assert not any("\n" in text or len(text) > 100 for text in shown)
    assert not any(character in text for text in shown for character in IDS[-1] if character != " ")


def test_an_empty_schedule_is_drawn():
    assert "no placements" in texts(draw(layout_of(Instance(Platform(CLUSTERS), []), Schedule(()))))


def test_many_placements_take_few_artists():
    instance = random_instance(7, 3000, (60, 60, 40, 40, 40), 24)
    axes = draw(layout_of(instance, list_schedule(instance))).axes[0]
    assert len(axes.collections) <= 6
    assert len(axes.texts) < 2600


def test_lines_between_nodes_lie_on_jobs_only_where_nodes_have_several_cores():
    # With 72 rows the height of a row is 1 only up to rounding.
    clusters = [Cluster(name, [NodeGroup(count, power=1.0)], 125.0) for name, count in (("C1", 32), ("C2", 40))]
    instance = Instance(Platform(clusters), [Job("wide", 40, 100.0)])
    figure = draw(layout_of(instance, list_schedule(instance)))
    assert [c for c in figure.axes[0].collections if isinstance(c, LineCollection) and c.get_zorder() == 2.2] == []


@pytest.mark.parametrize("num_jobs", [3, 25])
def test_the_title_and_the_key_stand_apart(num_jobs):
    instance = random_instance(1, num_jobs, (4, 4), 8, spread=9000.0).replace(
        running=(RunningJob(Job("R", 1, 9.0), ("C2/2",), 30.0),)
    )
    schedule = list_schedule(instance)
    killed = schedule.replace(placements=[placement.replace(outcome="killed") for placement in schedule])
    figure = draw(layout_of(instance, killed, title="the title of a picture that is long " * 3))
    figure.canvas.draw()
    (key,) = figure.legends
    assert len(key.get_texts()) == 4
    texts = [
        text.get_window_extent() for text in figure.texts if text.get_window_extent().y1 > key.get_window_extent().y0
    ]
    assert len(texts) >= 1
    assert not [box for box in texts if box.overlaps(key.get_window_extent())]


def test_only_boundaries_of_nodes_with_several_cores_cross_bars():
    # Rows of C1 are cores, two a node: one boundary is drawn over the bars. A row of C2 is a node.
    clusters = [
        Cluster("C1", [NodeGroup(2, power=1.0, cores=2)], link_bandwidth=1.0),
        Cluster("C2", [NodeGroup(3, power=1.0)], link_bandwidth=1.0),
    ]
    instance = Instance(Platform(clusters), [Job("J", 3, 10.0)])
    layout = layout_of(instance, Schedule((Placement("J", 0.0, 10.0, ("C2/0", "C2/1", "C2/2")),)))
    lines = [c for c in draw(layout).axes[0].collections if isinstance(c, LineCollection) and c.get_zorder() > 2.0]
    heights = [segment[0][1] for c in lines for segment in c.get_segments()]
    assert heights == [layout.bands[0].nodes[1].top]
