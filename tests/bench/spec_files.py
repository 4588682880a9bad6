"""Specifications for the tests."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

from coalloc.bench.methods import run_method
from coalloc.bench.protocol import Message, Task
from coalloc.bench.provenance import machine
from coalloc.documents.kinds import value_of
from coalloc.documents.strict_json import parse
from coalloc.instance.files import INSTANCE

NUM_SAMPLES = 200
TRIVIAL = """
name = "trivial"

[limits]
time = 30.0
memory = 2000.0

[[instances]]
generator = "thesis-oas"
seeds = "1..50"
parameters = { jobs = 2 }

[[methods]]
method = "lower_bound"
name = "bound"
options = { method = "longest-job", time_limit = 5.0 }

[[methods]]
method = "simulate"
options = { policy = ["fcfs", "fpfs", "easy"] }
"""
"""200 samples of milliseconds: 50 instances, a bound and three policies."""

MEASURED = ("time", "times", "cpu", "memory", "ended")


def write_spec(folder: Path, text: str = TRIVIAL, name: str = "trivial.toml") -> Path:
    """Write a specification; return its path."""
    path = folder / name
    path.write_text(text)
    return path


def lasting(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a row has that does not depend on the clock."""
    metrics = {k: v for k, v in row.get("metrics", {}).items() if not k.startswith("decision_time")}
    return {k: v for k, v in row.items() if k not in MEASURED} | {"metrics": metrics}


class Inline:
    """Workers that run samples in this process, one after the other."""

    def run(self, tasks: Iterable[tuple[str, Task]]) -> Generator[tuple[str, Message], None, None]:
        """Yield the answers in order."""
        for key, task in tasks:
            document, faults = parse(task.text().encode())
            instance = value_of(document, INSTANCE, faults)
            answer = {"time": 0.0, "cpu": 0.0, "memory": 0.0, **run_method(task.argument, instance)}
            yield key, {"status": "done", **answer, "machine": machine()}

    def close(self) -> None:
        """There is nothing to end."""
