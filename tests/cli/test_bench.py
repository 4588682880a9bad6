"""``coalloc bench`` in the shell: what it prints, what it writes, and its exit codes."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from coalloc.bench.plan import read_plan
from coalloc.bench.running import run_plan
from coalloc.system import extras
from tests.cli.running import run
from tests.extras import needs_pictures
from tests.in_process import InProcess

SPEC = """
[[instances]]
generator = "thesis-oas"
seeds = [1, 2, 3]
parameters = { jobs = 1 }

[[methods]]
method = "simulate"
options = { policy = ["fcfs", "easy"] }
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def store(spec):
    path = spec.with_suffix(".sqlite")
    run_plan(read_plan(spec), path, InProcess)
    return path


def change(store, **fields):
    """Change fields of the outcome of the first sample of a store."""
    with closing(sqlite3.connect(store)) as database, database:
        key, text = database.execute("SELECT key, outcome FROM samples ORDER BY ended LIMIT 1").fetchone()
        outcome = json.dumps(json.loads(text) | fields)
        database.execute("UPDATE samples SET outcome = ? WHERE key = ?", (outcome, key))


def test_a_run_says_where_it_is_and_goes_on_from_there(spec):
    done = run("bench", "run", spec)
    store = spec.with_suffix(".sqlite")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"{store}: 6 of 6 samples (0 from the store, 6 new): 6 solved, 0 failed\n"
    assert done.stderr.splitlines()[-1] == "6 of 6 samples (0 from the store, 6 new): 6 solved, 0 failed"
    again = run("bench", "run", spec, "-q")
    assert again.stdout == f"{store}: 6 of 6 samples (6 from the store, 0 new): 6 solved, 0 failed\n"
    assert again.stderr == ""


def test_without_a_command_the_help_is_shown():
    shown = run("bench")
    assert (shown.exit_code, shown.stderr) == (2, "")
    assert "report" in shown.stdout
    refused = run("bench", "rnu")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == "coalloc: no such command 'rnu' (did you mean 'run'?); see `coalloc bench --help`\n"


def test_a_dry_run_lists_the_samples_and_runs_none(spec):
    done = run("bench", "run", spec, "--dry-run")
    assert done.stdout.splitlines()[:2] == [
        "thesis-oas-1: simulate, policy=fcfs, seed 0",
        "thesis-oas-1: simulate, policy=easy, seed 0",
    ]
    assert (done.exit_code, done.stderr) == (0, "6 samples\n")
    assert [path.name for path in spec.parent.iterdir()] == [spec.name]


def test_the_faults_of_a_specification_are_lines_and_nothing_is_made(spec):
    spec.write_text(SPEC.replace('"fcfs"', '"fcsf"').replace("jobs = 1", "jobs = 0"))
    refused = run("bench", "run", spec)
    assert (refused.exit_code, refused.stdout) == (2, "")
    lines = refused.stderr.splitlines()
    assert lines[0] == f"{spec}: instances[0]: jobs: must be at least 1, got 0"
    assert all(line.startswith(f"{spec}: ") for line in lines)
    assert [path.name for path in spec.parent.iterdir()] == [spec.name]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bench", "run", "{0}/no.toml"], "{0}/no.toml: cannot be read: no such file or directory"),
        (
            ["bench", "run", "{0}/small.toml", "--store", "{0}"],
            "coalloc: --store: {0} cannot be written: it is a folder",
        ),
        (
            ["bench", "run", "{0}/small.toml", "--store", "{0}/small.toml"],
            "coalloc: --store: {0}/small.toml cannot be written: it is an input",
        ),
        pytest.param(
            ["bench", "report", "{0}/no.sqlite"],
            "coalloc: {0}/no.sqlite: the store does not exist",
            marks=needs_pictures,
        ),
        pytest.param(
            ["bench", "report", "{0}/small.toml"],
            "coalloc: {0}/small.toml: is not a store of benchmarks: ",
            marks=needs_pictures,
        ),
        (["bench", "compare", "{0}/no.sqlite", "x"], "coalloc: {0}/no.sqlite: the store does not exist"),
    ],
)
def test_bad_input_is_one_line(spec, arguments, line):
    refused = run(*(argument.format(spec.parent) for argument in arguments))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(line.format(spec.parent))
    assert refused.stderr.count("\n") == 1


def test_a_cluster_without_dask_is_one_line(spec, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    refused = run("bench", "run", spec, "--scheduler", "tcp://nowhere:1")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == "coalloc: --scheduler needs distributed: pip install 'coalloc[dask]'\n"


@needs_pictures
def test_a_report_shows_the_summary_and_says_what_it_wrote(store):
    done = run("bench", "report", store)
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("| method | solved/ran | failed |")
    assert [line.split(" | ")[:3] for line in lines[2:]] == [
        ["| simulate, policy=fcfs", "3/3", "0"],
        ["| simulate, policy=easy", "3/3", "0"],
    ]
    folder = store.with_name("small-report")
    assert done.stderr.splitlines() == [f"wrote {folder / name}" for name in sorted_as_said(folder)]


def sorted_as_said(folder):
    names = ["report.html", "report.md", "samples.csv", "summary.csv", "solved.svg", "objective.svg"]
    assert sorted(names) == sorted(path.name for path in folder.iterdir())
    return names


def test_a_store_compared_with_a_worse_one_names_what_is_worse(spec, store):
    other = shutil.copy(store, spec.with_name("other.sqlite"))  # run again, a busy machine might be slower
    same = run("bench", "compare", store, other)
    assert same.exit_code == 0, same.stdout
    assert "regression" not in same.stdout
    assert same.stderr == "95 % intervals require at least 5 pairs\n"
    change(other, status="timeout", time=300.0, message="did not end within 300 s")
    worse = run("bench", "compare", store, other)
    assert worse.exit_code == 1
    sentence = "done before, timeout now: did not end within 300 s"
    assert f"regression: thesis-oas-1, simulate, policy=fcfs, seed 0: {sentence}\n" in worse.stdout


def test_stores_of_different_benchmarks_cannot_be_compared(spec, store):
    other_spec = spec.with_name("else.toml")
    other_spec.write_text(SPEC.replace("[1, 2, 3]", "[4]"))
    run_plan(read_plan(other_spec), spec.with_name("else.sqlite"), InProcess)
    refused = run("bench", "compare", store, spec.with_name("else.sqlite"))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("coalloc: the stores have no sample in common")


@needs_pictures
def test_a_report_has_a_folder_of_its_own(store):
    done = run("bench", "report", store, "-o", store)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"coalloc: --output: {store} cannot be created: file exists\n"
