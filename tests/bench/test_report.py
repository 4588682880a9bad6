"""The report: its files, and the page in a real browser."""

import base64
import csv
import re

import pytest

from coalloc.bench.report import ReportFindings, findings, write_report
from coalloc.bench.store import Store
from coalloc.instance import CoallocError
from tests.bench.rows import row
from tests.plot.test_interactive import visit

STRANGE = "</td><script>document.title='x'</script>|$x_$\n&"

ROWS = (
    row("A", "i", "optimal", 1.0, objective=100.0, lower_bound=100.0, gap=0.0, memory=90.0, host="h"),
    row(STRANGE, "i", "crashed", None, message="ended by <SIGSEGV>", host="h"),
    row("A", "j", "feasible", 10.0, objective=50.0, lower_bound=40.0, gap=0.2, memory=80.0, host="h"),
    row(STRANGE, "j", "not run"),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    found = ReportFindings("quick", "coalloc bench run quick.toml", ROWS)
    return folder, write_report(found, folder)


def test_the_files_of_a_report(written):
    folder, paths = written
    names = {"report.html", "report.md", "samples.csv", "summary.csv", "solved.svg", "objective.svg"}
    assert {path.name for path in paths} == {path.name for path in folder.iterdir()} == names


def test_every_sample_is_in_the_table(written):
    with (written[0] / "samples.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    assert [line["status"] for line in lines] == ["optimal", "crashed", "feasible", "not run"]
    assert lines[1]["label"] == STRANGE
    assert lines[0]["options"] == '{"time_limit": 10.0}'


def test_the_markdown_page_says_what_is_missing_and_what_failed(written):
    text = (written[0] / "report.md").read_text()
    assert "# Benchmark quick\n\n- samples: 3 of 4 ran, 1 solved, failed: 1 crashed\n" in text
    assert "**The tables are incomplete: 1 planned samples have not run.**" in text
    assert "## Failures\n" in text
    assert "- reproduce with: coalloc bench run quick.toml" in text
    assert "<script>" not in text.replace("\\<script>", "")


def test_the_report_repeats_byte_for_byte(written, tmp_path):
    again = write_report(ReportFindings("quick", "coalloc bench run quick.toml", ROWS), tmp_path)
    for path in again:
        assert path.read_bytes() == (written[0] / path.name).read_bytes()


def test_a_contradiction_comes_first(tmp_path):
    wrong = row("B", "i", "optimal", 1.0, objective=90.0, lower_bound=90.0)
    assert ReportFindings("q", "", (ROWS[0], wrong)).warnings == [
        "Contradiction: i, A: the bound 100 exceeds the objective 90",
    ]


def test_rows_without_any_time_have_no_figure(tmp_path):
    names = {path.name for path in write_report(ReportFindings("q", "", ROWS[3:]), tmp_path)}
    assert "solved.svg" not in names


def test_a_store_without_that_benchmark(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(CoallocError, match="contains no benchmark; available: none"):
            findings(store)
        store.plan("one", "one.toml", "", [])
        with pytest.raises(CoallocError, match="contains no benchmark 'two'; available: one"):
            findings(store, "two")
        assert findings(store).command == "coalloc bench run one.toml"


def test_the_browser_shows_tables_and_pictures_and_asks_nobody(written, tmp_path):
    seen = visit(written[0] / "report.html", tmp_path)
    assert seen.console == []
    assert seen.requests == []
    assert "<title>Benchmark quick</title>" in seen.dom
    assert seen.dom.count("<tr>") == (1 + 2) + (1 + 1) + (1 + 4)  # summary, failures and samples, with their heads
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', seen.dom)
    assert [base64.b64decode(picture).count(b"<svg") for picture in pictures] == [1, 1]
    assert "&lt;/td&gt;&lt;script&gt;" in seen.dom
    assert "<script" not in seen.dom
