"""The pages of the project as programs: their blocks of code, run in order in one process a page, what they print.

A page is read from top to bottom, so later blocks may use what earlier ones made. A comment of HTML before a block says
what a reader has and a test has not: ``<!-- given: COMMANDS -->`` are commands that make it, and ``<!-- shown only:
REASON -->`` keeps a block from being run. ``<!-- saved as: FILE -->`` is a file that later blocks run.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tomllib
import traceback
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tests.in_process import InProcess

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("README.md"))
)
SET_UP = re.compile(r"^python3 -m venv .* && \.venv/bin/")
PART = re.compile(r"^<!-- (given|shown only|saved as):\s(.*?)-->$|^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_A_SHELL = re.compile(r"[|<>&;$*()`]")
PROCESSES: Any = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
"""Makes a process a page: where it can, a copy of one that has loaded the libraries."""
LOADED = ["coalloc.studies.grid", "highspy", "pandas", "pyomo.environ", "scipy.stats", "tests.pages"]
PROCESSES.set_forkserver_preload(LOADED)
DATA = {"json": json.loads, "toml": tomllib.loads}


class Block(NamedTuple):
    """A block of code of a page, and the output that the page shows for it."""

    language: str
    code: str
    output: str = ""
    given: str = ""
    shown_only: str = ""
    saved_as: str = ""


def text_of(page: str) -> str:
    """Return the text of a page, named from the root of the project."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str = "README.md") -> list[Block]:
    """Return the blocks of code of a page in order; a block of language ``text`` is the output of the one before."""
    found: list[Block] = []
    said = dict.fromkeys(("given", "shown only", "saved as"), "")
    for directive, words, language, code in PART.findall(text_of(page)):
        if directive:
            said[directive] += words
        elif language == "text" and found and not found[-1].output:
            found[-1] = found[-1]._replace(output=code)
        elif language in ("python", "sh", *DATA):
            found.append(Block(language, code, "", *(words.strip() for words in said.values())))
            said = dict.fromkeys(said, "")
    return found


def missing(output: str, printed: str) -> list[str]:
    """Return the lines shown that were not printed, in this order; ``...`` in a line stands for anything."""
    lines = iter(printed.splitlines())
    patterns = [(line, ".*".join(re.escape(part) for part in line.split("..."))) for line in output.splitlines()]
    return [line for line, pattern in patterns if not any(re.fullmatch(pattern, found) for found in lines)]


def run_page(page: str, directory: Path) -> list[dict[str, str]]:
    """Run the blocks of a page in an empty directory; return what each printed, and the error that ended the last."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg", "COLUMNS": "120"}
    answer = directory / "printed.json"
    empty = directory / "reader"
    empty.mkdir()
    process = PROCESSES.Process(target=main, args=(page, str(empty), str(answer)))
    with mock.patch.dict(os.environ, environment):
        process.start()
    process.join()
    assert process.exitcode == 0
    printed: list[dict[str, str]] = json.loads(answer.read_text(encoding="utf-8"))
    return printed


def _run_shell(code: str) -> None:
    """Run lines of the shell; those that are ``coalloc`` alone in this process, which has loaded it already."""
    for written in code.replace("\\\n", " ").splitlines():
        line = SET_UP.sub("", written)
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "coalloc" and not NEEDS_A_SHELL.search(line.partition(" #")[0]):
            _run_coalloc(words)
        else:
            done = subprocess.run(["bash", "-euc", line], capture_output=True, text=True, check=False)
            print(done.stdout, end="")
            if done.returncode:
                raise RuntimeError(f"{line}: exit code {done.returncode}\n{done.stderr}")


def _run_coalloc(words: list[str]) -> None:
    from coalloc.cli.app import app

    sys.argv = words
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            app()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{shlex.join(words)}: exit code {end.code}\n{errors.getvalue()}") from None


def _run(block: Block, namespace: dict[str, Any]) -> None:
    _run_shell(block.given)
    if block.shown_only:
        return
    if block.saved_as:
        Path(block.saved_as).write_text(block.code, encoding="utf-8")
        return
    if block.language == "python":
        exec(compile(block.code, "<block>", "exec"), namespace)
    elif block.language == "sh":
        _run_shell(block.code)
    else:
        DATA[block.language](block.code)


def main(page: str, directory: str, answer: str) -> None:
    """Run a page in a directory, and write what its blocks print; its studies run in this process."""
    from coalloc.studies import grid, runs

    grid.LocalWorkers = runs.LocalWorkers = InProcess  # type: ignore[assignment,misc]
    os.chdir(directory)
    sys.path.insert(0, "")
    printed: list[dict[str, str]] = []
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        out = io.StringIO()
        error = ""
        try:
            with contextlib.redirect_stdout(out):
                _run(block, namespace)
        except BaseException:
            error = traceback.format_exc()
        printed.append({"printed": out.getvalue(), "error": error})
        if error:
            break
    Path(answer).write_text(json.dumps(printed), encoding="utf-8")
