"""``coalloc whatif``, as a user runs it."""

import json

import pandas as pd
import pytest

import coalloc
from tests.cli.running import TINY, run, write
from tests.cli.test_audit import SACCT
from tests.extras import needs_pictures

CHANGES = """
policy = "fcfs"

[[change]]
name = "one more"
nodes = {by = "+1"}

[[change]]
name = "right walltimes"
walltimes = {overestimate = 0}
"""

LIMITS = ("--time-limit", "0.05", "-j", "1")


@pytest.fixture
def changes(tmp_path):
    return write(tmp_path / "changes.toml", CHANGES)


@needs_pictures
def test_an_export_is_simulated_with_changes_and_everything_written(changes, tmp_path, in_process):
    export, folder, page = write(tmp_path / "october.txt", SACCT), tmp_path / "out", tmp_path / "page.html"
    asked = ("whatif", export, changes, "--processors", 2, "--window", "1d", *LIMITS, "-o", folder, "--page", page)
    result = run(*asked)
    assert result.exit_code == 0, result.stderr
    assert "1 record dropped: job step" in result.stderr
    # Job 2 waits 95 s for the two processors of job 1, and with three not at all. In the log job 3 waits 10 s, too.
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[-1] for line in lines[:1]] == ["interval"]
    table = pd.read_csv(folder / "scenarios.csv").set_index("scenario")
    assert table["wait_mean"].round(2).to_dict() == {
        "the recorded schedule": 35.0,
        "the log as it is": 31.67,
        "one more": 0.0,
        "right walltimes": 31.67,
    }
    assert pd.read_csv(folder / "intervals.csv")["interval"].unique().tolist() == [
        "2026-10-01 00:00",
        "2026-10-03 00:00",
    ]
    assert "<img" in page.read_text()
    again = run(*asked, "--json")
    assert (again.exit_code, again.stderr) == (0, "")  # all is kept in the folder
    assert json.loads(again.stdout)["scenarios"][2]["wait_difference"] == pytest.approx(-95.0 / 3.0)


def test_an_instance_is_a_log_and_changes_are_crossed(changes, tmp_path):
    result = run("whatif", write(tmp_path / "tiny.json", TINY), changes, "--crossed", *LIMITS, "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "one more + right walltimes" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny.json", "wrong.toml"], "wrong.toml: change[0].nodes.by: must be a number of nodes or a percentage"),
        (["tiny.json", "not.toml"], "not.toml: is not TOML: "),
        (["tiny.json", "none.toml"], "none.toml: cannot be read: "),
        (["none.json", "changes.toml"], "none.json: cannot be read: "),
        (["tiny.json", "changes.toml", "--window", "x"], "must be a duration such as 7d"),
        (["tiny.json", "changes.toml", "-o", "tiny.json"], "--output: tiny.json cannot be created"),
        pytest.param(
            ["tiny.json", "changes.toml", "--page", "changes.toml"],
            "--page: changes.toml cannot be written: it is an in",
            marks=needs_pictures,
        ),
    ],
)
def test_bad_input_is_one_line(arguments, message, changes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tiny.json", TINY)
    write(tmp_path / "wrong.toml", "[[change]]\nname = 'x'\nnodes = {by = 'ten'}")
    write(tmp_path / "not.toml", "[[change]")
    result = run("whatif", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.stderr
    assert coalloc.read_instance(tmp_path / "tiny.json").name == "tiny"
