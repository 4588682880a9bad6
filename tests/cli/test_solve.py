"""``coalloc solve``: what it prints, writes and returns."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import time
from dataclasses import replace

import highspy
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, read_instance, read_schedule
from coalloc.io import read_result
from tests.cli.running import PYTHON, TINY, run, run_process, write
from tests.extras import needs_pictures

NASTY = ["<script>", "</script>", "[/b]", "$x_$", "../x", "[31m"]

HARD = ["--slot", "20%", "--formulation", "mode", "--time-limit", "60"]
"""Options with which the instance of ``hard`` takes minutes."""


@pytest.fixture
def tiny(tmp_path):
    return write(tmp_path / "tiny.json", TINY)


@pytest.fixture
def hard(tmp_path):
    path = tmp_path / "hard.json"
    coalloc.write_instance(coalloc.generate("thesis-oas", seed=5, jobs=14), path)
    return path


def nasty(path, **changes):
    """Write an instance full of names that terminals, markup, figures and file systems could obey."""
    nodes = [{"count": 2, "power": 1.0}]
    clusters = [{"name": name, "link_bandwidth": 125.0, "nodes": nodes} for name in ("[/b]", "[31m", "../x")]
    jobs = [{"id": name, "tasks": 3, "base_time": 100.0, "task_bandwidth": 1.0, **changes} for name in NASTY]
    return write(path, {**TINY, "name": "../../[/b][31m", "platform": {"clusters": clusters}, "jobs": jobs})


def test_a_proven_optimum_is_printed_in_six_lines_and_written(tiny, tmp_path):
    output = tmp_path / "schedule.json"
    solved = run("solve", tiny, "--slot", "50", "-o", output)
    assert solved.exit_code == 0
    lines = solved.stdout.splitlines()
    assert lines[:4] == [
        "status     optimal (stopped by proof)",
        "objective  200 s (makespan)",
        "bound      200 s",
        "gap        0.00 %",
    ]
    assert len(lines) == 7
    assert lines[6] == f"schedule   {output}"
    schedule = read_schedule(output)
    assert coalloc.check(read_instance(tiny), schedule) == []
    assert max(placement.end for placement in schedule) == 200.0
    assert run("check", tiny, output).exit_code == 0


def test_progress_goes_to_standard_error_unless_it_is_quiet(tiny):
    loud, quiet = run("solve", tiny, "--slot", 50), run("solve", tiny, "--slot", 50, "--quiet")
    assert "incumbent          200  bound          200  gap   0.00 %" in loud.stderr
    assert quiet.stderr == ""
    assert "incumbent" not in loud.stdout


def test_json_is_exactly_the_result_file(tiny, tmp_path):
    path = tmp_path / "result.json"
    solved = run("solve", tiny, "--slot", 50, "--json", "--result", path)
    assert solved.stdout == path.read_text()
    document = json.loads(solved.stdout)
    assert document["format"] == "coalloc-result"
    assert (document["status"], document["objective"], document["lower_bound"]) == ("optimal", 200.0, 200.0)
    assert read_result(path).schedule == coalloc.solve(read_instance(tiny), slot=50).schedule


@needs_pictures
def test_all_outputs_at_once(tiny, tmp_path):
    names = {"-o": "s.json.gz", "--result": "r.json", "--plot": "gantt.svg", "--write-model": "model.lp"}
    options = [part for option, name in names.items() for part in (option, tmp_path / name)]
    solved = run("solve", tiny, "--slot", "50%", *options)
    assert solved.exit_code == 0
    assert json.loads(gzip.decompress((tmp_path / "s.json.gz").read_bytes()))["format"] == "coalloc-schedule"
    assert read_result(tmp_path / "r.json").status == "optimal"
    assert "<svg" in (tmp_path / "gantt.svg").read_text()
    assert {entry.name for entry in tmp_path.iterdir()} == {"tiny.json", *names.values()}
    assert [line.split()[-1] for line in solved.stdout.splitlines()[6:]] == [
        str(tmp_path / name) for name in ("model.lp", "r.json", "s.json.gz", "gantt.svg")
    ]


@pytest.mark.parametrize(("name", "mark"), [("model.lp", "c_e_start_once(0)_:"), ("model.mps", "start_once(0)")])
def test_the_model_is_written_with_its_names(tiny, tmp_path, name, mark):
    written = run("solve", tiny, "--slot", 50, "--formulation", "mode", "--write-model", tmp_path / name)
    assert written.exit_code == 0
    assert mark in (tmp_path / name).read_text()


@pytest.mark.parametrize("extension", ["lp", "mps"])
def test_jobs_whose_names_a_model_file_cannot_tell_apart_have_each_their_own(tmp_path, extension):
    # Letters, digits and underscores are left of the names: a_b twice; the third is longer than a solver reads.
    nodes = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 1.0)])
    instance = Instance(nodes, [Job(name, 1, 100.0) for name in ("a b", "a_b", "c" * 300)])
    coalloc.write_instance(instance, tmp_path / "i.json")
    options = ("--slot", 100, "--formulation", "node", "--write-model", tmp_path / f"m.{extension}")
    assert run("solve", tmp_path / "i.json", *options, "--time-limit", 20).exit_code == 0
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(tmp_path / f"m.{extension}")) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getObjectiveValue() == pytest.approx(3.0)


def test_a_model_needs_a_slot_and_says_what_each_makes_of_it(tiny, tmp_path):
    refused = run("solve", tiny, "--write-model", tmp_path / "m.lp")
    assert refused.exit_code == 2
    lines = refused.stderr.splitlines()
    assert lines[0].startswith("coalloc: formulation 'mode' requires a time slot, in seconds or as a share of the mean")
    assert lines[1].startswith('coalloc: slot="100%" (83.33 s): ')


@pytest.mark.parametrize("formulation", ["node", "count", "mode"])
def test_every_formulation_by_name(tiny, formulation):
    solved = run("solve", tiny, "--slot", 50, "--formulation", formulation, "--json", "-q")
    document = json.loads(solved.stdout)
    assert (document["status"], document["objective"]) == ("optimal", 200.0)
    assert document["options"]["formulation"] == formulation


def test_options_reach_the_solver(tiny):
    options = {"time_limit": 7.5, "work_limit": 9, "gap": 0.25, "seed": 3, "threads": 1, "saturation": 0.5}
    arguments = [part for name, setting in options.items() for part in (f"--{name.replace('_', '-')}", setting)]
    solved = run("solve", tiny, "--slot", "50%", "--objective", "total-response-time", *arguments, "--json", "-q")
    used = json.loads(solved.stdout)["options"]
    # The mean base time is 250/3 s.
    assert used["slot"] == pytest.approx(125.0 / 3.0)
    assert used["objective"] == "total-response-time"
    assert {name: used[name] for name in options} == options


def test_a_package_by_pas(tmp_path):
    # J1 needs both nodes for itself, so that the others alone are a package: 100 s and 50 s.
    path = write(tmp_path / "package.json", {**TINY, "jobs": TINY["jobs"][1:]})
    solved = run("solve", path, "--model", "pas", "--links", "shared", "--json", "-q")
    assert json.loads(solved.stdout)["objective"] == 150.0


def test_an_infeasible_instance_is_exit_code_1_with_the_reason(tmp_path):
    path = nasty(tmp_path / "i.json", task_bandwidth=1e6)
    output, result = tmp_path / "s.json", tmp_path / "r.json"
    output.write_text("mine")
    solved = run("solve", path, "--slot", 50, "-o", output, "--result", result)
    assert solved.exit_code == 1
    assert "infeasible (stopped by proof): job '<script>' saturates a link on every allocation" in solved.stdout
    assert output.read_text() == "mine"
    assert solved.stderr == f"coalloc: no schedule was found; {output} is not written\n"
    assert read_result(result).status == "infeasible"


def test_a_start_is_a_schedule_or_a_result(tiny, tmp_path):
    result = tmp_path / "r.json"
    run("solve", tiny, "--slot", 50, "--result", result)
    assert run("solve", tiny, "--slot", 50, "--start", result).exit_code == 0
    late = json.loads(result.read_text())["schedule"]
    late["placements"][0]["end"] += 1.0
    document = {"format": "coalloc-schedule", "version": 1, **late}
    refused = run("solve", tiny, "--slot", 50, "--start", write(tmp_path / "late.json", document))
    assert refused.exit_code == 2
    assert "start must be a valid schedule of the instance: job J1" in refused.stderr


def test_placements_of_a_file_are_kept(tiny, tmp_path):
    out = tmp_path / "schedule.json"
    first = coalloc.solve(read_instance(tiny), slot=50.0).schedule
    late = first.placements[0].replace(start=500.0, end=500.0 + first.placements[0].end - first.placements[0].start)
    coalloc.write_schedule(coalloc.Schedule([late], slot=50.0), tmp_path / "part.json")
    assert run("solve", tiny, "--slot", 50, "--fixed", tmp_path / "part.json", "-o", out).exit_code == 0
    assert read_schedule(out)[late.job] == late
    refused = run("solve", tiny, "--slot", 300, "--fixed", tmp_path / "part.json")
    assert refused.exit_code == 2
    assert "fixed[0].start: must be a multiple of the time slot of 300 s, got 500" in refused.stderr


def test_an_example_stands_for_a_file():
    solved = run("solve", "example:perfect-packing-1", "--slot", 50, "-q")
    assert solved.exit_code == 0
    refused = run("solve", "example:none")
    assert refused.stderr.startswith("coalloc: unknown example 'none'; available: ")


def test_an_instance_from_a_pipe():
    solved = run_process("solve", "/dev/stdin", "--slot", "50", "-q", "--json", input=json.dumps(TINY))
    assert json.loads(solved.stdout)["objective"] == 200.0


@needs_pictures
def test_ids_are_data_wherever_they_are_shown(tmp_path):
    path = nasty(tmp_path / "i.json")
    before = sorted(entry.name for entry in tmp_path.parent.iterdir())
    schedule, page = tmp_path / "s.json", tmp_path / "g.html"
    solved = run("solve", path, "--slot", "100", "-o", schedule, "--plot", page, "--result", tmp_path / "r.json")
    assert solved.exit_code == 0
    assert {placement.job for placement in read_schedule(schedule)} == set(NASTY)
    checked = run("check", path, schedule)
    early = schedule.read_text().replace('"end": ', '"end": 1')
    schedule.write_text(early)
    found = run("check", path, schedule)
    assert (checked.exit_code, found.exit_code) == (0, 1)
    for id_ in ("<script>", "</script>", "[/b]", "$x_$", "../x", "[31m"):
        assert f"job {id_} " in found.stdout
    assert sorted(entry.name for entry in tmp_path.parent.iterdir()) == before


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_writes_the_best_known(hard, tmp_path, sent):
    output, result = tmp_path / "schedule.json", tmp_path / "result.json"
    command = [*PYTHON, "solve", hard, *HARD, "-o", output, "--result", result]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stderr.readline()  # the first incumbent
    process.stderr.readline()  # the first bound: now the model is built and solved
    process.send_signal(sent)
    shown, said = process.communicate(timeout=50)
    assert process.returncode == 0
    assert "Traceback" not in said
    assert shown.startswith("status     feasible (stopped by interrupt)\n")
    assert coalloc.check(read_instance(hard), read_schedule(output)) == []
    kept = read_result(result)
    assert kept.stopped_by == "interrupt"
    assert 0.0 < kept.lower_bound < kept.objective


@needs_pictures
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_storm_of_signals_loses_nothing(hard, tmp_path, sent):
    # The first stops the solver, and the others come within milliseconds, while all is written, to the end.
    files = {"--output": "s.json", "--result": "r.json", "--plot": "g.png", "--progress-plot": "p.png"}
    options = [part for option, name in files.items() for part in (option, tmp_path / name)]
    process = subprocess.Popen(
        [*PYTHON, "solve", hard, *HARD, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stderr.readline()
    process.stderr.readline()  # as above
    while process.poll() is None:
        process.send_signal(sent)
        time.sleep(0.005)
    shown, said = process.communicate(timeout=50)
    assert process.returncode == 0
    assert shown.startswith("status     feasible (stopped by interrupt)\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["hard.json", *files.values()])
    assert coalloc.check(read_instance(hard), read_schedule(tmp_path / "s.json")) == []
    assert read_result(tmp_path / "r.json").stopped_by == "interrupt"
    notes = {line for line in said.splitlines() if line.startswith("coalloc")}
    assert notes == {r"coalloc: the results are being written; Ctrl-\ (SIGQUIT) ends at once and discards them"}


@pytest.mark.parametrize(("limit", "elapsed"), [("60", r"\d\.\d s of 60 s "), ("inf", r"\d\.\d s  ")])
def test_a_terminal_shows_the_live_line_and_json_stays_pure(tiny, limit, elapsed):
    ours, theirs = pty.openpty()
    command = [*PYTHON, "solve", tiny, "--slot", "50", "--formulation", "count", "--json", "--time-limit", limit]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment)
    os.close(theirs)
    seen = read_terminal(ours)  # first: a terminal that nobody reads from holds up who writes on it
    document = json.loads(process.stdout.read())
    assert process.wait(timeout=30) == 0
    assert document["status"] == "optimal"
    assert re.search(elapsed, seen)
    assert "inf" not in seen
    assert "incumbent          200  bound          200  gap   0.00 %" in seen


def read_terminal(descriptor):
    """Return what a process wrote on a terminal until it closed it."""
    seen = b""
    try:
        while chunk := os.read(descriptor, 65536):
            seen += chunk
    except OSError:  # Linux says EIO where the other side has closed
        pass
    os.close(descriptor)
    return seen.decode()


def test_a_file_that_cannot_be_written_after_all_costs_nothing_else(tiny, tmp_path):
    # /dev/full is writable until something is written: like a disk that fills up during the work.
    result = tmp_path / "r.json"
    done = run("solve", tiny, "-q", "-o", "/dev/full", "--result", result)
    assert done.exit_code == 2
    assert done.stderr.splitlines() == ["coalloc: /dev/full: cannot be written: no space left on device"]
    assert "objective  200 s" in done.stdout
    assert f"result     {result}" in done.stdout
    assert coalloc.io.read_result(result).objective == 200.0


def test_a_trace_is_no_instance(tmp_path):
    done = run("solve", tmp_path / "t.swf.gz")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith("t.swf.gz: is a trace, not an instance; convert it with `coalloc convert --from swf`")


@needs_pictures
def test_the_picture_of_the_progress_is_a_chart(tmp_path):
    instance = write(tmp_path / "tiny.json", TINY)
    picture = tmp_path / "progress.svg"
    assert run("solve", instance, "-q", "--progress-plot", picture).exit_code == 0
    assert picture.read_text().startswith("<?xml")
    refused = run("solve", instance, "-q", "--progress-plot", tmp_path / "progress.html")
    assert refused.exit_code == 2
    assert "the extension must be one of .png, .svg, .pdf" in refused.stderr


def test_a_gap_may_be_a_percentage(tiny, tmp_path):
    assert run("solve", tiny, "--gap", "5%", "--saturation", "1e-1", "--result", tmp_path / "r.json").exit_code == 0
    options = json.loads((tmp_path / "r.json").read_text())["options"]
    assert (options["gap"], options["saturation"]) == (0.05, 0.1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--gap", "-1"], "must be a share such as 50% or 0.5, got '-1'"),
        (["--formulation", "count"], "count requires time slots, such as --slot 50%; in continuous time use auto"),
        (
            ["--processors", "16"],
            "--processors; it requires a trace; convert a trace with `coalloc convert --from swf`",
        ),
        (["-o", "x.png"], "must be a JSON file, got the picture x.png; --plot draws pictures"),
        (["--result", "x.PDF"], "must be a JSON file, got the picture x.PDF"),
    ],
)
def test_usage_that_names_the_remedy_is_one_line(tiny, arguments, sentence):
    refused = run("solve", tiny, *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    (line,) = refused.stderr.splitlines()
    assert sentence in line


def test_a_bound_that_proves_is_not_shown_below_the_objective(tiny):
    # 5e-7 below 42,219,200 s (11727.56 h) is within the tolerance of a proof, and 21 s (11727.55 h).
    solved = coalloc.solve(coalloc.read_instance(tiny))
    proven = replace(solved, objective=42219200.0, lower_bound=42219178.9)
    lines = dict(proven.lines())
    assert (lines["objective"], lines["bound"]) == ("11727.6 h (makespan)", "11727.6 h")


def test_methods_are_chosen_by_name_and_shown(tiny, tmp_path):
    file = tmp_path / "result.json"
    chosen = ["--method", "feasible-set LP", "--method", "list annealing", "--without", "list annealing"]
    solved = run("solve", tiny, "--verbose", *chosen, "--result", file)
    result = read_result(file)
    assert (result.options.methods, result.options.without) == (
        ("feasible-set LP", "list annealing"),
        ("list annealing",),
    )
    assert solved.stdout.splitlines()[-len(result.methods) :] == [str(one) for one in result.methods]
    refused = run("solve", tiny, "--without", "list annealin")
    sentence = "coalloc: unknown method 'list annealin' in without (did you mean 'list annealing'?)"
    assert (solved.exit_code, refused.exit_code, refused.stderr.splitlines()) == (0, 2, [sentence])
