"""What the scripts here share: a process per sample that its parent can kill, and a store that forgets nothing.

A solver may ignore its time limit, exhaust memory or crash; a sample in a process of its own then loses
itself only. The store is SQLite with one transaction per sample, so that a benchmark that is killed
loses only what was running, and run again does only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from csv import DictWriter
from io import StringIO
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Thread
from typing import Any

import coalloc
from coalloc.instance.storage import write_atomically
from coalloc.versions import versions

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
NOT_SOLVING = ("cli", "plot", "workloads")
"""Rooms of coalloc that do not change what a solver does with a given instance."""
CRASHED = {"status": "crashed"}
FAREWELL = 5.0
"""Seconds that a process gets to end after it has sent its answer."""

Row = Mapping[str, Any]
"""One sample: what was run (its key) and what came out."""


# --- a sample in a process of its own -------------------------------------------------------------


def run_killable(function: Callable[[Any], Row], argument: Any, seconds: float) -> Row:
    """Return ``function(argument)`` computed in a new process, which is killed after ``seconds`` with all its children.

    ``function`` must be importable by name. What is returned instead, where it did not end by
    itself: ``{"status": "killed"}``, or ``{"status": "crashed", "message": ...}``.
    """
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_call, args=(function, argument, sender), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return {"status": "killed", "message": f"did not end by itself within {seconds:g} s"}
        answer: Row = receiver.recv()
        process.join(FAREWELL)
        return answer
    except EOFError:
        process.join()
        return {"status": "crashed", "message": f"the process ended with exit code {process.exitcode}"}
    finally:
        _kill(process)


def _kill(process: SpawnProcess) -> None:
    """End a process and, where it still runs, those that it started: a solver may have a process of its own."""
    children = descendants(process.pid) if process.is_alive() and process.pid is not None else []
    process.kill()
    process.join()
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that these did."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in listing.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found = [pid]
    for parent in found:
        found.extend(children.get(parent, ()))
    return found[1:]


def _call(function: Callable[[Any], Row], argument: Any, sender: Connection) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send(function(argument))
    except Exception as error:
        sender.send({"status": "crashed", "message": f"{type(error).__name__}: {error}"})


def _end_with_parent() -> None:
    """End this process when its parent is gone, lest it disturbs what is measured next."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def hidden(module: str) -> Iterator[None]:
    """Make a module that is not loaded yet look as if it were not installed, in this process."""
    if module in sys.modules:
        raise RuntimeError(f"{module} is loaded already")
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


def peak_memory() -> float:
    """Return the most memory, MB, that this process held plus the most that any child that ended did.

    It is above the true peak where both did not peak at once, and since Linux counts a child as its
    parent until it runs its own program; below it where several large children run at a time.
    """
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / unit


def run_missing(
    store: Store, samples: Iterable[tuple[str, Any]], function: Callable[[Any], Row], seconds: float, jobs: int
) -> Iterator[tuple[str, Row]]:
    """Run the (key, argument) samples that the store lacks, in order; store and yield each as it ends.

    What crashed before counts as missing: it is run again.
    """
    missing = [(key, argument) for key, argument in samples if (store.get(key) or CRASHED)["status"] == "crashed"]
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(run_killable, function, argument, seconds): key for key, argument in missing}
        try:
            for future in as_completed(running):
                store.add(running[future], future.result())
                yield running[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


# --- the store ------------------------------------------------------------------------------------


class Store:
    """Rows by key in an SQLite file; every row is on disk when ``add`` returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path)
        self._database.execute("CREATE TABLE IF NOT EXISTS samples (key TEXT PRIMARY KEY, row TEXT NOT NULL)")

    def add(self, key: str, row: Row) -> None:
        """Keep a row, instead of any of the same key."""
        with self._database:
            self._database.execute("INSERT OR REPLACE INTO samples VALUES (?, ?)", (key, json.dumps(dict(row))))

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the row of a key, None where there is none."""
        found = self._database.execute("SELECT row FROM samples WHERE key = ?", (key,)).fetchone()
        return None if found is None else json.loads(found[0])


# --- provenance -----------------------------------------------------------------------------------


def provenance() -> dict[str, str]:
    """Return what a sample's time depends on beside the machine: coalloc's version, commit and code, the solvers."""
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    known = versions()
    return {
        "version": known["coalloc"],
        "commit": head.stdout.strip() or "unknown",
        "code": code_digest(),
        "highspy": known["highspy"],
        "ortools": known["ortools"],
        "python": known["python"],
    }


def code_digest() -> str:
    """Return a digest of the source files that decide a solve, so that other commits keep their samples."""
    package = Path(coalloc.__file__).parent
    files = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        if file.parts[0] not in NOT_SOLVING:
            digest.update(str(file).encode() + b"\0" + (package / file).read_bytes())
    return digest.hexdigest()[:12]


# --- tables ---------------------------------------------------------------------------------------


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write rows as CSV; a column that a row lacks is empty."""
    stream = StringIO()
    writer = DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, stream.getvalue())


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown; floats with four digits, None empty."""
    lines = [columns, ["---"] * len(columns), *([_cell(entry) for entry in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(entry: Any) -> str:
    text = "" if entry is None else f"{entry:.4g}" if isinstance(entry, float) else str(entry)
    return text.replace("|", "\\|").replace("\n", " ")


def geometric_mean(numbers: Sequence[float], shift: float = 0.0) -> float | None:
    """Return exp(mean(log(x + shift))) - shift, None of nothing."""
    if not numbers:
        return None
    return math.exp(math.fsum(math.log(number + shift) for number in numbers) / len(numbers)) - shift


def percentile(numbers: Sequence[float], share: float) -> float | None:
    """Return the smallest of the numbers that at least ``share`` of them do not exceed, None of nothing."""
    if not numbers:
        return None
    return sorted(numbers)[max(0, math.ceil(share * len(numbers) - 1e-9) - 1)]
