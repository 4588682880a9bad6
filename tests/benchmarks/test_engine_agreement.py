"""The script that compares the engine with its references: what it counts, and a difference that it finds."""

from __future__ import annotations

import engine_agreement
import pytest

from coalloc.rules.timeline import Timeline


@pytest.mark.parametrize("kind", engine_agreement.CASES)
def test_a_block_counts_cases_without_a_difference(kind):
    row = engine_agreement.compared({"kind": kind, "first": 28, "seeds": 2})  # 28 and 29 have a schedule
    assert row["cases"] >= 2
    assert row["differences"] == []


def test_a_difference_is_named_with_its_seed(monkeypatch, tmp_path):
    monkeypatch.setattr(Timeline, "first_start", lambda *_: 0.5)
    argument = {"kind": "timeline", "first": 3, "seeds": 1}
    row = engine_agreement.compared(argument)
    assert row["cases"] == 0
    assert [line.partition(" in ")[0] for line in row["differences"]] == ["seed 3: AssertionError"]
    page = engine_agreement.report([(engine_agreement.Call(engine_agreement.compared, argument, 1.0), row)], "command")
    assert "| timeline | 1 | 0 | 1 | 0 |" in page
    assert "- timeline, seed 3: AssertionError in query" in page
