"""Mixed features and constraints: every method against brute force, and what the page says of it."""

from __future__ import annotations

import features
import pytest

CONTINUOUS_LIMIT = 0.2
"""Seconds: what is compared holds whenever time runs out."""
NODE_SEEDS = 4
"""The node model takes longer than all others together."""


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6, 8, 9, 10])
def test_all_methods_agree_with_brute_force(seed, monkeypatch):
    monkeypatch.setattr(features, "CONTINUOUS_LIMIT", CONTINUOUS_LIMIT)
    compared = 0
    for names, case, methods in features.cases_of(seed, "mixes"):
        if case.objective != features.OBJECTIVES[seed % 2] or (methods is features.OF_NODES and seed >= NODE_SEEDS):
            continue
        for method, find in methods.items():
            row = features.judged(case, find)
            assert (method, names["time"], row["disagreement"]) == (method, names["time"], "")
            compared += row["status"] not in ("unsupported", "refused")
    assert compared >= len(features.IN_SLOTS)


def test_a_wrong_answer_is_a_line_of_the_page(monkeypatch):
    def wrong(case):
        return features.Finding("optimal", -1.0, lower_bound=float("inf"))

    names, case, _ = next(features.cases_of(1, "mixes"))
    row = names | {"method": "made up"} | features.judged(case, wrong)
    optimum = case.best.objective
    said = f"optimal at -1.0, not {optimum}; objective -1.0 below the optimum {optimum}; bound inf above the optimum"
    assert row["disagreement"].startswith(said)
    timing = {"kind": "lags", "jobs": 8, "time": "slots", "seconds": [0.01, 0.06], "statuses": ["optimal", "feasible"]}
    page = features.report([row], [timing], {"mixes": 2}, "command")
    assert "1 of 2 instances of `mixes`: 1 calls, 1 disagree" in page
    assert f"- mixes, seed 1, made up, slots, makespan: {said}" in page
    # 0.01 s counts as 0.02 s.
    assert "| `lags` | 8 | slots | 1 | 0 | 1 | 3 | 3 |" in page
