import html
import itertools
import json
import re

import plotly.graph_objects as go
import pytest

from coalloc.instance import Instance, Job, RunningJob
from coalloc.plot.interactive import NO_JOB, caption, draw, hover_text, page
from coalloc.plot.layout import Layout, layout_of
from coalloc.plot.pictures import gantt
from coalloc.schedule import Placement, Schedule
from tests.browser import Visit, visit
from tests.plot.schedules import SHARED, SHARED_SCHEDULE, list_schedule, random_instance
from tests.plot.strange import strange_instance


def strange() -> tuple[Instance, Schedule]:
    instance = strange_instance()
    run = RunningJob(Job("R", 1, 9.0), (instance.platform.processor_names[0],), 300.0)
    instance = instance.replace(running=(run,))
    return instance, list_schedule(instance)


def num_pieces(layout: Layout) -> int:
    return sum(len(bar.pieces) for bar in layout.bars)


@pytest.mark.parametrize("jobs", [0, 8, 60])
def test_plotly_accepts_the_picture_and_it_has_every_piece(jobs):
    instance = random_instance(2, jobs, (4, 4, 4), 9, bandwidth=40.0, spread=5000.0)
    layout = layout_of(instance, list_schedule(instance, slot=900.0))
    figure = go.Figure(draw(layout))  # raises ValueError for what plotly does not know
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert sum(len(trace.x) for trace in bars) == num_pieces(layout)
    for trace in bars:
        for job, base, length in zip(trace.customdata, trace.base, trace.x, strict=True):
            bar = layout.bars[job]
            assert base * layout.unit.seconds == pytest.approx(bar.start)
            assert length * layout.unit.seconds == pytest.approx(bar.end - bar.start)


def test_hover_tells_times_allocation_and_nodes():
    instance = random_instance(1, 1, (3, 3), 1)
    job = Job("J", 3, 100.0, arrival=10.0)
    nodes = ("C1/0", "C1/1", "C2/2")
    layout = layout_of(instance.replace(jobs=(job,)), Schedule((Placement("J", 30.0, 155.0, nodes),)))
    assert hover_text(layout, layout.bars[0]).split("<br>") == [
        "<b>J</b>",
        "start 30 s, end 155 s",
        "duration 125 s, wait 20 s",
        "execution slowdown 0.25 ((duration - reference run time) / reference run time)",
        "3 tasks: 2 on C1, 1 on C2",
        "nodes C1/0 to C1/1, C2/2",
    ]


def test_ids_are_escaped_for_plotly():
    layout = layout_of(*strange())
    text = [hover_text(layout, bar) for bar in layout.bars]
    assert text[1].startswith("<b>&lt;script&gt;document.title")
    assert text[11].startswith("<b>a&amp;lt;b&lt;b&gt;c&lt;/b&gt;</b>")
    allowed = re.compile(r"</?b>|<br>")
    assert all("<" not in allowed.sub("", each) and "\n" not in each for each in text)


def test_the_page_repeats_byte_for_byte_and_names_no_host_to_load_from():
    layout = layout_of(*strange())
    assert page(layout) == page(layout)
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="(?!data:)', page(layout))
    assert len(page(layout)) < 2_500_000


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Layout, Visit]:
    directory = tmp_path_factory.mktemp("browser")
    instance, schedule = strange()
    gantt(instance, schedule, directory / "gantt.html")
    return layout_of(instance, schedule), visit(directory / "gantt.html", directory)


def test_the_browser_draws_every_piece(visited):
    layout, seen = visited
    assert seen.dom.count('<g class="point">') == num_pieces(layout)
    assert "makespan" in seen.dom
    assert "Link load, share of capacity" in seen.dom


def test_the_browser_logs_nothing_and_asks_nobody(visited):
    _, seen = visited
    assert seen.console == []
    assert seen.requests == []


