"""The benchmark of certificates: its sets, its fuzz, and its page."""

from __future__ import annotations

import certificates
import pytest

import coalloc


@pytest.mark.parametrize("name", [name for name in certificates.SETS if name != "published, one cluster"])
def test_every_set_makes_instances_from_a_seed(name):
    problems = list(certificates.SETS[name].make(certificates.FIRST_SEED))
    assert problems == list(certificates.SETS[name].make(certificates.FIRST_SEED))
    assert all(isinstance(instance, coalloc.Instance) for instance, _ in problems)


def test_a_sample_and_the_fuzz_fill_the_page():
    instance, options = next(certificates.infeasible(certificates.FIRST_SEED))
    row = certificates.row_of(instance, options) | {"set": "infeasible", "seed": certificates.FIRST_SEED}
    assert (row["status"], row["bytes"] > 0) == ("infeasible", True)
    fuzz = certificates.fuzzed_row(2)
    assert (fuzz["mutants"], fuzz["above"]) == (certificates.MUTANTS, [])
    late = row | {"is_certified": False, "reason": "too late"}
    page = certificates.report([row, late], [fuzz, fuzz | {"above": ["seed 2, mutant 1: 9 is above 8"]}], "command")
    assert "| infeasible | 1 of 200 | 2 | 2 | 1 | 50% | 95% |" in page
    assert "- infeasible: 1 of them: too late" in page
    assert "1 claim more than brute force allows." in page
