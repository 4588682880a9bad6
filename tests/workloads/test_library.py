"""The benchmark library: what its files say is so, as far as it is checked in seconds."""

from dataclasses import replace

import pytest

import coalloc
from coalloc import verify
from coalloc.documents.kinds import document_of
from coalloc.documents.strict_json import layout
from coalloc.instance.files import INSTANCE
from coalloc.objectives import objective_of
from coalloc.workloads.library import PROOF_TOLERANCE

LIBRARY = coalloc.library()
NAMES = sorted(LIBRARY.titles)


def test_it_has_ten_families_of_thirty_instances():
    assert len(NAMES) == 10
    assert {name: len(LIBRARY.of_family(name)) for name in NAMES} == dict.fromkeys(NAMES, 30)
    assert len({entry.sha256 for entry in LIBRARY.values()}) == len(LIBRARY) == 300


@pytest.mark.parametrize("family", NAMES)
def test_best_known_schedules_are_valid_and_have_the_value(family):
    for entry in LIBRARY.of_family(family):
        instance, schedule = entry.instance, entry.schedule
        assert instance.name == schedule.instance == entry.name
        assert schedule.slot == entry.slot
        assert coalloc.check(instance, schedule) == []
        value = objective_of(entry.objective).of_schedule(instance, schedule)
        assert value == pytest.approx(entry.value, rel=1e-12)
        assert entry.lower_bound <= entry.value * (1 + PROOF_TOLERANCE)


@pytest.mark.parametrize("family", NAMES)
def test_a_certificate_is_accepted(family):
    entries = [entry for entry in LIBRARY.of_family(family) if entry.is_certified]
    if not entries:
        assert family in ("energy", "large"), "some of every other family have one"
        return
    entry = entries[0]
    stated = verify.parsed(layout(document_of(entry.instance, INSTANCE)))
    verdict = verify.verdict_of(stated, verify.parsed(layout(entry.certificate)), entry.sha256)
    assert verdict.is_optimal
    assert verdict.is_same_file
    assert float(verdict.objective) == pytest.approx(entry.value, rel=1e-12)
    assert verdict.problem.objective == entry.objective


def test_unknown_names_and_families_are_said():
    with pytest.raises(coalloc.CoallocError, match=r"unknown instance 'thesis-1' of the library \(did you mean"):
        LIBRARY["thesis-1"]
    with pytest.raises(coalloc.CoallocError, match="unknown family 'sum'; available: arrivals"):
        LIBRARY.of_family("sum")
    assert "thesis-1" not in LIBRARY
    assert LIBRARY.get("thesis-1") is None


def test_an_instance_that_is_generated_otherwise_is_no_instance_of_the_library(monkeypatch):
    entry = LIBRARY["thesis-02"]
    changed = replace(entry, sha256="0" * 64)
    with pytest.raises(coalloc.CoallocError, match="thesis-02: this version of coalloc or numpy generates another"):
        _ = changed.instance