def test_the_browser_runs_no_script_from_an_id(visited):
    _, seen = visited
    assert "<title>&lt;/title&gt;&lt;script&gt;$wl_1$</title>" in seen.dom
    assert "&lt;script&gt;docum" in seen.dom
    assert "$x_$" in seen.dom
    assert "MathJax" not in seen.dom.rsplit("</script>", 1)[1]


def test_a_page_that_fails_and_asks_would_be_noticed(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://example.invalid/x.png"><script>console.error("boom")</script>')
    seen = visit(bad, tmp_path)
    assert any("boom" in line for line in seen.console)
    assert seen.requests == ["http://example.invalid/x.png"]


def test_pointing_at_a_job_fades_all_others(tmp_path):
    instance, schedule = strange()
    layout = layout_of(instance, schedule)
    hover = "document.getElementById('gantt').emit('plotly_hover', {points: [{customdata: 5}]})"
    point = f"<script>drawn.then(() => {hover})</script>"
    path = tmp_path / "hover.html"
    path.write_text(page(layout).replace("</body>", f"{point}</body>"))
    seen = visit(path, tmp_path)
    faded = seen.dom.count('class="point" style="opacity: 0.25')
    assert faded == num_pieces(layout) - len(layout.bars[5].pieces)


MEASURE = """
<style>body { width: 390px }</style><script>drawn.then(() => {
  const shown = [...document.querySelectorAll('h1, p, .modebar, .annotation-text')];
  const boxes = shown.map(each => [each.textContent, each.getBoundingClientRect()]);
  const sides = boxes.map(([text, box]) => [text, box.left, box.top, box.right, box.bottom]);
  document.body.append(Object.assign(document.createElement('pre'), {textContent: JSON.stringify(sides)}));
})</script></body>"""
"""A script that leaves where texts and the toolbar are on a page that is as narrow as a phone."""


def test_texts_stand_apart_on_a_phone(tmp_path):
    instance = random_instance(0, 8, (4, 4, 4), 9, bandwidth=40.0)
    layout = layout_of(instance, list_schedule(instance, slot=900.0), title="a schedule of which the title is long")
    path = tmp_path / "phone.html"
    path.write_text(page(layout).replace("</body>", MEASURE))
    boxes = json.loads(html.unescape(visit(path, tmp_path).dom.rsplit("<pre>", 1)[1].split("</pre>")[0]))
    # The title, the caption, the toolbar, the makespan, three clusters, and above three links a title.
    assert len(boxes) == 11
    assert [text for text, left, _, right, _ in boxes if left < 0.0 or right > 390.0] == []
    pairs = itertools.combinations(boxes, 2)
    overlaps = [(a[0], b[0]) for a, b in pairs if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]]
    assert overlaps == []


def test_killed_jobs_are_outlined_and_the_page_says_so():
    instance = random_instance(2, 3, (4, 4, 4), 9, bandwidth=40.0, spread=5000.0)
    whole = list_schedule(instance)
    placements = [p.replace(outcome="killed") if p.job == instance.jobs[0].id else p for p in whole]
    for schedule, says in ((whole, False), (whole.replace(placements=placements), True)):
        assert ("red outline: killed" in caption(layout_of(instance, schedule))) == says


def test_local_users_and_stopped_tasks_tell_who_and_when():
    figure = go.Figure(draw(layout_of(SHARED, SHARED_SCHEDULE)))
    told = {trace.hovertext[0]: trace for trace in figure.data if trace.type == "bar" and len(trace.hovertext) == 1}
    user = told["shell user on C1/0<br>from 0.16667 to 0.33333 min"]
    stopped = told["<b>J1</b><br>stopped on C1/1<br>from 0.83333 to 2.5 min"]
    # A user is of no job; what is stopped stands out with its job, the first bar.
    assert (user.customdata, stopped.customdata) == ((NO_JOB,), (0,))
    assert (stopped.base[0], stopped.x[0], stopped.y[0], stopped.width[0]) == pytest.approx((50 / 60, 100 / 60, 2.5, 1))
    assert caption(layout_of(SHARED, SHARED_SCHEDULE)).endswith("; dark mark: local user; crossed: stopped")
