"""The benchmark of time limits: when one holds, and that the page says which do not."""

from __future__ import annotations

from typing import Any

import limits
import pytest


def row(time: float, limit: float = 5.0, **changes: Any) -> dict[str, Any]:
    """Return a solve of that many seconds."""
    case = {"jobs": 8, "nodes": 12, "slot": None, "objective": "makespan", "limit": limit, "status": "feasible"}
    return case | {"time": time, "cpu": 0.5 * time, "gap": 0.015, "message": ""} | changes


@pytest.mark.parametrize(("time", "limit", "expected"), [(6.5, 5.0, True), (6.51, 5.0, False), (1.11, 0.1, True)])
def test_a_limit_holds_within_a_tenth_and_a_second(time: float, limit: float, expected: bool) -> None:
    assert limits.holds(row(time, limit)) is expected


def test_what_was_killed_did_not_hold() -> None:
    assert not limits.holds(row(1.0, status="timeout"))


def test_the_page_has_a_line_per_instance_and_a_column_per_limit() -> None:
    rows = [row(1.0, 1.0), row(7.0), row(1.0, 1.0, slot="5%", gap=None), row(0.1, slot="5%", status="crashed")]
    page = limits.report(rows, 6, "python benchmarks/limits.py")
    assert "| 8 | 12 | makespan | continuous | 1.00 s (0.50), 1.50% | **7.00 s (3.50)**, 1.50% |" in page
    assert "| 8 | 12 | makespan | 5% | 1.00 s (0.50), no bound | **crashed** |" in page
    assert "2 of 4 limits hold" in page


def test_a_sample_is_solved_within_its_limit() -> None:
    found = limits.solve({"jobs": 8, "nodes": 12, "slot": "50%", "objective": "makespan", "limit": 60.0, "threads": 1})
    assert found["status"] == "optimal"
    assert found["gap"] == 0.0
