"""The benchmark of time limits: when one holds, and that the page says which do not."""

from __future__ import annotations

from typing import Any

import limits
import pytest


def row(time: float, limit: float = 5.0, **changes: Any) -> dict[str, Any]:
    """Return a solve of that many seconds."""
    case = {
        "family": "three clusters",
        "jobs": 8,
        "nodes": 12,
        "slot": None,
        "objective": "makespan",
        "limit": limit,
        "status": "feasible",
    }
    return case | {"time": time, "cpu": 0.5 * time, "memory": 99.6, "gap": 0.015, "message": ""} | changes


@pytest.mark.parametrize(
    ("time", "limit", "jobs", "expected"),
    [
        (5.5, 5.0, 8, True),
        (5.51, 5.0, 8, False),
        (0.4, 0.1, 8, True),
        (1.4, 0.1, 20_000, True),
        (1.41, 0.1, 20_000, False),
    ],
)
def test_a_limit_holds_within_a_tenth_or_a_time_and_a_time_per_job(
    time: float, limit: float, jobs: int, expected: bool
) -> None:
    assert limits.holds(row(time, limit, jobs=jobs)) is expected


@pytest.mark.parametrize("family", limits.FAMILIES)
def test_a_family_has_jobs_and_nodes_as_asked(family: str) -> None:
    instance = limits.FAMILIES[family](6, 12)
    assert len(instance.jobs) == 6
    assert instance.platform.num_processors == 12


def test_what_was_killed_did_not_hold() -> None:
    assert not limits.holds(row(1.0, status="timeout"))


def test_the_page_has_a_line_per_instance_and_a_column_per_limit() -> None:
    rows = [row(1.0, 1.0), row(7.0), row(1.0, 1.0, slot="5%", gap=None), row(0.1, slot="5%", status="crashed")]
    page = limits.report(rows, 6, "python benchmarks/limits.py")
    assert (
        "| three clusters | 8 | 12 | makespan | continuous | 1.00 s (0.50; 100 MB), 1.50% | "
        "**7.00 s (3.50; 100 MB)**, 1.50% |"
    ) in page
    assert "| three clusters | 8 | 12 | makespan | 5% | 1.00 s (0.50; 100 MB), no bound | **crashed** |" in page
    assert "2 of 4 limits hold" in page


def test_a_sample_is_solved_within_its_limit() -> None:
    found = limits.solve({"jobs": 8, "nodes": 12, "slot": "50%", "objective": "makespan", "limit": 60.0, "threads": 1})
    assert found["status"] == "optimal"
    assert found["gap"] == 0.0
