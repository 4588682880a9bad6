"""``coalloc demo``: the first command that anybody runs."""

import json

import pytest

import coalloc
from tests.cli.running import run
from tests.extras import needs_pictures

FILES = {"instance.json", "schedule.json", "result.json", "gantt.png", "gantt.html"}


@needs_pictures
def test_the_demo_proves_checks_and_draws(tmp_path):
    directory = tmp_path / "new" / "demo"
    shown = run("demo", "--directory", directory)
    assert shown.exit_code == 0
    assert {entry.name for entry in directory.iterdir()} == FILES
    lines = dict(line.split(maxsplit=1) for line in shown.stdout.splitlines() if not line.startswith("gantt"))
    assert lines["status"] == "optimal (stopped by proof)"
    assert lines["gap"] == "0.00 %"
    # 8,710,000 s: 26 slots of half the mean base time, 670,000 s.
    assert lines["objective"] == "2419.44 h (makespan)"
    assert lines["bound"] == "2419.44 h"
    assert "incumbent    2419.44 h  bound    2419.44 h" in shown.stderr
    assert "makespan 2419 h" in (directory / "gantt.html").read_text()
    assert lines["check"] == "0 violations by the independent checker"
    assert "bound" in shown.stderr
    # 28 tasks on 4 nodes: 7 waves are the area, and exist; EASY's start of the jobs as they come leaves gaps.
    assert lines["besides"] == ("17 jobs of equal length on 4 nodes: EASY needs 8 waves, 7 are possible, and no fewer")
    instance = coalloc.read_instance(directory / "instance.json")
    assert instance == coalloc.example("thesis-oas-1")
    assert coalloc.check(instance, coalloc.read_schedule(directory / "schedule.json")) == []
    result = json.loads((directory / "result.json").read_text())
    assert (result["status"], result["objective"]) == ("optimal", result["lower_bound"])
    assert result["objective"] == pytest.approx(8_710_000.0)  # files stay in seconds
    assert (directory / "gantt.png").read_bytes().startswith(b"\x89PNG")


@needs_pictures
def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("mine")
    refused = run("demo", "--directory", tmp_path / "file" / "demo")
    assert refused.exit_code == 2
    assert refused.stderr == f"coalloc: --directory: {tmp_path}/file/demo cannot be created: not a directory\n"
