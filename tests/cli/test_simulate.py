"""``coalloc simulate`` and ``coalloc policies``, as a user runs them."""

import gzip
import json
import re
import signal
import subprocess
import time

import pandas as pd
import pytest

import coalloc
from tests.cli.running import PYTHON, TINY, run, run_process, write
from tests.extras import needs_pictures
from tests.power.test_sites import SITE

SWF = """; MaxProcs: 2
1 0 -1 100 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1
2 5 -1 50 1 -1 -1 1 60 -1 1 7 -1 -1 -1 -1 -1 -1
"""
"""Job 1 takes both processors from 0 to 100; job 2 arrives at 5 and waits 95 s."""


@pytest.fixture
def tiny(tmp_path):
    return write(tmp_path / "tiny.json", TINY)


@pytest.fixture
def trace(tmp_path):
    return write(tmp_path / "trace.swf", SWF)


@needs_pictures
def test_a_run_is_printed_and_written(tiny, tmp_path):
    files = {name: tmp_path / name for name in ("s.json", "jobs.csv", "gantt.svg")}
    result = run(
        "simulate", tiny, "--policy", "fcfs", "-o", files["s.json"], "--jobs", files["jobs.csv"], "--plot",
        files["gantt.svg"],
    )  # fmt: skip
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["policy"] == "fcfs"
    assert lines["makespan"].startswith("200 s")
    assert lines["schedule"] == str(files["s.json"])
    assert run("check", tiny, files["s.json"]).exit_code == 0
    table = pd.read_csv(files["jobs.csv"])
    assert table[["job", "start", "wait", "nodes"]].values.tolist() == [
        ["J1", 0.0, 0.0, "C1/0-1"],
        ["J2", 100.0, 100.0, "C1/0"],
        ["J3", 100.0, 100.0, "C1/1"],
    ]
    assert files["gantt.svg"].read_text().startswith("<?xml")


SACCT = """JobID|Submit|Start|End|NCPUS|State
1|2026-10-01T00:00:00|2026-10-01T00:00:00|2026-10-01T00:01:40|2|COMPLETED
1.0|2026-10-01T00:00:00|2026-10-01T00:00:00|2026-10-01T00:01:40|2|COMPLETED
2|2026-10-01T00:00:05|2026-10-01T00:02:00|2026-10-01T00:02:50|1|COMPLETED
"""
"""The jobs of SWF, and a step, as Slurm writes them."""


def test_an_export_of_slurm_is_a_trace_by_its_first_line(tmp_path):
    export = write(tmp_path / "october.txt", SACCT)
    result = run("simulate", export, "--processors", 2, "--policy", "fcfs", "--jobs", tmp_path / "jobs.csv")
    assert result.exit_code == 0
    assert f"{export}: 1 record dropped: job step" in result.stderr
    assert pd.read_csv(tmp_path / "jobs.csv")[["job", "wait", "run"]].values.tolist() == [
        [1, 0.0, 100.0],
        [2, 95.0, 50.0],
    ]
    refused = run("solve", export)
    assert (refused.exit_code, refused.stderr) == (
        2,
        f"coalloc: {export}: is a trace, not an instance; convert it with `coalloc convert --from sacct`\n",
    )
    made = run("convert", "--from", "sacct", export, "--processors", 2, "-q")
    assert [job["id"] for job in json.loads(made.stdout)["jobs"]] == ["1", "2"]


def test_a_run_is_written_as_a_trace_with_its_waits(trace, tmp_path):
    assert run("simulate", trace, "--processors", 2, "--policy", "fcfs", "--swf", tmp_path / "out.swf").exit_code == 0
    rows = [line.split() for line in (tmp_path / "out.swf").read_text().splitlines() if not line.startswith(";")]
    # number, submit, wait, run, allocated; and the status, completed
    assert [[*row[:5], row[10]] for row in rows] == [["1", "0", "0", "100", "2", "1"], ["2", "5", "95", "50", "1", "1"]]


def test_json_is_pure(tiny):
    result = run("simulate", tiny, "--policy", "easy", "-p", "allocation=first-fit", "--kill", "--json")
    document = json.loads(result.stdout)
    assert document["policy"] == "easy"
    assert document["options"] == {"allocation": "first-fit", "passes": "batch", "kill": True, "seed": 0}
    assert document["metrics"]["makespan"] == 200.0
    assert document["metrics"]["decision_time_max"] > 0.0


