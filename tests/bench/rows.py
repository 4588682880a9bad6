"""Rows of a benchmark, made by hand."""

from __future__ import annotations

from typing import Any


def row(label: str, instance: str, status: str, time: float | None = None, **more: Any) -> dict[str, Any]:
    """Return a row of a solve with a time limit of 10 s, killed at 30 s."""
    known = {
        "instance": instance,
        "instance_sha256": f"sha of {instance}",
        "label": label,
        "method": "solve",
        "options": {"time_limit": 10.0},
        "seed": 0,
        "time_limit": 30.0,
        "memory_limit": 1000.0,
        "status": status,
        "time": time,
        "content": f"{label} on {instance}",
        "versions": {"coalloc": "0.1"},
        "message": "",
    }
    return known | more
