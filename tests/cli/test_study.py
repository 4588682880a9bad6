"""``coalloc study``, as a user runs it."""

import json

import pandas as pd
import pytest

import coalloc
from coalloc.studies.interruption import Interrupted
from coalloc.studies.slot_size import COLUMNS
from tests.cli.running import TINY, interrupted_at, run, write
from tests.extras import needs_pictures


@pytest.fixture
def tiny(tmp_path):
    return write(tmp_path / "tiny.json", TINY)


@needs_pictures
def test_a_slot_study_is_printed_and_written(tiny, tmp_path):
    # The mean base time is 250/3 s: time slot of 60 % take 50 s, in which every time is whole, so nothing is lost.
    table, figure = tmp_path / "s.csv", tmp_path / "s.png"
    result = run("study", "slot-size", tiny, "--fraction", "60%", "--fraction", "1.2", "-o", table, "--plot", figure)
    assert result.exit_code == 0
    assert "Recommended time slot: 120 % of the mean reference run time (the longest" in result.stdout
    assert pd.read_csv(table)["slotted"].tolist() == pytest.approx([200.0, 200.0])
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert result.stderr.splitlines() == [
        "tiny: continuous time",
        "tiny: time slot of 60 %",
        "tiny: time slot of 120 %",
    ]


@pytest.fixture
def hard(tmp_path):
    """Return an instance that takes longer than any test."""
    path = tmp_path / "hard.json"
    coalloc.write_instance(coalloc.generate("thesis-oas", seed=5, jobs=40).replace(name="hard"), path)
    return path


@needs_pictures
def test_ctrl_c_writes_the_rows_that_are_complete_and_names_the_others(tiny, hard, tmp_path):
    command = ["study", "slot-size", tiny, hard, "--fraction", "60%", "--plot", tmp_path / "s.png"]
    code, out, said = interrupted_at("hard: continuous time", *command, "-o", tmp_path / "s.csv")
    assert (code, out) == (0, "")
    assert said == "coalloc: interrupted with 1 of 2 rows; missing: hard: time slot of 60 %\n"
    assert pd.read_csv(tmp_path / "s.csv")["slotted"].tolist() == pytest.approx([200.0])
    assert not (tmp_path / "s.png").exists()


def test_ctrl_c_before_the_first_row_is_exit_code_1(tiny, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise Interrupted(pd.DataFrame(columns=list(COLUMNS)), ["tiny: time slot of 60 %"])

    monkeypatch.setattr(coalloc, "slot_study", interrupted)
    result = run("study", "slot-size", tiny, "--fraction", "60%", "-o", tmp_path / "s.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "coalloc: interrupted with 0 of 1 rows; missing: tiny: time slot of 60 %\n"
    assert not (tmp_path / "s.csv").exists()


def test_json_is_pure(tiny):
    result = run("study", "slot-size", tiny, "--fraction", "60%", "--no-continuous", "--json", "--quiet")
    (row,) = json.loads(result.stdout)
    assert (row["optimum"], row["is_proven"]) == (None, True)
    assert row["replayed"] == pytest.approx(200.0)
    assert result.stderr == ""


def test_nothing_found_is_exit_code_1(tmp_path):
    clusters = [{"name": name, "link_bandwidth": 1.0, "nodes": [{"count": 1, "power": 1.0}]} for name in ("C1", "C2")]
    job = {"id": "J1", "tasks": 2, "base_time": 100.0, "processing_share": 0.5, "task_bandwidth": 10.0}
    file = write(tmp_path / "i.json", TINY | {"platform": {"clusters": clusters}, "jobs": [job]})
    result = run("study", "slot-size", file, "--fraction", "1", "--quiet")
    assert (result.exit_code, result.stderr) == (1, "coalloc: no schedule was found for any instance\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--fraction", "half"],
            "must be a share such as 50% or 0.5, got 'half'; see `coalloc study slot-size --help`",
        ),
        (["--fraction", "0"], "fractions must be finite and above 0"),
        (["--fraction", "1", "--fraction", "100%"], "fractions must be distinct"),
        (["--within", "-1%"], "must be a share such as 50% or 0.5, got '-1%'"),
        (["--by", "slotted"], "'slotted' is not one of 'replayed', 'compacted'"),
        (["--formulation", "nod"], "must be one of auto, node, count, mode, got 'nod'"),
        (["--plot", "x.html"], "the extension must be one of .png, .svg, .pdf"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tiny, tmp_path, arguments, sentence):
    result = run("study", "slot-size", tiny, *arguments, "-o", tmp_path / "s.csv", "--quiet")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "s.csv").exists()


WATTS = {"idle_watts": 1.0, "static_watts": 2.0, "core_watts": 3.0}
NODE = {"count": 2, "power": 1.0} | WATTS
PLATFORM = {"clusters": [{"name": "C1", "link_bandwidth": 0.0, "nodes": [NODE]}]}
JOB = {"id": "J1", "tasks": 1, "base_time": 10.0}
METERED = {"format": "coalloc-instance", "version": 1, "name": "one", "platform": PLATFORM, "jobs": [JOB]}
"""One job of 10 s on two nodes of one core: 2 + 3 W while it runs, and 1 W of the other node."""


def test_a_front_of_one_job_is_a_point(tmp_path):
    file, csv = write(tmp_path / "one.json", METERED), tmp_path / "f.csv"
    result = run("study", "front", file, "--policy", "pcbe", "-o", csv, "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert set(pd.read_csv(csv)["energy"]) == {60.0}
    assert "The minimum EDP is at least 600 J s; the best known is 600 J s (exact)." in result.stdout


@pytest.mark.parametrize(
    ("changes", "arguments", "sentence"),
    [
        ({}, ["--policy", "pcbee"], "unknown policy 'pcbee' (did you mean 'pcbe'?)"),
        ({}, ["--policy", ""], "'--policy': must not be empty"),
        ({}, ["--policy", "pcbe criterion=power"], "criterion of policy 'pcbe' must be one of energy, edp"),
        ({}, ["--policy", "easy"], "policy 'easy' has scope 'platform'"),
        ({}, ["--points", "0"], "'--points'"),
        ({}, ["--time-limit", "0"], "time_limit: must be above 0"),
        ({}, ["--plot", "x.html"], "the extension must be one of .png, .svg, .pdf"),
        ({"platform": TINY["platform"]}, [], "clusters[0].nodes[0] (cluster 'C1') has no idle_watts"),
        ({"jobs": []}, [], "instance 'one' has no Pareto front: it has no jobs"),
    ],
)
def test_a_front_that_cannot_be_is_one_line_and_exit_code_2(tmp_path, changes, arguments, sentence):
    file, csv = write(tmp_path / "one.json", METERED | changes), tmp_path / "f.csv"
    result = run("study", "front", file, *arguments, "-o", csv, "--quiet")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not csv.exists()


def test_no_study_is_bad_usage_and_shows_the_help():
    shown = run("study")
    assert (shown.exit_code, shown.stderr) == (2, "")
    assert "slot-size" in shown.stdout


@pytest.mark.parametrize("name", ["slot-size", "front"])
def test_every_study_has_help(name):
    shown = run("study", name, "-h")
    assert shown.exit_code == 0
    assert f"Usage: coalloc study {name}" in shown.stdout