@pytest.mark.parametrize("compressed", [False, True])
def test_a_trace_runs_on_a_pool(trace, compressed):
    if compressed:
        path = trace.with_suffix(".swf.gz")
        path.write_bytes(gzip.compress(trace.read_bytes()))
    else:
        path = trace
    result = run("simulate", path, "--processors", 2, "--policy", "easy", "--json")
    assert json.loads(result.stdout)["metrics"]["wait_mean"] == 47.5
    assert "2 jobs read, 2 in the instance" in result.stderr


def test_a_trace_runs_on_a_platform(trace, tiny):
    result = run("simulate", trace, "--platform", tiny, "--policy", "fcfs", "--json", "--quiet")
    assert json.loads(result.stdout)["metrics"]["makespan"] == 150.0
    assert result.stderr == ""


def test_progress_is_lines_where_there_is_no_terminal(trace, monkeypatch):
    monkeypatch.setattr("coalloc.simulator.engine.PASSES_PER_REPORT", 1)
    result = run("simulate", trace, "--processors", 2)
    assert "time 100 s: 1 jobs ended, 1 running, 0 waiting, 0 not yet arrived" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--policy", "eazy"], "unknown policy 'eazy' (did you mean 'easy'?)"),
        (
            ["--policy", "easy,mesd"],
            "must be one policy, got 'easy,mesd'; to compare several use coalloc compare --policy easy --policy mesd",
        ),
        (["--policy", "easy,mezd"], "to compare several use coalloc compare --policy easy --policy mesd"),
        (["--policy", "easy", "-p", "alocation=x"], "policy 'easy' has no option alocation (did you mean allocation?)"),
        (["--policy", "grid", "-p", "strategy=MaxAR"], "got 'MaxAR' (did you mean 'MaxAR_v'?)"),
        (["--policy", "grid", "-p", "strategy=MLp_eff"], "requires the efficiency of every cluster; 'C1' has none"),
        (["-p", "allocation"], "must be KEY=VALUE, got 'allocation'"),
        (["--passes", "both"], "passes: must be 'batch' or 'per-event', got 'both'"),
        (["--processors", "2"], "requires a trace; an instance contains its platform"),
        (["-o", "/nowhere/s.json"], "the folder does not exist"),
        (["--plot", "x.bmp"], "x.bmp"),
        (["-p", "scope=node"], "the largest node has 1 processors"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tiny, tmp_path, arguments, sentence):
    result = run("simulate", tiny, *arguments, "--jobs", tmp_path / "jobs.csv")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.output
    assert not (tmp_path / "jobs.csv").exists()


def test_a_trace_needs_somewhere_to_run(tmp_path):
    result = run("simulate", write(tmp_path / "silent.swf", SWF.replace("; MaxProcs: 2\n", "")))
    assert result.exit_code == 2
    assert "--processors N or --platform FILE" in result.stderr


def test_what_is_no_trace_is_refused(tmp_path):
    result = run("simulate", write(tmp_path / "x.swf", "{}"), "--processors", 2)
    assert result.exit_code == 2
    assert "x.swf" in result.stderr


