"""``-`` is standard input and standard output, alone and in pipes."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.cli.running import PYTHON, TINY, run, run_process, write


def piped(*commands: list[str], given: str) -> tuple[list[int], str, str]:
    """Run commands one after another, each on the output of the one before; return exit codes, output, errors."""
    codes, errors, text = [], "", given
    for command in commands:
        done = subprocess.run([*PYTHON, *command], input=text, capture_output=True, text=True, timeout=60, check=False)
        codes.append(done.returncode)
        errors, text = errors + done.stderr, done.stdout
    return codes, text, errors


def test_a_pipe_of_commands(tmp_path):
    instance = write(tmp_path / "tiny.json", TINY)
    solve, check = ["solve", "-", "--quiet", "-o", "-"], ["check", str(instance), "-"]
    codes, out, errors = piped(solve, check, given=json.dumps(TINY))
    assert (codes, out.splitlines()[0]) == ([0, 0], "valid: 3 placements, makespan 200 s")
    # What solve has to say stands beside the file, on standard error.
    assert "objective  200 s (makespan)" in errors
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_standard_output_holds_the_file_alone(tmp_path, output):
    shown = run_process("solve", write(tmp_path / "tiny.json", TINY), "-q", "-o", output)
    assert json.loads(shown.stdout)["format"] == "coalloc-schedule"
    # The next command of the same process says where it always says.
    assert "objective" in run("solve", tmp_path / "tiny.json", "-q").stdout


def test_standard_output_takes_one_file(tmp_path):
    shown = run("solve", write(tmp_path / "tiny.json", TINY), "-o", "-", "--result", "/dev/stdout")
    assert shown.exit_code == 2
    assert shown.stderr == "coalloc: --result: /dev/stdout cannot be written: it is also the file of --output\n"


def test_a_file_of_that_name_is_reached_by_its_folder(tmp_path):
    write(tmp_path / "-", TINY)
    done = run_process("solve", "./-", "-q", "-o", "./schedule", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "schedule").is_file()) == (0, True)


def test_empty_standard_input_is_a_fault():
    codes, _, errors = piped(["solve", "-", "-q"], given="")
    assert (codes, errors) == ([2], "-: is empty, must contain a JSON object\n")
