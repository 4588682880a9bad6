"""The benchmark of metamorphic relations: what it asks for, and what its page says of a contradiction."""

from __future__ import annotations

import metamorphic

from coalloc.testing.metamorphic import BrokenRelation, selected, triple

ROW = {
    "number": 7,
    "transformation": "shift",
    "shift": 1e8,
    "objective": "makespan",
    "time": "slots",
    "is_proven": True,
    "faults": [["optimum", "2 and not 1"], ["optimum", "3 and not 1"], ["bound", "4 is above 1"]],
}


def test_a_stratum_is_asked_for_by_its_values():
    chosen = selected(range(1000), ["fix-part"], [1.76e9], times=["slots"])
    assert chosen
    assert {(one.transformation, one.shift, one.is_slotted) for one in chosen} == {("fix-part", 1.76e9, True)}
    assert selected([3, 5]) == [triple(3), triple(5)]


def test_a_row_has_what_a_trial_found(monkeypatch):
    solve = metamorphic.trial

    def contradicting(asked, limit):
        made = solve(asked, limit)
        made.faults.append(BrokenRelation("optimum", "made up"))
        return made

    monkeypatch.setattr(metamorphic, "trial", contradicting)
    row = metamorphic.row_of(triple(100))
    assert row["faults"][-1] == ["optimum", "made up"]
    assert (row["number"], row["time"], row["is_proven"]) == (100, "continuous", True)


def test_the_page_lists_each_contradiction_once_per_relation():
    good = {**ROW, "number": 8, "faults": [], "shift": 0.0, "is_proven": False}
    page = metamorphic.report([ROW, good], [triple(7), triple(8), triple(9)], "command")
    assert "2 of 3 triples compared: 1 contradict a relation, 1 have a solve without a proof" in page
    assert "- 7, slots, shift, 1e+08 s, makespan: optimum: 2 and not 1; bound: 4 is above 1\n" in page
    assert "| 0 | 1 | 1 | 0 | 0 | 0 |" in page
    assert "| 1e+08 | 1 | 0 | 1 | 1 | 1 |" in page