def test_an_interrupted_run_says_where_it_was(tmp_path):
    rows = (f"{i} {i} -1 9 1 -1 -1 1 9 -1 1 1 -1 -1 -1 -1 -1 -1" for i in range(1, 200_000))
    trace = write(tmp_path / "long.swf", "\n".join(rows))
    command = [*PYTHON, "simulate", str(trace), "--processors", "4", "--jobs", str(tmp_path / "jobs.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "jobs ended" in line:
                break
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 1
    assert re.search(r"^coalloc: interrupted(?: in decide\(\) of policy \w+)?,? at time ", rest, re.M)
    assert not (tmp_path / "jobs.csv").exists()


def test_the_policies_are_listed_with_their_options():
    result = run_process("policies")
    assert result.returncode == 0
    assert "EASY backfilling" in result.stdout
    assert "allocation='fastest-first', scope='platform'" in result.stdout


@needs_pictures
def test_a_run_is_metered(tmp_path):
    # One core at 3 W and its node's 2 W for 10 s.
    node = coalloc.NodeGroup(1, power=1.0, idle_watts=1.0, static_watts=2.0, core_watts=3.0)
    instance = coalloc.Instance(
        coalloc.Platform([coalloc.Cluster("C1", [node], 0.0)]), [coalloc.Job("J1", tasks=1, base_time=10.0)]
    )
    coalloc.write_instance(instance, tmp_path / "i.json")
    result = run("simulate", tmp_path / "i.json", "--energy", "--power", tmp_path / "p.png", "--quiet")
    assert "50 J, EDP 500 J s" in result.stdout
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads(run("simulate", tmp_path / "i.json", "--energy", "--json", "--quiet").stdout)
    assert document["energy"]["total"] == 50.0


@needs_pictures
def test_a_run_of_sites_that_are_switched_is_metered_as_it_ran(tmp_path):
    # The site starts up from 0 to 20 at 30 W; then it draws 50 W, a chassis 5, a board 10, a core 7 W for 10 s.
    coalloc.write_instance(coalloc.Instance(coalloc.Platform([SITE]), [coalloc.Job("A", 1, 10.0)]), tmp_path / "i.json")
    files = ["--power", tmp_path / "p.png", "--series", tmp_path / "s.csv", "--series-plot", tmp_path / "s.png"]
    options = ["--policy", "grid", "-p", "power_management=true", "--energy", "--json", "--quiet"]
    document = json.loads(run("simulate", tmp_path / "i.json", *options, *files).stdout)
    assert document["energy"] == {
        "total": 1320.0,
        "dynamic": 70.0,
        "static": 1250.0,
        "idle": 0.0,
        "site": 500.0,
        "chassis": 50.0,
        "board": 100.0,
        "working": 70.0,
        "startup": 600.0,
        "edp": 1320.0 * 30.0,
    }
    rows = [line.split(",") for line in (tmp_path / "s.csv").read_text().splitlines()]
    power = rows[0].index("power")
    assert [(row[0], row[1], float(row[power])) for row in rows[1:]] == [("0.0", "20.0", 30.0), ("20.0", "30.0", 72.0)]
    assert (tmp_path / "p.png").exists()
    # Without power management the site does not start up, and all of it is on: 50 + 2*5 + 4*10 + 6*2 + 7 W for 10 s.
    always = json.loads(
        run("simulate", tmp_path / "i.json", "--policy", "grid", "--energy", "--json", "--quiet").stdout
    )
    assert always["energy"]["total"] == 1190.0


def test_power_management_without_power_states_is_bad_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--policy", "grid", "-p", "power_management=true", "--jobs", "jobs.csv", "--quiet"]
    result = run("simulate", "example:thesis-oas-1", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"coalloc: clusters[{c}] (cluster 'C{c + 1}') has no power_states: power management requires them"
        for c in range(3)
    ]
    assert list(tmp_path.iterdir()) == []


@needs_pictures
@pytest.mark.parametrize("arguments", [["--energy"], ["--power", "p.png"]])
def test_without_watts_every_group_of_nodes_is_named(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("simulate", "example:thesis-oas-1", "--jobs", "jobs.csv", "--quiet", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.partition(" has no ")[0] for line in result.stderr.splitlines()] == [
        f"coalloc: clusters[{c}].nodes[0] (cluster 'C{c + 1}')" for c in range(3)
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_after_all_costs_nothing_else(tiny, tmp_path):
    table = tmp_path / "jobs.csv"
    done = run("simulate", tiny, "-q", "-o", "/dev/full", "--jobs", table)
    assert done.exit_code == 2
    assert done.stderr.splitlines() == ["coalloc: /dev/full: cannot be written: no space left on device"]
    assert "makespan   200 s" in done.stdout
    assert table.read_text().count("\n") == 4  # a head and three jobs


def test_a_fault_names_the_policy_as_it_was_given(tmp_path):
    coalloc.write_instance(coalloc.generate("cisne", seed=1, jobs=2), tmp_path / "shared.json")
    shown = run("simulate", str(tmp_path / "shared.json"), "--policy", "easy")
    assert shown.exit_code == 2
    assert "not supported by policy 'easy';" in shown.stderr


def test_a_trace_with_a_broken_line_runs_without_it_on_what_its_header_says(tmp_path):
    path = write(tmp_path / "t.swf", f"; MaxProcs: 4\nabc\n{SWF}")
    refused = run("simulate", path)
    assert refused.exit_code == 2
    assert "line 2: must have 18 numbers, got 'abc' among 1" in refused.stderr
    assert "--broken drop" in refused.stderr
    done = run("simulate", path, "--broken", "drop", "--json")
    assert (
        json.loads(done.stdout)["metrics"]["jobs"]
        == json.loads(run("simulate", write(tmp_path / "whole.swf", SWF), "--processors", 4, "--json").stdout)[
            "metrics"
        ]["jobs"]
    )
    assert f"{path}: one cluster of 4 processors, from the header (MaxProcs)" in done.stderr
