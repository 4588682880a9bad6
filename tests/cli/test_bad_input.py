"""Every bad input through the shell: exit code 2, one line per fault, no traceback, no output touched."""

import errno
import gzip
import json
from typing import NoReturn

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from coalloc.cli.app import app
from coalloc.cli.shell import Command
from coalloc.system.extras import is_installed
from tests.cli.running import TINY, run, write
from tests.instance.documents import CROSS_FAULTS, FIELD_FAULTS, VALID, broken

TEXTS = {
    "truncated": (json.dumps(VALID)[:-30], "is not JSON: "),
    "no JSON": ("jobs: 3", "is not JSON: "),
    "empty": ("", "is empty, must contain a JSON object"),
    "a list": ("[1]", "must contain a JSON object, got a list"),
    "duplicate key": (
        json.dumps(VALID).replace('"version": 1', '"version": 1, "version": 1'),
        "version: occurs twice",
    ),
    "NaN": (json.dumps(broken((("jobs", 1, "base_time"), float("nan")))), "jobs[1].base_time: must be finite, got NaN"),
    "1e999": (json.dumps(VALID).replace("300.0", "1e999"), "jobs[1].base_time: must be finite, got 1e999"),
    "100 MB of [": ("[" * 100_000_000, "is nested too deeply"),
}


def refuse(path, tmp_path):
    """Run ``solve`` with every output on a bad file; return its lines, after what must hold for all."""
    outputs = [tmp_path / name for name in ("schedule.json", "result.json", "gantt.svg", "model.lp")]
    for output in outputs:
        output.write_text("mine")
    options = dict(zip(("-o", "--result", "--plot", "--write-model"), outputs, strict=True))
    if not is_installed("matplotlib"):
        del options["--plot"]
    refused = run("solve", path, "--slot", "50%", *(part for option in options.items() for part in option))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Traceback" not in refused.stderr
    assert [output.read_text() for output in outputs] == ["mine"] * 4
    assert {entry.name for entry in tmp_path.iterdir()} <= {path.name, *(output.name for output in outputs)}
    return refused.stderr.splitlines()


def test_a_fault_of_an_instance_is_one_line_with_its_path(tmp_path):
    for place, content, line in (*FIELD_FAULTS.values(), *CROSS_FAULTS.values()):
        path = write(tmp_path / "wl1.json", broken((place, content)))
        assert f"{path}: {line}" in refuse(path, tmp_path)


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_is_no_instance_is_one_line(tmp_path, name):
    text, line = TEXTS[name]
    path = write(tmp_path / "wl1.json", text)
    (said,) = refuse(path, tmp_path)
    assert said.startswith(f"{path}: {line}")


def test_every_fault_has_its_line(tmp_path):
    path = write(tmp_path / "wl1.json", broken((("jobs", 0, "tasks"), 0), (("jobs", 1, "id"), ""), (("colour",), 1)))
    assert len(refuse(path, tmp_path)) == 3


def test_a_gzip_bomb_ends_at_the_stated_limit(tmp_path):
    path = tmp_path / "bomb.json.gz"
    megabyte = gzip.compress(b" " * 1_000_000, 1)
    path.write_bytes(megabyte * 300)  # members of a gzip file may follow each other
    assert refuse(path, tmp_path) == [f"{path}: exceeds the size limit of 256 MB (decompressed)"]


def test_no_such_file_and_no_file(tmp_path):
    for path, reason in ((tmp_path / "no.json", "no such file or directory"), (tmp_path, "is a directory")):
        refused = run("solve", path)
        assert (refused.exit_code, refused.stderr) == (2, f"{path}: cannot be read: {reason}\n")


