"""``coalloc reproduce``: a clone with one script, its inputs, and what becomes of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from coalloc.studies import reproduction
from tests.cli.running import interrupted_at, run

SCRIPT = """
import sys
from pathlib import Path

folder, log, *seeds = sys.argv[1:]
text = Path(log).read_text()
if text == "broken":
    sys.exit("the log is broken")
waits = {"fcfs": 3, "easy": 2, "sjf": 1}
lines = [f"{seed},{policy},{wait}" for seed in range(int((seeds or [6])[0])) for policy, wait in waits.items()]
Path(folder, "queues.csv").write_text("\\n".join(["seed,policy,wait", *lines]))
Path(folder, "queues.md").write_text("# Queues")
"""
LISTED = """
[inputs."log.swf"]
origin = "an archive"
licence = "free"
sha256 = "{sum}"

[sources.text]
command = "benchmarks/driver.py {{output}} {{inputs}}/log.swf"
results = "results"
who = ["policy"]
over = "seed"
points = ["seed"]
measures = ["wait"]
inputs = ["log.swf"]

[sources.text.parts.queues]
figures = ["1"]
tables = ["2"]
quick = "2"

[sources.text.parts.long]
figures = ["9"]
command = "benchmarks/long.py"
"""
COMMITTED = "seed,policy,wait\n" + "".join(
    f"{seed},fcfs,9\n{seed},easy,8\n{seed},sjf,{sjf}\n" for seed, sjf in enumerate((7, 7, 7))
)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a clone with one source of two parts, its log in ``logs``; it is the current folder."""
    folder = tmp_path / "clone"
    for name in ("benchmarks", "results", "logs"):
        (folder / name).mkdir(parents=True)
    (folder / "logs" / "log.swf").write_text("jobs")
    (folder / "benchmarks" / "driver.py").write_text(SCRIPT)
    (folder / "benchmarks" / "long.py").write_text("import time\n\ntime.sleep(60)\n")
    (folder / "results" / "queues.csv").write_text(COMMITTED)
    accept(folder)
    monkeypatch.chdir(folder)
    return folder


def accept(folder: Path) -> None:
    """Put the sum of the log as it is into the list."""
    digest = reproduction.checksum(folder / "logs" / "log.swf")
    (folder / reproduction.LIST).write_text(LISTED.format(sum=digest))


def cells(shown: str, name: str) -> list[str]:
    """Return the entries of the line of a part."""
    line = next(line for line in shown.splitlines() if line.split()[1:2] == [name])
    return line.split()


def test_a_quick_run_end_to_end(clone: Path) -> None:
    shown = run("reproduce", "text", "--quick", "--data", "logs", "-o", "out")
    assert shown.exit_code == 0, shown.stderr
    assert "text queues: run" in shown.stderr
    assert "text long: left out" in shown.stderr
    # Two seeds, each a point; sjf < easy < fcfs in both tables. One seed at a point has no interval, so no pairs.
    assert cells(shown.stdout, "queues")[4:] == ["wait", "2", "1.00", "0", "of", "0"]
    page = (clone / "out" / "text.md").read_text()
    assert f"| log.swf | an archive | free | {reproduction.checksum(clone / 'logs' / 'log.swf')} | intact |" in page
    assert "- queues (Figure 1, Table 2): [queues.md](text/queues.md), `" in page
    assert (clone / "out" / "text" / "queues.csv").read_text().count("fcfs") == 2


def test_a_missing_input_is_listed(clone: Path) -> None:
    shown = run("reproduce", "-o", "out", "--quiet")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert cells(shown.stdout, "queues")[2:4] == ["input", "missing"]


def test_a_changed_input_is_an_error(clone: Path) -> None:
    (clone / "logs" / "log.swf").write_text("other jobs")
    shown = run("reproduce", "--data", "logs", "-o", "out", "--quiet")
    assert shown.exit_code == 2
    assert shown.stderr == "coalloc: log.swf: its SHA-256 is not that of benchmarks/sources.toml\n"
    assert cells(shown.stdout, "queues")[2:4] == ["input", "changed"]


def test_a_script_that_fails_and_ranks_that_disagree_are_said(clone: Path) -> None:
    (clone / "results" / "queues.csv").write_text(
        COMMITTED.replace("fcfs,9", "fcfs,1")
    )  # now sjf and fcfs change places
    shown = run("reproduce", "--figure", "Table 2", "--data", "logs", "-o", "out", "--quiet")
    assert (shown.exit_code, shown.stderr) == (1, "coalloc: text queues: ranks disagree with the committed run\n")
    (clone / "logs" / "log.swf").write_text("broken")
    accept(clone)
    shown = run("reproduce", "--figure", "1", "--data", "logs", "-o", "out", "--quiet")
    assert (shown.exit_code, shown.stderr) == (1, "coalloc: text queues: failed: the log is broken\n")


def test_an_interrupt_ends_the_script_and_says_how_to_go_on(clone: Path) -> None:
    code, out, rest = interrupted_at("text queues", "reproduce", "--data", "logs", "-o", "out")
    assert (code, out, rest) == (1, "", "coalloc: interrupted; run the same command again to resume\n")
    assert (clone / "out" / "text" / "queues.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--figure", "3"), "--figure: no figure or table '3' is reproduced; there are Figure 1, Table 2, Figure 9"),
        (
            ("--data", "absent"),
            "invalid value for '--data': dir 'absent' does not exist; see `coalloc reproduce --help`",
        ),
        (("texd",), "SOURCE: must be all, text, got 'texd' (did you mean 'text'?)"),
    ],
)
def test_what_is_not_listed_is_said_with_what_is(clone: Path, arguments: tuple[str, ...], line: str) -> None:
    shown = run("reproduce", *arguments)
    assert (shown.exit_code, shown.stderr) == (2, f"coalloc: {line}\n")


def test_without_a_clone_a_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduction, "LIST", Path("benchmarks", "absent.toml"))
    shown = run("reproduce")
    assert shown.exit_code == 2
    assert shown.stderr.startswith("coalloc: this requires a clone of coalloc")
