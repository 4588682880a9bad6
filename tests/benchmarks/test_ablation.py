"""The ablation: methods that never ran need no solve, seeds are the noise, and what is worse beyond it is decisive."""

from __future__ import annotations

import ablation
import pytest


def row(number=0, without="", seed=0, **known):
    """Return a proven sample of 100 s that took 1 s, but for what is given."""
    sample = {"family": "slots", "number": number, "without": without, "seed": seed, "limit": 2.0, "threads": 1}
    found = {"status": "optimal", "spent": 1.0, "objective": 100.0, "lower_bound": 100.0, "ran": ["list annealing"]}
    return sample | {"hides": "", "closed": "list annealing"} | found | known


def test_only_methods_that_ran_are_left_out_of_the_solve_with_the_first_seed():
    rows = [
        row(ran=["list schedule", "list annealing"]),
        row(seed=1, ran=["model"]),
        row(1, status="timeout", ran=["model"]),
    ]
    found = list(ablation.samples_without(ablation.LEFT_OUT, rows))
    assert [(sample.number, sample.without, sample.seed) for sample in found] == [(0, "list annealing", 0)]
    assert list(ablation.samples_without(["model"], rows)) == []


def test_a_change_is_the_mean_of_all_instances_and_nothing_where_a_method_did_not_run():
    # Without annealing, one of two instances has 102 instead of 100 and a bound of 99, unproven.
    rows = [row(0), row(1), row(0, "list annealing", status="feasible", objective=102.0, lower_bound=99.0)]
    change = ablation.change_without("list annealing", rows)
    assert change == ablation.Change(pytest.approx(0.01), pytest.approx(0.005), 1.0, 0.0)
    assert ablation.change_without("model", rows) == ablation.Change(0.0, 0.0, 0.0, 0.0)


def test_what_other_seeds_do_as_well_is_no_change():
    rows = [row(0), row(0, seed=1, objective=103.0, status="feasible"), row(0, seed=2, objective=99.0, spent=3.0)]
    noise = ablation.noise_of(rows)
    assert (noise.incumbent, noise.proofs, noise.cpu) == (pytest.approx(0.03), 1.0, pytest.approx(2.0))
    assert ablation.Change(0.02, 0.0, 1.0, 1.0).exceeds(noise) == []
    assert ablation.Change(0.04, 0.01, 2.0, 3.0).exceeds(noise) == ["incumbent", "bound", "proofs", "cpu"]


def test_a_lost_schedule_counts_as_all_of_it():
    lost = row(0, "list annealing", status="unknown", objective=None)
    assert ablation.change_without("list annealing", [row(0), lost]).incumbent == 1.0


def test_the_page_names_where_a_method_is_decisive_and_that_instances_are_absent():
    rows = [row(0), row(0, seed=1), row(0, "list annealing", objective=110.0, status="feasible")]
    page = ablation.report(rows, ["slots"], "rigid was left out", "command")
    assert "| list annealing | slots | incumbent, proofs |" in page
    assert "| list schedule | 0 | 0 |  |  |  |  | always runs |" in page
    assert "| model | 0 | 0 |  |  |  |  | did not run |" in page
    assert "rigid was left out." in page


def test_a_sample_says_what_ran(tmp_path):
    sample = ablation.Sample("slots", 0, "list annealing", 0, 2.0, 1, "")
    found = ablation.solve({name: getattr(sample, name) for name in sample.__slots__} | {"folder": str(tmp_path)})
    assert found["status"] == "optimal"
    assert found["closed"] in found["ran"]
    assert found["spent"] > 0.0
