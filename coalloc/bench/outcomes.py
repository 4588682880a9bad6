"""The statuses of a sample, and when it counts as solved.

A sample that failed has an outcome like any other: nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Outcome = dict[str, Any]
"""Results of a sample that are kept, by name, ready for JSON; it has a ``status``."""

Row = Mapping[str, Any]
"""One sample of a table: what was to run, what came out, and where."""

SOLVED = ("optimal", "infeasible", "done")
"""Statuses of samples that reached their aim: a proof, or the end of a simulation or of a bound."""

CRASHED = ("error", "crashed")
"""Statuses of samples that ended by themselves without a result: refused, or fallen."""

KILLED = ("timeout", "memory")
"""Statuses of samples that were killed at one of their limits."""

FAILED = (*CRASHED, *KILLED)
"""Statuses of samples without a result."""

NOT_RUN = "not run"
"""Status of a sample that is planned."""


def is_solved(row: Row) -> bool:
    """Return whether a sample reached its aim."""
    return row["status"] in SOLVED


def is_failed(row: Row) -> bool:
    """Return whether a sample has no result."""
    return row["status"] in FAILED


def has_run(row: Row) -> bool:
    """Return whether a sample is more than planned."""
    return bool(row["status"] != NOT_RUN)
