"""Specifications for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
