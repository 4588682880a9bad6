"""``coalloc merge``: weeks in a folder, or nothing."""

import json

import pytest

from tests.cli.running import run
from tests.extras import needs_pictures
from tests.workloads.weeks.traces import SPEC, write_traces


@needs_pictures
def test_weeks_their_account_and_its_picture_go_into_a_folder(tmp_path):
    spec = write_traces(tmp_path)
    result = run("merge", spec, "-o", tmp_path / "weeks" / "two")
    assert result.exit_code == 0, result.stderr
    names = sorted(path.name for path in (tmp_path / "weeks" / "two").iterdir())
    assert names == ["account.json", "account.md", "account.svg", "week-01.json.gz", "week-02.json.gz"]
    assert result.stderr == f"{tmp_path}/weeks/two: 2 weeks\n"
    assert result.stdout == (tmp_path / "weeks" / "two" / "account.md").read_text()
    assert "| c: run time not above 0 | 2 | 0 |" in result.stdout
    checked = run("simulate", tmp_path / "weeks" / "two" / "week-01.json.gz", "--policy", "easy", "-p", "scope=cluster")
    assert checked.exit_code == 0, checked.stderr


def test_without_a_folder_there_is_only_the_account(tmp_path):
    result = run("merge", write_traces(tmp_path), "--json")
    assert json.loads(result.stdout)["weeks"][1]["work"] == 1204.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.swf", "b.swf", "grid.json", "two.toml"]


def test_broken_lines_are_left_out_where_that_is_asked_for(tmp_path):
    spec = write_traces(tmp_path)
    with (tmp_path / "b.swf").open("a") as trace:
        trace.write("1 2 3\n")
    refused = run("merge", spec)
    assert refused.exit_code == 2
    assert "must have 18 numbers, got 3 (broken=" in refused.stderr
    found = run("merge", spec, "--broken", "drop", "--json")
    assert [trace["broken"] for trace in json.loads(found.stdout)["traces"]] == [0, 1]


@needs_pictures
def test_traces_are_written_where_they_are_asked_for(tmp_path):
    assert run("merge", write_traces(tmp_path), "-o", tmp_path / "weeks", "--swf", "-q").stderr == ""
    assert (tmp_path / "weeks" / "week-02.swf.gz").exists()


@needs_pictures
@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (SPEC.replace('"B"', '"C"'), "traces[1].site: must be a cluster of the platform (A, B), got 'C'"),
        (SPEC.replace("[1]", "[9]"), "traces[0].partitions[0]: must be the partition of a job of the trace, got 9"),
        ("platform = ", "is not TOML: Invalid value (at end of document)"),
    ],
)
def test_a_bad_specification_is_a_line_and_leaves_nothing_behind(tmp_path, spec, line):
    path = write_traces(tmp_path, spec)
    result = run("merge", path, "-o", tmp_path / "weeks")
    assert (result.exit_code, result.stderr) == (2, f"{path}: {line}\n")
    assert not (tmp_path / "weeks").exists()


@needs_pictures
def test_what_cannot_be_written_is_said_first(tmp_path):
    spec = write_traces(tmp_path)
    result = run("merge", spec, "-o", spec)
    assert result.exit_code == 2
    assert "two.toml is not a folder" in result.stderr
    assert run("merge", spec, "--swf").exit_code == 2
    assert (
        run("merge", tmp_path / "no.toml").stderr == f"{tmp_path}/no.toml: cannot be read: no such file or directory\n"
    )
    below = run("merge", spec, "-o", spec / "weeks")
    assert (below.exit_code, "two.toml is not a folder" in below.stderr) == (2, True)
    endless = run("merge", spec, "-o", tmp_path / ("x" * 300))
    assert (endless.exit_code, "file name too long" in endless.stderr) == (2, True)
