"""What holds for every command: help, version, exit codes, faults in one line."""

import json
import os
import subprocess
import sys
import warnings
from importlib import metadata

import pytest
import typer

import coalloc
from coalloc.cli.app import app
from coalloc.cli.errors import ExitCode, exit_code_of
from coalloc.solvers import solve_state
from tests.cli.running import PYTHON, TINY, run, run_process, write

COMMANDS = (
    "solve",
    "simulate",
    "check",
    "compare",
    "audit",
    "whatif",
    "explain",
    "study",
    "bench",
    "generate",
    "convert",
    "import",
    "merge",
    "library",
    "reproduce",
    "policies",
    "schema",
    "examples",
    "demo",
    "versions",
    "solvers",
    "certify",
    "verify",
)

HEAVY = ("pyomo", "pandas", "matplotlib", "highspy", "plotly", "scipy", "networkx")


def test_version_is_that_of_the_package():
    shown = run("--version")
    assert (shown.exit_code, shown.stdout) == (0, f"coalloc {metadata.version('coalloc')}\n")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["solve", "--help"]])
def test_help_and_version_load_nothing_heavy(arguments):
    program = (
        "import sys; from coalloc.cli import main\n"
        "try: main()\n"
        f"finally: print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    shown = run(command, "-h")
    assert shown.exit_code == 0
    assert "Usage: coalloc" in shown.stdout


def test_help_lists_every_command():
    shown = run("--help").stdout
    assert [command for command in COMMANDS if f"│ {command} " not in shown] == []


def test_no_command_is_bad_usage_and_shows_the_help():
    shown = run()
    assert shown.exit_code == 2
    assert "Usage: coalloc" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["slove"], "coalloc: no such command 'slove' (did you mean 'solve', 'solvers'?); see `coalloc --help`"),
        (["solve"], "coalloc: missing argument 'FILE'; see `coalloc solve --help`"),
        (["solve", "x.json", "--sloth", "3"], "coalloc: no such option: --sloth"),
        (["solve", "x.json", "--seed", "one"], "coalloc: invalid value for '--seed': must be an integer"),
        (["convert", "t.swf", "--from", "gwf", "--platform", "p.json"], "coalloc: invalid value for --from"),
        (["schema", "job"], "coalloc: unknown file format 'job'; available: instance, platform, schedule, result"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(arguments, line):
    refused = run(*arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(line)
    assert refused.stderr.count("\n") == 1


def test_a_fault_of_ours_is_one_line_and_exit_code_3(monkeypatch):
    def broken(kind):
        raise KeyError("a\x1b[31m\nb")

    monkeypatch.setattr(coalloc.io, "schema", broken)
    failed = run("schema", "instance")
    assert failed.exit_code == 3
    assert failed.stderr == (
        "coalloc: internal error, please report it: KeyError: 'a\\x1b[31m\\nb' (--debug prints the traceback)\n"
    )


@pytest.mark.parametrize("arguments", [["--debug", "schema", "instance"], ["schema", "instance", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch, arguments):
    def broken(kind):
        raise ZeroDivisionError

    monkeypatch.setattr(coalloc.io, "schema", broken)
    failed = run(*arguments)
    assert failed.exit_code == 3
    assert "Traceback (most recent call last):" in failed.stderr
    assert "ZeroDivisionError" in failed.stderr


def test_a_schedule_of_ours_that_the_checker_refuses_is_our_fault(monkeypatch, tmp_path):
    violation = coalloc.results.Violation("overlap", ("J1",), "C1/0", 0.0, 2.0, 1.0, "J1 and J2 hold C1/0")
    monkeypatch.setattr(solve_state, "check", lambda *_: [violation])
    output = tmp_path / "schedule.json"
    failed = run("solve", write(tmp_path / "i.json", TINY), "--slot", 50, "-o", output, "-q")
    assert failed.exit_code == 3
    assert failed.stderr.count("\n") == 1
    assert "J1 and J2 hold C1/0" in failed.stderr
    assert not output.exists()


def test_interrupted_before_anything_is_known(monkeypatch):
    def interrupted(kind):
        raise KeyboardInterrupt

    monkeypatch.setattr(coalloc.io, "schema", interrupted)
    stopped = run("schema", "instance")
    assert (stopped.exit_code, stopped.stderr) == (1, "coalloc: interrupted\n")


def test_a_thread_that_does_not_end_does_not_keep_the_command():
    # A solver that is slow to notice its interrupt; the command ends, or else the test does not.
    program = (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(1000.0,)).start()\n"
        "from coalloc.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, "schema", "no such kind"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("schema", "result"), ("simulate", "--help"), ("bench", "--help"), ("--help",)])
def test_a_reader_that_goes_away_is_no_fault(arguments):
    # The reader of the pipe closes it at once, as `| head` may.
    process = subprocess.Popen([*PYTHON, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 0


def test_a_reader_that_goes_before_the_last_line_is_no_fault():
    # The library of the shell prints the end of a help page by itself, and raises.
    program = "import sys; from coalloc.cli.errors import exit_code_of as code; "
    program += "sys.exit(code(lambda: print(flush=True) or 0, 'coalloc --help', False))"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 0


def test_a_full_disk_behind_standard_output_is_said():
    with open("/dev/full", "w") as full:
        process = subprocess.run([*PYTHON, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert process.returncode == 2
    assert process.stderr == "coalloc: standard output cannot be written: No space left on device\n"


def test_ids_that_the_terminal_cannot_show_are_escaped(tmp_path):
    document = {**TINY, "jobs": [{"id": "é", "tasks": 3, "base_time": 1.0}]}
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    failed = run_process("solve", write(tmp_path / "ü.json", document), env=environment)
    assert failed.returncode == 2
    assert failed.stderr.endswith("jobs[0].tasks: must be at most 2 (all processors of the platform), got 3\n")


def test_versions_name_what_decides_a_result():
    lines = run("versions").stdout.splitlines()
    assert [line.split()[0] for line in lines][:4] == ["coalloc", "python", "system", "highspy"]


def test_the_commands_are_those_that_work():
    commands = {command.callback.__name__ for command in app.registered_commands}
    assert commands | {group.typer_instance.info.name for group in app.registered_groups} == set(COMMANDS)


def test_the_shell_is_told_how_to_complete_commands_and_options():
    asked = {"_COALLOC_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    commands = run_process(env={**os.environ, **asked, "COMP_WORDS": "coalloc sch"})
    assert (commands.returncode, commands.stdout.split()) == (0, ["schema"])
    options = run_process(env={**os.environ, **asked, "COMP_CWORD": "2", "COMP_WORDS": "coalloc solve --form"})
    assert options.stdout.split() == ["--formulation"]


def test_lists_are_there_as_json():
    assert json.loads(run("versions", "--json").stdout)["coalloc"] == metadata.version("coalloc")
    policies = json.loads(run("policies", "--json").stdout)
    assert list(policies) == list(coalloc.policies())
    assert policies["fcfs"]["options"]["skip"] is False
    assert list(json.loads(run("examples", "--json").stdout)) == [*coalloc.examples(), *coalloc.grid.platforms()]


INTERRUPTED = """
import sys, types
from coalloc.cli import main

class Interrupting(types.ModuleType):
    def __getattr__(self, name):
        raise KeyboardInterrupt

sys.modules["coalloc.cli.app"] = Interrupting("coalloc.cli.app")
main()
"""
"""Somebody presses Ctrl-C while the modules of the commands are loaded."""


def test_ctrl_c_while_the_command_line_is_loaded_is_one_line():
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "coalloc: interrupted\n")


def commands_of(group, path=()):
    """Yield the words of each command that runs, sub-commands included."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.mark.parametrize(("words", "command"), list(commands_of(typer.main.get_command(app))), ids=str)
def test_every_command_can_be_quiet(words, command):
    (quiet,) = [option for option in command.params if "--quiet" in option.opts]
    assert quiet.opts == ["--quiet", "-q"]


def test_quiet_commands_write_nothing_but_what_was_asked_for(tmp_path):
    path = tmp_path / "i.json"
    assert run("generate", "thesis-oas", "-o", path).stderr == f"{path}: 8 jobs; clusters of 4, 4, 4 processors\n"
    for words in (("generate", "thesis-oas", "-o", path), ("examples", "thesis-oas-1", "-o", path), ("policies",)):
        assert run(*words, "-q").stderr == ""


def test_a_warning_of_ours_is_a_line_on_standard_error(capsys):
    def command():
        warnings.warn("lower_bound relaxes 'deadline'", coalloc.results.RelaxedFeatureWarning, stacklevel=1)
        return ExitCode.DONE

    assert exit_code_of(command, "coalloc --help", debug=False) == ExitCode.DONE
    assert capsys.readouterr().err == "coalloc: lower_bound relaxes 'deadline'\n"
