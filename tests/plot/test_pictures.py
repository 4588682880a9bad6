import subprocess
import sys

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from coalloc.instance import CoallocError
from coalloc.plot.layout import layout_of
from coalloc.plot.pictures import gantt, picture_format
from tests.plot.schedules import list_schedule, random_instance
from tests.plot.strange import strange_instance

INSTANCE = random_instance(2, 8, (4, 4, 4), 9, bandwidth=40.0)
SCHEDULE = list_schedule(INSTANCE, slot=900.0)
BEGINNINGS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-", "html": b"<!doctype html>"}


@pytest.mark.parametrize("extension", BEGINNINGS)
def test_files_have_the_type_of_their_extension_and_repeat_byte_for_byte(extension, tmp_path):
    first, second = tmp_path / f"a.{extension}", tmp_path / f"b.{extension.upper()}"
    figure = gantt(INSTANCE, SCHEDULE, first)
    gantt(INSTANCE, SCHEDULE, second)
    assert isinstance(figure, Figure)
    assert first.read_bytes().startswith(BEGINNINGS[extension])
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [first.name, second.name]


@pytest.mark.parametrize("name", ["plot.jpg", "plot", "plot.svg.gz", "\n.exe", ".png"])
def test_another_extension_is_one_error_that_lists_what_is_supported(name, tmp_path):
    with pytest.raises(CoallocError, match=r"must be one of \.png, \.svg, \.pdf, \.html") as error:
        gantt(INSTANCE, SCHEDULE, tmp_path / name)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_the_format_is_known_before_anything_is_solved():
    assert picture_format("x/y.SVG") == "svg"


def test_no_figure_is_left_open():
    import matplotlib.pyplot as plt

    gantt(INSTANCE, SCHEDULE)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("extension", ["png", "svg", "pdf"])
def test_strange_ids_neither_fail_nor_leave_the_picture(extension, tmp_path):
    instance = strange_instance()
    path = tmp_path / f"strange.{extension}"
    gantt(instance, list_schedule(instance), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert b"<script" not in path.read_bytes()


def test_plotting_libraries_load_only_when_a_picture_is_drawn():
    program = "import coalloc.plot.pictures, sys; print(sorted({'matplotlib', 'plotly'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_chart_is_drawn_into_axes_of_the_users_under_a_title():
    instance = random_instance(2, 3, (4, 4), 6)
    schedule = list_schedule(instance)
    figure = Figure(figsize=(8, 8))
    above, below = figure.subplots(2, 1)
    assert gantt(instance, schedule, ax=below, title="under a policy") is figure
    assert below.get_title(loc="left") == "under a policy"
    bars = [c for c in below.collections if isinstance(c, PolyCollection) and len(c.get_facecolor())]
    assert sum(len(each.get_paths()) for each in bars) == sum(
        len(bar.pieces) for bar in layout_of(instance, schedule).bars
    )
    assert (len(figure.axes), above.collections[:]) == (2, [])
    with pytest.raises(CoallocError, match=r"^ax: the figure that it is in is yours to write: give ax or path$"):
        gantt(instance, schedule, "gantt.png", ax=above)


def test_a_title_stands_where_the_name_does(tmp_path):
    instance = random_instance(2, 3, (4, 4), 6)
    schedule = list_schedule(instance)
    shown = [text.get_text() for text in gantt(instance, schedule, title="under a policy").texts]
    assert "under a policy" in shown
    gantt(instance, schedule, tmp_path / "gantt.html", title="under a policy")
    assert "<title>under a policy</title>" in (tmp_path / "gantt.html").read_text()


def test_all_times_are_in_the_unit_that_is_asked_for(tmp_path):
    instance = random_instance(2, 3, (4, 4), 6)  # some hours
    schedule = list_schedule(instance, slot=900.0)
    makespan = max(placement.end for placement in schedule)
    figure = gantt(instance, schedule, tmp_path / "gantt.html", unit="min")
    chart, below = figure.axes[0], figure.axes[-1]
    assert below.get_xlabel() == "time (min)"
    assert f"makespan {makespan / 60.0:.4g} min" in [text.get_text() for text in chart.texts]
    assert any(text.get_text().endswith("; slot 15 min") for text in figure.texts)
    written = (tmp_path / "gantt.html").read_text()
    assert f"makespan {makespan / 60.0:.4g} min" in written
    assert "slot 15 min" in written
    with pytest.raises(CoallocError, match=r"^unit: "):
        gantt(instance, schedule, unit="week")