def test_a_file_name_is_shown_and_not_obeyed(tmp_path):
    refused = run("solve", tmp_path / "a\x1b[31m\nb.json")
    assert refused.stderr == f"{tmp_path}/a\\x1b[31m\\nb.json: cannot be read: no such file or directory\n"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--slot", "half"], "slot: must be seconds or a percentage such as \"50%\", got 'half'"),
        (["--slot", "0"], "slot: must be above 0 and finite, got 0.0"),
        (["--slot", "nan"], 'slot: must be seconds, a percentage such as "50%", or None, got nan'),
        (["--model", "mip"], "model: must be 'oas', 'pas', 'cbs' or 'jpr', got 'mip'"),
        (["--formulation", "best"], "formulation of model 'oas' must be one of auto, node, count, mode"),
        (["--objective", "cost"], "objective of model 'oas' must be one of makespan"),
        (["--links", "loose"], "links: must be 'strict', 'shared' or 'ignore', got 'loose'"),
        (["--time-limit", "0"], "time_limit: must be above 0, got 0.0"),
        (["--time-limit", "nan"], "time_limit: must be a number or None, got nan"),
        (["--gap", "2"], "gap: must be at most 1, got 2.0"),
        (["--threads", "0"], "threads: must be at least 1, got 0"),
        (["--work-limit", "0"], "work_limit: must be at least 1, got 0"),
        (["--seed", "-1"], "seed: must be at least 0, got -1"),
        (["--solver", "magic"], "solver 'magic' cannot be used: it is unknown to Pyomo or not installed"),
    ],
)
def test_a_bad_option_is_one_line(tmp_path, options, line):
    refused = run("solve", write(tmp_path / "i.json", TINY), "--slot", "50%", "-q", *options)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"coalloc: {line}")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("outputs", "line"),
    [
        (["-o", "nowhere/s.json"], "--output: {0}/nowhere/s.json cannot be written: the folder does not exist"),
        (["-o", 300 * "x"], f"--output: {{0}}/{300 * 'x'} cannot be written: file name too long"),
        (["--result", "."], "--result: {0} cannot be written: it is a folder"),
        (["-o", "i.json"], "--output: {0}/i.json cannot be written: it is an input"),
        (
            ["-o", "a.json", "--result", "./a.json"],
            "--result: {0}/a.json cannot be written: it is also the file of --output",
        ),
        (["--plot", "gantt.bmp"], "cannot draw to '{0}/gantt.bmp': the extension must be one of"),
        (["--write-model", "m.nl"], "--write-model: must end in .lp or .mps, got {0}/m.nl"),
    ],
)
def test_outputs_are_refused_before_the_work_begins(tmp_path, outputs, line):
    path = write(tmp_path / "i.json", TINY)
    placed = [part if part.startswith("-") else f"{tmp_path}/{part}" for part in outputs]
    refused = run("solve", path, "--slot", "50%", *placed)
    assert refused.exit_code == 2
    assert refused.stderr.replace(str(tmp_path), "{0}").startswith(f"coalloc: {line}")
    assert refused.stderr.count("\n") == 1, "no progress was made"
    assert json.loads(path.read_text()) == TINY
    assert [entry.name for entry in tmp_path.iterdir()] == ["i.json"]


def test_a_file_system_that_takes_no_file_is_heard_of_before_the_work_begins(tmp_path, monkeypatch):
    def refuse(dir: str) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    refused = run("solve", write(tmp_path / "i.json", TINY), "--slot", "50%", "-o", tmp_path / "s.json")
    line = f"coalloc: --output: {tmp_path}/s.json cannot be written: read-only file system\n"
    assert (refused.exit_code, refused.stderr) == (2, line)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["simulate", "i.json", "--jobs", ""], "'--jobs'"),
        (["simulate", "i.json", "--jobs="], "'--jobs'"),
        (["solve", "i.json", "-o", ""], "'--output' / '-o'"),
        (["solve", "i.json", "--solver", ""], "'--solver'"),
        (["solve", ""], "'FILE'"),
        (["check", "i.json", ""], "'SCHEDULE'"),
        (["audit", "i.json", "--store", ""], "'--store'"),
        (["compare", "i.json", "", "--policy", "easy"], "'FILE'"),
        (["compare", "i.json", "--policy", "easy", "--policy", ""], "'--policy'"),
        (["study", "slot-size", "i.json", "--plot", ""], "'--plot'"),
        (["bench", "report", ""], "'STORE'"),
    ],
)
def test_an_empty_argument_is_refused_by_its_name(tmp_path, monkeypatch, arguments, name):
    # As a path it would be the folder at hand.
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "i.json", TINY)
    refused = run(*arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"coalloc: invalid value for {name}: must not be empty, got ''; see `coalloc ")
    assert refused.stderr.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["i.json"]


def test_every_command_refuses_what_is_empty():
    def commands(group):
        for command in group.commands.values():
            yield from commands(command) if isinstance(command, TyperGroup) else [command]

    assert all(isinstance(command, Command) for command in commands(get_command(app)))
