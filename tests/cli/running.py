"""How the tests run commands: in this process, or as a user does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from coalloc.cli.app import app

PYTHON = [sys.executable, "-m", "coalloc"]
"""The command, wherever it is installed."""

TINY: dict[str, Any] = {
    "format": "coalloc-instance",
    "version": 1,
    "name": "tiny",
    "platform": {"clusters": [{"name": "C1", "link_bandwidth": 125.0, "nodes": [{"count": 2, "power": 1.0}]}]},
    "jobs": [
        {"id": "J1", "tasks": 2, "base_time": 100.0},
        {"id": "J2", "tasks": 1, "base_time": 100.0},
        {"id": "J3", "tasks": 1, "base_time": 50.0},
    ],
}
"""Two nodes: J1 takes both for 100 s, J2 and J3 run side by side for 100 s. The least makespan is 200 s."""


def run(*arguments: object) -> Any:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [*PYTHON, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


def interrupted_at(line: str, *arguments: object) -> tuple[int, str, str]:
    """Run a command, press Ctrl-C when a line of standard error begins like this; return exit code, output, errors."""
    command = [*PYTHON, *(str(argument) for argument in arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for said in process.stderr:
            if said.startswith(line):
                break
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=60)
    return process.returncode, out, rest


def write(path: Path, document: object) -> Path:
    """Write a document (or the text of one) as a file."""
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path
