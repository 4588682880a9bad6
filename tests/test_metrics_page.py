"""What metrics return has the columns that docs/metrics.md defines."""

from __future__ import annotations

import inspect

import pytest

import coalloc
from coalloc.measures.groups import GROUPINGS, metrics_by
from coalloc.measures.metrics import JOB_METRICS, METRICS
from coalloc.measures.usage import COLUMNS, series


@pytest.fixture(scope="module")
def run():
    return coalloc.simulate(coalloc.example("pcbe-8"), "pcbe")


def test_what_is_returned_has_the_columns_of_the_page(run):
    assert list(coalloc.metrics(run.instance, run.schedule)) == list(METRICS)
    for by in GROUPINGS:
        assert list(metrics_by(run.instance, run.schedule, by)) == [by, *JOB_METRICS]
    (cluster,) = run.instance.platform.clusters
    expected = [name.replace("LINK", cluster.name) for name in COLUMNS]
    assert list(series(run.instance, run.schedule)) == expected


def test_the_docstrings_of_the_tables_name_their_columns(run):
    result = coalloc.results.SimulationResult
    for table, text in ((run.to_frame(), result.to_frame.__doc__), (run.nodes, inspect.getdoc(result.nodes))):
        assert [name for name in table if f"``{name}``" not in text] == []
