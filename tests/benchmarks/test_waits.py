"""The benchmarks of waits: windows that a seed draws, and a bound above an optimum is said."""

from __future__ import annotations

import sum_bounds
import waits

import coalloc


def test_a_seed_draws_one_window_of_consecutive_jobs(monkeypatch):
    whole = coalloc.generate("lublin", seed=1, jobs=50, nodes=8, clusters=1)
    monkeypatch.setattr(waits, "instance_of", lambda log, folder: whole)
    drawn = {seed: waits.window_of(waits.Sample("KTH-SP2", seed, 20, 1.0), "") for seed in (1, 2)}
    for seed, (instance, first) in drawn.items():
        assert instance.jobs == whole.jobs[first : first + 20]
        assert waits.window_of(waits.Sample("KTH-SP2", seed, 20, 9.0), "")[1] == first
    assert drawn[1][1] != drawn[2][1]


def test_every_bound_of_a_seed_is_compared():
    # Seed 0 has all families.
    rows = list(sum_bounds.rows_of_seed(0))
    assert {row["bound by"] for row in rows} == {"positions", "prices", "best"}
    assert {row["family"] for row in rows} == {"weights, due dates", "one task, at once", "equal processors"}
    assert {row["objective"] for row in rows} == set(sum_bounds.SUMS)
    assert not any(row["disagreement"] for row in rows)


def test_a_bound_above_its_optimum_is_said(monkeypatch):
    monkeypatch.setattr(sum_bounds, "bounds_of", lambda *given: [("wrong", 1e12, 0.0)])
    rows = list(sum_bounds.rows_of_seed(1))
    assert all("above the optimum" in row["disagreement"] for row in rows)
    assert "- seed 1, mean-wait, wrong: the bound" in sum_bounds.report(rows, 1, "command")
