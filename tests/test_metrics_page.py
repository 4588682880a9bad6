"""docs/metrics.md defines every column there is, as the code does, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import coalloc
from coalloc.measures.groups import GROUPINGS, metrics_by
from coalloc.measures.metrics import JOB_METRICS, METRICS
from coalloc.measures.usage import COLUMNS, series

PAGE = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")


def tables(title):
    """Return the tables under a heading: the cells of their rows, without their heads."""
    text = PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|").split(" | ")] for line in t.splitlines()[2:]] for t in found]


@pytest.fixture(scope="module")
def run():
    return coalloc.simulate(coalloc.example("pcbe-8"), "pcbe")


def test_the_metrics_are_those_of_the_code():
    (rows,) = tables("Schedule metrics: wait, slowdown, utilization")
    assert rows == [[f"`{name}`", m.of, m.unit, m.definition] for name, m in METRICS.items()]


def test_the_groups_are_those_of_the_code():
    (rows,) = tables("Groups of jobs")
    assert rows == [[f"`{name}`", grouping.definition] for name, grouping in GROUPINGS.items()]


def test_the_columns_of_time_are_those_of_the_code():
    (rows,) = tables("Time series")
    assert rows == [[f"`{name}`", kind.unit, kind.definition] for name, kind in COLUMNS.items()]


def test_what_is_returned_has_the_columns_of_the_page(run):
    assert list(coalloc.metrics(run.instance, run.schedule)) == list(METRICS)
    for by in GROUPINGS:
        assert list(metrics_by(run.instance, run.schedule, by)) == [by, *JOB_METRICS]
    (cluster,) = run.instance.platform.clusters
    expected = [name.replace("LINK", cluster.name) for name in COLUMNS]
    assert list(series(run.instance, run.schedule)) == expected


def test_the_tables_of_jobs_and_nodes_have_the_columns_of_the_page(run):
    jobs, nodes = tables("Tables of jobs and nodes")
    assert [row[0] for row in jobs] == [f"`{name}`" for name in run.to_frame()]
    assert [row[0] for row in nodes] == [f"`{name}`" for name in run.nodes]


def test_the_example_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})
    assert (tmp_path / "run.png").exists()
