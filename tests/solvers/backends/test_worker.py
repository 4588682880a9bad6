"""Child processes of a solve: what they do wrong is noted and ends nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import coalloc
from coalloc.solvers.backends.worker import Message, Worker

ANSWERING = """
from coalloc.solvers.backends.asker import Asker

def main(requests, answers):
    asker = Asker(requests, answers)
    asker.read()
    {}
    asker.write({{"status": "DONE"}})
    asker.read()
"""
"""A child that does something before it answers."""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Make a module with this code, and return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(code: str) -> str:
        (tmp_path / "of_a_child.py").write_text(code)
        return "of_a_child"

    return made


def asked(module: str) -> tuple[list[Message], list[str]]:
    """Return the messages of a child that is asked once, and what was noted of it."""
    notes: list[str] = []
    with Worker(module, notes.append) as worker:
        return list(worker.messages({}, 60.0)), notes


@pytest.mark.parametrize("writes", ["os.write(1, b'banner\\n')", "print('banner', flush=True)", "os.system('echo x')"])
def test_what_a_library_prints_is_no_answer(child: Callable[[str], str], writes: str) -> None:
    # On the first line as well, before the child can do anything about it.
    code = f"import os\nos.write(1, b'banner\\n')\n{ANSWERING.format(writes)}"
    assert asked(child(code)) == ([{"status": "DONE"}], [])


@pytest.mark.parametrize("line", ["banner", "17", '{"cut', "\\xff"])
def test_a_line_that_is_no_message_is_noted_and_skipped(child: Callable[[str], str], line: str) -> None:
    code = ANSWERING.format(f"asker._answers.write({line!r}.encode('latin-1') + b'\\n')".replace("\\\\x", "\\x"))
    messages, notes = asked(child(code))
    assert messages == [{"status": "DONE"}]
    shown = "\ufffd" if line == "\\xff" else line
    assert notes == [f"its process sent an invalid message: {shown}"]


@pytest.mark.parametrize(
    ("failure", "note"),
    [
        ("raise ValueError('no such thing')", "its process ended with exit code 1: ValueError: no such thing"),
        ("import os; os._exit(3)", "its process ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "its process was ended by signal 9"),
    ],
)
def test_the_end_of_a_child_that_fails_is_noted_once(child: Callable[[str], str], failure: str, note: str) -> None:
    notes: list[str] = []
    with Worker(child(ANSWERING.format(failure)), notes.append) as worker:
        assert list(worker.messages({}, 60.0)) == []
        assert list(worker.news()) == []
    assert notes == [note]


def test_the_end_of_a_child_that_is_only_listened_to_is_noted(child: Callable[[str], str]) -> None:
    notes: list[str] = []
    deadline = time.monotonic() + 60.0
    with Worker(child(ANSWERING.format("raise SystemExit(2)")), notes.append) as worker:
        worker.tell({})
        while not notes and time.monotonic() < deadline:
            assert list(worker.news()) == []
    assert notes == ["its process ended with exit code 2"]


def test_a_child_that_is_ended_here_has_not_failed(child: Callable[[str], str]) -> None:
    notes: list[str] = []
    with Worker(child(ANSWERING.format("asker.read()")), notes.append) as worker:
        worker.close()
        assert list(worker.news()) == []
    assert notes == []


def test_a_process_that_cannot_be_started_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert asked("json") == ([], ["its process cannot start: no such file or directory"])


def test_a_solve_goes_on_without_the_cores_whose_processes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    result = coalloc.solve(coalloc.generate("thesis-oas", seed=2, jobs=24), slot="15%", time_limit=2.0, threads=2)
    assert result.schedule is not None
    noted = [
        point for point in result.trace if point.source.startswith("beam search: its process ended with exit code 1")
    ]
    assert len(noted) == 1
    bounds = [point.lower_bound or 0.0 for point in result.trace]
    assert bounds == sorted(bounds)
