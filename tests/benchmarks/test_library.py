"""What the benchmark of the library keeps of a solve, and the page that it writes."""

from __future__ import annotations

import library
import pytest

import coalloc


def test_the_page_shows_the_state_of_the_families():
    page = library.PAGE.read_text(encoding="utf-8")
    assert page == library.page_with_table(page)


KNOWN = {"value": 100.0, "lower_bound": 90.0, "is_certified": False}


@pytest.mark.parametrize(
    ("found", "better"),
    [
        ({}, False),
        ({"value": 99.0}, True),
        ({"value": 101.0, "lower_bound": 101.0, "is_certified": True}, False),
        ({"lower_bound": 95.0}, True),
        ({"lower_bound": 85.0}, False),
        ({"lower_bound": 100.0, "is_certified": True}, True),
        ({"value": 100.0 + 1e-9}, False),
    ],
)
def test_what_is_better(found, better):
    assert library.is_better(KNOWN | found, KNOWN) is better


def test_a_certified_optimum_is_not_replaced_by_a_bound_without_certificate():
    known = {"value": 100.0, "lower_bound": 99.99, "is_certified": True}
    assert not library.is_better({"value": 100.0, "lower_bound": 100.0, "is_certified": False}, known)


def test_every_instance_that_is_planned_is_in_the_package():
    known = coalloc.library()
    for family in library.FAMILIES:
        if not family.has_features:
            planned = {row["name"]: row for row in family.rows}
            assert [entry.name for entry in known.of_family(family.name)] == list(planned)
            assert all(known[name].slot == row["slot"] for name, row in planned.items())
            assert all(known[name].source == row["source"] for name, row in planned.items())


def test_a_solve_is_what_the_files_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    family = library.FAMILIES[0]
    row = next(family.rows)
    found = library.solved(row | {"limit": 30.0, "threads": 1})
    assert library.written(family, {row["name"]: found}) == 1
    (held,) = library.known_rows(family.name).values()
    assert (held["value"], held["is_certified"], held["source"]) == (found["value"], True, row["source"])
    assert held["command"] == "coalloc solve library:thesis-01 --slot 100500 --time-limit 30 --threads 1"
    assert library.written(family, {row["name"]: found}) == 0, "the same again is not better"
