"""The benchmark of audits: every value beside what is published, and what is missing is said."""

from __future__ import annotations

import audit

ROWS = [
    {"log": "KTH-SP2", "way": "EASY, estimates", "slowdown": 92.8, "wait": 6000.0},
    {"log": "KTH-SP2", "way": "bound", "slowdown": 3.25, "wait": 900.0},
    {"log": "SDSC-BLUE", "way": "EASY++, run times", "slowdown": 13.2, "wait": 3000.0},
]


def test_slowdowns_stand_beside_what_is_published_and_the_bound():
    lines = [line.split(" | ") for line in audit.table_of_slowdowns(ROWS, "slowdown").splitlines()[2:]]
    assert [cell.strip("| ") for cell in lines[0]] == ["KTH-SP2", "92.80 (92.58)", "-", "-", "- (49.85)", "3.25"]
    assert [cell.strip("| ") for cell in lines[1]] == ["SDSC-BLUE", "-", "-", "-", "13.20 (13.18)", "-"]


def test_nothing_is_published_of_waits():
    assert "(" not in audit.table_of_slowdowns(ROWS, "wait")


def test_a_sample_is_known_by_its_log_and_way_and_not_by_the_folder(tmp_path):
    calls, elsewhere = (audit.calls_of(folder, ["KTH-SP2"]) for folder in (tmp_path, tmp_path / "other"))
    assert [call.argument["way"] for call in calls] == ["bound", *audit.WAYS]
    assert [call.content for call in calls] == [call.content for call in elsewhere]
    assert len({call.content for call in calls}) == 5
