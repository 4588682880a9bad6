"""``coalloc compare``, as a user runs it."""

import json
from io import StringIO

import pandas as pd
import pytest

import coalloc
from coalloc.studies.interruption import Interrupted
from tests.cli.running import TINY, run, write
from tests.extras import needs_pictures


@pytest.fixture
def tiny(tmp_path):
    return write(tmp_path / "tiny.json", TINY)


@needs_pictures
def test_a_comparison_is_printed_and_written(tiny, tmp_path):
    table, figure = tmp_path / "c.csv", tmp_path / "c.png"
    result = run(
        "compare", tiny, "--policy", "sjf", "--policy", "fcfs allocation=first-fit", "-o", table, "--plot", figure
    )
    assert result.exit_code == 0
    assert "oas (exact)" in result.stdout
    assert "Change of the makespan compared with sjf:" in result.stdout
    assert pd.read_csv(table)["policy"].tolist() == ["oas (exact)", "sjf", "fcfs allocation=first-fit"]
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "tiny: bounds" in result.stderr


def test_certificates_are_counted(tiny):
    result = run("compare", tiny, "--policy", "fcfs", "--certify", "--quiet")
    assert "Optima with a certificate that coalloc verify accepts: 1 of 1." in result.stdout
    assert "certificate" not in run("compare", tiny, "--policy", "fcfs", "--quiet").stdout


def test_ctrl_c_prints_the_rows_that_are_complete_and_names_the_others(tiny, monkeypatch):
    part = coalloc.compare(coalloc.read_instance(tiny), ["fcfs"])

    def interrupted(*_, **__):
        raise Interrupted(part, ["hard: oas (exact)", "hard: fcfs"])

    monkeypatch.setattr(coalloc, "compare", interrupted)
    result = run("compare", tiny, "--policy", "fcfs")
    assert result.exit_code == 0
    assert pd.read_csv(StringIO(result.stdout))["policy"].tolist() == ["oas (exact)", "fcfs"]
    assert result.stderr == "coalloc: interrupted with 2 of 4 rows; missing: hard: oas (exact), hard: fcfs\n"
    shown = run("compare", tiny, "--policy", "fcfs", "--json")
    assert [row["policy"] for row in json.loads(shown.stdout)] == ["oas (exact)", "fcfs"]


def test_json_is_pure(tiny):
    result = run("compare", tiny, "--policy", "fcfs", "--json", "--quiet", "--no-exact")
    (row,) = json.loads(result.stdout)
    assert (row["policy"], row["makespan"], row["ratio"]) == ("fcfs", 200.0, None)
    assert row["lower_bound"] == pytest.approx(200.0, rel=1e-6)
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give at least one policy"),
        (["--policy", "eazy"], "unknown policy 'eazy'"),
        (["--policy", ""], "'--policy': must not be empty"),
        (["--policy", "EASY"], "unknown policy 'EASY' (did you mean 'easy'?)"),
        (
            ["--policy", "easy,mesd"],
            "--policy: must be one policy, got 'easy,mesd'; for several use --policy easy --policy mesd",
        ),
        (["--policy", "easy alloc"], "must be KEY=VALUE, got 'alloc'"),
        (["--policy", "easy", "--baseline", "fcfs"], "must be one of the policies given, got 'fcfs'"),
        (["--policy", "easy", "--plot", "x.html"], "the extension must be one of .png, .svg, .pdf"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tiny, tmp_path, arguments, sentence):
    result = run("compare", tiny, *arguments, "-o", tmp_path / "c.csv", "--quiet")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "c.csv").exists()


def test_instances_of_one_name_are_told_apart_by_their_files(tiny, tmp_path):
    other = write(tmp_path / "other.json", {**TINY, "jobs": TINY["jobs"][:1]})
    result = run("compare", tiny, other, "--policy", "fcfs", "--json", "--quiet", "--no-exact")
    assert [row["instance"] for row in json.loads(result.stdout)] == [f"tiny ({tiny})", f"tiny ({other})"]


def test_one_instance_twice_is_refused_before_the_work_begins(tiny):
    result = run("compare", tiny, tiny, "--policy", "fcfs")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"coalloc: instances must have distinct names, got tiny ({tiny}) more than once")
