"""The benchmark on published instances: how files are read, how peers answer, and what the page would notice."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import rigid
import rigid_peer

from coalloc import CoallocError
from coalloc.solvers.backends import cpsat
from tests.shared import shared

STRIP = rigid.Strip("OWN", "OWN1", 4, ((3, 5, 2), (2, 4, 3)))
"""On 4 processors two jobs of 3 (5 s) run alone, three of 2 (4 s) two at a time: 2 * 5 + 2 * 4 = 18 s."""


def row(method: str, objective: float | None, lower_bound: float, **changes: Any) -> dict[str, Any]:
    """Return what a method found of ``OWN1``."""
    proven = objective is not None and objective <= lower_bound
    found = {"status": "optimal" if proven else "feasible", "time": 0.5, "objective": objective}
    size = {"family": "OWN", "instance": "OWN1", "jobs_of_instance": 5, "processors": 4, "limit": 10.0}
    return size | found | {"method": method, "lower_bound": lower_bound, "message": ""} | changes


def written(folder: Path, text: str) -> Path:
    """Return a file of an instance with this text."""
    (folder / "OWN").mkdir()
    path = folder / "OWN" / "OWN1.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_as_jobs_of_one_cluster(tmp_path: Path) -> None:
    assert rigid.read_strip(written(tmp_path, "2\n4\n3 5 2\n2 4 3\n")) == STRIP
    assert rigid.read_strips(tmp_path) == [STRIP]
    assert rigid.known_heights(tmp_path) == {}
    instance = STRIP.instance
    assert [(job.tasks, job.base_time) for job in instance.jobs] == [(3, 5.0)] * 2 + [(2, 4.0)] * 3
    assert instance.platform.num_processors == 4


@pytest.mark.parametrize("text", ["", "2\n4\n3 5 2\n", "1\n4\n3 5\n", "1\n4\n3 5.5 2\n"])
def test_a_file_that_is_none_is_a_fault_with_its_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(CoallocError, match="OWN1"):
        rigid.read_strip(written(tmp_path, text))


def test_a_folder_without_instances_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(CoallocError, match="no instances"):
        rigid.read_strips(tmp_path)


def test_all_published_instances_are_read() -> None:
    folder = shared("data", "rigid")
    strips = rigid.read_strips(folder)
    assert len(strips) == 282
    heights = rigid.known_heights(folder)
    assert all(heights[s.name] * s.processors >= sum(w * h for w, h in s.jobs) for s in strips if s.name in heights)


@pytest.mark.parametrize("peer", [pytest.param("CP-SAT", marks=pytest.mark.extras), "Pumpkin"])
def test_peers_find_the_optimum(peer: str) -> None:
    if peer == "CP-SAT" and not cpsat.is_installed():
        pytest.skip("the extra cpsat is not installed")
    found = rigid.solve_by_peer(STRIP, rigid.Sample("OWN", "OWN1", peer, 60.0, 1))
    assert (found["status"], found["objective"], found["lower_bound"]) == ("optimal", 18.0, 18.0)


def test_the_plain_bounds_of_peers() -> None:
    # Area 54 / 4, rounded up; all in turn 2 * 5 + 3 * 4.
    assert rigid_peer.bounds_of({"processors": 4, "jobs": STRIP.jobs}) == (14, 22)


def test_starts_that_overload_the_processors_do_not_count() -> None:
    assert rigid.latest_end(STRIP, [0, 5, 10, 10, 14]) == (18.0, "")
    objective, message = rigid.latest_end(STRIP, [0, 5, 10, 10, 10])
    assert objective is None
    assert "6 of 4 processors at 10 s" in message
    assert rigid.row_of_peer(STRIP, {"starts": [], "lower_bound": 14, "time": 1.0})["status"] == "unknown"


def test_a_bound_above_what_is_known_is_a_contradiction() -> None:
    assert rigid.contradictions([row(rigid.OURS, 18.0, 18.0)], {"OWN1": 18}) == []
    (above,) = rigid.contradictions([row(rigid.OURS, 20.0, 19.0)], {"OWN1": 18})
    assert "19 of portfolio is above 18" in above
    (other,) = rigid.contradictions([row(rigid.OURS, 20.0, 19.0), row(rigid.CPSAT, 18.0, 14.0)], {})
    assert "above 18 of CP-SAT" in other


def test_what_ours_lacks_is_said() -> None:
    rows = [row(rigid.OURS, 19.0, 15.0), row(rigid.CPSAT, 20.0, 16.0)]
    assert rigid.shortcomings(rows, {"OWN1": 18}) == ["OWN1: 19 where 18 is known", "OWN1: bound 15, CP-SAT's 16"]
    assert rigid.shortcomings([row(rigid.OURS, 18.0, 18.0), rows[1]], {"OWN1": 18}) == []


def test_the_page_has_every_instance_and_counts_what_failed() -> None:
    failed = row(rigid.PUMPKIN, None, 0.0, status="timeout", time=25.0)
    rows = [row(rigid.OURS, 18.0, 18.0), row(rigid.CPSAT, 20.0, 16.0), failed]
    page = rigid.report(rows, 3, {}, argparse.Namespace(limit=10.0, threads=2, jobs=1), "python benchmarks/rigid.py")
    assert "| OWN1 | 5 | 4 | 18 in 0.50 s | 16..20 | timeout |" in page
    assert "| OWN | portfolio | 1/1 | 0.5 |" in page
    assert "| OWN | Pumpkin | 0/1 | 10 |" in page
    assert "Samples that ran: 3 of 3" in page


def test_few_instances_of_each_family_are_drawn_evenly() -> None:
    strips = [rigid.Strip(family, f"{family}{n}", 4, ()) for family, size in (("A", 3), ("B", 10)) for n in range(size)]
    assert [strip.name for strip in rigid.drawn_evenly(strips, 4)] == ["A0", "A1", "A2", "B0", "B2", "B5", "B7"]
    assert rigid.drawn_evenly(strips, 10) == strips
